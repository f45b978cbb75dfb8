"""
Tasks on the workers of a dask cluster, with their results in order.

What all tasks share is sent to the workers once. Few tasks are under way at a time, so that neither
the scheduler nor this process holds many results. dask repeats what a lost worker was doing. What
it cannot is done here: data that was sent is sent again if no worker is left that has it.

Workers come and go, so every task carries the version of the code that it is for, and a worker with
another one refuses it.
"""

import logging
import os
import re
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from retgk import __version__
from retgk._runtime.files import modules_digest
from retgk._runtime.names import optional_module
from retgk._runtime.parallel import most_threads, no_progress, single_threaded_blas
from retgk.errors import InputWarning, InvalidInputError

Task = tuple[Any, ...]

_AHEAD = 2  # tasks under way for each thread of the cluster: one that runs, one that waits
_ATTEMPTS = 4  # of a task, each of which may cost dask several workers
_PATIENCE_SECONDS = 10.0  # until it is asked whether there are workers at all
_POLL_SECONDS = 0.2
_NO_SCHEDULER = (
    "the connection to the scheduler of the cluster is lost; what was written before is kept: "
    "start the scheduler and its workers again, and run the same call with a new Client"
)
_UNSTABLE = (
    "workers were lost again and again at the same place, maybe for want of memory; what was "
    "written before is kept: give them more memory, or fewer threads each, and run the same call "
    "again"
)


def results_in_order(
    function: Callable[..., Any], tasks: Sequence[Task], shared: Any, client: Any = None
) -> Generator[Any, None, None]:
    """Give ``function(shared, *task)`` for all tasks, in order; without a client, here."""
    if client is None:
        yield from (function(shared, *task) for task in tasks)
        return
    check_client(client)
    yield from _ClusterRun(client, function, tasks, shared).results()


