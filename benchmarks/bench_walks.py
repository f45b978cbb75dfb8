"""Monte Carlo walks: steps a second beside the machine's random-access rate, and accuracy.

    python -m benchmarks.bench_walks FOLDER_OF_SETS EDGE_LIST

EDGE_LIST is the edge list of one large graph (soc-Slashdot0902), gzipped or plain.
"""

import argparse
import time

import numpy as np

from benchmarks.records import best_time, peak_memory, write_records
from retgk import GraphBatch, return_probabilities
from retgk.datasets import load_tudataset

N_WALKS = 200
LENGTHS = {"monte-carlo": 25, "monte-carlo-returns": 50}
TABLE_BYTES = {"in cache": 1 << 17, "in memory": 1 << 28}

SLASHDOT_PEAK = """
import sys
from retgk._runtime.processes import peak_megabytes
from benchmarks.bench_walks import large_graph
from retgk import return_probabilities
graph = large_graph(sys.argv[1])
return_probabilities(graph, method="monte-carlo", nodes=[0], rng=0)
start = peak_megabytes()
found = return_probabilities(
    graph, method="monte-carlo", nodes=20000, n_walks=int(sys.argv[2]), rng=0
)
print(peak_megabytes() - start - found.nbytes / 2**20)
"""


def random_reads_per_second(n_bytes):
    """Independent reads at drawn places: what one core can do at best."""
    table = np.ones(n_bytes // 4, np.int32)
    places = np.random.default_rng(0).integers(len(table), size=20_000_000)
    found = np.empty(len(places), table.dtype)
    return len(places) / best_time(lambda: np.take(table, places, out=found, mode="wrap"))


def large_graph(path):
    """One graph from a list of undirected edges; its own loops are kept."""
    edges = np.loadtxt(path, dtype=np.int64, comments="#")
    nodes, edges = np.unique(edges, return_inverse=True)
    return GraphBatch.from_edges(len(nodes), edges.reshape(-1, 2), symmetrize=True)


def rates(name, graphs):
    for method, length in LENGTHS.items():

        def run(method=method):
            return_probabilities(graphs, method=method, rng=0, n_jobs=1)

        steps = graphs.n_nodes * N_WALKS * length / best_time(run, 3)
        yield {"graphs": name, "method": method, "steps_per_second_per_core": steps}


def accuracy_on_large_graph(graph):
    start = time.perf_counter()
    found, errors = return_probabilities(
        graph, method="monte-carlo", rng=0, return_standard_error=True
    )
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    return_probabilities(graph, method="monte-carlo", rng=0)
    without_errors = time.perf_counter() - start
    nodes = np.sort(np.random.default_rng(0).choice(graph.n_nodes, 200, replace=False))
    start = time.perf_counter()
    truth = return_probabilities(graph, nodes=nodes)
    difference = found[nodes] - truth
    return {
        "graphs": "soc-Slashdot0902",
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "seconds": without_errors,
        "seconds_with_errors": seconds,
        "seconds_of_exact_for_200_nodes": time.perf_counter() - start,
        "root_mean_squared_error": float(np.sqrt(np.mean(difference**2))),
        "largest_error": float(np.abs(difference).max()),
        "claimed_root_mean_squared_error": float(np.sqrt(np.mean(errors[nodes] ** 2))),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("edge_list")
    options = parser.parse_args()
    records = [
        {"random_reads": place, "per_second": random_reads_per_second(n_bytes)}
        for place, n_bytes in TABLE_BYTES.items()
    ]
    for name in ("DD", "REDDIT-BINARY"):
        graphs = load_tudataset(name, data_home=options.folder, download=False).graphs
        sample = graphs[np.random.default_rng(0).choice(len(graphs), 100, replace=False)]
        records += rates(name, sample)
    graph = large_graph(options.edge_list)
    records.append(accuracy_on_large_graph(graph))
    for n_walks in (100, 1600):
        megabytes = peak_memory(SLASHDOT_PEAK, options.edge_list, n_walks)
        records.append({"n_walks": n_walks, "peak_beyond_output_mb": megabytes})
    for record in records:
        print(record, flush=True)
    write_records("walks", records)


if __name__ == "__main__":
    main()
