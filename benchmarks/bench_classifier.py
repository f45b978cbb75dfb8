"""GraphClassifier with its defaults, all fitted inside the folds, beside the paper's RetGK_I.

    python -m benchmarks.bench_classifier FOLDER [SETTING ...] [--seeds N]

Ten stratified folds, shuffled anew for every seed; all that a set has, or without a part of it. One
record a set and seed, so that a stopped run goes on where it was. Seconds of a fit with selection
stand beside those of one fit of the kernel on the same graphs, both the best of three; CPU seconds
too, because the machine may be shared.
"""

import argparse
import time

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.records import FOLDER, add_record, read_records
from reproduction.tables import published_accuracies
from retgk import GraphClassifier, RetGK
from retgk.datasets import load_tudataset

# Shuffles of each setting, by what they cost; what is left out stands after the name of the set.
SETTINGS = {
    "MUTAG": 10, "MUTAG without edge labels": 10,
    "PTC_MR": 5, "PTC_MR without edge labels": 5,
    "PTC_FM": 5, "PTC_FM without edge labels": 5,
    "PTC_FR": 5, "PTC_FR without edge labels": 5,
    "PTC_MM": 5, "PTC_MM without edge labels": 5,
    "ENZYMES": 5, "ENZYMES without attributes": 5,
    "BZR": 5, "COX2": 5, "DHFR": 5, "SYNTHETICnew": 3, "Synthie": 3,
    "IMDB-BINARY": 3, "IMDB-MULTI": 3, "PROTEINS": 3, "PROTEINS without attributes": 3,
    "DD": 3, "NCI1": 3,
}  # fmt: skip


def load(folder, setting):
    """Data set and graphs: all that the set has, but for what the setting leaves out."""
    name, _, left_out = setting.partition(" without ")
    data = load_tudataset(name, data_home=folder, download=False)
    if not left_out:
        return data, data.graphs
    return data, getattr(data.graphs, f"without_{left_out.replace(' ', '_')}")()


def published(setting):
    """Accuracy of RetGK_I in the paper's table of the same data: attributes, labels, structure."""
    name, _, left_out = setting.partition(" without ")
    for table in (4, 3, 2, 1):
        found = published_accuracies(table).get((name, "RetGK_I"))
        if found is not None and not (left_out == "attributes" and table > 2):
            return found.accuracy
    return None


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
    kernel, kernel_cpu = seconds_of(lambda: RetGK(random_state=0).fit(graphs))
    fit, fit_cpu = seconds_of(lambda: GraphClassifier(random_state=0).fit(graphs, targets))
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
        model = GraphClassifier(random_state=seed).fit(graphs[train], targets[train])
        chosen = {name.rpartition("__")[2]: own for name, own in model.best_params_.items()}
        results.append(
            {
                "accuracy": 100 * model.score(graphs[test], targets[test]),
                "estimate": 100 * model.best_score_,
                **chosen,
            }
        )
    return results


def record_of(setting, graphs, targets, seed, with_costs):
    record = {"key": f"{setting}/{seed}", "set": setting, "seed": seed}
    record["published"] = published(setting)
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
    parser.add_argument("settings", nargs="*", default=list(SETTINGS))
    parser.add_argument("--seeds", type=int, help="shuffles; 10 to 3 by default, by size")
    options = parser.parse_args()
    for name in options.settings:
        data, graphs = load(options.folder, name)
        for seed in range(options.seeds or SETTINGS[name]):
            if f"{name}/{seed}" in known_keys():
                continue
            record = record_of(name, graphs, data.targets, seed, with_costs=seed == 0)
            add_record("classifier", record, "key")
            print(
                f"{name:28} seed {seed}: {record['accuracy']:.2f} ({record['published']})", end=" "
            )
            print({k: round(v, 2) for k, v in record.items() if "seconds" in k or "ratio" in k})


if __name__ == "__main__":
    main()
