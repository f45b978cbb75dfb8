"""Matrices on disk: the same as in memory, whatever happens on the way."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from retgk import RetGK, save_model
from retgk.estimators import gram_file
from retgk.kernels import Laplacian, write_mean_embedding_gram
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.walks.probabilities import Walks
from tests.errors import fails
from tests.example_graphs import assert_close, graphs_of_kind


def test_gram_file_equals_the_matrix_in_memory(tmp_path, monkeypatch):
    graphs = graphs_of_kind("both", 30)
    kernel = RetGK(tol=0, random_state=0)
    monkeypatch.setattr(gram_file, "BLOCK_BYTES", 8 * 30 * 7)
    matrix = write_mean_embedding_gram(tmp_path / "gram.npy", graphs, kernel=kernel)
    assert np.array_equal(matrix, matrix.T)
    assert_close(np.asarray(matrix), kernel.fit(graphs).inner_products_, 1e-13)
    assert [path.name for path in tmp_path.iterdir()] == ["gram.npy"]
    fails(lambda: write_mean_embedding_gram(tmp_path / "gram.npy", graphs, kernel=kernel), "exists")


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


def started(path: Path, seconds: float) -> subprocess.Popen[str]:
    """A process that writes the matrix, and sleeps before every tile."""
    command = [sys.executable, "-c", WRITER, str(path), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_killed_gram_file_resumes_to_the_same_matrix(tmp_path):
    undisturbed, killed = tmp_path / "undisturbed.npy", tmp_path / "killed.npy"
    started(undisturbed, 0).communicate()
    process = started(killed, 0.1)
    journal = tmp_path / "killed.npy.partial.json"
    deadline = time.monotonic() + 60
    while not journal.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert journal.exists()
    assert not killed.exists()
    started(killed, 0).communicate()
    assert killed.read_bytes() == undisturbed.read_bytes()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_blocks", [0, 2])
@pytest.mark.parametrize(
    "options",
    [{}, {"kernel": RetGK(walks=Walks(method="monte-carlo", n_walks=9))}],
    ids=["plain", "walks"],
)
def test_call_without_a_seed_can_be_continued(tmp_path, monkeypatch, options, n_blocks):
    graphs, path = graphs_of_kind("both", 30), tmp_path / "gram.npy"
    write_until_killed(path, graphs, n_blocks, monkeypatch, **options)
    seed = json.loads((tmp_path / "gram.npy.partial.json").read_text())["seed"]
    matrix = write_mean_embedding_gram(path, graphs, **options)
    same = clone(options.get("kernel", RetGK())).set_params(random_state=seed)
    whole = write_mean_embedding_gram(tmp_path / "whole.npy", graphs, kernel=same)
    np.testing.assert_array_equal(matrix, whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gram.npy", "whole.npy"]


@pytest.mark.usefixtures("small_blocks")
def test_journal_of_another_matrix_is_not_believed(tmp_path, monkeypatch):
    graphs, path = graphs_of_kind("both", 30), tmp_path / "gram.npy"
    kernel = RetGK(random_state=0)
    write_until_killed(path, graphs, 3, monkeypatch, kernel=kernel)
    (tmp_path / "gram.npy.partial").unlink()
    write_until_killed(path, graphs, 0, monkeypatch, kernel=kernel)
    matrix = write_mean_embedding_gram(path, graphs, kernel=kernel)
    assert (np.diag(matrix) > 0).all()
    whole = write_mean_embedding_gram(tmp_path / "whole.npy", graphs, kernel=kernel)
    np.testing.assert_array_equal(matrix, whole)


def test_digest_knows_everything_that_matters():
    graphs = graphs_of_kind("attributes", 6)

    def digest(batch=graphs, n_steps=4, **options):
        given = {"tol": 0.0, "structure": Laplacian(1.0), "random_state": 0, **options}
        return ExactEngine(**given).fit(NodeFeatures(batch, Walks(n_steps))).digest()

    other_attributes = graphs.with_attributes(graphs.attributes[::-1])
    digests = {
        digest(),
        digest(n_steps=5),
        digest(tol=1e-4),
        digest(structure=Laplacian(2.0)),
        digest(graphs[::-1]),
        digest(graphs[:5]),
        digest(other_attributes),
    }
    assert len(digests) == 7
    assert digest() in digests


def test_disk_that_is_full(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=8 * 30**2 - 1)
    monkeypatch.setattr(gram_file.shutil, "disk_usage", lambda _: usage)
    monkeypatch.setattr(Walks, "probabilities", lambda *_, **__: pytest.fail("works"))
    for name, about in (("gram.npy", "GiB"), ("no/gram.npy", "folder")):
        fails(lambda name=name: write_mean_embedding_gram(tmp_path / name, GRAPHS), about)


def test_kernel_is_left_as_it_is(tmp_path):
    graphs = graphs_of_kind("both", 12)
    kernel = RetGK(random_state=0).fit(graphs[:6])
    before = kernel.transform(graphs), kernel.structure_, kernel.label_names_
    write_mean_embedding_gram(tmp_path / "gram.npy", graphs, kernel=kernel)
    np.testing.assert_array_equal(kernel.transform(graphs), before[0])
    assert (kernel.structure_, kernel.label_names_) == before[1:]
    unfitted = RetGK(random_state=0)
    write_mean_embedding_gram(tmp_path / "other.npy", graphs, kernel=unfitted)
    with pytest.raises(NotFittedError):
        save_model(unfitted, tmp_path / "model.retgk")


# Unfinished matrices that are not what was written, several writers, and disks that fill up

N_GRAPHS = 30
GRAPHS = graphs_of_kind("both", N_GRAPHS)
KERNEL = RetGK(random_state=0)


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
    found = Begun(tmp_path)
    write_until_killed(found.target, GRAPHS, 2, monkeypatch, kernel=KERNEL)
    assert json.loads(found.journal.read_text())["rows"] == 14
    return found


def damaged(begun: Begun) -> Any:
    return np.load(begun.partial).copy()


def sparse(begun: Begun) -> None:
    os.truncate(begun.partial, 1000)
    os.truncate(begun.partial, 128 + 8 * N_GRAPHS**2)


def journal(**facts: Any) -> Callable[[Begun], None]:
    return lambda begun: begun.change_journal(**facts)


def matrix(change: Callable[[Any], Any]) -> Callable[[Begun], None]:
    return lambda begun: begun.save(change(damaged(begun)))


DAMAGE: dict[str, tuple[Callable[[Begun], Any], Any]] = {
    "truncated": (lambda b: os.truncate(b.partial, 128 + 8 * N_GRAPHS * 9), "short"),
    "truncated and grown": (sparse, "rows"),
    "empty": (lambda b: os.truncate(b.partial, 0), ("short", "14 rows")),
    "zeros": (matrix(np.zeros_like), "rows"),
    "float32": (matrix(np.float32), "float64"),
    "integers": (matrix(np.int64), "float64"),
    "Fortran": (matrix(np.asfortranarray), "float64"),
    "other shape": (matrix(lambda values: values.reshape(15, 60)), "float64"),
    "larger": (matrix(lambda _: np.zeros((40, 40))), "30 rows"),
    "one bit": (lambda b: b.change_bytes(128 + 8 * N_GRAPHS * 13, b"\x01"), "rows"),
    "too many rows": (journal(rows=N_GRAPHS + 1), "30 rows"),
    "all rows": (journal(rows=N_GRAPHS), "rows"),
    "fewer rows": (journal(rows=7), "rows"),
    "other graphs": (journal(fingerprint="of others"), "other graphs or parameters"),
    "no journal": (lambda b: b.journal.unlink(), "journal"),
    **{
        f"journal {number}": (lambda b, text=text: b.journal.write_bytes(text), "partial.json")
        for number, text in enumerate((b"", b"[]", b"null", b'{"rows": 3}', b"\xff\xfe"))
    },
    **{
        f"journal of {facts}": (journal(**facts), "partial.json")
        for facts in ({"rows": -1}, {"rows": 7.5}, {"sha256": None}, {"format": 3})
    },
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_matrix_is_not_continued(name: str, begun: Begun) -> None:
    change, about = DAMAGE[name]
    change(begun)
    before = begun.partial.read_bytes()
    message = fails(lambda: write(begun))
    assert [
        fact for fact in ([about] if isinstance(about, str) else about) if fact not in message
    ] == []
    assert not begun.target.exists()
    assert begun.partial.read_bytes() == before


@pytest.mark.parametrize("is_being_written", [False, True])
def test_undamaged_matrix_is_continued_to_the_same_bits(
    begun: Begun, tmp_path: Path, is_being_written: bool
) -> None:
    if is_being_written:
        begun.change_bytes(128 + 8 * N_GRAPHS * 14, b"half a block" * 99)
    write(begun)
    whole = write_mean_embedding_gram(tmp_path / "whole.npy", GRAPHS, kernel=KERNEL)
    assert begun.target.read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert whole.flags.c_contiguous
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gram.npy", "whole.npy"]


def test_kill_after_the_last_step_but_one(begun: Begun, tmp_path: Path) -> None:
    """The matrix is there, its journal too; the latter is gone after the next call."""
    text = begun.journal.read_text()
    write(begun)
    begun.journal.write_text(text)
    fails(lambda: write(begun), "exists")
    assert [path.name for path in tmp_path.iterdir()] == ["gram.npy"]


# Several writers

WRITER = """
import sys, time
from retgk import RetGK
from retgk.kernels import write_mean_embedding_gram
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
kernel = RetGK(random_state=0)
write_mean_embedding_gram(sys.argv[1], graphs_of_kind("both", 30), kernel=kernel)
"""


@pytest.mark.slow
def test_second_writer_is_refused_and_a_dead_one_is_not_waited_for(tmp_path: Path) -> None:
    begun = Begun(tmp_path)
    process = started(begun.target, 600)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    before = begun.partial.read_bytes(), begun.journal.read_bytes()
    assert "gram.npy" in fails(lambda: write(begun), "another run")
    assert (begun.partial.read_bytes(), begun.journal.read_bytes()) == before
    process.kill()
    process.communicate()
    write(begun)
    assert [path.name for path in tmp_path.iterdir()] == ["gram.npy"]


@pytest.mark.slow
def test_two_writers_at_once_give_one_right_matrix(tmp_path: Path) -> None:
    begun = Begun(tmp_path)
    processes = [started(begun.target, 0.05) for _ in range(3)]
    errors = [process.communicate()[1] for process in processes]
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
