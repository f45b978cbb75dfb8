"""Collections in the text form of the TUDataset benchmarks: read, written, fetched by name."""

import difflib
import re
import zipfile
from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.files import (
    ZIP_DAMAGE,
    atomic_path,
    file_digest,
    member_problem,
    unpacked_size,
)
from retgk._runtime.parallel import progress_bar
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError, warn_of
from retgk.graphs.batch import FlatGraphs, GraphBatch, trusted_batch
from retgk.graphs.edges import Adjacency, EdgeLabels, Negative, Symmetrize
from retgk.graphs.flat import (
    checked_attributes,
    checked_labels,
    encode_labels,
    first_of_run,
    graph_of,
    offsets,
)
from retgk.io.cache import ReadOptions, with_options
from retgk.io.dataset import LEAVE_OUT, GraphDataset, rows_without
from retgk.io.formats import Format, label_remedy
from retgk.io.tables import Member, integer_blocks, read_floats, read_integers

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
    source: Path, name: str | None, options: ReadOptions
) -> tuple[GraphDataset, list[str]]:
    """Read a zip archive or folder, and give the warnings about files that were not read."""
    with open_members(source) as members:
        files = _Files(name or _only_name(members, source), source, members)
        node_ptr, present = _node_ptr(files.require("graph_indicator"), options.skip_invalid)
        targets = _targets(files, len(node_ptr) - 1, present)
        labels = _node_labels(files, node_ptr)
        attributes = _node_attributes(files, node_ptr)
        graphs = _graphs(files, (node_ptr, labels, attributes), options)
    notes = _notes_of_unread(files, options)
    warn_of(notes)
    description = _description(files)
    rows = None
    if present is not None:
        empty = np.delete(np.arange(len(targets)), present).tolist()
        rows, targets = rows_without(empty, len(targets), files.source), targets[present]
    return GraphDataset(graphs, targets, files.name, description, rows=rows), notes


def _notes_of_unread(files: _Files, options: ReadOptions) -> list[str]:
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
    if files.get("edge_attributes") and options.weight_column is None:
        notes.insert(
            0,
            f"{files.source}: {files.name}_edge_attributes.txt is not used; "
            "weight_column=0 reads its first column as weights",
        )
    return notes[:_MOST_NOTES]


def _only_name(members: dict[str, Member], source: Path) -> str:
    names = [name.removesuffix("_A.txt") for name in members if name.endswith("_A.txt")]
    if len(names) != 1:
        raise InvalidInputError(
            f"{source} holds {len(names)} files NAME_A.txt; a TU collection has one"
        )
    return names[0]


def _node_ptr(member: Member, skip_invalid: bool) -> tuple[Ints, Ints | None]:
    """First node of every graph; numbers of those that have some, where others may be skipped."""
    graph_of_node = _one_column(read_integers(member), member)
    steps = np.diff(graph_of_node, prepend=0)
    if len(steps) == 0 or (graph_of_node[0] < 1):
        found = "nothing" if len(steps) == 0 else f"graph {graph_of_node[0]}"
        raise InvalidInputError(f"{member.name} starts with {found}; graphs count from 1")
    if (steps < 0).any():
        line = int(np.flatnonzero(steps < 0)[0])
        raise InvalidInputError(
            f"{member.name}, line {line + 1}: graph {graph_of_node[line]} comes after graph "
            f"{graph_of_node[line - 1]}; graphs count from 1 and their nodes are listed in order"
        )
    if (steps > 1).any() and not skip_invalid:
        line = int(np.flatnonzero(steps > 1)[0])
        raise InvalidInputError(
            f"{member.name}, line {line + 1}: graph {graph_of_node[line] - 1} has no nodes; drop "
            f"it together with its target; {LEAVE_OUT}"
        )
    starts = np.flatnonzero(steps)
    return np.append(starts, len(steps)), graph_of_node[starts] - 1 if skip_invalid else None


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


