"""Tests of populations: level, power beside others, time, and real collections.

    python -m benchmarks.bench_population_tests [FOLDER] [--parts PART ...] [--repetitions 1000]
        [--peers PYTHON]

FOLDER holds the sets of the part `real`. PYTHON is an interpreter that has hyppo and graspologic;
without it power is measured for retgk alone. A cell that has its record is not run again, so that a
stopped run goes on. The parts `connectomes` and `sizes` need neither, and print their tables.
"""

import argparse
import json
import subprocess
import tempfile
import time
import warnings
import zlib
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.markdown_tables import table
from benchmarks.population_graphs import (
    ALTERNATIVES,
    OF_TWO_SIZES,
    SIZES,
    batch_of,
    correlations,
    null_graph,
    random_graph,
)
from benchmarks.population_tables import connectome_rows, size_rows
from benchmarks.records import FOLDER, add_record, read_records
from retgk import Walks, return_probabilities, two_sample_test
from retgk.datasets import load_tudataset
from retgk.errors import InputWarning
from retgk.io import from_numpy
from retgk.stats import association_test, k_sample_test
from retgk.stats.statistics import holm

PARTS = ("level", "designs", "walks", "coverage", "power", "speed", "connectomes", "sizes", "real")
LEVEL = 0.05
QUICK = {"n_permutations": 199, "confidence": None, "n_jobs": 1}  # 5 % of 200 is a whole number
KINDS = ("structure", "labels", "weights")
SIDES = (10, 20, 50)
POWER_SIDE = 20
AS_IT_COMES = 20  # tests that all reject; the others are run in full
GRASPOLOGIC = ("denser", "uneven", "clustered weights")
GRASPOLOGIC_TESTS = 100


def is_done(name, **keys):
    if not (FOLDER / f"{name}.jsonl").exists():
        return False
    return any(all(r[k] == v for k, v in keys.items()) for r in read_records(name))


def seeded(*words):
    return np.random.default_rng(zlib.crc32(repr(words).encode()))


def report(name, record, *keys):
    add_record(name, record, *keys)
    print(name, {key: value for key, value in record.items() if key != "p_values"}, flush=True)


# level


def measure_level(options):
    for kind in KINDS:
        for n in SIDES:
            keys = {"kind": kind, "n": n, "repetitions": options.repetitions}
            if is_done("population_level", **keys):
                continue
            rng, start, p_values = seeded("level", kind, n), time.perf_counter(), []
            for seed in range(options.repetitions):
                graphs = batch_of([null_graph(rng, kind) for _ in range(2 * n)])
                test = two_sample_test(graphs[:n], graphs[n:], rng=seed, **QUICK)
                p_values.append(test.p_value)
            rejected = float(np.mean(np.array(p_values) <= LEVEL))
            record = {**keys, "rejected": rejected, "seconds": time.perf_counter() - start}
            report("population_level", record, "kind", "n")


def measure_designs(options):
    """Level of the other tests, where what is permuted matters."""
    for design in ("pairs", "blocks", "three groups", "association"):
        keys = {"kind": design, "n": 20, "repetitions": options.repetitions}
        if is_done("population_level", **keys):
            continue
        rng = seeded("design", design)
        p_values = [design_p_value(rng, design, seed) for seed in range(options.repetitions)]
        rejected = float(np.mean(np.array(p_values) <= LEVEL))
        report("population_level", {**keys, "rejected": rejected}, "kind", "n")


def design_p_value(rng, design, seed):
    settings = {**QUICK, "rng": seed}
    if design == "pairs":  # both of a pair have its density
        densities = np.tile(rng.uniform(0.1, 0.5, 20), 2)
        graphs = batch_of([(random_graph(rng, p, 12), None) for p in densities])
        return two_sample_test(graphs[:20], graphs[20:], pairs=True, **settings).p_value
    if design == "blocks":  # of very different sizes on the two sides, with densities of their own
        sites = np.repeat([0, 1, 0, 1], [14, 6, 6, 14])
        graphs = batch_of([(random_graph(rng, 0.2 + 0.2 * site, 12), None) for site in sites])
        return two_sample_test(graphs[:20], graphs[20:], groups=sites, **settings).p_value
    graphs = batch_of([null_graph(rng, "structure") for _ in range(40)])
    if design == "three groups":
        by = rng.permutation(np.repeat([0, 1, 2], [10, 10, 20]))
        return k_sample_test(graphs, by=by, **settings).p_value
    return association_test(graphs, rng.normal(size=40), **settings).p_value


