"""Graphs as the commands have them: with targets and names where the input has any."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.graphs.batch import GraphBatch
    from retgk.io.graph_dataset import GraphDataset

__all__ = ["Collection"]


@dataclass(frozen=True)
class Collection:
    """
    Graphs, and what is known of each.

    `rows` are their numbers in the input, where some graphs of it were left out.
    """

    graphs: GraphBatch
    name: str
    targets: NDArray[Any] | None = None
    graph_names: list[str] | None = None
    description: str = ""
    edge_labels: NDArray[Any] | None = None
    rows: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.graphs)

    @classmethod
    def of_dataset(cls, dataset: GraphDataset) -> Collection:
        """Collection of a data set; targets that are all missing are none."""
        targets: NDArray[Any] | None = dataset.targets
        if dataset.targets.dtype.kind == "f" and (dataset.targets != dataset.targets).all():
            targets = None
        return cls(
            dataset.graphs,
            dataset.name,
            targets,
            description=dataset.description,
            edge_labels=dataset.edge_labels,
        )

    def required_targets(self) -> NDArray[Any]:
        """Targets, one for each graph."""
        if self.targets is None:
            raise InvalidInputError(
                f"{self.name} has no targets to learn from; name a column of a CSV with "
                "--target-column, or give a text file of one line per graph with --targets"
            )
        if self.targets.ndim != 1:
            raise InvalidInputError(
                f"{self.name} has {self.targets.shape[1]} targets for each graph; give one of "
                "them with --targets"
            )
        if (position := self.first_without_target()) is not None:
            raise InvalidInputError(
                f"{self.name}: graph {position} has no target; drop it, or give all targets with "
                "--targets"
            )
        return self.targets

    def first_without_target(self) -> int | None:
        """First graph whose target is missing, NaN or None; None if all have one."""
        if self.targets is None:
            return 0
        if self.targets.dtype.kind not in "fO":
            return None
        values = self.targets.tolist()
        return next((i for i, value in enumerate(values) if _is_missing(value)), None)

    def keys(self) -> dict[str, NDArray[Any]]:
        """
        Columns that say which graph a row of a table is about.

        Names are objects: in an array of text, each would take as much memory as the longest.
        """
        import numpy as np

        rows = range(len(self)) if self.rows is None else self.rows
        columns: dict[str, NDArray[Any]] = {"graph": np.array(rows, np.int64)}
        if self.graph_names is not None:
            columns["name"] = np.array(self.graph_names, dtype=object)
        if self.targets is not None and self.targets.ndim == 1:
            columns["target"] = self.targets
        elif self.targets is not None:
            for number, column in enumerate(self.targets.T):
                columns[f"target_{number}"] = column
        return columns


def _is_missing(target: Any) -> bool:
    return target is None or (isinstance(target, float) and math.isnan(target))
