"""Small collections in TUDataset form, for the tests that read them."""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from retgk import GraphBatch

# Graph 1 is a triangle with a loop on its first node, graph 2 an edge, graph 3 a lone node.
TOY = {
    "A": "1, 1\n1, 2\n2, 1\n2, 3\n3, 2\n3, 1\n1, 3\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n3\n",
    "graph_labels": "1\n-1\n1\n",
}


def write_folder(folder: Path, name: str = "TOY", **changes: str | bytes | None) -> Path:
    """Write the toy collection to a folder, with some files changed, added or left out."""
    inner = folder / name
    inner.mkdir(parents=True)
    for kind, content in {**TOY, **changes}.items():
        if content is not None:
            raw = content.encode() if isinstance(content, str) else content
            (inner / f"{name}_{kind}.txt").write_bytes(raw)
    return folder


def write_zip(folder: Path, name: str = "TOY", **changes: str | bytes | None) -> Path:
    """Write the toy collection to an archive, with some files changed, added or left out."""
    path = folder / f"{name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for kind, content in {**TOY, **changes}.items():
            if content is not None:
                archive.writestr(f"{name}/{name}_{kind}.txt", content)
    return path


def toy_graphs(**values: Any) -> GraphBatch:
    """Build the graphs of the toy collection without its files."""
    edges = [[0, 0], [0, 1], [1, 2], [2, 0], [3, 4]]
    return GraphBatch.from_edges([3, 2, 1], edges, symmetrize=True, **values)


# Small files that unpack to gigabytes, made by code

PIECE = 1 << 20


def repeated(path, piece, n_bytes, start=b""):
    """A gzip file of one piece of text, again and again."""
    with gzip.open(path, "wb", compresslevel=9) as stream:
        stream.write(start)
        block = piece * (PIECE // len(piece))
        for _ in range(n_bytes // len(block)):
            stream.write(block)
    return path


def zeros_in_parquet(folder, n_values=100_000_000):
    """One row of many zero degrees, which takes a kilobyte."""
    none = pa.array([[]], pa.large_list(pa.int32()))
    values = pa.array(np.zeros(n_values, np.int32))
    zeros = pa.LargeListArray.from_arrays(pa.array([0, n_values]), values)
    path = folder / "zeros.parquet"
    parquet.write_table(pa.table({"degrees": zeros, "neighbours": none}), path, compression="zstd")
    return path


def many_columns(folder, n_columns=2_000_000):
    """A TU archive whose attributes have a first line of millions of columns."""
    return write_zip(folder, node_attributes=b"1," * n_columns + b"1\n")


def many_lines(folder, kind="graph_indicator", n_bytes=260_000_000, line=b"1\n"):
    """A TU archive with a member of as many lines as fit into some hundred kilobytes."""
    path = write_zip(folder, **{kind: None})
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open(f"TOY/TOY_{kind}.txt", "w", force_zip64=True) as stream,
    ):
        for _ in range(n_bytes // PIECE):
            stream.write(line * (PIECE // len(line)))
    return path


def long_header(folder, n_bytes=300 << 20):
    return repeated(folder / "header.csv.gz", b"a,", n_bytes)


def long_line(folder, n_bytes=400 << 20):
    return repeated(folder / "line.smi.gz", b"C", n_bytes)


HOSTILE = {
    "parquet-zeros": zeros_in_parquet,
    "tu-columns": many_columns,
    "tu-lines": many_lines,
    "tu-labels": lambda folder: many_lines(folder, "node_labels"),
    "tu-attributes": lambda folder: many_lines(folder, "node_attributes"),
    "tu-targets": lambda folder: many_lines(folder, "graph_labels"),
    "tu-edges": lambda folder: many_lines(folder, "A", 100_000_000, b"1, 1\n"),
    "csv-header": long_header,
    "csv-quotes": lambda folder: repeated(
        folder / "quotes.csv.gz", b'"\n",', 80 << 20, b"smiles,y\n"
    ),
    "csv-rows": lambda folder: repeated(folder / "rows.csv.gz", b"C,1\n", 80 << 20, b"smiles,y\n"),
    "smi-line": long_line,
    "smi-lines": lambda folder: repeated(folder / "lines.smi.gz", b"C\n", 80 << 20),
    "smi-comments": lambda folder: repeated(folder / "comments.smi.gz", b"#\n", 100 << 20),
    "edges-lines": lambda folder: repeated(folder / "same.edges.gz", b"1 2\n", 100 << 20),
    "graphml-nodes": lambda folder: repeated(
        folder / "nodes.graphml.gz", b"<node/>", 80 << 20, b"<graphml><graph>"
    ),
}