WALKED = ("Monte Carlo", "Monte Carlo, few graphs", "Monte Carlo, one graph")


def measure_walks(options):
    """Level with Monte Carlo walks, where the second side has nodes in other orders."""
    for kind in WALKED:
        keys = {"kind": kind, "n": 10, "repetitions": options.repetitions}
        if is_done("population_level", **keys):
            continue
        rng, start, p_values = seeded("walks", kind), time.perf_counter(), []
        for seed in range(options.repetitions):
            sides = walked_sides(rng, kind, keys["n"])
            test = two_sample_test(*sides, walks=Walks(method="monte-carlo"), rng=seed, **QUICK)
            p_values.append(test.p_value)
        rejected = float(np.mean(np.array(p_values) <= LEVEL))
        record = {**keys, "rejected": rejected, "seconds": time.perf_counter() - start}
        report("population_level", record, "kind", "n")


def walked_sides(rng, kind, n):
    """Two sides of graphs from one population, those of the second with their nodes reordered."""
    n_graphs = {"Monte Carlo, few graphs": 3, "Monte Carlo, one graph": 1}.get(kind)
    if n_graphs is None:
        first, second = ([null_graph(rng, "structure")[0] for _ in range(n)] for _ in range(2))
    else:
        pool = [null_graph(rng, "structure")[0] for _ in range(n_graphs)]
        first, second = ([pool[i] for i in rng.integers(n_graphs, size=n)] for _ in range(2))
    orders = [rng.permutation(len(matrix)) for matrix in second]
    second = [matrix[np.ix_(order, order)] for matrix, order in zip(second, orders, strict=True)]
    return [batch_of([(matrix, None) for matrix in side]) for side in (first, second)]