def _targets(files: _Files, n_graphs: int, present: Ints | None) -> NDArray[Any]:
    values: NDArray[Any]
    member = files.get("graph_attributes")
    if member is None or files.get("graph_labels") is not None:
        member = files.require("graph_labels")
        values = _one_column(read_integers(member), member)
    else:
        values = read_floats(member)
        values = values[:, 0] if values.shape[1] == 1 else values
    if present is None or len(values) <= present[-1]:
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
    return [tuple(row) for row in columns.T.tolist()]


def _node_attributes(files: _Files, node_ptr: Ints) -> Floats | None:
    member = files.get("node_attributes")
    if member is None:
        return None
    values = read_floats(member)
    _check_count(len(values), member, int(node_ptr[-1]), "nodes", files.require("graph_indicator"))
    return values


def _graphs(files: _Files, nodes: tuple[Ints, Any, Any], options: ReadOptions) -> GraphBatch:
    node_ptr, labels, attributes = nodes
    if options.weight_column is not None:
        return _weighted_graphs(files, nodes, options)
    adjacency, edge_labels = _adjacency(files, node_ptr, options)
    codes, names = checked_labels(labels, node_ptr)
    values = checked_attributes(attributes, node_ptr)
    return trusted_batch(FlatGraphs(node_ptr, adjacency, codes, names, values, None, edge_labels))


def _weighted_graphs(
    files: _Files, nodes: tuple[Ints, Any, Any], options: ReadOptions
) -> GraphBatch:
    node_ptr, labels, attributes = nodes
    _adjacency(files, node_ptr, options)  # whose errors name lines
    assert options.weight_column is not None
    with closing(EdgeFile(files.require("A")).blocks()) as blocks:
        edges = np.concatenate([np.empty((2, 0), np.int32), *blocks], axis=1)
    return GraphBatch.from_edges(
        np.diff(node_ptr),
        edges.T - 1,
        _edge_weights(files, edges.shape[1], options.weight_column),
        labels=labels,
        attributes=attributes,
        edge_labels=_edge_labels(files, edges.shape[1]),
        negative=options.negative,
        symmetrize=options.symmetrize,
    )


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
    if files.get("edge_labels") is None:
        with suppress(EdgesOutOfOrderError), closing(file.blocks()) as blocks:
            return adjacency_of_blocks(blocks, node_ptr, file, bool(options.symmetrize)), None
        # Not grouped by graph, which is rare: read again, and sort.
    with closing(file.blocks()) as blocks:
        edges = np.concatenate([np.empty((2, 0), np.int32), *blocks], axis=1)
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
    return adjacency, by_entry


def _edge_labels(files: _Files, n_edges: int) -> EdgeLabels | None:
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


def _description(files: _Files) -> str:
    parts = [f"{files.name}, read from {files.source.name} in TUDataset form."]
    if files.get("graph_attributes") and files.get("graph_labels"):
        parts.append("Its graph attributes were not read.")
    return " ".join(parts)


# Files in a zip archive or a folder, read as streams and never unpacked


@contextmanager
def open_members(source: Path) -> Iterator[dict[str, Member]]:
    """Open the files of a zip archive or a folder, by name; nothing is unpacked to disk."""
    if source.is_dir():
        members = [
            (path.name, Member(str(path), path.stat().st_size, partial(FileIO, path)))
            for path in _folder_files(source)
        ]
        yield _by_file_name(members, source)
        return
    try:
        archive = zipfile.ZipFile(source)
    except ZIP_DAMAGE as error:
        raise InvalidInputError(
            f"{source} is not a whole zip archive: {error}; fetch it again"
        ) from error
    with archive:
        yield _by_file_name(_archive_members(archive, source), source)


def _by_file_name(members: list[tuple[str, Member]], source: Path) -> dict[str, Member]:
    found: dict[str, Member] = {}
    for file_name, member in members:
        other = found.setdefault(file_name, member)
        if other is not member:
            raise InvalidInputError(
                f"{source} holds two files of the same name, {other.name} and {member.name}; "
                "remove one"
            )
    return found


def _folder_files(folder: Path) -> list[Path]:
    """Text files directly in a folder; a link may lead to it, but none may lead out of it."""
    texts = [path for path in sorted(folder.iterdir()) if path.suffix.lower() == ".txt"]
    for path in texts:
        if path.is_symlink():
            raise InvalidInputError(f"{path} is a link; put the file itself in its place")
    return [path for path in texts if path.is_file()]


