"""RetGKEmbedding as scikit-learn's users expect it, and its messages."""

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from retgk import GraphBatch, from_smiles, iter_smiles, read_graphs
from retgk.cli import inputs as sources
from retgk.errors import InvalidInputError
from retgk.estimators.embedding import RetGKEmbedding, write_vectors
from retgk.io import molecules as smiles_strings
from retgk.io.molecules import LeftOutWarning, MoleculeStream, SmilesReading
from retgk.kernels import embedded_vectors as gram_module
from retgk.kernels.embedded_vectors import embedding_gram
from retgk.kernels.graph import (
    ExponentialGraphKernel,
    PolynomialGraphKernel,
    squared_mmd_from_products,
)
from retgk.kernels.node import Gaussian, Laplacian
from tests.example_graphs import example_batch, large_batch, path, star
from tests.programs import invoke


def embedding_of(**options):
    return RetGKEmbedding(**({"n_steps": 5, "n_components": 3, "random_state": 0} | options))


def test_clone_keeps_parameters():
    embedding = embedding_of(structure_kernel=Laplacian(gamma=2.0), n_components=(3, 4))
    copy = clone(embedding)
    assert copy.get_params() == embedding.get_params()


def test_in_a_pipeline():
    graphs = GraphBatch.concatenate([path(n) for n in range(3, 18)] + [star(n) for n in range(15)])
    classes = np.repeat([0, 1], 15)
    pipeline = make_pipeline(embedding_of(n_components=50), LogisticRegression(C=100))
    assert cross_val_score(pipeline, graphs, classes, cv=3).mean() > 0.8


def test_feature_names():
    batch = example_batch()
    names = embedding_of(feature_map="tensor", n_components=(2, 3)).fit(batch)
    names = names.get_feature_names_out()
    assert len(names) == 2 * 2 * 3
    assert names[:4].tolist() == [
        "label=C:omega0:nu0",
        "label=C:omega0:nu1",
        "label=C:omega0:nu2",
        "label=C:omega1:nu0",
    ]
    assert names[-1] == "label=N:omega1:nu2"
    joint = embedding_of(feature_map="joint", unknown_labels="column").fit(batch)
    joint = joint.get_feature_names_out()
    assert joint.tolist() == [
        f"label{name}:omega{i}" for name in ("=C", "=N", "?") for i in range(3)
    ]
    plain = embedding_of(feature_map="joint").fit(path(3)).get_feature_names_out()
    assert plain.tolist() == ["omega0", "omega1", "omega2"]


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
    with pytest.raises(InvalidInputError, match="a stream gives arrays; call transform on each"):
        embedding.transform(iter(batch))


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


def test_takes_what_as_batch_takes():
    networkx = pytest.importorskip("networkx")
    graphs = [networkx.path_graph(4), networkx.star_graph(5)]
    expected = embedding_of().fit_transform(GraphBatch.concatenate([path(4), star(5)]))
    assert np.abs(embedding_of().fit_transform(graphs) - expected).max() < 1e-12
    assert np.abs(embedding_of().fit_transform(g for g in graphs) - expected).max() < 1e-12


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
    with pytest.warns(
        UserWarning, match=r"they have 'C' \(str\), 'N' \(str\), the fitted ones 'S'"
    ):
        alone = (
            embedding_of(feature_map="joint")
            .fit(path(3).with_labels(["S", "S", "S"]))
            .transform(known)
        )
    assert np.array_equal(alone, np.zeros((1, 3)))


