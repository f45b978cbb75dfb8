"""
GML files, as networkx, Gephi and igraph write them: one graph in a file, or several.

A file is a list of keys and values: a number, text in quotes, or a list in square brackets. What
stands in ``graph [ node [ id 0 ] edge [ source 0 target 0 ] ]`` is node-link data in other words,
and is read as that. A key that comes several times in a node or an edge has a list of values.
"""

import math
import re
from collections.abc import Iterator
from html.entities import name2codepoint
from pathlib import Path
from typing import Any, NoReturn

from retgk._runtime.files import unpacked_bytes
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.edges import Negative, Symmetrize
from retgk.graphs.flat import Missing
from retgk.io.dataset import GraphDataset
from retgk.io.formats import Format, PathLike, bare_name, label_remedy, write_series
from retgk.io.json import NodeLinks
from retgk.io.objects import NAMED_VALUES, EdgeNames, NodeColumns, plain_graph

_TOKEN = re.compile(
    r"(?P<skip>\s+|\#[^\n]*)|(?P<key>[A-Za-z_]\w*)|(?P<start>\[)|(?P<end>\])"
    r'|"(?P<text>[^"]*)"|(?P<float>[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[Ee]))(?:[Ee][+-]?\d+)?)'
    r"|(?P<int>[+-]?\d{1,400})(?!\d)",
    re.ASCII,
)
_START = re.compile(r'(?:\s+|#[^\n]*\n|(?:Creator|comment)\s+"[^"]*"|Version\s+\S+)*+graph\s*\[')
_REFERENCE = re.compile(
    r"&(?:#(?P<number>\d{1,7})|#x(?P<hex>[0-9A-Fa-f]{1,6})|(?P<name>\w+));", re.ASCII
)
_UNSAFE = re.compile(r'[^ -~]|[&"]')
_MANY = ("graph", "node", "edge")  # a list, even of one
_DEEPEST = 20


def _read(
    files: list[Path],
    *,
    label: Any = None,
    attributes: Any = None,
    categorical: Any = None,
    weight: Any = "weight",
    edge_label: Any = None,
    target_column: str | None = None,
    skip_invalid: bool = False,
    negative: Negative = "error",
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
) -> GraphDataset:
    columns = NodeColumns.of(label, attributes, categorical, missing)
    names = EdgeNames.of(edge_label, missing)
    reader = NodeLinks(columns, names, weight, target_column, negative, symmetrize)
    own_files: list[Path] = []
    for path in files:
        graphs = _parsed(path).get("graph", [])
        if not graphs:
            raise InvalidInputError(f"{path} holds no graphs")
        for number, graph in enumerate(graphs):
            place = f"{path}, graph {number}" if len(graphs) > 1 else str(path)
            nodes = graph.get("node", []) if isinstance(graph, dict) else None
            if not reader.leaves_out(place, {"nodes": nodes}, skip_invalid):
                reader.add(place, _node_links(graph, place))
                own_files.append(path)
    rows = reader.rows(files[0] if len(files) == 1 else files[0].parent)
    graph_names = reader.graph_names()
    if len(set(own_files)) == len(own_files):
        graph_names = list(map(bare_name, own_files))
    return GraphDataset(reader.batch(attributes), reader.targets(), "", "", graph_names, rows)


def _node_links(graph: Any, place: str) -> dict[str, Any]:
    if not isinstance(graph, dict):
        raise InvalidInputError(f"{place} holds a graph that is not a list in square brackets")
    nodes, links = graph.pop("node"), graph.pop("edge", [])
    for kind, items, ends in (("node", nodes, ("id",)), ("edge", links, ("source", "target"))):
        for number, item in enumerate(items):
            if not isinstance(item, dict) or any(isinstance(item.get(end), dict) for end in ends):
                raise InvalidInputError(
                    f"{place}, {kind} {number} should be a list in square brackets, with a number "
                    f"for {' and '.join(ends)}"
                )
    found = {"graph": graph, "nodes": nodes, "links": links, "directed": graph.get("directed")}
    names = [node.get("label") for node in nodes]  # what networkx and Gephi call nodes
    is_named = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return {**found, "names": names} if is_named else found


