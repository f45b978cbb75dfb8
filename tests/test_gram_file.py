"""Matrices on disk: the same as in memory, whatever happens on the way."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from retgk import InvalidInputError, Laplacian, RetGKKernel, save_model, write_mean_embedding_gram
from retgk.estimators import gram_file
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.walks.probabilities import Walks
from tests.kernel_graphs import assert_close, graphs_of_kind


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