def _archive_members(archive: zipfile.ZipFile, source: Path) -> list[tuple[str, Member]]:
    members = []
    for info in archive.infolist():
        problem = member_problem(info)
        if problem is not None:
            raise InvalidInputError(
                f"{source}: the member {info.orig_filename!r} {problem}; a data set holds plain "
                "text files only"
            )
        if not info.is_dir():
            name = f"{source}/{info.filename}"
            member = Member(name, info.file_size, partial(archive.open, info))
            members.append((info.filename.rsplit("/", 1)[-1], member))
    return members


# Adjacency from the edge file, built while the file is being read

BLOCK_EDGES = 1 << 17


class EdgesOutOfOrderError(Exception):
    """The edges of a file are not grouped by graph; they must be held and sorted first."""


class EdgeFile(NamedTuple):
    """A file of edges; `order` sorts its lines by graph where they are not."""

    member: Member
    order: Ints | None = None

    def blocks(self) -> Generator[Codes, None, None]:
        """Read source and target of every line, from 1 on, in pieces of shape (2, n_lines)."""
        return integer_blocks(self.member, 2, np.int32)

    def place(self, edge: int) -> str:
        return f"{self.member.name}, line {1 + (edge if self.order is None else self.order[edge])}"


def adjacency_of_blocks(
    blocks: Iterable[Codes], node_ptr: Ints, file: EdgeFile, symmetrize: bool
) -> Adjacency:
    """Adjacency of blocks of shape (2, n), nodes counted from 1; a repeated edge counts once."""
    # Memory that is never written costs nothing; the shortest line has four bytes.
    most_lines = (file.member.size + 1) // 4
    columns = np.empty(most_lines * (1 + symmetrize), np.int32)
    lengths = np.zeros(int(node_ptr[-1]), np.int64)
    n_written = 0
    n_edges = 0
    for edges, first, last in _graph_blocks(blocks, node_ptr, file):
        nodes = node_ptr[first : last + 1]
        results = (columns[n_written:], lengths[nodes[0] : nodes[-1]])
        source, target, n_new = _core.write_neighbours(
            edges[0], edges[1], symmetrize, nodes, *results
        )
        if source >= 0:
            lonely = np.array([[source], [target]]) + nodes[0] + 1
            edge = int(np.flatnonzero((edges == lonely).all(axis=0))[0])
            raise InvalidInputError(
                f"{file.place(n_edges + edge)}: the edge from node {edges[0, edge]} to node "
                f"{edges[1, edge]} has none back; pass symmetrize=True to drop the directions, or "
                "if each edge is listed once"
            )
        n_written += n_new
        n_edges += edges.shape[1]
    indptr = offsets(lengths)
    return Adjacency(indptr, columns[:n_written], None)


def entries_of_edges(edges: Codes, node_ptr: Ints, adjacency: Adjacency) -> Ints:
    entries = np.empty(edges.shape[1], np.int64)
    arrays = (first_of_run(node_ptr), adjacency.indptr, adjacency.indices, entries)
    _core.entries_of_edges(edges[0], edges[1], *arrays)
    return entries


def _graph_blocks(
    blocks: Iterable[Codes], node_ptr: Ints, file: EdgeFile
) -> Iterator[tuple[Codes, int, int]]:
    """Group edges into runs of complete graphs, with the first graph and the one after the last."""
    held = [np.empty((2, 0), np.int32)]
    n_edges = n_held = began = first = graph = 0
    for block in blocks:
        bad, graph, start = _core.first_misplaced_edge(block[0], block[1], graph, node_ptr)
        if bad >= 0:
            raise _misplaced_error(block[:, bad], node_ptr, file.place(n_edges + bad))
        began = n_held + start if start >= 0 else began
        held.append(block)
        n_held += block.shape[1]
        n_edges += block.shape[1]
        if n_held >= BLOCK_EDGES and began > 0:
            edges = np.concatenate(held, axis=1)
            yield edges[:, :began], first, graph
            held, n_held, first, began = [edges[:, began:]], n_held - began, graph, 0
    yield np.concatenate(held, axis=1), first, len(node_ptr) - 1


