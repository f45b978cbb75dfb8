"""Kernel matrices of a test, one for each bandwidth and depth, from one computation of walks."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from retgk.array_types import Floats
from retgk.engine.embedded.embedded_engine import EmbeddedEngine
from retgk.engine.exact.exact_engine import ExactEngine
from retgk.engine.label_levels import check_depth
from retgk.engine.node_features import NodeFeatures
from retgk.errors import InvalidInputError, Remedy
from retgk.estimators.embedding import RetGKEmbedding
from retgk.estimators.engines_of_parameters import (
    embedding_engine,
    kernel_engine,
    kernel_features,
)
from retgk.estimators.kernel import RetGKKernel
from retgk.graphs.batch import GraphBatch
from retgk.io.converters.dispatch import CONVERT_FIRST
from retgk.io.converters.misplaced_keywords import check_keywords
from retgk.kernels.graph_kernels import (
    ExponentialGraphKernel,
    PolynomialGraphKernel,
    fit_graph_kernel,
    squared_mmd_within,
)
from retgk.kernels.medians import ALIKE
from retgk.kernels.node_kernels import Laplacian, median_distance
from retgk.runtime.memory import check_room
from retgk.runtime.progress import progress_bar

__all__ = ["Compare", "EngineChoice", "GraphKernelMatrix", "KernelFamily", "kernel_matrices"]

Compare = Literal["both", "graphs", "nodes"]
EngineChoice = Literal["auto", "exact", "embedded"]

_MEDIAN_NODES = 1000
_EXACT_NODES = 100_000  # above, all pairs of nodes take minutes for each bandwidth
_N_COMPONENTS = 500


@dataclass(frozen=True)
class KernelFamily:
    """
    Which kernels a test combines.

    Attributes
    ----------
    compare : {"both", "graphs", "nodes"}
        K_2 of mean embeddings, their inner products, or both kernels.
    bandwidths : tuple of float
        Of the kernel of return probabilities, in median distances of nodes.
    depths : tuple of int
        Rounds by which labels are refined.
    engine : {"auto", "exact", "embedded"}
        How inner products are found.
    options : dict
        Parameters of `RetGKKernel` for nodes.
    """

    compare: Compare = "both"
    bandwidths: tuple[float, ...] = (1.0,)
    depths: tuple[int, ...] = (0,)
    engine: EngineChoice = "auto"
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def checked(
        cls, compare: Any, bandwidths: Any, depths: Any, engine: Any, options: dict[str, Any]
    ) -> "KernelFamily":
        """Make a family of what a user gives; anything that is no such family is an error."""
        _check_choice("compare", compare, get_args(Compare))
        _check_choice("engine", engine, get_args(EngineChoice))
        check_keywords(options, _node_parameters(), "a test of populations", CONVERT_FIRST)
        widths = _listed("bandwidths", bandwidths)
        if not all(_is_number(width) and 0 < width < np.inf for width in widths):
            raise InvalidInputError(
                f"bandwidths must be positive numbers, in median distances, got {bandwidths!r}"
            )
        rounds = _listed("depths", depths)
        for depth in rounds:
            check_depth(depth, None)
        given = dict.fromkeys(int(depth) for depth in rounds)
        return cls(compare, tuple(map(float, widths)), tuple(given), engine, options)

    @property
    def compared(self) -> list[str]:
        """Give "graphs", "nodes" or both: what is compared in turn."""
        return ["graphs", "nodes"] if self.compare == "both" else [self.compare]

    @property
    def n_kernels(self) -> int:
        """Number of kernel matrices."""
        return len(self.bandwidths) * len(self.depths) * len(self.compared)

    def chosen_engine(self, batch: GraphBatch) -> str:
        """Give "exact" or "embedded", by the number of nodes where the user does not say."""
        if self.engine != "auto":
            return self.engine
        return "exact" if batch.n_nodes <= _EXACT_NODES else "embedded"


def _check_choice(name: str, value: Any, words: Sequence[str]) -> None:
    if value not in words:
        raise InvalidInputError(f"{name} must be one of {', '.join(words)}, got {value!r}")


def _listed(name: str, values: Any) -> list[Any]:
    """One or several values as a list."""
    found = list(values) if np.ndim(values) == 1 else [values]
    if not found:
        raise InvalidInputError(f"{name} is empty; give at least one")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


@cache
def _node_parameters() -> list[str]:
    own = ("structure_kernel", "depth", "level_weights", "graph_kernel", "impute_attributes")
    taken = ("n_jobs", "random_state")
    return [name for name in RetGKKernel().get_params(deep=False) if name not in (*own, *taken)]


@dataclass(frozen=True, eq=False)
class GraphKernelMatrix:
    """Kernel between all graphs of a test: what it compares, its bandwidth and its depth."""

    values: Floats
    compare: str
    bandwidth: float
    depth: int


def kernel_matrices(
    batch: GraphBatch, family: KernelFamily, n_jobs: int | None, seed: int
) -> tuple[list[GraphKernelMatrix], NodeFeatures, Laplacian]:
    """
    Kernel matrices of a family, the features they are made of, and the kernel of median bandwidth.

    The median is one of all nodes, or of 1,000 at even distances in the order of their features:
    it depends neither on who comes first nor on the groups.
    """
    remedy = Remedy("fewer_kernels", "give fewer graphs, or fewer bandwidths and depths")
    check_room(8 * len(batch) ** 2 * (2 * family.n_kernels + 2), "the kernel matrices", remedy)
    model = RetGKKernel(**family.options, n_jobs=n_jobs, random_state=seed)
    kernel_engine(model).check(batch)
    features = kernel_features(model, batch)
    # copies that share walks are alike in their errors, which those with their nodes in another
    # order are not: equal populations would differ, as labels are not exchangeable
    features = replace(features, walks=replace(features.walks, copies_share=False))
    median = Laplacian(1.0 / _median(features.probabilities))
    found = []
    with progress_bar("kernels", family.n_kernels) as advance:
        for width in family.bandwidths:
            kernel = replace(median, gamma=median.scale / width)
            for depth, products in _products(features, family, model, kernel):
                for compare in family.compared:
                    values = _graph_kernel(products, compare, n_jobs)
                    found.append(GraphKernelMatrix(values, compare, width, depth))
                    advance(1)
    return found, features, median


def _median(probabilities: Floats) -> float:
    """Median distance of nodes, whatever their order."""
    order = np.lexsort(probabilities.T)
    places = np.linspace(0, len(order) - 1, min(len(order), _MEDIAN_NODES)).round().astype(int)
    some = probabilities[order[places]]
    return median_distance(some, np.arange(len(some) + 1))  # every node a graph: none is drawn


def _products(
    features: NodeFeatures, family: KernelFamily, model: RetGKKernel, kernel: Laplacian
) -> list[tuple[int, Floats]]:
    """Inner products of mean embeddings at every depth."""
    deepest = max(family.depths)
    if family.chosen_engine(features.batch) == "exact":
        model = RetGKKernel(**{**model.get_params(), "structure_kernel": kernel, "depth": deepest})
        engine: ExactEngine = kernel_engine(model).fit(features)
        return [
            (depth, (engine if depth == deepest else engine.at_depth(depth)).inner_products())
            for depth in family.depths
        ]
    found = []
    for depth in family.depths:
        settings = {name: value for name, value in family.options.items() if name != "tol"}
        embedding = RetGKEmbedding(
            n_components=_N_COMPONENTS,
            structure_kernel=kernel,
            depth=depth,
            n_jobs=model.n_jobs,
            random_state=model.random_state,
            **settings,
        )
        embedded: EmbeddedEngine = embedding_engine(embedding).fit(features)
        found.append((depth, np.asarray(embedded.inner_products(), np.float64)))
    return found


def _graph_kernel(products: Floats, compare: str, n_jobs: int | None) -> Floats:
    kernel = ExponentialGraphKernel() if compare == "graphs" else PolynomialGraphKernel()
    norms = products.diagonal().copy()
    values = fit_graph_kernel(kernel, products, n_jobs)(products, norms, norms)
    if compare == "graphs":
        # K_2 is steepest at 0: roots of rounding would tell equal graphs apart
        values[squared_mmd_within(products) <= ALIKE * norms.max()] = 1.0
    return np.ascontiguousarray((values + values.T) / 2)
