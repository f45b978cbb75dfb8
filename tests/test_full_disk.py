"""A real disk that is too small: also what libraries write in C fails in good order."""

import json
import shutil
import subprocess
import sys

import pytest

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


def test_every_writer_says_that_the_disk_is_full(reports: list[dict[str, object]]) -> None:
    assert len(reports) == 17
    for report in reports:
        error = str(report["error"])
        assert "No space left on device" in error or "GiB are free" in error, report
        assert "small" in error, report


def test_nothing_half_written_stays(reports: list[dict[str, object]]) -> None:
    """Of a series of files, whole ones may stay; the one that did not fit is gone."""
    left = {str(report["name"]): report["found"] for report in reports if report["found"]}
    series = left.pop("write_graphml")
    assert all(str(name).endswith(".graphml") for name in series)  # type: ignore[attr-defined]
    assert left == {"gram, filled later, False": ["out.npy.partial", "out.npy.partial.json"]}
