"""RetGKEmbedding as scikit-learn's users expect it, and its messages."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from retgk import GraphBatch, InvalidInputError
from retgk.estimators.embedding import RetGKEmbedding
from retgk.kernels.node import Gaussian, Laplacian
from tests.embedding_graphs import example_batch
from tests.walk_graphs import path, star


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
