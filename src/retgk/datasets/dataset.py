"""What every loader and generator returns: graphs with their targets."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    targets : ndarray, shape (n_graphs,)
        Class or value of every graph.
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
    edge_labels: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if len(self.targets) != len(self.graphs):
            raise InvalidInputError(
                f"{self.name} has {len(self.graphs)} graphs but {len(self.targets)} targets"
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
