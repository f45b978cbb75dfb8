"""Matrices on disk: the same as in memory, whatever happens on the way."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from retgk import (
    InvalidInputError,
    Laplacian,
    RetGKKernel,
    save_model,
    write_mean_embedding_gram,
)
from retgk.engine.exact.reduction import reduced_points
from retgk.estimators import gram_file
from tests.kernel_graphs import assert_close, graphs_of_kind


def test_gram_file_equals_the_matrix_in_memory(tmp_path, monkeypatch):
    graphs = graphs_of_kind("both", 30)
    kernel = RetGKKernel(tol=0, random_state=0)
    monkeypatch.setattr(gram_file, "_BLOCK_BYTES", 8 * 30 * 7)
    matrix = write_mean_embedding_gram(tmp_path / "gram.npy", graphs, kernel=kernel)
    assert np.array_equal(matrix, matrix.T)
    assert_close(np.asarray(matrix), kernel.fit(graphs).inner_products_, 1e-13)
    assert [path.name for path in tmp_path.iterdir()] == ["gram.npy"]
    with pytest.raises(InvalidInputError, match="exists; remove it"):
        write_mean_embedding_gram(tmp_path / "gram.npy", graphs, kernel=kernel)


def test_gram_file_of_other_graphs_is_not_continued(tmp_path, monkeypatch):
    graphs = graphs_of_kind("both", 30)
    monkeypatch.setattr(gram_file, "_BLOCK_BYTES", 8 * 30 * 7)
    monkeypatch.setattr(gram_file, "_fill_rows", fail_at_second_call(gram_file._fill_rows))
    with pytest.raises(KeyboardInterrupt):
        write_mean_embedding_gram(tmp_path / "gram.npy", graphs, kernel=RetGKKernel(random_state=0))
    with pytest.raises(InvalidInputError, match="was begun with other graphs or parameters"):
        write_mean_embedding_gram(
            tmp_path / "gram.npy", graphs[::-1], kernel=RetGKKernel(random_state=0)
        )


def fail_at_second_call(function):
    calls = []

    def wrapped(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return function(*arguments)

    return wrapped


KILLED = """
import sys, time
from retgk import RetGKKernel, make_graph_classification, write_mean_embedding_gram
from retgk.estimators import gram_file
gram_file._BLOCK_BYTES = 8 * 40 * 4
fill, slow = gram_file._fill_rows, float(sys.argv[2])
gram_file._fill_rows = lambda *arguments: (time.sleep(slow), fill(*arguments))
graphs = make_graph_classification(n_graphs=40, n_labels=3, random_state=0).graphs
write_mean_embedding_gram(sys.argv[1], graphs, kernel=RetGKKernel(random_state=0))
"""


def test_killed_gram_file_resumes_to_the_same_matrix(tmp_path):
    undisturbed, killed = tmp_path / "undisturbed.npy", tmp_path / "killed.npy"
    subprocess.run([sys.executable, "-c", KILLED, undisturbed, "0"], check=True)
    process = subprocess.Popen([sys.executable, "-c", KILLED, killed, "0.2"])
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


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(gram_file, "_BLOCK_BYTES", 8 * 30 * 7)


def write_until_killed(path, graphs, n_blocks, monkeypatch, **options):
    """Write some blocks, then stop as a kill would."""
    fill, calls = gram_file._fill_rows, []

    def fill_or_die(*arguments):
        if len(calls) == n_blocks:
            raise KeyboardInterrupt
        calls.append(1)
        fill(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(gram_file, "_fill_rows", fill_or_die)
        with pytest.raises(KeyboardInterrupt):
            write_mean_embedding_gram(path, graphs, **options)


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


def test_fingerprint_knows_everything_that_matters():
    points = graphs_of_kind("attributes", 6)
    kernel = RetGKKernel(4, structure_kernel=Laplacian(1.0), attribute_kernel=Laplacian(1.0), tol=0)
    kernel._fit_nodes(points)
    reduced = kernel._fitted.reduced
    other = reduced.block_ptr.copy()
    other[1] += 1
    weights = replace(reduced.x, entry_weights=reduced.x.entry_weights[::-1].copy() + 0.1)
    fingerprints = {
        gram_file._fingerprint(some)
        for some in (
            reduced,
            replace(reduced, block_ptr=other),
            replace(reduced, x=weights, y=weights),
            replace(reduced, dtype=np.float32),
        )
    }
    assert len(fingerprints) == 4
    again = reduced_points(kernel._fit_bandwidths(points), kernel._kernels, 0.0)
    assert gram_file._fingerprint(again) in fingerprints


def test_disk_that_is_full(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        gram_file.shutil, "disk_usage", lambda _: usage._replace(free=8 * 30**2 - 1)
    )

    def work(*_args, **_options):
        raise AssertionError("return probabilities were computed")

    monkeypatch.setattr("retgk.estimators.kernel.return_probabilities", work)
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
