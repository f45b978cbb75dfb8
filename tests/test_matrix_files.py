"""Adjacency matrices from files of NumPy, MATLAB and plain numbers, and their tables of targets."""

import gzip
import struct
import zipfile
import zlib

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from retgk import InvalidInputError, from_numpy, read_graphs
from retgk.io.formats import format_of
from tests.cli_calls import assert_fails, invoke

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


def test_parallel_entries_of_a_file_add_up_in_float64(tmp_path):
    ends = np.repeat([0, 1], 300)
    matrix = sparse.coo_array((np.ones(600, np.uint8), (ends, ends[::-1])), shape=(2, 2))
    sparse.save_npz(tmp_path / "parallel.npz", matrix)
    graphs = read_graphs(tmp_path / "parallel.npz").graphs
    assert graphs == from_numpy(np.array([[0, 300], [300, 0]]))


def test_variables(tmp_path):
    np.savez(tmp_path / "all.npz", x=TRIANGLE, y=WEIGHTED)
    assert read_graphs(tmp_path / "all.npz").graph_names == ["all-x", "all-y"]
    assert read_graphs(tmp_path / "all.npz", variable="y").graphs == from_numpy(WEIGHTED)
    savemat(tmp_path / "some.mat", {"W": TRIANGLE, "age": 3.0, "who": "me", "cells": [{}]})
    assert read_graphs(tmp_path / "some.mat", variable="W").graphs == from_numpy(TRIANGLE)
    with pytest.raises(InvalidInputError, match=r"no variable 'Z'; choose one of 'x' \(3, 3\), "):
        read_graphs(tmp_path / "all.npz", variable="Z")
    with pytest.raises(InvalidInputError, match="'who' is a char, not a matrix of numbers"):
        read_graphs(tmp_path / "some.mat")


def test_a_folder_and_its_targets(tmp_path):
    for number in range(12):
        np.save(tmp_path / f"sub.{number}.npy", TRIANGLE * (number + 1))
    rows = [f"data/sub.{number}.npy,{number % 2},{number / 4}\n" for number in reversed(range(12))]
    (tmp_path / "targets.csv").write_text("file,sick,score\n" + "".join(rows))
    data = read_graphs(tmp_path, targets=tmp_path / "targets.csv", target_column="sick")
    assert data.graph_names[:4] == ["sub.0", "sub.1", "sub.10", "sub.11"]
    assert data.targets.tolist() == [int(name[4:]) % 2 for name in data.graph_names]
    assert data.graphs[3] == from_numpy(TRIANGLE * 12)
    with pytest.raises(InvalidInputError, match="may hold the targets; name one of sick, score"):
        read_graphs(tmp_path, targets=tmp_path / "targets.csv")


