"""How graphs were read: options that new graphs have to share with those a model was fitted on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from retgk.errors import InvalidInputError, Remedy

__all__ = ["Reading", "check_same_reading", "checked_reading", "reading_of"]

_MOST_NAMES = 1 << 12
_MOST_LETTERS = 1 << 12


class _Names(NamedTuple):
    """Names of the options of one kind of source."""

    options: tuple[str, ...]
    form: tuple[str, ...]


_NAMED_VALUES = _Names(("label", "attributes", "weight"), ("symmetrize", "missing"))

# A new converter or reader is added here; a new option of one has its name in one of the two lists.
_KINDS = {
    "molecules": _Names(("attributes", "add_hydrogens", "bond_orders"), ("smiles_column",)),
    "networkx": _NAMED_VALUES,
    "igraph": _NAMED_VALUES,
    "pyg": _NAMED_VALUES,
    "grakel": _Names(("as_attributes",), ("symmetrize", "missing")),
    "arrays": _Names((), ("symmetrize", "missing")),
    "edges": _Names(("weighted",), ("delimiter",)),
    "tu": _Names(("weight_column",), ("symmetrize",)),
}
_SURE_WEIGHTS = ("molecules", "edges", "tu")
_FLAGS = ("add_hydrogens", "as_attributes", "bond_orders", "symmetrize", "weighted")


@dataclass(frozen=True)
class Reading:
    """
    How graphs were read: from which kind of source, with which options.

    Attributes
    ----------
    kind : str
        Kind of the source: "molecules" (SMILES and RDKit), "networkx" (GraphML too), "igraph",
        "pyg", "grakel", "arrays", "edges" (files of edges) or "tu".
    options : dict
        What was read, such as ``bond_orders``, ``label`` or ``weight``, by the names of the
        converters. Graphs that were read with other values are other graphs.
    form : dict
        How it was laid out, such as ``symmetrize`` or ``smiles_column``. New graphs may come in
        another form.
    labels, attributes : bool
        False where labels or attributes were taken away afterwards.
    """

    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)
    labels: bool = True
    attributes: bool = True

    def without_labels(self) -> "Reading":
        """Give the reading of the same graphs without labels."""
        return replace(self, labels=False, options=_with(self.options, "label", None))

    def without_attributes(self) -> "Reading":
        """Give the reading of the same graphs without attributes."""
        return replace(self, attributes=False, options=_with(self.options, "attributes", []))

    def with_form(self, **form: Any) -> "Reading":
        """Give a reading with more said of the form."""
        return replace(self, form={**self.form, **form})

    def as_dict(self) -> dict[str, Any]:
        """Give plain values, of which `checked_reading` makes an equal one."""
        return dict(vars(self))

    @property
    def tells_weights(self) -> bool:
        """Whether its options alone say if graphs are weighted: names of values may be absent."""
        return self.kind in _SURE_WEIGHTS


def _with(options: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    return {**options, name: value} if name in options else options


def reading_of(kind: str, given: Mapping[str, Any]) -> Reading:
    """Make a reading of the options of a converter or reader, of which it keeps those it knows."""
    names = _KINDS[kind]
    values = {name: _plain(name, value) for name, value in given.items()}
    return Reading(
        kind,
        {name: values[name] for name in names.options if name in values},
        {name: values[name] for name in names.form if name in values},
    )


def _plain(name: str, value: Any) -> Any:
    """Give one form to all ways to say the same: yes or no, a list of names of attributes."""
    if name in _FLAGS:
        return bool(value)
    if name != "attributes":
        return list(value) if isinstance(value, list) else value
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def check_same_reading(
    own: Reading | None,
    its: Reading | None,
    batch_was: str = "the graphs were",
    others_were: str = "the fitted ones",
) -> None:
    """Raise where graphs of one kind were read with different options."""
    if own is None or its is None or own.kind != its.kind:
        return
    for name in own.options:
        if own.options[name] != its.options.get(name, own.options[name]):
            wanted = f"{name}={its.options[name]!r}"
            raise InvalidInputError(
                f"{batch_was} read with {name}={own.options[name]!r}, {others_were} with {wanted}",
                Remedy("reading", f"read all in one way, such as with {wanted}", value=wanted),
            )


def checked_reading(value: Any) -> Reading | None:
    """Make a reading of what a file says; anything but plain values of known names is an error."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or value.keys() != vars(Reading("arrays")).keys():
        raise InvalidInputError(f"the reading of graphs is {value!r:.80}")
    names = _KINDS.get(value["kind"]) if isinstance(value["kind"], str) else None
    if names is None:
        raise InvalidInputError(f"there is no kind of graphs {value['kind']!r:.80}")
    for group, known in (("options", names.options), ("form", names.form)):
        stored = value[group]
        if not isinstance(stored, Mapping) or not stored.keys() <= set(known):
            raise InvalidInputError(f"{group} of reading {value['kind']} are {stored!r:.80}")
        for name, option in stored.items():
            if not _is_good(name, option):
                raise InvalidInputError(f"the option {name} of reading is {option!r:.80}")
    if type(value["labels"]) is not bool or type(value["attributes"]) is not bool:
        raise InvalidInputError("a reading says neither yes nor no to labels or attributes")
    return Reading(**{**value, "options": dict(value["options"]), "form": dict(value["form"])})


def _is_good(name: str, value: Any) -> bool:
    """Whether an option has a value that a reader may be given."""
    if name in _FLAGS:
        return type(value) is bool
    if name == "weight_column":
        return value is None or (type(value) is int and 0 <= value < _MOST_NAMES)
    if name == "missing":
        return value in ("error", "label", "nan", "keep")
    if name in ("delimiter", "smiles_column"):
        return value is None or (isinstance(value, str) and 0 < len(value) <= _MOST_LETTERS)
    if name == "attributes":
        return isinstance(value, list) and len(value) <= _MOST_NAMES and all(map(_is_name, value))
    several = value if isinstance(value, list) else [value]
    return len(several) <= _MOST_NAMES and all(map(_is_name, several))


def _is_name(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) <= _MOST_NAMES and all(map(_is_name, value))
    return value is None or type(value) in (bool, int, float) or _is_text(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_LETTERS
