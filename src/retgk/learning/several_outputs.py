"""A solver for several outputs, made of one for each, which share the inner products of graphs."""

from collections.abc import Sequence

import numpy as np

from retgk.array_types import Floats
from retgk.kernels.graph_kernels import GraphKernel
from retgk.learning.folds import Fold
from retgk.learning.solver import GraphProducts, Machine, Solver

__all__ = ["OneForEach"]


class OneForEach:
    """
    Machines of several solvers, each with one output, as one machine.

    Parameters
    ----------
    solvers : sequence of Solver
        One for each output, all of one kind.
    """

    def __init__(self, solvers: Sequence[Solver]) -> None:
        self.solvers = solvers
        self.name = solvers[0].name
        self.n_machines = len(solvers)

    def train(self, products: GraphProducts, kernel: GraphKernel, penalty: float) -> Machine:
        """Train on all graphs; the support is that of any output."""
        found = [solver.train(products, kernel, penalty) for solver in self.solvers]
        support = np.unique(np.concatenate([machine.support for machine in found]))
        dual_coef = np.zeros((len(found), len(support)))
        for row, machine in zip(dual_coef, found, strict=True):
            row[np.searchsorted(support, machine.support)] = machine.dual_coef[0]
        return Machine(support, dual_coef, np.concatenate([machine.intercept for machine in found]))

    def out_of_fold(
        self,
        products: GraphProducts,
        kernels: Sequence[GraphKernel],
        folds: Sequence[Fold],
        penalties: Sequence[float],
        n_jobs: int | None,
    ) -> list[list[Floats]]:
        """Decision values of test parts, by kernel, fold and penalty."""
        found = [
            solver.out_of_fold(products, kernels, folds, penalties, n_jobs)
            for solver in self.solvers
        ]
        return [
            [np.concatenate(parts, axis=-1) for parts in zip(*by_output, strict=True)]
            for by_output in zip(*found, strict=True)
        ]

    def scores(self, decisions: Floats) -> Floats:
        """Give the values themselves: there is one for each output already."""
        return decisions
