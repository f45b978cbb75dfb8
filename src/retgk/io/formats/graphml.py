"""GraphML files through networkx: one graph per file."""

from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.io.converters.networkx_graphs import from_networkx, networkx_graph
from retgk.io.formats.graph_files import PathLike, paths_to_read, write_series
from retgk.runtime.optional_packages import optional_module

__all__ = ["read_graphml", "write_graphml"]


def read_graphml(
    paths: PathLike | Iterable[PathLike],
    *,
    label: Hashable | None = None,
    attributes: Hashable | list[Hashable] | None = None,
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

    Examples
    --------
    >>> import tempfile
    >>> from retgk import GraphBatch, read_graphml, write_graphml
    >>> edge = GraphBatch.from_edges(2, [[0, 1]], labels=["C", "N"], symmetrize=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_graphml(edge, folder)
    ...     read_graphml(folder, label="label") == edge
    True
    """
    nx = optional_module("networkx", "networkx")
    graphs = [_read_one(nx, path) for path in paths_to_read(paths, ".graphml")]
    return from_networkx(
        graphs, label=label, attributes=attributes, weight=weight, symmetrize=symmetrize
    )


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
        Where to put the files; it is made if need be. Files of the same name are replaced;
        further ones of this stem, of an earlier call with more graphs, are an error.
    stem : str, default="graph"
        Start of the files' names; the number of the graph follows.

    Returns
    -------
    list of Path
        The files, in order of the graphs.

    Examples
    --------
    >>> import tempfile
    >>> from retgk import GraphBatch, write_graphml
    >>> edges = GraphBatch.from_edges([2, 2], [[0, 1], [2, 3]], symmetrize=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_graphml(edges, folder)]
    ['graph-0.graphml', 'graph-1.graphml']
    """
    nx = optional_module("networkx", "networkx")
    for name in graphs.label_names:
        if not isinstance(name, str | int | float):
            raise InvalidInputError(
                f"GraphML cannot hold the label {name!r}",
                Remedy(
                    "integer_labels",
                    "number the labels with with_labels(graphs.labels), or use write_parquet",
                ),
            )
    written = [networkx_graph(graph, graphs.is_weighted) for graph in graphs]
    for graph in written:
        for _, data in graph.nodes(data=True):
            values = data.pop("attributes", ())
            data.update({f"attribute_{column}": value for column, value in enumerate(values)})
    return write_series(nx.write_graphml, written, folder, stem, ".graphml")


def _read_one(nx: Any, path: Path) -> Any:
    """Read a file; the parsers of networkx raise whatever they stumble over."""
    try:
        graph = nx.read_graphml(path)
    except OSError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{path} cannot be read: {error}") from error
    if len(graph) == 0:
        raise InvalidInputError(f"{path} holds a graph without nodes; leave the file out")
    return graph
