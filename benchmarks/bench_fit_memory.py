"""
Memory and time of GraphClassifier.fit as the number of graphs grows.

    python -m benchmarks.bench_fit_memory [--sizes 10000,100000,500000]

Graphs are made (20 nodes on average, 4 labels, 2 classes), in a process of their own for each
size. The peak is that of the whole process, with the interpreter and the graphs.
"""

import argparse
import json
import subprocess
import sys
import time

from benchmarks.records import add_record

SIZES = "10000,100000,500000"


def measure(n_graphs):
    from retgk import GraphClassifier
    from retgk._runtime.processes import peak_megabytes
    from retgk.datasets import make_graph_classification

    data = make_graph_classification(n_graphs, n_labels=4, n_nodes=(10, 30), rng=0)
    before = peak_megabytes()
    start = time.perf_counter()
    model = GraphClassifier(random_state=0).fit(data.graphs, data.targets)
    seconds = time.perf_counter() - start
    return {
        "n_graphs": n_graphs,
        "n_nodes": data.graphs.n_nodes,
        "solver": model.solver_,
        "seconds": round(seconds, 1),
        "graphs_megabytes": round(before),
        "peak_megabytes": round(peak_megabytes()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one)))
        return
    for size in arguments.sizes.split(","):
        command = [sys.executable, "-m", "benchmarks.bench_fit_memory", "--one", size]
        record = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        print(record, flush=True)
        add_record("fit_memory", record, "n_graphs")


if __name__ == "__main__":
    main()
