"""From graphs in memory to a kernel matrix: RetGK_II, as published and ours, and GraKeL's kernels.

    python -m benchmarks.bench_retgk2 FOLDER [SETTING ...]

Every method runs in a process of its own, one after the other, on all cores where it can use
them, and its matrix goes through the same SVM on the same folds. All see the structure and,
where a set has them, the labels; GraKeL gets node degrees for labels where it has none.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.records import read_records, write_records
from benchmarks.retgk2_worker import METHODS
from benchmarks.settings import load_setting
from benchmarks.svm_accuracy import fold_accuracies

SETTINGS = [
    "MUTAG/labels", "ENZYMES/labels", "PROTEINS/labels", "NCI1/labels", "DD/labels", "IMDB-BINARY",
    "IMDB-MULTI", "REDDIT-BINARY",
]  # fmt: skip
LIMIT = 120
REPETITIONS = 5


def run_worker(method, folder, setting, output):
    """What the worker reports, or None if it takes too long or lacks its package."""
    command = [sys.executable, "-m", "benchmarks.retgk2_worker", method, folder, setting, output]
    try:
        done = subprocess.run(
            [*command, str(REPETITIONS)],
            check=False,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            cwd=Path(__file__).parent.parent,
        )
    except subprocess.TimeoutExpired:
        return None
    if "ModuleNotFoundError" in done.stderr:
        return None
    done.check_returncode()
    return json.loads(done.stdout.splitlines()[-1])


def record_of(method, folder, setting, with_accuracy):
    data, graphs = load_setting(folder, setting)
    record = {"set": data.name, "graphs": len(graphs), "nodes": graphs.n_nodes, "method": method}
    with tempfile.TemporaryDirectory() as temporary:
        output = f"{temporary}/matrix.npy"
        measured = run_worker(method, folder, setting, output)
        if measured is None:
            print(f"{setting:16} {method:22} not in {LIMIT} s, or not installed", flush=True)
            return {**record, "seconds": None}
        record |= measured
        if with_accuracy and "n_jobs" not in method:  # the same matrix again
            folds = 100 * fold_accuracies(np.load(output), data.targets)
            record |= {"accuracy": folds.mean(), "deviation": folds.std(ddof=1)}
    print(
        f"{setting:16} {method:22} {record['seconds']:8.3f} s  {record['cpu_seconds']:8.3f} s CPU  "
        f"{record['peak_mb']:6.0f} MB  "
        + (f"{record['accuracy']:.1f} %" if "accuracy" in record else ""),
        flush=True,
    )
    return record


def print_ratios(records):
    """Our time against the best of GraKeL's Weisfeiler-Lehman, and against the published method."""
    seconds = {(r["set"], r["method"]): r["seconds"] for r in records if r["seconds"]}
    ratios = {"GraKeL WL": [], "published": []}
    for name in dict.fromkeys(record["set"] for record in records):
        ours = seconds[name, "retgk"]
        for rival, found in ratios.items():
            times = [t for (s, m), t in seconds.items() if s == name and m.startswith(rival)]
            if times:
                found.append(min(times) / ours)
                print(f"{name:16} {rival:10} / retgk = {found[-1]:6.1f}")
    for rival, found in ratios.items():
        if found:
            mean = np.exp(np.mean(np.log(found)))
            print(f"{rival}: geometric mean {mean:.1f}, least {min(found):.1f}")


def ordered_records(records):
    """Records by set and method, as they are listed above."""
    names = [setting.partition("/")[0] for setting in SETTINGS]
    pairs = [(name, method) for name in names for method in METHODS]
    return [records[pair] for pair in pairs if pair in records]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("settings", nargs="*", default=SETTINGS)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--no-accuracy", action="store_true")
    options = parser.parse_args()
    records = {(r["set"], r["method"]): r for r in read_records("retgk2")}
    for setting in options.settings:
        for method in options.methods:
            record = record_of(method, options.folder, setting, not options.no_accuracy)
            records[record["set"], method] = record
        write_records("retgk2", ordered_records(records))  # stays if a later set is interrupted
    print_ratios(ordered_records(records))


if __name__ == "__main__":
    main()
