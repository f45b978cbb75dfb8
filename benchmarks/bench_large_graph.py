"""One large graph: reading, and its vector from drawn nodes, over 10^5, 10^6 and 10^7 edges.

    python -m benchmarks.bench_large_graph [EDGE_LIST] [--edges COUNT ...]

Graphs are made: every later node has ten neighbours among those before it, which it prefers the
earlier they are, so that degrees differ as in networks of people. Each is written to an edge list
and measured in a process of its own: reading the file, and `RetGKEmbedding` by Monte Carlo from
10,000 drawn nodes with 200 walks, with its stated error. The error is then looked at beside the
vector of the same nodes with 16 times the walks, and beside that of 16 times the nodes.
EDGE_LIST is one more graph (soc-Slashdot0902).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.records import add_record
from retgk import Walks, read_graphs
from retgk._runtime.processes import peak_megabytes
from retgk.kernels import RetGKEmbedding

EDGES = [100_000, 1_000_000, 10_000_000]
PER_NODE = 10
N_NODES, N_WALKS, MORE = 10_000, 200, 16
PIECE = 1_000_000


def write_graph(path, n_edges, seed=0):
    """Write the edge list of a made graph, some edges at a time."""
    rng = np.random.default_rng(seed)
    with path.open("w") as lines:
        for first in range(0, n_edges, PIECE):
            edge = np.arange(first, min(first + PIECE, n_edges))
            later = 1 + edge // PER_NODE
            earlier = (later * rng.random(len(edge)) ** 2).astype(np.int64)
            text = np.char.add(np.char.add(later.astype(str), " "), earlier.astype(str))
            lines.write("\n".join(text.tolist()) + "\n")


def model_of(nodes=N_NODES, n_walks=N_WALKS):
    """Embedding of which all have the same frequencies, and draw the first nodes alike."""
    return RetGKEmbedding(
        walks=Walks(method="monte-carlo", n_walks=n_walks, nodes=nodes), random_state=0
    )


def measure(path):
    before, start = peak_megabytes(), time.perf_counter()
    graph = read_graphs(path).graphs
    read_seconds, read_peak = time.perf_counter() - start, peak_megabytes() - before
    model_of(10, 10).fit(graph).transform_with_error(graph)  # compiles
    start, cpu_before = time.perf_counter(), time.process_time()
    vector = model_of().fit_transform(graph)[0]
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_before
    start = time.perf_counter()
    _, errors = model_of().fit(graph).transform_with_error(graph)
    seconds_with_errors, peak = time.perf_counter() - start, peak_megabytes() - before
    more_walks = model_of(n_walks=MORE * N_WALKS).fit_transform(graph)[0]
    more_nodes = model_of(nodes=MORE * N_NODES).fit_transform(graph)[0]
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "edge_array_mb": 16 * graph.n_edges / 2**20,
        "read_seconds": read_seconds,
        "read_peak_mb": read_peak,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "seconds_with_errors": seconds_with_errors,
        "peak_mb": peak,
        "norm": float(np.linalg.norm(vector)),
        "stated_error": float(np.linalg.norm(errors[0])),
        "error_beside_more_walks": float(np.linalg.norm(vector - more_walks)),
        "error_beside_more_nodes": float(np.linalg.norm(vector - more_nodes)),
        "load_after": os.getloadavg()[0],
    }


def record_of(name, path):
    command = [sys.executable, "-m", "benchmarks.bench_large_graph", str(path), "--worker"]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent
    )
    record = {"graph": name, **json.loads(done.stdout.splitlines()[-1])}
    print(record, flush=True)
    add_record("large_graph", record, "graph")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edge_list", nargs="?")
    parser.add_argument("--edges", nargs="*", type=int, default=EDGES)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.edge_list)))
        return
    if options.edge_list:
        record_of("soc-Slashdot0902", options.edge_list)
    for n_edges in options.edges:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph.edges"
            write_graph(path, n_edges)
            record_of(f"made, {n_edges:,} edges", path)


if __name__ == "__main__":
    main()
