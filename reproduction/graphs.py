"""The graphs of a cell: a set with what a table uses of it, with or without copies of graphs."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduction.frankenstein import ATOMS, REBUILT, digit_images, rebuilt_frankenstein
from retgk.array_types import Codes, Floats, Ints
from retgk.datasets import load_tudataset
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, graphs_digest
from retgk.io.dataset import GraphDataset
from retgk.walks.probabilities import return_probabilities

_N_PROJECTIONS = 3
_TOLERANCE = 1e-9
"""Return probabilities of copies agree to about 1e-13; those of other graphs hardly ever so."""


@dataclass(frozen=True, eq=False)
class PaperSet:
    graphs: GraphBatch
    targets: NDArray[Any]
    n_dropped: int = 0
    n_dropped_of_other_target: int = 0

    @cached_property
    def digest(self) -> str:
        return graphs_digest(self.graphs)

    def as_record(self) -> dict[str, int]:
        return {
            "n_graphs": len(self.graphs),
            "n_classes": len(np.unique(self.targets)),
            "n_dropped": self.n_dropped,
            "n_dropped_of_other_target": self.n_dropped_of_other_target,
        }


class Sources(NamedTuple):
    """Where sets come from: a folder of them, None to download, and one of MNIST's images."""

    data_home: Path | None = None
    mnist: Path | None = None

    def as_text(self) -> list[str | None]:
        return [None if path is None else str(path) for path in self]

    @classmethod
    def from_text(cls, texts: Iterable[str | None]) -> "Sources":
        return cls(*(None if text is None else Path(text) for text in texts))


def load_paper_set(
    name: str,
    sources: Sources,
    *,
    uses_labels: bool,
    uses_attributes: bool,
    deduplicate: bool = False,
    seed: int = 0,
) -> PaperSet:
    """Load a set with what a table uses of it."""
    data = _rebuilt(sources, seed) if name == REBUILT else _stored(name, sources.data_home)
    assert data.targets is not None
    graphs = data.graphs
    graphs = graphs if uses_labels else graphs.without_labels()
    graphs = graphs if uses_attributes else graphs.without_attributes()
    if not deduplicate:
        return PaperSet(graphs, data.targets)
    copies = find_copies(graphs)
    return PaperSet(
        graphs[copies.kept],
        data.targets[copies.kept],
        copies.n_dropped(),
        copies.n_of_other_target(data.targets),
    )


def _stored(name: str, data_home: Path | None) -> GraphDataset:
    return load_tudataset(name, data_home, download=data_home is None)


def _rebuilt(sources: Sources, seed: int) -> GraphDataset:
    if sources.mnist is None:
        raise InvalidInputError(
            f"{REBUILT} is made of molecules and of MNIST's images; give their folder (--mnist)"
        )
    atoms = load_tudataset(ATOMS, sources.data_home, download=False)
    return rebuilt_frankenstein(atoms, digit_images(sources.mnist), seed)


class Copies(NamedTuple):
    """Which graphs stay, and which the others are copies of."""

    kept: Ints
    """First of every group of copies, rising."""
    first: Ints
    """For every graph the first one that it is a copy of: itself where it stays."""

    def n_dropped(self) -> int:
        return len(self.first) - len(self.kept)

    def n_of_other_target(self, targets: NDArray[Any]) -> int:
        return int(np.sum(targets != targets[self.first]))


def find_copies(graphs: GraphBatch, n_steps: int = 50) -> Copies:
    """
    Find graphs whose nodes have the same return probabilities, labels and attributes.

    Isomorphic graphs do (Proposition 1 of the paper); the few pairs of others that do, no
    kernel of this package can tell apart either. Nodes are compared by the values of some random
    linear functions, sorted within each label: sorting keeps small errors small, which rounding
    and hashing would not.
    """
    values = _node_values(graphs, n_steps)
    groups: dict[bytes, list[int]] = {}
    rows = []
    for graph, (start, stop) in enumerate(zip(graphs.node_ptr, graphs.node_ptr[1:], strict=False)):
        labels = graphs.labels[start:stop]
        rows.append(np.concatenate([_sort_by_label(own, labels) for own in values[start:stop].T]))
        groups.setdefault(np.sort(labels).tobytes(), []).append(graph)
    first = np.arange(len(graphs))
    for group in groups.values():
        _mark_copies(group, rows, first)
    return Copies(np.flatnonzero(first == np.arange(len(graphs))), first)


def _sort_by_label(values: Floats, labels: Codes) -> Floats:
    return values[np.lexsort((values, labels))]


def _node_values(graphs: GraphBatch, n_steps: int) -> Floats:
    rng = np.random.default_rng(0)
    probabilities = return_probabilities(graphs, n_steps)
    values: Floats = probabilities @ rng.uniform(-1, 1, (n_steps, _N_PROJECTIONS))
    if graphs.n_attributes:
        scale = np.maximum(np.abs(graphs.attributes).max(axis=0), 1e-300)
        weights = rng.uniform(-1, 1, (graphs.n_attributes, _N_PROJECTIONS))
        values += (graphs.attributes / scale) @ weights
    return values


def _mark_copies(group: list[int], rows: list[Floats], first: Ints) -> None:
    """Give every graph of a group of equal labels the number of the first that it agrees with."""
    known = np.empty((len(group), len(rows[group[0]])))
    owners: list[int] = []
    for graph in group:
        gaps = np.abs(known[: len(owners)] - rows[graph]).max(axis=1, initial=0.0)
        same = np.flatnonzero(gaps < _TOLERANCE)
        if len(same):
            first[graph] = owners[same[0]]
        else:
            known[len(owners)] = rows[graph]
            owners.append(graph)
