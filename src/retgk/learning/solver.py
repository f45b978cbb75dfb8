"""What solvers get, inner products of training graphs, and what they give, linear machines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.engine.node_features import NodeFeatures
from retgk.engine.protocol import Engine
from retgk.kernels.graph_kernels import ExponentialGraphKernel, GraphKernel
from retgk.learning.folds import Fold

__all__ = ["GraphProducts", "Machine", "Solver", "fit_products"]

_BLOCK_VALUES = 1 << 15


@dataclass(frozen=True, eq=False)
class GraphProducts:
    """
    Inner products ``<m_G, m_H>`` of all training graphs G with some of them, H.

    Attributes
    ----------
    products : ndarray of float64, shape (n, n_columns)
        The inner products.
    norms : ndarray of float64, shape (n,)
        Squared norms ``<m_G, m_G>``.
    columns : ndarray of int64, shape (n_columns,)
        The graphs H; all graphs in order, or landmarks.
    weights : ndarray of float64, shape (n,), or None
        Weights of the graphs, which count as often in medians; None if all are one.
    """

    products: Floats
    norms: Floats
    columns: Ints
    weights: Floats | None = None

    def fit_kernels(self, kernels: list[ExponentialGraphKernel]) -> list[ExponentialGraphKernel]:
        """Give the kernels bandwidths, from the median distance between graphs of the columns."""
        from retgk.kernels.medians import typical_squared_mmd

        square = self.products
        if len(self.columns) < len(self.norms):
            square = np.ascontiguousarray(square[self.columns])
        weights = None if self.weights is None else self.weights[self.columns]
        squared = typical_squared_mmd(square, weights=weights)
        return [kernel.fitted(squared) for kernel in kernels]

    def kernel(self, graph_kernel: GraphKernel, rows: Ints, columns: Ints) -> Floats:
        """Kernel values of some graphs with some of the columns, in memory of their own."""
        values = np.empty((len(rows), len(columns)))
        norms = self.norms[self.columns[columns]]
        height = max(1, _BLOCK_VALUES // max(1, len(columns)))
        for start in range(0, len(rows), height):  # in the cache, instead of in new memory
            block = rows[start : start + height]
            products = self.products[block[:, None], columns]
            values[start : start + height] = graph_kernel(products, self.norms[block], norms)
        return values


def fit_products(engine: Engine, features: NodeFeatures, columns: Ints) -> GraphProducts:
    """
    Fit an engine, which keeps the graphs of the columns, and compare all graphs with these.

    Bandwidths come from all graphs. Between graphs of the columns, products are symmetric to the
    bit, and the diagonal equals the norms.
    """
    if len(columns) == len(features.batch):
        products = engine.fit(features).inner_products()
        return GraphProducts(products, products.diagonal().copy(), columns)
    engine.fit(features, keep=columns)
    own = engine.inner_products()
    products, norms = np.empty((len(features.batch), len(columns))), np.empty(len(features.batch))
    for first, piece in features.pieces():
        found, rows = engine.compare(piece), slice(first, first + len(piece.batch))
        products[rows], norms[rows] = found.products(), found.squared_norms()
    products[columns], norms[columns] = own, own.diagonal()
    return GraphProducts(products, norms, columns)


class Machine(NamedTuple):
    """``f(G) = sum_s dual_coef[:, s] K(G, support_s) + intercept``."""

    support: Ints
    """Columns of the kernel that are needed, shape (n_support,)."""
    dual_coef: Floats
    """Coefficients, shape (n_outputs, n_support)."""
    intercept: Floats
    """Shape (n_outputs,)."""

    def decisions(self, rows: Floats) -> Floats:
        """Values of graphs from their kernel with the support, shape (n, n_outputs)."""
        # einsum in place of @: BLAS gives other last bits for other numbers of rows, and a graph
        # is to get the same value wherever it stands
        return np.asarray(np.einsum("ns,os->no", rows, self.dual_coef) + self.intercept)


class Solver(Protocol):
    """Trains machines on kernels of graphs."""

    name: str

    def train(self, products: GraphProducts, kernel: GraphKernel, penalty: float) -> Machine:
        """Train on all graphs."""

    def out_of_fold(
        self,
        products: GraphProducts,
        kernels: Sequence[GraphKernel],
        folds: Sequence[Fold],
        penalties: Sequence[float],
        n_jobs: int | None,
    ) -> list[list[Floats]]:
        """Decision values of test parts, by kernel, fold and penalty."""

    def scores(self, decisions: Floats) -> Floats:
        """Give decision values in the form in which they are compared."""
