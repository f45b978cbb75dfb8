"""RetGKClassifier with its defaults, all fitted inside the folds, beside the paper's RetGK_I.

    python -m benchmarks.bench_classifier FOLDER [SET ...] [--seeds N]

Ten stratified folds, shuffled anew for every seed; labels and attributes where a set has them. One
record a set and seed, so that a stopped run goes on where it was. Seconds of a fit with selection
stand beside those of one fit of the kernel on the same graphs, both the best of three; CPU seconds
too, because the machine may be shared.
"""

import argparse
import time

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.records import FOLDER, add_record, read_records
from retgk import RetGKClassifier, RetGKKernel, load_tudataset

# Accuracy of RetGK_I: Tables 1, 2 and 4 of the paper.
PUBLISHED = {
    "MUTAG": 90.3,
    "ENZYMES": 72.2,
    "BZR": 86.4,
    "IMDB-BINARY": 71.9,
    "PROTEINS": 78.0,
    "NCI1": 84.5,
}
SEEDS = {"MUTAG": 10, "ENZYMES": 5, "BZR": 5, "IMDB-BINARY": 3, "PROTEINS": 2, "NCI1": 1}


def seconds_of(function, repetitions=3):
    """Shortest wall-clock and CPU seconds of several runs, each for itself."""
    times = []
    for _ in range(repetitions):
        wall, cpu = time.perf_counter(), time.process_time()
        function()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return [min(values) for values in zip(*times, strict=True)]


def costs(graphs, targets):
    """Seconds of choosing parameters beside seconds of one kernel matrix."""
    kernel, kernel_cpu = seconds_of(lambda: RetGKKernel(random_state=0).fit(graphs))
    fit, fit_cpu = seconds_of(lambda: RetGKClassifier(random_state=0).fit(graphs, targets))
    return {
        "kernel_seconds": kernel,
        "fit_seconds": fit,
        "kernel_cpu_seconds": kernel_cpu,
        "fit_cpu_seconds": fit_cpu,
        "selection_ratio": (fit - kernel) / kernel,
        "selection_cpu_ratio": (fit_cpu - kernel_cpu) / kernel_cpu,
    }


def fold_results(graphs, targets, seed):
    """Accuracy, chosen parameters and own estimate of every fold."""
    folds = StratifiedKFold(10, shuffle=True, random_state=seed).split(targets, targets)
    results = []
    for train, test in folds:
        model = RetGKClassifier(random_state=seed).fit(graphs[train], targets[train])
        chosen = {name: model.best_params_[name] for name in ("C", "p", "scale")}
        results.append(
            {
                "accuracy": 100 * model.score(graphs[test], targets[test]),
                "estimate": 100 * model.best_score_,
                **chosen,
            }
        )
    return results


def record_of(name, data, seed, with_costs):
    graphs, targets = data.graphs, data.targets
    record = {"key": f"{name}/{seed}", "set": name, "seed": seed, "published": PUBLISHED[name]}
    if with_costs:
        train = next(StratifiedKFold(10, shuffle=True, random_state=0).split(targets, targets))[0]
        record |= costs(graphs[train], targets[train])
    record["folds"] = fold_results(graphs, targets, seed)
    record["accuracy"] = float(np.mean([fold["accuracy"] for fold in record["folds"]]))
    return record


def known_keys():
    is_there = (FOLDER / "classifier.jsonl").exists()
    return {record["key"] for record in read_records("classifier")} if is_there else set()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("sets", nargs="*", default=list(PUBLISHED))
    parser.add_argument("--seeds", type=int, help="shuffles; 10 to 1 by default, by size")
    options = parser.parse_args()
    for name in options.sets:
        data = load_tudataset(name, data_home=options.folder, download=False)
        for seed in range(options.seeds or SEEDS[name]):
            if f"{name}/{seed}" in known_keys():
                continue
            record = record_of(name, data, seed, with_costs=seed == 0)
            add_record("classifier", record, "key")
            print(
                f"{name:12} seed {seed}: {record['accuracy']:.2f} ({record['published']})", end=" "
            )
            print({k: round(v, 2) for k, v in record.items() if "seconds" in k or "ratio" in k})


if __name__ == "__main__":
    main()
