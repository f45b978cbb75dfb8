"""Which values of nodes are read, and what becomes of them: labels, numbers, categories."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from retgk.array_types import Floats
from retgk.errors import InputWarning, InvalidInputError, Remedy, warn_user
from retgk.graphs.labels import union_of_names
from retgk.graphs.missing_values import KEPT_LABELS, KEPT_NUMBERS, Missing, is_missing
from retgk.io.converters.node_values import (
    KEEP_AS_NAN,
    NodeName,
    attribute_matrix,
    attribute_names,
    short_repr,
    warn_of_unused_values,
)

__all__ = ["Categorical", "NodeArrays", "NodeColumns"]

Categorical = Hashable | list[Any] | Mapping[Any, Sequence[Any]]
"""One name, names, or names with the values that each may have."""

_MOST_VALUES = 20
_ABSENT = -2  # code of a missing value


class NodeArrays(NamedTuple):
    """Labels and attributes, None where there are none, and the values of every category."""

    labels: Sequence[Any] | None
    attributes: Floats | None
    categorical: dict[Any, list[Any]]


@dataclass(frozen=True)
class NodeColumns:
    """Names of the label, of the parts of a label, and of numeric and categorical attributes."""

    label_parts: list[Any]
    is_tuple: bool
    attributes: list[Any]
    categories: dict[Any, Sequence[Any] | None]
    missing: Missing = "error"

    @classmethod
    def of(
        cls, label: Any, attributes: Any, categorical: Any, missing: Missing = "error"
    ) -> "NodeColumns":
        """Read the arguments of a converter; only a list names several parts of a label."""
        several = isinstance(label, list)
        parts = label if several else [] if label is None else [label]
        if several and not parts:
            raise InvalidInputError("label is an empty list; give a name, several, or None")
        categories: dict[Any, Sequence[Any] | None] = {}
        if isinstance(categorical, Mapping):
            for name, values in categorical.items():
                categories[name] = _checked_categories(name, values)
        else:
            categories.update(dict.fromkeys(attribute_names(categorical)))
        return cls(list(parts), several, attribute_names(attributes), categories, missing)

    @property
    def names(self) -> list[Any]:
        """All names, in the order in which `arrays` takes their values."""
        return [*self.label_parts, *self.attributes, *self.categories]

    @property
    def label(self) -> Any:
        """The label as a converter takes it: a name, a list of several, or None."""
        return self.label_parts if self.is_tuple else next(iter(self.label_parts), None)

    def warn_if_unused(self, names: Any, attributes: Any) -> None:
        """Warn of values that nodes have, where none is read and that was not asked for."""
        if attributes is None and not self.names:
            warn_of_unused_values(dict.fromkeys(names))

    def arrays(self, values: Sequence[Sequence[Any]], node_name: NodeName) -> NodeArrays:
        """
        Make labels and attributes of one list of values for each name.

        `node_name` says what an error calls a node, given its position among all nodes.
        """
        n_parts, n_numeric = len(self.label_parts), len(self.attributes)
        numeric = values[n_parts : n_parts + n_numeric]
        parts = [
            attribute_matrix(column, name, node_name, self.missing)
            for column, name in zip(numeric, self.attributes, strict=True)
        ]
        found = {}
        for column, name in zip(values[n_parts + n_numeric :], self.categories, strict=True):
            matrix, found[name] = self._one_hot(column, name, node_name)
            parts.append(matrix)
        joined = np.concatenate(parts, axis=1) if parts else None
        return NodeArrays(self._labels(values[:n_parts], node_name), joined, found)

    def _labels(
        self, columns: Sequence[Sequence[Any]], node_name: NodeName
    ) -> Sequence[Any] | None:
        """Values of the label; tuples of several parts, in which None stands for a missing one."""
        if not self.is_tuple:
            return columns[0] if columns else None
        parts = []
        for name, column in zip(self.label_parts, columns, strict=True):
            absent = [is_missing(value) for value in column]
            if any(absent) and self.missing not in KEPT_LABELS:
                raise InvalidInputError(
                    f"{node_name(absent.index(True))}: the part {name!r} of the label is missing",
                    _AS_LABEL,
                )
            parts.append([None if gap else v for v, gap in zip(column, absent, strict=True)])
        return list(zip(*parts, strict=True))

    def _one_hot(
        self, values: Sequence[Any], name: Any, node_name: NodeName
    ) -> tuple[Floats, list[Any]]:
        """One column for each category: one where a node has it, zero elsewhere; the categories."""
        given = self.categories[name]
        try:
            present = [value for value in values if not is_missing(value)]
            names = list(union_of_names([present]) if given is None else given)
            codes = _codes(values, names)
        except TypeError as error:
            raise InvalidInputError(f"values of {name!r} must be hashable: {error}") from error
        self._check_codes(codes, values, (name, names), node_name)
        if values and not names:
            raise InvalidInputError(f"no node has a value of {name!r}; leave it out")
        if given is None:
            _warn_of_found_categories(name, names)
        matrix = np.zeros((len(values), len(names)))
        known = np.array(codes, np.int64) != _ABSENT
        matrix[np.flatnonzero(known), np.array(codes, np.int64)[known]] = 1
        matrix[~known] = np.nan
        return matrix, names

    def _check_codes(
        self, codes: list[int], values: Sequence[Any], listed: Any, node_name: NodeName
    ) -> None:
        """Raise at a value that is no category, or is missing and may not be."""
        name, names = listed
        if _ABSENT in codes and self.missing not in KEPT_NUMBERS:
            node = codes.index(_ABSENT)
            raise InvalidInputError(
                f"{node_name(node)}: the attribute {name!r} is missing", KEEP_AS_NAN
            )
        if -1 in codes:
            node = codes.index(-1)
            raise InvalidInputError(
                f"{node_name(node)}: the value {short_repr(values[node])} of {name!r} is none of "
                f"the categories {_listed(names)}; add it to them, for all graphs alike"
            )


_AS_LABEL = Remedy(
    "missing_label",
    'give all nodes labels, or make None of missing parts with missing="label"',
)


def _codes(values: Sequence[Any], names: Sequence[Any]) -> list[int]:
    """Position of every value among the names; missing ones and others have codes below zero."""
    columns = {value: column for column, value in enumerate(names)}
    absent = {True: _ABSENT, False: -1}
    return [columns[value] if value in columns else absent[is_missing(value)] for value in values]


def _checked_categories(name: Any, values: Any) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence) or not len(values):
        raise InvalidInputError(f"categorical: list the values of {name!r}, got {values!r}")
    if len(set(values)) < len(values):
        raise InvalidInputError(f"categorical: a value of {name!r} is listed twice")
    return list(values)


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(map(short_repr, names[:_MOST_VALUES]))
    return f"[{shown}{', ...' * (len(names) > _MOST_VALUES)}]"


def _warn_of_found_categories(name: Any, names: Sequence[Any]) -> None:
    """Say what the columns are: graphs that are converted apart may have other values."""
    warn_user(
        InputWarning(
            f"{name!r} became {len(names)} columns of zeros and ones, for the values found: "
            f"{_listed(names)}",
            Remedy(
                "categories",
                "graphs that are converted apart need the same columns: "
                f"categorical={{{name!r}: [...]}} lists them",
                value=str(name),
            ),
        )
    )