@pytest.mark.parametrize("feature_map", ["joint", "phases"])
def test_unknown_labels_as_error(feature_map):
    embedding = embedding_of(feature_map=feature_map, unknown_labels="error", batch_size=1)
    fitted = embedding.fit(path(3).with_labels(list("CNC")))
    batch = GraphBatch.concatenate(
        [path(2).with_labels(["C", "N"]), path(2).with_labels(["N", "S"])]
    )
    message = "graph 1: node 1 has the label 'S', which fit did not see; set unknown_labels"
    with pytest.raises(InvalidInputError, match=message):
        fitted.transform(batch)


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
    fitted = embedding_of(attribute_kernel=kernel, dtype=dtype).fit(batch)
    with pytest.raises(
        InvalidInputError, match=r"are out of the range of float.* scale the attrib"
    ):
        fitted.transform(batch)
    fitted = embedding_of(attribute_kernel=Laplacian(gamma=1.0), dtype=dtype).fit(batch)
    fine = fitted.transform(path(2).with_attributes([[1e9], [-1e15]]))
    assert (np.abs(fine) <= np.sqrt(2 / 3)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_map": "both"}, "feature_map must be one of 'joint', 'tensor', 'phases', got"),
        ({"unknown_labels": "drop"}, "unknown_labels must be one of '"),
        ({"frequencies": "halton"}, "frequencies must be one of '"),
        ({"n_components": 0}, "n_components must be a whole number"),
        (
            {"n_components": 10**20},
            "n_components must be a whole number between 1 and 16777216, got 1000",
        ),
        ({"n_components": 2.5}, "n_components must be a whole number"),
        ({"n_components": (2, 3)}, "n_components must be one number"),
        ({"structure_kernel": "rbf"}, "structure_kernel must be Laplacian"),
        ({"attribute_kernel": "rbf"}, "attribute_kernel must be Laplacian"),
        ({"attribute_kernel": Gaussian()}, "the graphs have no attributes for attribute_kernel"),
        ({"dtype": np.int32}, "dtype must be float64 or float32, got <class 'numpy.int32'>"),
        ({"batch_size": 0}, "batch_size must be None or a whole number of at least 1, got 0"),
        ({"n_steps": 0}, "n_steps must be a whole number"),
        ({"method": "fast"}, "method must be one of"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        embedding_of(**options).fit(path(3))


def test_bad_input():
    with pytest.raises(NotFittedError):
        embedding_of().transform(path(3))
    with pytest.raises(InvalidInputError, match="there are no graphs to fit"):
        embedding_of().fit(path(3)[:0])
    fitted = embedding_of().fit(example_batch())
    with pytest.raises(InvalidInputError, match="have no labels, the fitted ones have some"):
        fitted.transform(example_batch(labels=False))
    with pytest.raises(InvalidInputError, match="have 0 attributes a node, the fitted ones have 2"):
        fitted.partial_fit(example_batch(attributes=False))
    with pytest.raises(InvalidInputError, match="have labels, the fitted ones have none"):
        embedding_of().fit(path(3)).transform(example_batch(attributes=False))


# Kernel matrices of embeddings: the products of dense vectors, without the zeros


@pytest.fixture(params=[np.float64, np.float32])
def vectors(request, monkeypatch):
    """Sparse vectors of graphs that fill several tiles, the last one not whole."""
    monkeypatch.setattr(gram_module, "TILE", 16)
    batch = large_batch(70).without_attributes()
    embedding = RetGKEmbedding(n_steps=5, n_components=9, sparse_output=True, random_state=0)
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


def test_products_with_others(vectors):
    dense = vectors.toarray().astype(float)
    x, y = vectors.tocsr()[:30].tobsr((1, 9)), vectors.tocsr()[30:].tobsr((1, 9))
    products = embedding_gram(x, y)
    assert np.abs(products - dense[:30] @ dense[30:].T).max() < tolerance(vectors)


def test_same_bits_for_any_number_of_threads(vectors):
    kernel = ExponentialGraphKernel()
    expected = embedding_gram(vectors, kernel=kernel, n_jobs=1)
    for n_jobs in (2, 3):
        assert np.array_equal(embedding_gram(vectors, kernel=kernel, n_jobs=n_jobs), expected)


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
    with pytest.raises(InvalidInputError, match="gamma='median' is a rule; fit the kernel first"):
        embedding_gram(vectors, vectors, kernel=ExponentialGraphKernel())


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


def test_bad_vectors():
    with pytest.raises(InvalidInputError, match="x is sparse of format csr; give a dense array"):
        embedding_gram(csr_array(np.eye(3)))
    with pytest.raises(InvalidInputError, match="x has 3 features, y has 2; embed both by the"):
        embedding_gram(np.ones((2, 3)), np.ones((2, 2)))


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
        RetGKEmbedding(5, n_components=3, dtype=dtype, random_state=0) for _ in range(2)
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
    for options in ({"scale_attributes": "standard"}, {"structure_kernel": Laplacian("median")}):
        with pytest.raises(InvalidInputError, match="no median, mean or deviation"):
            write_vectors(tmp_path / "none.npy", RetGKEmbedding(**options), iter_smiles(SMILES))


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
        assert "graph 10: RDKit cannot read the SMILES 'C1CC'" in refused.stderr
        assert "--skip-invalid leaves such out" in refused.stderr
        assert not output.exists()
        done = invoke("embed", table, "-D", "3", "--skip-invalid", "-o", output)
        assert "left out 1 molecule RDKit cannot read: line 12" in done.stderr
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
    with pytest.raises(InvalidInputError, match="line 4: the column 'smiles' is empty"):
        MoleculeStream(table, SmilesReading(), None, None)


@pytest.mark.usefixtures("short_pieces")
def test_a_stream_may_be_longer_than_memory(tmp_path: Path) -> None:
    table = written(tmp_path / "molecules.csv", ["CC"] * 2_000)
    limit = 300_000
    with pytest.raises(InvalidInputError, match="bytes of memory, more than the 300000 allowed"):
        read_graphs(table, max_bytes=limit)
    assert MoleculeStream(table, SmilesReading(), limit, None).n_molecules == 2_000
    long = written(tmp_path / "long.csv", ["CC", "C" * 25_001])
    with pytest.raises(InvalidInputError, match="line 3: a molecule of 25001 letters"):
        MoleculeStream(long, SmilesReading(), None, None)