def measure_coverage(options):
    """How often the interval holds the effect, which is that of 600 graphs of each side."""
    make = ALTERNATIVES["denser"][0]
    for effect in (0.0, 0.05, 0.1):
        keys = {"effect": effect, "n": 30, "repetitions": options.repetitions // 5}
        if is_done("population_coverage", **keys):
            continue
        rng = seeded("coverage", effect)
        # one kernel of a fixed bandwidth would be needed for a sharp truth; medians hardly vary
        many = [batch_of([make(rng, own) for _ in range(600)]) for own in (0.0, effect)]
        truth = two_sample_test(*many, **QUICK, rng=0).effect.value
        held, widths = [], []
        for seed in range(keys["repetitions"]):
            sides = [batch_of([make(rng, own) for _ in range(30)]) for own in (0.0, effect)]
            found = two_sample_test(*sides, n_permutations=9, n_jobs=1, rng=seed).effect
            held.append(found.low <= truth <= found.high)
            widths.append(found.high - found.low)
        record = {
            **keys,
            "truth": truth,
            "held": float(np.mean(held)),
            "mean_width": float(np.mean(widths)),
        }
        report("population_coverage", record, "effect", "n")


# power


def mean_features(batch):
    """Means over the nodes of each graph: return probabilities, of every label apart."""
    probabilities = return_probabilities(batch, n_jobs=1)
    labels = np.arange(max(1, len(batch.label_names)))
    rows = (probabilities[:, None, :] * (batch.labels[:, None] == labels)[:, :, None]).reshape(
        batch.n_nodes, -1
    )
    return np.add.reduceat(rows, batch.node_ptr[:-1]) / batch.node_counts[:, None]


def peer_p_values(python, features, means):
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.npz"), Path(folder, "found.json")
        arrays = {"features": np.array(features)} | ({"means": np.array(means)} if means else {})
        np.savez(given, **arrays)
        script = Path(__file__).with_name("population_peers.py")
        subprocess.run([python, script, given, found], check=True, cwd=folder)
        return json.loads(found.read_text())


def measure_power(options):
    repetitions = options.repetitions // 5
    for name, (make, effects) in ALTERNATIVES.items():
        for effect in effects:
            keys = {"alternative": name, "effect": effect, "repetitions": repetitions}
            if is_done("population_power", **keys):
                continue
            rng, found, features, means = seeded("power", name, effect), {"retgk": []}, [], []
            for seed in range(repetitions):
                graphs = [make(rng, own) for own in (0.0, effect) for _ in range(POWER_SIDE)]
                batch = batch_of(graphs)
                sides = batch[:POWER_SIDE], batch[POWER_SIDE:]
                found["retgk"].append(two_sample_test(*sides, rng=seed, **QUICK).p_value)
                features.append(mean_features(batch))
                if name in GRASPOLOGIC and len(means) < GRASPOLOGIC_TESTS:
                    matrices = np.array([matrix for matrix, _ in graphs])
                    means.append([half.mean(axis=0) for half in np.split(matrices, 2)])
            if options.peers:
                found |= peer_p_values(options.peers, features, means)
            power = {who: float(np.mean(np.array(p) <= LEVEL)) for who, p in found.items()}
            record = {**keys, "n": POWER_SIDE, "power": power}
            report("population_power", record, "alternative", "effect")


# connectomes, whose nodes correspond


SIGNALS = (0.0, 0.2, 0.3, 0.4, 0.6, 1.0, 1.5)


def connectome_p_values(rng, signal, seed):
    """P-values of all methods on the same 20 + 20 matrices."""
    stacks = [correlations(rng, own, POWER_SIDE) for own in (signal, 0.0)]
    sets, signed = (
        [from_numpy(stack, negative=negative, fisher_z=True) for stack in stacks]
        for negative in ("absolute", "split")
    )
    found = {
        "retgk, nodes correspond": two_sample_test(
            *signed, nodes_correspond=True, rng=seed, **QUICK
        ).p_value,
        "retgk, nodes as a set": two_sample_test(*sets, rng=seed, **QUICK).p_value,
    }
    return found | upper_triangle_p_values(rng, *stacks, QUICK["n_permutations"])


def upper_triangle_p_values(rng, first, second, n_permutations):
    """MMD, distance correlation and the largest t of an edge, written down as they stand."""
    rows = np.concatenate([first, second])[:, *np.triu_indices(first.shape[1], 1)]
    n = len(rows)
    distances = np.sqrt(np.square(rows[:, None] - rows).sum(axis=2))
    kernel = np.exp(-((distances / np.median(distances[np.triu_indices(n, 1)])) ** 2))
    np.fill_diagonal(kernel, 0.0)
    centred = distances - distances.mean(axis=0) - distances.mean(axis=1)[:, None]
    centred += distances.mean()
    statistics = {"MMD, upper triangle": [], "distance correlation, upper triangle": []}
    statistics["largest t of an edge"] = []
    for permutation in range(n_permutations + 1):
        order = np.arange(n) if permutation == 0 else rng.permutation(n)
        sign = np.where(order < len(first), 1.0 / len(first), -1.0 / len(second))
        statistics["MMD, upper triangle"].append(sign @ kernel @ sign)
        statistics["distance correlation, upper triangle"].append(-sign @ centred @ sign)
        a, b = rows[order < len(first)], rows[order >= len(first)]
        pooled = (a.var(axis=0) * len(a) + b.var(axis=0) * len(b)) / (n - 2)
        t = (a.mean(axis=0) - b.mean(axis=0)) / np.sqrt(pooled * (1 / len(a) + 1 / len(b)))
        statistics["largest t of an edge"].append(np.abs(t).max())
    return {name: float(np.mean(np.array(all_) >= all_[0])) for name, all_ in statistics.items()}


def measure_connectomes(options):
    for signal in SIGNALS:
        keys = {"signal": signal, "repetitions": options.repetitions}
        if is_done("population_connectomes", **keys):
            continue
        rng, start = seeded("connectomes", signal), time.perf_counter()
        runs = [connectome_p_values(rng, signal, seed) for seed in range(options.repetitions)]
        power = {name: float(np.mean([run[name] <= LEVEL for run in runs])) for name in runs[0]}
        record = {**keys, "n": POWER_SIDE, "power": power}
        record["seconds"] = time.perf_counter() - start
        report("population_connectomes", record, "signal")
    print_rows(connectome_rows)


# sizes that differ and nothing else


REMEDY = {"compare": "nodes", "walks": Walks(2)}


def measure_sizes(options):
    for kind, make in OF_TWO_SIZES.items():
        keys = {"kind": kind, "repetitions": options.repetitions}
        if is_done("population_sizes", **keys):
            continue
        rng, rejected = seeded("sizes", kind), {"as it comes": [], "means of two steps": []}
        for seed in range(options.repetitions):
            sides = [from_numpy([make(rng, n) for _ in range(POWER_SIDE)]) for n in SIZES]
            for (name, found), how in zip(rejected.items(), ({}, REMEDY), strict=True):
                if name == "as it comes" and seed >= AS_IT_COMES:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", InputWarning)
                    p_value = two_sample_test(*sides, rng=seed, **QUICK, **how).p_value
                found.append(p_value <= LEVEL)
        shares = {name: float(np.mean(found)) for name, found in rejected.items()}
        report("population_sizes", {**keys, "n": POWER_SIDE, "rejected": shares}, "kind")
    print_rows(size_rows)


def print_rows(rows_of):
    print(table(*rows_of()), flush=True)


# time


def measure_speed(_):
    rng = np.random.default_rng(0)
    sides = [
        batch_of([(random_graph(rng, p, 100), None) for _ in range(100)]) for p in (0.05, 0.06)
    ]
    for correspond in (False, True):
        settings = {"n_permutations": 10_000, "rng": 0, "nodes_correspond": correspond}
        two_sample_test(*sides, **{**settings, "n_permutations": 99})  # compile
        start, cpu = time.perf_counter(), time.process_time()
        test = two_sample_test(*sides, **settings)
        record = {
            "graphs": 200,
            "nodes_each": 100,
            "permutations": test.n_permutations,
            "kernels": len(test.kernels),
            "nodes_correspond": correspond,
            "seconds": time.perf_counter() - start,
            "cpu_seconds": time.process_time() - cpu,
        }
        report("population_speed", record, "graphs", "nodes_correspond")


# real collections


def measure_real(options):
    for name in ("ENZYMES", "PTC_MR", "IMDB-BINARY"):
        data = load_tudataset(name, data_home=options.folder, download=False)
        classes = np.unique(data.targets)
        pairs = list(combinations(classes.tolist(), 2))
        if not is_done("population_real", set=name, what="classes"):
            start = time.perf_counter()
            tests = [
                two_sample_test(*(data.graphs[data.targets == each] for each in pair), rng=0)
                for pair in pairs
            ]
            corrected = holm(np.array([test.p_value for test in tests]))
            record = {
                "set": name,
                "what": "classes",
                "pairs": [
                    {
                        "classes": pair,
                        "p_value": test.p_value,
                        "corrected": float(own),
                        "effect": test.effect.value,
                        "interval": [test.effect.low, test.effect.high],
                    }
                    for pair, test, own in zip(pairs, tests, corrected, strict=True)
                ],
                "seconds": time.perf_counter() - start,
            }
            report("population_real", record, "set", "what")
        if not is_done("population_real", set=name, what="halves"):
            report("population_real", halves_of_one_class(name, data, classes[0]), "set", "what")


def halves_of_one_class(name, data, own, n_halves=40):
    graphs = data.graphs[data.targets == own]
    rng, p_values = seeded("halves", name), []
    for seed in range(n_halves):
        order = rng.permutation(len(graphs))
        half = len(graphs) // 2
        test = two_sample_test(graphs[order[:half]], graphs[order[half:]], rng=seed, **QUICK)
        p_values.append(test.p_value)
    rejected = float(np.mean(np.array(p_values) <= LEVEL))
    return {
        "set": name,
        "what": "halves",
        "class": str(own),
        "n_halves": n_halves,
        "rejected": rejected,
        "median_p": float(np.median(p_values)),
        "p_values": p_values,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="holds the sets of the part real")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--peers", help="interpreter that has hyppo and graspologic")
    options = parser.parse_args()
    if options.folder is None and options.parts == PARTS:
        options.parts = [part for part in PARTS if part != "real"]
    for part in options.parts:
        globals()[f"measure_{part}"](options)


if __name__ == "__main__":
    main()
