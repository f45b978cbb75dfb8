"""The graphs that a cell is about."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.graphs.batch import GraphBatch
from retgk.io.datasets.tudataset import load_tudataset
from retgk.paper.duplicates import find_copies

__all__ = ["Source", "load_source"]


@dataclass(frozen=True, eq=False)
class Source:
    """Graphs, their classes, and how many copies were dropped."""

    graphs: GraphBatch
    targets: NDArray[Any]
    n_dropped: int = 0
    n_dropped_of_other_target: int = 0

    @cached_property
    def digest(self) -> str:
        """Digest of the graphs: other editions of a set must not share what is kept of it."""
        graphs = self.graphs
        arrays: list[NDArray[Any]] = [graphs.node_ptr, graphs.indptr, graphs.indices]
        arrays += [graphs.weights] if graphs.is_weighted else []
        arrays += [graphs.labels] if graphs.has_labels else []
        arrays += [graphs.attributes] if graphs.n_attributes else []
        digest = hashlib.sha256()
        for array in arrays:
            digest.update(str((array.dtype, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:20]

    def as_record(self) -> dict[str, int]:
        """Numbers for a record."""
        return {
            "n_graphs": len(self.graphs),
            "n_classes": len(np.unique(self.targets)),
            "n_dropped": self.n_dropped,
            "n_dropped_of_other_target": self.n_dropped_of_other_target,
        }


def load_source(
    name: str,
    data_home: Path | None,
    *,
    uses_labels: bool,
    uses_attributes: bool,
    deduplicate: bool = False,
) -> Source:
    """
    Load a set with what a table uses of it.

    Parameters
    ----------
    name : str
        Name of the set.
    data_home : Path or None
        Folder of the sets; nothing is downloaded into a folder that is given.
    uses_labels, uses_attributes : bool
        Whether to keep labels and attributes.
    deduplicate : bool, default=False
        Whether to drop copies, where labels and attributes that are used tell graphs apart.

    Returns
    -------
    Source
        Graphs and classes.
    """
    data = load_tudataset(name, data_home, download=data_home is None)
    graphs = data.graphs
    graphs = graphs if uses_labels else graphs.without_labels()
    graphs = graphs if uses_attributes else graphs.without_attributes()
    if not deduplicate:
        return Source(graphs, data.targets)
    copies = find_copies(graphs)
    return Source(
        graphs[copies.kept],
        data.targets[copies.kept],
        copies.n_dropped(),
        copies.n_of_other_target(data.targets),
    )
