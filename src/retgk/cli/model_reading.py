"""Models from files, and graphs for them: options that a model remembers, and those given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retgk.cli.options import Common, Reading
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from retgk.graphs.reading import Reading as FittedReading
    from retgk.io.graph_dataset import GraphDataset

__all__ = ["MODEL_REMEDIES", "MaxSteps", "as_fitted", "load_predictor", "read_for_model"]

MaxSteps = Annotated[
    int,
    typer.Option("--max-steps", min=1, help="Most steps of walks that the model file may ask for."),
]
MODEL_REMEDIES = {
    "model_bytes": "give a larger --max-bytes if you trust it",
    "max_steps": "give a larger --max-steps if you trust it",
    "model_file": "give a file as `retgk fit` wrote it",
}

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
    "arrays": {"negative": ("negative", "--negative")},
}
_FORM = ("symmetrize", "delimiter", "missing", "variable")


def load_predictor(path: Path, limits: tuple[int | None, int]) -> Any:
    """Read a model that predicts; limits are its bytes and its steps of walks."""
    from retgk.persistence.model_files import DEFAULT_MAX_BYTES, load_model

    if not path.is_file():
        raise InvalidInputError(f"there is no model file {path}; make it with `retgk fit`")
    max_bytes, max_steps = limits
    model = load_model(path, max_bytes=max_bytes or DEFAULT_MAX_BYTES, max_steps=max_steps)
    if not hasattr(model, "predict"):
        raise InvalidInputError(
            f"{path} holds a {type(model).__name__}, which does not predict; make a model with "
            "`retgk fit`"
        )
    return model


def read_for_model(model: Any, source: str, reading: Reading, common: Common) -> GraphDataset:
    """Read graphs as those of a model were."""
    from retgk.cli.sources import read_collection

    reading = as_fitted(reading, model.reading_, source)
    reading = replace(reading, max_bytes=_limit_for_graphs(source, reading.max_bytes))
    return read_collection(source, reading, common)


def _limit_for_graphs(source: str, max_bytes: int | None) -> int | None:
    """Give the limit that was meant for the model, unless graphs may have more by their size."""
    from retgk.runtime.parse_budget import ParseBudget

    if max_bytes is None:
        return None
    path = Path(source)
    return max(max_bytes, ParseBudget(source, path.stat().st_size if path.is_file() else 0).allowed)


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
