"""Adjacency matrices from files of NumPy, MATLAB and plain numbers, and their tables of targets."""

import gzip
import struct
import zipfile
import zlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.io import savemat

from retgk import GraphDataset, InvalidInputError, read_graphs
from retgk.io import from_numpy
from retgk.io.formats import format_of
from retgk.io.tables import (
    What,
    is_number,
    numbers_in,
    texts_of_graphs,
    typed_targets,
    whole_number,
    with_targets,
)
from tests.errors import fails
from tests.explorer_pages import unpacked
from tests.programs import DATA, N_GRAPHS, assert_fails, invoke, printed, rows_of

TRIANGLE = np.ones((3, 3)) - np.eye(3)
WEIGHTED = np.array([[0, 0.5, 0, 0], [0.5, 0, 2, 0], [0, 2, 1, 0.25], [0, 0, 0.25, 0]])
STACK = np.stack([TRIANGLE, 2 * TRIANGLE])


def write_csv(path, matrix, delimiter=","):
    text = "".join(delimiter.join(map(repr, row)) + "\n" for row in matrix.tolist())
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


WRITERS = {
    "a.npy": lambda path: np.save(path, WEIGHTED),
    "f.npy": lambda path: np.save(path, np.asfortranarray(WEIGHTED)),
    "s.npy": lambda path: np.save(path, WEIGHTED.astype(">f4")),
    "h.npy": lambda path: np.save(path, WEIGHTED.astype("<f2")),
    "a.npz": lambda path: np.savez_compressed(path, WEIGHTED),
    "csr.npz": lambda path: sparse.save_npz(path, sparse.csr_matrix(WEIGHTED)),
    "csc.npz": lambda path: sparse.save_npz(path, sparse.csc_array(WEIGHTED), compressed=False),
    "coo.npz": lambda path: sparse.save_npz(path, sparse.coo_array(WEIGHTED)),
    "dia.npz": lambda path: sparse.save_npz(path, sparse.dia_array(WEIGHTED)),
    "a.mat": lambda path: savemat(path, {"W": WEIGHTED}, do_compression=True),
    "b.mat": lambda path: savemat(path, {"W": sparse.csc_array(WEIGHTED)}),
    "four.mat": lambda path: savemat(path, {"W": WEIGHTED}, format="4"),
    "a.csv": lambda path: write_csv(path, WEIGHTED),
    "b.csv.gz": lambda path: write_csv(path, WEIGHTED, ";"),
    "a.tsv": lambda path: write_csv(path, WEIGHTED, "\t"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_gives_the_same_graph(name, tmp_path):
    WRITERS[name](tmp_path / name)
    data = read_graphs(tmp_path / name)
    assert data.graphs == from_numpy(WEIGHTED)
    assert data.graph_names == [name.split(".")[0]]
    assert format_of(tmp_path / name).name == "matrices"


@pytest.mark.parametrize("kind", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("packed", [False, True])
def test_all_types_of_mat_files(kind, packed, tmp_path):
    matrix = (4 * WEIGHTED).astype(kind)
    others = {"text": "abc", "nested": {"a": [1, 2]}, "row": [1.0, 2.0]}
    savemat(tmp_path / "a.mat", {**others, "W": matrix, "n": "z"}, do_compression=packed)
    assert read_graphs(tmp_path / "a.mat", variable="W").graphs == from_numpy(matrix)
    savemat(tmp_path / "a.mat", {"W": sparse.csc_array(matrix)}, do_compression=packed)
    assert read_graphs(tmp_path / "a.mat").graphs == from_numpy(matrix)


def test_stacks(tmp_path):
    np.save(tmp_path / "k.npy", STACK)
    savemat(tmp_path / "k.mat", {"A": np.moveaxis(STACK, 0, 2)})
    for name in ("k.npy", "k.mat"):
        data = read_graphs(tmp_path / name)
        assert data.graphs == from_numpy(STACK)
        assert data.graph_names == ["k-0", "k-1"]


def test_variables(tmp_path):
    np.savez(tmp_path / "all.npz", x=TRIANGLE, y=WEIGHTED)
    assert read_graphs(tmp_path / "all.npz").graph_names == ["all-x", "all-y"]
    assert read_graphs(tmp_path / "all.npz", variable="y").graphs == from_numpy(WEIGHTED)
    savemat(tmp_path / "some.mat", {"W": TRIANGLE, "age": 3.0, "who": "me", "cells": [{}]})
    assert read_graphs(tmp_path / "some.mat", variable="W").graphs == from_numpy(TRIANGLE)
    fails(lambda: read_graphs(tmp_path / "all.npz", variable="Z"), about=("'Z'", "'x'", "(3, 3)"))
    fails(lambda: read_graphs(tmp_path / "some.mat"), about="'who'")


def test_a_folder_and_its_targets(tmp_path):
    for number in range(12):
        np.save(tmp_path / f"sub.{number}.npy", TRIANGLE * (number + 1))
    rows = [f"data/sub.{number}.npy,{number % 2},{number / 4}\n" for number in reversed(range(12))]
    (tmp_path / "targets.csv").write_text("file,sick,score\n" + "".join(rows))
    data = read_graphs(tmp_path, targets=tmp_path / "targets.csv", target_column="sick")
    assert data.graph_names[:4] == ["sub.0", "sub.1", "sub.10", "sub.11"]
    assert data.targets.tolist() == [int(name[4:]) % 2 for name in data.graph_names]
    assert data.graphs[3] == from_numpy(TRIANGLE * 12)
    fails(
        lambda: read_graphs(tmp_path, targets=tmp_path / "targets.csv"),
        about="may hold the targets",
    )


def test_tables_are_matrices_where_there_is_nothing_else(tmp_path):
    for name in "ab":
        write_csv(tmp_path / f"{name}.csv", TRIANGLE)
    (tmp_path / "y.csv").write_text("b.csv,1.5\na.csv,2.5\n")
    data = read_graphs(tmp_path, targets=tmp_path / "y.csv")
    assert data.targets.tolist() == [2.5, 1.5]
    fails(lambda: read_graphs(tmp_path), about=("y.csv", "line 1", "column 1", "'b.csv'"))


@pytest.mark.parametrize(
    ("name", "text", "targets"),
    [
        ("y.txt", "1\n2\n", [1, 2]),
        ("y.csv", "1\n2\n", [1, 2]),
        ("y.csv", "target\n1\n2\n", [1, 2]),
        ("y.csv", "age,target\n30,yes\n40,no\n", ["yes", "no"]),
        ("y.tsv", "name\tclass\nb\t1\na\t2\n", [2, 1]),
        ("y.csv", "class,who\n1,b\n2,a\n", [2, 1]),
        ("y.csv", "b.npy;1\na.npy;2\n", [2, 1]),
        ("y.csv", "name,target\nb,1\nb,2\n", ("line 3", "'b'", "second time")),
        ("y.csv", "name,y\na,1\nc,2\n", ("names without a graph (1): 'c'", "(1): 'b'")),
        ("y.csv", "name,y\na,1\n", ("target", "(1): 'b'")),
        ("y.csv", "name,y\na,1\nb,\n", ("line 3", "target")),
        ("y.csv", "u,v\n1,2\n", ("u, v", "target_column=")),
        ("y.csv", "a,1,2\nb,3,4\n", ("2 columns", "first line")),
        ("y.csv", "u,target\n1,2\n", ("1 lines", "2 graphs")),
        ("y.txt", "1\n\n", ("line 2", "target")),
        ("y.txt", "", ("0 lines", "2 graphs")),
    ],
)
def test_targets(name, text, targets, tmp_path):
    (tmp_path / "graphs").mkdir()
    for graph in "ab":
        np.save(tmp_path / "graphs" / f"{graph}.npy", TRIANGLE)
    (tmp_path / name).write_text(text)
    if isinstance(targets, tuple):
        fails(lambda: read_graphs(tmp_path / "graphs", targets=tmp_path / name), about=targets)
    else:
        data = read_graphs(tmp_path / "graphs", targets=tmp_path / name)
        assert data.targets.tolist() == targets


def changed(row, column, value):
    matrix = WEIGHTED.copy()
    matrix[row, column] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), ("m.npy", "(2, 3)")),
        (np.ones(3), "an adjacency matrix is"),
        (np.ones((2, 2), complex), "weights must be numbers"),
        (changed(1, 3, -1), ("m.npy", "node 1", "node 3")),
        (changed(2, 0, np.nan), ("node 2", "node 0")),
        (changed(0, 1, 3), ("m.npy", "graph 0", "node 0", "node 1")),
        (np.stack([WEIGHTED, changed(0, 1, np.inf)]), ("m.npy", "graph 1")),
    ],
)
def test_bad_entries(matrix, message, tmp_path):
    np.save(tmp_path / "m.npy", matrix)
    fails(lambda: read_graphs(tmp_path / "m.npy"), about=message)


