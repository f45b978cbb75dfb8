"""Return probabilities: the published method, PyTorch-Geometric's and ours, side by side.

    python -m benchmarks.bench_rpf FOLDER [SET ...]

Every method gets the same graphs in the same run. Where the published method would take too
long, a random sample of the graphs that it can do is compared. Its time for the whole set
is extrapolated: by number for graphs of that size, and by the cube of the size, from the largest
graph of the sample, for larger ones. PyTorch-Geometric is run on thirty graphs, and
extrapolated by number.
"""

import argparse
import time

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.published import return_probabilities_of_graphs
from benchmarks.records import add_record, best_time, peak_memory
from retgk import return_probabilities
from retgk.datasets import load_tudataset

SETS = [
    "MUTAG", "ENZYMES", "PROTEINS", "NCI1", "IMDB-BINARY", "IMDB-MULTI", "DD", "COLLAB",
    "REDDIT-BINARY", "REDDIT-MULTI-5K", "REDDIT-MULTI-12K",
]  # fmt: skip
SECONDS_FOR_PUBLISHED = 6.0

OURS_PEAK = """
import sys
from retgk._runtime.processes import peak_megabytes
from retgk import return_probabilities
from retgk.datasets import load_tudataset
graphs = load_tudataset(sys.argv[2], data_home=sys.argv[1], download=False).graphs
return_probabilities(graphs[:1])
start = peak_megabytes()
found = return_probabilities(graphs)
print(peak_megabytes() - start - found.nbytes / 2**20)
"""


def published_seconds(sizes):
    """Rough cost of one eigendecomposition, for choosing a sample only."""
    return 5e-5 + 6e-8 * sizes**2 + 4e-10 * sizes.astype(float) ** 3


def is_comparable(sizes):
    """Whether the published method can do a graph in time."""
    return published_seconds(sizes) < SECONDS_FOR_PUBLISHED / 20


def comparable_sample(graphs):
    """Random graphs that the published method can do in time."""
    order = np.random.default_rng(0).permutation(len(graphs))
    order = order[is_comparable(graphs.node_counts[order])]
    return np.sort(
        order[np.cumsum(published_seconds(graphs.node_counts[order])) < SECONDS_FOR_PUBLISHED]
    )


def whole_set_seconds(seconds, sample, graphs):
    """Time of the published method for the whole set."""
    comparable = is_comparable(graphs.node_counts)
    whole = seconds * comparable.sum() / len(sample)
    if not comparable.all():
        largest = sample[int(np.argmax(sample.node_counts))]
        per_cube = (
            best_time(lambda: published_probabilities(largest)) / largest.n_nodes**3
        )  # BLAS on all cores
        whole += per_cube * (graphs.node_counts[~comparable].astype(float) ** 3).sum()
    return whole


def published_probabilities(graphs):
    arrays = (graphs.node_ptr, graphs.indptr, graphs.indices)
    return return_probabilities_of_graphs(*arrays, range(len(graphs)))


def published_in_processes(graphs, pool):
    """The published method with one single-threaded process per core."""
    pieces = np.array_split(np.argsort(graphs.node_counts), 16)
    arrays = (graphs.node_ptr, graphs.indptr, graphs.indices)
    pool(delayed(_published_piece)(*arrays, piece) for piece in pieces)


def _published_piece(node_ptr, indptr, indices, graphs):
    with threadpool_limits(1):
        return_probabilities_of_graphs(node_ptr, indptr, indices, graphs)


def pyg_seconds(graphs):
    """PyTorch-Geometric's random-walk encoding, one graph after the other; None if missing."""
    try:
        import torch
        from torch_geometric.data import Data
        from torch_geometric.transforms import AddRandomWalkPE
    except ImportError:
        return None
    transform = AddRandomWalkPE(50, attr_name="pe")
    data = []
    for graph in graphs[:30]:
        n = graph.n_nodes
        rows = np.repeat(np.arange(n), np.diff(graph.indptr))
        edges = np.stack([np.append(rows, np.arange(n)), np.append(graph.indices, np.arange(n))])
        data.append(Data(edge_index=torch.as_tensor(edges, dtype=torch.long), num_nodes=n))
    start = time.perf_counter()
    for graph in data:
        transform(graph)
    return (time.perf_counter() - start) * len(graphs) / len(data)


def record_of_set(folder, name, pool):
    graphs = load_tudataset(name, data_home=folder, download=False).graphs
    sample = graphs[comparable_sample(graphs)]
    repetitions = 3 if len(sample) == len(graphs) else 1
    ours = return_probabilities(sample)
    record = {
        "set": name,
        "graphs": len(graphs),
        "nodes": graphs.n_nodes,
        "sample_graphs": len(sample),
        "sample_largest": int(sample.node_counts.max()),
        "error": float(np.abs(ours - published_probabilities(sample)).max()),
        "published": best_time(lambda: published_probabilities(sample), repetitions),
        "published_processes": best_time(lambda: published_in_processes(sample, pool), repetitions),
        "ours": best_time(lambda: return_probabilities(sample), 5),
        "ours_one_thread": best_time(lambda: return_probabilities(sample, n_jobs=1), 5),
        "ours_whole_set": best_time(lambda: return_probabilities(graphs), 2),
        "pyg": pyg_seconds(sample),
        "peak_beyond_output_mb": peak_memory(OURS_PEAK, folder, name),
        "output_mb": graphs.n_nodes * 50 * 8 / 2**20,
    }
    record["published_best"] = min(record["published"], record["published_processes"])
    record["published_whole_set"] = whole_set_seconds(record["published_best"], sample, graphs)
    print(
        f"{name:17} published {record['published']:8.3f} s  ours {record['ours']:8.4f} s  "
        f"ratio {record['published'] / record['ours']:6.1f}  "
        f"(in processes {record['published_processes'] / record['ours']:6.1f})  "
        f"one thread {record['ours_one_thread']:.4f} s  "
        f"whole set {record['ours_whole_set']:.3f} s, ratio "
        f"{record['published_whole_set'] / record['ours_whole_set']:.1f}  "
        f"error {record['error']:.1e}  beyond output {record['peak_beyond_output_mb']:.0f} MB",
        flush=True,
    )
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("sets", nargs="*", default=SETS)
    options = parser.parse_args()
    return_probabilities(np.ones((3, 3)))  # compile
    with Parallel(n_jobs=-1) as pool:
        for name in options.sets:
            record = record_of_set(options.folder, name, pool)
            add_record("rpf", record, "set")


if __name__ == "__main__":
    main()
