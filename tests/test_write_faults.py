"""Every step of every output fails in turn: nothing is half-written, and the old file is intact."""

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from errno import EACCES, EIO, ENOSPC
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from reproduction.__main__ import paper_app
from retgk import (
    GraphBatch,
    GraphDataset,
    RetGKKernel,
    load_tudataset,
    save_model,
    save_tudataset,
    write_edge_list,
    write_graphml,
    write_json,
    write_mean_embedding_gram,
    write_parquet,
)
from retgk._runtime.files import read_records, record_writer
from retgk.cli.main import app
from retgk.estimators import gram_file
from tests.cli_calls import DATA, invoke
from tests.paper_records import MUTAG, made_up
from tests.write_faults import faults

N_GRAPHS = 12
GRAPHS = DATA.graphs[:N_GRAPHS]
TARGETS = DATA.targets[:N_GRAPHS]
RINGS = GraphBatch.from_edges([3, 3], [[0, 1], [1, 2], [2, 0], [3, 4], [4, 5]], symmetrize=True)
ERRORS = (ENOSPC, EACCES, EIO)
MOST_STEPS = 18  # of long series, the first and the last
FAST = "--C 1 --p 1 --scale 1"
KERNEL = RetGKKernel(random_state=0)

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


FUNCTIONS: dict[str, Callable[[Path], Any]] = {
    "save_model": lambda out: save_model(KERNEL.fit(GRAPHS), out / "model.retgk"),
    "write_parquet": lambda out: write_parquet(small_dataset(), out / "graphs.parquet"),
    "save_tudataset": lambda out: save_tudataset(small_dataset("SMALL"), out),
    "write_json": lambda out: write_json(small_dataset(), out / "graphs.jsonl"),
    "write_graphml": lambda out: write_graphml(RINGS, out),
    "write_edge_list": lambda out: write_edge_list(RINGS, out),
    "write_mean_embedding_gram": lambda out: write_mean_embedding_gram(
        out / "gram.npy", GRAPHS, kernel=KERNEL
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_write_whole_files_or_none(name: str, out: Path) -> None:
    def run() -> Any:
        return FUNCTIONS[name](out)

    keeps_old = name != "write_mean_embedding_gram"
    n_steps, before, after = rehearsed(run, out, keeps_old)
    for step, error, lasting in all_faults(n_steps, MOST_STEPS):
        restored(out, before)
        failure = None
        with faults(out, step, error, lasting=lasting):
            try:
                run()
            except OSError as found:
                failure = found
        assert_whole(out, before, after)
        if failure is not None:
            assert failure.errno == error
            assert str(out) in str(failure.filename), "the file is not named"


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
