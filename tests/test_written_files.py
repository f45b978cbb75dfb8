"""Files appear whole or not at all, in place of files alone, and what kills leave is removed."""

import inspect
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from errno import EACCES, EIO, ENOSPC
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import Result
from typer.testing import CliRunner

from reproduction.__main__ import paper_app
from retgk import GraphBatch, GraphDataset, InvalidInputError, RetGK
from retgk._runtime.files import atomic_folder, atomic_path, read_records, record_writer
from retgk.cli.command import check_inputs_kept
from retgk.cli.data import convert, info
from retgk.cli.evaluate import compare, cv
from retgk.cli.index import index_app
from retgk.cli.main import app
from retgk.cli.matrices import embed, features, kernel, similar
from retgk.cli.models import explain, explore, fit, predict
from retgk.cli.options import FileRole
from retgk.cli.stats import population_test
from retgk.datasets import load_tudataset, save_tudataset
from retgk.estimators import gram_file
from retgk.io import write_parquet
from retgk.io.graphml import write_graphml
from retgk.kernels import write_mean_embedding_gram
from tests.paper_samples import MUTAG, made_up, write
from tests.programs import (
    DATA,
    PROGRAM,
    TIMEOUT_SECONDS,
    assert_fails,
    environment,
    invoke,
    rows_of,
)
from tests.write_faults import faults

OLD_PART = ".model.retgk-0123456789abcdef.retgk.part"


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """A device of our own that swallows what is written to it."""
    path = tmp_path / "device.csv"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this user may not make devices: that one is not replaced stays untested")
    return path


def write_part(path: Path, text: str = "new") -> None:
    with atomic_path(path) as part:
        part.write_text(text)


def assert_refused(path: Path, what: str) -> None:
    before = path.lstat()
    with pytest.raises(InvalidInputError, match=f"is a {what}; give the name of a file"):
        write_part(path)
    assert path.lstat().st_mode == before.st_mode
    assert path.lstat().st_ino == before.st_ino


def test_devices_are_not_replaced(device: Path) -> None:
    assert_refused(device, "character device")
    assert list(device.parent.iterdir()) == [device]


def test_named_pipes_and_folders_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert_refused(tmp_path / "pipe", "named pipe")
    assert_refused(tmp_path / "folder", "folder")


