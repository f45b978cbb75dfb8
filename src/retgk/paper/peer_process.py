"""
One method of other authors on one set: ``python -m retgk.paper.peer_process ORDER``.

A process of its own, so that it can be stopped. The order is JSON, see `retgk.paper.peers`. A line
of the output says when the kernel begins; the last is JSON with the seconds that it took.
"""

import json
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from retgk.graphs.batch import GraphBatch
from retgk.learning.paper_protocol import Targets
from retgk.paper.paper_graphs import Sources, load_paper_set
from retgk.paper.peer_methods import peer_kernel
from retgk.paper.peers import READY
from retgk.runtime.limited_processes import end_with_parent, limit_memory, time_limit
from retgk.runtime.memory import recorded_peak_megabytes
from retgk.runtime.storage import atomic_path

__all__ = ["load_graphs", "main"]

_N_WARM = 3


def load_graphs(order: Mapping[str, Any]) -> tuple[GraphBatch, Targets]:
    """Load the graphs that are ordered, and their classes; labels of edges have no part."""
    settings = order["settings"]
    data = load_paper_set(
        order["dataset"],
        Sources.from_text(order["sources"]),
        uses_labels=settings["uses_labels"],
        uses_attributes=settings["uses_attributes"],
        deduplicate=order["deduplicate"],
        seed=order["seed"],
    )
    return data.graphs.without_edge_labels(), data.targets


def main(text: str) -> None:
    """
    Do what is ordered, and print what it took.

    The order is JSON of the `spec` of `retgk.paper.peers.peer_report` with a `path` and the limits.
    """
    warnings.simplefilter("ignore")  # of attributes, which are the paper's
    order = json.loads(text)
    end_with_parent()
    limit_memory(order["megabytes"])
    is_network = order["settings"]["kind"] == "network"
    report = _network_report(order) if is_network else _matrix_report(order)
    print(json.dumps({**report, "peak_mb": recorded_peak_megabytes()}))


def _matrix_report(order: Mapping[str, Any]) -> dict[str, Any]:
    """Write the matrix of a kernel, and give the seconds that it took."""
    with time_limit(order["preparation_seconds"]):
        graphs, _ = load_graphs(order)
        kernel = peer_kernel(order["settings"], graphs, order["seed"], order["n_jobs"])
        kernel.fit_transform(graphs[:_N_WARM])  # compiles
    print(READY, flush=True)
    with time_limit(order["seconds"]):
        start = time.perf_counter()
        matrix = np.asarray(kernel.fit_transform(graphs), dtype=np.float64)
        seconds = time.perf_counter() - start
    path = Path(order["path"])
    with atomic_path(path, follow_links=False) as unfinished, unfinished.open("wb") as file:
        np.save(file, matrix)
    return {"seconds": {"rpf": 0.0, "gram": seconds}}


def _network_report(order: Mapping[str, Any]) -> dict[str, Any]:
    """Accuracies of a network on all folds, and the seconds that it took."""
    from retgk.paper.networks.training import network_results

    with time_limit(order["preparation_seconds"]):
        graphs, targets = load_graphs(order)
    print(READY, flush=True)
    with time_limit(order["seconds"]):
        start = time.perf_counter()
        settings, seed = order["settings"], order["seed"]
        folds = network_results(graphs, targets, settings, seed, order["n_jobs"])
        seconds = time.perf_counter() - start
    return {"folds": [asdict(fold) for fold in folds], "seconds": {"training": seconds}}


if __name__ == "__main__":
    main(sys.argv[1])
