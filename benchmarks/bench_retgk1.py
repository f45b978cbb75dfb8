"""
Time the engine of RetGK_I against the published method, from ready node features to the matrix.

    python benchmarks/bench_retgk1.py features.npz [--labels] [--attributes] [--tol 1e-4 ...]

The file holds `rpf`, `ptr` and, if asked for, `labels` and `attributes`. Both sides use the same
threads in the same run. One JSON record per line is printed.
"""

import argparse
import json
import time

import numpy as np

from published_retgk1 import split, timed_sample
from retgk.kernels import gram
from retgk.kernels.gram import gram_of_reduced
from retgk.kernels.node_kernels import Laplacian
from retgk.kernels.points import DistinctPoints, NodePoints
from retgk.kernels.reduction import Reduced, reduced_points
from retgk.kernels.tiles import sum_tiles


def n_evaluations(reduced):
    """Kernel values of one triangle, blocks on the diagonal in full left aside."""
    counts = np.unique(reduced.x.labels, return_counts=True)[1].astype(float)
    return float((counts * (counts + 1) / 2).sum())


def peak_rate(reduced, n_points=256, n_graphs=2, n_repeats=200):
    """Kernel values per second of one thread on points that stay in the first caches."""
    rng = np.random.default_rng(0)
    x = reduced.x
    chosen = np.sort(rng.choice(len(x), min(n_points, len(x)), replace=False))
    small = DistinctPoints(
        x.coordinates[chosen],
        np.zeros(len(chosen), np.int32),
        np.arange(len(chosen)),
        np.arange(len(chosen)) * n_graphs // len(chosen),
        np.full(len(chosen), 1.0),
        n_graphs,
    )
    both = Reduced(small, small, reduced.kernels, reduced.block_ptr, reduced.dtype, 0.0)
    block = gram._row_blocks(gram._buckets(both), both)[0]
    rows = np.ascontiguousarray(block.bucket.points[block.start : block.stop].T, both.dtype)
    sums = np.empty((n_graphs, block.stop - block.start))
    factors = gram._factors(both)
    times = []
    for _ in range(n_repeats):
        start = time.perf_counter()
        sum_tiles(rows, block.bucket.columns, factors, 0, 0, sums)
        times.append(time.perf_counter() - start)
    return rows.shape[1] * len(chosen) / min(times)


def timed(function):
    """What a function returns, wall seconds and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features")
    parser.add_argument("--labels", action="store_true")
    parser.add_argument("--attributes", action="store_true")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-4])
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def main():
    arguments = read_arguments()
    data = np.load(arguments.features)
    labels = data["labels"] if arguments.labels else None
    attributes = data["attributes"] if arguments.attributes else None
    blocks = [data["rpf"]] + ([] if attributes is None else [attributes])
    points = NodePoints(tuple(blocks), data["ptr"], labels)
    kernels = [Laplacian().fitted(blocks[0], points.node_ptr, 0)]
    kernels += [Laplacian("dimension").fitted(block, points.node_ptr) for block in blocks[1:]]
    graphs = split(points.node_ptr, blocks[0], labels, attributes)
    gammas = [kernel.scale for kernel in kernels]
    warm = reduced_points(points, None, kernels, arguments.tol[0])
    peak_rate(warm)
    gram_of_reduced(warm, arguments.threads)
    for tol in arguments.tol:
        (pairs, values, plain), _, plain_cpu = timed(
            lambda: timed_sample(graphs, gammas, arguments.pairs, arguments.threads)
        )
        plain_cpu *= len(graphs) * (len(graphs) + 1) / 2 / arguments.pairs
        reduced, reduce_wall, reduce_cpu = timed(
            lambda t=tol: reduced_points(points, None, kernels, t)
        )
        matrix, wall, cpu = timed(lambda r=reduced: gram_of_reduced(r, arguments.threads))
        peak = peak_rate(reduced)
        record = {
            "features": arguments.features.split("/")[-1],
            "tol": tol,
            "dtype": np.dtype(reduced.dtype).name,
            "coordinates": np.diff(reduced.block_ptr).tolist(),
            "distinct": len(reduced.x),
            "nodes": points.n_nodes,
            "plain_seconds_extrapolated": round(plain, 2),
            "seconds": round(reduce_wall + wall, 3),
            "ratio": round(plain / (reduce_wall + wall), 1),
            "cpu_ratio": round(plain_cpu / (reduce_cpu + cpu), 1),
            "values_per_cpu_second": round(n_evaluations(reduced) / cpu / 1e6, 1),
            "peak_values_per_second": round(peak / 1e6, 1),
            "share_of_peak": round(n_evaluations(reduced) / cpu / peak, 2),
            "largest_error_on_sample": float(
                np.abs(matrix[pairs[:, 0], pairs[:, 1]] - values).max()
            ),
        }
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
