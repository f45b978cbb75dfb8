"""
GraphClassifier as it comes where data are large: many graphs, classes, labels or rare actives.

    python -m benchmarks.bench_fit memory [--sizes 10000,100000,500000]
    python -m benchmarks.bench_fit classes [--sizes 10,100,1000]
    python -m benchmarks.bench_fit labels [--sizes 1000,10000,40000]
    python -m benchmarks.bench_fit landmarks --molecules FOLDER [--sizes 20000,100000]

memory: graphs of 20 nodes, 4 labels, 2 classes. classes: 4,000 graphs (ten for each class where
that is more), half of them to train, beside counts of labels with a linear machine. labels: 6,000
graphs of 10 classes whose labels follow Zipf's law, the most frequent ones alike in all classes,
half of them to train, beside the same. landmarks: molecules of MOSES with 3.5 % actives
(`rare-pair` of `benchmarks/molecule_sets.py`), as it comes and by landmarks, beside counts of
Morgan's circles with a forest; average precision on 5,000 others.

Every measurement has a process of its own; its peak is that of the whole process.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np

from benchmarks.records import add_record

SIZES = {
    "memory": "10000,100000,500000",
    "classes": "10,100,1000",
    "labels": "1000,10000,40000",
    "landmarks": "20000,100000",
}
LANDMARKS = (1_000, 3_000, 10_000, 0)  # 0: as it comes
N_TEST = 5_000
SEED = 0


def measure(part, size, which, folder):
    warnings.simplefilter("ignore")
    jobs = {"memory": memory, "classes": classes, "labels": labels, "landmarks": landmarks}
    arguments = (size, which, folder) if part == "landmarks" else (size,)
    return {"part": part, "size": size, "which": which, **jobs[part](*arguments)}


def peak():
    from retgk._runtime.processes import peak_megabytes

    return round(peak_megabytes())


def seconds():
    """Processor seconds of this process and of those that it started."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(who)[:2]) for who in whose)


def timed(work):
    """What some work gives, and its wall and processor seconds."""
    wall, processor = time.perf_counter(), seconds()
    given = work()
    times = {"seconds": time.perf_counter() - wall, "processor": seconds() - processor}
    return given, {name: round(value, 1) for name, value in times.items()}


def memory(n_graphs):
    from retgk import GraphClassifier
    from retgk.datasets import make_graph_classification

    data = make_graph_classification(n_graphs, n_labels=4, n_nodes=(10, 30), rng=SEED)
    before = peak()
    model = GraphClassifier(random_state=SEED)
    _, times = timed(lambda: model.fit(data.graphs, data.targets))
    sizes = {"n_graphs": n_graphs, "n_nodes": data.graphs.n_nodes, "graphs_megabytes": before}
    return {**sizes, "way": model.method_, **times, "peak_megabytes": peak()}


def classes(n_classes):
    from retgk.datasets import make_graph_classification

    n_graphs = max(4_000, 10 * n_classes)
    data = make_graph_classification(
        2 * n_graphs, n_classes, n_labels=100, n_nodes=(10, 30), rng=SEED
    )
    return beside_label_counts(data.graphs, data.targets)


def labels(n_labels):
    from retgk import GraphBatch

    n_graphs, n_classes = 6_000, 10
    rng = np.random.default_rng(SEED)
    targets = rng.permutation(np.arange(2 * n_graphs) % n_classes)
    sizes = rng.integers(20, 40, 2 * n_graphs)
    common = 1 / np.arange(1, n_labels + 1)
    preferred = common * rng.choice([1, 3], (n_classes, n_labels), p=(0.8, 0.2))
    preferred[:, : n_labels // 50] = common[: n_labels // 50]
    nodes, edges, start = [], [], 0
    for size, target in zip(sizes, targets, strict=True):
        drawn = preferred[target] / preferred[target].sum()
        nodes.append(rng.choice(n_labels, size, p=drawn))
        tree = np.stack([np.arange(1, size), rng.integers(0, np.arange(1, size))], axis=1)
        edges.append(start + tree)
        start += size
    graphs = GraphBatch.from_edges(
        sizes, np.concatenate(edges), labels=np.concatenate(nodes), symmetrize=True
    )
    return beside_label_counts(graphs, targets)


def beside_label_counts(graphs, targets):
    from scipy.sparse import csr_array
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    from retgk import GraphClassifier

    n_train = len(graphs) // 2
    train, test = slice(None, n_train), slice(n_train, None)
    model = GraphClassifier(random_state=SEED)
    _, times = timed(lambda: model.fit(graphs[train], targets[train]))
    score = model.score(graphs[test], targets[test])
    peak_megabytes = peak()
    rows = np.repeat(np.arange(len(graphs), dtype=np.int32), graphs.node_counts)
    places = rows, graphs.labels.astype(np.int32)  # scikit-learn takes no longer ones
    counts = csr_array((np.ones(len(rows)), places))
    machine = GridSearchCV(LinearSVC(random_state=SEED), {"C": [1e-3, 1e-2, 0.1, 1]}, cv=3)
    _, own = timed(lambda: machine.fit(counts[train], targets[train]))
    return {
        "n_graphs": n_train,
        "way": model.method_,
        "accuracy": round(score, 4),
        **times,
        "peak_megabytes": peak_megabytes,
        "counts_accuracy": round(machine.score(counts[test], targets[test]), 4),
        "counts_processor": own["processor"],
    }


def landmarks(n_train, which, folder):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import average_precision_score

    from benchmarks.molecule_sets import MOSES, made_set
    from retgk import GraphClassifier
    from retgk.io import from_smiles
    from retgk.kernels.others.fingerprints import folded_fragments

    data = made_set(folder / MOSES, n_train, N_TEST, "pair")
    train, test = data.targets[:n_train], data.targets[n_train:]
    if which == "forest":
        bits = folded_fragments(data.smiles, radius=2, n_columns=2048).toarray() > 0
        model = RandomForestClassifier(500, n_jobs=-1, random_state=SEED)
        _, times = timed(lambda: model.fit(bits[:n_train], train))
        return {
            "average_precision": round(
                average_precision_score(test, model.predict_proba(bits[n_train:])[:, 1]), 4
            ),
            **times,
        }
    graphs = from_smiles(data.smiles)
    own = {} if which == "0" else {"n_landmarks": int(which)}
    model = GraphClassifier(scoring="average_precision", random_state=SEED, **own)
    _, times = timed(lambda: model.fit(graphs[:n_train], train))
    decisions = model.decision_function(graphs[n_train:])
    return {
        "way": model.method_,
        "average_precision": round(average_precision_score(test, decisions), 4),
        **times,
        "peak_megabytes": peak(),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=SIZES)
    parser.add_argument("--sizes")
    parser.add_argument("--which", default=",".join([*map(str, LANDMARKS), "forest"]))
    parser.add_argument("--molecules", default=".", help="folder of molecules, for landmarks")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sizes = (arguments.sizes or SIZES[arguments.part]).split(",")
    if arguments.one:
        from pathlib import Path

        folder = Path(arguments.molecules)
        print(json.dumps(measure(arguments.part, int(sizes[0]), arguments.which, folder)))
        return
    kinds = arguments.which.split(",") if arguments.part == "landmarks" else [""]
    for size in sizes:
        for which in kinds:
            command = [sys.executable, "-m", "benchmarks.bench_fit", arguments.part, "--one"]
            command += ["--sizes", size, "--which", which, "--molecules", arguments.molecules]
            record = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            print(record, flush=True)
            add_record("fit", record, "part", "size", "which")


if __name__ == "__main__":
    main()
