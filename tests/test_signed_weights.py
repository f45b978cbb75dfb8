"""Negative and directed weights: every choice gives the graphs that it says, and is remembered."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

import retgk
from retgk import (
    InvalidInputError,
    RetGKClassifier,
    as_batch,
    from_edge_lists,
    from_numpy,
    from_scipy,
    load_model,
    read_graphs,
    save_model,
)
from retgk.errors import InputWarning
from tests.cli_calls import assert_fails, invoke, record

SIGNED = np.array(
    [[0.0, 0.5, -0.3, 0.0], [0.5, 0.0, 0.0, -1.0], [-0.3, 0.0, 0.0, 2.0], [0.0, -1.0, 2.0, 0.0]]
)
POSITIVE, NEGATIVE = np.maximum(SIGNED, 0), np.maximum(-SIGNED, 0)
ZERO = np.zeros((4, 4))
UNION = np.block([[POSITIVE, ZERO], [ZERO, NEGATIVE]])
PLAIN = {"absolute": np.abs(SIGNED), "positive": POSITIVE}
DIRECTED = np.array([[3.0, 4.0, 0.0], [2.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
TWO_WAYS = {
    True: np.maximum(DIRECTED, DIRECTED.T),
    "max": np.maximum(DIRECTED, DIRECTED.T),
    "mean": (DIRECTED + DIRECTED.T) / 2,
    "sum": DIRECTED + DIRECTED.T - np.diag(DIRECTED.diagonal()),
}


def edges_of(matrix):
    pairs = np.argwhere(np.triu(matrix))
    return pairs, matrix[tuple(pairs.T)]


def converted(kind, matrices, **options):
    """The same graphs by each of the converters of arrays."""
    if kind == "numpy":
        return from_numpy(matrices, **options)
    if kind == "sparse":
        return from_scipy([csr_array(matrix) for matrix in matrices], **options)
    if kind == "stack":
        return as_batch(np.array(matrices), **options)
    edges, weights = zip(*map(edges_of, matrices), strict=True)
    return from_edge_lists(
        list(edges), [len(m) for m in matrices], weights=list(weights), symmetrize=True, **options
    )


KINDS = ("numpy", "sparse", "stack", "edges")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", PLAIN)
def test_choices_of_weights_alone(kind, choice):
    graphs = converted(kind, [SIGNED, -SIGNED], negative=choice)
    other = np.abs(SIGNED) if choice == "absolute" else NEGATIVE
    assert graphs == from_numpy([PLAIN[choice], other])


@pytest.mark.parametrize("kind", KINDS)
def test_split_is_the_union_of_both_parts(kind):
    graphs = converted(kind, [SIGNED, 2 * SIGNED], negative="split")
    signs = ["+"] * 4 + ["-"] * 4
    assert graphs == from_numpy([UNION, 2 * UNION], labels=[signs, signs])


@pytest.mark.parametrize("kind", KINDS)
def test_split_keeps_labels_and_attributes_for_both_parts(kind):
    labels, attributes = [list("abca"), list("bbbb")], [np.arange(8.0).reshape(4, 2)] * 2
    matrices = [SIGNED, SIGNED]
    graphs = converted(kind, matrices, negative="split", labels=labels, attributes=attributes)
    names = [[(label, sign) for sign in "+-" for label in own] for own in labels]
    doubled = [np.concatenate([own, own]) for own in attributes]
    assert graphs == from_numpy([UNION, UNION], labels=names, attributes=doubled)


def test_split_compares_parts_with_their_like():
    """A graph and its negative have nothing in common but what labels allow, which is nothing."""
    only = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    products = retgk.mean_embedding_gram(
        from_numpy([only, -only], negative="split"),
        structure_kernel=retgk.Laplacian(1.0),
        n_steps=4,
        tol=0.0,
    )
    empty = from_numpy([only, np.zeros((3, 3))])
    plain = retgk.mean_embedding_gram(
        empty, structure_kernel=retgk.Laplacian(1.0), n_steps=4, tol=0.0
    )
    assert products[0, 0] == pytest.approx((plain[0, 0] + plain[1, 1]) / 4)
    assert products[0, 1] == pytest.approx(2 * plain[0, 1] / 4)


@pytest.mark.parametrize("convert", [from_numpy, lambda m, **o: from_scipy(csr_array(m), **o)])
@pytest.mark.parametrize("choice", TWO_WAYS)
def test_directions(convert, choice):
    assert convert(DIRECTED, symmetrize=choice) == from_numpy(TWO_WAYS[choice])


def test_directions_of_networkx_and_of_edges():
    import networkx as nx

    graph = nx.from_numpy_array(DIRECTED, create_using=nx.DiGraph)
    pairs = np.argwhere(DIRECTED)
    weights = [DIRECTED[tuple(pairs.T)]]
    for choice in ("mean", "sum"):
        expected = from_numpy(TWO_WAYS[choice])
        assert as_batch(graph, symmetrize=choice) == expected
        assert from_edge_lists([pairs], weights=weights, symmetrize=choice) == expected


def test_signs_come_before_directions():
    one_way = np.array([[0.0, 1.0], [-1.0, 0.0]])
    graphs = from_numpy(one_way, negative="positive", symmetrize="mean")
    assert graphs == from_numpy(np.array([[0.0, 0.5], [0.5, 0.0]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "weights must be finite and not negative; negative='absolute'"),
        (
            {"negative": "abs"},
            "negative must be one of error, absolute, positive, split, got",
        ),
        ({"symmetrize": "median"}, "symmetrize must be True, False or one of max, mean, sum"),
    ],
)
def test_bad_choices(options, message):
    with pytest.raises(InvalidInputError, match=message):
        from_numpy(SIGNED, **options)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("choice", ["error", "absolute", "positive", "split"])
def test_what_is_no_number_stays_an_error(value, choice, tmp_path):
    bad = SIGNED.copy()
    bad[0, 1] = bad[1, 0] = value
    with pytest.raises(InvalidInputError, match=r"graph 0: .* finite"):
        from_numpy(bad, negative=choice)
    np.save(tmp_path / "m.npy", bad)
    with pytest.raises(InvalidInputError, match=r"m.npy: .* weights must be finite"):
        read_graphs(tmp_path / "m.npy", negative=choice)


# files, models and the command line


def test_files(tmp_path):
    path = tmp_path / "m.npy"
    np.save(path, np.array([SIGNED, -SIGNED]))
    for choice in ("absolute", "positive", "split"):
        graphs = read_graphs(path, negative=choice).graphs
        assert graphs == from_numpy([SIGNED, -SIGNED], negative=choice)
        assert graphs.reading.options["negative"] == choice
    np.save(path, np.triu(SIGNED))
    with pytest.raises(InvalidInputError, match=r"m.npy: graph 0 is not symmetric"):
        read_graphs(path, negative="split")
    assert read_graphs(path, negative="split", symmetrize="sum").graphs == from_numpy(
        SIGNED, negative="split"
    )


def test_command_line(tmp_path):
    path = tmp_path / "m.npy"
    np.save(path, np.array([SIGNED, -SIGNED]))
    words = "weights must be finite and not negative; --negative absolute"
    assert_fails(invoke("info", path), words)
    assert record("info", path, "--negative", "split")["graphs"] == 2
    np.save(path, DIRECTED)
    assert record("info", path, "--symmetrize-by", "mean")["graphs"] == 1


def signed_stack(n=12):
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(n, 30, 6))
    signals[::2, :, :3] += rng.normal(size=(len(signals[::2]), 30, 1))
    return np.array([np.corrcoef(each.T) - np.eye(6) for each in signals]).round(6)


@pytest.mark.parametrize("choice", ["absolute", "positive", "split"])
def test_models_read_new_graphs_with_the_same_choice(choice, tmp_path):
    stack, targets = signed_stack(), [0, 1] * 6
    graphs = from_numpy(stack, negative=choice)
    model = RetGKClassifier(n_steps=5, C=1, p=1, scale=1, cv=2, random_state=0).fit(graphs, targets)
    expected = model.decision_function(graphs)
    assert np.array_equal(model.decision_function(stack), expected)
    other = "positive" if choice != "positive" else "absolute"
    with pytest.raises(InvalidInputError, match=f"read with negative='{other}', the fitted"):
        model.decision_function(from_numpy(stack, negative=other))
    save_model(model, tmp_path / "model.retgk")
    again = load_model(tmp_path / "model.retgk")
    assert again.reading_.options["negative"] == choice
    assert np.array_equal(again.decision_function(stack), expected)
    np.save(tmp_path / "new.npy", stack)
    found = record("predict", tmp_path / "model.retgk", tmp_path / "new.npy", "-o", "-")
    assert len(found["prediction"]) == len(stack)
    contradiction = invoke(
        "predict", tmp_path / "model.retgk", tmp_path / "new.npy", "--negative", other, "-o", "-"
    )
    assert_fails(contradiction, "--negative contradicts the model")


def test_models_remember_directions(tmp_path):
    rng = np.random.default_rng(0)
    stack = rng.random((8, 5, 5)) * (rng.random((8, 5, 5)) < 0.6)
    graphs = from_numpy(stack, symmetrize="sum")
    kernel = retgk.RetGKKernel(5, random_state=0).fit(graphs)
    save_model(kernel, tmp_path / "model.retgk")
    again = load_model(tmp_path / "model.retgk")
    assert again.reading_.form["symmetrize"] == "sum"
    assert np.array_equal(again.transform(stack), kernel.transform(graphs))


def test_ones_on_the_diagonal_are_a_warning():
    """Correlations as NumPy gives them have self-loops that nobody means."""
    correlations = np.corrcoef(np.random.default_rng(0).normal(size=(4, 30)))
    with pytest.warns(InputWarning, match="ones on the diagonal, as correlations do"):
        from_numpy([correlations, correlations], negative="absolute")
    with pytest.warns(InputWarning, match="ones on the diagonal"):
        from_scipy(csr_array(correlations), negative="absolute")
    plain = [np.ones((3, 3)), correlations - np.diag(np.diag(correlations)), 2 * correlations]
    plain.append(np.diag([1.0, 1.0, 0.5]) + 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for matrix in plain:
            from_numpy(matrix, negative="absolute")
