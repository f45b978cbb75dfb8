"""Reader of collections in the text form of the TUDataset benchmarks."""

import difflib
import re
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError, warn_of
from retgk.graphs.adjacency import Adjacency
from retgk.graphs.batch import GraphBatch, flat_arrays, trusted_batch
from retgk.graphs.edge_labels import EdgeLabels
from retgk.graphs.labels import encode_labels
from retgk.graphs.ragged import first_of_run
from retgk.graphs.slicing import FlatGraphs
from retgk.graphs.validation import checked_attributes, checked_labels
from retgk.io.formats.archive import Member, open_members
from retgk.io.formats.edge_files import (
    EdgeFile,
    EdgesOutOfOrderError,
    adjacency_of_blocks,
    entries_of_edges,
)
from retgk.io.formats.parsed_copies import ReadOptions
from retgk.io.formats.text_columns import read_floats, read_integers
from retgk.io.graph_dataset import GraphDataset

__all__ = ["read_tudataset"]


_KINDS = (
    "A",
    "graph_indicator",
    "graph_labels",
    "graph_attributes",
    "node_labels",
    "node_attributes",
    "edge_labels",
    "edge_attributes",
)
_DOCUMENT = re.compile(r"^[._]|readme|source|licen[cs]e|citation|\.(md|pdf|html?|bib)$", re.I)
_MOST_NOTES = 20

# Bytes of memory.
_PER_TUPLE, _PER_OBJECT = 160, 48
_PER_SORTED_EDGE = 64


class _Files(NamedTuple):
    """The files of one collection; `get` and `require` find them by the end of their names."""

    name: str
    source: Path
    members: dict[str, Member]

    def get(self, kind: str) -> Member | None:
        return self.members.get(f"{self.name}_{kind}.txt")

    def require(self, kind: str) -> Member:
        member = self.get(kind)
        if member is None:
            others = ", ".join(sorted(self.members)[:5]) or "nothing"
            raise InvalidInputError(
                f"{self.source} has no {self.name}_{kind}.txt; it holds {others}"
            )
        return member


def read_tudataset(
    source: Path, name: str | None, options: ReadOptions, max_bytes: int | None
) -> tuple[GraphDataset, list[str]]:
    """
    Read a zip archive or folder; without a name, that of its one file ``NAME_A.txt``.

    Files that it holds beside those of a collection may be misspelt ones: there is a warning for
    each, which is also returned.
    """
    with open_members(source, max_bytes) as members:
        files = _Files(name or _only_name(members, source), source, members)
        node_ptr = _node_ptr(files.require("graph_indicator"))
        targets = _targets(files, len(node_ptr) - 1)
        labels = _node_labels(files, node_ptr)
        attributes = _node_attributes(files, node_ptr)
        adjacency, edge_labels = _adjacency(files, node_ptr, options)
    codes, names = checked_labels(labels, node_ptr)
    values = checked_attributes(attributes, node_ptr)
    arrays = FlatGraphs(node_ptr, adjacency, codes, names, values, edge_labels=edge_labels)
    notes = _notes_of_unread(files)
    warn_of(notes)
    description = _description(files, options)
    return GraphDataset(trusted_batch(arrays), targets, files.name, description), notes


def _notes_of_unread(files: _Files) -> list[str]:
    """Say which files were not read, and what they may have been meant as."""
    others = [name.removesuffix("_A.txt") for name in files.members if name.endswith("_A.txt")]
    known = {f"{name}_{kind}.txt" for name in {files.name, *others} for kind in _KINDS}
    own = {f"{files.name}_{kind}.txt".lower(): f"{files.name}_{kind}.txt" for kind in _KINDS}
    notes = []
    for name in sorted(files.members.keys() - known):
        if _DOCUMENT.search(name):
            continue
        nearest = difflib.get_close_matches(name.lower(), own, n=1, cutoff=0.0)
        hint = f"if it is meant as {own[nearest[0]]}, rename it, or else take it out"
        notes.append(f"{files.source}: {ascii(name)[1:-1]} was not read; {hint}")
    return notes[:_MOST_NOTES]


def _only_name(members: dict[str, Member], source: Path) -> str:
    """Name of the collection in an archive or folder."""
    names = [name.removesuffix("_A.txt") for name in members if name.endswith("_A.txt")]
    if len(names) != 1:
        raise InvalidInputError(
            f"{source} holds {len(names)} files NAME_A.txt; a TU collection has one"
        )
    return names[0]


