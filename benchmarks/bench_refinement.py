"""Refined labels: their time beside GraKeL's, their memory, and what they add to the exact kernel.

    python -m benchmarks.bench_refinement FOLDER [--only TEXT]

Colours to depth 5 of all nodes, against GraKeL's Weisfeiler-Lehman kernel with as many rounds from
its own graphs, one after the other in one process; peak memory of a process that reads the largest
set and refines it; and the exact Gram matrix at depth 3 beside depth 0.
"""

import argparse
import json
import subprocess
import sys
import warnings

from benchmarks.records import add_record, best_time
from benchmarks.retgk2_worker import weisfeiler_lehman
from benchmarks.settings import load_setting

DEPTH = 5
BESIDE_GRAKEL = ["MUTAG/labels", "NCI1/labels", "REDDIT-BINARY"]
LARGEST = "REDDIT-MULTI-12K"
GRAM = ["ENZYMES/labels", "NCI1/labels"]


def beside_grakel(folder, setting):
    from retgk.kernels import refined_labels

    data, graphs = load_setting(folder, setting)
    start = "labels" if graphs.has_labels else "degrees"
    refined_labels(graphs[:3], DEPTH, start=start)
    ours = best_time(lambda: refined_labels(graphs, DEPTH, start=start))
    theirs = best_time(weisfeiler_lehman(graphs), repetitions=1 if graphs.n_nodes > 300_000 else 3)
    return {"what": "refinement", "set": data.name, "seconds": ours, "grakel_seconds": theirs}


def memory(folder, setting):
    from retgk._runtime.processes import peak_megabytes
    from retgk.kernels import refined_labels

    data, graphs = load_setting(folder, setting)
    before = peak_megabytes()
    colours = refined_labels(graphs, DEPTH, start="degrees")
    return {
        "what": "memory",
        "set": data.name,
        "colours": int(colours[:, -1].max()) + 1,
        "graphs_megabytes": round(before),
        "peak_megabytes": round(peak_megabytes()),
    }


def gram_costs(folder, setting):
    """Both depths in turn, the best of five each: the machine is shared."""
    from retgk import RetGK

    data, graphs = load_setting(folder, setting)
    best = {}
    for _ in range(5):
        for depth in (0, 3):
            seconds = best_time(lambda d=depth: RetGK(depth=d).fit(graphs), repetitions=1)
            best[depth] = min(best.get(depth, seconds), seconds)
    return {
        "what": "exact kernel",
        "set": data.name,
        "seconds": best[0],
        "depth_3_seconds": best[3],
        "ratio": best[3] / best[0],
    }


MEASURES = {"grakel": beside_grakel, "memory": memory, "gram": gram_costs}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--only", default="", help="part of a job, such as gram/NCI1")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        warnings.simplefilter("ignore")  # GraKeL's
        name, setting = options.one
        print(json.dumps(MEASURES[name](options.folder, setting)))
        return
    jobs = [("grakel", setting) for setting in BESIDE_GRAKEL]
    jobs += [("memory", LARGEST), *(("gram", setting) for setting in GRAM)]
    for name, setting in jobs:
        if options.only not in f"{name}/{setting}":
            continue
        command = [sys.executable, "-m", "benchmarks.bench_refinement", options.folder, "--one"]
        done = subprocess.run([*command, name, setting], check=True, stdout=subprocess.PIPE)
        record = json.loads(done.stdout)
        print(record, flush=True)
        add_record("refinement", record, "what", "set")


if __name__ == "__main__":
    main()
