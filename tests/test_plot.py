"""Pictures: what is drawn is what was computed, and nothing else changes."""

import subprocess
import sys
from functools import cache

import matplotlib as mpl
import numpy as np
import pytest
from scipy.sparse import bsr_array, coo_matrix, csr_array

from retgk import GraphBatch, RetGK, as_batch, plot, return_probabilities
from tests.errors import fails
from tests.example_graphs import complete, path, star


@pytest.fixture(autouse=True)
def _headless():
    import matplotlib.pyplot as plt

    with mpl.rc_context():
        plt.close("all")
        plt.switch_backend("Agg")
        yield
        plt.close("all")


@pytest.fixture
def own_axes():
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


GRAPHS = GraphBatch.concatenate([complete(4), star(5), path(7), path(3), star(4), complete(3)])
CLASSES = np.array(["k", "s", "p", "p", "s", "k"])


@cache
def kernel():
    return RetGK(10, random_state=0).fit_transform(GRAPHS)


DRAWINGS = {
    "curves": lambda ax=None: plot.return_probability_curves(path(7), [0, 3], ax=ax),
    "graph": lambda ax=None: plot.graph_by_return_probability(star(5), 2, ax=ax),
    "explained": lambda ax=None: plot.explained_graph(path(3), [0.5, -0.1, 0.0], ax=ax),
    "heat map": lambda ax=None: plot.gram_heat_map(kernel(), CLASSES, ax=ax),
    "map": lambda ax=None: plot.collection_map(kernel(), CLASSES, ax=ax),
    "confusion": lambda ax=None: plot.confusion_matrix(CLASSES, CLASSES[::-1], ax=ax),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_given_axes_are_drawn_into_and_returned(name, own_axes, tmp_path):
    settings = dict(mpl.rcParams)
    assert DRAWINGS[name](own_axes) is own_axes
    own_axes.figure.savefig(tmp_path / "picture.png")
    assert dict(mpl.rcParams) == settings
    import matplotlib.pyplot as plt

    assert plt.get_fignums() == [own_axes.figure.number]


@pytest.mark.parametrize("name", DRAWINGS)
def test_new_axes_in_a_figure_of_their_own(name, own_axes):
    assert DRAWINGS[name]().figure is not own_axes.figure
    assert not own_axes.has_data()


@pytest.mark.parametrize("name", sorted(set(DRAWINGS) - {"graph", "explained"}))
def test_axes_are_labelled(name):
    ax = DRAWINGS[name]()
    assert ax.get_xlabel()
    assert ax.get_ylabel()


def test_curves_are_return_probabilities():
    ax = plot.return_probability_curves(GRAPHS, [4, 12], n_steps=20)
    drawn = [line.get_ydata() for line in ax.lines]
    np.testing.assert_array_equal(drawn, return_probabilities(GRAPHS, 20, nodes=[4, 12]))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["graph 1, node 0 (degree 5)", "graph 2, node 2 (degree 2)"]


def test_curves_of_chosen_nodes_by_default():
    ax = plot.return_probability_curves(star(9), n_steps=5)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(names) == 5
    assert names[-1] == "node 0 (degree 9)"
    assert len(plot.return_probability_curves(path(2)).lines) == 2


def test_curves_of_one_node_with_a_name():
    ax = plot.return_probability_curves(path(4), 2, labels=["end"], method="eigh")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["end"]


def test_nodes_are_coloured_by_the_step():
    graph = path(6)
    ax = plot.graph_by_return_probability(graph, step=3)
    edges, nodes = ax.collections
    np.testing.assert_array_equal(nodes.get_array(), return_probabilities(graph, 3)[:, -1])
    assert len(edges.get_segments()) == graph.n_edges


def test_shares_have_a_symmetric_scale():
    nodes = plot.explained_graph(path(3), [0.5, -0.1, 0.0]).collections[1]
    assert nodes.get_clim() == (-0.5, 0.5)
    np.testing.assert_array_equal(nodes.get_array(), [0.5, -0.1, 0.0])
    for_it, against, neither = (tuple(nodes.cmap(nodes.norm(x))[:3]) for x in (0.5, -0.5, 0.0))
    assert for_it == mpl.colors.to_rgb("#D55E00")
    assert against == mpl.colors.to_rgb("#0072B2")
    np.testing.assert_allclose(neither, 1, atol=0.01)
    assert plot.explained_graph(path(3), [0.5, -0.1, 0.0], limit=2).collections[1].get_clim() == (
        -2.0,
        2.0,
    )
    assert plot.explained_graph(path(3), np.zeros(3)).collections[1].get_clim() == (-1.0, 1.0)


def test_nodes_with_names_are_called_by_them():
    named = as_batch(path(3)).with_node_names(["left", "mid$dle", "right"])
    axes = plot.explained_graph(named, [0.5, -0.1, 0.0])
    assert [text.get_text() for text in axes.texts] == ["left", "mid$dle", "right"]
    assert not plot.explained_graph(path(3), [0.5, -0.1, 0.0]).texts


@pytest.mark.parametrize(
    ("shares", "limit", "message"),
    [
        ([0.5, 1.0], None, ("shares", "3")),
        ([0.5, 1.0, np.nan], None, ("shares",)),
        (["a", "b", "c"], None, ("shares",)),
        ([0.5, 1.0, 2.0], 0, ("limit", "0")),
        ([0.5, 1.0, 2.0], "wide", ("limit",)),
    ],
)
def test_wrong_shares(shares, limit, message):
    fails(lambda: plot.explained_graph(path(3), shares, limit=limit), about=message)
    fails(lambda: plot.explained_molecule("CCO", shares, limit=limit), about=message)


def test_atoms_are_coloured_by_their_shares():
    pytest.importorskip("rdkit")
    drawn = plot.explained_molecule("CCO", [1.0, 0.0, -1.0])
    assert drawn.count("<ellipse") == 2
    assert "#D55E00" in drawn
    assert "#0072B2" in drawn
    assert "atom-8" not in drawn
    assert "atom-8" in plot.explained_molecule("CCO", np.eye(9)[0])  # with its hydrogens
    fails(lambda: plot.explained_molecule("no", [1.0]), about="'no'")


def test_layout_of_a_path_is_straight():
    places = plot.node_positions(path(8))
    np.testing.assert_allclose(np.linalg.norm(np.diff(places, axis=0), axis=1), 1, atol=0.02)
    assert np.ptp(places[:, 1]) < 0.2 * np.ptp(places[:, 0])


def test_layout_of_a_ring_is_round():
    n = 12
    ring = GraphBatch.from_edges(n, [(i, (i + 1) % n) for i in range(n)], symmetrize=True)
    radii = np.linalg.norm(plot.node_positions(ring), axis=1)
    assert radii.std() < 0.01 * radii.mean()


def test_layout_keeps_twins_and_components_apart():
    graph = GraphBatch.from_edges(9, [(0, i) for i in range(1, 6)] + [(6, 7)], symmetrize=True)
    places = plot.node_positions(graph)
    gaps = np.linalg.norm(places[:, None] - places, axis=2)[~np.eye(9, dtype=bool)]
    assert gaps.min() > 0.3


def test_layout_does_not_change_from_call_to_call():
    np.testing.assert_array_equal(plot.node_positions(star(7)), plot.node_positions(star(7)))


def test_heat_map_is_ordered_by_class():
    kernel = np.add.outer(np.arange(6.0), np.arange(6.0))
    ax = plot.gram_heat_map(kernel, CLASSES)
    drawn = np.asarray(ax.images[0].get_array())
    order = (drawn.diagonal() / 2).astype(int)
    np.testing.assert_array_equal(CLASSES[order], ["k", "k", "p", "p", "s", "s"])
    np.testing.assert_array_equal(drawn, kernel[np.ix_(order, order)])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["k", "p", "s"]
    assert sorted({line.get_ydata()[0] for line in ax.lines} - {0, 1}) == [1.5, 3.5]


def test_heat_map_without_classes():
    drawn = plot.gram_heat_map(kernel()).images[0].get_array()
    np.testing.assert_array_equal(drawn, kernel())
    assert plot.gram_heat_map([[1.0]]).images


def test_map_of_graphs_is_that_of_their_kernel():
    kernel = RetGK(random_state=0).fit_transform(GRAPHS)
    from_kernel = plot.collection_map(kernel).collections[0].get_offsets()
    from_graphs = plot.collection_map(GRAPHS).collections[0].get_offsets()
    np.testing.assert_array_equal(from_kernel, from_graphs)


def test_map_has_the_distances_of_a_plane():
    """Three points on a line in feature space stay where they are."""
    points = np.array([0.0, 1.0, 3.0, -2.0])
    plane = np.stack([points, points**2], axis=1)
    offsets = plot.collection_map(plane @ plane.T).collections[0].get_offsets()
    gaps = [np.linalg.norm(x[:, None] - x, axis=2) for x in (np.asarray(offsets), plane)]
    np.testing.assert_allclose(*gaps, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, csr_array, bsr_array, coo_matrix])
