"""Vector code written for LLVM against the same in plain numba, in whole jobs.

    python -m benchmarks.bench_simd FOLDER [--rounds N]

Both take turns, each in a process of its own on one thread; the least processor seconds of all
rounds count. Vector code stays where it makes jobs at least 1.3 times as fast.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.records import add_record

CASES = {
    "exact Gram matrix": ["NCI1", "DD", "REDDIT-BINARY"],
    "return probabilities": ["NCI1", "DD", "REDDIT-BINARY"],
    "embedding and products": ["NCI1", "DD"],
}
PARTS = dict(zip(CASES, ("vector_passes", "half_power_steps", "panel_products"), strict=True))
SAMPLE = {"REDDIT-BINARY": 400}  # graphs for the Gram matrix


def job_of(case, folder, name):
    """A function that does the whole job, with everything loaded."""
    from benchmarks import bench_retgk1
    from benchmarks.settings import load_setting
    from retgk import ExponentialGraphKernel, RetGKEmbedding, embedding_gram, return_probabilities

    if case == "exact Gram matrix":
        nodes, kernels = bench_retgk1.node_points(folder, name)
        nodes = nodes.of_graphs(np.arange(min(nodes.n_graphs, SAMPLE.get(name, nodes.n_graphs))))
        return lambda: bench_retgk1.weighted_gram(nodes, kernels, tol=1e-4, n_jobs=1)
    _, graphs = load_setting(folder, f"{name}/labels" if name != "REDDIT-BINARY" else name)
    if case == "return probabilities":
        return lambda: return_probabilities(graphs, n_jobs=1)

    def embed():
        model = RetGKEmbedding(sparse_output=True, random_state=0, n_jobs=1)
        return embedding_gram(
            model.fit_transform(graphs), kernel=ExponentialGraphKernel(), n_jobs=1
        )

    return embed


def work(variant, case, folder, name):
    """Seconds of the best of some runs, and a hash of the result."""
    if variant == "plain":
        from benchmarks.plain_simd import use_plain

        use_plain(PARTS[case])
    from benchmarks.fingerprints import digest

    job = job_of(case, folder, name)
    result, times = job(), []
    while len(times) < 3 or sum(times) < 1:
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    print(json.dumps({"seconds": min(times), "digest": digest(result)}))


def run(variant, case, folder, name):
    command = [sys.executable, "-m", "benchmarks.bench_simd", folder, "--work", variant, case, name]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=root)
    return json.loads(done.stdout.splitlines()[-1])


def record_of(case, folder, name, rounds):
    runs = [[run(v, case, folder, name) for v in ("llvm", "plain")] for _ in range(rounds)]
    llvm, plain = (min(pair[v]["seconds"] for pair in runs) for v in range(2))
    same = runs[0][0]["digest"] == runs[0][1]["digest"]
    print(
        f"{case:22} {name:14} LLVM {llvm:7.3f} s  plain {plain:7.3f} s  ratio {plain / llvm:5.2f}"
        f"  {'same bits' if same else 'other bits'}",
        flush=True,
    )
    seconds = {"llvm": llvm, "plain": plain, "ratio": plain / llvm}
    return {"case": case, "set": name, **seconds, "same_bits": same}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        variant, case, name = options.work
        work(variant, case, options.folder, name)
        return
    for case, names in CASES.items():
        for name in names:
            add_record("simd", record_of(case, options.folder, name, options.rounds), "case", "set")


if __name__ == "__main__":
    main()