def _misplaced_error(edge: Codes, node_ptr: Ints, place: str) -> Exception:
    n_nodes = int(node_ptr[-1])
    source, target = (int(end) for end in edge)
    for node in (source, target):
        if not 1 <= node <= n_nodes:
            return InvalidInputError(
                f"{place}: node {node} is out of range for {n_nodes} nodes, which count from 1"
            )
    graphs = [graph_of(node_ptr, node - 1) + 1 for node in (source, target)]
    if graphs[0] != graphs[1]:
        return InvalidInputError(
            f"{place}: the edge joins node {source} of graph {graphs[0]} with node {target} of "
            f"graph {graphs[1]}; an edge stays within one graph"
        )
    return EdgesOutOfOrderError(place)


# Writer of collections in the text form of the TUDataset benchmarks

_BLOCK_GRAPHS = 256
_BLOCK_ROWS = 1 << 13
_LARGEST = 10**18 - 1


def write_archive(dataset: GraphDataset, path: Path) -> None:
    files = dict(_files(dataset))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for kind, blocks in files.items():
            member = f"{dataset.name}/{dataset.name}_{kind}.txt"
            with archive.open(member, "w", force_zip64=True) as stream:
                _write_blocks(blocks, stream)


def write_folder(dataset: GraphDataset, folder: Path) -> None:
    """Write the same files into a folder that is there; equal collections give equal bytes."""
    files = dict(_files(dataset))
    n_attributes = dataset.graphs.n_nodes * dataset.graphs.n_attributes
    with progress_bar("writing", n_attributes) as advance:
        for kind, blocks in files.items():
            with (folder / f"{dataset.name}_{kind}.txt").open("wb") as stream:
                for block in blocks:
                    _write_blocks([block], stream)
                    advance(block.size if kind == "node_attributes" else 0)


def _files(dataset: GraphDataset) -> Iterator[tuple[str, Iterable[NDArray[Any]]]]:
    graphs = dataset.graphs
    yield "A", _edges(graphs)
    yield "graph_indicator", [np.repeat(np.arange(1, len(graphs) + 1), graphs.node_counts)]
    if dataset.targets is None:
        raise InvalidInputError(
            f"{dataset.name} has no targets, which TUDataset files need; give each graph one, or "
            "use write_parquet"
        )
    targets = dataset.targets
    if targets.dtype.kind in "biu" and targets.ndim == 1:
        yield "graph_labels", [_checked_integers(targets, "targets")]
    elif targets.dtype.kind == "f":
        yield "graph_attributes", [targets.astype(np.float64)]
    else:
        raise InvalidInputError(
            f"the targets are {targets.dtype} of shape {targets.shape}, but TUDataset files hold "
            "numbers, one integer per graph for classes; number the classes, or write Parquet"
        )
    if graphs.has_labels:
        yield "node_labels", [_integer_names(graphs.label_names, "labels")[graphs.labels]]
    if graphs.n_attributes:
        # some rows at a time, since columns are copied on their way to text
        starts = range(0, graphs.n_nodes, _BLOCK_ROWS)
        blocks = (graphs.attributes[first : first + _BLOCK_ROWS] for first in starts)
        yield "node_attributes", blocks
    if graphs.has_edge_labels:
        names = _integer_names(graphs.edge_label_names, "edge labels").astype(np.int64)
        yield "edge_labels", [names[graphs.edge_labels]]
    if graphs.is_weighted:
        yield "edge_attributes", [graphs.weights]


def _integer_names(vocabulary: Sequence[Hashable], what: str) -> Ints:
    """Names of labels as an array; those of edges are single numbers, as the reader has it."""
    try:
        names = np.array(vocabulary, None if vocabulary else np.int64)
    except ValueError:  # tuples of different lengths
        names = np.array([], dtype=object)
    of_edges = what == "edge labels"
    if names.dtype.kind not in "biu" or (of_edges and names.ndim != 1):
        raise InvalidInputError(
            f"TUDataset files hold integer {what}, got {vocabulary[0]!r}; {label_remedy(of_edges)}"
        )
    return _checked_integers(names, what)


