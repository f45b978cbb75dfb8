"""Functions are compiled where nothing can be stored, too: read-only package, read-only home."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import pytest

import retgk
from retgk import GraphDataset, make_graph_classification, save_tudataset
from retgk.runtime.compiling import njit
from tests.cli_program import TIMEOUT_SECONDS
from tests.unprivileged import make_read_only, mind_modes

WARNING = (
    "compiled code cannot be kept, because neither the package nor the user's cache folder can be "
    "written to; every process compiles it again, which takes a while; set NUMBA_CACHE_DIR to a "
    "folder that can be written to"
)
SCRIPT = """
import pathlib, sys
for folder in sys.argv[1:]:
    try:
        (pathlib.Path(folder) / "x").touch()
    except OSError:
        continue
    sys.exit("this system lets a program write where modes forbid it")
import retgk
print(retgk.__file__)
print(retgk.RetGKKernel(), retgk.RetGKEmbedding())  # nearly all compiled files, imported
print(retgk.load_tudataset("SMALL", ".", cache=False))
"""


def run_read_only(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess:
    """Run a command with a copy of the package, and a home, that cannot be written to."""
    package, home = folder / "site" / "retgk", folder / "home"
    if not home.exists():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(retgk.__file__).parent, package, ignore=ignored)
        home.mkdir()
        data = make_graph_classification(4, random_state=0)
        save_tudataset(GraphDataset(data.graphs, data.targets, "SMALL"), folder)
        make_read_only(folder / "site")
        make_read_only(home)
    kept = {name: text for name, text in os.environ.items() if not name.startswith("XDG_")}
    kept.pop("NUMBA_CACHE_DIR", None)
    own = {"HOME": str(home), "PYTHONPATH": str(package.parent), "PYTHONWARNINGS": "default"}
    return subprocess.run(
        [sys.executable, *command],
        env={**kept, **own, **variables},
        cwd=folder,
        preexec_fn=mind_modes,  # no thread is left behind: it is executed at once
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def checked(done: subprocess.CompletedProcess, folder: Path) -> subprocess.CompletedProcess:
    """Skip, loudly, where modes are not minded; fail where the program did."""
    if "where modes forbid it" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert str(folder) in done.stdout
    return done


@pytest.mark.skipif(os.name != "posix", reason="modes of folders mean something else here")
def test_read_only_package_and_home(tmp_path: Path) -> None:
    tried = [str(tmp_path / "site" / "retgk"), str(tmp_path / "home")]
    done = checked(run_read_only(tmp_path, "-c", SCRIPT, *tried), tmp_path)
    assert done.stderr.count(WARNING) == done.stderr.count("Warning") == 1, done.stderr
    cache = tmp_path / "cache"
    again = run_read_only(tmp_path, "-c", SCRIPT, *tried, NUMBA_CACHE_DIR=str(cache))
    assert checked(again, tmp_path).stderr == ""
    assert again.stdout == done.stdout
    assert list(cache.rglob("*.nbi"))


@pytest.mark.skipif(os.name != "posix", reason="modes of folders mean something else here")
def test_the_program_says_so_in_one_line(tmp_path: Path) -> None:
    done = run_read_only(tmp_path, "-m", "retgk", "info", "SMALL.zip", PYTHONWARNINGS="")
    if "retgk: compiled" not in done.stderr and list((tmp_path / "site").rglob("*.nbi")):
        pytest.skip("this system lets a program write where modes forbid it")
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"retgk: {WARNING}\n"
    assert done.stdout.startswith("name "), done.stdout


def test_other_errors_of_numba_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise RuntimeError("another reason")

    monkeypatch.setattr(numba, "njit", refuse)
    with pytest.raises(RuntimeError, match="another reason"):
        njit(cache=True)(len)


def test_compiled_as_numba_does() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @njit(nogil=True)
        def double(x: int) -> int:
            return 2 * x

    assert double(4) == 8
    assert double.targetoptions["nogil"]
