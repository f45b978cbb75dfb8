"""The report on methods of other authors: what they see, and where they are off the paper."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from retgk.paper.report_tables import (
    OURS,
    Entry,
    Grid,
    is_computed,
    list_text,
    outcome_of_changes,
    published_text,
    summary_text,
)
from retgk.paper.table_cells import computed_methods, read_settings
from retgk.paper.table_results import Row, Variation

__all__ = ["peers_grid", "peers_note"]

_MANY_DEVIATIONS = 3.0


def peers_grid(rows: Iterable[Row], tried: Sequence[Variation]) -> Grid:
    """Baselines that are more than three published deviations from the published accuracy."""
    compared = [row for row in rows if row.method not in OURS and _is_beside(row)]
    remarks = read_settings("peer_remarks")
    lines = [
        [
            Entry(row.dataset),
            Entry(row.method),
            Entry(f"Table {row.table}"),
            Entry(published_text(row.published)),
            Entry(summary_text(row.paper)),
            Entry(f"{row.deviations_off:+.1f}"),
            Entry(_remark(row, tried, remarks), kind="text"),
        ]
        for row in compared
        if abs(row.deviations_off or 0.0) > _MANY_DEVIATIONS
    ]
    header = ["set", "method", "table", "paper", "here", "difference in published sd", "remark"]
    note = (
        f"{len(lines)} of the {len(compared)} cells of other authors that have a number in the "
        "paper and one here. The paper does not state the settings of their methods."
    )
    title = "Methods of other authors: over three deviations from the paper"
    return Grid("peers", title, header, lines, [note])


def _remark(row: Row, tried: Sequence[Variation], remarks: Mapping[str, Any]) -> str:
    """What changes of settings gave, what is known of this cell, and of the method."""
    own = remarks.get("cells", {}).get(str(row.table), {}).get(row.dataset, {}).get(row.method, "")
    texts = (outcome_of_changes(row, tried), own, remarks.get(row.method, ""))
    return " ".join(filter(None, texts))


def _is_beside(row: Row) -> bool:
    """Whether a cell has an accuracy here and one in the paper."""
    return is_computed(row.paper) and row.published is not None


_NO_PARAMETERS = ("kind", "uses_labels", "uses_attributes", "draws", "start", "choose")


def peers_note(table: int) -> str:
    """What methods of other authors see of the graphs of a table, and their parameters."""
    settings = read_settings(f"table_{table}")
    seeing: dict[str, list[str]] = {}
    for name in computed_methods(table):
        own = settings["methods"][name]
        if own["kind"] in ("native", "network"):
            values = [f"{key}={_value_text(own[key])}" for key in own if key not in _NO_PARAMETERS]
            values += _choice_texts(own.get("choose", []))
            values += _override_texts(name, settings.get("overrides", {}))
            text = f"{name} ({', '.join(values)})" if values else name
            seeing.setdefault(_inputs_text(name, {**settings, **own}, settings), []).append(text)
    parts = [
        f"{list_text(names)} see{'' if names[1:] else 's'} {what}" for what, names in seeing.items()
    ]
    return f"Methods of other authors: {'; '.join(parts)}."


def _choice_texts(changes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Settings of which the validation part of a fold chooses, with their values."""
    values: dict[str, list[str]] = {}
    for change in changes:
        for key, value in change.items():
            values.setdefault(key, []).append(_value_text(value))
    return [f"{key} chosen from {{{', '.join(own)}}}" for key, own in values.items()]


def _override_texts(method: str, overrides: Mapping[str, Any]) -> list[str]:
    """Settings of a method that some sets have, with these sets."""
    sets: dict[str, list[str]] = {}
    for name, methods in overrides.items():
        for key, value in methods.get(method, {}).items():
            sets.setdefault(f"{key}={_value_text(value)}", []).append(name)
    return [f"{change} on {list_text(names)}" for change, names in sets.items()]


def _value_text(value: Any) -> str:
    """Value of a setting; a table of one entry is a kernel and its argument."""
    if not isinstance(value, Mapping):
        return str(value)
    ((name, argument),) = value.items()
    return f"{name}({argument})"


def _inputs_text(name: str, used: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    """What a method of other authors sees besides edges."""
    if name == "GK" or used.get("base") == "graphlet":
        return "edges alone, no labels"
    if used["uses_attributes"] and not used["uses_labels"] and used.get("start") == "labels":
        return "attributes"
    labels = "labels" if used["uses_labels"] else "node degrees in place of labels"
    if used["uses_attributes"]:
        return f"{labels} and attributes"
    return f"{labels}, no attributes" if table["uses_attributes"] else labels