def test_symmetrize(tmp_path):
    np.save(tmp_path / "m.npy", np.triu(WEIGHTED))
    assert read_graphs(tmp_path / "m.npy", symmetrize=True).graphs == from_numpy(WEIGHTED)
    message = "the one back has weight 0; pass --symmetrize"
    assert_fails(invoke("info", tmp_path / "m.npy"), message)
    assert invoke("info", tmp_path / "m.npy", "--symmetrize").exit_code == 0


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("0,1,1\n1,0,1\n1,1,0\n", "matrices"),
        ("0,1,0.5\n1,2,1\n0,2,1\n", "edges"),
        ("0,1,5\n1,2,5\n", "edges"),
        ("0,1\n1,0\n", "edges"),
        ("0.0,0.5,1\n0.5,0,1\n", "matrices"),
        ("0,1,0,0\n1,0,0,0\n0,0,0,1\n0,0,1,0\n", "matrices"),
        ("smiles,y\nCCO,1\n", "smiles"),
        ("a,b,c\n0,1,2\n", "smiles"),
        ("a,b,c\n0,1,2\n1,0,3\n2,3,0\n", "matrices"),
        ("name,a,b\na,0,1\nb,1,0\n", "matrices"),
    ],
)
def test_tables_by_their_content(text, form, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    assert format_of(tmp_path / "t.csv").name == form


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1,x\n", ("line 1", "column 3", "'x'")),
        ("0,1\n1\n", ("line 2", "1 columns")),
        ("0,1_0\n", ("column 2", "'1_0'")),
        ("# nothing\n", "holds no numbers"),
        ("0 1 2\n1 0 2\n", ("2 rows", "3 numbers")),
        ("0,1,2\n0,3,5\n3,0,4\n5,4,0\n", ("4 rows", "3 numbers")),
        ("0 1 2 3 4\n", "(1, 5)"),
    ],
)
def test_bad_tables(text, message, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    fails(lambda: read_graphs(tmp_path / "t.csv", format="matrices"), about=message)


def npy_header(shape, descr="<f8"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    body = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body


@pytest.mark.parametrize(
    "data",
    [
        npy_header((2, 2), "|O") + b"\x80\x04N.",
        npy_header((2,), "|O") + b"cos\nsystem\n(S'false'\ntR.",
        npy_header((10**6, 10**6)),
        npy_header((-1, 2)),
        npy_header((2, 2), "<M8[s]"),
        b"\x93NUMPY\x01\x00\xff\xff{",
        b"\x93NUMPY\x09\x00",
        b"no array",
    ],
)
def test_arrays_that_are_no_numbers_or_cut_off(data, tmp_path):
    """NumPy reads them, without pickles; whatever it raises is an error of the file."""
    (tmp_path / "x.npy").write_bytes(data)
    fails(lambda: read_graphs(tmp_path / "x.npy"), about="x.npy")


def test_archives_that_unpack_to_much(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy_header((4200, 4200)) + bytes(8 * 4200 * 4200))
    assert path.stat().st_size < 10**6
    fails(lambda: read_graphs(path), about=("would take", "bytes of memory"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("code.py", "import os")
    fails(lambda: read_graphs(path), about="'code.py'")


def test_sparse_matrices_that_lead_outside(tmp_path):
    path = tmp_path / "x.npz"
    parts = {"format": b"csr", "shape": [3, 3], "data": [1.0, 1.0], "indptr": [0, 1, 2, 2]}
    for indices, indptr in (([1, 10**6], [0, 1, 2, 2]), ([1, 0], [0, 1, 3, 2]), ([1, 0], [0, 1])):
        np.savez(path, indices=np.array(indices), **{**parts, "indptr": np.array(indptr)})
        fails(partial(read_graphs, path), about="x.npz")
    huge = {"format": b"coo", "shape": [2**40, 2**40], "data": [1.0], "row": [0], "col": [0]}
    np.savez(path, **huge)
    fails(lambda: read_graphs(path), about="a sparse matrix of")


def test_matlab_files_that_are_not_read(tmp_path):
    path = tmp_path / "x.mat"
    savemat(path, {"W": TRIANGLE}, do_compression=True)
    header = path.read_bytes()[:128]
    bomb = zlib.compress(bytes(2 * 10**8))
    path.write_bytes(header + struct.pack("<2I", 15, len(bomb)) + bomb)
    fails(lambda: read_graphs(path), about=("would take", "bytes of memory"))
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(500))
    fails(lambda: read_graphs(path), about="7.3")
    path.write_bytes(header + b"nothing that is a variable")
    fails(lambda: read_graphs(path), about="x.mat")
    savemat(path, {"cells": np.array([TRIANGLE, WEIGHTED], dtype=object)})
    fails(lambda: read_graphs(path), about="'cells'")


def test_commands_read_matrices(tmp_path):
    np.save(tmp_path / "k.npy", STACK)
    savemat(tmp_path / "k.mat", {"A": TRIANGLE, "note": "text"})
    (tmp_path / "y.csv").write_text("name,target\nk-1,7\nk-0,8\n")
    result = invoke("info", tmp_path / "k.npy", "--targets", tmp_path / "y.csv", "--json")
    assert '"sizes": {"7": 1, "8": 1}' in result.stdout
    assert invoke("info", tmp_path / "k.mat", "--variable", "A").exit_code == 0
    output = tmp_path / "k.jsonl.gz"
    result = invoke("convert", tmp_path / "k.npy", output, "--targets", tmp_path / "y.csv")
    assert result.exit_code == 0
    data = read_graphs(output)
    assert data.graphs == from_numpy(STACK)
    assert (data.targets.tolist(), data.graph_names) == ([8, 7], ["k-0", "k-1"])


def test_tables_of_other_names_are_not_matched_by_order(tmp_path):
    """Rows that name something, but no graph, may stand in any order."""
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.ones((3, 3)) - np.eye(3))
    table = tmp_path.parent / "names.csv"
    for rows in ("subject,target\nb_1,1\na_1,2\n", "subject,target\n24,1\n7,2\n"):
        table.write_text(rows)
        fails(partial(read_graphs, tmp_path, targets=table), about=("names.csv", "'subject'"))


# Tables of a matrix as pandas and R write them, with names of rows and columns

MATRIX = np.array([[0, 0.5, 0, 0], [0.5, 0, 2, 0], [0, 2, 1, 0.25], [0, 0, 0.25, 0]])
COUNTED = pd.DataFrame(MATRIX)
NAMES = [f"region {number}" for number in range(4)]
NAMED = pd.DataFrame(MATRIX, NAMES, NAMES)
LEFT = [f"{name}, left" for name in NAMES]
R_HEADING = [f'"region.{number}"' for number in range(4)]  # R puts dots for spaces, not in rows
R_ROWS = [[f'"{name}"', *map(str, row)] for name, row in zip(NAMES, MATRIX, strict=True)]


def lines(rows: list[list[str]], mark: str) -> str:
    return "\n".join(mark.join(row) for row in rows)


EXPORTED = {
    "pandas": NAMED.to_csv(),
    "names of rows alone": NAMED.to_csv(header=False),
    "pandas, counted": COUNTED.to_csv(),
    "pandas, name of the index": NAMED.rename_axis("region").to_csv(),
    "pandas, no index": NAMED.to_csv(index=False),
    "pandas, tabs": NAMED.to_csv(sep="\t"),
    "pandas, commas in names": pd.DataFrame(MATRIX, LEFT, LEFT).to_csv(),
    "R, write.csv": lines([['""', *R_HEADING], *R_ROWS], ","),
    "R, counted": pd.DataFrame(MATRIX, range(1, 5), [f"V{i}" for i in range(1, 5)]).to_csv(),
    "R, names that are numbers": pd.DataFrame(
        MATRIX, [7, 9, 3, 4], ["X7", "X9", "X3", "X4"]
    ).to_csv(),
    "R, write.table": lines([R_HEADING, *R_ROWS], " "),
}


@pytest.mark.parametrize("name", EXPORTED)
def test_names_are_left_out(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(EXPORTED[name])
    assert name == "names of rows alone" or format_of(path).name == "matrices"
    assert read_graphs(path, format="matrices").graphs == from_numpy(MATRIX)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NAMED.loc[NAMES[::-1]].to_csv(), ("row 1", "column 1")),
        (COUNTED.loc[[0, 2, 1, 3]].to_csv(), ("row 2", "'2'", "column 2", "'1'")),
        (COUNTED.to_csv(index=False), ("5 rows", "4 numbers")),
        (COUNTED.to_csv(header=False), ("4 rows", "5 numbers")),
        (NAMED.iloc[:3].to_csv(), ("3 rows", "4 numbers")),
        ("a,b\n0,1\n1,x\n", ("line 3", "column 2", "'x'")),
        ("NA,NA\n0,1\n", ("line 1", "column 1", "'NA'")),
        (",a,b,c\na,0,1\nb,1,0\n", ("3 columns", "2 numbers")),
        ("a,0,1\nb,1,0\n2,1,0\n", ("3 rows", "2 numbers")),
        ('a,b\n0,"1\n1,0\n', ("line 2", "column 2")),
    ],
)
def test_rows_are_never_shifted_in_silence(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    fails(lambda: read_graphs(path, format="matrices"), about=message)


@pytest.mark.parametrize(
    "text",
    [
        ",source,target,weight\n0,0,1,0.5\n1,1,2,1.0\n2,0,2,1.0\n",
        "smiles,a,b,c\nC,1,2,3\nCC,1,2,3\nCCC,1,2,3\n",
        "id,a,b,c\nx,1,2,3\ny,1,2,3\nz,1,2,3\n",
    ],
)
def test_tables_that_are_no_matrices(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    try:
        assert format_of(path) != "matrices"
    except InvalidInputError as error:
        assert "cannot be recognised" in str(error)  # noqa: PT017


# Tables of targets, groups, pairs and predictions: which row is of which graph

PLAIN = GraphDataset(DATA.graphs, None, "plain")[:6]
NAMED_TARGET_TABLES = replace(PLAIN, graph_names=[f"mol{number}" for number in range(6)])
COUNTED_TARGET_TABLES = replace(PLAIN, graph_names=["0", "1", "10", "2", "3", "4"])
WITH_GAPS = replace(NAMED_TARGET_TABLES, rows=np.array([0, 1, 3, 4, 6, 7]))
SHUFFLED = [3, 0, 5, 1, 4, 2]


def targets_of(dataset: GraphDataset, text: str, path: Path, column: str | None = None) -> list:
    path.write_text(text)
    found = with_targets(dataset, path, column, None).targets
    assert found is not None
    return found.tolist()


def rows(heading: str, order: list[int], row: str) -> str:
    lines = [row.format(n=number, y=10 * number) for number in order]
    return "\n".join([heading, *lines]) + "\n"


@pytest.mark.parametrize("dataset", [PLAIN, NAMED_TARGET_TABLES])
@pytest.mark.parametrize(
    ("heading", "row"),
    [
        ("graph,target", "{n},{y}"),
        ("y,Graph", "{y},{n}"),
        ("graph,name,fold,target", "{n},mol{n},1,{y}"),
        ("graph,name,y", "{n},mol{n},{y}"),
    ],
)
def test_numbers_of_graphs_count(
    dataset: GraphDataset, heading: str, row: str, tmp_path: Path
) -> None:
    found = targets_of(dataset, rows(heading, SHUFFLED, row), tmp_path / "y.csv")
    assert found == [0, 10, 20, 30, 40, 50]


def test_numbers_are_those_of_the_source(tmp_path: Path) -> None:
    """Rows of graphs that were left out may be there."""
    found = targets_of(
        WITH_GAPS, rows("graph,y", [7, 2, 0, 1, 3, 4, 6], "{n},{y}"), tmp_path / "y.csv"
    )
    assert found == [0, 10, 30, 40, 60, 70]


def test_a_column_graph_may_hold_names(tmp_path: Path) -> None:
    path = tmp_path / "y.csv"
    assert targets_of(NAMED_TARGET_TABLES, rows("graph,y", SHUFFLED, "mol{n},{y}"), path)[3] == 30
    names = replace(PLAIN, graph_names=list("234567"))
    assert targets_of(names, rows("graph,y", [7, 2, 3, 4, 5, 6], "{n},{y}"), path)[5] == 70
    assert targets_of(PLAIN, rows("a,graph", SHUFFLED, "{n},{y}"), path, "Graph")[0] == 30


@pytest.mark.parametrize(
    ("dataset", "text", "message"),
    [
        (PLAIN, "graph,y\n0,1\n0,2\n", ("line 3", "'0'")),
        (PLAIN, "graph,y\n0,1\n1,2\n", "(4): '2', '3', '4', '5'"),
        (PLAIN, rows("graph,y", [*range(7)], "{n},{y}"), "(1): '6'"),
        (PLAIN, rows("graph,y", [*range(6)], "1_{n},{y}"), ("numbers of graphs", "'1_0'")),
        (PLAIN, rows("graph,graph,y", SHUFFLED, "{n},{n},{y}"), "2 columns 'graph'"),
        (
            NAMED_TARGET_TABLES,
            rows("graph,y,name", SHUFFLED, "{n},{y},mol0"),
            ("line 5", "'mol1'"),
        ),
        (COUNTED_TARGET_TABLES, rows("graph,y", [10, 0, 1, 2, 3, 4], "{n},{y}"), None),
        (
            replace(PLAIN, graph_names=list("102345")),
            rows("graph,y", SHUFFLED, "{n},{y}"),
            ("names of graphs", "numbers"),
        ),
        (NAMED_TARGET_TABLES, "y,name,y\n" + "1,mol1,2\n" * 6, "2 columns 'y'"),
        (NAMED_TARGET_TABLES, "name,y\n" + "mol0,1,2\n" * 6, ("line 2", "3 cells", "2 columns")),
        (
            NAMED_TARGET_TABLES,
            rows("ghost,1", SHUFFLED, "mol{n},{y}"),
            ("first line", "'ghost', '1'"),
        ),
        (
            NAMED_TARGET_TABLES,
            rows("ghost,a", SHUFFLED, "mol{n},a"),
            ("first line", "'ghost', 'a'"),
        ),
        (PLAIN, rows("name,y", SHUFFLED, "mol{n},{y}"), ("no cell", "no names")),
        (PLAIN, rows("id,y", SHUFFLED, "{n},{y}"), ("no cell", "no names")),
        (PLAIN, rows("id,y", [*range(6)], "{n},{y}"), None),
    ],
)
def test_rows_that_fit_no_graphs(
    dataset: GraphDataset, text: str, message: str | None, tmp_path: Path
) -> None:
    column = "y" if ",y" in text.split("\n", maxsplit=1)[0] else None
    if message is None:
        found = targets_of(dataset, text, tmp_path / "y.csv", column)
        assert found == [10 * int(name) for name in dataset.graph_names or range(6)]
    else:
        fails(lambda: targets_of(dataset, text, tmp_path / "y.csv", column), about=message)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("target\n1\n2\n1\n2\n1\n", ("5 lines", "6 graphs")),
        ("Targets\na\nb\nc\nd\ne\n", ("5 lines", "6 graphs")),
        ("y\n1\n2\n1\n2\n1\n", ("5 lines", "6 graphs")),
        ("site\na\nb\na\nb\na\nb\n", list("ababab")),
        ("site\na\nb\na\nb\nb\n", ("'site'", "line 1")),
        ("y\n1\n2\n1\n2\n1\n2\n", [1, 2, 1, 2, 1, 2]),
        ("1\n1\n2\n1\n2\n1\n2\n", ("7 lines", "6 graphs")),
        ("a\na\nb\na\nb\na\nb\n", ("7 lines", "6 graphs")),
        ("a\nb\na\nb\na\nb\n", list("ababab")),
        ("a\nb\nc\nd\ne\nf\n", list("abcdef")),
    ],
)
def test_a_heading_is_not_a_target(text: str, found: Any, tmp_path: Path) -> None:
    if isinstance(found, list):
        assert targets_of(PLAIN, text, tmp_path / "y.csv") == found
    else:
        fails(lambda: targets_of(PLAIN, text, tmp_path / "y.csv"), about=found)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "-2"], [1, -2]),
        (["1", "2.5"], [1.0, 2.5]),
        (["1", "b"], ["1", "b"]),
        (["inf", "b"], ["inf", "b"]),
        (["1" * 30, "2"], ["1" * 30, "2"]),
        (["1_0", "10"], ["1_0", "10"]),
        (["01", "1"], ["01", "1"]),
        (["01", "02", "01"], [1, 2, 1]),
        (["1_0.5", "2"], ["1_0.5", "2"]),
        (["1.0", "1", "0.5"], [1.0, 1.0, 0.5]),
    ],
)
def test_different_names_stay_different(texts: list[str], values: list) -> None:
    assert typed_targets(texts).tolist() == values
    fails(lambda: typed_targets(["1", "nan"]), about=("'nan'", "graph 1"))