class _ClusterRun:
    """One call of `results_in_order` on a cluster."""

    def __init__(
        self, client: Any, function: Callable[..., Any], tasks: Sequence[Task], shared: Any
    ) -> None:
        self._client, self._function, self._tasks = client, function, tasks
        self._distributed = optional_module("distributed", "dask")
        self._shared = shared
        self._sent: Any = None  # future of the shared argument
        self._running: deque[tuple[Task, Any]] = deque()

    def results(self) -> Iterator[Any]:
        waiting = deque(self._tasks)
        try:
            self._wait_for_workers()
            _check_versions(self._client)
            while waiting or self._running:
                limit = _AHEAD * max(1, sum(self._threads()))
                while waiting and len(self._running) < limit:
                    task = waiting.popleft()
                    self._running.append((task, self._submit(task)))
                yield self._first_result()
        finally:
            with suppress(Exception):  # of a client that is closed
                self._client.cancel([future for _, future in self._running], force=True)
            self._sent = None

    def _threads(self) -> list[int]:
        try:
            return list(self._client.nthreads().values())
        except (OSError, CancelledError, RuntimeError) as error:
            raise ConnectionError(_NO_SCHEDULER) from error

    def _submit(self, task: Task) -> Any:
        if self._sent is None or self._sent.status != "finished":
            self._send()
        threads = self._threads() or [1]
        per_task = max(1, min(*threads, sum(threads) // len(self._tasks)))
        what = (_own_version(), self._function, self._sent, task, per_task)
        key = f"retgk-{self._function.__name__.strip('_')}-{os.urandom(8).hex()}"
        return self._client.submit(_run, *what, pure=False, key=key)

    def _send(self) -> None:
        for _ in range(_ATTEMPTS):
            self._wait_for_workers()
            try:
                # in a list, because the items of a tuple would be sent one by one
                (self._sent,) = self._client.scatter([self._shared], broadcast=True, hash=False)
                return
            except Exception as error:  # whatever the scheduler met with as it sent
                self._check_scheduler(error)
                _check_versions(self._client)
                last = error
        raise ConnectionError(_UNSTABLE) from last

    def _first_result(self) -> Any:
        task, future = self._running[0]
        for _ in range(_ATTEMPTS):
            try:
                result = self._wait(future)
            except (CancelledError, self._distributed.KilledWorker) as error:
                self._check_scheduler(error)
                last = error
            except Exception:
                if future.status == "error":  # of the task; another retgk may lack what it names
                    _check_versions(self._client)
                raise
            else:
                self._running.popleft()
                return result
            future = self._submit(task)
            self._running[0] = (task, future)
        raise ConnectionError(_UNSTABLE) from last

    def _wait(self, future: Any) -> Any:
        while True:
            try:
                return future.result(timeout=_PATIENCE_SECONDS)
            except TimeoutError:
                if future.done():  # an error of the task itself
                    return future.result()
                self._wait_for_workers()

    def _wait_for_workers(self) -> None:
        """Return when there are workers; say so where there are none for a while."""
        start, is_said = time.monotonic(), False
        while not self._threads():
            if not is_said and time.monotonic() - start > _PATIENCE_SECONDS:
                address, is_said = self._client.scheduler.address, True
                note = f"the cluster at {address} has no workers; waiting for some"
                warnings.warn(InputWarning(note), stacklevel=2)
            time.sleep(_POLL_SECONDS)

    def _check_scheduler(self, error: BaseException) -> None:
        is_lost = getattr(error, "reason", "") == "scheduler-connection-lost"
        if is_lost or self._client.status != "running":
            raise ConnectionError(_NO_SCHEDULER) from error
        self._threads()


def _run(
    version: str, function: Callable[..., Any], shared: Any, task: Task, n_threads: int
) -> Any:
    """Do a task on a worker of the same version, with its share of the threads."""
    if version != _own_version():
        worker = optional_module("distributed", "dask").get_worker().address
        raise _other_version(worker, _own_version(), version)
    blas = single_threaded_blas() if n_threads == 1 else nullcontext()
    with most_threads(n_threads), blas, no_progress():
        return function(shared, *task)


def check_client(client: Any) -> None:
    if client is None:
        return
    kind = optional_module("distributed", "dask").Client
    if not isinstance(client, kind):
        raise InvalidInputError(
            f"client must be a dask.distributed.Client or None, got {type(client).__name__}"
        )
    if client.asynchronous:
        raise InvalidInputError("the client is asynchronous; make it without asynchronous=True")
    if client.status != "running":
        raise InvalidInputError(f"the client is {client.status}; make a new one")


def _check_versions(client: Any) -> None:
    found = client.run(_own_version, on_error="return")
    for worker, version in found.items():
        if isinstance(version, OSError):  # gone meanwhile
            continue
        if version != _own_version():
            what = f"cannot import it ({version})" if isinstance(version, Exception) else version
            raise _other_version(worker, what, _own_version())


def _other_version(worker: str, found: str, wanted: str) -> InvalidInputError:
    return InvalidInputError(
        f"the worker {worker} has another retgk than the client, which has {wanted}: {found}; "
        "install the same version on all of them"
    )


@cache
def _own_version() -> str:
    """Version and digest of the code here: many states of the code share a version number."""
    return f"{__version__} (code {modules_digest(Path(__file__).parents[1])})"


# A client of the cluster that a command line names: a scheduler's address, or workers here.

_LOCAL_SETTINGS = {
    # on a busy machine a killed worker may take long to start again
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    # dask always starts HTTP servers, which ask for no certificate: they have nothing to tell
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
_LOOPBACK = "127.0.0.1"
_LOCAL = re.compile(r"local:([1-9][0-9]{0,3})")
_CONNECT_SECONDS = 15


def check_cluster_names(scheduler: str | None, cluster: str | None) -> None:
    if scheduler is not None and cluster is not None:
        raise InvalidInputError("--scheduler and --cluster both name a cluster; leave out one")
    if cluster is not None and not _LOCAL.fullmatch(cluster):
        raise InvalidInputError(
            f"there is no cluster {cluster!r}; give local:4 for four worker processes on this "
            "machine, or the address of a scheduler with --scheduler"
        )


@contextmanager
def cluster_client(scheduler: str | None, cluster: str | None) -> Iterator[Any]:
    """Give a client of a cluster, or None if none is named; local workers end with the block."""
    check_cluster_names(scheduler, cluster)
    if scheduler is not None:
        with _connected(scheduler) as client:
            yield client
    elif cluster is not None:
        found = _LOCAL.fullmatch(cluster)
        assert found is not None
        with _local_workers(int(found[1])) as client:
            yield client
    else:
        yield None


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    distributed = optional_module("distributed", "dask")
    _quieten()
    if address.startswith("tls://") and distributed.Security().tls_client_cert is None:
        raise InvalidInputError(
            f"{address} needs a certificate, and dask's configuration names none; set "
            "distributed.comm.tls.ca-file, .client.cert and .client.key (docs/clusters.md)"
        )
    try:
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"no scheduler answers at {address} ({type(error).__name__}: {error}); give what "
            "`dask scheduler` prints, such as tcp://192.168.0.7:8786"
        ) from error
    with client:
        yield client


@contextmanager
def _local_workers(n_workers: int) -> Iterator[Any]:
    """Workers that nobody else can use: loopback, a certificate, a folder of their own."""
    distributed = optional_module("distributed", "dask")
    optional_module("cryptography", "dask")
    _quieten()
    with (
        TemporaryDirectory(prefix="retgk-workers-", ignore_cleanup_errors=True) as scratch,
        optional_module("dask", "dask").config.set(_LOCAL_SETTINGS),
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host=_LOOPBACK,
            security=distributed.Security.temporary(),
            dashboard_address=f"{_LOOPBACK}:0",
            scheduler_kwargs={"dashboard": False},
            local_directory=scratch,
            silence_logs=logging.CRITICAL,
        ) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield client


def _quieten() -> None:
    """Keep what dask says of lost connections off the terminal: commands say it in one line."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
