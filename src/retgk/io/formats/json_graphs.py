"""Graphs as JSON: node-link data of networkx, and plain lists of edges; one or many in a file."""

import gzip
import json
import math
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.edge_checks import Symmetrize
from retgk.graphs.missing_values import Missing
from retgk.io.converters.edge_names import EdgeLabelName, EdgeNames
from retgk.io.converters.node_columns import Categorical, NodeColumns
from retgk.io.formats.graph_files import (
    ENDINGS_IN_FOLDER,
    PathLike,
    bare_name,
    is_gzip,
    paths_to_read,
)
from retgk.io.formats.json_forms import GraphReader, NodeLinks, PlainGraphs, is_plain
from retgk.io.formats.text_lines import text_lines, unpacked_bytes
from retgk.io.formats.written_labels import label_remedy
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.parse_budget import ParseBudget
from retgk.runtime.storage import atomic_path

__all__ = ["read_json", "write_json"]

_PER_BYTE = 48  # bytes of memory that values take, and the graphs made of them, for each of text
_PER_BYTE_KEPT = 24  # of one line, whose values are given back
_ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")

Value = tuple[str, Any]
"""A graph as JSON has it, and where it stands."""


def read_json(
    paths: PathLike | Iterable[PathLike],
    *,
    label: Hashable | list[Hashable] | None = None,
    attributes: Hashable | list[Hashable] | None = None,
    categorical: Categorical | None = None,
    weight: Hashable | None = "weight",
    edge_label: EdgeLabelName = None,
    target: str | None = None,
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
    max_bytes: int | None = None,
) -> GraphDataset:
    r"""
    Read graphs from JSON files: one graph, a list of graphs, or one graph per line (JSON lines).

    A graph is an object in one of two forms, the same for all graphs that are read together.

    - Node-link data, as ``networkx.node_link_data`` and D3 have it: "nodes", a list of objects
      with an "id" and what is known of the node, and "links" or "edges", a list of objects with
      "source" and "target". "directed" and "multigraph" are false and true unless they are there.
      What is known of the graph stands in "graph".
    - A plain list of edges: "edges", pairs of nodes that are numbered from 0 (or triples, with a
      weight), each of which stands for both directions, and, all optional, "n_nodes" (needed for
      isolated last nodes), "weights" and "edge_labels" (one for each edge), "labels" (one for each
      node; a list stands for a tuple), "attributes" (one list of numbers, or one number, for each
      node), "target" (of the graph) and "name".

    Parameters
    ----------
    paths : path-like or iterable of path-like
        A file, several files, or a folder whose ``.json`` and ``.jsonl`` files, plain or
        compressed by gzip, are read in order of their names.
    label : hashable or list of hashable, optional
        Node-link data: what is the discrete label of a node; several make one label, a tuple, as
        in `from_networkx`. Plain lists have their labels in "labels".
    attributes : hashable or list of hashable, optional
        Node-link data: what makes up the continuous attributes of a node.
    categorical : hashable, list of hashable, or dict, optional
        Node-link data: what becomes columns of zeros and ones, as in `from_networkx`.
    weight : hashable, optional
        Node-link data: what is the weight of an edge; one without it has weight one. None makes
        all graphs unweighted, with parallel edges too, in both forms.
    edge_label : hashable or list of hashable, optional
        Node-link data: what is the discrete label of an edge, as in `from_networkx`. Plain lists
        have theirs in "edge_labels".
    target : str, optional
        What is the target of a graph, "target" by default.
    symmetrize : bool or {"max", "mean", "sum"}, default=False
        Whether to drop the directions of graphs that say "directed"; otherwise they are an error.
    missing : {"error", "label", "nan", "keep"}, default="error"
        What becomes of missing labels and attributes, as in `from_networkx`; null is missing.
    max_bytes : int, optional
        Limit on the size of each file, unpacked, and on the memory that reading all takes: files
        may come from strangers. By default 4 GiB of text, and as much memory as honest files of
        that size need.

    Returns
    -------
    GraphDataset
        The graphs, in order, with their targets and names where all have one.

    Raises
    ------
    InvalidInputError
        If a file is not JSON, or not graphs; the message says where.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "graphs.jsonl")
    ...     _ = path.write_text('{"edges": [[0, 1], [1, 2]], "labels": ["C", "C", "O"]}\n')
    ...     read_json(path).graphs
    GraphBatch(1 graph, 3 nodes, 2 edges, 2 labels)
    """
    files = paths_to_read(paths, *ENDINGS_IN_FOLDER["json"])
    budget = ParseBudget.of_files("", files, max_bytes)
    columns = NodeColumns.of(label, attributes, categorical, missing)
    names = EdgeNames.of(edge_label, missing)
    try:
        reader = _gathered(files, budget, (columns, names, weight, target, symmetrize))
        graphs = reader.batch(attributes)
    except RecursionError as error:
        raise InvalidInputError(f"{budget.source} holds values nested too deeply") from error
    name = bare_name(Path(paths) if isinstance(paths, str | Path) else files[0])
    return GraphDataset(graphs, reader.targets(), name, graph_names=reader.graph_names())


