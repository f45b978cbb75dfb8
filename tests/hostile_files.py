"""Small files that unpack to gigabytes, made by code."""

import gzip
import zipfile

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tests.tu_files import write_zip

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
