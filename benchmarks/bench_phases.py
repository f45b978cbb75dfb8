"""Vectors of a fixed width against one block of columns a label: accuracy, width and time.

    python -m benchmarks.bench_phases FOLDER [SETTING ...]

Structure and, where a set has them, labels; three repetitions, each with its own frequencies and
folds. One record a set, map and width, so that a stopped run goes on where it was.
"""

import argparse
import time

import numpy as np

from benchmarks.records import FOLDER, add_record, read_records
from benchmarks.settings import load_setting
from benchmarks.svm_accuracy import fold_accuracies
from retgk.kernels import ExponentialGraphKernel, RetGKEmbedding, embedding_gram

SETTINGS = ["ENZYMES/labels", "PTC_MR/labels", "IMDB-BINARY", "DD/labels", "NCI1/labels"]
MAPS = [("joint", 200), ("phases", 512), ("phases", 1024), ("phases", 2048), ("phases", 8192)]
REPETITIONS = 3


def record_of(data, graphs, feature_map, n_components):
    accuracies, seconds = [], []
    for seed in range(REPETITIONS):
        embedding = RetGKEmbedding(
            feature_map=feature_map,
            n_components=n_components,
            sparse_output=feature_map == "joint",
            random_state=seed,
        )
        start = time.perf_counter()
        vectors = embedding.fit_transform(graphs)
        matrix = embedding_gram(vectors, kernel=ExponentialGraphKernel())
        seconds.append(time.perf_counter() - start)
        accuracies.append(100 * fold_accuracies(matrix, data.targets, seed).mean())
    return {
        "set": data.name,
        "map": feature_map,
        "n_components": n_components,
        "columns": vectors.shape[1],
        "seconds": min(seconds),
        "accuracy": float(np.mean(accuracies)),
        "deviation": float(np.std(accuracies, ddof=1)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("settings", nargs="*", default=SETTINGS)
    options = parser.parse_args()
    is_there = (FOLDER / "phases.jsonl").exists()
    known = (
        {(r["set"], r["map"], r["n_components"]) for r in read_records("phases")}
        if is_there
        else set()
    )
    for setting in options.settings:
        data, graphs = load_setting(options.folder, setting)
        for feature_map, width in MAPS:
            if (data.name, feature_map, width) in known:
                continue
            record = record_of(data, graphs, feature_map, width)
            add_record("phases", record, "set", "map", "n_components")
            print(
                f"{data.name:12} {feature_map:6} {width:5} {record['columns']:6} columns  "
                f"{record['seconds']:7.3f} s  {record['accuracy']:.1f} ({record['deviation']:.1f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
