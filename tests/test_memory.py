import math
import sys
import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from retgk import GraphBatch
from retgk._runtime import processes as memory
from retgk._runtime.processes import peak_megabytes, recorded_peak_megabytes
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


@pytest.fixture
def _no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on systems other than Linux."""
    monkeypatch.setattr(memory, "_kilobytes", lambda *_: None)


@pytest.mark.usefixtures("_no_proc")
@pytest.mark.parametrize(("platform", "unit"), [("darwin", 1 << 20), ("freebsd14", 1 << 10)])
def test_peak_memory_is_in_bytes_on_macos(
    monkeypatch: pytest.MonkeyPatch, platform: str, unit: int
) -> None:
    usage = SimpleNamespace(ru_maxrss=300 * unit)
    resource = SimpleNamespace(RUSAGE_SELF=0, getrusage=lambda _: usage)
    monkeypatch.setitem(sys.modules, "resource", resource)  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "platform", platform)
    assert peak_megabytes() == recorded_peak_megabytes() == 300


@pytest.mark.usefixtures("_no_proc")
def test_peak_memory_is_not_known_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)  # type: ignore[arg-type]
    assert math.isnan(peak_megabytes())
    assert recorded_peak_megabytes() is None
