"""Vectors of fixed width, in which labels turn phases."""

import pickle
from enum import StrEnum

import numpy as np
import pytest

from retgk import (
    GraphBatch,
    InvalidInputError,
    Laplacian,
    RetGKEmbedding,
    from_networkx,
    load_model,
    make_graph_classification,
    mean_embedding_gram,
    read_graphs,
    return_probabilities,
    save_model,
    to_networkx,
    write_json,
    write_parquet,
)
from retgk.kernels.refinement import keys_of_names

RIGHT = np.pi / 2
KERNELS = {"structure_kernel": Laplacian(5.0), "attribute_kernel": Laplacian(0.7)}


def quarter_turns(key, n_components):
    """Phases of one label, in quarters of a turn: two bits of a hash for each frequency."""
    words = np.arange(-(-n_components // 32), dtype=np.uint64)
    with np.errstate(over="ignore"):
        bits = np.uint64(key) + (words + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    codes = (bits[:, None] >> (2 * np.arange(32, dtype=np.uint64))) & np.uint64(3)
    return codes.ravel()[:n_components].astype(np.int64)


@pytest.fixture(scope="module")
def graphs():
    return make_graph_classification(
        n_graphs=8, n_labels=3, n_attributes=2, n_nodes=(5, 9), random_state=3
    ).graphs


def phases(graphs, seed=0, **parameters):
    options = {"feature_map": "phases", "n_steps": 6, "random_state": seed, **KERNELS}
    return RetGKEmbedding(**(options | parameters)).fit(graphs)


@pytest.mark.parametrize("n_components", [70, 71, 1])
@pytest.mark.parametrize("depth", [0, 2])
def test_formula(graphs, depth, n_components):
    """Every feature is a mean of cosines or of sines of the same angles, written out."""
    model = phases(graphs, n_components=n_components, depth=depth)
    found = model.transform(graphs)
    keys, shares = model.engine_.phases.keys(graphs, None)
    points = np.hstack([return_probabilities(graphs, 6), graphs.attributes])
    (fourier,) = model.maps_
    angles = points @ fourier.frequencies + fourier.phases
    nodes = np.zeros((len(angles), n_components))
    for own, share in zip(keys.T, shares, strict=True):
        turned = angles + np.stack([quarter_turns(int(key), len(angles.T)) for key in own]) * RIGHT
        nodes += share * np.hstack([np.cos(turned), np.sin(turned)])[:, :n_components]
    nodes *= np.sqrt(2 / n_components)
    expected = np.add.reduceat(nodes, graphs.node_ptr[:-1]) / np.diff(graphs.node_ptr)[:, None]
    assert len(angles.T) == -(-n_components // 2)
    assert found.shape == (len(graphs), n_components)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    single = phases(graphs, n_components=n_components, depth=depth, dtype=np.float32)
    np.testing.assert_allclose(single.transform(graphs), expected, atol=1e-5)


@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize(("has_labels", "n_components"), [(True, 32), (False, 32), (True, 3)])
def test_unbiased(graphs, depth, has_labels, n_components):
    """Over 200 seeds the mean of inner products is that of the exact kernel."""
    batch = graphs if has_labels else graphs.without_labels()
    exact = mean_embedding_gram(batch, n_steps=6, depth=depth, tol=0, **KERNELS)
    found = []
    for seed in range(200):
        vectors = phases(batch, seed, n_components=n_components, depth=depth).transform(batch)
        found.append(vectors @ vectors.T)
    errors = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - exact) <= 4.5 * errors).all()


def test_unseen_labels_match_themselves(graphs):
    """A label that fit did not see needs no column."""
    new = graphs.with_labels(["new"] * graphs.n_nodes)
    model = phases(graphs, n_components=4000)
    with pytest.warns(UserWarning, match="no node label of the graphs is known"):
        vectors = model.transform(new)
    exact = mean_embedding_gram(new, n_steps=6, tol=0, **KERNELS)
    assert np.abs(vectors @ vectors.T - exact).max() < 0.1
    assert np.abs(vectors @ model.transform(graphs).T).max() < 0.1


def test_keys_of_labels():
    """Equal labels have equal keys, whatever their type, and other seeds other keys."""
    keys = keys_of_names(["1", 1, 1.0, True, (1, "a"), frozenset("ab"), 0, -0.0, None], seed=4)
    assert keys[1] == keys[2] == keys[3]
    assert keys[6] == keys[7]
    assert len(set(keys.tolist())) == 6
    assert keys_of_names(["C"], 0) != keys_of_names(["C"], 1)


def test_same_bits_whatever_the_batch_and_the_threads(graphs):
    model = phases(graphs, n_components=50, depth=2)
    whole = model.transform(graphs)
    assert np.array_equal(np.vstack([model.transform(graph) for graph in graphs]), whole)
    model.set_params(n_jobs=1, batch_size=3)
    assert np.array_equal(model.transform(graphs), whole)


def test_order_of_nodes_makes_no_difference():
    rng = np.random.default_rng(0)
    matrix = np.triu(rng.random((12, 12)) < 0.3, 1)
    matrix = (matrix | matrix.T).astype(float)
    labels, order = rng.choice(list("CNO"), 12), rng.permutation(12)
    first, second = (
        GraphBatch.concatenate([batch_of(m, n)])
        for m, n in ((matrix, labels), (matrix[np.ix_(order, order)], labels[order]))
    )
    model = phases(first, n_components=60, depth=3, attribute_kernel=None)
    np.testing.assert_allclose(model.transform(first), model.transform(second), atol=1e-12)


def batch_of(matrix, labels):
    return GraphBatch.from_edges(
        len(matrix), np.column_stack(matrix.nonzero()), labels=labels.tolist()
    )


def test_files(graphs, tmp_path):
    model = phases(graphs, n_components=40, depth=2)
    save_model(model, tmp_path / "model.retgk")
    again = load_model(tmp_path / "model.retgk")
    assert np.array_equal(again.transform(graphs), model.transform(graphs))


def test_depth_needs_phases(graphs):
    with pytest.raises(InvalidInputError, match=r"^depth=2 needs feature_map='phases'"):
        RetGKEmbedding(feature_map="joint", depth=2).fit(graphs)
    with pytest.raises(InvalidInputError, match=r"must be one number"):
        RetGKEmbedding(feature_map="phases", n_components=(10, 10)).fit(graphs)


def test_names_of_columns(graphs):
    model = phases(graphs, n_components=3)
    assert model.get_feature_names_out().tolist() == ["omega0:cos", "omega1:cos", "omega0:sin"]


class Element(StrEnum):
    CARBON = "C"
    NITROGEN = "N"


FORMATS = {
    "parquet": lambda graphs, folder: (
        read_graphs(write_parquet(graphs, folder / "a.parquet")).graphs
    ),
    "json": lambda graphs, folder: read_graphs(write_json(graphs, folder / "a.json")).graphs,
    "networkx": lambda graphs, _: from_networkx(
        to_networkx(graphs), label="label", edge_label="label", attributes=None
    ),
    "pickle": lambda graphs, _: pickle.loads(pickle.dumps(graphs)),
}
NAMES = {
    "numpy in tuples": [("C", np.int64(1)), ("C", np.int64(2)), (np.str_("N"), np.int64(1))],
    "numbers": [np.float64(0.1), np.float32(0.5), np.int8(3)],
    "enumeration": [Element.CARBON, Element.NITROGEN, "O"],
    "infinite": [("C", np.inf), ("C", -np.inf), np.inf],
    "text": ["\U0001fae8", "it's", 'a "quoted" \\ text'],
}


TRIPS = [(names, form) for names in NAMES for form in FORMATS]
TRIPS.remove(("infinite", "json"))  # which JSON cannot hold, and says so


@pytest.mark.parametrize(("names", "form"), TRIPS)
def test_vectors_after_a_round_trip(graphs, names, form, tmp_path):
    """Batches that are equal have the same vectors, to the bit."""
    named = [NAMES[names][code] for code in graphs.labels]
    plain = graphs.without_attributes()
    own = plain.with_labels(named).with_edge_labels([NAMES[names][0]] * len(graphs.indices))
    back = FORMATS[form](own, tmp_path)
    assert back == own
    model = phases(own, n_components=64, depth=2, attribute_kernel=None)
    assert np.array_equal(model.transform(back), model.transform(own))
    save_model(model, tmp_path / "model.retgk")
    assert np.array_equal(
        load_model(tmp_path / "model.retgk").transform(back), model.transform(own)
    )
