"""
Processes with limits of time and memory, which end with the process that started them.

That process calls `run_to_end`. In the other, `end_with_parent`, `limit_memory` and `time_limit`
set the limits: the system keeps them, whatever compiled code is doing at that moment.
"""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import NamedTuple

__all__ = [
    "ProcessEnd",
    "ProcessLimits",
    "end_with_parent",
    "is_lack_of_memory",
    "limit_memory",
    "run_to_end",
    "tells_of_memory",
    "time_limit",
]

_STANDARD_INPUT = 0
_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>
_LAST_ERRORS = 60
"""Lines of errors that may name what led to the last one, as where a library cannot be loaded."""

# What Python, NumPy, C++, OpenMP, LLVM, OpenBLAS, Rust and the system say, in small letters. The
# word memory alone is no sign: parameters have that name.
_SIGNS_OF_MEMORY = (
    "exception ignored on building sys.unraisablehook",
    "memoryerror",
    "unable to allocate",
    "cannot allocate memory",
    "could not allocate memory",
    "failed to allocate memory",
    "not enough memory",
    "insufficient memory",
    "out of memory",
    "memory allocation",
    "bad_alloc",
    "failed to map segment",
    "can't start new thread",
)
_LONGEST_MESSAGE = 200
_LOOK_SECONDS = 1.0
_LAST_LINES_SECONDS = 10.0  # for lines of a process that has ended; they are there at once


@dataclass(frozen=True)
class ProcessLimits:
    """
    What a process may take.

    Attributes
    ----------
    seconds : float
        Of the work that is measured.
    megabytes : float
        Of the whole process.
    """

    seconds: float = 600.0
    megabytes: float = 8000.0

    def are_raised(self, earlier: Sequence[float]) -> bool:
        """Whether what failed within earlier limits is worth a try: one is higher, none lower."""
        seconds, megabytes = earlier
        if self.seconds < seconds or self.megabytes < megabytes:
            return False
        return self.seconds > seconds or self.megabytes > megabytes


class ProcessEnd(NamedTuple):
    """How a process ended, and what it wrote."""

    code: int
    lines: list[str]
    """Of its standard output."""
    errors: str
    is_late: bool
    """Whether it was killed because it neither ended nor wrote a line for too long."""

    @property
    def is_well(self) -> bool:
        """Whether it ended by itself and found nothing wrong."""
        return self.code == 0 and not self.is_late

    @property
    def is_out_of_time(self) -> bool:
        """Whether a limit of time ended it."""
        return self.is_late or self.code == _code_of("SIGALRM")

    @property
    def is_out_of_memory(self) -> bool:
        """Whether it has the signs of a process that was given no more memory."""
        if self.is_out_of_time or self.code == _code_of("SIGKILL"):
            return False
        last_errors = "\n".join(self.errors.splitlines()[-_LAST_ERRORS:])
        return tells_of_memory(last_errors) or self.code == _code_of("SIGSEGV")

    @property
    def _error(self) -> str:
        """Last line of the errors, which says what went wrong."""
        return ["", *self.errors.strip().splitlines()][-1]

    def reason(self, limits: ProcessLimits) -> str:
        """Say what ended a process that did not end well."""
        if self.is_out_of_time:
            return f"did not finish in {limits.seconds:g} s"
        if self.code == _code_of("SIGKILL"):
            return "was killed from outside, probably because the machine ran out of memory"
        if self.is_out_of_memory:
            return f"did not fit into {limits.megabytes:g} MB"
        if self.code < 0:
            return f"was ended by {signal.Signals(-self.code).name}"
        return self._error[:_LONGEST_MESSAGE] or f"ended with code {self.code}"


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether an error, or one that led to it, comes of a process that was given no more memory."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, MemoryError) or tells_of_memory(str(found)):
            return True
        found = found.__cause__ or found.__context__
    return False


def tells_of_memory(message: str) -> bool:
    """Whether errors, of whatever kind, come of a process that was given no more memory."""
    return any(sign in message.lower() for sign in _SIGNS_OF_MEMORY)


