"""What tests of populations promise: level, power, invariances, and where groups differ."""

import itertools
import json
from math import comb

import networkx as nx
import numpy as np
import pytest
import scipy.stats

import retgk
from retgk import GraphDataset, Walks, as_batch, two_sample_test
from retgk.errors import InputWarning
from retgk.kernels import Gaussian, Laplacian
from retgk.stats import association_test, k_sample_test
from retgk.stats.correspondence import EdgeScan, EdgeWeights
from retgk.stats.statistics import (
    Relabellings,
    association_form,
    factor,
    group_form,
    max_test,
    permuted_statistics,
    step_down_p_values,
    within_variance,
)
from tests.errors import assert_names, fails
from tests.example_graphs import QUICK, population_graphs, random_graph, random_kernel

# the level, and power


def rejections(p_value_of, n_repetitions=300):
    return np.mean([p_value_of(seed) <= 0.05 for seed in range(n_repetitions)])


BAND = (0.02, 0.085)  # of 300 tests at 5 %: 4.2 deviations of either side at most


def reordered(rng, matrix):
    order = rng.permutation(len(matrix))
    return matrix[np.ix_(order, order)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_graphs", "method"),
    [(100, "exact"), *itertools.product([1, 3], ["monte-carlo", "monte-carlo-returns"])],
)
def test_level(n_graphs, method):
    """Both sides draw from the same graphs; the second has nodes in orders of its own."""
    rng = np.random.default_rng(0)

    def p_value(seed):
        pool = [random_graph(rng) for _ in range(n_graphs)]
        first, second = ([pool[i] for i in rng.integers(n_graphs, size=10)] for _ in range(2))
        second = [reordered(rng, matrix) for matrix in second]
        settings = {**QUICK, "walks": Walks(10, method, 50), "rng": seed}
        return two_sample_test(first, second, **settings).p_value

    assert BAND[0] <= rejections(p_value) <= BAND[1]


def test_level_within_blocks_that_differ():
    """Sides have other shares of blocks that differ much; a free test would always reject."""
    rng = np.random.default_rng(2)
    blocks = np.repeat([0, 1, 0, 1], [9, 3, 3, 9])
    codes = np.repeat([0, 1], 12)

    def statistics_of(seed, within):
        points = rng.normal(size=(24, 2)) + 3 * blocks[:, None]
        kernel = np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 4)
        form = group_form(kernel, codes, blocks if within else None)
        dealt = blocks if within else np.zeros(24, int)
        relabellings = Relabellings(codes, dealt, 99, seed)
        return max_test(permuted_statistics([form], relabellings, 1)).p_value

    assert BAND[0] <= rejections(lambda seed: statistics_of(seed, True)) <= BAND[1]
    assert rejections(lambda seed: statistics_of(seed, False), 50) > 0.5


def test_a_difference_is_found():
    sides = population_graphs(0, 12, 0.2), population_graphs(1, 12, 0.5)
    for compare in ("graphs", "nodes"):
        found = two_sample_test(*sides, compare=compare, rng=0, n_permutations=999)
        assert found.p_value == 0.001
        assert found.compare == compare
    assert found.effect.low > 0.2
    assert (found.witness[:12] > found.witness[12:].max()).mean() > 0.8


def test_two_groups_are_the_same_by_either_name():
    first, second = population_graphs(0, 6), population_graphs(1, 7, 0.5)
    both = retgk.GraphBatch.concatenate([first, second])
    by = ["a"] * 6 + ["b"] * 7
    one = two_sample_test(first, second, rng=3, **QUICK)
    for other in (
        two_sample_test(both, by=by, rng=3, **QUICK),
        k_sample_test(both, by=by, rng=3, **QUICK),
        k_sample_test(first, second, rng=3, **QUICK),
    ):
        assert other.p_value == one.p_value
        assert other.kernels == one.kernels
        assert np.array_equal(other.permuted, one.permuted)


def test_association_with_a_number_and_with_categories():
    rng = np.random.default_rng(0)
    densities = rng.uniform(0.1, 0.6, 24)
    graphs = retgk.io.from_numpy([random_graph(rng, density) for density in densities])
    settings = {**QUICK, "n_permutations": 999, "rng": 0}
    assert association_test(graphs, densities, **settings).p_value == 0.001
    assert association_test(graphs, rng.permutation(densities), **settings).p_value > 0.05
    assert association_test(graphs, (densities > 0.35).astype(str), **settings).p_value < 0.01
    two = np.column_stack([densities, rng.normal(size=24)])
    found = association_test(graphs, two, **{**settings, "confidence": 0.9})
    assert found.p_value < 0.05
    assert 0 < found.effect.low < found.effect.value < found.effect.high


def test_a_test_within_pairs_sees_what_pairs_hide():
    """Densities differ more between pairs than within them."""
    rng = np.random.default_rng(0)
    densities = rng.uniform(0.1, 0.6, 20)
    sides = [
        retgk.io.from_numpy([random_graph(rng, density + more, 20) for density in densities])
        for more in (0.0, 0.08)
    ]
    settings = {"n_permutations": 999, "rng": 0, "confidence": None}
    paired = two_sample_test(*sides, pairs=True, **settings)
    assert paired.design == "pairs"
    assert paired.p_value < 0.01 < two_sample_test(*sides, **settings).p_value
    named = two_sample_test(*sides, subjects=[*"abcdefghijklmnopqrst"] * 2, **settings)
    assert named.p_value == paired.p_value


# invariances