def _node_ptr(member: Member) -> Ints:
    """Find the first node of every graph from the graph of every node."""
    graph_of_node = _one_column(read_integers(member), member)
    steps = np.diff(graph_of_node, prepend=0)
    if len(steps) == 0 or steps[0] < 1:
        found = "nothing" if len(steps) == 0 else f"graph {graph_of_node[0]}"
        raise InvalidInputError(f"{member.name} starts with {found}; graphs count from 1")
    if (steps < 0).any():
        line = int(np.flatnonzero(steps < 0)[0])
        raise InvalidInputError(
            f"{member.name}, line {line + 1}: graph {graph_of_node[line]} comes after graph "
            f"{graph_of_node[line - 1]}; graphs count from 1 and their nodes are listed in order"
        )
    if (steps > 1).any():
        line = int(np.flatnonzero(steps > 1)[0])
        raise InvalidInputError(
            f"{member.name}, line {line + 1}: graph {graph_of_node[line] - 1} has no nodes; drop "
            "it together with its target"
        )
    return np.append(np.flatnonzero(steps), len(steps))


def _one_column(columns: Ints, member: Member) -> Ints:
    if len(columns) != 1:
        raise InvalidInputError(
            f"{member.name}, line 1: expected 1 integer, got {len(columns)} columns; give every "
            "distinct row a number of its own"
        )
    return columns.reshape(-1)


def _check_count(n_lines: int, member: Member, n_expected: int, what: str, where: Member) -> None:
    if n_lines != n_expected:
        raise InvalidInputError(
            f"{member.name} has {n_lines} lines, but there are {n_expected} {what} in {where.name}"
        )


def _targets(files: _Files, n_graphs: int) -> NDArray[Any]:
    """Read classes, or values to regress on, of which a graph may have several."""
    values: NDArray[Any]
    member = files.get("graph_attributes")
    if member is None or files.get("graph_labels") is not None:
        member = files.require("graph_labels")
        values = _one_column(read_integers(member), member)
    else:
        values = read_floats(member)
        values = values[:, 0] if values.shape[1] == 1 else values
    _check_count(len(values), member, n_graphs, "graphs", files.require("graph_indicator"))
    return np.ascontiguousarray(values)


def _node_labels(files: _Files, node_ptr: Ints) -> Any:
    member = files.get("node_labels")
    if member is None:
        return None
    columns = read_integers(member)
    indicator = files.require("graph_indicator")
    _check_count(columns.shape[1], member, int(node_ptr[-1]), "nodes", indicator)
    if len(columns) == 1:
        return columns[0]
    member.budget.charge(_PER_TUPLE * columns.shape[1] + _PER_OBJECT * columns.size, member.name)
    return [tuple(row) for row in columns.T.tolist()]


def _node_attributes(files: _Files, node_ptr: Ints) -> Floats | None:
    member = files.get("node_attributes")
    if member is None:
        return None
    values = read_floats(member)
    _check_count(len(values), member, int(node_ptr[-1]), "nodes", files.require("graph_indicator"))
    return values


def _adjacency(
    files: _Files, node_ptr: Ints, options: ReadOptions
) -> tuple[Adjacency, EdgeLabels | None]:
    """Read adjacency and edge labels; hold all edges in memory only where that is needed."""
    file = EdgeFile(files.require("A"))
    if options.symmetrize in ("mean", "sum") and options.weight_column is None:
        raise InvalidInputError(
            f"symmetrize={options.symmetrize!r} is for weights, and none are read; give "
            "weight_column, or symmetrize=True"
        )
    if files.get("edge_labels") is None and options.weight_column is None:
        with suppress(EdgesOutOfOrderError), closing(file.blocks()) as blocks:
            return adjacency_of_blocks(blocks, node_ptr, file, bool(options.symmetrize)), None
        # Not grouped by graph, which is rare: read again, and sort.
    edges = _all_edges(file)
    # Stable, so that messages name the first line; ends out of range are reported below.
    first_nodes = first_of_run(node_ptr).take(edges[0] - 1, mode="clip")
    order = np.argsort(first_nodes, kind="stable")
    sorted_file = file._replace(order=order)
    by_graph = edges.take(order, axis=1)  # in rows, as compiled code has it from files in order
    adjacency = adjacency_of_blocks([by_graph], node_ptr, sorted_file, bool(options.symmetrize))
    labels = _edge_labels(files, edges.shape[1])
    by_entry = (
        None if labels is None else _labels_by_entry(files, edges, node_ptr, adjacency, labels)
    )
    if options.weight_column is None:
        return adjacency, by_entry
    weights = _edge_weights(files, edges.shape[1], options.weight_column)
    both = options.symmetrize
    weighted = flat_arrays(
        GraphBatch.from_edges(
            np.diff(node_ptr), edges.T - 1, weights, edge_labels=labels, symmetrize=both
        )
    )
    return weighted.adjacency, weighted.edge_labels


