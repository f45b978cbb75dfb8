from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retgk import InvalidInputError
from retgk.graphs.labels import encode_labels, recode, union_of_names

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