def test_tables_are_matrices_where_there_is_nothing_else(tmp_path):
    for name in "ab":
        write_csv(tmp_path / f"{name}.csv", TRIANGLE)
    (tmp_path / "y.csv").write_text("b.csv,1.5\na.csv,2.5\n")
    data = read_graphs(tmp_path, targets=tmp_path / "y.csv")
    assert data.targets.tolist() == [2.5, 1.5]
    with pytest.raises(InvalidInputError, match=r"y.csv, line 1, column 1: 'b.csv' is not a num"):
        read_graphs(tmp_path)


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
        ("y.csv", "name,target\nb,1\nb,2\n", "line 3 names 'b' a second time"),
        (
            "y.csv",
            "name,y\na,1\nc,2\n",
            r"names without a graph \(1\): 'c' and no target for graphs \(1\): 'b'",
        ),
        ("y.csv", "name,y\na,1\n", r"no target for graphs \(1\): 'b'; give every graph one row"),
        ("y.csv", "name,y\na,1\nb,\n", "line 3 has no target"),
        ("y.csv", "u,v\n1,2\n", "may hold the targets; name one of u, v with target_column="),
        ("y.csv", "a,1,2\nb,3,4\n", "may hold the targets; give it a first line of column names"),
        ("y.csv", "u,target\n1,2\n", "has 1 lines for 2 graphs; give one line for each graph"),
        ("y.txt", "1\n\n", "line 2 is empty; give a target for each graph"),
        ("y.txt", "", "has 0 lines for 2 graphs"),
    ],
)
def test_targets(name, text, targets, tmp_path):
    (tmp_path / "graphs").mkdir()
    for graph in "ab":
        np.save(tmp_path / "graphs" / f"{graph}.npy", TRIANGLE)
    (tmp_path / name).write_text(text)
    if isinstance(targets, str):
        with pytest.raises(InvalidInputError, match=targets):
            read_graphs(tmp_path / "graphs", targets=tmp_path / name)
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
        (np.ones((2, 3)), r"m.npy: an adjacency matrix is square, got shape \(2, 3\)"),
        (np.ones(3), "an adjacency matrix is square"),
        (np.ones((2, 2), complex), "weights must be numbers, got complex128"),
        (
            changed(1, 3, -1),
            r"m.npy: .*node 1 to node 3 has weight -1.0; weights",
        ),
        (changed(2, 0, np.nan), "node 2 to node 0 has weight nan; weights must be finite"),
        (
            changed(0, 1, 3),
            "m.npy: graph 0 is not symmetric: the edge from node 0 to node 1 has weight 3, the one "
            "back has weight 0.5; .*symmetrize=True",
        ),
        (
            np.stack([WEIGHTED, changed(0, 1, np.inf)]),
            r"m.npy: graph 1: .* weight inf",
        ),
    ],
)
def test_bad_entries(matrix, message, tmp_path):
    np.save(tmp_path / "m.npy", matrix)
    with pytest.raises(InvalidInputError, match=message):
        read_graphs(tmp_path / "m.npy")


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
        ("0,1,x\n", "line 1, column 3: 'x' is not a number; a file of a matrix has numbers, and"),
        ("0,1\n1\n", "line 2 has 1 columns, the first one has 2"),
        ("0,1_0\n", "column 2: '1_0' is not a number"),
        ("# nothing\n", "holds no numbers"),
        (
            "0 1 2\n1 0 2\n",
            "has 2 rows of 3 numbers, and an adjacency matrix is square; if one row",
        ),
        ("0,1,2\n0,3,5\n3,0,4\n5,4,0\n", "has 4 rows of 3 numbers, and an adjacency"),
        ("0 1 2 3 4\n", r"square, got shape \(1, 5\)"),
    ],
)
def test_bad_tables(text, message, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        read_graphs(tmp_path / "t.csv", format="matrices")


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
    with pytest.raises(InvalidInputError, match=r"x\.npy"):
        read_graphs(tmp_path / "x.npy")


def test_archives_that_unpack_to_much(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy_header((4200, 4200)) + bytes(8 * 4200 * 4200))
    assert path.stat().st_size < 10**6
    with pytest.raises(InvalidInputError, match=r"would take .* bytes of memory"):
        read_graphs(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("code.py", "import os")
    with pytest.raises(InvalidInputError, match=r"'code.py' is not an array"):
        read_graphs(path)


def test_sparse_matrices_that_lead_outside(tmp_path):
    path = tmp_path / "x.npz"
    parts = {"format": b"csr", "shape": [3, 3], "data": [1.0, 1.0], "indptr": [0, 1, 2, 2]}
    for indices, indptr in (([1, 10**6], [0, 1, 2, 2]), ([1, 0], [0, 1, 3, 2]), ([1, 0], [0, 1])):
        np.savez(path, indices=np.array(indices), **{**parts, "indptr": np.array(indptr)})
        with pytest.raises(InvalidInputError, match=r"x\.npz"):
            read_graphs(path)
    huge = {"format": b"coo", "shape": [2**40, 2**40], "data": [1.0], "row": [0], "col": [0]}
    np.savez(path, **huge)
    with pytest.raises(InvalidInputError, match=r"a sparse matrix of shape \(1099511627776, "):
        read_graphs(path)


def test_matlab_files_that_are_not_read(tmp_path):
    path = tmp_path / "x.mat"
    savemat(path, {"W": TRIANGLE}, do_compression=True)
    header = path.read_bytes()[:128]
    bomb = zlib.compress(bytes(2 * 10**8))
    path.write_bytes(header + struct.pack("<2I", 15, len(bomb)) + bomb)
    with pytest.raises(InvalidInputError, match=r"would take .* bytes of memory"):
        read_graphs(path)
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(500))
    with pytest.raises(InvalidInputError, match=r"of version 7.3, which is not read"):
        read_graphs(path)
    path.write_bytes(header + b"nothing that is a variable")
    with pytest.raises(InvalidInputError, match=r"x.mat"):
        read_graphs(path)
    savemat(path, {"cells": np.array([TRIANGLE, WEIGHTED], dtype=object)})
    with pytest.raises(InvalidInputError, match="'cells' is a cell, not a matrix of numbers"):
        read_graphs(path)


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
        with pytest.raises(InvalidInputError, match="no cell names a graph; those of column 'subj"):
            read_graphs(tmp_path, targets=table)


@pytest.mark.parametrize("dtype", [">f8", "<f2", ">i2"])
def test_numbers_of_any_machine(tmp_path, dtype):
    """SciPy knows neither halves of floats nor the other order of bytes."""
    matrix = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]], dtype)
    np.save(tmp_path / "good.npy", matrix)
    assert read_graphs(tmp_path / "good.npy").graphs == from_numpy(matrix.astype(float))
    matrix[0, 1] = 3
    np.save(tmp_path / "bad.npy", matrix)
    with pytest.raises(InvalidInputError, match="node 0 to node 1 has weight 3, the one back"):
        read_graphs(tmp_path / "bad.npy")
