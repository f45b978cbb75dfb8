"""GraphML files through networkx: one graph per file."""

import io
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from retgk._runtime.files import unpacked_bytes
from retgk._runtime.names import optional_module
from retgk._runtime.processes import ordered_results
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.io.dataset import LEAVE_OUT, GraphDataset, rows_without
from retgk.io.formats import Format, PathLike, bare_name, label_remedy, write_series
from retgk.io.networkx import from_networkx, networkx_graph
from retgk.io.objects import NAMED_VALUES

_GRAPH = re.compile(rb"<(?:[\w.-]+:)?graph[\s/>]")
_PIECE_BYTES = 1 << 21  # take networkx about as long as processes take to start


def _read(
    files: list[Path], *, skip_invalid: bool = False, n_jobs: int | None = None, **named: Any
) -> GraphDataset:
    optional_module("networkx", "networkx")
    parsed = list(chain.from_iterable(ordered_results(_parsed, _pieces(files), n_jobs)))
    empty = [number for number, graph in enumerate(parsed) if len(graph) == 0]
    if empty and not skip_invalid:
        raise InvalidInputError(f"{files[empty[0]]} holds a graph without nodes; {LEAVE_OUT}")
    rows = rows_without(empty, len(files), files[0].parent)
    graphs = from_networkx([graph for graph in parsed if len(graph)], **named)
    names = [bare_name(path) for path, graph in zip(files, parsed, strict=True) if len(graph)]
    return GraphDataset(graphs, None, "", "", names, rows)


def write_graphml(graphs: GraphBatch, folder: PathLike, *, stem: str = "graph") -> list[Path]:
    """GraphML files, one graph each: "label", "attribute_0" and so on, and "weight"."""
    nx = optional_module("networkx", "networkx")
    for of_edges, names in ((False, graphs.label_names), (True, graphs.edge_label_names)):
        for name in names:
            if not isinstance(name, str | int | float):
                raise InvalidInputError(
                    f"GraphML cannot hold the label {name!r}; {label_remedy(of_edges)}"
                )
    written = [networkx_graph(graph, graphs.is_weighted) for graph in graphs]
    for graph in written:
        for _, data in graph.nodes(data=True):
            values = data.pop("attributes", ())
            data.update({f"attribute_{column}": value for column, value in enumerate(values)})
    return write_series(nx.write_graphml, written, folder, stem, ".graphml")


def _pieces(files: list[Path]) -> Iterator[tuple[list[tuple[Path, bytes]]]]:
    piece: list[tuple[Path, bytes]] = []
    for path in files:
        piece.append((path, unpacked_bytes(path)))
        if sum(len(text) for _, text in piece) >= _PIECE_BYTES:
            yield (piece,)
            piece = []
    if piece:
        yield (piece,)


def _parsed(files: list[tuple[Path, bytes]]) -> list[Any]:
    nx = optional_module("networkx", "networkx")
    graphs = []
    for path, text in files:
        try:
            _check_one_graph(text, path)
            graph = nx.read_graphml(io.BytesIO(text))
        except InvalidInputError:
            raise
        except Exception as error:
            raise InvalidInputError(f"{path} cannot be read: {error}") from error
        graphs.append(graph)
    return graphs


def _check_one_graph(text: bytes, path: Path) -> None:
    """Raise where there are more graphs than networkx would return."""
    if b"<!" not in text and len(_GRAPH.findall(text)) == 1:  # no entity that could hold another
        return
    tags = (element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter())
    n_graphs = list(tags).count("graph")
    if n_graphs > 1:
        raise InvalidInputError(
            f"{path} holds {n_graphs} graphs; a GraphML file has one, so write each to a file of "
            "its own, in one folder"
        )


GRAPHML = Format(
    name="graphml",
    endings=(".graphml",),
    read=_read,
    options=(*NAMED_VALUES, "skip_invalid", "n_jobs"),
    sniff=lambda sample: sample.text.lstrip().startswith("<"),
    write=lambda dataset, folder: write_graphml(dataset.graphs, folder),
    writes_folder=True,
    memory_factor=48,
)
