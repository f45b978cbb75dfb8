"""Options of reading that a model remembers, beside those that the user gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgk.cli.options import Reading
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from retgk.graphs.reading import Reading as FittedReading

__all__ = ["as_fitted"]

# By kind of graphs and name of the option in the library: its field and its name here.
_OPTIONS = {
    "molecules": {
        "attributes": ("atom_attribute", "--atom-attribute"),
        "add_hydrogens": ("add_hydrogens", "--add-hydrogens or --no-hydrogens"),
        "bond_orders": ("bond_orders", "--bond-orders or --no-bond-orders"),
        "bond_types": ("bond_types", "--bond-types or --no-bond-types"),
    },
    "networkx": {
        "label": ("label", "--label-name"),
        "attributes": ("attribute", "--attribute-name"),
        "categorical": ("categorical", "--categorical-name"),
        "weight": ("weight", "--weight-name"),
        "edge_label": ("edge_label", "--edge-label-name"),
    },
    "edges": {"weighted": ("weighted", "--weighted or --no-weights")},
}
_FORM = ("symmetrize", "delimiter", "missing", "variable")


def as_fitted(reading: Reading, fitted: FittedReading | None, source: str) -> Reading:
    """
    Give the options by which the graphs of a model were read, where the user gave none.

    An option that says something else of what is read is an error; of the form in which graphs
    come it is not.
    """
    if fitted is None:
        return reading
    changes: dict[str, Any] = {
        "use_labels": reading.use_labels and fitted.labels,
        "use_attributes": reading.use_attributes and fitted.attributes,
        "use_edge_labels": reading.use_edge_labels and fitted.edge_labels,
    }
    named = reading.named_values() if fitted.kind == "networkx" else {}
    for name, (field, option) in _OPTIONS.get(fitted.kind, {}).items():
        given, known = named.get(name, getattr(reading, field)), fitted.options.get(name)
        if not _agrees(given, known):
            raise InvalidInputError(
                f"{option} contradicts the model, whose graphs were read with {name}={known!r}; "
                "leave it out, as the model knows how to read graphs"
            )
        is_one = name in ("label", "edge_label") and isinstance(known, str)
        changes[field] = [known] if is_one else known
    for name in _FORM:
        changes[name] = getattr(reading, name) or fitted.form.get(name, getattr(reading, name))
    changes["smiles_column"] = reading.smiles_column or _column_in(source, fitted)
    return replace(reading, **changes)


def _agrees(given: Any, known: Any) -> bool:
    """Whether an option says what the model knows: categories need not be listed again."""
    if isinstance(known, dict) and isinstance(given, list):
        return given == list(known)
    return given in (None, [], known)


def _column_in(source: str, fitted: FittedReading) -> str | None:
    """Column of SMILES that the model was fitted on, if a file has one of that name."""
    from retgk.io.formats.smiles_files import has_column

    name, path = fitted.form.get("smiles_column"), Path(source)
    return name if name is not None and path.is_file() and has_column(path, name) else None
