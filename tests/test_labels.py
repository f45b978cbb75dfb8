import json
import re
import tempfile
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import (
    GraphBatch,
    GraphClassifier,
    GraphRegressor,
    InvalidInputError,
    RetGK,
    Walks,
    as_batch,
    load_model,
    read_graphs,
    save_model,
)
from retgk.errors import InputWarning
from retgk.graphs.flat import encode_labels, lacks_part, plain_label, recode, union_of_names
from retgk.io import from_dataframe, from_edge_lists, from_grakel, from_pyg, write_parquet
from retgk.io.json import write_json
from retgk.kernels import Laplacian, RetGKEmbedding
from retgk.kernels.refinement import keys_of_names
from tests.errors import fails
from tests.example_graphs import LABELS, node_link


@given(st.lists(LABELS))
def test_codes_and_names_give_the_labels_back(labels: list[Any]) -> None:
    codes, names = encode_labels(labels)
    assert codes.dtype == np.int32
    assert [names[code] for code in codes] == labels
    assert len(set(names)) == len(names)
    assert set(names) == set(labels)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.sampled_from([0, 1, 50]))
def test_integer_arrays_are_encoded_like_lists(labels: list[int], spread: int) -> None:
    values = [label % spread for label in labels] if spread else labels
    codes, names = encode_labels(np.array(values, np.int64))
    expected_codes, expected_names = encode_labels(values)
    np.testing.assert_array_equal(codes, expected_codes)
    assert codes.dtype == np.int32
    assert names == expected_names
    assert all(type(name) is int for name in names)


@given(st.lists(st.sampled_from(["C", "N", "O", "Cl"])), st.randoms(use_true_random=False))
def test_names_do_not_depend_on_the_order(labels: list[str], random: Any) -> None:
    shuffled = list(labels)
    random.shuffle(shuffled)
    assert encode_labels(shuffled)[1] == encode_labels(labels)[1] == tuple(sorted(set(labels)))


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (np.array(["b", "a"]), ("a", "b")),
        (np.array([True, False]), (False, True)),
        (np.array([2.5, 1.0], np.float32), (1.0, 2.5)),
        (np.array([255, 0], np.uint8), (0, 255)),
        (np.array([2**63, 1], np.uint64), (1, 2**63)),
        (np.array([2**63 + 5, 2**63 + 7], np.uint64), (2**63 + 5, 2**63 + 7)),
        (np.array([2**64 - 1, 2**64 - 1], np.uint64), (2**64 - 1,)),
        (np.array([-128, 127], np.int8), (-128, 127)),
        (np.array([-(2**63), 2**63 - 1]), (-(2**63), 2**63 - 1)),
        (np.array([3, -4, 3]), (-4, 3)),
        (np.array(["x", None], object), ("x", None)),
        ([(1, 2), (0, 9)], ((0, 9), (1, 2))),
        ([2, "a", None], (2, "a", None)),
        ([2**70, 1], (1, 2**70)),
        ([np.int64(1), 1, 1.0, True], (1,)),
        ([], ()),
        (np.array([], np.int64), ()),
    ],
)
def test_kinds_of_labels(labels: Any, names: tuple[Any, ...]) -> None:
    codes, got = encode_labels(labels)
    assert got == names
    assert [type(name) for name in got] == [type(name) for name in names]
    assert [got[code] for code in codes] == list(labels)


def test_partial_order_is_not_taken_for_an_order() -> None:
    labels = [frozenset("b"), frozenset("a"), frozenset("ab")]
    codes, names = encode_labels(labels)
    assert names == tuple(labels)
    np.testing.assert_array_equal(codes, [0, 1, 2])


def test_unhashable_label() -> None:
    fails(lambda: encode_labels([[1], [2]]), about="labels must be hashable")


@given(st.lists(LABELS, min_size=1), st.lists(LABELS))
def test_recode_keeps_labels_or_says_minus_one(labels: list[Any], others: list[Any]) -> None:
    codes, names = encode_labels(labels)
    new_names = encode_labels(others)[1]
    recoded = recode(codes, names, new_names)
    assert [new_names[code] if code >= 0 else None for code in recoded] == [
        label if label in new_names else None for label in labels
    ]


@given(st.lists(st.lists(st.integers(0, 9), unique=True)))
def test_union_of_names_is_sorted_without_repeats(vocabularies: list[list[int]]) -> None:
    assert union_of_names(vocabularies) == tuple(sorted(set().union(*vocabularies)))


