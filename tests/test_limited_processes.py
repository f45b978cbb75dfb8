"""Processes that are followed to their end: no line is lost, and nothing waits for ever."""

import os
import signal
import sys

import pytest

from retgk._runtime import processes as limited_processes
from retgk._runtime.processes import (
    ProcessEnd,
    ProcessLimits,
    is_lack_of_memory,
    limit_memory,
    run_to_end,
    tells_of_memory,
    time_limit,
)

needs_sessions = pytest.mark.skipif(sys.platform == "win32", reason="needs sessions of POSIX")


def run(code, patience=60.0):
    return run_to_end([sys.executable, "-c", code], patience)


def test_no_line_is_lost():
    end = run("for i in range(20000): print(i)")
    assert end.lines == [str(i) for i in range(20000)]
    assert end.succeeded


def test_a_last_line_without_an_end_counts():
    assert run("print('a'); print('b', end='')").lines == ["a", "b"]


def test_a_process_may_close_its_output_before_it_ends():
    end = run("import os, time; print('a', flush=True); os.close(1); time.sleep(0.5); os._exit(3)")
    assert (end.code, end.lines, end.is_late) == (3, ["a"], False)


def test_a_process_that_closed_its_output_is_late_too():
    code = "import os, time; print('a', flush=True); os.close(1); time.sleep(600)"
    assert run(code, patience=2.0).is_late


@needs_sessions
@pytest.mark.parametrize("work", ["sleep 60", "while sleep 0.1; do echo more; done"])
def test_what_a_process_leaves_behind_is_ended(work):
    """It keeps the output open, and may write to it as long as it lives."""
    end = run(_left_behind(work, session=False))
    assert end.succeeded
    assert any(line.isdecimal() for line in end.lines)
    assert end.lines.count("more") < 100  # of 600


@needs_sessions
@pytest.mark.parametrize("work", ["sleep 60", "while sleep 0.1; do echo more; done"])
def test_what_left_the_session_is_not_waited_for(monkeypatch, work):
    monkeypatch.setattr(limited_processes, "_LAST_LINES_SECONDS", 1.0)
    end = run(_left_behind(work, session=True))
    assert end.succeeded
    number = next(line for line in end.lines if line.isdecimal())
    os.kill(int(number), signal.SIGTERM)  # it is still there


def _left_behind(work, session):
    """Program that starts another one, says its number, and ends."""
    return f"""
import subprocess
command = ["timeout", "60", "sh", "-c", {work!r}]
print(subprocess.Popen(command, start_new_session={session}).pid)
"""


@needs_sessions
def test_a_lower_limit_of_memory_from_outside_stays(monkeypatch):
    resource = pytest.importorskip("resource")
    found = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 30, 1 << 30))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: found.append(limits))
    limit_memory(8000)
    limit_memory(100)
    assert found == [(1 << 30, 1 << 30), (100 << 20, 100 << 20)]


@needs_sessions
def test_time_that_is_limited_ends_with_an_error_too():
    with pytest.raises(ValueError, match="odd"), time_limit(600):
        raise ValueError("odd")
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


@pytest.mark.parametrize(
    "message",
    [
        "MemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 1.00 GiB for an array",
        "  what():  std::bad_alloc",
        "OSError: [Errno 12] Cannot allocate memory",
        "LLVM ERROR: out of memory",
        "OpenBLAS error: Memory allocation still failed after 10 retries, giving up.",
        "ImportError: libblas.so: failed to map segment from shared object",
        "RuntimeError: can't start new thread",
    ],
)
def test_signs_of_a_lack_of_memory(message):
    assert tells_of_memory(message)
    end = ProcessEnd(1, [], f"Traceback\n{message}\n", False)
    assert end.reason(ProcessLimits(5, 100)) == "did not fit into 100 MB"


@pytest.mark.parametrize(
    "message",
    [
        "ValueError: 'memory' should be None, a string or have the same interface as "
        "joblib.Memory. Got memory='5' instead.",
        "TypeError: fit() got an unexpected keyword argument 'memory'",
        "FileNotFoundError: [Errno 2] No such file: 'in_memory/graphs.csv'",
    ],
)
def test_the_word_memory_is_no_sign_of_a_lack_of_it(message):
    assert not tells_of_memory(message)
    end = ProcessEnd(1, [], f"Traceback\n{message}\n", False)
    assert not end.is_out_of_memory
    assert end.reason(ProcessLimits(5, 100)) == message


def test_errors_that_lack_of_memory_led_to():
    """A library that cannot be loaded names the cause in the error before."""
    error = OSError("Could not find/load shared object file 'libx.so'")
    assert not is_lack_of_memory(error)
    error.__context__ = OSError("libx.so: failed to map segment from shared object")
    assert is_lack_of_memory(error)
