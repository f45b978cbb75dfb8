"""Colours of nodes before the first round: labels, degrees or one for all, with a vocabulary."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from retgk.array_types import Codes, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.validation import check_alike

__all__ = ["FirstColours", "Start", "check_start"]

Start = Literal["labels", "degrees", "none"]
"""What tells nodes apart before the first round."""


@dataclass
class FirstColours:
    """
    Numbers of first colours, in the order in which the fitted graphs show them.

    Parameters
    ----------
    start : {"labels", "degrees", "none"}
        Labels (one for all nodes, if there are none), numbers of neighbours, or one for all.
    """

    start: Start
    names: tuple[Hashable, ...] = ()
    """What the colours of the fitted graphs stand for, set by `fit`."""
    has_labels: bool = False
    """Whether the fitted graphs have labels, set by `fit`."""

    def fit(self, batch: GraphBatch) -> Codes:
        """Number the colours of graphs from 0 on."""
        codes, known = _numbered(_values(batch, self.start), {})
        self.names, self.has_labels = tuple(known), batch.has_labels
        return codes

    def colours(self, batch: GraphBatch) -> Codes:
        """
        Colours of new graphs; those that no fitted graph has come after all of theirs.

        Labels where the fitted graphs have none, or the reverse, are an error if they matter.
        """
        if self.start == "labels":
            check_alike(batch, self.has_labels, batch.n_attributes)
        known = {name: number for number, name in enumerate(self.names)}
        return _numbered(_values(batch, self.start), known)[0]


def check_start(start: Any) -> None:
    """Raise unless this says what the first colours are."""
    if start not in get_args(Start):
        raise InvalidInputError(f"start must be 'labels', 'degrees' or 'none', got {start!r}")


def _values(batch: GraphBatch, start: str) -> tuple[Ints, list[Any]]:
    """Codes of the first colours, and what they stand for."""
    check_start(start)
    if start == "degrees":
        values, codes = np.unique(np.diff(batch.indptr), return_inverse=True)
        return codes.astype(np.int64), values.tolist()
    if start == "none" or not batch.has_labels:
        return np.zeros(batch.n_nodes, np.int64), [None]
    return batch.labels.astype(np.int64), list(batch.label_names)


def _numbered(
    colours: tuple[Ints, list[Any]], numbers: dict[Any, int]
) -> tuple[Codes, dict[Any, int]]:
    """Number colours that have no number yet in order of appearance."""
    codes, names = colours
    used, first = np.unique(codes, return_index=True)
    known = dict(numbers)
    table = np.zeros(len(names), np.int32)
    for code in used[np.argsort(first)]:
        table[code] = known.setdefault(names[code], len(known))
    return table[codes], known
