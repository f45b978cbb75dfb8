"""The joint feature map against the paper's tensor, labels and attributes together.

    python -m benchmarks.bench_joint FOLDER [SET ...]

All with the authors' scales of frequencies but the last, which finds that of attributes itself;
the tensor with 100 x 100 features a label, the joint map with a fortieth of that. Accuracy over
repetitions, each with its own frequencies and folds.
"""

import argparse
import time

import numpy as np

from benchmarks.records import write_records
from benchmarks.settings import load_setting
from benchmarks.svm_accuracy import fold_accuracies
from retgk.kernels import ExponentialGraphKernel, Gaussian, RetGKEmbedding, embedding_gram

# The authors' scales g of the frequencies of return probabilities and attributes (Table 4).
SCALES = {
    "ENZYMES": (1, 0.1),
    "PROTEINS": (10, 1),
    "BZR": (10, 1),
    "COX2": (10, 0.1),
    "DHFR": (10, 0.1),
}
MAPS = {
    "tensor": {"feature_map": "tensor", "n_components": (100, 100), "frequencies": "plain"},
    "joint": {"feature_map": "joint", "n_components": 250, "frequencies": "plain"},
    "joint, orthogonal": {"feature_map": "joint", "n_components": 250},
    "joint, orthogonal, median": {
        "feature_map": "joint",
        "n_components": 250,
        "attributes": Gaussian("median"),
    },
}


def record_of_map(data, graphs, name, repetitions):
    structure, attribute = (Gaussian(gamma=g**2 / 2) for g in SCALES[data.name])
    options = {"structure": structure, "attributes": attribute} | MAPS[name]
    accuracies, seconds = [], []
    for seed in range(repetitions):
        embedding = RetGKEmbedding(sparse_output=True, random_state=seed, **options)
        start = time.perf_counter()
        vectors = embedding.fit_transform(graphs)
        seconds.append(time.perf_counter() - start)
        matrix = embedding_gram(vectors, kernel=ExponentialGraphKernel())
        accuracies.append(100 * fold_accuracies(matrix, data.targets, seed).mean())
    record = {
        "set": data.name,
        "map": name,
        "features": vectors.shape[1],
        "seconds": min(seconds),
        "accuracy": float(np.mean(accuracies)),
        "deviation": float(np.std(accuracies, ddof=1)),
    }
    print(
        f"{data.name:10} {name:25} {record['features']:7} features  {record['seconds']:7.3f} s  "
        f"{record['accuracy']:.2f} ({record['deviation']:.2f})",
        flush=True,
    )
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("sets", nargs="*", default=list(SCALES))
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    records = []
    for name in options.sets:
        data, graphs = load_setting(options.folder, f"{name}/both")
        records += [record_of_map(data, graphs, each, options.repetitions) for each in MAPS]
    write_records("joint", records)


if __name__ == "__main__":
    main()
