"""One kernel of GraKeL on one set: ``python -m retgk.paper.peer_process ORDER``.

A process of its own, so that it can be stopped. The order is JSON, see `retgk.paper.peers`. A line
of the output says when the kernel begins; the last is JSON with the seconds that it took.
"""

import ctypes
import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from retgk.array_types import Floats
from retgk.graphs.batch import GraphBatch
from retgk.paper.paper_graphs import load_paper_set
from retgk.paper.peers import READY
from retgk.runtime.memory import peak_megabytes
from retgk.runtime.optional_packages import optional_module
from retgk.runtime.storage import atomic_path

__all__ = ["GRAKEL_KERNELS", "grakel_graphs", "grakel_kernel", "main", "normalize"]

_STANDARD_INPUT = 0
_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>


def grakel_graphs(graphs: GraphBatch) -> list[Any]:
    """
    Graphs of GraKeL; node degrees are the labels where there are none.

    With attributes, the label of a node is the pair of its label and its attributes.
    """
    grakel = optional_module("grakel", "bench")
    labels = (graphs.labels if graphs.has_labels else np.diff(graphs.indptr)).tolist()
    if graphs.n_attributes:
        labels = list(zip(labels, map(tuple, graphs.attributes.tolist()), strict=True))
    converted = []
    for graph, first in zip(graphs, graphs.node_ptr, strict=False):
        neighbours = np.split(graph.indices, graph.indptr[1:-1])
        edges = {i: dict.fromkeys(map(int, js), 1.0) for i, js in enumerate(neighbours)}
        own = dict(enumerate(labels[first : first + graph.n_nodes]))
        alike = {(i, j): 0 for i, ends in edges.items() for j in ends}  # for those that want some
        converted.append(grakel.Graph(edges, node_labels=own, edge_labels=alike))
    return converted


def grakel_kernel(settings: Mapping[str, Any], n_attributes: int = 0) -> Any:
    """Kernel of GraKeL, not fitted; `kernel` in the settings is a name of `GRAKEL_KERNELS`."""
    grakel = optional_module("grakel", "bench")
    return GRAKEL_KERNELS[settings["kernel"]](grakel, settings, n_attributes)


def _weisfeiler_lehman(grakel: Any, settings: Mapping[str, Any], _n_attributes: int) -> Any:
    base = grakel.VertexHistogram
    return grakel.WeisfeilerLehman(n_iter=settings["n_iter"], base_graph_kernel=base)


def _shortest_path(grakel: Any, _settings: Mapping[str, Any], _n_attributes: int) -> Any:
    return grakel.ShortestPath()


def _graphlets(grakel: Any, settings: Mapping[str, Any], _n_attributes: int) -> Any:
    sampling = {"n_samples": settings["n_samples"]}
    return grakel.GraphletSampling(k=settings["k"], sampling=sampling, random_state=0)


def _subgraph_matching(grakel: Any, settings: Mapping[str, Any], n_attributes: int) -> Any:
    return grakel.SubgraphMatching(k=settings["k"], kv=_NodeKernel(n_attributes), lw="uniform")


GRAKEL_KERNELS: dict[str, Callable[[Any, Mapping[str, Any], int], Any]] = {
    "WL": _weisfeiler_lehman,
    "SP": _shortest_path,
    "GK": _graphlets,
    "CSM": _subgraph_matching,
}
"""Makers of kernels, by the names of columns of the tables."""


class _NodeKernel:
    """Equality of labels, times a Laplacian of attributes where there are any."""

    def __init__(self, n_attributes: int) -> None:
        self.n_attributes = n_attributes

    def __call__(self, x: Any, y: Any) -> float:
        if not self.n_attributes:
            return float(x == y)
        if x[0] != y[0]:
            return 0.0
        distance = np.linalg.norm(np.subtract(x[1], y[1]))
        return float(np.exp(-distance / np.sqrt(self.n_attributes)))


def normalize(matrix: Floats) -> Floats:
    """Scale to ``K(G, H) / sqrt(K(G, G) K(H, H))``; a graph whose kernel is zero stays zero."""
    diagonal = matrix.diagonal()
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return matrix * scale[:, None] * scale


def _end_with_parent() -> None:
    """End this process when the one that started it ends, even if that one is killed."""
    if sys.platform == "linux":  # at once, even while compiled code keeps the thread from running
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_exit_at_end_of_input, daemon=True).start()


def _exit_at_end_of_input() -> None:
    os.read(_STANDARD_INPUT, 1)
    os._exit(1)


def _limit_memory(megabytes: float) -> None:
    import resource

    size = int(megabytes * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Let the system stop this process if the block takes longer."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


def _graphs_and_kernel(order: Mapping[str, Any]) -> tuple[list[Any], Any]:
    """Graphs and kernel of GraKeL that are ordered."""
    settings, home = order["settings"], order["data_home"]
    data = load_paper_set(
        order["dataset"],
        None if home is None else Path(home),
        uses_labels=settings["uses_labels"],
        uses_attributes=settings["uses_attributes"],
        deduplicate=order["deduplicate"],
    )
    return grakel_graphs(data.graphs), grakel_kernel(settings, data.graphs.n_attributes)


def main(text: str) -> None:
    """
    Make the matrix that is ordered, and print what it took.

    The order is JSON of the `spec` of `retgk.paper.peers.peer_matrix` with a `path` and the limits.
    """
    warnings.simplefilter("ignore")  # GraKeL's own
    order = json.loads(text)
    _end_with_parent()
    _limit_memory(order["megabytes"])
    with _time_limit(order["conversion_seconds"]):
        graphs, kernel = _graphs_and_kernel(order)
    print(READY, flush=True)
    with _time_limit(order["seconds"]):
        start = time.perf_counter()
        matrix = np.asarray(kernel.fit_transform(graphs), dtype=np.float64)
        seconds = time.perf_counter() - start
    with atomic_path(Path(order["path"])) as unfinished, unfinished.open("wb") as file:
        np.save(file, normalize(matrix))
    report = {"seconds": {"rpf": 0.0, "gram": seconds}, "peak_mb": round(peak_megabytes(), 1)}
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
