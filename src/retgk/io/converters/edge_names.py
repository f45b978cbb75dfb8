"""Which values of edges are read by name: the label of an edge, and what is said of the others."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retgk.errors import InputWarning, InvalidInputError, Remedy, warn_user
from retgk.graphs.missing_values import KEPT_LABELS, Missing, is_missing
from retgk.io.converters.node_values import short_repr

__all__ = ["EdgeLabelName", "EdgeNames"]

EdgeLabelName = Hashable | list[Any] | None
"""Name of the label of edges, several that make one, or None; an empty list is a quiet None."""

_MOST_NAMES = 5
_NO_LABELS = ("id", "key", "source", "target", "weight")


@dataclass(frozen=True)
class EdgeNames:
    """Names of the parts of the label of an edge, none if no labels are read."""

    parts: list[Any]
    is_tuple: bool = False
    is_silent: bool = False
    missing: Missing = "error"

    @classmethod
    def of(cls, edge_label: Any, missing: Missing = "error") -> "EdgeNames":
        """Read the argument of a converter; only a list names several parts."""
        if isinstance(edge_label, list):
            return cls(list(edge_label), True, not edge_label, missing)
        return cls([] if edge_label is None else [edge_label], missing=missing)

    @property
    def name(self) -> Any:
        """The name as a converter takes it."""
        return self.parts if self.is_tuple else next(iter(self.parts), None)

    def labels(
        self, edges: Iterable[Mapping[Any, Any]], edge_name: Callable[[int], str]
    ) -> list[Any] | None:
        """
        Labels of edges from what is known of each; None if none are read.

        `edge_name` says what an error calls an edge, given its position.
        """
        if not self.parts:
            return None
        known = list(edges)
        columns = [[edge.get(part) for edge in known] for part in self.parts]
        return self.of_columns(columns, edge_name)

    def of_columns(
        self, columns: Sequence[Sequence[Any]], edge_name: Callable[[int], str]
    ) -> list[Any] | None:
        """Labels of edges from one list of values for each part; None if none are read."""
        if not self.parts:
            return None
        for part, column in zip(self.parts, columns, strict=True):
            absent = [is_missing(value) for value in column]
            if any(absent) and self.missing not in KEPT_LABELS:
                raise InvalidInputError(
                    f"{edge_name(absent.index(True))} has no {part!r}", _NOT_THERE
                )
            self._check_hashable(part, column, edge_name)
        if not self.is_tuple:
            return list(columns[0])
        rows = zip(*columns, strict=True)
        return [tuple(None if is_missing(value) else value for value in row) for row in rows]

    def _check_hashable(
        self, part: Any, column: Sequence[Any], edge_name: Callable[[int], str]
    ) -> None:
        for edge, value in enumerate(column):
            try:
                hash(value)
            except TypeError:
                raise InvalidInputError(
                    f"{edge_name(edge)}: the {part!r} is {short_repr(value)}, which cannot be a "
                    "label; labels must be hashable"
                ) from None

    def warn_if_unused(self, names: Iterable[Any], weight: Any) -> None:
        """Warn of values that edges have beside weights; no weight means to read none."""
        if self.parts or self.is_silent or weight is None:
            return
        found = [name for name in dict.fromkeys(names) if name not in (*_NO_LABELS, weight)]
        if found:
            shown = ", ".join(map(repr, found[:_MOST_NAMES])) + ", ..." * (len(found) > _MOST_NAMES)
            warn_user(
                InputWarning(
                    f"edges have {shown}, which {'is' if len(found) == 1 else 'are'} not used",
                    Remedy(
                        "edge_values",
                        "as_batch(graphs, edge_label=...) reads labels of edges, which count with "
                        "depth above zero, weight=... reads weights, edge_label=[] leaves them out "
                        "without this warning",
                    ),
                )
            )


_NOT_THERE = Remedy(
    "missing_edge_label",
    'set it on all edges first, or make a label of its own of missing ones with missing="label"',
)