def test_order_of_graphs_and_of_nodes_changes_nothing():
    rng = np.random.default_rng(0)
    matrices = [random_graph(rng, density) for density in rng.uniform(0.2, 0.6, 9)]
    orders = [rng.permutation(8) for _ in matrices]
    moved = [matrix[np.ix_(order, order)] for matrix, order in zip(matrices, orders, strict=True)]
    settings = {"n_permutations": 200, "rng": 0, "tol": 0.0}  # all 126 splits
    one = two_sample_test(matrices[:4], matrices[4:], **settings)
    other = two_sample_test(moved[3::-1], moved[:3:-1], **settings)
    assert one.are_all
    assert other.p_value == one.p_value
    assert np.allclose([k.statistic for k in other.kernels], [k.statistic for k in one.kernels])
    assert other.effect.value == pytest.approx(one.effect.value, rel=1e-6)


@pytest.mark.parametrize("method", ["exact", "monte-carlo"])
def test_the_same_seed_gives_the_same_result_with_any_threads(method):
    sides = population_graphs(0, 8)[[0, *range(8)]], population_graphs(1, 8, 0.4)
    one, two = (
        two_sample_test(
            *sides, n_permutations=300, rng=5, walks=Walks(method=method), n_jobs=n_jobs
        )
        for n_jobs in (1, 2)
    )
    assert one.to_dict() == two.to_dict()
    assert np.array_equal(one.permuted, two.permuted)


def test_the_same_seed_gives_the_same_result_where_medians_are_drawn(monkeypatch):
    """Of more than 4,000 graphs, that is; here of more than 5, while limits keep their order."""
    monkeypatch.setattr("retgk.kernels.node._MAX_SAMPLE", 5)
    monkeypatch.setattr("retgk.stats.design._MEDIAN_NODES", 5)
    graphs, values = population_graphs(0, 16), np.random.default_rng(0).normal(size=(16, 2)) ** 3
    graphs = graphs.with_attributes(np.random.default_rng(1).normal(size=(graphs.n_nodes, 1)))
    options = {**QUICK, "rng": 0, "attributes": Laplacian("median")}
    one, two = (association_test(graphs, values, **options) for _ in range(2))
    assert one.to_dict() == two.to_dict()
    options |= {"by": np.repeat([0, 1], 8), "nodes_correspond": True}
    one, two = (two_sample_test(graphs, **options) for _ in range(2))
    assert one.to_dict() == two.to_dict()


def test_embedded_engine_agrees_with_the_exact_one():
    sides = population_graphs(0, 10, 0.3), population_graphs(1, 10, 0.36)
    settings = {**QUICK, "n_permutations": 999, "rng": 0}
    exact, embedded = (
        two_sample_test(*sides, engine=engine, **settings) for engine in ("exact", "embedded")
    )
    assert (exact.engine, embedded.engine) == ("exact", "embedded")
    assert embedded.p_value == pytest.approx(exact.p_value, abs=0.1)


# where they differ


def test_witness_leaves_the_graph_itself_out():
    sides = population_graphs(0, 5), population_graphs(1, 6, 0.4)
    found = two_sample_test(*sides, rng=0, compare="nodes", **QUICK)
    both = retgk.GraphBatch.concatenate(sides)
    from retgk.stats.design import KernelFamily, kernel_matrices

    family = KernelFamily("nodes", options={"walks": Walks(10)})
    kernel = kernel_matrices(both, family, 1, 0)[0][0].values
    own = [kernel[2, i] for i in range(5) if i != 2]
    assert found.witness[2] == pytest.approx(np.mean(own) - kernel[2, 5:].mean())


def test_mean_witness_of_nodes_is_that_of_their_graph():
    """With labels as they are and the median bandwidth, means of nodes are inner products."""
    sides = population_graphs(0, 5), population_graphs(1, 6, 0.4)
    found = two_sample_test(*sides, rng=0, compare="nodes", **QUICK)
    of_nodes = found.node_witness().reshape(11, 8).mean(axis=1)
    assert np.allclose(of_nodes, found.witness, atol=5e-4)


def connectomes(seed, n, extra):
    """Correlations of ten signals, of which the first three share one."""
    rng = np.random.default_rng(seed)
    signals = rng.normal(size=(n, 80, 10))
    signals[:, :, :3] += extra * rng.normal(size=(n, 80, 1))
    return np.array([np.corrcoef(each.T) - np.eye(10) for each in signals])


def test_nodes_that_differ_are_found():
    sides = connectomes(0, 15, 1.0), connectomes(1, 15, 0.0)
    batches = [retgk.io.from_numpy(np.round(side, 12), negative="absolute") for side in sides]
    found = two_sample_test(*batches, nodes_correspond=True, n_permutations=999, rng=0)
    table = found.nodes
    assert (table.corrected_p_value[:3] <= 0.01).all()
    assert (table.corrected_p_value >= table.p_value).all()
    assert set(np.argsort(-table.effect)[:3]) == {0, 1, 2}
    assert (table.mean_strengths[:3, 0] > table.mean_strengths[:3, 1]).all()
    expected = np.abs(sides[0]).sum(axis=2).mean(axis=0)
    assert np.allclose(table.mean_strengths[:, 0], expected)
    assert "nodes differ, corrected for all of them" in str(found)