class Element(StrEnum):
    CARBON = "C"


class Charge(IntEnum):
    NONE = 0
    ONE = 1


class Colour(Enum):
    RED = "C"
    BLUE = 1


class Name(str):
    __slots__ = ()


class Bond(NamedTuple):
    end: Any
    order: Any


NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([2**53, 2**53 + 1, 2**64, 10**700, 10**700 + 1]),
    st.booleans(),
    st.floats(allow_nan=False),
    st.sampled_from([0.1, 0.5, -0.0, np.inf, -np.inf]),
    st.sampled_from(
        [Decimal("0.1"), Decimal("0.50"), Decimal(1), Decimal("-Infinity"), Decimal("1e400")]
    ),
    st.fractions(-2, 2, max_denominator=3),
    st.sampled_from([1 + 0j, 1j, 0.5 - 1j, Charge.NONE, Charge.ONE]),
    st.sampled_from(
        [np.int8(1), np.uint64(2**63), np.float64(0.1), np.float32(0.5), np.bool_(True)]
    ),
    st.sampled_from([np.longdouble(1), np.longdouble(1) / 3, np.complex64(1j)]),
)
TEXTS = st.one_of(
    st.text(st.characters(codec=None), max_size=3),
    st.sampled_from(["C", "1", "None", "'", '"', "\\", "(1, 2)", "\ud800", "\U0001fae8"]),
    st.sampled_from([np.str_("C"), Element.CARBON, Name("C"), b"C", np.bytes_(b"C")]),
)
PLAIN_LABELS = st.one_of(
    NUMBERS,
    TEXTS,
    st.none(),
    st.sampled_from(Colour),
    st.sampled_from([date(2026, 1, 2), datetime(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC)]),
    st.just(datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=1)))),
)


def _frozenset(parts: list[Any]) -> frozenset[Any]:
    """A frozenset; of plain values where parts cannot be compared: `Decimal(1) == np.int8(1)`."""
    try:
        return frozenset(parts)
    except TypeError:
        return frozenset(map(plain_label, parts))


ALL_LABELS = st.recursive(
    PLAIN_LABELS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.builds(Bond, inner, inner),
        st.lists(inner, max_size=3).map(_frozenset),
    ),
    max_leaves=4,
)


@st.composite
def pairs_of_labels(draw: st.DrawFn) -> tuple[Any, Any]:
    """Two labels that may well be equal: alone, or as parts of the same tuple."""
    first, second = draw(ALL_LABELS), draw(ALL_LABELS)
    if draw(st.booleans()):
        around = draw(
            st.sampled_from([lambda x: (x, "C"), lambda x: Bond(1, x), lambda x: ((x,),)])
        )
        first, second = around(first), around(second)
    return first, second


@settings(max_examples=400, deadline=None)
@given(pairs_of_labels())
def test_keys_are_equal_where_labels_are(pair: tuple[Any, Any]) -> None:
    codes, names = encode_labels(list(pair))
    first, second = keys_of_names(pair, 0)
    assert (
        (first == second)
        == (codes[0] == codes[1])
        == (plain_label(pair[0]) == plain_label(pair[1]))
    )
    np.testing.assert_array_equal(keys_of_names(names, 0)[codes], [first, second])


def test_decimals_beside_integers_of_numpy() -> None:
    codes, names = encode_labels([Decimal(1), np.int8(1), Decimal(2)])
    assert codes.tolist() == [0, 0, 1]
    assert names == (1, 2)


EQUAL = {
    "numpy in a tuple": (("C", np.int64(1)), ("C", 1)),
    "numpy deep in tuples": (((np.str_("C"), np.float32(0.5)), np.bool_(True)), (("C", 0.5), True)),
    "numpy in a frozenset": (frozenset([np.int64(1)]), frozenset([1])),
    "StrEnum": (Element.CARBON, "C"),
    "IntEnum in a tuple": ((Charge.ONE, "C"), (1, "C")),
    "subclass of str": (Name("C"), "C"),
    "named tuple": (Bond("C", 2), ("C", 2)),
}


@pytest.mark.parametrize("kind", EQUAL)
def test_labels_become_plain_at_the_door(kind: str) -> None:
    label, expected = EQUAL[kind]
    batch = GraphBatch.from_edges(
        2, [[0, 1]], labels=[label] * 2, edge_labels=[label], symmetrize=True
    )
    for names in (batch.label_names, batch.edge_label_names):
        assert names == (expected,)
        assert repr(names) == repr((expected,))


