"""
Results of two versions on real sets, side by side: are they the same to the bit?

    python -m benchmarks.fingerprints FOLDER --old OLD/.venv/bin/python [--new NEW/.venv/bin/python]

Only public names are used, so that this script runs on both. Nothing is stored: other
processors and libraries round otherwise.
"""

import argparse
import os
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import retgk
from benchmarks.interpreters import Version, answer_lines

Makers = dict[str, Callable[[], Any]]
MEASURED = re.compile(r'"\w*(?:seconds|megabytes|memory)\w*": [^,}\]]*')  # in JSON
MONTE_CARLO = retgk.Walks(method="monte-carlo", n_walks=20)
SIX_SETS = ("MUTAG", "PTC_MR", "ENZYMES", "BZR", "IMDB-BINARY", "PROTEINS")


def arrays_of(value: Any) -> Iterator[np.ndarray]:
    """The arrays, sparse arrays and plain values in a result."""
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
        return lambda: retgk.return_probabilities(load(name).graphs, rng=3, **options)

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
            fitted = retgk.RetGK(random_state=1, **options)
            n = 3 * len(graphs) // 4
            rows = fitted.fit(graphs[:n]).transform(graphs[n:])
            parts = (fitted.inner_products_, rows, fitted.distances(graphs[n:]))
            return (*parts, fitted.diagonal(graphs[n:]), fitted.fit_transform(graphs))

        return make

    return {
        "kernel MUTAG": kernel("MUTAG", "all"),
        "kernel MUTAG tol=0": kernel("MUTAG", "all", tol=0.0),
        "kernel MUTAG monte-carlo": kernel("MUTAG", "all", walks=MONTE_CARLO),
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
            structure=retgk.kernels.Gaussian("median"),
            attributes={
                "a": ([0, 1], retgk.kernels.Polynomial()),
                "b": ([2], retgk.kernels.Laplacian()),
            },
            graph_kernel=retgk.kernels.PolynomialGraphKernel(c=1.0, d=2),
        ),
        "kernel NCI1": kernel("NCI1", "all"),
    }


