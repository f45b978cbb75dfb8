"""Small runs that make every compiled function compile: ``python -m retgk.cli.compiled PART``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path

from retgk.graphs.batch import GraphBatch
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.parallel import single_threaded_blas

__all__ = ["COMPILING"]


@cache
def _data(n_labels: int, n_attributes: int) -> GraphDataset:
    from retgk.io.datasets.generators import make_graph_classification

    return make_graph_classification(
        12, n_labels=n_labels, n_attributes=n_attributes, random_state=0
    )


def _kinds() -> list[GraphBatch]:
    """Graphs of the paper's four cases, and weighted ones."""
    kinds = [_data(*counts).graphs for counts in product((0, 3), (0, 2))]
    plain = kinds[0]
    return [*kinds, GraphBatch(plain.node_ptr, plain.indptr, plain.indices, 2 * plain.weights)]


def _reading() -> None:
    from retgk.io.datasets.tudataset import load_tudataset, save_tudataset

    with tempfile.TemporaryDirectory() as folder:
        save_tudataset(_data(3, 2), folder)
        load_tudataset(_data(3, 2).name, Path(folder), cache=False)


def _probabilities() -> None:
    from retgk.walks.return_probabilities import return_probabilities

    for graphs in _kinds():
        return_probabilities(graphs, 20)
        return_probabilities(graphs, 20, nodes=3, random_state=0)


def _walks() -> None:
    from retgk.walks.return_probabilities import return_probabilities

    graphs = _kinds()
    for batch in (graphs[0], graphs[-1]):
        for errors in (False, True):
            for method in ("monte-carlo", "monte-carlo-returns"):
                return_probabilities(
                    batch,
                    6,
                    method=method,
                    n_walks=8,
                    return_standard_error=errors,
                    random_state=0,
                )


def _kernel() -> None:
    """Return probabilities by NumPy: the compiled ones are another part."""
    from retgk.estimators.classifier import RetGKClassifier
    from retgk.estimators.kernel import RetGKKernel
    from retgk.kernels.node_kernels import Gaussian, Laplacian, NodeKernel

    kernels: tuple[NodeKernel, ...] = (Laplacian("median"), Gaussian("median"))
    choices = product(_kinds(), (1e-4, 0.0, 0.1), kernels)
    with single_threaded_blas():
        for graphs, tol, kernel in choices:
            model = RetGKKernel(5, method="eigh", structure_kernel=kernel, tol=tol, random_state=0)
            model.fit(graphs).transform(graphs)
        data = _data(3, 2)
        RetGKClassifier(method="eigh", n_steps=5, random_state=0).fit(data).predict(data)


def _embedding() -> None:
    from retgk.engine.embedded.embedded_engine import FeatureMap
    from retgk.engine.embedded.embedding_gram import embedding_gram
    from retgk.estimators.embedding import RetGKEmbedding
    from retgk.kernels.graph_kernels import ExponentialGraphKernel

    maps: tuple[FeatureMap, ...] = ("joint", "tensor")
    choices = product(_kinds(), ("float64", "float32"), maps)
    with single_threaded_blas():
        for graphs, dtype, feature_map in choices:
            model = RetGKEmbedding(
                10,
                method="eigh",
                n_components=8,
                feature_map=feature_map,
                dtype=dtype,
                sparse_output=True,
                random_state=0,
            )
            embedding_gram(model.fit_transform(graphs), kernel=ExponentialGraphKernel())


COMPILING: dict[str, Callable[[], None]] = {
    "kernel": _kernel,
    "embedding": _embedding,
    "walks": _walks,
    "probabilities": _probabilities,
    "reading": _reading,
}
"""What is compiled, by the names that `retgk warmup` has for it."""


if __name__ == "__main__":
    COMPILING[sys.argv[1]]()