WRITTEN_KEYS = [
    10313745813528371726, 4138188452690106281, 15158587976618821397, 10911482934329645781,
    2045338299663654767, 12576274359201897040, 4454368709078030988, 6321402476305675413,
    4503694725666596050, 14809304107614157121,
]  # fmt: skip


def test_keys_are_the_same_in_every_process_and_version() -> None:
    """Written down: `repr` of the text and of the tuple depends on the version of Python."""
    labels = [
        "C",
        1,
        None,
        0.5,
        "\U0001fae8",
        ("C", 1),
        frozenset(["a", 2]),
        -np.inf,
        b"C",
        Colour.RED,
    ]
    assert keys_of_names(labels, 7).tolist() == WRITTEN_KEYS


def test_numbers_of_more_digits_than_python_writes() -> None:
    large = 10**5000
    keys = keys_of_names([large, Fraction(large), -large, large + 1, Fraction(1, large)], 0)
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 4


def test_labels_of_other_classes_have_no_key() -> None:
    fails(lambda: keys_of_names([(1, object())], 0), about="of type object")


def _measured(n_graphs: int, label: Any, bond: Any = None) -> list[nx.Graph]:
    graphs = [nx.path_graph(30) for _ in range(n_graphs)]
    for number, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {n: label(30 * number + n) for n in graph}, "size")
        if bond is not None:
            nx.set_edge_attributes(
                graph, {e: bond(30 * number + e[0]) for e in graph.edges}, "bond"
            )
    return graphs


