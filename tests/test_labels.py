from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import GraphBatch, InvalidInputError, RetGKEmbedding, mean_embedding_gram
from retgk.graphs.flat import encode_labels, lacks_part, plain_label, recode, union_of_names
from retgk.kernels.refinement import keys_of_names

from .strategies import LABELS


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
    with pytest.raises(InvalidInputError, match=r"labels must be hashable, one per node: unhash"):
        encode_labels([[1], [2]])


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


@settings(max_examples=1500, deadline=None)
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
    with pytest.raises(
        InvalidInputError, match=r"of type object, of which no key .* use numbers, te"
    ):
        keys_of_names([(1, object())], 0)


@pytest.mark.parametrize("label", [("C", np.nan), (1, ("C", np.float32("nan"))), (Decimal("NaN"),)])
def test_nan_within_a_label(label: Any) -> None:
    """As NaN alone: an error, unless missing values are labels; then it is None."""
    edge = {"n_nodes": 2, "edges": [[0, 1]], "symmetrize": True}
    message = r"graph 0: node 1 has the label .*nan.*, of which a part stands for none; .*missing="
    with pytest.raises(InvalidInputError, match=f"(?i){message}"):
        GraphBatch.from_edges(**edge, labels=["C", label])
    with pytest.raises(InvalidInputError, match=r"of which a part stands for none; .*missing="):
        GraphBatch.from_edges(**edge, edge_labels=[label])
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
    exact = mean_embedding_gram(graphs, n_steps=4)
    vectors = RetGKEmbedding(4, n_components=2000, random_state=0).fit_transform(graphs)
    np.testing.assert_allclose(vectors @ vectors.T, exact, atol=0.1)