def attributed(seed=0, n_graphs=16):
    """Graphs whose second attribute differs between the halves; the first is noise, and large."""
    graphs = population_graphs(seed, n_graphs)
    noise, signal = np.random.default_rng(seed).normal(size=(2, graphs.n_nodes))
    signal += 2 * (np.arange(graphs.n_nodes) < graphs.n_nodes // 2)
    return graphs.with_attributes(np.column_stack([1e4 * noise, signal]))


GIVEN = attributed()
VALUES = GIVEN.attributes
SEEN = {
    "drop": ({"scale_attributes": "drop"}, VALUES[:, :0], {}),
    "standard": (
        {"scale_attributes": "standard"},
        (VALUES - VALUES.mean(axis=0)) / VALUES.std(axis=0),
        {},
    ),
    "kernel": (
        {"attributes": Gaussian("median")},
        VALUES / 8,
        {"attributes": Gaussian("median")},
    ),
    "block": (
        {"attributes": {"signal": ([1], Laplacian(1.0))}},
        VALUES[:, 1:],
        {"attributes": Laplacian(1.0)},
    ),
    "standard block": (
        {
            "attributes": {"signal": ([1], Laplacian(1.0))},
            "scale_attributes": {"signal": "standard"},
        },
        VALUES[:, 1:] / VALUES[:, 1:].std(),
        {"attributes": Laplacian(1.0)},
    ),
}


@pytest.mark.parametrize("case", SEEN)
def test_table_of_nodes_sees_attributes_as_the_test_does(case):
    options, attributes, plain = SEEN[case]
    settings = {**QUICK, "rng": 0, "nodes_correspond": True, "by": np.repeat([0, 1], 8)}
    found = two_sample_test(GIVEN, **settings, **options)
    expected = two_sample_test(GIVEN.with_attributes(attributes), **settings, **plain)
    assert found.p_value == expected.p_value
    assert np.array_equal(found.nodes.p_value, expected.nodes.p_value)
    assert np.allclose(found.nodes.effect, expected.nodes.effect)


def test_nodes_that_differ_in_what_is_left_out_do_not_differ():
    graphs = retgk.GraphBatch.concatenate([GIVEN[:1]] * 16).with_attributes(VALUES[:, 1:])
    settings = {**QUICK, "rng": 0, "nodes_correspond": True, "by": np.repeat([0, 1], 8)}
    assert two_sample_test(graphs, **settings).nodes.corrected_p_value.min() == 0.01
    found = two_sample_test(graphs, scale_attributes="drop", **settings)
    assert found.p_value == 1.0
    assert (found.nodes.corrected_p_value == 1.0).all()


def test_result_in_words_and_as_plain_values():
    samples = population_graphs(0, 3), population_graphs(1, 3)
    found = two_sample_test(*samples, rng=0, **QUICK)
    assert found.are_all
    assert found.n_permutations == 19
    assert found.p_value >= 1 / 20
    for fact in ("population 1 (3 graphs)", "population 2 (3 graphs)", "20 relabellings"):
        assert fact in str(found)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["groups"][1]["n_graphs"] == 3
    assert max(plain["groups"][1]["most_typical"]) < 3
    few = two_sample_test(population_graphs(0, 2), population_graphs(1, 2), rng=0)
    assert "0.33" in str(few)
    assert few.effect[1:] == (None, None)


def of_two(*sides, **how):
    return lambda **more: two_sample_test(*sides, **how, **more)


def of_many(*sides, **how):
    return lambda **more: k_sample_test(*sides, **how, **more)


def of_values(n, values):
    return lambda **more: association_test(DISTINCT[:n], values, **more)


DISTINCT = population_graphs(5, 8, 0.5)
D = DISTINCT
UNEVEN = {"by": [0, 0, 0, 1, 1, 1, 1, 0], "groups": [0] * 4 + [1] * 4}
SMALLEST = {  # labels that no kernel tells apart, by all there are
    "3 v 3": (of_two(D[:3], D[3:6]), 2 / 20),
    "3 v 4": (of_two(D[:3], D[3:7]), 1 / 35),
    "three": (of_many(D[:2], D[2:4], D[4:6]), 6 / 90),
    "one larger": (of_many(D[:2], D[2:4], D[4:7]), 2 / 210),
    "pairs": (of_two(D[:4], D[4:8], pairs=True), 2 / 16),
    "even blocks": (of_two(D, by=[0, 0, 1, 1] * 2, groups=[0, 1] * 4), 2 / 36),
    "uneven blocks": (of_two(D, **UNEVEN), 1 / 16),
    "mirrored values": (of_values(5, range(5)), 2 / 120),
    "values": (of_values(5, [1, 2, 4, 8, 16]), 1 / 120),
    "categories": (of_values(6, [*"aabbcc"]), 6 / 90),
}


@pytest.mark.filterwarnings("ignore:groups has .* values")
@pytest.mark.parametrize("case", SMALLEST)
def test_smallest_p_value_is_that_of_the_clearest_labels(case):
    run, expected = SMALLEST[case]
    found = run(rng=0, **{**QUICK, "n_permutations": 999})
    assert found.are_all
    assert found.smallest_p_value == pytest.approx(expected)
    every = np.append(found.permuted, found.statistic)
    assert np.mean(every >= every.max() - 1e-9) == pytest.approx(expected)


def test_interval_holds_the_effect_of_many():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + 0.7])
    codes = np.repeat([0, 1], 60)
    from retgk.stats.statistics import group_effect

    found = group_effect(points @ points.T, codes, None, 0.95, 0)
    truth = 0.7  # distance sqrt(3) 0.7 by the deviation sqrt(3)
    assert found.low < truth < found.high
    assert found.high - found.low < 0.8
    assert found.low < found.value < found.high


# nodes that correspond: edges, subnetworks, and designs of subjects