def test_what_is_a_number() -> None:
    assert [whole_number(text) for text in ("12", "-3", "1_2", "1.0", "")] == [12, -3, *[None] * 3]
    assert [is_number(text) for text in ("1e3", "nan", "1_0", "x")] == [True, True, False, False]
    assert numbers_in(["1", ""]) is None
    found = numbers_in(["1", ""], gaps=True)
    assert found is not None
    np.testing.assert_array_equal(found, [1, np.nan])


def test_tables_that_unpack_to_much_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" * 100_000))
    fails(lambda: with_targets(WITH_GAPS, path, None, 900_000), about="900000 allowed")


def test_many_columns_are_not_listed(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(5000)]
    text = "\n".join([",".join(names), *[",".join("1" * 5000)] * 6])
    for what in (What("group", "group"), What("target", "target", "target_column")):
        path = tmp_path / "wide.csv"
        path.write_text(text)
        told = fails(partial(texts_of_graphs, PLAIN, path, None, what), about=("c0", "4988 more"))
        assert len(told) < 400


# Commands


def test_pairs_of_two_sources_go_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    for part in "ab":
        smiles = [f"m{part}{n},{'C' * (n + 1)}{'O' * (part == 'b')}" for n in range(8)]
        Path(f"{part}.csv").write_text("\n".join(["name,smiles", *smiles]) + "\n")
    order = [f"m{part}{n},p{n if part == 'a' else (3 * n) % 8}" for part in "ab" for n in range(8)]
    seen = []
    for name, lines in (("in_order", order), ("turned", order[::-1])):
        Path(f"{name}.csv").write_text("\n".join(["name,pair", *lines]) + "\n")
        given = ("--subjects", f"{name}.csv", "--n-permutations", 99, "--json")
        seen.append(printed("test", "a.csv", "b.csv", *given))
    Path("listed.txt").write_text("".join(line.split(",")[1] + "\n" for line in order))
    seen.append(printed("test", "a.csv", "b.csv", "--subjects", "listed.txt", *given[2:]))
    seen = [text.split('"seconds"')[0] for text in seen]
    assert seen[0] == seen[1] == seen[2]
    Path("more.csv").write_text("name,pair,site\n" + "\n".join(f"{line},1" for line in order))
    message = "may hold the subjects; keep one of pair, site, beside the one that names graphs"
    assert_fails(invoke("test", "a.csv", "b.csv", "--subjects", "more.csv"), message)


