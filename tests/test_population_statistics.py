"""Statistics of populations, relabellings and combined kernels, by slow and obvious versions."""

import itertools
from math import comb

import numpy as np
import pytest

from retgk.stats.statistics import (
    QuadraticForm,
    Relabellings,
    association_form,
    factor,
    group_form,
    max_test,
    permuted_statistics,
    step_down_p_values,
    within_variance,
)
from tests.population_samples import random_kernel

# slow and obvious versions


def naive_mmd(kernel, first, second):
    """Unbiased squared MMD by its three sums (Gretton et al., 2012, equation 3)."""
    within = [
        np.mean([kernel[i, j] for i in side for j in side if i != j]) for side in (first, second)
    ]
    return sum(within) - 2 * np.mean([kernel[i, j] for i in first for j in second])


def naive_k_sample(kernel, codes):
    groups = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    pairs = list(itertools.combinations(groups, 2))
    weights = [len(a) * len(b) for a, b in pairs]
    return np.average([naive_mmd(kernel, a, b) for a, b in pairs], weights=weights)


def naive_paired(kernel, n_pairs):
    """Mean of h over pairs of pairs; pair i is i and n + i."""
    return np.mean(
        [
            kernel[i, j]
            + kernel[n_pairs + i, n_pairs + j]
            - kernel[i, n_pairs + j]
            - kernel[j, n_pairs + i]
            for i in range(n_pairs)
            for j in range(n_pairs)
            if i != j
        ]
    )


def naive_hsic(kernel, other):
    """Unbiased HSIC over all quadruples (Song et al., 2012, equation 4)."""
    quadruples = itertools.permutations(range(len(kernel)), 4)
    return np.mean(
        [
            kernel[i, j] * (other[i, j] + other[q, r] - other[i, q] - other[j, r])
            for i, j, q, r in quadruples
        ]
    )


# statistics


@pytest.mark.parametrize("counts", [(4, 4), (3, 6), (2, 5), (3, 4, 2), (2, 2, 2, 4)])
def test_group_statistic_is_the_naive_one(counts):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    kernel = random_kernel(1, len(codes))
    assert group_form(kernel, codes, None).value() == pytest.approx(naive_k_sample(kernel, codes))


def test_paired_statistic_is_the_naive_one():
    kernel = random_kernel(2, 12)
    codes, pairs = np.repeat([0, 1], 6), np.tile(np.arange(6), 2)
    assert group_form(kernel, codes, pairs).value() == pytest.approx(naive_paired(kernel, 6))


def test_hsic_is_the_naive_one():
    kernel, other = random_kernel(3, 7), random_kernel(4, 7)
    found = association_form(kernel, factor(other), None).value()
    assert found == pytest.approx(naive_hsic(kernel, other))


@pytest.mark.parametrize("is_association", [False, True])
def test_blocked_statistics_have_mean_zero_over_all_relabellings(is_association):
    codes, blocks = np.array([0, 1, 1, 0, 0, 1, 1, 2]), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    kernel = random_kernel(5, 8)
    if is_association:
        form = association_form(kernel, factor(random_kernel(6, 3)[np.ix_(codes, codes)]), blocks)
    else:
        form = group_form(kernel, codes, blocks)
    every = permuted_statistics([form], Relabellings(codes, blocks, 1000, 0), 1)
    assert every.mean() == pytest.approx(0, abs=1e-12)


def test_within_variance_is_that_of_plain_vectors():
    points = np.random.default_rng(0).normal(size=(9, 2))
    codes = np.repeat([0, 1], [4, 5])
    expected = sum(((points[codes == g] - points[codes == g].mean(0)) ** 2).sum() for g in (0, 1))
    assert within_variance(points @ points.T, codes) == pytest.approx(expected / 7)


# relabellings


def test_all_splits_are_enumerated():
    codes = np.array([0, 0, 0, 1, 1])
    relabellings = Relabellings(codes, np.zeros(5, int), comb(5, 2) - 1, 0)
    assert relabellings.are_all
    assert relabellings.n_drawn == comb(5, 2) - 1
    splits = {tuple(codes[row]) for row in relabellings.chunk(0)} | {tuple(codes)}
    assert len(splits) == comb(5, 2)


def test_labels_stay_in_their_blocks():
    rng = np.random.default_rng(0)
    codes, blocks = rng.integers(3, size=30), rng.integers(4, size=30)
    relabellings = Relabellings(codes, blocks, 500, 1)
    assert not relabellings.are_all
    drawn = relabellings.chunk(0)
    assert (blocks[drawn] == blocks).all()
    assert (np.sort(drawn, axis=1) == np.arange(30)).all()
    assert len({tuple(row) for row in drawn}) == 500


def test_random_relabellings_are_uniform():
    relabellings = Relabellings(np.arange(4), np.zeros(4, int), 10_000, 0)
    assert relabellings.are_all  # 4! of them
    many = Relabellings(np.arange(8), np.zeros(8, int), 8000, 0)
    drawn = np.concatenate([many.chunk(number) for number in range(len(many.borders) - 1)])
    shares = [(drawn[:, place] == label).mean() for place in range(8) for label in range(8)]
    assert np.abs(np.array(shares) - 1 / 8).max() < 0.02


