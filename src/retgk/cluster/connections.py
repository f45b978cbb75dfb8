"""A client of the cluster that a command line names: a scheduler's address, or workers here."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retgk.errors import InvalidInputError
from retgk.runtime.optional_packages import optional_module

__all__ = ["LOCAL_SETTINGS", "check_cluster_names", "cluster_client"]

LOCAL_SETTINGS = {"distributed.deploy.lost-worker-timeout": "10 minutes"}
"""How dask treats local workers: on a busy machine a killed one may take long to start again."""

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
    """Worker processes of one thread each; the dashboard takes any port that is free."""
    distributed = optional_module("distributed", "dask")
    _quieten()
    with (
        optional_module("dask", "dask").config.set(LOCAL_SETTINGS),
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield client


def _quieten() -> None:
    """Keep what dask says of lost connections off the terminal: commands say it in one line."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
