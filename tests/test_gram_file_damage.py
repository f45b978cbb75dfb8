"""Unfinished matrices that are not what was written, several writers, and disks that fill up."""

import json
import os
import subprocess
import sys
from errno import ENOSPC
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgk import InvalidInputError, RetGKKernel, write_mean_embedding_gram
from retgk.estimators import gram_file
from retgk.kernels.exact import ExactEngine
from tests.kernel_graphs import graphs_of_kind

N_GRAPHS = 30
GRAPHS = graphs_of_kind("both", N_GRAPHS)
KERNEL = RetGKKernel(random_state=0)


class Begun:
    """A matrix of which two blocks of seven rows are finished."""

    def __init__(self, folder: Path) -> None:
        self.target = folder / "gram.npy"
        self.partial = folder / "gram.npy.partial"
        self.journal = folder / "gram.npy.partial.json"

    def change_journal(self, **facts: Any) -> None:
        self.journal.write_text(json.dumps({**json.loads(self.journal.read_text()), **facts}))

    def change_bytes(self, offset: int, content: bytes) -> None:
        with self.partial.open("r+b") as stream:
            stream.seek(offset)
            stream.write(content)

    def save(self, matrix: Any) -> None:
        with self.partial.open("wb") as stream:
            np.save(stream, matrix)