def _code_of(name: str) -> int | None:
    """Exit code of a process that a signal ended; None where the system has no such signal."""
    number = getattr(signal, name, None)
    return None if number is None else -int(number)


# In the process that starts others


def _ignore(_line: str) -> None:
    pass


def run_to_end(
    command: Sequence[str], patience: float, on_line: Callable[[str], None] = _ignore
) -> ProcessEnd:
    """
    Run a command to its end, however that comes.

    Parameters
    ----------
    command : sequence of str
        The program, which calls `end_with_parent`, and its arguments.
    patience : float
        Seconds after which a process that writes no line is killed. It should stop itself
        before, by limits of its own.
    on_line : callable
        Gets every line of standard output as it comes.

    Returns
    -------
    ProcessEnd
        How it ended. All that it started is ended too, also if this function is interrupted.
    """
    read_end, write_end = os.pipe()  # nothing is written: its end tells the process we are gone
    with (
        os.fdopen(read_end, "rb") as lifeline,
        os.fdopen(write_end, "wb"),
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command,
            stdin=lifeline,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            errors="backslashreplace",
            start_new_session=True,  # so that it can be stopped with all that it has started
        ) as process,
    ):
        coming, reader = _read_in_thread(process)
        lines: list[str] = []

        def take(line: str) -> None:
            lines.append(line)
            on_line(line)

        is_late = False
        try:
            is_late = _follow(process, coming, patience, take)
        finally:
            _kill(process)
            process.wait()
            reader.join(_LAST_LINES_SECONDS)
            if reader.is_alive():  # something that left the session keeps the output open
                process.stdout = None  # the reader's: closing it would wait for that
        with suppress(Empty):
            while (line := coming.get_nowait()) is not None:  # what was still on its way
                take(line)
        errors.seek(0)
        text = errors.read().decode("utf-8", "backslashreplace")
    return ProcessEnd(process.returncode, lines, text, is_late)


def _follow(
    process: "subprocess.Popen[str]",
    coming: "SimpleQueue[str | None]",
    patience: float,
    take: Callable[[str], None],
) -> bool:
    """Take lines until a process ends; give whether patience ended before."""
    heard = time.monotonic()
    while time.monotonic() - heard < patience:
        try:
            line = coming.get(timeout=min(patience, _LOOK_SECONDS))
        except Empty:
            pass
        else:
            if line is None:
                coming.put(None)
                break
            take(line)
            heard = time.monotonic()
        if process.poll() is not None:  # something that it started may keep the output open
            return False
    try:
        process.wait(max(patience - (time.monotonic() - heard), 0))
    except subprocess.TimeoutExpired:
        return True
    return False


def _read_in_thread(
    process: "subprocess.Popen[str]",
) -> tuple["SimpleQueue[str | None]", threading.Thread]:
    """Give a queue of the lines that a process writes, None after the last, and who fills it."""
    coming: SimpleQueue[str | None] = SimpleQueue()

    output = process.stdout
    assert output is not None

    def read() -> None:
        with output:
            for line in output:
                coming.put(line.rstrip("\n"))
        coming.put(None)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    return coming, reader


def _kill(process: "subprocess.Popen[str]") -> None:
    """Kill a process and what it has started, if they are there."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


# In the process that is limited


def end_with_parent() -> None:
    """End this process when the one that started it ends, even if that one is killed."""
    if sys.platform == "linux":  # at once, even while compiled code keeps the thread from running
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_exit_at_end_of_input, daemon=True).start()


def _exit_at_end_of_input() -> None:
    os.read(_STANDARD_INPUT, 1)
    os._exit(1)


def limit_memory(megabytes: float) -> None:
    """Let this process have no more memory than that, where the system can say so."""
    try:
        import resource
    except ImportError:  # Windows
        return
    size = int(megabytes * 2**20)
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:  # set from outside, as batch systems do: it can only fall
        size = min(size, most)
    if sys.platform == "darwin":  # which has the limit, but takes no value for it
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (size, size))
        return
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Let the system end this process if the block takes longer, where it can."""
    if not hasattr(signal, "setitimer"):  # Windows; there `run_to_end` loses its patience
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
