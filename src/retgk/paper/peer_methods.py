"""Kernels of other authors, by the columns of the tables that they fill."""

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.kernels import node_kernels

__all__ = ["COLUMNS", "peer_kernel"]

COLUMNS = {
    "WL": "weisfeiler_lehman.WeisfeilerLehmanKernel",
    "SP": "shortest_path.ShortestPathKernel",
    "GK": "graphlets.GraphletKernel",
    "CSM": "subgraph_matching.SubgraphMatchingKernel",
    "DGK": "deep_graph.DeepGraphKernel",
    "HGK(WL)": "hash_graph.HashGraphKernel",
    "GIK": "graph_invariant.GraphInvariantKernel",
}
"""Modules of `retgk.peer_kernels` and their classes, by column."""

_NOT_OF_THE_KERNEL = {"kind", "kernel", "uses_labels", "uses_attributes", "draws", "n_nodes"}


def peer_kernel(
    settings: Mapping[str, Any], graphs: GraphBatch, seed: int = 0, n_jobs: int | None = None
) -> Any:
    """
    Make the kernel of a method of kind "native", not fitted.

    Settings are parameters of its class by name; ``{ Laplacian = 2.0 }`` stands for a kernel of
    nodes. Nodes start with their labels or, where graphs have none, with their degrees, unless the
    settings say otherwise.
    """
    column = settings["kernel"]
    module, _, name = COLUMNS[column].partition(".")
    kind = getattr(import_module(f"retgk.peer_kernels.{module}"), name)
    known = signature(kind).parameters
    own = {
        name: _plain_or_kernel(value)
        for name, value in settings.items()
        if name not in _NOT_OF_THE_KERNEL
    }
    unknown = sorted(own.keys() - known.keys())
    if unknown:
        raise InvalidInputError(
            f"{kind.__name__} has no parameter {unknown[0]!r}; choose from {', '.join(known)}"
        )
    start = "labels" if graphs.has_labels else "degrees"
    given = {"start": start, "random_state": seed, "n_jobs": n_jobs}
    return kind(**{name: given[name] for name in given if name in known} | own)


def _plain_or_kernel(value: Any) -> Any:
    """Value of a setting; a table of one entry is a kernel of nodes and its argument."""
    if not isinstance(value, Mapping):
        return value
    ((name, argument),) = value.items()
    return getattr(node_kernels, name)(argument)
