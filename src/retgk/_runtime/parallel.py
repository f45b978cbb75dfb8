"""
Threads over independent pieces of compiled work.

Compiled functions release the GIL, so plain threads are enough: no threading layer is chosen for
the process, and nothing is pickled. Each piece writes rows of its own, so their order changes no
result. The threads are kept, because starting some takes longer than embedding a hundred molecules.
"""

import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from numbers import Integral
from threading import Lock, RLock, get_ident
from typing import Any, Literal

from retgk.errors import InvalidInputError

# What people see of long work: a progress bar on terminals, nothing in pipelines.

_QUIET_SECONDS = 2.0

# "off": the user wants none; "shown": a bar is shown, and those inside of it are not
_PROGRESS: ContextVar[Literal["on", "off", "shown"]] = ContextVar("_PROGRESS", default="on")


@contextmanager
def no_progress() -> Iterator[None]:
    before = _PROGRESS.set("shown" if _PROGRESS.get() == "shown" else "off")
    try:
        yield
    finally:
        _PROGRESS.reset(before)


@contextmanager
def progress_bar(description: str, total: float) -> Iterator[Callable[[float], None]]:
    """Give a function to call with work done; a bar shows on terminals, after two seconds."""
    if _PROGRESS.get() != "on" or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(description, total=total)
    start = time.monotonic()

    def advance(amount: float) -> None:
        bar.advance(task, amount)
        if not bar.live.is_started and time.monotonic() - start > _QUIET_SECONDS:
            bar.start()

    before = _PROGRESS.set("shown")
    try:
        yield advance
    finally:
        _PROGRESS.reset(before)
        if bar.live.is_started:
            bar.stop()


_MOST_THREADS: ContextVar[int | None] = ContextVar("_MOST_THREADS", default=None)


def n_threads(n_jobs: int | None) -> int:
    """Threads that `n_jobs` asks for; None is all cores, or one in a worker of joblib or dask."""
    most = _MOST_THREADS.get()
    if n_jobs is None:
        return most if most is not None else 1 if is_worker() else _n_cores()
    if not isinstance(n_jobs, Integral):
        raise InvalidInputError(f"n_jobs must be None or a whole number, got {n_jobs!r}")
    if n_jobs == 0:
        raise InvalidInputError("n_jobs=0 asks for no thread at all; use None for all cores")
    asked = int(n_jobs) if n_jobs > 0 else max(1, _n_cores() + 1 + int(n_jobs))
    return asked if most is None else min(asked, most)


@contextmanager
def most_threads(n: int) -> Iterator[None]:
    before = _MOST_THREADS.set(n)
    try:
        yield
    finally:
        _MOST_THREADS.reset(before)


def is_worker() -> bool:
    """Whether this thread, or process, is one of several that joblib or dask gave work to."""
    if "joblib.parallel" in sys.modules:
        from joblib.parallel import get_active_backend

        backend, _ = get_active_backend()
        if (backend.nesting_level or 0) > 0:
            return True
    if "distributed.worker" not in sys.modules:
        return False
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


@cache
def _n_cores() -> int:
    """Cores of this process; asked once, because reading quotas takes a tenth of a millisecond."""
    from joblib import cpu_count  # knows affinity masks and the quotas of containers

    return int(cpu_count())


def run_tasks(
    function: Callable[..., None],
    tasks: Sequence[tuple[Any, ...]],
    costs: Sequence[float],
    n_jobs: int | None,
    progress: str | Callable[[float], None],
) -> None:
    """Call ``function(*task)``, which releases the GIL, on threads, the most expensive first."""
    waiting = deque(sorted(range(len(tasks)), key=lambda task: -costs[task]))
    n_workers = min(n_threads(n_jobs), len(tasks))
    bar: AbstractContextManager[Callable[[float], None]] = (
        progress_bar(progress, float(sum(costs)))
        if isinstance(progress, str)
        else nullcontext(progress)
    )
    with bar as advance:

        def work() -> None:
            try:
                while waiting:
                    try:
                        task = waiting.popleft()
                    except IndexError:  # another thread was quicker
                        return
                    function(*tasks[task])
                    advance(costs[task])
            except BaseException:
                waiting.clear()
                raise

        others = _POOL.submit(work, n_workers - 1) if n_workers > 1 else []
        try:
            work()
        finally:
            started = [future for future in others if not future.cancel()]
            errors = [error for future in started if (error := future.exception()) is not None]
        if errors:
            raise errors[0]


class _Pool:
    """Threads of this process beside the one that asks; as many as were ever asked for."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew after a fork, which copies no threads and may copy a closed lock."""
        self.lock = Lock()
        self.size = 0
        self.executor: ThreadPoolExecutor | None = None

    def submit(self, work: Callable[[], None], n: int) -> list[Future[None]]:
        with self.lock:
            if self.executor is None or self.size < n:
                if self.executor is not None:
                    self.executor.shutdown(wait=False)  # ends when its work is done
                self.executor, self.size = ThreadPoolExecutor(n, "retgk"), n
            try:
                return [self.executor.submit(work) for _ in range(n)]
            except RuntimeError:  # the interpreter shuts down and gives no more threads
                return []
            except BaseException:
                # interrupted while a thread starts, it may be in no list: the interpreter would
                # wait for it at its end, and nobody tell it to end
                self.executor.shutdown(wait=False, cancel_futures=True)
                self.executor = None
                raise


_POOL = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.forget)


class _BlasLimit:
    """One thread for BLAS while anybody asks for it; a fork waits for the lock."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.users: Counter[int] = Counter()  # by thread: a fork copies one of them
        self.limits: Any = None

    def enter(self) -> None:
        with self.lock:
            if not self.users:
                self.limits = _blas_controller().limit(limits=1, user_api="blas")
            self.users[get_ident()] += 1

    def leave(self) -> None:
        with self.lock:
            self._forget(get_ident(), 1)

    def keep_to_this_thread(self) -> None:
        """Give up, in a forked process, what threads asked for that it does not have."""
        for thread in set(self.users) - {get_ident()}:
            self._forget(thread, self.users[thread])
        self.lock.release()

    def _forget(self, thread: int, times: int) -> None:
        self.users[thread] -= times
        self.users = +self.users
        if not self.users:
            self.limits.restore_original_limits()


_BLAS_LIMIT = _BlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_BLAS_LIMIT.lock.acquire,
        after_in_parent=_BLAS_LIMIT.lock.release,
        after_in_child=_BLAS_LIMIT.keep_to_this_thread,
    )


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    _BLAS_LIMIT.enter()
    try:
        yield
    finally:
        _BLAS_LIMIT.leave()


@cache
def _blas_controller() -> Any:
    """Controller of the BLAS libraries; finding them takes milliseconds, so it is done once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
