"""What every reader, loader and generator returns: graphs with what is known of each."""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Flags, Ints
from retgk.errors import InvalidInputError, LeftOutWarning, warn_user
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import checked_positions, is_missing


@dataclass(frozen=True, eq=False)
class GraphDataset:
    """
    Graphs, what is known of each, and where they come from.

    It is selected from as an array is, by a slice, an array of positions or a mask, and gives a
    data set with the targets and names of the chosen graphs; so scikit-learn's tools take it as X.
    One position, and each item of a loop over it, is a data set of one graph, as one graph of a
    `GraphBatch` is a batch of one.

    Attributes
    ----------
    graphs : GraphBatch
        The graphs.
    targets : ndarray, shape (n_graphs,) or (n_graphs, n_targets), or None
        Class or value of every graph; one row of values where each graph has several; None
        where there are none.
    name : str
        Name of the collection.
    description : str
        A few sentences on what the graphs are.
    graph_names : sequence of str, or None
        Name of every graph, where the graphs have some.
    rows : ndarray of int, shape (n_graphs,), or None
        Number of every graph in the file, from 0, where some graphs of it were left out.
    target_names : sequence of str, or None
        Name of every target, where each graph has several.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> data = make_graph_classification(n_graphs=60, rng=0)
    >>> train, test = data[:40], data[40:]
    >>> len(train), test.targets.shape
    (40, (20,))
    """

    graphs: GraphBatch
    targets: NDArray[Any] | None
    name: str
    description: str = ""
    graph_names: Sequence[str] | None = None
    rows: Ints | None = None
    target_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.targets is not None:
            targets = target_array(self.targets)
            object.__setattr__(self, "targets", targets)
            if targets.ndim not in (1, 2) or 0 in targets.shape[1:]:
                raise InvalidInputError(
                    f"{self.name}: targets must be one value, or one row of values, for each "
                    f"graph; got shape {targets.shape}"
                )
            self._check_count(targets, "targets")
        if self.graph_names is not None:
            self._check_count(self.graph_names, "names")
        if self.rows is not None:
            object.__setattr__(self, "rows", np.asarray(self.rows, np.int64))
            self._check_count(self.rows, "rows")

    def _check_count(self, values: Any, what: str) -> None:
        if len(values) != len(self.graphs):
            raise InvalidInputError(
                f"{self.name} has {len(self.graphs)} graphs but {len(values)} {what}"
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
        names = self.graph_names
        return replace(
            self,
            graphs=graphs,
            targets=None if self.targets is None else self.targets[positions],
            graph_names=None if names is None else [names[graph] for graph in positions],
            rows=None if self.rows is None else self.rows[positions],
        )

    def first_without_target(self) -> int | None:
        """Give the first graph whose target is missing; None if all graphs have one."""
        if self.targets is None:
            return 0
        missing = missing_targets(self.targets)
        return int(np.argwhere(missing)[0, 0]) if missing.any() else None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Give a one-dimensional array of data sets of one graph."""
        parts = np.empty(len(self), dtype=object)
        for position, part in enumerate(self):
            parts[position] = part
        return parts

    def __repr__(self) -> str:
        known = "no" if self.targets is None else f"{len(np.unique(self.targets))} distinct"
        return f"GraphDataset({self.name!r}, {self.graphs!r}, {known} targets)"


def graph_numbers(dataset: GraphDataset) -> Ints:
    return np.arange(len(dataset)) if dataset.rows is None else dataset.rows


def rows_without(empty: Sequence[int], n_graphs: int, place: Any) -> Ints | None:
    """Numbers of the graphs that are left, and a warning that names those without nodes."""
    if not len(empty):
        return None
    if len(empty) == n_graphs:
        raise InvalidInputError(f"{place}: no graph has nodes")
    shown = ", ".join(map(str, empty[:_MOST_SHOWN])) + ", ..." * (len(empty) > _MOST_SHOWN)
    many = "s" * (len(empty) > 1)
    warn_user(
        LeftOutWarning(
            f"{place}: left out {len(empty):,} graph{many} without nodes, with their targets: "
            f"graph{many} {shown}"
        )
    )
    return np.delete(np.arange(n_graphs), empty)


_MOST_SHOWN = 20
LEAVE_OUT = "skip_invalid=True leaves such graphs out, with their targets"


def joined_datasets(parts: Sequence[GraphDataset], name: str) -> GraphDataset:
    """Graphs of all parts one after the other, with their numbers, and names if all have some."""
    graphs = GraphBatch.concatenate([data.graphs for data in parts])
    names = [each for data in parts for each in data.graph_names or ()]
    return GraphDataset(
        graphs,
        None,
        name,
        graph_names=names if len(names) == len(graphs) else None,
        rows=np.concatenate([graph_numbers(data) for data in parts]),
    )


def target_array(targets: Any) -> NDArray[Any]:
    if isinstance(targets, np.ma.MaskedArray) and np.ma.getmaskarray(targets).any():
        graph = int(np.argwhere(np.ma.getmaskarray(targets))[0, 0])
        raise InvalidInputError(
            f"the target of graph {graph} is masked; drop the graph together with its target, or "
            "fill the gaps with .filled(value)"
        )
    found = np.asarray(targets)
    if found.dtype.kind == "U" and isinstance(targets, (list, tuple)) and found.ndim == 1:
        given = np.array(targets, object)  # where NaN is not the text "nan"
        return given if missing_targets(given).any() else found
    return found


def missing_targets(targets: NDArray[Any]) -> Flags:
    """Tell where nothing can be learnt from a target: it is None, NA, NaN or infinite."""
    if targets.dtype.kind in "fc":
        finite: Flags = np.isfinite(targets)
        return ~finite
    if targets.dtype.kind == "O":
        found = [
            is_missing(value) or (isinstance(value, float) and math.isinf(value))
            for value in targets.ravel()
        ]
        return np.array(found, bool).reshape(targets.shape)
    return np.zeros(targets.shape, bool)


def infinite_targets(targets: NDArray[Any]) -> Flags:
    """Tell where a target is infinite."""
    if targets.dtype.kind in "fc":
        found: Flags = np.isinf(targets)
        return found
    if targets.dtype.kind != "O":
        return np.zeros(targets.shape, bool)
    infinite = [isinstance(value, float) and math.isinf(value) for value in targets.ravel()]
    return np.array(infinite, bool).reshape(targets.shape)


def without_empty_targets(dataset: GraphDataset) -> GraphDataset:
    targets = dataset.targets
    if targets is None or targets.dtype.kind != "f" or not np.isnan(targets).all():
        return dataset
    return replace(dataset, targets=None)


def _positions(key: Any, n_graphs: int) -> Ints:
    if isinstance(key, slice):
        return np.arange(n_graphs)[key]
    if isinstance(key, int | np.integer):
        return np.arange(n_graphs)[[int(key)]]
    return checked_positions(key, n_graphs)
