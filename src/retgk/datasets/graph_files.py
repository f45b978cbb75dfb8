"""GraphML and edge-list files through networkx: one graph per file."""

import os
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any

from retgk.batch import GraphBatch
from retgk.datasets.storage import atomic_path
from retgk.errors import InvalidInputError

__all__ = ["read_edge_list", "read_graphml", "write_edge_list", "write_graphml"]

PathLike = str | os.PathLike[str]


def read_graphml(
    paths: PathLike | Iterable[PathLike],
    *,
    label: Hashable | None = None,
    attributes: Any = None,
    weight: Hashable | None = "weight",
    symmetrize: bool = False,
) -> GraphBatch:
    """
    Read GraphML files, one graph each.

    Parameters
    ----------
    paths : path-like or iterable of path-like
        A file, several files, or a folder whose ``*.graphml`` files are read in order of
        their names.
    label : hashable, optional
        Node attribute that is the discrete label.
    attributes : hashable or list of hashable, optional
        Node attributes that make up the continuous attributes.
    weight : hashable, optional
        Edge attribute that is the weight.
    symmetrize : bool, default=False
        Whether to drop the directions of directed graphs; otherwise they are an error.

    Returns
    -------
    GraphBatch
        The graphs, in order of the files.
    """
    nx, converters = _networkx(), _converters()
    graphs = [_read_one(nx.read_graphml, path) for path in _files(paths, ".graphml")]
    batch: GraphBatch = converters.from_networkx(
        graphs, label=label, attributes=attributes, weight=weight, symmetrize=symmetrize
    )
    return batch


def write_graphml(graphs: GraphBatch, folder: PathLike, *, stem: str = "graph") -> list[Path]:
    """
    Write graphs to GraphML files, one graph each.

    Labels become the node attribute ``label``, attributes ``attribute_0``,
    ``attribute_1``, ..., weights the edge attribute ``weight``.

    Parameters
    ----------
    graphs : GraphBatch
        What to write; labels must be numbers, text or truth values.
    folder : path-like
        Where to put the files; it is made if need be.
    stem : str, default="graph"
        Start of the files' names; the number of the graph follows.

    Returns
    -------
    list of Path
        The files, in order of the graphs.
    """
    nx, converters = _networkx(), _converters()
    for name in graphs.label_names:
        if not isinstance(name, str | int | float):
            raise InvalidInputError(
                f"GraphML cannot hold the label {name!r}; number the labels with "
                "with_labels(graphs.labels), or use write_parquet"
            )
    written = converters.to_networkx(graphs)
    for graph in written:
        for _, data in graph.nodes(data=True):
            values = data.pop("attributes", ())
            data.update({f"attribute_{column}": value for column, value in enumerate(values)})
    return _write_all(nx.write_graphml, written, folder, f"{stem}-{{}}.graphml")


def read_edge_list(
    paths: PathLike | Iterable[PathLike],
    *,
    delimiter: str | None = None,
    weighted: bool = False,
) -> GraphBatch:
    """
    Read files of edges, one graph each, one undirected edge per line.

    Parameters
    ----------
    paths : path-like or iterable of path-like
        A file, several files, or a folder whose ``*.edges`` files are read in order of
        their names. Lines that start with ``#`` are comments; files that end in ``.gz``
        are unpacked on the way.
    delimiter : str, optional
        What stands between the columns; white space by default.
    weighted : bool, default=False
        Whether a third column holds the weights. Otherwise more columns are ignored.

    Returns
    -------
    GraphBatch
        The graphs, in order of the files. Nodes that are all called by numbers are put
        in that order, others stay in order of appearance.
    """
    nx, converters = _networkx(), _converters()

    def read(path: Path) -> Any:
        if weighted:
            return nx.read_weighted_edgelist(path, delimiter=delimiter)
        return nx.read_edgelist(path, delimiter=delimiter, data=False)

    graphs = [_in_order(nx, _read_one(read, path)) for path in _files(paths, ".edges")]
    batch: GraphBatch = converters.from_networkx(graphs)
    return batch


def write_edge_list(graphs: GraphBatch, folder: PathLike, *, stem: str = "graph") -> list[Path]:
    """
    Write graphs to files of edges, one graph each.

    Parameters
    ----------
    graphs : GraphBatch
        What to write. The form has no room for labels, attributes and nodes without
        edges, so these are errors.
    folder : path-like
        Where to put the files; it is made if need be.
    stem : str, default="graph"
        Start of the files' names; the number of the graph follows.

    Returns
    -------
    list of Path
        The files, in order of the graphs.
    """
    nx, converters = _networkx(), _converters()
    if graphs.has_labels or graphs.n_attributes:
        raise InvalidInputError(
            "edge lists hold neither labels nor attributes; use write_graphml, or "
            "without_labels() and without_attributes()"
        )
    written = converters.to_networkx(graphs)
    for position, graph in enumerate(written):
        lonely = next(nx.isolates(graph), None)
        if lonely is not None:
            raise InvalidInputError(
                f"graph {position}: node {lonely} has no edges, so an edge list would lose it; "
                "use write_graphml"
            )

    def write(graph: Any, path: Path) -> None:
        nx.write_edgelist(graph, path, data=["weight"] if graphs.is_weighted else False)

    return _write_all(write, written, folder, f"{stem}-{{}}.edges")


def _networkx() -> Any:
    from retgk.optional import optional_module

    return optional_module("networkx", "networkx")


def _converters() -> Any:
    from retgk import converters

    return converters


def _files(paths: PathLike | Iterable[PathLike], suffix: str) -> list[Path]:
    if not isinstance(paths, str | os.PathLike):
        return [Path(path) for path in paths]
    path = Path(paths)
    files = sorted(path.glob(f"*{suffix}")) if path.is_dir() else [path]
    if not files:
        raise InvalidInputError(f"{path} holds no files that end in {suffix}")
    return files


def _read_one(read: Callable[[Path], Any], path: Path) -> Any:
    """Read a file; the parsers of networkx raise whatever they stumble over."""
    try:
        graph = read(path)
    except OSError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{path} cannot be read: {error}") from error
    if len(graph) == 0:
        raise InvalidInputError(f"{path} holds a graph without nodes; leave the file out")
    return graph


def _in_order(nx: Any, graph: Any) -> Any:
    """Nodes called by numbers in the order of these."""
    try:
        nodes = sorted(graph, key=int)
    except ValueError:
        return graph
    ordered = nx.Graph()
    ordered.add_nodes_from(nodes)
    ordered.add_edges_from(graph.edges(data=True))
    return ordered


def _write_all(
    write: Callable[[Any, Path], None], graphs: list[Any], folder: PathLike, pattern: str
) -> list[Path]:
    """Write files whose names sort in the order of the graphs."""
    width = len(str(max(len(graphs) - 1, 0)))
    paths = []
    for position, graph in enumerate(graphs):
        path = Path(folder) / pattern.format(str(position).zfill(width))
        with atomic_path(path) as part:
            write(graph, part)
        paths.append(path)
    return paths