def _all_edges(file: EdgeFile) -> Codes:
    """Read all edges, and pay for them and what sorting and labelling them takes."""
    held, budget = [np.empty((2, 0), np.int32)], file.member.budget
    with closing(file.blocks()) as blocks:
        for block in blocks:
            budget.charge(_PER_SORTED_EDGE * block.shape[1], f"{file.member.name}, its edges")
            held.append(block)
    return np.concatenate(held, axis=1)


def _edge_labels(files: _Files, n_edges: int) -> EdgeLabels | None:
    """Read the labels of edges, in the order of the lines."""
    member = files.get("edge_labels")
    if member is None:
        return None
    labels = _one_column(read_integers(member), member)
    _check_count(len(labels), member, n_edges, "edges", files.require("A"))
    return EdgeLabels(*encode_labels(labels))


def _labels_by_entry(
    files: _Files, edges: Codes, node_ptr: Ints, adjacency: Adjacency, labels: EdgeLabels
) -> EdgeLabels:
    """Bring labels into the order of the adjacency; an edge has one, in both directions."""
    by_entry = np.full(len(adjacency.indices), -1, np.int32)
    entries = entries_of_edges(edges, node_ptr, adjacency)
    by_entry[entries] = labels.codes
    if (by_entry < 0).any():  # edges that are listed in one direction
        by_entry[entries_of_edges(edges[::-1], node_ptr, adjacency)] = labels.codes
        by_entry[entries] = labels.codes
    differs = by_entry[entries] != labels.codes
    if not differs.any():
        columns = adjacency.indices + np.repeat(first_of_run(node_ptr), np.diff(adjacency.indptr))
        back = np.argsort(columns, kind="stable")  # the transposed matrix is the same
        differs = (by_entry != by_entry[back])[entries]
    if differs.any():
        raise _two_labels_error(files, edges, labels, int(np.argmax(differs)))
    return EdgeLabels(by_entry, labels.names)


def _two_labels_error(
    files: _Files, edges: Codes, labels: EdgeLabels, edge: int
) -> InvalidInputError:
    """Make the error for an edge whose label is another one where it is listed again."""
    ends = np.sort(edges[:, edge])
    same = np.flatnonzero((np.sort(edges, axis=0) == ends[:, None]).all(axis=0))
    line = int(same[np.argmax(labels.codes[same] != labels.codes[same[0]])])
    first, name = int(same[0]), files.require("edge_labels").name
    is_back = bool((edges[:, first] != edges[:, line]).any())
    return InvalidInputError(
        f"{name}, line {line + 1}: the edge from node {edges[0, line]} to node {edges[1, line]} "
        f"{'is listed the other way' if is_back else 'is listed again,'} with another label than "
        f"in line {first + 1}; "
        + (f"give both the same, or take {Path(name).name} out" if is_back else "list it once")
    )


def _edge_weights(files: _Files, n_edges: int, column: int) -> Floats:
    member = files.require("edge_attributes")
    values = read_floats(member)
    _check_count(len(values), member, n_edges, "edges", files.require("A"))
    if not 0 <= column < values.shape[1]:
        raise InvalidInputError(
            f"{member.name} has {values.shape[1]} columns, so weight_column={column} is out of "
            "range; columns count from 0"
        )
    return values[:, column]


def _description(files: _Files, options: ReadOptions) -> str:
    parts = [f"{files.name}, read from {files.source.name} in TUDataset form."]
    if files.get("edge_attributes") and options.weight_column is None:
        parts.append("Its edge attributes were not read.")
    if files.get("graph_attributes") and files.get("graph_labels"):
        parts.append("Its graph attributes were not read.")
    return " ".join(parts)
