import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from retgk import GraphBatch
from retgk.graphs.batch import flat_arrays

from_edges = GraphBatch.from_edges


def _ring_edges(n_graphs: int, n_nodes: int) -> Any:
    """Every node joined to the next five, once."""
    source, step = np.divmod(np.arange(n_nodes * 5, dtype=np.int32), 5)
    one = np.stack([source, (source + step + 1) % n_nodes], axis=1)
    return (one + n_nodes * np.arange(n_graphs, dtype=np.int32)[:, None, None]).reshape(-1, 2)


def _peak_over_final(build: Callable[[], GraphBatch]) -> float:
    tracemalloc.start()
    try:
        batch = build()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    node_ptr, adjacency, labels, _, attributes, *_ = flat_arrays(batch)
    stored = [node_ptr, *adjacency, labels, attributes]
    return peak / sum(array.nbytes for array in stored if array is not None)


@pytest.mark.parametrize("case", ["once", "both", "shuffled", "weighted", "csr", "selected"])
def test_peak_memory_is_within_twice_the_arrays(case: str) -> None:
    n_graphs, n_nodes = 60_000, 20  # big enough that the fixed cost of a block hardly counts
    sizes, once = np.full(n_graphs, n_nodes), _ring_edges(n_graphs, n_nodes)
    both = np.concatenate([once, once[:, ::-1]])
    weights = np.full(len(once), 0.5)
    batch = from_edges(sizes, once, symmetrize=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(n_graphs)
    shuffled = both[rng.permutation(len(both))] if case == "shuffled" else both
    builds: dict[str, Callable[[], GraphBatch]] = {
        "once": lambda: from_edges(sizes, once, symmetrize=True),
        "both": lambda: from_edges(sizes, both),
        "shuffled": lambda: from_edges(sizes, shuffled),
        "weighted": lambda: from_edges(sizes, once, weights, symmetrize=True),
        "csr": lambda: GraphBatch(batch.node_ptr, batch.indptr, batch.indices),
        "selected": lambda: batch[order],
    }
    assert _peak_over_final(builds[case]) < 2
