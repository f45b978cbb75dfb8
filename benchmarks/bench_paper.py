"""The published method in plain NumPy against retgk, on a sample of every set of the tables.

    python -m benchmarks.bench_paper FOLDER [--mnist FOLDER] [--seconds 5] [--table 1 ...]

From graphs to inner products, both in turn on the same random graphs; medians of three runs of each
where a run takes less than five seconds, one run of each otherwise. The published method has one
process per core for return probabilities and for the pairs of RetGK_I; it makes the tensors of
RetGK_II in one process, whose matrix products use all cores. `python -m reproduction report
--baseline` shows the records.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits

from benchmarks.published import (
    inner_products_of_pairs,
    random_features,
    return_probabilities_of_graphs,
)
from benchmarks.records import add_record
from reproduction.frankenstein import REBUILT
from reproduction.graphs import Sources, load_paper_set
from reproduction.tables import TABLES, table_cells
from reproduction.timed_matrices import embedding_matrix, exact_matrix
from retgk.kernels.node import median_distance

# Rough speeds of the published method, for choosing the size of a sample only.
VALUES_PER_SECOND = 1.5e7
SECONDS_PER_CALL = 6e-5
CUBES_PER_SECOND = 1e9

LONG_SECONDS = 5.0
N_RUNS = 3


def sample_of(graphs, kind, seconds):
    """As many random graphs as the published method can do in some seconds, at least ten."""
    order = np.random.default_rng(0).permutation(len(graphs))
    sizes = graphs.node_counts[order].astype(float)
    spent = np.cumsum(sizes**3) / CUBES_PER_SECOND
    if kind == "exact":
        pairs = np.cumsum(sizes) ** 2 / 2
        spent += pairs / VALUES_PER_SECOND + np.arange(len(sizes)) ** 2 / 2 * SECONDS_PER_CALL
    return graphs[np.sort(order[: max(10, np.searchsorted(spent, seconds * cpu_count()))])]


def published_features(graphs, settings, pool):
    """Return probabilities by eigendecomposition, a part of the graphs in each process."""
    arrays = (graphs.node_ptr, graphs.indptr, graphs.indices)
    parts = np.array_split(np.arange(len(graphs)), 4 * cpu_count())
    return np.concatenate(
        pool(
            delayed(_features_of)(*arrays, part, settings["n_steps"]) for part in parts if len(part)
        )
    )


def _features_of(node_ptr, indptr, indices, part, n_steps):
    with threadpool_limits(1):
        return return_probabilities_of_graphs(node_ptr, indptr, indices, part, n_steps)


def published_exact(graphs, settings, pool):
    """RetGK_I: one distance matrix for each pair of graphs."""
    rpf = published_features(graphs, settings, pool)
    labels = graphs.labels if graphs.has_labels else None
    attributes = graphs.attributes if graphs.n_attributes else None
    gammas = [1 / median_distance(rpf, graphs.node_ptr, 0)]
    if attributes is not None:
        gammas.append(graphs.n_attributes**-0.5)
    pairs = np.array(list(itertools.combinations_with_replacement(range(len(graphs)), 2)))
    np.random.default_rng(0).shuffle(pairs)  # so that all parts cost the same
    parts = np.array_split(pairs, 4 * cpu_count())
    features = (rpf, labels, attributes)
    values = pool(delayed(_products_of)(graphs.node_ptr, features, gammas, part) for part in parts)
    products = np.empty((len(graphs), len(graphs)))
    products[tuple(pairs.T)] = products[tuple(pairs.T[::-1])] = np.concatenate(values)
    return products


def _products_of(*arguments):
    with threadpool_limits(1):
        return inner_products_of_pairs(*arguments)


def published_embedding(graphs, settings, pool):
    """RetGK_II: the tensor of every graph, one after the other."""
    rng = np.random.default_rng(0)
    rpf = published_features(graphs, settings, pool)
    widths = settings["n_components"]
    maps = [random_features(rpf, widths[0], settings["structure_scale"], rng)]
    if graphs.n_attributes:
        scale = settings["attribute_scale"]
        maps.append(random_features(graphs.attributes, widths[1], scale, rng))
    one_hot = np.eye(graphs.labels.max() + 1)[graphs.labels]
    vectors = []
    for start, stop in itertools.pairwise(graphs.node_ptr):
        node_maps = one_hot[start:stop]
        for values in maps:
            node_maps = (node_maps[:, :, None] * values[start:stop, None, :]).reshape(
                stop - start, -1
            )
        vectors.append(node_maps.mean(axis=0))
    vectors = np.array(vectors)
    return vectors @ vectors.T


def ours_exact(graphs, settings, folder):
    path = folder / "sample.npy"
    for old in folder.glob("sample*"):
        old.unlink()
    return exact_matrix(graphs, settings, path)


PUBLISHED = {"exact": published_exact, "embedding": published_embedding}


def warm_up(pool):
    """Have every process import what the published method needs, before the clock starts."""
    edge = (np.array([0, 2]), np.array([0, 1, 2]), np.array([1, 0]))
    features = (np.eye(2), None, None)
    n_calls = 4 * cpu_count()
    pool(delayed(_features_of)(*edge, [0], 2) for _ in range(n_calls))
    pool(delayed(_products_of)(edge[0], features, [1.0], [(0, 0)]) for _ in range(n_calls))


def runs_in_turn(published, ours):
    """Seconds of equally many runs of both, and what the last ones gave.

    Ours gives a matrix with its own seconds: its clock starts after compilation.
    """
    times = []
    while len(times) < (N_RUNS if not times or max(times[0]) < LONG_SECONDS else 1):
        start = time.perf_counter()
        plain = published()
        spent = time.perf_counter() - start
        matrix = ours()
        times.append((spent, sum(matrix.seconds.values())))
    return times, plain, matrix


def record_of(cell, sources, seconds, pool, scratch):
    settings = cell.settings
    uses = {use: settings[use] for use in ("uses_labels", "uses_attributes")}
    graphs = load_paper_set(cell.dataset, sources, **uses).graphs
    sample = sample_of(graphs, settings["kind"], seconds)
    is_exact = settings["kind"] == "exact"
    times, plain, matrix = runs_in_turn(
        lambda: PUBLISHED[settings["kind"]](sample, settings, pool),
        lambda: (
            ours_exact(sample, settings, scratch)
            if is_exact
            else embedding_matrix(sample, settings, 0)
        ),
    )
    published, ours = map(statistics.median, zip(*times, strict=True))
    record = {
        "table": int(cell.place.split()[-1]),
        "set": cell.dataset,
        "method": cell.method,
        "graphs": len(graphs),
        "sample": len(sample),
        "nodes": sample.n_nodes,
        "published": published,
        "ours": ours,
        "ratio": published / ours,
        "runs": len(times),
        # of exact products; random ones are drawn otherwise
        "difference": float(np.abs(plain - matrix.products).max()) if is_exact else None,
    }
    print(
        f"{cell.place} {cell.dataset:17} {cell.method:9} {len(sample):5} of {len(graphs):5}  "
        f"published {published:7.2f} s  ours {ours:7.3f} s  ratio {record['ratio']:6.1f}  "
        f"runs of each {len(times)}  largest difference {record['difference']}",
        flush=True,
    )
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mnist", type=Path, help="without it, FRANKENSTEIN is left out")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--table", type=int, nargs="+", default=list(TABLES))
    parser.add_argument("--set", nargs="+")
    options = parser.parse_args()
    cells = [
        cell
        for table in options.table
        for cell in table_cells(table)
        if cell.method in ("RetGK_I", "RetGK_II")
        and (not options.set or cell.dataset in options.set)
        and (options.mnist or cell.dataset != REBUILT)
    ]
    sources = Sources(options.folder, options.mnist)
    with Parallel(n_jobs=-1) as pool, tempfile.TemporaryDirectory() as scratch:
        warm_up(pool)
        for cell in cells:
            record = record_of(cell, sources, options.seconds, pool, Path(scratch))
            add_record("paper", record, "table", "set", "method")


if __name__ == "__main__":
    main()
