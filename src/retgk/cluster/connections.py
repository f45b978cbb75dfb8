"""A client of the cluster that a command line names: a scheduler's address, or workers here."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from retgk.errors import InvalidInputError
from retgk.runtime.optional_packages import optional_module

__all__ = ["check_cluster_names", "cluster_client"]

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
    """Raise unless one cluster is named at most, in a way that is understood."""
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
    """
    Worker processes of one thread each, which nobody else on the machine can use.

    Scheduler and workers listen on the loopback address and ask for a certificate that only these
    processes have, in memory. Data that workers put aside lies in a folder of this user alone:
    dask unpickles what is there, and the folder that it would choose may belong to another user.
    """
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
