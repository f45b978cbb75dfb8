"""RetGK_I, from ready node features to the matrix: the published method and ours, side by side.

    python -m benchmarks.bench_retgk1 FOLDER [SET ...] [--tol TOL ...]

Both use all cores in the same run: the published method one process per core. It is timed on
random pairs of graphs and extrapolated to all; the time of sending features to the processes is
not counted.
"""

import argparse
import time

import numpy as np
from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits

from benchmarks.published import inner_products_of_pairs
from benchmarks.records import write_records
from retgk import _core, return_probabilities
from retgk.datasets import load_tudataset
from retgk.kernels.exact import FittedGraphs
from retgk.kernels.exact_points import DistinctPoints, NodePoints
from retgk.kernels.exact_tiling import shared_buckets, split_into_tasks, tile_factors
from retgk.kernels.node import Laplacian

# what the paper compares of the nodes, besides return probabilities
SETS = {
    "MUTAG": "labels",
    "ENZYMES": "labels",
    "PROTEINS": "labels",
    "NCI1": "labels",
    "BZR": "labels, attributes",
    "SYNTHETICnew": "attributes",
    "DD": "labels",
    "COLLAB": "",
    "REDDIT-BINARY": "",
}
SECONDS_FOR_PUBLISHED = 5.0
PUBLISHED_VALUES_PER_SECOND = 1.5e7  # roughly, for choosing the number of pairs only
VALUES_PER_CALL = 1000  # cost of one pair beyond its kernel values, in those


def node_points(folder, name):
    """Features of the nodes of a set, and kernels with the paper's bandwidths."""
    graphs = load_tudataset(name, data_home=folder, download=False).graphs
    blocks = [return_probabilities(graphs)]
    kernels = [Laplacian().fitted(blocks[0], graphs.node_ptr, 0)]
    if "attributes" in SETS[name]:
        blocks.append(np.ascontiguousarray(graphs.attributes))
        kernels.append(Laplacian("dimension").fitted(blocks[1], graphs.node_ptr))
    labels = graphs.labels if "labels" in SETS[name] else None
    return NodePoints(tuple(blocks), graphs.node_ptr, labels), kernels


def sample_of_pairs(sizes):
    """Random pairs of graphs, and how many times their cost all pairs have."""
    rng = np.random.default_rng(0)
    costs = VALUES_PER_CALL + np.mean(sizes) ** 2
    n_pairs = SECONDS_FOR_PUBLISHED * cpu_count() * PUBLISHED_VALUES_PER_SECOND / costs
    pairs = rng.integers(len(sizes), size=(int(np.clip(n_pairs, 200, 20000)), 2))
    sampled = (VALUES_PER_CALL + sizes[pairs[:, 0]] * sizes[pairs[:, 1]]).sum()
    n_all = len(sizes) * (len(sizes) + 1) / 2
    total = VALUES_PER_CALL * n_all + (sizes.sum() ** 2 + (sizes**2).sum()) / 2
    return pairs, total / sampled


def published_products(points, kernels, pairs, pool):
    """Inner products of some pairs, wall and processor seconds."""
    attributes = points.blocks[1] if len(points.blocks) > 1 else None
    features = (points.blocks[0], points.labels, attributes)
    gammas = [kernel.gamma for kernel in kernels]
    pieces = np.array_split(pairs, cpu_count())
    done = pool(
        delayed(_published_piece)(points.node_ptr, features, gammas, piece) for piece in pieces
    )
    values, walls, cpus = zip(*done, strict=True)
    return np.concatenate(values), max(walls), sum(cpus)


def _published_piece(node_ptr, features, gammas, pairs):
    with threadpool_limits(1):
        inner_products_of_pairs(node_ptr, features, gammas, pairs[:20])  # warm
        wall, cpu = time.perf_counter(), time.process_time()
        values = inner_products_of_pairs(node_ptr, features, gammas, pairs)
        return values, time.perf_counter() - wall, time.process_time() - cpu


def weighted_gram(points, kernels, tol, n_jobs=None):
    """From node features to inner products."""
    return FittedGraphs.of(points, kernels, tol, n_jobs).gram(n_jobs=n_jobs)


