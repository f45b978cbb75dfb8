"""Options that name the machines on which a command works."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from retgk.cli.options import Common, in_panel
from retgk.cli.terminal import note

__all__ = ["ClusterOptions"]

_cluster = in_panel("Cluster")


@dataclass(frozen=True)
class ClusterOptions:
    """A dask cluster; results do not depend on it."""

    scheduler: Annotated[
        str | None,
        _cluster(
            "--scheduler",
            metavar="ADDRESS",
            help="Address of a dask scheduler whose workers do the work, such as "
            "tls://192.168.0.7:8786. Without TLS, whoever reaches it can run code there.",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        _cluster(
            "--cluster",
            metavar="local:N",
            help="N worker processes on this machine, for this user alone.",
        ),
    ] = None

    @property
    def is_given(self) -> bool:
        """Whether a cluster is named."""
        return self.scheduler is not None or self.cluster is not None

    def check(self) -> None:
        """Raise if what is named is no cluster; nothing is started or asked."""
        if self.is_given:
            from retgk.cluster.connections import check_cluster_names

            check_cluster_names(self.scheduler, self.cluster)

    @contextmanager
    def client(self, common: Common) -> Iterator[Any]:
        """Give a client of the cluster, or None; say where its dashboard is, if it has one."""
        if not self.is_given:
            yield None
            return
        from retgk.cluster.connections import cluster_client

        with cluster_client(self.scheduler, self.cluster) as client:
            dashboard = "" if self.scheduler is None else f", {client.dashboard_link}"
            note(common, f"cluster: {len(client.nthreads())} workers{dashboard}")
            yield client
