"""Folds in which candidates are compared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from retgk import InvalidInputError
from retgk.learning.folds import inner_folds

CODES = st.lists(st.integers(0, 4), min_size=2, max_size=40).map(
    lambda values: np.unique(values, return_inverse=True)[1]
)


@given(codes=CODES, n_folds=st.integers(2, 6), seed=st.integers(0, 9))
def test_class_folds(codes, n_folds, seed):
    folds = inner_folds(n_folds, codes, seed)
    counts = np.bincount(codes)
    assert len(folds) == (min(n_folds, counts.max()) if counts.max() > 1 else 0)
    tested = np.concatenate([test for _, test in folds]) if folds else np.empty(0, int)
    assert sorted(tested) == (np.flatnonzero(counts[codes] > 1).tolist() if folds else [])
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(len(codes)))
        assert set(codes[train]) == set(codes)
        shares = np.bincount(codes[test], minlength=len(counts)) - counts / len(folds)
        assert (np.abs(shares[counts > 1]) < 1).all()


@given(n=st.integers(1, 40), n_folds=st.integers(2, 6))
def test_real_folds(n, n_folds):
    folds = inner_folds(n_folds, np.zeros(n), 0)
    assert len(folds) == (min(n_folds, n // 2) if n >= 4 else 0)
    if folds:
        assert sorted(np.concatenate([test for _, test in folds])) == list(range(n))
        assert min(len(test) for _, test in folds) >= 2


def test_none_is_five_folds():
    assert len(inner_folds(None, np.array([0, 1] * 10), 0)) == 5
    assert len(inner_folds(None, np.zeros(20), 0)) == 5


def test_the_seed_shuffles():
    codes = np.arange(40) % 2
    first, same, other = (inner_folds(4, codes, seed)[0][1].tolist() for seed in (0, 0, 1))
    assert first == same
    assert first != other


def test_splitters_and_lists():
    codes = np.arange(12) % 3
    found = inner_folds(StratifiedKFold(2), codes, 0)
    for (train, test), (a, b) in zip(found, StratifiedKFold(2).split(codes, codes), strict=True):
        np.testing.assert_array_equal(train, a)
        np.testing.assert_array_equal(test, b)
    pairs = [(np.arange(6), np.arange(6, 12))]
    assert inner_folds(pairs, codes, 0)[0][1].tolist() == list(range(6, 12))
    assert len(inner_folds(KFold(3), np.zeros(12), 0)) == 3


@pytest.mark.parametrize("cv", [1, 0, True])
def test_too_few_folds(cv):
    with pytest.raises(InvalidInputError, match="must be at least 2 folds, or a splitter"):
        inner_folds(cv, np.arange(6) % 2, 0)


def test_bad_folds():
    with pytest.raises(InvalidInputError, match="cv must be a number of folds, a splitter or"):
        inner_folds(2.5, np.arange(6) % 2, 0)
    with pytest.raises(InvalidInputError, match="fold 1 of cv has a training part without graphs"):
        inner_folds([([0, 1], [2]), ([0, 2], [1])], np.array([0, 1, 0]), 0)