def best(function):
    """What a function returns, and the least wall and processor seconds of some calls."""
    walls, cpus = [], []
    while len(walls) < 5 and sum(walls) < 3.0:
        wall, cpu = time.perf_counter(), time.process_time()
        result = function()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return result, min(walls), min(cpus)


def n_values(fitted):
    """Kernel values of one triangle; that blocks on the diagonal are computed whole is left out."""
    counts = np.unique(fitted.points.labels, return_counts=True)[1].astype(float)
    return float((counts * (counts + 1) / 2).sum())


def peak_rate(fitted, n_points=960, points_per_graph=32, n_repetitions=100):
    """Kernel values a second of one thread, on points that stay in the first caches."""
    chosen = np.random.default_rng(0).integers(len(fitted.points), size=n_points)
    numbers = np.arange(n_points)
    some = DistinctPoints(
        fitted.points.coordinates[chosen],
        np.zeros(n_points, np.int32),
        numbers,
        numbers // points_per_graph,
        np.ones(n_points),
        n_points // points_per_graph,
    )
    kernel = fitted.frame.tile_kernel
    bucket = shared_buckets(some, some, kernel, np.zeros(1, bool))[0]
    task = next(split_into_tasks(bucket, False))
    products, times = np.empty(task.shape), []
    arguments = (*bucket.rows, *bucket.columns, *tile_factors(kernel))
    for _ in range(n_repetitions):
        start = time.thread_time()
        _core.fill_products(*arguments, 0, task.stop, False, task.row_numbers, products)
        times.append(time.thread_time() - start)
    return task.stop * n_points / min(times)


def records_of_set(folder, name, tolerances, pool):
    points, kernels = node_points(folder, name)
    pairs, factor = sample_of_pairs(np.diff(points.node_ptr))
    values, plain, plain_cpu = published_products(points, kernels, pairs, pool)
    for tol in tolerances:
        fitted = FittedGraphs.of(points, kernels, tol)
        gram, wall, cpu = best(lambda t=tol: weighted_gram(points, kernels=kernels, tol=t))
        _, wall_one, cpu_one = best(
            lambda t=tol: weighted_gram(points, kernels=kernels, tol=t, n_jobs=1)
        )
        peak, rate = peak_rate(fitted), n_values(fitted) / cpu_one
        record = {
            "set": name,
            "uses": SETS[name],
            "tol": tol,
            "graphs": points.n_graphs,
            "nodes": points.n_nodes,
            "distinct": len(fitted.points),
            "coordinates": np.diff(fitted.frame.block_ptr).tolist(),
            "dtype": np.dtype(fitted.frame.dtype).name,
            "sample_pairs": len(pairs),
            "published_extrapolated": plain * factor,
            "published_cpu_extrapolated": plain_cpu * factor,
            "ours": wall,
            "ours_cpu": cpu,
            "ours_one_thread": wall_one,
            "ratio": plain * factor / wall,
            "cpu_ratio": plain_cpu * factor / cpu,
            "values_per_second": rate,
            "peak_values_per_second": peak,
            "error": float(np.abs(gram[pairs[:, 0], pairs[:, 1]] - values).max()),
        }
        print(
            f"{name:14} tol {tol:.0e}  published {plain * factor:8.1f} s (from {len(pairs)} pairs)"
            f"  ours {wall:7.3f} s  ratio {record['ratio']:6.1f}  (processor time"
            f" {record['cpu_ratio']:6.1f})  one thread {wall_one:7.3f} s  {rate / 1e6:5.0f} of"
            f" {peak / 1e6:5.0f} M values/s  coordinates {record['coordinates']}"
            f"  error {record['error']:.1e}",
            flush=True,
        )
        yield record


def compile_all(options):
    points, kernels = node_points(options.folder, "MUTAG")
    for tol in options.tol:
        weighted_gram(points, kernels=kernels, tol=tol)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-4])
    options = parser.parse_args()
    compile_all(options)
    with Parallel(n_jobs=-1) as pool:
        records = [
            record
            for name in options.sets
            for record in records_of_set(options.folder, name, options.tol, pool)
        ]
    write_records("retgk1", records)


if __name__ == "__main__":
    main()