def test_p_value_by_enumeration_is_that_of_a_naive_test():
    kernel, codes = random_kernel(7, 8), np.repeat([0, 1], [3, 5])
    relabellings = Relabellings(codes, np.zeros(8, int), 1000, 0)
    found = max_test(permuted_statistics([group_form(kernel, codes, None)], relabellings, 1))
    own = naive_mmd(kernel, range(3), range(3, 8))
    values = [
        naive_mmd(kernel, first, [i for i in range(8) if i not in first])
        for first in itertools.combinations(range(8), 3)
    ]
    assert found.p_value == pytest.approx(np.mean(np.array(values) >= own - 1e-12))


def test_paired_p_value_by_enumeration_is_that_of_a_naive_test():
    kernel, n_pairs = random_kernel(8, 10), 5
    codes, pairs = np.repeat([0, 1], n_pairs), np.tile(np.arange(n_pairs), 2)
    form = group_form(kernel, codes, pairs)
    found = max_test(permuted_statistics([form], Relabellings(codes, pairs, 1000, 0), 1))
    values = []
    for swaps in itertools.product([False, True], repeat=n_pairs):
        order = np.arange(2 * n_pairs)
        for pair in np.flatnonzero(swaps):
            order[[pair, n_pairs + pair]] = order[[n_pairs + pair, pair]]
        values.append(naive_paired(kernel[np.ix_(order, order)], n_pairs))
    assert found.p_value == pytest.approx(np.mean(np.array(values) >= values[0] - 1e-12))


def test_association_p_value_by_enumeration_is_that_of_a_naive_test():
    kernel, other = random_kernel(9, 5), random_kernel(10, 5)
    relabellings = Relabellings(np.arange(5), np.zeros(5, int), 1000, 0)
    form = association_form(kernel, factor(other), None)
    found = max_test(permuted_statistics([form], relabellings, 1))
    values = [
        naive_hsic(kernel, other[np.ix_(order, order)])
        for order in map(list, itertools.permutations(range(5)))
    ]
    assert found.p_value == pytest.approx(np.mean(np.array(values) >= values[0] - 1e-12))


def test_threads_change_no_bit():
    codes = np.repeat([0, 1, 2], 20)
    forms = [group_form(random_kernel(seed, 60), codes, None) for seed in (0, 1)]
    relabellings = Relabellings(codes, np.zeros(60, int), 5000, 3)
    one, three = (permuted_statistics(forms, relabellings, n_jobs) for n_jobs in (1, 3))
    assert np.array_equal(one, three)


# combined kernels


def test_constant_statistics_decide_nothing():
    found = max_test(np.ones((50, 3)))
    assert found.p_value == 1.0


def test_differences_up_to_rounding_are_ties():
    statistics = np.array([[1 + 1e-9, 5.0], [1.0, 4.0], [1.0, 4.0], [2.0, 3.0]])
    assert max_test(statistics).single.tolist() == [0.5, 0.25]
    found = max_test(statistics, np.array([1e-8, 1e-8]))
    assert found.single.tolist() == [1.0, 0.25]
    assert found.p_value == found.adjusted.min()
    assert max_test(statistics, 1.0).p_value == 1.0


def test_adjusted_p_values_are_not_below_single_ones():
    statistics = np.random.default_rng(0).normal(size=(200, 5))
    found = max_test(statistics)
    assert (found.adjusted >= found.single).all()
    assert found.p_value == found.adjusted.min()


def test_combined_test_keeps_the_level_for_kernels_of_different_scales():
    rng = np.random.default_rng(0)
    scales = np.array([1.0, 1e-6, 1e4])
    p_values = [
        max_test(rng.normal(size=(100, 3)) ** 3 * scales + scales).p_value for _ in range(2000)
    ]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.012)


def test_step_down_p_values_of_one_strong_statistic():
    rng = np.random.default_rng(0)
    statistics = rng.normal(size=(500, 6))
    statistics[0] = [0, 9, 0, 0, 8, -9]
    found = step_down_p_values(statistics)
    assert found[1] == found[4] == 1 / 500
    assert found[[0, 2, 3]].min() > 0.05
    single = np.mean(statistics >= statistics[0], axis=0)
    assert (found >= single).all()


def test_step_down_p_values_are_the_naive_ones():
    statistics = np.random.default_rng(1).normal(size=(60, 5))
    statistics[0] += [2.0, 1.5, 0.0, 1.0, -1.0]
    order = sorted(range(5), key=lambda column: -statistics[0, column])
    expected, largest_so_far = np.empty(5), 0.0
    for rank, column in enumerate(order):
        rest = statistics[:, order[rank:]].max(axis=1)
        largest_so_far = max(largest_so_far, np.mean(rest >= statistics[0, column]))
        expected[column] = largest_so_far
    assert np.allclose(step_down_p_values(statistics), expected)


def test_a_form_is_worth_its_value_under_the_labels_as_they_are():
    form = QuadraticForm(random_kernel(0, 5), np.eye(5)[:, :2], 2.0, -1.0)
    codes = np.array([0, 1, 2, 2, 2])
    every = permuted_statistics([form], Relabellings(codes, np.zeros(5, int), 50, 0), 1)
    assert every[0, 0] == pytest.approx(form.value())