def _gathered(files: list[Path], budget: ParseBudget, options: tuple[Any, ...]) -> GraphReader:
    """Read all graphs, which must be of one form."""
    reader: GraphReader | None = None
    for place, value in _values(files, budget):
        if not isinstance(value, dict):
            raise InvalidInputError(f"{place} is not a graph: {_kind(value)} instead of an object")
        form = PlainGraphs if is_plain(value) else NodeLinks
        if reader is None:
            reader = form(*options)
        elif not isinstance(reader, form):
            raise InvalidInputError(
                f"{place} is in another form than the graphs before it; give all as node-link "
                "data or all as plain edges"
            )
        reader.add(place, value)
    if reader is None:
        raise InvalidInputError(f"{files[0]} holds no graphs")
    return reader


def write_json(data: GraphDataset | GraphBatch, path: PathLike) -> Path:
    r"""
    Write graphs to a JSON file, as plain lists of edges (see `read_json`), without loss.

    Every edge is listed once. Labels of nodes and edges, attributes, weights, targets and names are
    written where there are any; null stands for a missing label or attribute, which `read_json`
    needs to be told with `missing`.

    Parameters
    ----------
    data : GraphDataset or GraphBatch
        What to write; labels must be text, numbers, truth values, None, or tuples of these.
    path : path-like
        A name that ends in ``.json``, for one list of graphs, or in ``.jsonl``, for one graph per
        line; ``.gz`` after it compresses the file. One that is there is replaced when all is
        written.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from retgk import GraphBatch, write_json
    >>> edge = GraphBatch.from_edges(2, [[0, 1]], labels=["C", "N"], symmetrize=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_json(edge, f"{folder}/edge.jsonl").read_text()
    '{"n_nodes": 2, "edges": [[0, 1]], "labels": ["C", "N"]}\n'
    """
    output = Path(path)
    if not output.name.lower().endswith(_ENDINGS):
        raise InvalidInputError(f"{output} should end in {', '.join(_ENDINGS)}")
    dataset = data if isinstance(data, GraphDataset) else GraphDataset(data, None, "")
    for name in dataset.label_names:
        _check_label(name)
    for name in dataset.graphs.edge_label_names:
        _check_label(name, of_edges=True)
    lines = ".jsonl" in output.name.lower()
    start, between, end = ("", "\n", "\n") if lines else ("[", ",\n", "]\n")
    with atomic_path(output) as part, _text_stream(part, output) as stream:
        stream.write(start)
        for number, text in enumerate(_graph_texts(dataset)):
            stream.write(between * (number > 0) + text)
        stream.write(end)
    return output


def _text_stream(part: Path, output: Path) -> IO[str]:
    if output.suffix.lower() == ".gz":
        return gzip.open(part, "wt", encoding="utf-8")
    return part.open("w", encoding="utf-8")


