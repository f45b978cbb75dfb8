"""Tests of populations where numbers end: equal graphs, few graphs, values of any size."""

import json

import numpy as np
import pytest

from retgk import association_test, k_sample_test, two_sample_test
from tests.population_samples import random_graph

# graphs that are equal but for rounding

RING = np.roll(np.eye(6), 1, 1) + np.roll(np.eye(6), -1, 1)
G, H = (random_graph(np.random.default_rng(seed), 0.3, n) for seed, n in ((1, 15), (2, 12)))
SETTINGS = {"n_permutations": 999, "random_state": 0, "confidence": None}


def reordered(matrix, seed=0):
    order = np.random.default_rng(seed).permutation(len(matrix))
    return matrix[np.ix_(order, order)]


PEOPLE = [random_graph(np.random.default_rng(seed), 0.3, 12) for seed in range(20)]
MOVED = [reordered(matrix, seed) for seed, matrix in enumerate(PEOPLE)]
EQUAL = {
    "one graph": lambda **how: two_sample_test([G] * 20, [G] * 20, **how),
    "other order": lambda **how: two_sample_test([G] * 20, [reordered(G)] * 20, **how),
    "rings": lambda **how: two_sample_test([RING] * 15, [RING] * 15, **how),
    "many rings": lambda **how: two_sample_test([RING] * 40, [RING] * 40, **how),
    "few and many": lambda **how: two_sample_test([G] * 300, [G] * 2, **how),
    "one differs": lambda **how: two_sample_test([G] * 20, [G] * 19 + [H], **how),
    "three": lambda **how: k_sample_test([H] * 20, [H] * 20, [H] * 20, **how),
    "three uneven": lambda **how: k_sample_test([H] * 196, [H] * 2, [H] * 2, **how),
    "pairs": lambda **how: two_sample_test(PEOPLE, MOVED, pairs=True, **how),
    "blocks": lambda **how: two_sample_test([G] * 9, [G] * 9, groups=[0, 0, 1] * 6, **how),
    "value": lambda **how: association_test([G] * 20, range(20), **how),
    "value in blocks": lambda **how: association_test(
        [G] * 9, range(9), groups=[0, 0, 1] * 3, **how
    ),
}


@pytest.mark.parametrize("engine", ["exact", "embedded"])
@pytest.mark.parametrize("case", EQUAL)
def test_rounding_is_no_difference(case, engine):
    found = EQUAL[case](engine=engine, **SETTINGS)
    assert found.p_value == 1.0
    assert found.effect.value == 0.0
    assert all(kernel.p_value == 1.0 for kernel in found.kernels)


def test_rounding_is_no_difference_of_nodes():
    found = two_sample_test([G] * 12, [G] * 12, nodes_correspond=True, **SETTINGS).nodes
    assert (found.p_value == 1.0).all()
    assert (found.corrected_p_value == 1.0).all()
    assert (found.effect == 0.0).all()


def test_one_of_three_groups_that_differs_is_found():
    found = k_sample_test([H] * 20, [H] * 20, [G] * 20, **SETTINGS)
    assert found.p_value == 0.001
    assert np.isinf(found.effect.value)


def test_a_difference_far_above_rounding_is_found():
    """One weight of one graph in all differs in its sixth digit."""
    other = G.copy()
    other[tuple(np.argwhere(G)[0])] = other[tuple(np.argwhere(G)[0][::-1])] = 1 + 1e-5
    assert two_sample_test([G] * 20, [other] * 20, tol=0.0, **SETTINGS).p_value == 0.001


# sizes of effects, and their intervals


@pytest.mark.parametrize("sizes", [(1, 3), (4, 5)])
def test_effect_of_graphs_that_are_alike_within_groups_is_infinite(sizes):
    paths = [np.eye(n, k=1) + np.eye(n, k=-1) for n in sizes]
    found = two_sample_test([paths[0]] * 4, [paths[1]] * 4, n_permutations=99, random_state=0)
    assert found.p_value < 0.05
    assert found.effect == (np.inf, np.inf, np.inf)
    assert "graphs within groups are all alike: an infinite effect" in str(found)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["effect"] is None
    assert plain["effect_interval"] == [None, None]


def test_halves_that_are_alike_within_groups_leave_the_interval_open():
    found = two_sample_test([G] * 4, [H] * 3 + [G], n_permutations=99, random_state=0)
    assert found.effect.low < found.effect.value < found.effect.high == np.inf
    assert found.to_dict()["effect_interval"] == [found.effect.low, None]
    assert "to inf, from halves" in str(found)


def test_effects_of_nodes_that_are_alike_within_groups_are_infinite():
    paths = [np.eye(5, k=1) + np.eye(5, k=-1) for _ in range(2)]
    paths[1][0, 1] = paths[1][1, 0] = 9.0
    sides = [[path] * 4 for path in paths]
    found = two_sample_test(*sides, nodes_correspond=True, n_permutations=99, random_state=0)
    assert np.isinf(found.nodes.effect[1])
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["nodes"]["effect"][1] is None


@pytest.mark.parametrize("groups", [None, "blocks"])
@pytest.mark.parametrize("n", [4, 5, 6, 7, 8, 9])
def test_association_of_few_graphs_has_no_interval(n, groups):
    graphs = [random_graph(np.random.default_rng(i), 0.1 + 0.1 * i, 10) for i in range(n)]
    groups = groups and [0] * (n // 2) + [1] * (n - n // 2)
    found = association_test(
        graphs, range(n), groups=groups, n_permutations=99, random_state=0, bandwidths=1.0
    )
    assert -1 <= found.effect.value <= 1
    if n < 8 or groups:
        assert found.effect[1:] == (None, None)
        assert "too few graphs for an interval" in str(found)
    else:
        assert found.effect.low < found.effect.value < found.effect.high


def test_interval_of_a_correlation_is_one_of_correlations():
    """Halves in which all values are the same have no correlation, not rounding by rounding."""
    found = association_test(PEOPLE, ["a"] * 17 + ["b"] * 3, n_permutations=9, random_state=0)
    assert -1 <= found.effect.low <= found.effect.high <= 1


def test_halves_without_a_block_of_both_groups():
    """One of nine blocks has graphs of both: there is an effect, but none of most halves."""
    groups = [*range(9), 8, *[8] * 10]
    found = two_sample_test(
        PEOPLE[:10], PEOPLE[10:], groups=groups, n_permutations=99, random_state=0
    )
    assert found.effect.value > 0
    assert found.effect[1:] == (None, None)


@pytest.mark.parametrize("unit", [1e-320, 1e-170, 1e155, 1.5e307])
def test_the_unit_of_a_value_does_not_matter(unit):
    values = np.arange(-6, 6)
    graphs = [random_graph(np.random.default_rng(i), 0.1 + 0.05 * i, 10) for i in range(12)]
    one, other = (association_test(graphs, y, **SETTINGS) for y in (values, values * unit))
    assert one.p_value < 0.01
    assert other.p_value == one.p_value
    assert other.effect.value == pytest.approx(one.effect.value)


def test_whole_numbers_of_any_size_are_numbers():
    values = [2**70 * i for i in range(20)]
    found, expected = (
        association_test(PEOPLE, y, kind="number", **SETTINGS).p_value for y in (values, range(20))
    )
    assert found == expected
