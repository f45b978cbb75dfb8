"""Graphs that an index keeps for exact distances: flat arrays, of which few graphs are read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.graphs.ragged import gather_runs, offsets
from retgk.graphs.reading import Reading
from retgk.persistence.json_values import from_json, to_json

__all__ = ["StoredGraphs"]

_TYPES = {
    "node_ptr": "<i8",
    "indptr": "<i8",
    "indices": "<i4",
    "weights": "<f8",
    "labels": "<i4",
    "attributes": "<f8",
    "edge_labels": "<i4",
}
_ALWAYS = {"node_ptr", "indptr", "indices"}


class StoredGraphs:
    """
    Arrays of consecutive graphs, and the names of their labels.

    Parameters
    ----------
    arrays : dict of ndarray
        Those of a `GraphBatch`, without those that are neutral.
    names : dict
        "labels" and "edge_labels": names as JSON holds them.
    """

    def __init__(self, arrays: dict[str, NDArray[Any]], names: dict[str, Any]) -> None:
        self.arrays, self.names = arrays, names

    @classmethod
    def of(cls, graphs: GraphBatch) -> "StoredGraphs":
        """Take over the arrays of a batch."""
        arrays: dict[str, NDArray[Any]] = {
            "node_ptr": graphs.node_ptr,
            "indptr": graphs.indptr,
            "indices": graphs.indices,
        }
        names = {}
        if graphs.is_weighted:
            arrays["weights"] = graphs.weights
        if graphs.n_attributes:
            arrays["attributes"] = graphs.attributes
        if graphs.has_labels:
            arrays["labels"] = graphs.labels
            names["labels"] = to_json(tuple(graphs.label_names), "labels")
        if graphs.has_edge_labels:
            arrays["edge_labels"] = graphs.edge_labels
            names["edge_labels"] = to_json(tuple(graphs.edge_label_names), "labels of edges")
        return cls(arrays, names)

    def check(self, n_graphs: int, where: str) -> None:
        """Raise if arrays of a stranger do not fit each other; graphs are checked when taken."""
        if not set(self.arrays) >= _ALWAYS or not isinstance(self.names, dict):
            raise InvalidInputError(f"{where}: the graphs lack an array")
        for name, array in self.arrays.items():
            n_axes = 2 if name == "attributes" else 1
            if array.dtype.str != _TYPES[name] or array.ndim != n_axes:
                raise InvalidInputError(f"{where}: the array {name} of the graphs has a wrong type")
        node_ptr, indptr = self.arrays["node_ptr"], self.arrays["indptr"]
        fits = len(node_ptr) == n_graphs + 1 and len(indptr) > 0 and node_ptr[0] == 0
        fits = fits and len(indptr) == node_ptr[-1] + 1 and (np.diff(node_ptr) >= 0).all()
        fits = fits and indptr[0] == 0 and (np.diff(indptr) >= 0).all()
        if fits:
            n_nodes, n_entries = len(indptr) - 1, indptr[-1]
            lengths = {"indices": n_entries, "weights": n_entries, "edge_labels": n_entries}
            lengths |= {"labels": n_nodes, "attributes": n_nodes}
            fits = all(
                len(array) == lengths.get(name, len(array)) for name, array in self.arrays.items()
            )
        if not fits:
            raise InvalidInputError(f"{where}: the arrays of the graphs do not fit each other")

    def taken(self, positions: Ints, reading: Reading | None) -> GraphBatch:
        """Graphs at some positions, checked as any that come in from outside."""
        node_ptr, indptr = self.arrays["node_ptr"], self.arrays["indptr"]
        counts = (node_ptr[positions + 1] - node_ptr[positions]).astype(np.int64)
        ptr = offsets(counts)
        nodes = np.repeat(node_ptr[positions] - ptr[:-1], counts) + np.arange(ptr[-1])
        degrees = (indptr[nodes + 1] - indptr[nodes]).astype(np.int64)
        runs = (np.ascontiguousarray(indptr[nodes]), degrees)
        more: dict[str, Any] = {}
        if "weights" in self.arrays:
            more["weights"] = gather_runs(self.arrays["weights"], *runs)
        if "attributes" in self.arrays:
            more["attributes"] = self.arrays["attributes"][nodes]
        if "labels" in self.arrays:
            more["labels"] = self._named("labels", self.arrays["labels"][nodes])
        if "edge_labels" in self.arrays:
            more["edge_labels"] = self._named(
                "edge_labels", gather_runs(self.arrays["edge_labels"], *runs)
            )
        indices = gather_runs(self.arrays["indices"], *runs)
        return with_reading(GraphBatch(ptr, offsets(degrees), indices, **more), reading)

    def _named(self, what: str, codes: NDArray[Any]) -> list[Any]:
        try:
            names = from_json(self.names.get(what))
        except (LookupError, RecursionError, TypeError, ValueError):
            names = None
        n_names = len(names) if isinstance(names, tuple) else 0
        if len(codes) and not 0 <= codes.min() <= codes.max() < n_names:
            raise InvalidInputError(
                f"stored graphs have {what} without a name; copy the index again"
            )
        return [names[code] for code in codes]
