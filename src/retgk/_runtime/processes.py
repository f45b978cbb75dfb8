"""
Pieces of work in other processes: results in order, a few pieces ahead, nothing left behind.

This is for work that holds the GIL, such as RDKit's parser; compiled work goes to threads, see
`_runtime/parallel.py`. Pieces and results are pickled on their way, so they should be text and flat
arrays: objects of Python take longer to send than most work on them takes.
"""

import ctypes
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeVar

from retgk._runtime.parallel import is_worker, n_threads
from retgk.errors import InvalidInputError

Result = TypeVar("Result")

_LEAST_PIECES = 3  # as many as the start of processes takes the time of
_AHEAD = 2  # pieces for each process that are under way or wait for the reader
_SETTLING_SECONDS = 1.0
_IDLE_SECONDS = 60  # after which a process ends that nobody gives work, as that of a killed program


def n_processes(n_jobs: int | None) -> int:
    """Processes that `n_jobs` asks for; None is one, as they take seconds to start."""
    if n_jobs == 0:
        raise InvalidInputError("n_jobs=0 asks for no process at all; use None for one")
    wanted = 1 if n_jobs is None else n_threads(n_jobs)
    is_inner = is_worker() or multiprocessing.current_process().daemon
    return 1 if is_inner else wanted


def ordered_results(
    function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Result]:
    """Give ``function(*piece)`` of every piece, in order; few pieces need no other process."""
    n_workers = n_processes(n_jobs)
    waiting = iter(pieces)
    first = list(islice(waiting, _LEAST_PIECES)) if n_workers > 1 else []
    if len(first) < _LEAST_PIECES:
        return (function(*piece) for piece in chain(first, waiting))
    return _in_processes(function, chain(first, waiting), n_workers)


def _in_processes(
    function: Callable[..., Result], pieces: Iterator[tuple[Any, ...]], n_workers: int
) -> Generator[Result, None, None]:
    # loky starts clean interpreters, which neither copy our threads nor run the user's script again
    from joblib.externals.loky import BrokenProcessPool, ProcessPoolExecutor

    executor = ProcessPoolExecutor(n_workers, timeout=_IDLE_SECONDS, initializer=_leave_interrupts)
    ahead: deque[Future[tuple[Result, list[Warning]]]] = deque()
    try:
        submitted = (executor.submit(_with_warnings, function, piece) for piece in pieces)
        ahead.extend(islice(submitted, _AHEAD * n_workers))
        while ahead:
            result, warned = ahead.popleft().result()
            ahead.extend(islice(submitted, 1))
            for warning in warned:
                warnings.warn(warning, stacklevel=3)
            yield result
    except BrokenProcessPool as error:
        raise ChildProcessError(
            f"one of {n_workers} processes that helped was killed, as systems do that run out of "
            "memory; try again with fewer, such as n_jobs=1 or --n-jobs 1"
        ) from error
    finally:
        _wait_for_start(ahead)
        executor.shutdown(kill_workers=True)


def _wait_for_start(futures: Iterable[Future[Any]]) -> None:
    """Let loky take note of what was submitted last: its thread fails if it is stopped before."""
    end = monotonic() + _SETTLING_SECONDS
    while not all(each.running() or each.done() for each in futures) and monotonic() < end:
        sleep(0.001)


def _leave_interrupts() -> None:
    """Ctrl-C goes to all processes of a terminal; the first of them ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _with_warnings(
    function: Callable[..., Result], piece: tuple[Any, ...]
) -> tuple[Result, list[Warning]]:
    """Result of a call, and the warnings that nobody would see in this process."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*piece)
    return result, [found.message for found in caught if isinstance(found.message, Warning)]


# Processes with limits of time and memory, which end with the process that started them.
#
# That process calls `run_to_end`. In the other, `end_with_parent`, `limit_memory` and
# `time_limit` set the limits: the system keeps them, whatever compiled code is doing at that
# moment.

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
    """What a process may take: seconds of measured work, megabytes of the whole process."""

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
    def succeeded(self) -> bool:
        return self.code == 0 and not self.is_late

    @property
    def is_out_of_time(self) -> bool:
        return self.is_late or self.code == _code_of("SIGALRM")

    @property
    def is_out_of_memory(self) -> bool:
        if self.is_out_of_time or self.code == _code_of("SIGKILL"):
            return False
        last_errors = "\n".join(self.errors.splitlines()[-_LAST_ERRORS:])
        return tells_of_memory(last_errors) or self.code == _code_of("SIGSEGV")

    @property
    def _error(self) -> str:
        return ["", *self.errors.strip().splitlines()][-1]

    def reason(self, limits: ProcessLimits) -> str:
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


def run_to_end(
    command: Sequence[str], patience: float, on_line: Callable[[str], None] = lambda _: None
) -> ProcessEnd:
    """Run a command, which calls `end_with_parent`, to its end; `patience` is between two lines."""
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


def limit_memory_from_now(megabytes: float) -> None:
    """Let this process have so much memory beyond what it has, where the system can say so."""
    kilobytes = _kilobytes(Path("/proc/self/status"), "VmSize:")
    if kilobytes is not None:
        limit_memory(kilobytes / 1024 + megabytes)


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


# Memory of the machine and of this process: too little is an error before the work starts.


def available_bytes() -> int | None:
    kilobytes = _kilobytes(Path("/proc/meminfo"), "MemAvailable:")
    if kilobytes is not None:
        return 1024 * kilobytes
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def check_room(n_bytes: int, what: str, remedy: str) -> None:
    available = available_bytes()
    if available is not None and n_bytes > available:
        raise InvalidInputError(
            f"{what} takes {n_bytes / 2**30:.1f} GiB, but only {available / 2**30:.1f} GiB of "
            f"memory are free; {remedy}"
        )


def physical_megabytes() -> float:
    """Memory that the machine has, free or not; a large number where it does not tell."""
    kilobytes = _kilobytes(Path("/proc/meminfo"), "MemTotal:")
    if kilobytes is not None:
        return kilobytes / 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (AttributeError, OSError, ValueError):
        return float(1 << 20)


def peak_megabytes() -> float:
    """Peak memory of this process so far; NaN where the system does not tell."""
    kilobytes = _kilobytes(Path("/proc/self/status"), "VmHWM:")
    if kilobytes is not None:
        return kilobytes / 1024
    try:
        import resource
    except ImportError:  # Windows
        return math.nan
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # begins with the parent's
    is_in_bytes = sys.platform == "darwin"  # in kilobytes elsewhere
    return peak / 2**20 if is_in_bytes else peak / 1024


def recorded_peak_megabytes() -> float | None:
    """Peak memory for a record, to a tenth; None where the system does not tell."""
    megabytes = peak_megabytes()
    return None if math.isnan(megabytes) else round(megabytes, 1)


def _kilobytes(table: Path, name: str) -> int | None:
    """Value of a line such as ``VmHWM:  1234 kB`` in a file of /proc; None without it."""
    if not table.exists():
        return None
    lines = table.read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), None)
