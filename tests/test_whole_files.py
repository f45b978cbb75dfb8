"""Files appear whole or not at all, in place of files alone, and what kills leave is removed."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from retgk import InvalidInputError
from retgk._runtime.files import atomic_folder, atomic_path
from tests.cli_calls import assert_fails, invoke, rows_of

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


def write(path: Path, text: str = "new") -> None:
    with atomic_path(path) as part:
        part.write_text(text)


def assert_refused(path: Path, what: str) -> None:
    before = path.lstat()
    with pytest.raises(InvalidInputError, match=f"is a {what}; give the name of a file"):
        write(path)
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
    write(second, "first")  # its target is not there yet
    write(link, "new")
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
        write(tmp_path / "a")


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
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_new_files_have_the_mode_of_the_process(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "file")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_the_longest_names_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("\N{SNOWMAN}" * 85)
    write(path)
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


def test_parts_of_another_user_stay(tmp_path: Path) -> None:
    part = tmp_path / OLD_PART
    part.write_text("x")
    try:
        os.chown(part, 12345, 12345)
    except PermissionError:
        pytest.skip("this user may give no files away: that those of others stay is untested")
    write_in_a_new_process(tmp_path / "quick")
    assert part.exists()


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


def test_commands_follow_links(graphs_file: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link = tmp_path / "vectors.csv"
    link.symlink_to(tmp_path / "far" / "target.csv")
    assert invoke("embed", graphs_file, "-D", 2, "-o", link).exit_code == 0
    assert link.is_symlink()
    assert len(rows_of(tmp_path / "far" / "target.csv")) == 40