def planted(seed, n, shared, n_regions=12):
    """Signed correlations, of which the first four signals share one."""
    rng = np.random.default_rng(seed)
    signals = rng.normal(size=(n, 60, n_regions))
    signals[:, :, :4] += shared * rng.normal(size=(n, 60, 1))
    found = np.array([np.corrcoef(each.T) - np.eye(n_regions) for each in signals])
    return np.round(found, 12)


def signed(matrices):
    return retgk.io.from_numpy(matrices, negative="split")


def edges_of(matrices):
    return matrices[:, *np.triu_indices(matrices.shape[1], 1)]


CORRESPOND = {"n_permutations": 199, "rng": 0, "n_jobs": 1, "nodes_correspond": True}


def test_a_planted_network_is_found_edge_by_edge_and_as_a_subnetwork():
    sides = planted(0, 16, 0.7), planted(1, 16, 0.0)
    found = two_sample_test(*map(signed, sides), **CORRESPOND)
    assert found.p_value == 0.005
    table, (clearest, *_) = found.edges, found.subnetworks
    within = (table.ends < 4).all(axis=1)
    assert np.array_equal(table.ends, np.argwhere(np.triu(np.ones((12, 12)), 1)))
    assert (table.corrected_p_value[within] <= 0.05).mean() > 0.6
    assert (table.corrected_p_value[~within] <= 0.05).mean() < 0.05
    assert set(clearest.nodes) >= {0, 1, 2, 3}
    assert clearest.corrected_p_value == 0.005
    assert clearest.n_edges == (table.subnetwork == 0).sum()
    expected = scipy.stats.ttest_ind(*map(edges_of, sides)).statistic
    assert np.allclose(table.statistic, expected)
    assert np.allclose(table.mean_weights, np.array([edges_of(side).mean(0) for side in sides]).T)
    assert {kernel.kernel for kernel in found.kernels} >= {"largest edge", "largest subnetwork"}
    for fact in ("66 edges", "subnetworks", "between nodes 0, 1, 2, 3"):
        assert fact in str(found)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(plain["edges"]["nodes"]) == 66
    assert plain["subnetworks"][0]["nodes"] == list(clearest.nodes)


def test_signs_are_seen_where_they_are_split_off_alone():
    """Half of all correlations change their sign in the second group, and none its size."""
    matrices = planted(2, 24, 0.0)
    flips = np.sign(np.random.default_rng(0).normal(size=(12, 12)))
    flips = np.triu(flips, 1) + np.triu(flips, 1).T
    bent = np.abs(matrices)
    bent[12:] *= flips
    one, other = (
        two_sample_test(
            retgk.io.from_numpy(bent, negative=negative), by=np.repeat([0, 1], 12), **CORRESPOND
        )
        for negative in ("split", "absolute")
    )
    assert one.p_value == 0.005
    assert other.p_value > 0.05


def test_regions_that_trade_places_are_a_difference_for_nodes_that_correspond_alone():
    matrices = planted(3, 24, 0.8)
    order = np.r_[4:8, :4, 8:12]
    matrices[12:] = matrices[12:][:, order][:, :, order]
    for nodes_correspond in (True, False):
        how = {**CORRESPOND, "nodes_correspond": nodes_correspond, "by": np.repeat([0, 1], 12)}
        found = two_sample_test(signed(matrices), **how)
        assert (found.p_value == 0.005) is nodes_correspond


STATISTICS = {
    "pairs": (
        lambda g: two_sample_test(g[:10], g[10:20], pairs=True, **CORRESPOND),
        lambda x: scipy.stats.ttest_rel(x[:10], x[10:20]).statistic,
    ),
    "three groups": (
        lambda g: k_sample_test(g, by=np.repeat([0, 1, 2], [5, 6, 9]), **CORRESPOND),
        lambda x: scipy.stats.f_oneway(x[:5], x[5:11], x[11:]).statistic,
    ),
    "value": (
        lambda g: association_test(g, np.arange(20) ** 2.0, **CORRESPOND),
        lambda x: [
            (r := np.corrcoef(np.arange(20) ** 2, column)[0, 1]) * np.sqrt(18 / (1 - r**2))
            for column in x.T
        ],
    ),
    "subjects": (
        lambda g: two_sample_test(
            g, by=np.repeat([0, 1], 10), subjects=np.repeat(np.arange(10), 2), **CORRESPOND
        ),
        lambda x: scipy.stats.ttest_ind(*np.split(x.reshape(10, 2, -1).mean(axis=1), 2)).statistic,
    ),
}


@pytest.mark.parametrize("case", STATISTICS)
def test_statistics_of_edges_are_those_of_scipy(case):
    test, expected = STATISTICS[case]
    matrices = planted(4, 20, 0.3)
    found = test(signed(matrices))
    assert np.allclose(found.edges.statistic, expected(edges_of(matrices)))
    assert len(found.nodes) == 12


def test_largest_edge_and_subnetwork_are_the_naive_ones():
    """Of every relabelling: t by SciPy, and components of networkx."""
    matrices, codes = planted(5, 9, 0.5), np.repeat([0, 1], [4, 5])
    weights = EdgeWeights.of(signed(matrices))
    relabellings = Relabellings(codes, np.zeros(9, int), 1000, 0)
    scan = EdgeScan(weights, np.eye(2)[codes], relabellings, 0.1)
    largest, counts = scan.permuted(1)
    threshold = scipy.stats.t.isf(0.05, 7)
    rows = np.vstack([np.arange(9), relabellings.chunk(0)])
    t = np.array(
        [
            np.abs(scipy.stats.ttest_ind(x[codes[row] == 0], x[codes[row] == 1]).statistic)
            for x in [edges_of(matrices)]
            for row in rows
        ]
    )
    masses = []
    for own in t:
        graph = nx.Graph()
        for (a, b), value in zip(weights.ends.tolist(), own.tolist(), strict=True):
            if value > threshold:
                graph.add_edge(a, b, beyond=value - threshold)
        parts = map(graph.subgraph, nx.connected_components(graph))
        masses.append(max((part.size("beyond") for part in parts), default=0.0))
    assert np.allclose(largest[:, 1], masses)
    assert np.allclose(largest[:, 0], (t**2 / (7 + t**2)).max(axis=1))
    assert np.array_equal(counts, (t >= t[0] * (1 - 1e-9)).sum(axis=0))


