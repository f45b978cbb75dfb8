"""RetGKEmbedding as scikit-learn's users expect it, and its messages."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from retgk import GraphBatch, Walks, read_graphs
from retgk.cli import inputs as sources
from retgk.estimators.embedding import RetGKEmbedding, write_vectors
from retgk.io import from_smiles, iter_smiles
from retgk.io import molecules as smiles_strings
from retgk.io.molecules import LeftOutWarning, MoleculeStream, SmilesReading
from retgk.kernels import embedded_vectors as gram_module
from retgk.kernels.embedded_vectors import embedding_gram
from retgk.kernels.graph import (
    ExponentialGraphKernel,
    PolynomialGraphKernel,
    squared_mmd_from_products,
)
from retgk.kernels.node import Gaussian, Laplacian, Polynomial
from tests.errors import assert_names, fails
from tests.example_graphs import example_batch, large_batch, path, star
from tests.programs import invoke


def embedding_of(**options):
    return RetGKEmbedding(**({"walks": Walks(5), "n_components": 3, "random_state": 0} | options))


def test_in_a_pipeline():
    graphs = GraphBatch.concatenate([path(n) for n in range(3, 18)] + [star(n) for n in range(15)])
    classes = np.repeat([0, 1], 15)
    pipeline = make_pipeline(embedding_of(n_components=50), LogisticRegression(C=100))
    assert cross_val_score(pipeline, graphs, classes, cv=3).mean() > 0.8


def test_feature_names():
    batch = example_batch()

    def names(graphs, **options):
        return embedding_of(**options).fit(graphs).get_feature_names_out().tolist()

    tensor = names(batch, feature_map="tensor", n_components=(2, 3))
    blocks = [f"omega{i}:nu{j}" for i in range(2) for j in range(3)]
    assert tensor == [f"label={name}:{block}" for name in "CN" for block in blocks]
    joint = names(batch, feature_map="joint", unknown_labels="column")
    assert joint == [f"label{name}:omega{i}" for name in ("=C", "=N", "?") for i in range(3)]
    assert names(path(3), feature_map="joint") == ["omega0", "omega1", "omega2"]
    assert names(batch, feature_map="phases") == ["omega0:cos", "omega1:cos", "omega0:sin"]


def test_names_fit_the_columns():
    """The blocks of a graph without a label are zero."""
    batch = example_batch(attributes=False)
    fitted = embedding_of(feature_map="joint").fit(batch)
    only_n = batch[3]
    assert set(only_n.labels) != {0, 1}
    vector = fitted.transform(only_n)[0]
    name = only_n.label_names[only_n.labels[0]]
    is_own = [column.startswith(f"label={name}:") for column in fitted.get_feature_names_out()]
    assert np.array_equal(vector != 0, is_own)


def test_data_frames():
    pytest.importorskip("pandas")
    batch = example_batch()
    embedding = embedding_of().set_output(transform="pandas").fit(batch)
    frame = embedding.transform(batch)
    assert frame.columns.tolist() == embedding.get_feature_names_out().tolist()
    assert frame.shape == (len(batch), embedding.n_features_out_)
    assert np.array_equal(embedding.fit_transform(batch).to_numpy(), frame.to_numpy())
    fails(lambda: embedding.transform(iter(batch)), "stream")


def test_streams_are_lazy():
    batch = example_batch()
    embedding = embedding_of().fit(batch)
    taken = []

    def stream():
        for first in (0, 2):
            taken.append(first)
            yield batch[first : first + 2]

    vectors = embedding.transform(stream())
    assert taken == []
    assert np.array_equal(next(vectors), embedding.transform(batch[:2]))
    assert taken == [0]
    assert np.array_equal(next(vectors), embedding.transform(batch[2:]))


def test_vocabulary_is_that_of_the_fitted_graphs():
    """A slice of a batch carries the vocabulary of all; only labels in use count."""
    batch = path(4).with_labels(["C", "C", "N", "O"])
    batch = GraphBatch.concatenate([batch, path(2).with_labels(["C", "C"])])
    assert embedding_of().fit(batch[1:]).label_names_ == ("C",)
    assert embedding_of().fit(batch).label_names_ == ("C", "N", "O")


def test_unknown_labels():
    known = path(3).with_labels(["C", "N", "C"])
    new = path(3).with_labels(["C", "S", "F"])
    ignored = embedding_of(feature_map="joint").fit(known).transform(new)
    column = embedding_of(feature_map="joint", unknown_labels="column").fit(known)
    vectors = column.transform(GraphBatch.concatenate([new, known]))
    assert vectors.shape == (2, 9)
    assert np.array_equal(vectors[:1, :6], ignored)
    assert (vectors[0, 6:] != 0).all()
    assert (vectors[1, 6:] == 0).all()
    other = embedding_of(feature_map="joint").fit(path(3).with_labels(["S", "S", "S"]))
    with pytest.warns(UserWarning, match=r"'C' \(str\), 'N' \(str\), the fitted ones 'S'"):
        alone = other.transform(known)
    assert np.array_equal(alone, np.zeros((1, 3)))


@pytest.mark.parametrize("feature_map", ["joint", "phases"])
def test_unknown_labels_as_error(feature_map):
    embedding = embedding_of(feature_map=feature_map, unknown_labels="error", batch_size=1)
    fitted = embedding.fit(path(3).with_labels(list("CNC")))
    graphs = [path(2).with_labels(list(labels)) for labels in ("CN", "NS")]
    about = ("graph 1", "node 1", "'S'", "unknown_labels")
    fails(lambda: fitted.transform(GraphBatch.concatenate(graphs)), about)


def test_partial_fit_adds_labels_after_those_before():
    first, second = path(3).with_labels(["N", "C", "N"]), path(3).with_labels(["B", "C", "B"])
    fitted = embedding_of(feature_map="joint").partial_fit(first)
    before, frequencies = fitted.transform(first), fitted.maps_[0].frequencies
    fitted.partial_fit(second)
    assert fitted.label_names_ == ("C", "N", "B")
    assert fitted.maps_[0].frequencies is frequencies
    assert np.array_equal(fitted.transform(first), np.pad(before, ((0, 0), (0, 3))))
    assert (fitted.transform(second)[:, 6:] != 0).all()


def test_no_graphs_give_no_rows():
    fitted = embedding_of().fit(path(3))
    assert fitted.transform(path(3)[:0]).shape == (0, 3)
    assert fitted.set_params(sparse_output=True).transform(path(3)[:0]).shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_large_attributes_are_an_error_not_nan(dtype):
    limit = min(float(np.finfo(dtype).max), 1e150)
    batch = path(3).with_attributes([[1.0], [2.0], [limit / 2]])
    kernel = Laplacian(gamma=1.0 if dtype == np.float32 else 1e160)
    fitted = embedding_of(attributes=kernel, dtype=dtype).fit(batch)
    fails(lambda: fitted.transform(batch), ("attributes", np.dtype(dtype).name))
    fitted = embedding_of(attributes=Laplacian(gamma=1.0), dtype=dtype).fit(batch)
    fine = fitted.transform(path(2).with_attributes([[1e9], [-1e15]]))
    assert (np.abs(fine) <= np.sqrt(2 / 3)).all()


@pytest.mark.parametrize(
    "options",
    [
        *({"n_components": wrong} for wrong in (0, 2.5, 10**20, (2, 3))),
        *({name: "rbf"} for name in ("structure", "attributes", "feature_map")),
        *({name: "rbf"} for name in ("unknown_labels", "frequencies", "walks")),
        {"batch_size": 0},
        {"structure": Polynomial()},
        {"attributes": Gaussian()},  # for graphs without attributes
        {"dtype": np.int32},
        {"depth": 2, "feature_map": "joint"},
        {"n_components": (10, 10), "feature_map": "phases"},
    ],
    ids=repr,
)
def test_wrong_parameters_are_named(options):
    fails(lambda: embedding_of(**options).fit(path(3)), next(iter(options)))


def test_graphs_that_are_not_alike():
    fails(lambda: embedding_of().transform(path(3)), error=NotFittedError)
    fails(lambda: embedding_of().fit(path(3)[:0]), "no graphs")
    fitted, plain = embedding_of().fit(example_batch()), embedding_of().fit(path(3))
    fails(lambda: fitted.transform(example_batch(labels=False)), "labels")
    fails(lambda: plain.transform(example_batch(attributes=False)), "labels")
    fails(lambda: fitted.partial_fit(example_batch(attributes=False)), ("0 attributes", "2"))


# Kernel matrices of embeddings: the products of dense vectors, without the zeros


@pytest.fixture(params=[np.float64, np.float32])
def vectors(request, monkeypatch):
    """Sparse vectors of graphs that fill several tiles, the last one not whole."""
    monkeypatch.setattr(gram_module, "TILE", 16)
    batch = large_batch(70).without_attributes()
    embedding = RetGKEmbedding(
        walks=Walks(n_steps=5), n_components=9, sparse_output=True, random_state=0
    )
    return embedding.set_params(dtype=request.param).fit_transform(batch)


def tolerance(vectors):
    return 1e-14 if vectors.dtype == np.float64 else 1e-6


def test_products(vectors):
    dense = vectors.toarray().astype(float)
    products = embedding_gram(vectors)
    assert products.dtype == np.float64
    assert np.abs(products - dense @ dense.T).max() < tolerance(vectors)
    assert np.array_equal(products, products.T)
    assert np.abs(embedding_gram(vectors.toarray()) - products).max() < tolerance(vectors)
    x, y = vectors.tocsr()[:30].tobsr((1, 9)), vectors.tocsr()[30:].tobsr((1, 9))
    products = embedding_gram(x, y)
    assert np.abs(products - dense[:30] @ dense[30:].T).max() < tolerance(vectors)
    grams = [embedding_gram(vectors, kernel=ExponentialGraphKernel(), n_jobs=n) for n in (1, 2, 3)]
    assert np.array_equal(grams[0], grams[1])
    assert np.array_equal(grams[0], grams[2])
    fails(lambda: embedding_gram(csr_array(np.eye(3))), ("x", "csr"))
    fails(lambda: embedding_gram(np.ones((2, 3)), np.ones((2, 2))), ("3 features", "2"))


@pytest.mark.parametrize(
    "kernel", [PolynomialGraphKernel(c=0.5, d=2), ExponentialGraphKernel(gamma=2.0, p=1.5)]
)
def test_graph_kernels(vectors, kernel):
    dense = vectors.toarray().astype(float)
    norms = (dense**2).sum(axis=1)
    expected = kernel(dense @ dense.T, norms, norms)
    assert np.abs(embedding_gram(vectors, kernel=kernel) - expected).max() < 1e-3
    others = embedding_gram(vectors, vectors, kernel=kernel)
    assert np.abs(others - expected).max() < 1e-3


def test_median_rule(vectors):
    products = embedding_gram(vectors)
    norms = np.diag(products)
    squared = squared_mmd_from_products(products, norms, norms)
    expected = np.exp(-np.sqrt(squared / np.median(squared)))
    found = embedding_gram(vectors, kernel=ExponentialGraphKernel())
    assert np.abs(found - expected).max() < 1e-12
    fails(lambda: embedding_gram(vectors, vectors, kernel=ExponentialGraphKernel()), "gamma")


def test_types_that_differ(vectors):
    dense = vectors.toarray().astype(float)
    other = dense.astype(np.float32 if vectors.dtype == np.float64 else np.float64)
    found = embedding_gram(vectors.toarray(), other)
    assert np.abs(found - dense @ dense.T).max() < 1e-6
    assert np.array_equal(embedding_gram(np.eye(3, dtype=int)), np.eye(3))


@pytest.mark.parametrize("width", [1, 256, 257, 700])
def test_wide_vectors_are_multiplied_in_parts(width):
    x = np.random.default_rng(0).normal(size=(21, width))
    y = np.random.default_rng(1).normal(size=(13, width))
    np.testing.assert_allclose(embedding_gram(x), x @ x.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(embedding_gram(x, y), x @ y.T, rtol=0, atol=1e-12)


def test_a_product_depends_on_its_two_graphs_alone(vectors):
    """The same bits, whichever graphs stand beside them."""
    whole, dense = embedding_gram(vectors), vectors.toarray()
    own = vectors.tocsr()[[3, 40]].tobsr((1, 9))
    assert np.array_equal(embedding_gram(own), whole[np.ix_([3, 40], [3, 40])])
    whole = embedding_gram(dense)
    assert np.array_equal(embedding_gram(dense[5:9], dense[11:]), whole[5:9, 11:])


# Molecules from text to saved vectors in pieces: the same file as from all at once

SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CN", "C[N+](=O)[O-]", "CS", "[Br]C", "BrCCl", "[H]F", "CC"]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"bond_orders": True, "attributes": ["charge", "hydrogens"]},
    {"bond_types": True, "add_hydrogens": True},
]


@pytest.fixture
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smiles_strings, "CHUNK", 2)


def written(path: Path, smiles: list[str]) -> Path:
    text = "smiles,name\n" + "".join(f"{each},m{n}\n" for n, each in enumerate(smiles))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.usefixtures("short_pieces")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_pieces_are_the_whole(options: dict[str, Any], n_jobs: int | None) -> None:
    pieces = list(iter_smiles(iter(SMILES), n_jobs=n_jobs, **options))
    assert [len(piece) for piece in pieces] == [2] * 5
    whole = from_smiles(SMILES, **options)
    assert whole.concatenate(pieces) == whole
    assert {str(piece.reading) for piece in pieces} == {str(whole.reading)}
    assert from_smiles(SMILES, n_jobs=n_jobs, **options).reading == whole.reading


@pytest.mark.usefixtures("short_pieces")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_late_labels_change_no_bit_of_the_file(
    tmp_path: Path, options: dict[str, Any], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retgk.estimators.embedding._ROWS", 1)
    path = tmp_path / "vectors.npy"
    path.touch()
    stream, whole = (
        RetGKEmbedding(walks=Walks(5), n_components=3, dtype=dtype, random_state=0)
        for _ in range(2)
    )
    shape = write_vectors(path, stream, iter_smiles(SMILES, **options))
    expected = whole.fit_transform(from_smiles(SMILES, **options))
    np.save(tmp_path / "expected.npy", expected)
    assert shape == expected.shape
    assert path.read_bytes() == (tmp_path / "expected.npy").read_bytes()
    assert stream.label_names_ == whole.label_names_
    np.testing.assert_array_equal(stream.transform(from_smiles(SMILES, **options)), expected)


@pytest.mark.usefixtures("short_pieces")
def test_what_needs_all_nodes_is_no_stream(tmp_path: Path) -> None:
    for options in ({"scale_attributes": "standard"}, {"structure": Laplacian("median")}):
        embedding, path = RetGKEmbedding(**options), tmp_path / "none.npy"
        fails(lambda e=embedding, p=path: write_vectors(p, e, iter_smiles(SMILES)), "median")


@pytest.mark.usefixtures("short_pieces")
@pytest.mark.parametrize("name", ["molecules.csv", "molecules.csv.gz"])
def test_the_command_writes_the_same_file(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = written(tmp_path / name, [*SMILES, "C1CC"])
    outputs = [tmp_path / "stream.npy", tmp_path / "whole.npy"]
    for output, limit in zip(outputs, (0, 100), strict=True):
        monkeypatch.setattr(sources, "STREAMED", limit)
        refused = invoke("embed", table, "-D", "3", "-o", output)
        assert_names(refused.stderr, ("graph 10", "'C1CC'", "--skip-invalid"))
        assert not output.exists()
        done = invoke("embed", table, "-D", "3", "--skip-invalid", "-o", output)
        assert_names(done.stderr, ("left out 1", "line 12"))
        assert ("in pieces" in done.stderr) == (limit == 0)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


@pytest.mark.usefixtures("short_pieces")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_pieces_without_molecules(tmp_path: Path, n_jobs: int | None) -> None:
    table = written(tmp_path / "molecules.csv", ["C1CC", "hello", "CC", "CO", "C(", "CN", "CCC"])
    stream = MoleculeStream(table, SmilesReading(skip_invalid=True), None, n_jobs)
    with pytest.warns(LeftOutWarning, match="left out 3 molecules .* lines 2, 3, 6"):
        pieces = list(stream)
    assert [len(piece) for piece in pieces] == [2, 1, 1]
    with pytest.warns(LeftOutWarning, match="left out 3 molecules .* lines 2, 3, 6"):
        whole = read_graphs(table, skip_invalid=True, n_jobs=n_jobs)
    assert whole.rows is not None
    assert whole.rows.tolist() == [2, 3, 5, 6]
    assert whole.graphs.concatenate(pieces) == whole.graphs


@pytest.mark.usefixtures("short_pieces")
def test_errors_of_lines_come_before_any_work(tmp_path: Path) -> None:
    table = written(tmp_path / "molecules.csv", ["C1CC", "CC", ""])
    fails(lambda: MoleculeStream(table, SmilesReading(), None, None), ("line 4", "'smiles'"))


@pytest.mark.usefixtures("short_pieces")
def test_a_stream_may_be_longer_than_memory(tmp_path: Path) -> None:
    table = written(tmp_path / "molecules.csv", ["CC"] * 2_000)
    limit = 300_000
    fails(lambda: read_graphs(table, max_bytes=limit), "300000")
    assert MoleculeStream(table, SmilesReading(), limit, None).n_molecules == 2_000
    long = written(tmp_path / "long.csv", ["CC", "C" * 25_001])
    fails(lambda: MoleculeStream(long, SmilesReading(), None, None), ("line 3", "25001"))
