"""GraphML files through networkx: one graph per file."""

from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.io.formats.file_series import PathLike, paths_to_read, write_series

__all__ = ["read_graphml", "write_graphml"]


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
    graphs = [_read_one(nx, path) for path in paths_to_read(paths, ".graphml")]
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
        Where to put the files; it is made if need be. Files of the same name are replaced;
        further ones of this stem, of an earlier call with more graphs, are an error.
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
                f"GraphML cannot hold the label {name!r}",
                Remedy(
                    "integer_labels",
                    "number the labels with with_labels(graphs.labels), or use write_parquet",
                ),
            )
    written = converters.to_networkx(graphs)
    for graph in written:
        for _, data in graph.nodes(data=True):
            values = data.pop("attributes", ())
            data.update({f"attribute_{column}": value for column, value in enumerate(values)})
    return write_series(nx.write_graphml, written, folder, stem, ".graphml")


def _networkx() -> Any:
    from retgk.runtime.optional_packages import optional_module

    return optional_module("networkx", "networkx")


def _converters() -> Any:
    from retgk.io import converters

    return converters


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