def test_threads_change_no_bit_of_nodes_that_correspond():
    sides = signed(planted(0, 9, 0.4)), signed(planted(1, 9, 0.0))
    settings = {**CORRESPOND, "n_permutations": 3000}
    one, two = (two_sample_test(*sides, **{**settings, "n_jobs": n_jobs}) for n_jobs in (1, 2))
    assert one.to_dict() == two.to_dict()
    assert np.array_equal(one.permuted, two.permuted)


@pytest.mark.slow
@pytest.mark.parametrize("design", ["free", "pairs", "between subjects", "groups within subjects"])
def test_level_where_nodes_correspond(design):
    rng = np.random.default_rng(7)
    more = {
        "free": {},
        "pairs": {"pairs": True},
        "between subjects": {"subjects": np.arange(24) // 2},
        "groups within subjects": {"subjects": [*range(12)] * 2, "groups": [0, 1] * 12},
    }[design]

    def p_value(seed):
        matrices = planted(rng.integers(2**32), 24, 0.5, n_regions=8)
        if "subjects" in more:  # alike within a subject
            matrices += planted(seed, 12, 0.5, 8)[more["subjects"]]
        how = {**CORRESPOND, "n_permutations": 99, "confidence": None, "rng": seed, **more}
        return two_sample_test(signed(matrices[:12]), signed(matrices[12:]), **how).p_value

    assert BAND[0] <= rejections(p_value) <= BAND[1]


def test_visits_of_subjects():
    """Subjects differ much; a change with the visit is seen within them."""
    rng = np.random.default_rng(0)
    densities = rng.uniform(0.1, 0.5, 14)
    visits = [
        [random_graph(rng, density + more, 16) for density in densities]
        for more in (0.0, 0.08, 0.2)
    ]
    subjects = [*range(14)] * 3
    settings = {**QUICK, "n_permutations": 999, "rng": 0}
    within = k_sample_test(*visits, subjects=subjects, **settings)
    assert within.design == "within subjects"
    assert within.p_value < 0.01 < k_sample_test(*visits, **settings).p_value
    assert "within subjects" in str(within)
    sites = [0, 1] * 21
    both = k_sample_test(*visits, subjects=subjects, groups=sites, **settings)
    assert both.p_value == within.p_value


def test_graphs_of_a_subject_are_no_independent_graphs():
    """Subjects of two groups have six copies of one graph each: there are eight, not 48."""
    rng = np.random.default_rng(1)
    graphs = [random_graph(rng, 0.4) for _ in range(8) for _ in range(6)]
    graphs = [graphs[6 * (number // 6)] for number in range(48)]
    by, subjects = np.repeat([0, 1], 24), np.arange(48) // 6
    settings = {**QUICK, "n_permutations": 999, "rng": 0, "by": by}
    found = two_sample_test(graphs, subjects=subjects, **settings)
    assert found.design == "between subjects"
    assert found.smallest_p_value == pytest.approx(2 / 70)
    assert two_sample_test(graphs, **settings).p_value < 0.05 <= found.p_value
    alone = two_sample_test(graphs[::6], **{**settings, "by": by[::6]})
    assert found.p_value == pytest.approx(alone.p_value)
    assert found.affinities.shape == (48, 2)


def test_pairs_of_several_groups():
    sides = population_graphs(0, 9), population_graphs(1, 9), population_graphs(2, 9, 0.6)
    found = k_sample_test(*sides, rng=0, **QUICK)
    pairs = {(pair.first[-1], pair.second[-1]): pair for pair in found.pairwise}
    assert list(pairs) == [("1", "2"), ("1", "3"), ("2", "3")]
    for (first, second), pair in pairs.items():
        two = [sides[int(number) - 1] for number in (first, second)]
        assert pair.p_value == two_sample_test(*two, rng=0, **QUICK).p_value
    p_values = [pair.p_value for pair in found.pairwise]
    assert p_values == [pairs["1", "2"].p_value, 0.01, 0.01]
    assert [pair.corrected_p_value for pair in found.pairwise] == [p_values[0], 0.03, 0.03]
    assert json.dumps([pair.to_dict() for pair in found.pairwise], allow_nan=False)


def test_pairs_of_groups_that_never_meet_are_not_compared():
    graphs = population_graphs(0, 24)
    by, sites = np.repeat([*"abbc"], 6), np.repeat([0, 1], 12)
    found = k_sample_test(graphs, by=by, groups=sites, rng=0, **QUICK)
    tested = {pair[:2]: pair.test is not None for pair in found.pairwise}
    assert tested == {("a", "b"): True, ("a", "c"): False, ("b", "c"): True}
    assert np.isnan(found.pairwise[1].corrected_p_value)
    assert found.pairwise[1].to_dict()["p_value"] is None


# sizes that differ


def test_sizes_that_differ_are_told():
    rng = np.random.default_rng(0)
    sides = [[random_graph(rng, 6 / n, n) for _ in range(10)] for n in (50, 100)]
    facts = "population 1 have 50.0 nodes on average, those of population 2 100.0"
    with pytest.warns(retgk.errors.InputWarning, match=facts):
        assert two_sample_test(*sides, rng=0, **QUICK).p_value == 0.01
    with pytest.warns(retgk.errors.InputWarning, match=facts):
        k_sample_test(*sides, sides[0], rng=0, **QUICK)
    remedy = {**QUICK, "compare": "nodes", "walks": Walks(2)}
    assert two_sample_test(*sides, rng=0, **remedy).p_value > 0.05  # and no warning


@pytest.mark.slow
def test_level_of_sizes_with_two_steps():
    rng = np.random.default_rng(3)

    def p_value(seed):
        sides = [[random_graph(rng, 6 / (n - 1), n) for _ in range(10)] for n in (30, 60)]
        remedy = {**QUICK, "compare": "nodes", "walks": Walks(2), "rng": seed}
        return two_sample_test(*sides, **remedy).p_value

    assert BAND[0] <= rejections(p_value, 200) <= 0.12


# bad input

A = population_graphs(0, 4)
LABELLED = A.with_labels(["a"] * A.n_nodes)
TEST = two_sample_test
BAD = [
    (lambda: TEST(A[:1], A), ("population 1", "1 graph")),
    (lambda: TEST(A), "by="),
    (k_sample_test, "no graphs"),
    (lambda: TEST(A, by=[0, 1]), ("by", "4 graphs")),
    (lambda: TEST(A, by=[0, 1, None, 1]), ("by", "graph 2")),
    (lambda: TEST(A[[0, 1, 2, 3, 0, 1]], by=[0, 0, 1, 1, 2, 2]), ("by", "k_sample_test")),
    (lambda: k_sample_test(A, by=[0, 0, 0, 0]), "one group"),
    (lambda: k_sample_test(A, A, by=[0, 1]), "by"),
    (lambda: TEST(A, LABELLED), "population 2"),
    (lambda: TEST(A, A[:3], pairs=True), "4 and 3 graphs"),
    (lambda: TEST(A, A, pairs=[0, 1, 2, 3] * 2), ("pairs", "subjects=")),
    (lambda: TEST(A, A, pairs=True, subjects=[0, 1, 2, 3] * 2), ("pairs", "subjects")),
    (lambda: TEST(A, A, subjects=[*"aaaabbcc"]), ("population 1", "one subject")),
    (
        lambda: TEST(A, A, subjects=[*"aabbccdd"], groups=[0, 1, 0, 0, 1, 1, 0, 1]),
        ("subject a", "groups"),
    ),
    (lambda: TEST(A, A, subjects=[0]), ("subjects", "8 graphs")),
    (lambda: association_test(A, [1, 1, 2, 3], subjects=[*"aabc"]), ("3 subjects", "4")),
    (lambda: TEST(A, A, subnetwork_p=1), ("subnetwork_p", "1")),
    (
        lambda: TEST(A, A, nodes_correspond=True, kernel=retgk.kernels.WeisfeilerLehman()),
        ("nodes_correspond", "kernel"),
    ),
    (lambda: TEST(A, A, groups=[0]), ("groups", "8 graphs")),
    (lambda: TEST(A, A, groups=[0] * 4 + [1] * 4), "groups"),
    (lambda: TEST(A[:2], A[2:], groups=[0, 1, 0, 2]), "blocks"),
    (lambda: TEST(A, A, n_permutations=0), ("n_permutations", "0")),
    (lambda: TEST(A, A, confidence=95), ("confidence", "95")),
    (lambda: TEST(A, A, compare="edges"), ("compare", "edges")),
    (lambda: TEST(A, A, engine="fast"), ("engine", "fast")),
    (lambda: TEST(A, A, bandwidths=-1), ("bandwidths", "-1")),
    (lambda: TEST(A, A, bandwidths=[]), "bandwidths"),
    (lambda: TEST(A, A, depths=[0.5]), ("depths", "0.5")),
    (lambda: TEST(A, A, walk=Walks(3)), ("walk", "walks")),
    (lambda: TEST(A, A, rng=-1), "rng"),
    (
        lambda: TEST(A, population_graphs(0, 4, n_nodes=9), nodes_correspond=True),
        ("graph 0", "8 nodes", "graph 4"),
    ),
    (lambda: association_test(A), "y"),
    (lambda: association_test(A, [1.0]), ("y", "4 graphs")),
    (lambda: association_test(A, [1, 1, 1, 1]), "y"),
    (lambda: association_test(A, [1, 2, np.inf, 3]), "graph 2"),
    (lambda: association_test(A, [1, 2, 3, 10**400], kind="number"), ("y", "kind='number'")),
    (lambda: association_test(A, [1, 2, 3, 4], kind="ordinal"), ("kind", "ordinal")),
    (lambda: association_test(A[:3], [1, 2, 3]), "4"),
    (lambda: k_sample_test(A[:2], A[:2], A[2:], n_permutations=9).witness, "two groups"),
    (lambda: TEST(A, A, n_permutations=9).pairwise, ("pairwise", "two-sample")),
]


@pytest.mark.filterwarnings("ignore:groups has .* values")
@pytest.mark.parametrize(("run", "about"), BAD)
def test_bad_input(run, about):
    fails(run, about)


# Statistics of populations, relabellings and combined kernels, by slow and obvious versions

# slow and obvious versions


def naive_mmd(kernel, first, second):
    """Unbiased squared MMD by its three sums (Gretton et al., 2012, equation 3)."""
    sides = list(first), list(second)
    within = [np.mean([kernel[i, j] for i in side for j in side if i != j]) for side in sides]
    return sum(within) - 2 * np.mean(kernel[np.ix_(*sides)])


def naive_k_sample(kernel, codes):
    groups = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    pairs = list(itertools.combinations(groups, 2))
    weights = [len(a) * len(b) for a, b in pairs]
    return np.average([naive_mmd(kernel, a, b) for a, b in pairs], weights=weights)


def naive_paired(kernel, n_pairs):
    """Mean of h over pairs of pairs; pair i is i and n + i."""
    own, cross = slice(None, n_pairs), slice(n_pairs, None)
    h = kernel[own, own] + kernel[cross, cross] - kernel[own, cross] - kernel[own, cross].T
    return h[~np.eye(n_pairs, dtype=bool)].mean()


def naive_hsic(kernel, other):
    """Unbiased HSIC over all quadruples (Song et al., 2012, equation 4)."""
    i, j, q, r = np.array(list(itertools.permutations(range(len(kernel)), 4))).T
    return np.mean(kernel[i, j] * (other[i, j] + other[q, r] - other[i, q] - other[j, r]))


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
    many = Relabellings(np.arange(8), np.zeros(8, int), 8000, 0)
    drawn = np.concatenate([many.chunk(number) for number in range(len(many.borders) - 1)])
    shares = [(drawn[:, place] == label).mean() for place in range(8) for label in range(8)]
    assert np.abs(np.array(shares) - 1 / 8).max() < 0.02


def splits():
    """Two groups: form and relabellings, and the naive statistic of every relabelling."""
    kernel, codes = random_kernel(7, 8), np.repeat([0, 1], [3, 5])
    values = [
        naive_mmd(kernel, first, [i for i in range(8) if i not in first])
        for first in itertools.combinations(range(8), 3)
    ]
    return group_form(kernel, codes, None), codes, np.zeros(8, int), values


def swaps():
    kernel, n_pairs = random_kernel(8, 10), 5
    codes, pairs = np.repeat([0, 1], n_pairs), np.tile(np.arange(n_pairs), 2)
    values = []
    for is_swapped in itertools.product([False, True], repeat=n_pairs):
        order = np.arange(2 * n_pairs)
        for pair in np.flatnonzero(is_swapped):
            order[[pair, n_pairs + pair]] = order[[n_pairs + pair, pair]]
        values.append(naive_paired(kernel[np.ix_(order, order)], n_pairs))
    return group_form(kernel, codes, pairs), codes, pairs, values


def orders():
    kernel, other = random_kernel(9, 5), random_kernel(10, 5)
    values = [
        naive_hsic(kernel, other[np.ix_(order, order)])
        for order in map(list, itertools.permutations(range(5)))
    ]
    return (
        association_form(kernel, factor(other), None),
        np.arange(5),
        np.zeros(5, int),
        values,
    )


@pytest.mark.parametrize("case", [splits, swaps, orders])
def test_p_value_is_that_of_a_naive_test(case):
    form, codes, blocks, values = case()
    found = max_test(permuted_statistics([form], Relabellings(codes, blocks, 1000, 0), 1))
    assert found.p_value == pytest.approx(np.mean(np.array(values) >= values[0] - 1e-12))


def test_threads_change_no_bit():
    codes = np.repeat([0, 1, 2], 20)
    forms = [group_form(random_kernel(seed, 60), codes, None) for seed in (0, 1)]
    relabellings = Relabellings(codes, np.zeros(60, int), 5000, 3)
    one, three = (permuted_statistics(forms, relabellings, n_jobs) for n_jobs in (1, 3))
    assert np.array_equal(one, three)


# combined kernels


def test_differences_up_to_rounding_are_ties():
    statistics = np.array([[1 + 1e-9, 5.0], [1.0, 4.0], [1.0, 4.0], [2.0, 3.0]])
    assert max_test(statistics).single.tolist() == [0.5, 0.25]
    found = max_test(statistics, np.array([1e-8, 1e-8]))
    assert found.single.tolist() == [1.0, 0.25]
    assert found.p_value == found.adjusted.min()
    assert max_test(statistics, 1.0).p_value == 1.0


def test_combined_test_keeps_the_level_for_kernels_of_different_scales():
    rng = np.random.default_rng(0)
    scales = np.array([1.0, 1e-6, 1e4])
    p_values = [
        max_test(rng.normal(size=(100, 3)) ** 3 * scales + scales).p_value for _ in range(2000)
    ]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.012)


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


# Tests of populations where numbers end: equal graphs, few graphs, values of any size

# graphs that are equal but for rounding

RING = np.roll(np.eye(6), 1, 1) + np.roll(np.eye(6), -1, 1)
G, H = (random_graph(np.random.default_rng(seed), 0.3, n) for seed, n in ((1, 15), (2, 12)))
SETTINGS = {"n_permutations": 999, "rng": 0, "confidence": None}


def node_order_changed(matrix, seed=0):
    order = np.random.default_rng(seed).permutation(len(matrix))
    return matrix[np.ix_(order, order)]


PEOPLE = [random_graph(np.random.default_rng(seed), 0.3, 12) for seed in range(20)]
MOVED = [node_order_changed(matrix, seed) for seed, matrix in enumerate(PEOPLE)]
EQUAL = {
    "one graph": lambda **how: two_sample_test([G] * 20, [G] * 20, **how),
    "other order": lambda **how: two_sample_test([G] * 20, [node_order_changed(G)] * 20, **how),
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
    assert (np.array([found.p_value, found.corrected_p_value]) == 1.0).all()
    assert (found.effect == 0.0).all()


DIFFERENT_SIZES = pytest.mark.filterwarnings("ignore:graphs of .* nodes on average")


@DIFFERENT_SIZES
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


@DIFFERENT_SIZES
@pytest.mark.parametrize("sizes", [(1, 3), (4, 5)])
def test_effect_of_graphs_that_are_alike_within_groups_is_infinite(sizes):
    paths = [np.eye(n, k=1) + np.eye(n, k=-1) for n in sizes]
    found = two_sample_test([paths[0]] * 4, [paths[1]] * 4, n_permutations=99, rng=0)
    assert found.p_value < 0.05
    assert found.effect == (np.inf, np.inf, np.inf)
    assert "graphs within groups are all alike: an infinite effect" in str(found)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["effect"] is None
    assert plain["effect_interval"] == [None, None]


def test_halves_that_are_alike_within_groups_leave_the_interval_open():
    found = two_sample_test([G] * 4, [H] * 3 + [G], n_permutations=99, rng=0)
    assert found.effect.low < found.effect.value < found.effect.high == np.inf
    assert found.to_dict()["effect_interval"] == [found.effect.low, None]
    assert "to inf, from halves" in str(found)


@pytest.mark.filterwarnings("ignore:groups has .* values")
@pytest.mark.parametrize("groups", [None, "blocks"])
@pytest.mark.parametrize("n", [4, 5, 6, 7, 8, 9])
def test_association_of_few_graphs_has_no_interval(n, groups):
    graphs = [random_graph(np.random.default_rng(i), 0.1 + 0.1 * i, 10) for i in range(n)]
    groups = groups and [0] * (n // 2) + [1] * (n - n // 2)
    found = association_test(
        graphs, range(n), groups=groups, n_permutations=99, rng=0, bandwidths=1.0
    )
    assert -1 <= found.effect.value <= 1
    if n < 8 or groups:
        assert found.effect[1:] == (None, None)
        assert "too few graphs for an interval" in str(found)
    else:
        assert found.effect.low < found.effect.value < found.effect.high


def test_interval_of_a_correlation_is_one_of_correlations():
    """Halves in which all values are the same have no correlation, not rounding by rounding."""
    found = association_test(PEOPLE, ["a"] * 17 + ["b"] * 3, n_permutations=9, rng=0)
    assert -1 <= found.effect.low <= found.effect.high <= 1


def test_few_pairs_are_no_groups_in_which_little_can_be_relabelled():
    """Nothing warns: pairs are what a study has, and the report knows the smallest p-value."""
    found = two_sample_test(D[:4], D[4:8], pairs=True, rng=0, **QUICK)
    assert "no p-value is below 0.12" in str(found)


def test_groups_in_which_little_can_be_relabelled_are_told():
    """Each subject an age of its own: the test of all graphs is one of a few, and says so."""
    ages = [*range(20), 0, 1, 2]
    with pytest.warns(InputWarning) as told:
        two_sample_test(PEOPLE[:17], [*PEOPLE[17:], *PEOPLE[:3]], groups=ages, rng=0)
    facts = ("20 values", "23 graphs", "6 of them", "8 ways", "0.12")
    assert_names(str(told[0].message), facts)
    sites = [0, 1] * 10
    assert two_sample_test(PEOPLE[:10], PEOPLE[10:], groups=sites, n_permutations=9).p_value > 0


def test_halves_without_a_block_of_both_groups():
    """One of nine blocks has graphs of both: there is an effect, but none of most halves."""
    groups = [*range(9), 8, *[8] * 10]
    found = two_sample_test(PEOPLE[:10], PEOPLE[10:], groups=groups, n_permutations=99, rng=0)
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


@pytest.mark.parametrize("unit", [1e-170, 1e155, 1e160])
def test_the_unit_of_weights_does_not_matter_where_nodes_correspond(unit):
    sides = [np.array([graph * (1 + i) for graph in PEOPLE[i : i + 10]]) for i in (0, 10)]
    settings = {**QUICK, "rng": 0, "nodes_correspond": True}
    one, other = (two_sample_test(*[own * by for own in sides], **settings) for by in (1, unit))
    assert other.p_value == one.p_value > 0
    assert other.effect.value == pytest.approx(one.effect.value)
    for table, column in (("edges", "statistic"), ("edges", "p_value"), ("nodes", "p_value")):
        found, expected = (getattr(getattr(own, table), column) for own in (other, one))
        np.testing.assert_allclose(found, expected)


def test_reports_call_graphs_and_nodes_by_their_names():
    sides = [as_batch(PEOPLE[first : first + 10]) for first in (0, 10)]
    regions = [f"region {node}" for node in range(12)]
    named = [
        GraphDataset(
            side.with_node_names(regions), None, "", graph_names=[f"{who}{n}" for n in range(10)]
        )
        for side, who in zip(sides, "ab", strict=True)
    ]
    settings = {**QUICK, "rng": 0, "nodes_correspond": True}
    found, plain = two_sample_test(*named, **settings), two_sample_test(*sides, **settings)
    assert found.p_value == plain.p_value
    assert found.nodes.to_dict()["name"] == regions
    assert found.nodes.name(3) == "region 3"
    assert plain.nodes.name(3) == "3"
    typical = [f"b{graph - 10}" for graph in found.most_typical(1).tolist()]
    assert f"graphs {', '.join(typical)}." in str(found)
    assert found.to_dict()["groups"][1]["names"] == typical
    swapped = sides[1].with_node_names(regions[::-1])
    fails(
        lambda: two_sample_test(named[0], swapped, **settings),
        about=("node 0", "region 0", "region 11", "graph 10"),
    )
