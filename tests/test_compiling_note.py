"""A line on the terminal says that code is compiled: once, there only, and only where it is."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from retgk.runtime.progress import is_progress_wanted, no_progress
from tests.cli_program import TIMEOUT_SECONDS

NOTE = "retgk: compiling code for this machine, which happens once and takes a while"

MODULE = """
from numba import njit

@njit(cache=True)
def add_one(array):
    array += 1

@njit(cache=True)
def add_two(array):
    array += 2
"""
START = """
import importlib.util, sys
import numpy as np
from retgk.runtime import progress
from retgk.runtime.parallel import run_tasks
from retgk.runtime.progress import no_progress, progress_bar
progress._QUIET_SECONDS = 1e9  # no bar of a slow machine beside the line

def module(name):
    spec = importlib.util.spec_from_file_location(name, sys.argv[1])
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found

def run(*functions):
    array = np.zeros(2)
    for function in functions:
        run_tasks(function, [(array[:1],), (array[1:],)], [1.0, 1.0], 2, "adding")
    assert array.all()
"""
BOTH = "tiny = module('retgk.tiny'); run(tiny.add_one, tiny.add_two)"
WORKER = """
from joblib import Parallel, delayed
tiny = module("retgk.tiny")
Parallel(2, backend="threading")(delayed(run)(tiny.add_one) for _ in range(2))
"""


def standard_error(script: str, cache: Path, *, terminal: bool = True) -> str:
    """What a script prints there, with a numba cache of its own."""
    tiny = cache / "tiny.py"
    cache.mkdir(exist_ok=True)
    if not tiny.exists():  # its time is part of what older versions of numba go by
        tiny.write_text(MODULE)
    reader, writer = pty.openpty() if terminal else os.pipe()
    done = subprocess.Popen(
        [sys.executable, "-c", START + script, str(tiny)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "TERM": "dumb"},
        stderr=writer,
    )
    os.close(writer)
    text = b""
    try:
        while piece := os.read(reader, 4096):
            text += piece
    except OSError:  # how a terminal says that its program has ended
        pass
    os.close(reader)
    assert done.wait(TIMEOUT_SECONDS) == 0, text.decode()
    return text.decode()


def test_said_once_and_not_again_when_it_is_cached(tmp_path: Path) -> None:
    assert standard_error(BOTH, tmp_path).splitlines() == [NOTE]
    assert standard_error(BOTH, tmp_path) == ""


def test_said_inside_of_a_bar(tmp_path: Path) -> None:
    script = f"with progress_bar('outer', 1.0), no_progress():\n    {BOTH}"
    assert standard_error(script, tmp_path).splitlines() == [NOTE]


ALONE = "tiny = module('retgk.tiny'); tiny.add_one(np.zeros(1)); tiny.add_two(np.zeros(1))"


def test_said_of_functions_that_are_called_without_threads(tmp_path: Path) -> None:
    """As those are that read files; importing a module that compiles is enough."""
    (tmp_path / "tiny.py").write_text(MODULE.replace("from numba", "from retgk.runtime.compiling"))
    assert standard_error(ALONE, tmp_path).splitlines() == [NOTE]
    assert standard_error(ALONE, tmp_path) == ""


def test_not_said_of_them_where_progress_is_off(tmp_path: Path) -> None:
    (tmp_path / "tiny.py").write_text(MODULE.replace("from numba", "from retgk.runtime.compiling"))
    assert standard_error(f"with no_progress():\n    {ALONE}", tmp_path) == ""


@pytest.mark.parametrize(
    "script",
    [
        f"with no_progress():\n    {BOTH}",
        BOTH.replace("retgk.tiny", "tiny"),  # other people's code
        WORKER,
    ],
)
def test_not_said(script: str, tmp_path: Path) -> None:
    assert standard_error(script, tmp_path) == ""


def test_not_said_to_a_pipe(tmp_path: Path) -> None:
    assert standard_error(BOTH, tmp_path, terminal=False) == ""


def test_numba_is_not_imported_for_it(tmp_path: Path) -> None:
    script = "run_tasks(print, [], [], 1, 'x')\nassert 'numba' not in sys.modules"
    assert standard_error(script, tmp_path) == ""


def test_progress_is_not_wanted_where_nobody_looks() -> None:
    with no_progress():
        assert not is_progress_wanted()