def embedding_settings(load: Callable[[str], Any]) -> Makers:
    def embedding(name: str, keep: str = "all", **options: Any) -> Callable[[], Any]:
        def make() -> Any:
            graphs = chosen(load(name).graphs, keep)
            fitted = retgk.kernels.RetGKEmbedding(random_state=2, sparse_output=True, **options)
            vectors = fitted.fit(graphs[: len(graphs) // 2]).transform(graphs)
            kernel = retgk.kernels.ExponentialGraphKernel()
            gram = retgk.kernels.embedding_gram(vectors, kernel=kernel)
            return vectors, retgk.kernels.embedding_gram(vectors), gram

        return make

    return {
        "embedding MUTAG": embedding("MUTAG"),
        "embedding ENZYMES": embedding("ENZYMES"),
        "embedding ENZYMES tensor": embedding("ENZYMES", feature_map="tensor", n_components=40),
        "embedding BZR float32": embedding("BZR", dtype=np.float32),
        "embedding IMDB-BINARY median": embedding(
            "IMDB-BINARY", structure=retgk.kernels.Laplacian("median")
        ),
        "embedding PROTEINS column": embedding(
            "PROTEINS", feature_map="joint", unknown_labels="column"
        ),
        "embedding MUTAG monte-carlo": embedding("MUTAG", walks=MONTE_CARLO),
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

    classifier, regressor = retgk.GraphClassifier, retgk.GraphRegressor
    kernels = (None, retgk.kernels.Gaussian("median"))
    usual = dict(retgk.RetGK.usual_candidates)
    random = {"kernel": retgk.RetGK(n_components=1024)}
    drawn = retgk.RetGK(n_components=1024, walks=retgk.Walks(method="monte-carlo"))

    def steps(*values: int) -> dict[str, Any]:
        return {"walks__n_steps": values, "structure": kernels, **usual}

    return {
        "classifier MUTAG": model(classifier, "MUTAG"),
        "classifier MUTAG candidates": model(classifier, "MUTAG", candidates=steps(50, 10, 30)),
        "classifier MUTAG random features": model(classifier, "MUTAG", **random),
        "classifier MUTAG random features, candidates": model(
            classifier, "MUTAG", **random, candidates={**steps(10, 30, 50), "depth": (0, 2)}
        ),
        "classifier MUTAG random features, monte-carlo": model(
            classifier, "MUTAG", kernel=drawn, candidates={**usual, "walks__n_steps": (10, 50)}
        ),
        "classifier MUTAG sum": model(
            classifier, "MUTAG", kernel=retgk.RetGK() + retgk.kernels.WeisfeilerLehman()
        ),
        "classifier ENZYMES": model(classifier, "ENZYMES"),
        "classifier ENZYMES random features": model(classifier, "ENZYMES", **random),
        "classifier IMDB-MULTI balanced": model(classifier, "IMDB-MULTI", class_weight="balanced"),
        "classifier NCI1 twice, ridge": lambda: ridge_result(load),
        "regressor PTC_MR": model(regressor, "PTC_MR"),
        "regressor NCI1 landmarks": model(regressor, "NCI1"),
        "regressor MUTAG random features": model(regressor, "MUTAG", **random),
    }


def ridge_result(load: Callable[[str], Any]) -> Any:
    """More graphs than support vectors take: least squares on landmarks."""
    graphs = load("NCI1").graphs
    sizes = graphs.node_counts
    both = retgk.GraphBatch.concatenate([graphs, graphs[::-1]])
    targets = np.concatenate([sizes, sizes[::-1]]) > 28
    fitted = retgk.GraphClassifier(random_state=0).fit(both, targets)
    return fitted.decision_function(graphs[:300]), fitted.dual_coef_


def everyday_settings(load: Callable[[str], Any]) -> Makers:
    def gram_file() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            kernel = retgk.RetGK(random_state=5)
            graphs = load("PTC_FM").graphs
            found = retgk.kernels.write_mean_embedding_gram(
                f"{folder}/g.npy", graphs, kernel=kernel
            )
            return np.array(found)

    def everyday() -> Any:
        graphs = load("MUTAG").graphs
        pairs = [(graphs[i], graphs[i + 1]) for i in range(0, 40, 2)]
        means = retgk.RetGK(graph_kernel=retgk.kernels.PolynomialGraphKernel(), random_state=0)
        means.fit(graphs[60:])
        near = retgk.most_similar(graphs[3], graphs, k=20)
        return [
            [retgk.similarity(g, h) for g, h in pairs],
            [retgk.distance(g, h) for g, h in pairs],
            near.indices,
            near.similarities,
            retgk.search.distances(graphs[:60], graphs[60:]),
            retgk.search.distances(graphs[:60]),
            means.transform(graphs[:60]),
            means.distances(graphs[:60]),
        ]

    return {"gram file PTC_FM": gram_file, "everyday MUTAG": everyday}


def six_set_settings(load: Callable[[str], Any]) -> Makers:
    """Every kind of result on six sets, with one thread and with two."""

    def everything(name: str, n_jobs: int) -> Callable[[], Any]:
        def make() -> Any:
            data = load(name)
            graphs, y = data.graphs[::3], data.targets[::3]
            new = data.graphs[1::9]
            embedding = retgk.kernels.RetGKEmbedding(
                random_state=0, n_components=128, n_jobs=n_jobs
            )
            vectors = embedding.fit_transform(graphs)
            model = retgk.GraphClassifier(random_state=0, n_jobs=n_jobs).fit(graphs, y)
            reasons = model.explain(new[:10])
            options = {"n_permutations": 199, "rng": 0, "n_jobs": n_jobs}
            two = retgk.two_sample_test(graphs[y == y[0]], graphs[y != y[0]], **options)
            along = retgk.stats.association_test(graphs, graphs.node_counts, **options)
            index = retgk.GraphIndex(embedding).fit(graphs)
            found = index.query(new, k=5)
            kernels = [
                retgk.kernels.WeisfeilerLehman(n_jobs=n_jobs),
                retgk.kernels.ShortestPath(n_jobs=n_jobs),
                retgk.kernels.Graphlets(3, n_jobs=n_jobs),
            ]
            return [
                retgk.RetGK(random_state=0, n_jobs=n_jobs).fit_transform(graphs),
                retgk.kernels.refined_labels(graphs, 3),
                vectors,
                [model.decision_function(new), model.predict(new), str(model.best_params_)],
                [reasons.shares, reasons.decisions],
                [two.statistic, two.p_value, along.statistic, along.p_value],
                [found.ids, found.distances],
                [kernel.fit_transform(graphs) for kernel in kernels],
            ]

        return make

    return {
        f"everything {name}, {n_jobs} thread{'s' * (n_jobs > 1)}": everything(name, n_jobs)
        for name in SIX_SETS
        for n_jobs in (1, 2)
    }


def command_settings(folder: Path) -> Makers:
    """What commands print for machines, and the public names."""

    def command(*words: str) -> Callable[[], Any]:
        def make() -> Any:
            with tempfile.TemporaryDirectory() as here:
                environment = {**os.environ, "RETGK_DATA_HOME": str(folder)}
                run = [sys.executable, "-m", "retgk"]
                outputs = []
                for line in words:
                    done = subprocess.run(
                        [*run, *line.split()],
                        cwd=here,
                        env=environment,
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    if done.returncode:
                        raise RuntimeError(f"{line}: {done.stderr}")
                    outputs.append(MEASURED.sub("", done.stdout))
                return outputs

        return make

    model = "fit MUTAG --seed 0 -o m.retgk"
    return {
        "command info": command("info ENZYMES --json"),
        "command features": command("features MUTAG -o - --quiet"),
        "command embed": command("embed MUTAG --seed 0 -o v.npy --json"),
        "command kernel": command("kernel MUTAG --seed 0 -o k.npy --json"),
        "command cv": command("cv MUTAG --seed 0 --json"),
        "command compare": command("compare MUTAG --methods wl,size --folds 3 --seed 0 --json"),
        "command predict": command(model, "predict m.retgk MUTAG -o -"),
        "command explain": command(model, "explain m.retgk MUTAG --json"),
        "command similar": command("similar MUTAG --index 3 --json"),
        "command test": command("test MUTAG --seed 0 --json"),
        "command index": command(
            "index build MUTAG -o i --seed 0 --json", "index query i MUTAG -o -"
        ),
        "command datasets": command("datasets list --json"),
        "public names": lambda: sorted(retgk.__all__),
    }


def chosen(graphs: Any, keep: str) -> Any:
    if keep == "attributes":
        return graphs.without_labels()
    return graphs.without_attributes() if keep == "labels" else graphs


def settings(folder: Path) -> Makers:
    loaded: dict[str, Any] = {}

    def load(name: str) -> Any:
        if name not in loaded:
            loaded[name] = retgk.datasets.load_tudataset(name, data_home=folder, cache=False)
        return loaded[name]

    kinds = (
        walk_settings,
        kernel_settings,
        embedding_settings,
        model_settings,
        everyday_settings,
        six_set_settings,
    )
    makers = {name: make for kind in kinds for name, make in kind(load).items()}
    return makers | command_settings(folder)


def work(folder: Path) -> None:
    """Compute the settings that are asked for; answer with a file of their arrays."""
    warnings.simplefilter("ignore")
    makers = settings(folder)

    def answer(name: str | None) -> Any:
        if name is None:
            return list(makers)
        try:
            value: Any = list(arrays_of(makers[name]()))
        except Exception as error:
            value = f"{type(error).__name__}: {error}"
        with tempfile.NamedTemporaryFile(delete=False) as file:
            pickle.dump(value, file, protocol=5)  # read by the process that started this one
        return file.name

    answer_lines(answer)


def result_of(version: Version) -> Any:
    path = Path(version.answer())
    with path.open("rb") as file:
        value = pickle.load(file)
    path.unlink()
    return value


def difference(old: Any, new: Any) -> str:
    """What two results differ in: nothing, bits of floats, or more than that."""
    if isinstance(old, str) or isinstance(new, str):
        return "same error" if old == new else f"OTHER ERROR: {old!s:.80} | {new!s:.80}"
    if len(old) != len(new):
        return f"OTHER LENGTH: {len(old)} and {len(new)} arrays"
    largest = relative = 0.0
    n_other = 0
    for a, b in zip(old, new, strict=True):
        if a.dtype.kind != b.dtype.kind or a.shape != b.shape:
            return f"OTHER SHAPE: {a.dtype} {a.shape} and {b.dtype} {b.shape}"
        if a.dtype.kind == "f":
            gap = np.abs(np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, a - b)).max(
                initial=0
            )
            largest = max(largest, gap)
            relative = max(relative, gap / max(np.abs(a).max(initial=0), 1e-300))
        else:
            n_other += int((a != b).sum())
    if n_other:
        return f"{n_other} OTHER VALUES that are no floats; floats differ by {largest:.1e}"
    return f"differs by {largest:.1e}, {relative:.1e} of the largest" if largest else "same"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("folder", type=Path, help="folder of the sets")
    parser.add_argument("--old", type=Path, help="interpreter of the old version")
    parser.add_argument("--new", type=Path, default=sys.executable, help="of the new one")
    parser.add_argument("--only", default="", help="settings whose name has this in it")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.work:
        return work(folder)
    program = "benchmarks.fingerprints"
    versions = [Version(path, program, folder) for path in (options.old, options.new)]
    names = [name for name in versions[1].ask(None) if options.only in name]
    n_different = 0
    for name in names:
        for version in versions:
            version.start(name)
        verdict = difference(*map(result_of, versions))
        n_different += verdict not in ("same", "same error")
        print(f"{name:45} {verdict}", flush=True)
    print(f"{len(names)} settings, {n_different} different")
    return None


if __name__ == "__main__":
    main()
