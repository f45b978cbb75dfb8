"""What every loader and generator returns: graphs with their targets."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.batch import GraphBatch
from retgk.errors import InvalidInputError

__all__ = ["GraphDataset"]


@dataclass(frozen=True, eq=False)
class GraphDataset:
    """
    Graphs, one target for each, and where they come from.

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

    def __len__(self) -> int:
        return len(self.graphs)

    def __repr__(self) -> str:
        n_classes = len(np.unique(self.targets))
        return f"GraphDataset({self.name!r}, {self.graphs!r}, {n_classes} distinct targets)"
