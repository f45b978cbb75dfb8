"""What trains, and what every trained machine comes down to: a linear function of kernel values."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.kernels.graph_kernels import ExponentialGraphKernel
from retgk.learning.folds import Fold
from retgk.learning.graph_products import GraphProducts

__all__ = ["Machine", "Solver"]


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

    def train(
        self, products: GraphProducts, kernel: ExponentialGraphKernel, penalty: float
    ) -> Machine:
        """Train on all graphs."""

    def out_of_fold(
        self,
        products: GraphProducts,
        kernels: Sequence[ExponentialGraphKernel],
        folds: Sequence[Fold],
        penalties: Sequence[float],
        n_jobs: int | None,
    ) -> list[list[Floats]]:
        """Decision values of test parts, by kernel, fold and penalty."""

    def scores(self, decisions: Floats) -> Floats:
        """Give decision values in the form in which they are compared."""
