"""
Hashes of results on real sets, to show that a change of the code changes no bit of them.

    python -m benchmarks.fingerprints FOLDER -o before.json       # the old code
    python -m benchmarks.fingerprints FOLDER --against before.json  # the new code

Only public names are used, so that the same script runs on both. Hashes hold for one machine: other
processors and libraries round otherwise.
"""

import argparse
import hashlib
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import retgk

Makers = dict[str, Callable[[], Any]]


def digest(value: Any) -> str:
    """Hash of the bits of arrays, sparse arrays and plain values."""
    total = hashlib.sha256()
    for array in arrays_of(value):
        total.update(f"{array.dtype} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:20]


def arrays_of(value: Any) -> Iterator[np.ndarray]:
    if hasattr(value, "indptr"):
        yield from (value.data, value.indices.astype(np.int64), value.indptr.astype(np.int64))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from arrays_of(part)
    else:
        array = np.asarray(value)
        yield array.astype(str) if array.dtype == object else array


def walk_settings(load: Callable[[str], Any]) -> Makers:
    def walk(name: str, **options: Any) -> Callable[[], Any]:
        return lambda: retgk.return_probabilities(load(name).graphs, random_state=3, **options)

    return {
        **{f"walks {name}": walk(name) for name in ("MUTAG", "ENZYMES", "NCI1", "DD", "COLLAB")},
        "walks REDDIT-BINARY": walk("REDDIT-BINARY"),
        "walks MUTAG 7 steps": walk("MUTAG", n_steps=7),
        "walks IMDB-BINARY eigh": walk("IMDB-BINARY", method="eigh"),
        "walks ENZYMES monte-carlo": walk("ENZYMES", method="monte-carlo", n_walks=40),
        "walks DD monte-carlo-returns": walk("DD", method="monte-carlo-returns", n_walks=10),
        "walks PROTEINS self_loop": walk("PROTEINS", self_loop=0.3),
    }


def kernel_settings(load: Callable[[str], Any]) -> Makers:
    def kernel(name: str, keep: str, **options: Any) -> Callable[[], Any]:
        def make() -> Any:
            graphs = chosen(load(name).graphs, keep)
            fitted = retgk.RetGKKernel(random_state=1, **options)
            n = 3 * len(graphs) // 4
            rows = fitted.fit(graphs[:n]).transform(graphs[n:])
            parts = (fitted.inner_products_, rows, fitted.distances(graphs[n:]))
            return (*parts, fitted.diagonal(graphs[n:]), fitted.fit_transform(graphs))

        return make

    return {
        "kernel MUTAG": kernel("MUTAG", "all"),
        "kernel MUTAG tol=0": kernel("MUTAG", "all", tol=0.0),
        "kernel MUTAG monte-carlo": kernel("MUTAG", "all", method="monte-carlo", n_walks=20),
        "kernel PTC_MR tol=1e-2": kernel("PTC_MR", "all", tol=1e-2),
        "kernel ENZYMES": kernel("ENZYMES", "all"),
        "kernel ENZYMES attributes": kernel("ENZYMES", "attributes"),
        "kernel BZR": kernel("BZR", "all"),
        "kernel PROTEINS labels": kernel("PROTEINS", "labels"),
        "kernel IMDB-BINARY": kernel("IMDB-BINARY", "all"),
        "kernel SYNTHETICnew": kernel("SYNTHETICnew", "all"),
        "kernel COX2 Gaussian, Polynomial": kernel(
            "COX2",
            "all",
            structure_kernel=retgk.Gaussian("median"),
            attribute_kernel={"a": ([0, 1], retgk.Polynomial()), "b": ([2], retgk.Laplacian())},
            graph_kernel=retgk.PolynomialGraphKernel(c=1.0, d=2),
        ),
        "kernel NCI1": kernel("NCI1", "all"),
    }


def embedding_settings(load: Callable[[str], Any]) -> Makers:
    def embedding(name: str, keep: str = "all", **options: Any) -> Callable[[], Any]:
        def make() -> Any:
            graphs = chosen(load(name).graphs, keep)
            fitted = retgk.RetGKEmbedding(random_state=2, sparse_output=True, **options)
            vectors = fitted.fit(graphs[: len(graphs) // 2]).transform(graphs)
            kernel = retgk.ExponentialGraphKernel()
            gram = retgk.embedding_gram(vectors, kernel=kernel)
            return vectors, retgk.embedding_products(vectors), gram

        return make

    return {
        "embedding MUTAG": embedding("MUTAG"),
        "embedding ENZYMES": embedding("ENZYMES"),
        "embedding ENZYMES tensor": embedding("ENZYMES", feature_map="tensor", n_components=40),
        "embedding BZR float32": embedding("BZR", dtype=np.float32),
        "embedding IMDB-BINARY median": embedding(
            "IMDB-BINARY", structure_kernel=retgk.Laplacian("median")
        ),
        "embedding PROTEINS column": embedding("PROTEINS", unknown_labels="column"),
        "embedding MUTAG monte-carlo": embedding("MUTAG", method="monte-carlo", n_walks=20),
        "embedding NCI1": embedding("NCI1"),
    }


def model_settings(load: Callable[[str], Any]) -> Makers:
    def model(kind: Any, name: str, **options: Any) -> Callable[[], Any]:
        def make() -> Any:
            data = load(name)
            fitted = kind(random_state=0, **options).fit(data.graphs[::2], data.targets[::2])
            found = [fitted.predict(data.graphs[1::2]), fitted.dual_coef_, fitted.support_]
            found.append(fitted.cv_results_["mean_test_score"])
            if hasattr(fitted, "predict_proba"):
                found += [fitted.decision_function(data.graphs[1::2])]
                found += [fitted.predict_proba(data.graphs[1::2])]
            with tempfile.TemporaryDirectory() as folder:
                retgk.save_model(fitted, f"{folder}/m.retgk")
                again = retgk.load_model(f"{folder}/m.retgk")
                found.append(again.predict(data.graphs[1::2]))
            return found

        return make

    classifier, regressor = retgk.RetGKClassifier, retgk.RetGKRegressor
    kernels = (None, retgk.Gaussian("median"))
    return {
        "classifier MUTAG": model(classifier, "MUTAG"),
        "classifier MUTAG candidates": model(
            classifier, "MUTAG", n_steps=(50, 10, 30), structure_kernel=kernels
        ),
        "classifier MUTAG approximate": model(classifier, "MUTAG", approximate=True),
        "classifier MUTAG approximate candidates": model(
            classifier, "MUTAG", approximate=True, n_steps=(10, 30, 50), structure_kernel=kernels
        ),
        "classifier MUTAG approximate monte-carlo": model(
            classifier, "MUTAG", approximate=True, method="monte-carlo", n_steps=(10, 50)
        ),
        "classifier ENZYMES": model(classifier, "ENZYMES"),
        "classifier ENZYMES approximate": model(classifier, "ENZYMES", approximate=True),
        "classifier IMDB-MULTI balanced": model(classifier, "IMDB-MULTI", class_weight="balanced"),
        "classifier NCI1 twice, ridge": lambda: ridge_result(load),
        "regressor PTC_MR": model(regressor, "PTC_MR"),
        "regressor NCI1 landmarks": model(regressor, "NCI1"),
        "regressor MUTAG approximate": model(regressor, "MUTAG", approximate=True),
    }


def ridge_result(load: Callable[[str], Any]) -> Any:
    """More graphs than support vectors take: least squares on landmarks."""
    graphs = load("NCI1").graphs
    sizes = graphs.node_counts
    both = retgk.GraphBatch.concatenate([graphs, graphs[::-1]])
    targets = np.concatenate([sizes, sizes[::-1]]) > 28
    fitted = retgk.RetGKClassifier(random_state=0).fit(both, targets)
    return fitted.decision_function(graphs[:300]), fitted.dual_coef_


def everyday_settings(load: Callable[[str], Any]) -> Makers:
    def gram_file() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            kernel = retgk.RetGKKernel(random_state=5)
            graphs = load("PTC_FM").graphs
            found = retgk.write_mean_embedding_gram(f"{folder}/g.npy", graphs, kernel=kernel)
            return np.array(found)

    def everyday() -> Any:
        graphs = load("MUTAG").graphs
        pairs = [(graphs[i], graphs[i + 1]) for i in range(0, 40, 2)]
        near = retgk.most_similar(graphs[3], graphs, k=20)
        return [
            [retgk.similarity(g, h) for g, h in pairs],
            [retgk.distance(g, h) for g, h in pairs],
            near.indices,
            near.similarities,
            retgk.pairwise_distances(graphs[:60], graphs[60:]),
            retgk.pairwise_distances(graphs[:60]),
            retgk.mean_embedding_gram(graphs[:60], graphs[60:], random_state=0),
            retgk.squared_mmd(graphs[:60], graphs[60:], random_state=0),
        ]

    return {"gram file PTC_FM": gram_file, "everyday MUTAG": everyday}


def chosen(graphs: Any, keep: str) -> Any:
    if keep == "attributes":
        return graphs.without_labels()
    return graphs.without_attributes() if keep == "labels" else graphs


def fingerprints(folder: Path, only: str) -> Iterator[tuple[str, str]]:
    loaded: dict[str, Any] = {}

    def load(name: str) -> Any:
        if name not in loaded:
            loaded[name] = retgk.load_tudataset(name, data_home=folder, cache=False)
        return loaded[name]

    kinds = (walk_settings, kernel_settings, embedding_settings, model_settings, everyday_settings)
    for kind in kinds:
        for name, make in kind(load).items():
            if only in name:
                yield name, digest(make())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("folder", type=Path, help="folder of the sets")
    parser.add_argument("-o", "--output", type=Path, help="JSON file to write")
    parser.add_argument("--against", type=Path, help="JSON file to compare with")
    parser.add_argument("--only", default="", help="settings whose name has this in it")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(options.against.read_text()) if options.against else {}
    found, n_different = {}, 0
    for name, value in fingerprints(options.folder, options.only):
        found[name] = value
        verdict = "" if not known else "same" if known.get(name) == value else "DIFFERENT"
        n_different += verdict == "DIFFERENT"
        print(f"{value}  {name:45} {verdict}", flush=True)
    print(f"{len(found)} settings" + (f", {n_different} different" if known else ""))
    if options.output:
        options.output.write_text(json.dumps(found, indent=1) + "\n")
    if n_different:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
