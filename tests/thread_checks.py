"""Threads that share a fitted model get the same bits; `make test-sanitized` looks for races.

python -m tests.thread_checks [THREADS]
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from retgk import GraphClassifier, RetGK, return_probabilities
from retgk.datasets import make_graph_classification
from retgk.kernels import (
    Graphlets,
    RetGKEmbedding,
    ShortestPath,
    SubgraphMatching,
    WeisfeilerLehman,
    refined_labels,
)


def answers_of_models():
    """What to call, by name: fitted models with graphs that are new to them."""
    data = make_graph_classification(40, n_labels=3, n_attributes=2, rng=0)
    graphs, new = data.graphs[:30], data.graphs[30:]
    model = GraphClassifier(random_state=0, n_jobs=2).fit(graphs, data.targets[:30])
    kernels = [
        RetGK(random_state=0, n_jobs=2),
        RetGKEmbedding(random_state=0, n_components=64, n_jobs=2),
        WeisfeilerLehman(n_jobs=2),
        ShortestPath(n_jobs=2),
        Graphlets(3, n_jobs=2),
        SubgraphMatching(3, n_jobs=2),
    ]
    for kernel in kernels:
        kernel.fit(graphs)
    walk = {"method": "monte-carlo", "n_walks": 10, "rng": 0, "n_jobs": 2}
    return {
        "classifier": lambda: model.decision_function(new),
        "explanation": lambda: model.explain(new).shares,
        **{type(k).__name__: lambda k=k: k.transform(new) for k in kernels},
        "probabilities": lambda: return_probabilities(new, n_jobs=2),
        "walks": lambda: return_probabilities(new, **walk),
        "labels": lambda: refined_labels(new, n_jobs=2),
    }


def names_of_other_bits(n_threads):
    """Names of those answers that differ between threads which ask at the same time."""
    others = []
    for name, answer in answers_of_models().items():
        expected = np.asarray(answer())
        with ThreadPoolExecutor(n_threads) as pool:
            found = list(pool.map(lambda _, answer=answer: answer(), range(n_threads)))
        if not all(np.array_equal(expected, array) for array in found):
            others.append(name)
    return others


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    wrong = names_of_other_bits(n)
    print(f"{n} threads, other bits: {wrong or 'none'}")
    sys.exit(bool(wrong))