def test_labels_that_are_nearly_as_many_as_nodes_are_a_warning() -> None:
    """Continuous values pass as labels, and a training score of one is no feat then."""
    with pytest.warns(
        InputWarning, match=r"nodes have 90 different labels, and there are 90 nodes"
    ):
        as_batch(_measured(3, float), label="size")
    with pytest.warns(InputWarning, match=r"60 different labels.*\(attributes=\)"):
        as_batch(_measured(3, lambda n: n // 3 * 2 % 60 + 0.5 + n % 2), label="size")
    bonds = _measured(3, lambda _: "C", lambda n: n * 0.7)
    with pytest.warns(
        InputWarning, match=r"edges have 87 different labels, and there are 87 edges"
    ):
        as_batch(bonds, label="size", edge_label="bond")
    nodes = {
        "graph_id": [n // 30 for n in range(90)],
        "node": list(range(90)),
        "kind": list(range(90)),
    }
    edges = {"graph_id": [0], "source": [0], "target": [1]}
    with pytest.warns(InputWarning, match="90 different labels"):
        from_dataframe(edges, nodes, label="kind")
    # names of regions, of one subject and of several, and whatever is small
    as_batch(_measured(1, str) + _measured(4, lambda n: str(n % 30)), label="size")
    as_batch([nx.disjoint_union_all(_measured(3, str))], label="size")
    as_batch([graph.subgraph(range(8)) for graph in _measured(3, float)], label="size")


@pytest.mark.parametrize("label", [("C", np.nan), (1, ("C", np.float32("nan"))), (Decimal("NaN"),)])
def test_nan_within_a_label(label: Any) -> None:
    """As NaN alone: an error, unless missing values are labels; then it is None."""
    edge = {"n_nodes": 2, "edges": [[0, 1]], "symmetrize": True}
    about = ("graph 0", "node 1", "a part stands for none", "missing=")
    fails(lambda: GraphBatch.from_edges(**edge, labels=["C", label]), about)
    fails(lambda: GraphBatch.from_edges(**edge, edge_labels=[label]), about="missing=")
    batch = GraphBatch.from_edges(**edge, labels=[label, label], missing="label")
    assert len(batch.label_names) == 1
    assert not any(map(lacks_part, batch.label_names))
    assert GraphBatch.from_edges(**edge, edge_labels=[label], missing="label").has_edge_labels


@pytest.mark.parametrize(
    "label", [np.inf, ("C", -np.inf), frozenset([np.inf]), Decimal("Infinity")]
)
def test_infinite_labels(label: Any) -> None:
    """They are equal to themselves, and so are labels as any."""
    graphs = GraphBatch.from_edges(
        [2, 2], [[0, 1], [2, 3]], labels=[label, "C"] * 2, symmetrize=True
    )
    exact = RetGK(walks=Walks(4), structure=Laplacian(5.0)).fit(graphs).inner_products_
    embedding = RetGKEmbedding(2000, walks=Walks(4), random_state=0)
    vectors = embedding.fit_transform(graphs)
    np.testing.assert_allclose(vectors @ vectors.T, exact, atol=0.1)


# Missing labels and attributes: an error that says what to do, or what the user chose

NAN = float("nan")
PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
EDGES = np.array([[0, 1], [1, 2]])


def networkx_graph(label: Any, value: Any) -> Any:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "a", 1: "b", 2: label}, "k")
    nx.set_node_attributes(graph, {0: 1.0, 1: 2.0, 2: value}, "v")
    return graph


def networkx_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    return as_batch([networkx_graph(label, value)] * 2, label="k", attributes="v", **options)


def networkx_gaps(label: Any, value: Any, **options: Any) -> GraphBatch:
    """The same where the node has no such entry at all."""
    graph = networkx_graph(label, value)
    for name, found in (("k", label), ("v", value)):
        if found is None:
            del graph.nodes[2][name]
    return as_batch([graph] * 2, label="k", attributes="v", **options)


def igraph_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    values = {"k": ["a", "b", label], "v": [1.0, 2.0, value]}
    graph = igraph.Graph(3, EDGES.tolist(), vertex_attrs=values)
    return as_batch([graph] * 2, label="k", attributes="v", **options)


def matrix_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    values = {"labels": [["a", "b", label]] * 2, "attributes": [[1.0, 2.0, value]] * 2}
    return as_batch([PATH] * 2, **values, **options)


def sparse_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    rows = np.array([[1.0], [2.0], [value]], object)
    values = {
        "labels": [["a", "b", label]] * 2,
        "attributes": [rows if value is None else rows.astype(float)] * 2,
    }
    return as_batch([sp.csr_array(PATH)] * 2, **values, **options)


def edges_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    values = {"labels": [["a", "b", label]] * 2, "attributes": [[[1.0], [2.0], [value]]] * 2}
    return from_edge_lists([EDGES] * 2, **values, symmetrize=True, **options)


def plain_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    labels, values = ["a", "b", label] * 2, np.array([[1.0], [2.0], [value]] * 2, float)
    edges = [[0, 1], [1, 2], [3, 4], [4, 5]]
    return GraphBatch.from_edges(
        [3, 3], edges, labels=labels, attributes=values, symmetrize=True, **options
    )


def json_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    return batch_of_json(node_link(networkx_graph(label, value)), **options)


def json_gaps(label: Any, value: Any, **options: Any) -> GraphBatch:
    """The same where the node has no such entry at all."""
    record = node_link(networkx_graph(label, value))
    record["nodes"][2] = {k: v for k, v in record["nodes"][2].items() if v is not None}
    return batch_of_json(record, **options)


def batch_of_json(record: Any, **options: Any) -> GraphBatch:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_text(json.dumps([record] * 2))
        return read_graphs(path, label="k", attributes="v", **options).graphs


def plain_json(label: Any, value: Any, **options: Any) -> GraphBatch:
    record = {"edges": EDGES.tolist(), "labels": ["a", "b", label]}
    record["attributes"] = [[1.0], [2.0], [value]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text(2 * f"{json.dumps(record)}\n")
        return read_graphs(path, **options).graphs


BUILDERS = [
    networkx_batch, networkx_gaps, igraph_batch, matrix_batch, sparse_batch, edges_batch,
    plain_batch, json_batch, json_gaps,
]  # fmt: skip


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(("label", "value"), [(None, 3.0), (NAN, 3.0), ("c", None), ("c", NAN)])
def test_missing_values_are_an_error_that_says_where(build: Any, label: Any, value: Any) -> None:
    build("c", 3.0)
    with pytest.raises(InvalidInputError) as caught:
        build(label, value)
    message = str(caught.value)
    assert "graph 0" in message
    assert re.search("node '?2|vertex 2", message)
    assert "missing=" in message


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("label", [None, NAN])
def test_a_label_of_its_own(build: Any, label: Any) -> None:
    for missing in ("label", "keep"):
        batch = build(label, 3.0, missing=missing)
        assert batch.label_names == ("a", "b", None)
        assert batch.labels.tolist() == [0, 1, 2] * 2
    fails(lambda: build(label, 3.0, missing="nan"), about="node 2")


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("value", [None, NAN])
def test_attributes_stay_nan(build: Any, value: Any) -> None:
    for missing in ("nan", "keep"):
        batch = build("c", value, missing=missing)
        np.testing.assert_array_equal(batch.attributes[:, 0], [1, 2, NAN] * 2)
    with pytest.raises(InvalidInputError):
        build("c", value, missing="label")


def test_plain_edges_in_json() -> None:
    assert plain_json(None, NAN, missing="keep") == networkx_batch(None, NAN, missing="keep")
    for label, value in ((None, 3.0), ("c", None), ("c", NAN)):
        fails(partial(plain_json, label, value), about=("a.jsonl, line 1", "node 2", "missing="))


def test_tables_of_nodes() -> None:
    edges = {"graph_id": [0, 0], "source": [0, 1], "target": [1, 2]}
    options = {"label": "k", "attributes": "v"}
    for name, gap, where in (("k", None, "node 2 has the label None"), ("v", NAN, "node 2 is nan")):
        nodes = {"graph_id": [0] * 3, "node": [0, 1, 2], "k": ["a", "b", "c"], "v": [1.0, 2.0, 3.0]}
        nodes[name][2] = gap
        fails(partial(from_dataframe, edges, nodes, **options), about=(where, "missing="))
        found = from_dataframe(edges, nodes, **options, missing="keep")
        gaps = {"label": None, "value": 3.0} if name == "k" else {"label": "c", "value": NAN}
        assert found == networkx_batch(**gaps, missing="keep")[0]


@pytest.mark.parametrize("gap", [None, NAN])
def test_parts_of_labels(gap: Any) -> None:
    graph = networkx_graph("c", gap)
    fails(lambda: as_batch([graph], label=["k", "v"]), about=("graph 0", "node 2", "'v'"))
    batch = as_batch([graph], label=["k", "v"], missing="label")
    assert set(batch.label_names) == {("a", 1.0), ("b", 2.0), ("c", None)}


@pytest.mark.filterwarnings("ignore:'k' became")
@pytest.mark.parametrize("gap", [None, NAN])
def test_categories(gap: Any) -> None:
    graph = networkx_graph(gap, 3.0)
    for missing in ("error", "label"):
        call = partial(as_batch, [graph], categorical="k", missing=missing)
        fails(call, about=("node 2", "'k'"))
    batch = as_batch([graph], categorical="k", missing="nan")
    np.testing.assert_array_equal(batch.attributes, [[1, 0], [0, 1], [NAN, NAN]])
    assert batch.reading.options["categorical"] == {"k": ["a", "b"]}
    nx.set_node_attributes(graph, gap, "k")
    fails(lambda: as_batch([graph], categorical="k", missing="nan"), about="'k'")
    listed = as_batch([networkx_graph(None, 3.0)], categorical={"k": ["a", "b", None]})
    np.testing.assert_array_equal(listed.attributes, np.eye(3))


def test_json_holds_what_is_missing(tmp_path: Path) -> None:
    batch = networkx_batch(None, NAN, missing="keep")
    path = write_json(batch, tmp_path / "a.json")
    assert read_graphs(path, missing="keep").graphs == batch


def test_vectors_with_gaps_and_without_any() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: (1, 2), 1: (None, 3), 2: None}, "v")
    found = as_batch(graph, attributes="v", missing="nan").attributes
    np.testing.assert_array_equal(found, [[1, 2], [NAN, 3], [NAN, NAN]])


