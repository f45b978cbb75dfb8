"""Files of usearch are checked before they are read: the library itself would crash on some."""

import struct
from pathlib import Path

import numpy as np
import pytest

from retgk import InvalidInputError
from retgk.search.vectors import CONNECTIVITY, check_neighbour_file, write_graph


@pytest.fixture(scope="module")
def neighbour_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    vectors = np.random.default_rng(0).integers(-127, 128, (500, 16)).astype(np.int8)
    path = tmp_path_factory.mktemp("usearch") / "graph.usearch"
    write_graph(path, vectors, "int8")
    return path


def checked(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    check_neighbour_file(path, (500, 16), "int8", CONNECTIVITY)


def test_files_of_the_library_pass(neighbour_file: Path) -> None:
    check_neighbour_file(neighbour_file, (500, 16), "int8", CONNECTIVITY)
    wrong = [((499, 16), "int8"), ((500, 8), "int8"), ((500, 8), "float16"), ((0, 16), "int8")]
    for shape, kind in wrong:
        with pytest.raises(InvalidInputError, match="not the graph of neighbours"):
            check_neighbour_file(neighbour_file, shape, kind, CONNECTIVITY)
    with pytest.raises(InvalidInputError, match="number of nodes or neighbours"):
        check_neighbour_file(neighbour_file, (500, 16), "int8", 8)


HEAD = 8 + 500 * 16
CORE, LEVELS = HEAD + 64, HEAD + 64 + 40
NODES = LEVELS + 2 * 500


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (0, struct.pack("<I", 10**9)),  # rows
        (HEAD, b"elsewhere"[:7]),
        (HEAD + 7, struct.pack("<H", 3)),  # version
        (HEAD + 13, bytes([1])),  # metric
        (HEAD + 14, bytes([11])),  # type of vectors
        (HEAD + 25, struct.pack("<Q", 1)),  # deleted rows
        (HEAD + 33, struct.pack("<Q", 2**40)),  # columns
        (CORE, struct.pack("<Q", 2**60)),  # nodes
        (CORE + 8, struct.pack("<Q", 2**31)),  # neighbours
        (CORE + 24, struct.pack("<Q", 2**50)),  # levels
        (CORE + 32, struct.pack("<Q", 500)),  # entry
        (LEVELS, struct.pack("<h", -1)),
        (LEVELS, struct.pack("<h", 30000)),
        (NODES, struct.pack("<Q", 7)),  # key
        (NODES + 8, struct.pack("<h", 5)),  # level
        (NODES + 10, struct.pack("<I", 33)),  # number of neighbours
        (NODES + 14, struct.pack("<I", 500)),  # a neighbour
        (NODES + 14, struct.pack("<I", 2**32 - 1)),
    ],
)
def test_numbers_that_cannot_be_are_seen(
    neighbour_file: Path, tmp_path: Path, at: int, value: bytes
) -> None:
    content = bytearray(neighbour_file.read_bytes())
    content[at : at + len(value)] = value
    with pytest.raises(InvalidInputError, match="not the graph of neighbours"):
        checked(bytes(content), tmp_path / "bad.usearch")


@pytest.mark.parametrize("size", [0, 7, HEAD, HEAD + 80, NODES, NODES + 1000, -1])
def test_files_that_are_cut_off_are_seen(neighbour_file: Path, tmp_path: Path, size: int) -> None:
    content = neighbour_file.read_bytes()
    with pytest.raises(InvalidInputError, match="not the graph of neighbours"):
        checked(content[:size], tmp_path / "bad.usearch")
    with pytest.raises(InvalidInputError, match="not the graph of neighbours"):
        checked(content + b"x", tmp_path / "bad.usearch")


def test_a_neighbour_on_a_level_it_does_not_have_is_seen(
    neighbour_file: Path, tmp_path: Path
) -> None:
    content = bytearray(neighbour_file.read_bytes())
    levels = np.frombuffer(bytes(content[LEVELS:NODES]), "<i2").astype(int)
    high, low = int(np.flatnonzero(levels > 0)[0]), int(np.flatnonzero(levels == 0)[0])
    sizes = 10 + 132 + levels * 68
    at = NODES + int(sizes[:high].sum()) + 10 + 132
    content[at : at + 8] = struct.pack("<2I", 1, low)
    with pytest.raises(InvalidInputError, match=f"node {high} has neighbours"):
        checked(bytes(content), tmp_path / "bad.usearch")
