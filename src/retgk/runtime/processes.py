"""
Pieces of work in other processes: results in order, a few pieces ahead, nothing left behind.

This is for work that holds the GIL, such as RDKit's parser; compiled work goes to threads, see
`runtime/parallel.py`. Pieces and results are pickled on their way, so they should be text and flat
arrays: objects of Python take longer to send than most work on them takes.
"""

import multiprocessing
import signal
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from itertools import chain, islice
from time import monotonic, sleep
from typing import Any, TypeVar

from retgk.errors import InvalidInputError
from retgk.runtime.parallel import is_worker, n_threads

__all__ = ["n_processes", "ordered_results"]

Result = TypeVar("Result")

_LEAST_PIECES = 3  # as many as the start of processes takes the time of
_AHEAD = 2  # pieces for each process that are under way or wait for the reader
_SETTLING_SECONDS = 1.0
_IDLE_SECONDS = 60  # after which a process ends that nobody gives work, as that of a killed program


def n_processes(n_jobs: int | None) -> int:
    """
    Number of processes that `n_jobs` asks for.

    None means one: unlike threads, processes take seconds to start. -1 means all cores, -2 all but
    one, and so on. Inside a worker of joblib, dask or ``multiprocessing``, it is one in any case.
    """
    if n_jobs == 0:
        raise InvalidInputError("n_jobs=0 asks for no process at all; use None for one")
    wanted = 1 if n_jobs is None else n_threads(n_jobs)
    is_inner = is_worker() or multiprocessing.current_process().daemon
    return 1 if is_inner else wanted


def ordered_results(
    function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Result]:
    """
    Give ``function(*piece)`` of every piece, in order.

    Parameters
    ----------
    function : callable
        Known by its module and name in other processes too.
    pieces : iterable of tuple
        Arguments of every call; read as they are needed, so that a stream stays one.
    n_jobs : int or None
        Processes, as in `n_processes`. One or two pieces are worked on in this process, as they
        would be done before another has started.

    Yields
    ------
    object
        What the function returns. What it raises is raised when its turn comes; warnings are given
        again in this process. If a process is killed, a ChildProcessError says so.
    """
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