def test_packed_predictions_go_by_number(graphs_file: Path, tmp_path: Path) -> None:
    lines = [f"{graph},{DATA.targets[graph]}" for graph in range(N_GRAPHS)]
    table, page = tmp_path / "p.csv.gz", tmp_path / "page.html"
    text = "\n".join(["graph,prediction", *lines[::-1]])
    table.write_bytes(gzip.compress(text.encode()))
    printed("explore", graphs_file, "--predicted", table, "--projection", "pca", "-o", page)
    header, _ = unpacked(page.read_text("utf-8"))
    found = {column["role"]: column for column in header["columns"]}
    assert found["correct"]["names"] == ["right"]


def test_targets_of_a_table_that_a_command_wrote(graphs_file: Path, tmp_path: Path) -> None:
    first, again = tmp_path / "a.csv", tmp_path / "b.csv"
    fixed = ["--C", 1, "--p", 1, "--scale", 1, "--folds", 3]
    printed("cv", graphs_file, *fixed, "-o", first)
    header, *lines = first.read_text().splitlines()
    first.write_text("\n".join([header, *lines[::-1]]) + "\n")
    printed("cv", graphs_file, "--targets", first, *fixed, "-o", again)
    assert [int(row["target"]) for row in rows_of(again)] == DATA.targets.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (rows("fold,graph", [*range(39)], "{y},{n}") + "0\n", 'line 41: the column "graph" must'),
        (
            rows("graph,fold,x", [*range(40)], "{n},{y}," + "z" * 140_000),
            "is not a table: field larger",
        ),
        (rows("graph,fold", [*range(39)], "{n},{y}") + "3_9,1\n", "from 0, not '3_9'"),
        (rows("fold,fold", [*range(40)], "{n},{y}"), "has 2 columns 'fold'"),
        ("\n", 'has no column "fold"'),
    ],
)
def test_tables_of_folds_are_checked_alike(
    text: str, message: str, graphs_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "split.csv"
    path.write_text(text)
    assert_fails(invoke("cv", graphs_file, "--split", path), message)