def test_tensors_with_nan() -> None:
    graph = SimpleNamespace(edge_index=[[0, 1], [1, 0]], num_nodes=2, x=np.array([[1.0], [NAN]]))
    fails(lambda: from_pyg(graph, attributes="x"), about=("attribute 0", "node 1", "missing="))
    assert np.isnan(from_pyg(graph, attributes="x", missing="nan").attributes[1, 0])


def test_labels_of_grakel() -> None:
    graph = [{(0, 1): 1, (1, 0): 1}, {0: "a"}]
    fails(lambda: from_grakel([graph]), about=("graph 0", "node 1"))
    assert from_grakel([graph], missing="label").label_names == ("a", None)


def test_other_words_and_infinity_are_errors() -> None:
    fails(lambda: plain_batch("c", 3.0, missing="mean"), about=("'error'", "'label'", "'nan'"))
    fails(lambda: plain_batch("c", np.inf, missing="nan"), about=("attribute 0", "node 2"))


def test_graphs_with_nan_are_equal_to_themselves() -> None:
    assert plain_batch("c", NAN, missing="nan") == plain_batch("c", NAN, missing="nan")
    assert plain_batch("c", NAN, missing="nan") != plain_batch("c", 3.0)


# Estimators


def gappy(seed: int = 0, n_graphs: int = 20) -> GraphBatch:
    """Paths of three nodes whose two attributes are missing here and there."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3 * n_graphs, 2))
    values[rng.random(values.shape) < 0.2] = NAN
    edges = 3 * np.arange(n_graphs)[:, None, None] + EDGES
    sizes = np.full(n_graphs, 3)
    return GraphBatch.from_edges(
        sizes, edges.reshape(-1, 2), attributes=values, symmetrize=True, missing="nan"
    )


FAST = {"walks": Walks(4), "random_state": 0}
ONE = {"C": 1, "candidates": {}, "cv": 2, "random_state": 0}
MAKERS = {
    "kernel": lambda how: RetGK(**FAST, impute_attributes=how),
    "embedding": lambda how: RetGKEmbedding(**FAST, n_components=8, impute_attributes=how),
    "classifier": lambda how: GraphClassifier(MAKERS["kernel"](how), **ONE),
    "regressor": lambda how: GraphRegressor(MAKERS["kernel"](how), **ONE),
}
MIDDLES = {"mean": np.nanmean, "median": np.nanmedian}


@pytest.mark.parametrize("name", MAKERS)
def test_estimators_refuse_gaps_unless_told(name: str) -> None:
    graphs, y = gappy(), [0, 1] * 10
    graph, node, column = (
        int(i[0]) for i in np.nonzero(np.isnan(graphs.attributes.reshape(-1, 3, 2)))
    )
    about = (f"graph {graph}", f"attribute {column} of node {node} is nan", "impute_attributes=")
    fails(lambda: MAKERS[name](None).fit(graphs, y), about)
    full = graphs.with_attributes(np.nan_to_num(graphs.attributes))
    model = MAKERS[name](None).fit(full, y)
    answer = model.predict if hasattr(model, "predict") else model.transform
    fails(lambda: answer(graphs), about)
    fails(lambda: MAKERS[name]("mode").fit(graphs, y), about="impute_attributes must be")


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("how", MIDDLES)
def test_gaps_are_filled_with_what_training_graphs_have(
    name: str, how: str, tmp_path: Path
) -> None:
    train, test, y = gappy(0), gappy(1, 7), [0, 1] * 10
    middle = MIDDLES[how](train.attributes, axis=0)
    by_hand = [
        batch.with_attributes(np.where(np.isnan(batch.attributes), middle, batch.attributes))
        for batch in (train, test)
    ]
    model, plain = MAKERS[name](how).fit(train, y), MAKERS[name](None).fit(by_hand[0], y)
    save_model(model, tmp_path / "model.retgk")
    for each in (model, load_model(tmp_path / "model.retgk")):
        for method in ("transform", "predict", "decision_function"):
            if hasattr(each, method):
                expected = getattr(plain, method)(by_hand[1])
                np.testing.assert_array_equal(getattr(each, method)(test), expected)


def test_an_attribute_that_no_node_has() -> None:
    graphs = gappy()
    nothing = np.column_stack([graphs.attributes, np.full(graphs.n_nodes, NAN)])
    fails(
        lambda: MAKERS["kernel"]("mean").fit(graphs.with_attributes(nothing, missing="nan")),
        about="attribute 2",
    )


def test_the_way_to_read_gaps_is_remembered() -> None:
    full, gap = networkx_graph("c", 3.0), networkx_graph(None, None)
    options = {"label": "k", "attributes": "v", "missing": "keep"}
    model = MAKERS["kernel"]("mean").fit(as_batch([full, gap], **options))
    np.testing.assert_array_equal(
        model.transform([gap]), model.transform(as_batch([gap], **options))
    )


def test_files(tmp_path: Path) -> None:
    nx.write_graphml(networkx_graph("c", 3.0), tmp_path / "a.graphml")
    graph = networkx_graph("c", 3.0)
    del graph.nodes[2]["k"], graph.nodes[2]["v"]
    nx.write_graphml(graph, tmp_path / "b.graphml")
    fails(
        lambda: read_graphs(tmp_path, label="k", attributes="v"),
        about=("graph 1", "'2'", "'k'", "missing="),
    )
    found = read_graphs(tmp_path, label="k", attributes="v", missing="keep").graphs
    assert found.label_names == ("a", "b", "c", None)
    assert np.isnan(found.attributes).sum() == 1
    fails(
        lambda: write_parquet(found, tmp_path / "a.parquet"),
        about=("graph 1", "attribute 0", "node 2"),
    )
