"""What every loader and generator returns: graphs with their targets."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import gather_runs
from retgk.graphs.validation import checked_positions

__all__ = ["GraphDataset"]


@dataclass(frozen=True, eq=False)
class GraphDataset:
    """
    Graphs, one target for each, and where they come from.

    It is selected from as an array is, by a slice, an array of positions or a mask, and gives a
    data set with the targets and edge labels of the chosen graphs; so scikit-learn's tools take it
    as X. One position, and each item of a loop over it, is a data set of one graph, as one graph of
    a `GraphBatch` is a batch of one.

    Attributes
    ----------
    graphs : GraphBatch
        The graphs.
    targets : ndarray, shape (n_graphs,) or (n_graphs, n_targets)
        Class or value of every graph; one row of values where each graph has several.
    name : str
        Name of the collection.
    description : str
        A few sentences on what the graphs are.
    edge_labels : ndarray of int, shape (n_entries,), or None
        Label of every entry of ``graphs.indices``, where the collection has them.

    Examples
    --------
    >>> from retgk import make_graph_classification
    >>> data = make_graph_classification(n_graphs=60, random_state=0)
    >>> train, test = data[:40], data[40:]
    >>> len(train), test.targets.shape
    (40, (20,))
    """

    graphs: GraphBatch
    targets: NDArray[Any]
    name: str
    description: str = ""
    edge_labels: Ints | None = None

    def __post_init__(self) -> None:
        targets = np.asarray(self.targets)
        object.__setattr__(self, "targets", targets)
        if targets.ndim not in (1, 2) or 0 in targets.shape[1:]:
            raise InvalidInputError(
                f"{self.name}: targets must be one value, or one row of values, for each graph; "
                f"got shape {targets.shape}"
            )
        if len(targets) != len(self.graphs):
            raise InvalidInputError(
                f"{self.name} has {len(self.graphs)} graphs but {len(targets)} targets"
            )
        if self.edge_labels is not None:
            self._check_edge_labels(np.asarray(self.edge_labels))

    def _check_edge_labels(self, labels: NDArray[Any]) -> None:
        object.__setattr__(self, "edge_labels", labels)
        n_entries = len(self.graphs.indices)
        if labels.shape != (n_entries,) or labels.dtype.kind not in "iu":
            raise InvalidInputError(
                f"{self.name}: edge_labels must be {n_entries} integers, one for each entry of "
                f"graphs.indices; got {labels.dtype} of shape {labels.shape}"
            )

    @property
    def label_names(self) -> tuple[Hashable, ...]:
        """Vocabulary of the node labels; empty when there are none."""
        return self.graphs.label_names

    @property
    def shape(self) -> tuple[int]:
        """Shape as a one-dimensional collection, by which scikit-learn indexes in one go."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.graphs)

    def __iter__(self) -> Iterator["GraphDataset"]:
        return (self[graph] for graph in range(len(self)))

    def __getitem__(self, key: Any) -> "GraphDataset":
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # the form in which scikit-learn indexes what has a shape
        graphs = self.graphs[key]  # a key that cannot be used is an error here
        positions = _positions(key, len(self))
        labels = None if self.edge_labels is None else self._edge_labels_of(positions)
        targets = self.targets[positions]
        return GraphDataset(graphs, targets, self.name, self.description, labels)

    def _edge_labels_of(self, graphs: Ints) -> Ints:
        """Labels of the entries of some graphs."""
        assert self.edge_labels is not None
        entry_ptr = self.graphs.indptr[self.graphs.node_ptr]
        starts = entry_ptr[graphs]
        return gather_runs(self.edge_labels, starts, entry_ptr[graphs + 1] - starts)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Give a one-dimensional array of data sets of one graph."""
        parts = np.empty(len(self), dtype=object)
        for position, part in enumerate(self):
            parts[position] = part
        return parts

    def __repr__(self) -> str:
        n_classes = len(np.unique(self.targets))
        return f"GraphDataset({self.name!r}, {self.graphs!r}, {n_classes} distinct targets)"


def _positions(key: Any, n_graphs: int) -> Ints:
    """Positions that a key selects of which a GraphBatch has made sure that it can be used."""
    if isinstance(key, slice):
        return np.arange(n_graphs)[key]
    if isinstance(key, int | np.integer):
        return np.arange(n_graphs)[[int(key)]]
    return checked_positions(key, n_graphs)