def _checked_integers(values: NDArray[Any], what: str) -> Ints:
    largest = max(-int(values.min()), int(values.max())) if values.size else 0
    if largest > _LARGEST:
        raise InvalidInputError(
            f"the {what} hold {largest}, but integers in TUDataset files have 18 digits at most; "
            "number them anew, or write Parquet"
        )
    return values.astype(np.int64)


def _edges(graphs: GraphBatch) -> Iterator[Ints]:
    for first in range(0, len(graphs), _BLOCK_GRAPHS):
        part = graphs[first : first + _BLOCK_GRAPHS]
        rows = part.edge_rows
        columns = part.indices + first_of_run(part.node_ptr)[rows]
        yield np.stack([rows, columns], axis=1) + (1 + graphs.node_ptr[first])


def _write_blocks(blocks: Iterable[NDArray[Any]], stream: Any) -> None:
    for block in blocks:
        if len(block):  # one text of all lists is quicker than one of each row
            rows = repr(block.reshape(len(block), -1).tolist())
            stream.write(rows[2:-2].replace("], [", "\n").encode() + b"\n")


# Archives with a checksum beside them


def save_archive(dataset: GraphDataset, target: Path) -> None:
    check_name(dataset.name)
    with atomic_path(target) as part:
        write_archive(dataset, part)
        forget_checksum(target)  # of what is replaced: a kill must not leave two that differ
    keep_checksum(target, target)


def check_name(name: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.+-]*", name, flags=re.ASCII):
        raise InvalidInputError(
            f"{name!r} is not the name of a data set: letters, digits and any of _ . + - only; "
            "the folder it is in goes to data_home"
        )


def keep_checksum(archive: Path, content: Path) -> None:
    """Write the checksum of an archive beside it; `content` is the file that will become it."""
    with atomic_path(_checksum_file(archive), follow_links=False) as part:
        part.write_text(f"{file_digest(content)}  {archive.name}\n", encoding="utf-8")


def forget_checksum(archive: Path) -> None:
    _checksum_file(archive).unlink(missing_ok=True)


def verify_checksum(archive: Path) -> None:
    beside = _checksum_file(archive)
    if not beside.is_file():
        return
    expected = beside.read_text(encoding="utf-8", errors="replace").split()[:1]
    found = file_digest(archive)
    if expected != [found]:
        raise InvalidInputError(
            f"{archive} has the checksum {found}, but {beside.name} says "
            f"{expected[0] if expected else 'nothing'}; delete the archive to fetch it again, "
            f"or {beside.name} if you changed the archive on purpose"
        )


def _checksum_file(archive: Path) -> Path:
    return archive.with_name(archive.name + ".sha256")


def _read_files(
    files: list[Path],
    *,
    symmetrize: Symmetrize = False,
    weight_column: int | None = None,
    negative: Negative = "error",
    skip_invalid: bool = False,
) -> GraphDataset:
    source = files[0].parent if files[0].name.endswith(_EDGE_FILE) else files[0]
    options = ReadOptions(symmetrize, weight_column, negative, skip_invalid)
    return with_options(read_tudataset(source, None, options)[0], options)


def _size_of(path: Path, most: int) -> int:
    if path.is_file() and not path.name.endswith(_EDGE_FILE):
        return unpacked_size(path, most)
    return sum(file.stat().st_size for file in _folder_files(path.parent))


_EDGE_FILE = "_A.txt"
_ZIP_NAME_BYTES = 300
TU = Format(
    name="tu",
    endings=(".zip",),
    read=_read_files,
    options=("symmetrize", "weight_column", "negative", "skip_invalid"),
    sniff=lambda sample: (
        sample.head.startswith(b"PK") and b".npy" not in sample.head[:_ZIP_NAME_BYTES]
    ),
    write=lambda dataset, path: save_archive(replace(dataset, name=path.stem), path),
    memory_factor=8,
    binary=(".zip", _EDGE_FILE),
    in_folder=((_EDGE_FILE,),),
    size_of=_size_of,
)