def write_gml(graphs: GraphBatch, folder: PathLike, *, stem: str = "graph") -> list[Path]:
    """GML files, one graph each: "label", "attribute_0" and so on, and "weight"."""
    for of_edges, names in ((False, graphs.label_names), (True, graphs.edge_label_names)):
        for name in names:
            if type(name) not in (int, str) and not (type(name) is float and math.isfinite(name)):
                raise InvalidInputError(
                    f"GML cannot hold the label {name!r}; {label_remedy(of_edges)}"
                )

    def write(graph: GraphBatch, path: Path) -> None:
        path.write_text("\n".join(_lines(graph, graphs.is_weighted)), encoding="ascii")

    return write_series(write, graphs, folder, stem, ".gml")


def _lines(graph: GraphBatch, weighted: bool) -> Iterator[str]:
    found = plain_graph(graph)
    yield "graph ["
    for node in range(graph.n_nodes):
        own: dict[str, Any] = {"id": node}
        if found.labels is not None:
            own["label"] = found.labels[node]
        if found.attributes is not None:
            values = enumerate(found.attributes[node])
            own |= {
                f"attribute_{column}": value for column, value in values if not math.isnan(value)
            }
        yield _entry("node", own)
    for edge, (source, target) in enumerate(found.pairs):
        own = {"source": source, "target": target}
        if weighted:
            own["weight"] = found.weights[edge]
        if found.edge_labels is not None:
            own["label"] = found.edge_labels[edge]
        yield _entry("edge", own)
    yield "]\n"


def _entry(key: str, values: dict[str, Any]) -> str:
    return f"  {key} [ {' '.join(f'{name} {_text(value)}' for name, value in values.items())} ]"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return '"' + _UNSAFE.sub(lambda found: f"&#{ord(found[0])};", value) + '"'
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text  # 1e-05 is no real


# From text to dictionaries


def _parsed(path: Path) -> dict[str, Any]:
    try:
        text = unpacked_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not text: {error}") from error
    found: dict[str, Any] = {}
    outer: list[dict[str, Any]] = []
    key, place = "", 0
    while place < len(text):
        token = _TOKEN.match(text, place) or _fail(path, text, place)
        kind = token.lastgroup or ""
        if kind == "key" and not key:
            key = token[0]
        elif kind == "end" and not key and outer:
            found = outer.pop()
        elif kind == "start" and key and len(outer) < _DEEPEST:
            outer.append(found)
            found = _added(found, key, {})
            key = ""
        elif kind in _VALUES and key:
            _added(found, key, _VALUES[kind](token[kind]))
            key = ""
        elif kind != "skip":
            _fail(path, text, place)
        place = token.end()
    if outer or key:
        _fail(path, text, place)
    return found


def _added(found: dict[str, Any], key: str, value: Any) -> Any:
    if key in _MANY:
        found.setdefault(key, []).append(value)
    elif key not in found:
        found[key] = value
    elif isinstance(found[key], list):
        found[key].append(value)
    else:
        found[key] = [found[key], value]
    return value


def _fail(path: Path, text: str, place: int) -> NoReturn:
    line, shown = text.count("\n", 0, place) + 1, text[place : place + 20]
    where = f"at {shown!r}" if shown else "at its end, where something is left open"
    raise InvalidInputError(
        f"{path}, line {line} is not GML {where}; each key has a number, a text in quotes, or a "
        "list in square brackets"
    )


def _unescaped(text: str) -> str:
    return _REFERENCE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    name, number, hexadecimal = found["name"], found["number"], found["hex"]
    code = (
        name2codepoint.get(name, -1) if name else int(number or hexadecimal, 10 if number else 16)
    )
    return chr(code) if 0 <= code < 0x110000 else found[0]


_VALUES: dict[Any, Any] = {"text": _unescaped, "float": float, "int": int}

GML = Format(
    name="gml",
    endings=(".gml",),
    read=_read,
    options=(*NAMED_VALUES, "target_column", "skip_invalid"),
    sniff=lambda sample: _START.match(sample.text) is not None,
    write=lambda dataset, folder: write_gml(dataset.graphs, folder),
    writes_folder=True,
)