def test_map_of_vectors_is_that_of_their_inner_products(form):
    vectors = np.random.default_rng(0).normal(size=(12, 5)) * np.arange(1.0, 6.0)
    drawn = plot.collection_map(form(vectors))
    expected = plot.collection_map(vectors @ vectors.T)
    offsets = [np.abs(ax.collections[0].get_offsets()) for ax in (drawn, expected)]
    np.testing.assert_allclose(*offsets, atol=1e-9)
    assert drawn.get_xlabel() == expected.get_xlabel()


def test_map_of_classes_and_of_numbers():
    ax = plot.collection_map(kernel(), CLASSES)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["k", "p", "s"]
    many = np.eye(40) + np.exp(-np.abs(np.subtract.outer(np.arange(40), np.arange(40)) / 10.0))
    numbers = plot.collection_map(many, np.arange(40) / 3)
    np.testing.assert_array_equal(numbers.collections[0].get_array(), np.arange(40) / 3)
    assert numbers.get_legend() is None


def test_confusion_matrix_counts():
    ax = plot.confusion_matrix(["a", "a", "b"], ["a", "b", "b"], normalize="true")
    assert sorted(text.get_text() for text in ax.texts) == ["0.00", "0.50", "0.50", "1.00"]


BAD = {
    "node": (lambda: plot.return_probability_curves(path(3), [7]), ("7",)),
    "name": (
        lambda: plot.return_probability_curves(path(3), ["a"]),
        ("nodes", "'a'"),
    ),
    "labels": (
        lambda: plot.return_probability_curves(path(3), [0, 1], labels=["x"]),
        ("1", "2"),
    ),
    "graphs": (lambda: plot.graph_by_return_probability(GRAPHS), ("one graph can",)),
    "positions": (
        lambda: plot.graph_by_return_probability(path(3), positions=[[0, 0]]),
        ("positions", "3", "2", "1"),
    ),
    "large": (lambda: plot.node_positions(path(2001)), ("2001",)),
    "square": (lambda: plot.gram_heat_map(np.ones((2, 3))), ("must be square",)),
    "finite": (lambda: plot.gram_heat_map([[np.nan]]), ("values that are",)),
    "targets": (
        lambda: plot.gram_heat_map(kernel(), [1, 2]),
        ("6",),
    ),
    "few": (lambda: plot.collection_map(np.eye(2)), ("2",)),
    "alike": (lambda: plot.collection_map(np.ones((4, 4))), ("graphs",)),
    "short": (lambda: plot.collection_map(np.ones((4, 1))), ("1",)),
    "infinite": (lambda: plot.collection_map(np.full((4, 2), np.inf)), ("vectors",)),
    "vectors": (lambda: plot.collection_map(csr_array(np.ones((4, 3)))), ("vectors",)),
    "classes": (
        lambda: plot.collection_map(np.eye(40) + 1, [f"c{i}" for i in range(40)]),
        ("40",),
    ),
    "predictions": (
        lambda: plot.confusion_matrix([1, 2], [1]),
        ("2", "1"),
    ),
}


@pytest.mark.parametrize(
    ("n_graphs", "y", "message"),
    [
        (2, None, ("2",)),
        (5, [1, 2], ("5",)),
        (40, [f"c{i}" for i in range(40)], ("40",)),
    ],
)
def test_map_of_graphs_is_checked_before_their_kernel(monkeypatch, n_graphs, y, message):
    monkeypatch.setattr(RetGK, "fit_transform", lambda *_: pytest.fail("the kernel is computed"))
    fails(lambda: plot.collection_map([np.eye(2)] * n_graphs, y), about=message)


@pytest.mark.parametrize("name", BAD)
def test_errors(name):
    draw, about = BAD[name]
    fails(draw, about)


@pytest.mark.slow
def test_import_alone_does_not_import_matplotlib():
    code = "import retgk, sys; retgk.plot; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
