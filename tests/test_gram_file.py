"""Matrices on disk: the same as in memory, whatever happens on the way."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from errno import ENOSPC
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from retgk import InvalidInputError, Laplacian, RetGKKernel, save_model, write_mean_embedding_gram
from retgk.estimators import gram_file
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.walks.probabilities import Walks
from tests.example_graphs import assert_close, graphs_of_kind


def test_gram_file_equals_the_matrix_in_memory(tmp_path, monkeypatch):
    graphs = graphs_of_kind("both", 30)
    kernel = RetGKKernel(tol=0, random_state=0)
    monkeypatch.setattr(gram_file, "BLOCK_BYTES", 8 * 30 * 7)
    matrix = write_mean_embedding_gram(tmp_path / "gram.npy", graphs, kernel=kernel)
    assert np.array_equal(matrix, matrix.T)
    assert_close(np.asarray(matrix), kernel.fit(graphs).inner_products_, 1e-13)
    assert [path.name for path in tmp_path.iterdir()] == ["gram.npy"]
    with pytest.raises(InvalidInputError, match="exists; remove it"):
        write_mean_embedding_gram(tmp_path / "gram.npy", graphs, kernel=kernel)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(gram_file, "BLOCK_BYTES", 8 * 30 * 7)


def write_until_killed(path, graphs, n_blocks, monkeypatch, **options):
    """Write some blocks, then stop as a kill would."""
    products, n_done = ExactEngine.inner_products, []

    def products_or_death(engine, rows=None, columns=None):
        if rows == columns:  # the first part of a block of rows
            if len(n_done) == n_blocks:
                raise KeyboardInterrupt
            n_done.append(1)
        return products(engine, rows, columns)

    with monkeypatch.context() as patch:
        patch.setattr(ExactEngine, "inner_products", products_or_death)
        with pytest.raises(KeyboardInterrupt):
            write_mean_embedding_gram(path, graphs, **options)


@pytest.mark.usefixtures("small_blocks")
def test_gram_file_of_other_graphs_is_not_continued(tmp_path, monkeypatch):
    graphs, path = graphs_of_kind("both", 30), tmp_path / "gram.npy"
    write_until_killed(path, graphs, 1, monkeypatch, kernel=RetGKKernel(random_state=0))
    with pytest.raises(InvalidInputError, match="was begun with other graphs or parameters"):
        write_mean_embedding_gram(path, graphs[::-1], kernel=RetGKKernel(random_state=0))


KILLED = """
import sys, time
from retgk import RetGKKernel, make_graph_classification, write_mean_embedding_gram
from retgk.kernels.exact import ExactEngine
from retgk.estimators import gram_file
gram_file.BLOCK_BYTES = 8 * 40 * 4
products, slow = ExactEngine.inner_products, float(sys.argv[2])
ExactEngine.inner_products = lambda *arguments: (time.sleep(slow), products(*arguments))[1]
graphs = make_graph_classification(n_graphs=40, n_labels=3, random_state=0).graphs
write_mean_embedding_gram(sys.argv[1], graphs, kernel=RetGKKernel(random_state=0))
"""


def test_killed_gram_file_resumes_to_the_same_matrix(tmp_path):
    undisturbed, killed = tmp_path / "undisturbed.npy", tmp_path / "killed.npy"
    subprocess.run([sys.executable, "-c", KILLED, undisturbed, "0"], check=True)
    process = subprocess.Popen([sys.executable, "-c", KILLED, killed, "0.1"])
    journal = tmp_path / "killed.npy.partial.json"
    deadline = time.monotonic() + 60
    while not journal.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert journal.exists()
    assert not killed.exists()
    subprocess.run([sys.executable, "-c", KILLED, killed, "0"], check=True)
    assert killed.read_bytes() == undisturbed.read_bytes()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_blocks", [0, 2])
@pytest.mark.parametrize(
    "options",
    [{}, {"kernel": RetGKKernel(method="monte-carlo", n_walks=9)}],
    ids=["plain", "walks"],
)
def test_call_without_a_seed_can_be_continued(tmp_path, monkeypatch, options, n_blocks):
    graphs, path = graphs_of_kind("both", 30), tmp_path / "gram.npy"
    write_until_killed(path, graphs, n_blocks, monkeypatch, **options)
    seed = json.loads((tmp_path / "gram.npy.partial.json").read_text())["seed"]
    matrix = write_mean_embedding_gram(path, graphs, **options)
    same = options.get("kernel", RetGKKernel())
    same = RetGKKernel(**{**same.get_params(), "random_state": seed})
    whole = write_mean_embedding_gram(tmp_path / "whole.npy", graphs, kernel=same)
    np.testing.assert_array_equal(matrix, whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gram.npy", "whole.npy"]


@pytest.mark.usefixtures("small_blocks")
def test_journal_of_another_matrix_is_not_believed(tmp_path, monkeypatch):
    graphs, path = graphs_of_kind("both", 30), tmp_path / "gram.npy"
    kernel = RetGKKernel(random_state=0)
    write_until_killed(path, graphs, 3, monkeypatch, kernel=kernel)
    (tmp_path / "gram.npy.partial").unlink()
    write_until_killed(path, graphs, 0, monkeypatch, kernel=kernel)
    matrix = write_mean_embedding_gram(path, graphs, kernel=kernel)
    assert (np.diag(matrix) > 0).all()
    whole = write_mean_embedding_gram(tmp_path / "whole.npy", graphs, kernel=kernel)
    np.testing.assert_array_equal(matrix, whole)


@pytest.mark.parametrize("text", ["", "[]", '{"rows": 3}', "null"])
def test_journal_that_cannot_be_read(tmp_path, text):
    path = tmp_path / "gram.npy"
    (tmp_path / "gram.npy.partial").write_bytes(b"")
    (tmp_path / "gram.npy.partial.json").write_text(text)
    with pytest.raises(InvalidInputError, match=r"partial.json does not tell how far"):
        write_mean_embedding_gram(path, graphs_of_kind("both", 3))


def test_digest_knows_everything_that_matters():
    graphs = graphs_of_kind("attributes", 6)

    def digest(batch=graphs, n_steps=4, **options):
        given = {"tol": 0.0, "structure_kernel": Laplacian(1.0), "random_state": 0, **options}
        return ExactEngine(**given).fit(NodeFeatures(batch, Walks(n_steps))).digest()

    other_attributes = graphs.with_attributes(graphs.attributes[::-1])
    digests = {
        digest(),
        digest(n_steps=5),
        digest(tol=1e-4),
        digest(structure_kernel=Laplacian(2.0)),
        digest(graphs[::-1]),
        digest(graphs[:5]),
        digest(other_attributes),
    }
    assert len(digests) == 7
    assert digest() in digests


def test_disk_that_is_full(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        gram_file.shutil, "disk_usage", lambda _: usage._replace(free=8 * 30**2 - 1)
    )

    def work(*_args, **_options):
        raise AssertionError("return probabilities were computed")

    monkeypatch.setattr(Walks, "probabilities", work)
    with pytest.raises(InvalidInputError, match=r"the matrix takes 0.0 GiB, but only 0.0 GiB are"):
        write_mean_embedding_gram(tmp_path / "gram.npy", graphs_of_kind("both", 30))
    with pytest.raises(InvalidInputError, match="is not a folder; make it first"):
        write_mean_embedding_gram(tmp_path / "no" / "gram.npy", graphs_of_kind("both", 30))


def test_kernel_is_left_as_it_is(tmp_path):
    graphs = graphs_of_kind("both", 12)
    kernel = RetGKKernel(random_state=0).fit(graphs[:6])
    before = kernel.transform(graphs), kernel.structure_kernel_, kernel.label_names_
    write_mean_embedding_gram(tmp_path / "gram.npy", graphs, kernel=kernel)
    np.testing.assert_array_equal(kernel.transform(graphs), before[0])
    assert (kernel.structure_kernel_, kernel.label_names_) == before[1:]
    unfitted = RetGKKernel(random_state=0)
    write_mean_embedding_gram(tmp_path / "other.npy", graphs, kernel=unfitted)
    with pytest.raises(NotFittedError):
        save_model(unfitted, tmp_path / "model.retgk")


# Unfinished matrices that are not what was written, several writers, and disks that fill up

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
from tests.example_graphs import graphs_of_kind
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