def test_links_stay_and_lead_to_the_new_file(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link, second = tmp_path / "far" / "target", tmp_path / "link", tmp_path / "second"
    link.symlink_to("far/target")
    second.symlink_to(link)
    write_part(second, "first")  # its target is not there yet
    write_part(link, "new")
    assert link.is_symlink()
    assert second.is_symlink()
    assert target.read_text() == "new"
    assert not target.is_symlink()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["far", "link", "second", "target"]


def test_links_to_what_is_no_file_are_refused(tmp_path: Path, device: Path) -> None:
    (tmp_path / "link").symlink_to(device)
    assert_refused(tmp_path / "link", "character device")
    assert stat.S_ISCHR(device.stat().st_mode)


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write_part(tmp_path / "a")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_mode_of_a_replaced_file_stays(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    with atomic_path(path) as part:
        assert stat.S_IMODE(part.stat().st_mode) == 0o600, "secrets show while they are written"
        part.write_text("new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_owner_of_a_replaced_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    try:
        os.chown(path, 12345, 54321)
    except PermissionError:
        pytest.skip("this user may give no files away: that owners stay is untested")
    write_part(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_new_files_have_the_mode_of_the_process(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_part(tmp_path / "file")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_the_longest_names_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("\N{SNOWMAN}" * 85)
    write_part(path)
    assert path.read_text() == "new"


def test_errors_name_the_file_and_not_its_part(tmp_path: Path) -> None:
    full = pytest.raises(OSError, match=r"No space left on device: '.*/file'$")
    with full, atomic_path(tmp_path / "file"):
        raise OSError(28, "No space left on device")
    with pytest.raises(FileNotFoundError, match="elsewhere"), atomic_path(tmp_path / "file"):
        Path("elsewhere").read_text()


# What kills leave


IN_A_NEW_PROCESS = """
import sys
from pathlib import Path
from retgk._runtime.files import atomic_path
with atomic_path(Path(sys.argv[1])) as part:
    part.write_text("new")
    if len(sys.argv) > 2:
        print(part.name, flush=True)
        sys.stdin.read()
"""


def start_writer(path: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", IN_A_NEW_PROCESS, str(path), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def write_in_a_new_process(path: Path) -> None:
    process = start_writer(path)
    process.communicate()
    assert process.returncode == 0


@pytest.mark.slow
def test_what_kills_left_is_gone_after_the_next_run(tmp_path: Path) -> None:
    killed = start_writer(tmp_path / "killed", "wait")
    assert killed.stdout is not None
    part = tmp_path / killed.stdout.readline().strip()
    killed.kill()
    killed.communicate()
    assert part.exists()
    folder = tmp_path / f".folder{OLD_PART[6:]}"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_text("x")
    write_in_a_new_process(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


@pytest.mark.slow
def test_parts_of_living_writers_and_of_others_stay(tmp_path: Path) -> None:
    alive = start_writer(tmp_path / "slow", "wait")
    assert alive.stdout is not None
    part = tmp_path / alive.stdout.readline().strip()
    kept = [".x.part", "x.retgk.part", ".x-0123456789abcdef.part", ".x-0123.retgk.part"]
    for name in kept:
        (tmp_path / name).write_text("someone else's")
    linked = tmp_path / f".link{OLD_PART[6:]}"
    linked.symlink_to(tmp_path / "slow")
    write_in_a_new_process(tmp_path / "quick")
    assert part.exists()
    alive.communicate("")
    assert alive.returncode == 0
    names = sorted([*kept, linked.name, "quick", "slow"])
    assert sorted(path.name for path in tmp_path.iterdir()) == names


@pytest.mark.slow
def test_parts_of_another_user_stay(tmp_path: Path) -> None:
    part = tmp_path / OLD_PART
    part.write_text("x")
    try:
        os.chown(part, 12345, 12345)
    except PermissionError:
        pytest.skip("this user may give no files away: that those of others stay is untested")
    write_in_a_new_process(tmp_path / "quick")
    assert part.exists()


@pytest.mark.slow
def test_many_writers_and_cleaners_at_once(tmp_path: Path) -> None:
    """Every process cleans while others begin; none loses its file."""
    writers = [start_writer(tmp_path / f"file-{number % 3}") for number in range(12)]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file-0", "file-1", "file-2"]


def test_folders_appear_whole_or_not_at_all(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "good") as part:
        (part / "file").write_text("x")
    with pytest.raises(FileExistsError, match="bad"), atomic_folder(tmp_path / "bad") as part:
        part.mkdir()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "good"]


# The same by commands


def test_commands_refuse_devices_before_any_work(graphs_file: Path, device: Path) -> None:
    result = invoke("fit", graphs_file, "-o", device)
    assert_fails(result, "is a character device; give the name of a file")
    assert "GraphBatch" not in result.stderr, "the graphs were read"
    assert stat.S_ISCHR(device.lstat().st_mode)
    for ending in (".npy", ".npz", ".parquet"):
        (device.parent / f"link{ending}").symlink_to(device)
        result = invoke("embed", graphs_file, "-o", device.parent / f"link{ending}")
        assert_fails(result, "is a character device; give the name of a file")
    result = invoke("convert", graphs_file, device.parent / "link.parquet")
    assert_fails(result, "is a character device; give the name of a file")
    assert stat.S_ISCHR(device.lstat().st_mode)


@pytest.mark.slow
def test_text_tables_are_written_through_to_devices_and_pipes(
    graphs_file: Path, device: Path, tmp_path: Path
) -> None:
    assert invoke("embed", graphs_file, "-D", 2, "-o", device).exit_code == 0
    assert stat.S_ISCHR(device.lstat().st_mode)
    pipe, plain = tmp_path / "pipe.csv", tmp_path / "plain.csv"
    os.mkfifo(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()), daemon=True)
    reader.start()
    assert invoke("embed", graphs_file, "-D", 2, "-o", pipe).exit_code == 0
    reader.join(60)
    assert invoke("embed", graphs_file, "-D", 2, "-o", plain).exit_code == 0
    assert found == [plain.read_text()]
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert len(rows_of(plain)) == 40


# Every step of every output fails in turn: nothing is half-written, and the old file is intact

N_GRAPHS = 12
GRAPHS = DATA.graphs[:N_GRAPHS]
TARGETS = DATA.targets[:N_GRAPHS]
RINGS = GraphBatch.from_edges([3, 3], [[0, 1], [1, 2], [2, 0], [3, 4], [4, 5]], symmetrize=True)
ERRORS = (ENOSPC, EACCES, EIO)
MOST_STEPS = 18  # of long series, the first and the last
FAST = "--C 1 --p 1 --scale 1"
KERNEL = RetGK(random_state=0)

COMMANDS = {
    "fit": f"fit small.parquet {FAST} -o out/model.retgk",
    **{
        f"kernel {ending}": f"kernel small.parquet -o out/kernel.{ending}"
        for ending in ("npy", "npz", "csv", "json", "parquet")
    },
    "kernel on disk": "kernel small.parquet --matrix products --on-disk -o out/gram.npy",
    "embed": "embed small.parquet -D 2 -o out/vectors.npz",
    "features": "features small.parquet --n-steps 3 -o out/features.csv",
    "predict": "predict model.retgk small.parquet -o out/predictions.csv",
    "cv": f"cv small.parquet --folds 3 {FAST} -o out/cv.csv",
    "similar": "similar small.parquet --index 0 -o out/similar.csv",
    "convert parquet": "convert small.parquet out/converted.parquet",
    "convert tu": "convert small.parquet out/CONVERTED.zip",
    "convert graphml": "convert small.parquet out/graphml --to graphml",
    "convert json": "convert small.parquet out/converted.json",
    "convert edges": "convert rings.parquet out/edges --to edges",
    "paper report": "report --records records.jsonl --output out/report",
}
SLOW = {"paper report"}  # pictures take a second: only some steps
NEW_ONLY = {"kernel on disk", "convert graphml", "convert edges"}
RESUMABLE = {"gram.npy.partial", "gram.npy.partial.json"}


def small_dataset(name: str = "small") -> GraphDataset:
    return GraphDataset(GRAPHS, TARGETS, name)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    write_parquet(small_dataset(), folder / "small.parquet")
    write_parquet(RINGS, folder / "rings.parquet")
    with record_writer(folder / "records.jsonl") as writer:
        writer.append(made_up(MUTAG))
    line = f"fit {folder}/small.parquet {FAST} -o {folder}/model.retgk"
    assert invoke(*line.split()).exit_code == 0
    return folder


@pytest.fixture
def out(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folder that outputs go to, inside of the working folder."""
    monkeypatch.chdir(prepared)
    monkeypatch.setattr(gram_file, "BLOCK_BYTES", 8 * N_GRAPHS * 5)
    folder = prepared / "out"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def contents(folder: Path) -> dict[str, Any]:
    """What files hold; of archives, their members, which have no dates."""
    return {str(path): content(path) for path in folder.rglob("*") if not path.is_dir()}


def content(path: Path) -> Any:
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def emptied(out: Path) -> None:
    for path in out.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def assert_whole(out: Path, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Every file is as it was, or as it should be; nothing else is there."""
    for name, found in contents(out).items():
        if Path(name).name in RESUMABLE or name.endswith(".zip.sha256"):
            continue
        assert found in [state[name] for state in (before, after) if name in state], name
    assert {str(path) for path in out.rglob("*")} - _folders(out) >= set(before) - {
        name for name in before if name.endswith(".sha256")
    }


def _folders(out: Path) -> set[str]:
    return {str(path) for path in out.rglob("*") if path.is_dir()}


def steps_to_try(n_steps: int, most: int) -> list[int]:
    if n_steps <= most:
        return list(range(n_steps))
    return [*range(most // 2), *range(n_steps - most // 2, n_steps)]


def invoked(name: str, line: list[str]) -> Result:
    """Outcome of a command of `retgk`, or of the reproduction."""
    return CliRunner().invoke(paper_app if name == "paper report" else app, line)


def all_faults(n_steps: int, most: int) -> Iterator[tuple[int, int, bool]]:
    """Steps that fail, how, and whether all later ones fail too, as on a full disk."""
    for step in steps_to_try(n_steps, most):
        for error in ERRORS:
            yield step, error, error == ENOSPC


# NumPy 1.26 leaves an archive that it cannot write to the garbage collector
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_write_whole_files_or_none(name: str, out: Path) -> None:
    line = COMMANDS[name].split()
    n_steps, before, after = rehearsed(
        lambda: invoked(name, line), out, keeps_old=name not in NEW_ONLY
    )
    for step, error, lasting in all_faults(n_steps, 4 if name in SLOW else MOST_STEPS):
        restored(out, before)
        with faults(out, step, error, lasting=lasting):
            result = invoked(name, line)
        assert_whole(out, before, after)
        if result.exit_code == 0:  # a step that is not needed, such as the lock
            assert contents(out) == after
            continue
        lines = result.stderr.splitlines()
        assert lines[-1].startswith("retgk: "), lines
        assert os.strerror(error) in lines[-1], lines
        assert "out/" in lines[-1], f"the file is not named: {lines[-1]}"
        assert ".part:" not in lines[-1], lines
        assert "Traceback" not in result.stderr
        if name not in {"convert tu", "paper report"}:  # of several files
            assert_old(out, before)


def assert_old(out: Path, before: dict[str, Any]) -> None:
    found = contents(out)
    assert {name: found[name] for name in before} == before
    assert {Path(name).name for name in found.keys() - before.keys()} <= RESUMABLE


def rehearsed(
    run: Callable[[], Any], out: Path, keeps_old: bool
) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Steps of a run that goes well, and files before and after it; the earlier are other ones."""
    with faults(out) as steps:
        result = run()
    assert getattr(result, "exit_code", 0) == 0, result.output
    assert steps.taken
    after = contents(out)
    before = dict.fromkeys(after, b"an older file") if keeps_old else {}
    restored(out, before)
    with faults(out) as steps:
        run()
    return len(steps.taken), before, contents(out)


def restored(out: Path, before: dict[str, Any]) -> None:
    emptied(out)
    for name, old in before.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(old)


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS)
def test_archive_and_checksum_never_disagree(error: int, out: Path) -> None:
    old = GraphDataset(GRAPHS[:3], TARGETS[:3], "SMALL")
    with faults(out) as steps:
        save_tudataset(small_dataset("SMALL"), out)
    for step in range(len(steps.taken)):
        emptied(out)
        save_tudataset(old, out)
        with faults(out, step, error), suppress(OSError):
            save_tudataset(small_dataset("SMALL"), out)
        assert len(load_tudataset("SMALL", out, cache=False, download=False)) in (3, N_GRAPHS)


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS)
def test_gram_file_goes_on_after_any_failure(error: int, out: Path) -> None:
    """What a failure leaves is continued to the same bits, or begun anew."""
    target = out / "gram.npy"
    with faults(out) as steps:
        write_mean_embedding_gram(target, GRAPHS, kernel=KERNEL)
    whole = target.read_bytes()
    for step in range(len(steps.taken)):
        emptied(out)
        with faults(out, step, error, lasting=error == ENOSPC), suppress(OSError):
            write_mean_embedding_gram(target, GRAPHS, kernel=KERNEL)
        if not target.exists():
            write_mean_embedding_gram(target, GRAPHS, kernel=KERNEL)
        assert target.read_bytes() == whole


@pytest.mark.parametrize("error", ERRORS)
def test_records_are_added_whole_or_not_at_all(error: int, out: Path) -> None:
    path = out / "records.jsonl"

    def append() -> None:
        with record_writer(path) as writer:
            writer.append(made_up(MUTAG, 1))

    with record_writer(path) as writer:
        writer.append(made_up(MUTAG))
    before = path.read_bytes()
    with faults(out) as steps:
        append()
    for step in range(len(steps.taken)):
        path.write_bytes(before)
        with faults(out, step, error), pytest.raises(OSError, match=r"records.jsonl"):
            append()
        assert path.read_bytes() == before
    assert len(read_records(path)) == 1


def test_half_a_record_is_taken_back(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write = out / "records.jsonl", os.write
    with record_writer(path) as writer:
        writer.append(made_up(MUTAG))
        monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:9]))
        with pytest.raises(OSError, match="No space left"):
            writer.append(made_up(MUTAG, 1))
    assert len(path.read_bytes().splitlines()) == len(read_records(path)) == 1


def test_a_failure_before_the_first_step_is_seen(out: Path) -> None:
    """The tests above would see a file that is written in place."""
    path = out / "file"
    path.write_text("old")
    with pytest.raises(OSError, match="No space left"), faults(out, 1, ENOSPC):
        path.write_text("new")
    assert path.read_text() != "old"


# A real disk that is too small: also what libraries write in C fails in good order

IN_OWN_MOUNTS = ["unshare", "--mount", "--map-root-user"]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    folder = tmp_path_factory.mktemp("disk")
    trial = [*IN_OWN_MOUNTS, "mount", "-t", "tmpfs", "tmpfs", str(folder)]
    can_mount = shutil.which("unshare") is not None
    if not can_mount or subprocess.run(trial, capture_output=True, check=False).returncode:
        pytest.skip("this user may mount nothing: writing to a full disk stays untested")
    worker = [sys.executable, "-m", "tests.full_disk_worker", str(folder), str(folder / "small")]
    done = subprocess.run([*IN_OWN_MOUNTS, *worker], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_every_writer_says_that_the_disk_is_full(reports: list[dict[str, object]]) -> None:
    assert len(reports) == 17
    for report in reports:
        error = str(report["error"])
        assert "No space left on device" in error or "GiB are free" in error, report
        assert "small" in error, report


@pytest.mark.slow
def test_nothing_half_written_stays(reports: list[dict[str, object]]) -> None:
    """Of a series of files, whole ones may stay; the one that did not fit is gone."""
    left = {str(report["name"]): report["found"] for report in reports if report["found"]}
    series = left.pop("write_graphml")
    assert all(str(name).endswith(".graphml") for name in series)  # type: ignore[attr-defined]
    assert left == {"gram, filled later, False": ["out.npy.partial", "out.npy.partial.json"]}


# Some kills of the campaign in `benchmarks/kill_campaign.py`


@pytest.mark.slow
@pytest.mark.parametrize("name", ["embed", "convert graphml", "gram"])
def test_kills_leave_whole_files_or_none(name: str) -> None:
    """In a process of its own, which forks before it has threads."""
    command = [sys.executable, "-m", "benchmarks.kill_campaign", "--kills", "6", "--only", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong: 0" in done.stdout


# No command writes over what it reads

REFUSED = "which is read; choose another name for the output"


@pytest.fixture
def folder(tmp_path: Path, graphs_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Inputs of all kinds, each with another name by links."""
    shutil.copy(graphs_file, tmp_path / "graphs.parquet")
    (tmp_path / "mol.csv").write_text("smiles,y\n" + "CCO,1\nCCN,0\n" * 20)
    (tmp_path / "targets.txt").write_text("0\n1\n" * 20)
    (tmp_path / "model.csv").write_text("a model")
    for name in ("graphs.parquet", "mol.csv", "targets.txt", "model.csv"):
        path = tmp_path / name
        (tmp_path / f"link-{name}").symlink_to(path)
        os.link(path, tmp_path / f"hard-{name}")
    (tmp_path / "series").mkdir()
    plain = DATA.graphs.without_labels().without_attributes()
    write_graphml(plain[:3], tmp_path / "series")
    (tmp_path / "home").mkdir()
    save_tudataset(GraphDataset(plain, DATA.targets, "HOME"), tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents_kept_inputs(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "line",
    [
        "fit mol.csv --target-column y -o mol.csv",
        "fit mol.csv --target-column y -o ./mol.csv",
        "fit mol.csv --target-column y -o link-mol.csv",
        "fit link-mol.csv --target-column y -o mol.csv",
        "fit mol.csv --target-column y -o hard-mol.csv",
        "fit graphs.parquet --targets targets.txt -o targets.txt",
        "fit graphs.parquet --targets targets.txt -o hard-targets.txt",
        "fit series -o series/graph-1.graphml",
        "embed mol.csv -o mol.csv",
        "features graphs.parquet -o link-graphs.parquet",
        "kernel mol.csv -o mol.csv",
        "cv mol.csv --target-column y -o mol.csv",
        "predict model.csv graphs.parquet -o model.csv",
        "predict model.csv mol.csv -o mol.csv",
        "similar graphs.parquet --query mol.csv -o mol.csv",
        "similar mol.csv --index 0 -o mol.csv",
        "convert graphs.parquet graphs.parquet",
        "convert graphs.parquet hard-graphs.parquet",
        "convert series series --to graphml",
        "convert series ./series/ --to edges",
        "convert HOME home/HOME.zip --data-home home",
        "convert home/HOME.zip home/HOME.zip",
    ],
)
def test_input_is_kept(line: str, folder: Path) -> None:
    before = contents_kept_inputs(folder)
    result = invoke(*line.split())
    assert_fails(result, REFUSED)
    assert len(result.stderr.splitlines()) == 1, "work was done before"
    assert contents_kept_inputs(folder) == before


@pytest.mark.slow
def test_standard_input_is_kept(folder: Path) -> None:
    before = contents_kept_inputs(folder)
    for name in ("mol.csv", "hard-mol.csv"):
        with (folder / "mol.csv").open("rb") as stream:
            done = subprocess.run(
                [*PROGRAM, "embed", "-", "-o", name],
                cwd=folder,
                env=environment(),
                stdin=stream,
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        assert f"over standard input, {REFUSED}" in done.stderr.decode()
    assert contents_kept_inputs(folder) == before


@pytest.mark.parametrize(
    "line",
    [
        "embed mol.csv -D 2 -o new.csv",
        "embed mol.csv -D 2 -o targets.csv",
        "embed series -D 2 -o series/vectors.csv",
        "embed series -D 2 -o targets.csv",
        "convert HOME home/OTHER.zip --data-home home",
    ],
)
def test_other_files_may_be_replaced(line: str, folder: Path) -> None:
    (folder / "targets.csv").write_text("old")
    for _ in range(2):
        result = invoke(*line.split())
        assert result.exit_code == 0, result.output


def test_records_are_kept(folder: Path) -> None:
    (folder / "report").mkdir()
    records = write(folder / "report" / "cells.csv", [made_up(MUTAG)])
    before = contents_kept_inputs(folder)
    result = CliRunner().invoke(
        paper_app, ["report", "--records", str(records), "--output", str(folder / "report")]
    )
    assert_fails(result, "the report would be written over")
    assert contents_kept_inputs(folder) == before


@pytest.mark.parametrize("name", ["mol.csv", "targets.txt"])
def test_what_holds_no_records_gets_none(name: str, folder: Path) -> None:
    (folder / name).write_text("smiles,y\nCCO,1\nCCN,0")  # no end of line at its end
    before = contents_kept_inputs(folder)
    with pytest.raises(ValueError, match="not a record"), record_writer(folder / name):
        pass
    (folder / "one").write_text("one line")
    with pytest.raises(ValueError, match="does not end in a record"), record_writer(folder / "one"):
        pass
    assert contents_kept_inputs(folder) == {**before, str(folder / "one"): b"one line"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "output",
    ["index/manifest.json", "index/new.csv", "index/deep/new.csv", "link", "link-index/new.csv"],
)
@pytest.mark.parametrize("line", ["index query index mol.csv", "similar index --smiles CCO"])
def test_nothing_is_written_into_an_index_that_is_asked(
    line: str, output: str, folder: Path
) -> None:
    build = invoke("index", "build", "mol.csv", "-D", "8", "--ids", "numbers", "-o", "index")
    assert build.exit_code == 0, build.output
    (folder / "link").symlink_to("index/manifest.json")
    (folder / "link-index").symlink_to("index")
    os.link(folder / "index" / "manifest.json", folder / "hard.csv")
    before = contents_kept_inputs(folder)
    assert_fails(invoke(*line.split(), "-o", output), "would be written into the index index")
    assert_fails(invoke(*line.split(), "-o", "hard.csv"), REFUSED)
    assert contents_kept_inputs(folder) == before
    assert invoke(*line.split(), "-o", "beside.csv").exit_code == 0


@pytest.mark.parametrize(
    "line",
    [
        "test mol.csv graphs.parquet -o x.csv --nodes-output x.csv",
        "test mol.csv graphs.parquet -o x.csv --nodes-output ./sub/../x.csv",
        "test mol.csv graphs.parquet -o old.csv --nodes-output link-old.csv",
        "test mol.csv graphs.parquet -o old.csv --nodes-output hard-old.csv",
        "test mol.csv graphs.parquet -o x.csv --nodes-output dangling.csv",
        "test mol.csv graphs.parquet -o x.svg --figure x.svg",
        "compare graphs.parquet -o t.csv --journal t.csv",
        "compare graphs.parquet -o t.csv -o ./t.csv",
    ],
)
def test_two_outputs_are_two_files(line: str, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "old.csv").write_text("old")
    (folder / "link-old.csv").symlink_to("old.csv")
    os.link(folder / "old.csv", folder / "hard-old.csv")
    (folder / "dangling.csv").symlink_to("x.csv")
    before = contents_kept_inputs(folder)
    result = invoke(*line.split())
    assert_fails(result, "are the same file; choose another name for one of these outputs")
    assert len(result.stderr.splitlines()) == 1, "work was done before"
    assert contents_kept_inputs(folder) == before


def test_pipes_take_several_outputs(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    check_inputs_kept(["pipe", "pipe", "-", "-"], ["mol.csv"], None)


COMMANDS_KEPT_INPUTS = [
    *(info, convert, embed, features, kernel, similar, cv, fit, predict, explore, explain),
    *(compare, population_test),
]
NEITHER = {"data_home", "data", "cache"}  # folders where things are found or made by their names
# records are added to those that are there, and a folder is made by its name in the other
BOTH = {"run.records", "frankenstein.output"}


def test_every_option_that_is_a_file_says_what_is_done_with_it() -> None:
    runs: dict[str, Any] = {command.name: command.run for command in COMMANDS_KEPT_INPUTS}
    runs |= {str(each.name): each.callback for each in paper_app.registered_commands}
    runs |= {f"index {each.name}": each.callback for each in index_app.registered_commands}
    roles = {
        f"{name}.{option.name}": [role for role in FileRole if role in get_args(option.annotation)]
        for name, run in runs.items()
        for option in inspect.signature(run).parameters.values()
        if option.name not in NEITHER
        and ("Path" in str(option.annotation) or option.name in {"source", "query", "output"})
    }
    assert roles["predict.model_file"] == [FileRole.READ]
    assert roles["similar.output"] == [FileRole.WRITTEN]
    assert roles["index query.folder"] == [FileRole.READ]
    assert {name for name, role in roles.items() if len(role) != 1} == BOTH