def write(begun: Begun) -> Any:
    return write_mean_embedding_gram(begun.target, GRAPHS, kernel=KERNEL)


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Begun:
    monkeypatch.setattr(gram_file, "BLOCK_BYTES", 8 * N_GRAPHS * 7)
    products, rows_done = ExactEngine.inner_products, set()

    def products_or_death(engine: Any, rows: Any = None, columns: Any = None) -> Any:
        rows_done.add(rows.start)
        if len(rows_done) > 2:
            raise KeyboardInterrupt
        return products(engine, rows, columns)

    found = Begun(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(ExactEngine, "inner_products", products_or_death)
        with pytest.raises(KeyboardInterrupt):
            write(found)
    assert json.loads(found.journal.read_text())["rows"] == 14
    return found


def damaged(begun: Begun) -> Any:
    return np.load(begun.partial).copy()


DAMAGE = {
    "truncated": (lambda b: os.truncate(b.partial, 128 + 8 * N_GRAPHS * 9), "is too short for the"),
    "truncated and grown": (
        lambda b: (os.truncate(b.partial, 1000), os.truncate(b.partial, 128 + 8 * N_GRAPHS**2)),
        "its rows are not those that were written",
    ),
    "empty": (lambda b: os.truncate(b.partial, 0), "is too short for the 14 rows it had"),
    "zeros": (lambda b: b.save(np.zeros((N_GRAPHS, N_GRAPHS))), "its rows are not those"),
    "float32": (lambda b: b.save(damaged(b).astype(np.float32)), "rows of float64"),
    "integers": (lambda b: b.save(np.ones((N_GRAPHS, N_GRAPHS), int)), "rows of float64"),
    "Fortran": (lambda b: b.save(np.asfortranarray(damaged(b))), "rows of float64"),
    "other shape": (lambda b: b.save(np.zeros((N_GRAPHS // 2, 2 * N_GRAPHS))), "rows of float64"),
    "larger": (lambda b: b.save(np.zeros((40, 40))), "has more than the 30 rows of the matrix"),
    "one bit": (lambda b: b.change_bytes(128 + 8 * N_GRAPHS * 13, b"\x01"), "its rows are not"),
    "too many rows": (lambda b: b.change_journal(rows=N_GRAPHS + 1), "has more than the 30 rows"),
    "all rows": (lambda b: b.change_journal(rows=N_GRAPHS), "its rows are not those"),
    "fewer rows": (lambda b: b.change_journal(rows=7), "its rows are not those"),
    "rows below 0": (lambda b: b.change_journal(rows=-1), "does not tell how far"),
    "no whole rows": (lambda b: b.change_journal(rows=7.5), "does not tell how far"),
    "no digest": (lambda b: b.change_journal(sha256=None), "does not tell how far"),
    "other format": (lambda b: b.change_journal(format=3), "does not tell how far"),
    "no journal": (lambda b: b.journal.unlink(), "has no journal beside it; remove it and"),
    "not text": (lambda b: b.journal.write_bytes(b"\xff\xfe"), "does not tell how far"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_matrix_is_not_continued(name: str, begun: Begun) -> None:
    change, message = DAMAGE[name]
    change(begun)
    before = begun.partial.read_bytes()
    with pytest.raises(InvalidInputError, match=message):
        write(begun)
    assert not begun.target.exists()
    assert begun.partial.read_bytes() == before


def test_matrix_of_an_earlier_version_is_not_continued(begun: Begun) -> None:
    state = json.loads(begun.journal.read_text())
    old = {name: state[name] for name in ("fingerprint", "rows", "seed")}
    begun.journal.write_text(json.dumps(old))
    with pytest.raises(InvalidInputError, match="begun by an earlier version of retgk; remove it"):
        write(begun)


def test_undamaged_matrix_is_continued_to_the_same_bits(begun: Begun, tmp_path: Path) -> None:
    write(begun)
    whole = write_mean_embedding_gram(tmp_path / "whole.npy", GRAPHS, kernel=KERNEL)
    assert begun.target.read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert whole.flags.c_contiguous
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gram.npy", "whole.npy"]


def test_rows_that_were_being_written_are_made_again(begun: Begun, tmp_path: Path) -> None:
    begun.change_bytes(128 + 8 * N_GRAPHS * 14, b"half a block" * 99)
    write(begun)
    write_mean_embedding_gram(tmp_path / "whole.npy", GRAPHS, kernel=KERNEL)
    assert begun.target.read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_kill_after_the_last_step_but_one(begun: Begun, tmp_path: Path) -> None:
    """The matrix is there, its journal too; the latter is gone after the next call."""
    text = begun.journal.read_text()
    write(begun)
    begun.journal.write_text(text)
    with pytest.raises(InvalidInputError, match="exists; remove it"):
        write(begun)
    assert [path.name for path in tmp_path.iterdir()] == ["gram.npy"]


# Several writers

WRITER = """
import sys, time
from retgk import RetGKKernel, write_mean_embedding_gram
from retgk.kernels.exact import ExactEngine
from retgk.estimators import gram_file
from tests.kernel_graphs import graphs_of_kind
gram_file.BLOCK_BYTES = 8 * 30 * 7
products = ExactEngine.inner_products
def slow(*arguments):
    print("writing", flush=True)
    time.sleep(float(sys.argv[2]))
    return products(*arguments)
ExactEngine.inner_products = slow
kernel = RetGKKernel(random_state=0)
write_mean_embedding_gram(sys.argv[1], graphs_of_kind("both", 30), kernel=kernel)
"""


def test_second_writer_is_refused_and_a_dead_one_is_not_waited_for(tmp_path: Path) -> None:
    begun = Begun(tmp_path)
    command = [sys.executable, "-c", WRITER, str(begun.target), "600"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    before = begun.partial.read_bytes(), begun.journal.read_bytes()
    with pytest.raises(InvalidInputError, match=r"another run is writing to .*gram.npy; wait for"):
        write(begun)
    assert (begun.partial.read_bytes(), begun.journal.read_bytes()) == before
    process.kill()
    process.communicate()
    write(begun)
    assert [path.name for path in tmp_path.iterdir()] == ["gram.npy"]


def test_two_writers_at_once_give_one_right_matrix(tmp_path: Path) -> None:
    begun = Begun(tmp_path)
    command = [sys.executable, "-c", WRITER, str(begun.target), "0.05"]
    processes = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    errors = [process.communicate()[1].decode() for process in processes]
    assert [process.returncode for process in processes].count(0) >= 1, errors
    for error in filter(None, errors):
        assert "another run is writing to" in error or "exists; remove it" in error, error
    whole = write_mean_embedding_gram(tmp_path / "whole.npy", GRAPHS, kernel=KERNEL)
    np.testing.assert_allclose(np.load(begun.target), whole, atol=1e-6)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gram.npy", "whole.npy"]


# Disks that fill up


def test_disk_that_is_too_small_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"No space left on device: .*gram.npy'"):
        write(Begun(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_file_system_that_reserves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = write(Begun(tmp_path)).copy()

    def unknown(*_: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unknown)
    (tmp_path / "gram.npy").unlink()
    np.testing.assert_array_equal(write(Begun(tmp_path)), whole)


def test_links_to_a_new_matrix_are_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "gram.npy").symlink_to("far/target.npy")
    write(Begun(tmp_path))
    assert (tmp_path / "gram.npy").is_symlink()
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["target.npy"]