def _graph_texts(dataset: GraphDataset) -> Iterator[str]:
    graphs = dataset.graphs
    for number, graph in enumerate(graphs):
        rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
        once = rows <= graph.indices
        record: dict[str, Any] = {
            "n_nodes": graph.n_nodes,
            "edges": np.stack([rows[once], graph.indices[once]], axis=1).tolist(),
        }
        if graphs.is_weighted:
            record["weights"] = graph.weights[once].tolist()
        if graphs.has_edge_labels:
            names, codes = graph.edge_label_names, graph.edge_labels[once].tolist()
            record["edge_labels"] = [names[code] for code in codes]
        if graphs.has_labels:
            record["labels"] = [graph.label_names[code] for code in graph.labels.tolist()]
        if graphs.n_attributes:
            record["attributes"] = _plain_rows(graph.attributes)
        if dataset.targets is not None:
            record["target"] = _plain_target(dataset.targets[number].tolist())
        if dataset.graph_names is not None:
            record["name"] = dataset.graph_names[number]
        yield json.dumps(record, ensure_ascii=False, allow_nan=False)


def _plain_rows(attributes: Floats) -> list[Any]:
    """Rows of numbers, null where one is missing."""
    rows = attributes.astype(object)
    rows[np.isnan(attributes)] = None
    return list(rows.tolist())


def _plain_target(target: Any) -> Any:
    return None if isinstance(target, float) and not math.isfinite(target) else target


def _check_label(label: Any, whole: Any = None, of_edges: bool = False) -> None:
    """Refuse labels that would come back as something else."""
    whole = label if whole is None else whole
    if type(label) is tuple:
        for part in label:
            _check_label(part, whole, of_edges)
    elif not (label is None or type(label) in (str, bool, int, float)) or (
        type(label) is float and not math.isfinite(label)
    ):
        raise InvalidInputError(
            f"JSON cannot hold the label {whole!r}", label_remedy(of_edges, or_else="")
        )


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else f"the value {str(value)[:40]}"


# From files to values


def _values(files: list[Path], budget: ParseBudget) -> Iterator[Value]:
    for path in files:
        budget.source = path
        if ".jsonl" in path.name.lower():
            yield from _values_of_lines(path, budget)
        else:
            yield from _values_of_file(path, budget)


def _values_of_lines(path: Path, budget: ParseBudget) -> Iterator[Value]:
    for number, line in text_lines(path, budget):
        if line.strip():
            budget.check(_PER_BYTE * len(line), f"line {number}")
            budget.charge(_PER_BYTE_KEPT * len(line), f"line {number}")
            yield f"{path}, line {number}", _parsed(line, f"{path}, line {number}")


def _values_of_file(path: Path, budget: ParseBudget) -> Iterator[Value]:
    """Read one value, whose parts are graphs if it is a list; or else one value per line."""
    if path.suffix.lower() == ".gz" and not is_gzip(path):
        raise InvalidInputError(f"{path} is damaged: Not a gzipped file; fetch it again")
    data = unpacked_bytes(path, budget, _PER_BYTE)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not text: {error}") from error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) > 1 and lines[0][1].strip().endswith("}") and lines[1][1].lstrip()[0] == "{":
        for number, line in lines:
            yield f"{path}, line {number}", _parsed(line, f"{path}, line {number}")
        return
    value = _parsed(text, str(path))
    if isinstance(value, dict) and isinstance(value.get("graphs"), list):
        value = value["graphs"]
    if isinstance(value, list):
        yield from ((f"{path}, graph {number}", part) for number, part in enumerate(value))
    else:
        yield str(path), value


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{place}, line {error.lineno}" if "\n" in text.strip() else place
        raise InvalidInputError(
            f"{where}, column {error.colno} is not JSON: {error.msg}"
        ) from error
    except (ValueError, MemoryError) as error:  # such as a number of too many digits
        raise InvalidInputError(f"{place} cannot be read: {error}") from error
