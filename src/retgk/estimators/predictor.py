"""What the classifier and the regressor share: from graphs to decision values."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.io.converters import as_batch
from retgk.learning.candidate_search import Score, Solver, best_candidate
from retgk.learning.candidates import (
    checked_penalties,
    graph_kernel_candidates,
    node_candidates,
)
from retgk.learning.folds import Fold
from retgk.learning.graph_products import embedded_products, exact_products, vectors_of
from retgk.learning.machine import Machine
from retgk.walks.sampling import seed_from

__all__ = ["MAX_EXACT_GRAPHS", "MAX_EXACT_NODES", "GraphPredictor"]


MAX_EXACT_GRAPHS = 5_000
MAX_EXACT_NODES = 1_000_000

_GRAPHS_AT_A_TIME = 4096


class GraphPredictor(BaseEstimator):  # type: ignore[misc]
    """
    Base of `RetGKClassifier` and `RetGKRegressor`; their docstrings describe the parameters.

    A fitted predictor is a kernel with some of the training graphs (`kernel_`, or `embedding_`
    with `support_vectors_`, and `graph_kernel_`) and a linear function of it (`dual_coef_`,
    `intercept_`).
    """

    def _is_approximate(self, batch: GraphBatch) -> bool:
        """Apply the rule for approximate="auto"."""
        if not (isinstance(self.approximate, bool) or self.approximate == "auto"):
            raise InvalidInputError(
                f"approximate must be 'auto', True or False, got {self.approximate!r}"
            )
        if self.approximate != "auto":
            return bool(self.approximate)
        # the work of the exact kernel is the square of the nodes, for each candidate
        n_nodes = batch.n_nodes * len(node_candidates(vars(self))) ** 0.5
        return len(batch) > MAX_EXACT_GRAPHS or n_nodes > MAX_EXACT_NODES

    def _seed(self) -> int:
        """Whole number for everything random, so that new graphs are treated as the fitted."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(seed_from(self.random_state) >> np.uint64(32))

    def _fit_machine(
        self,
        batch: GraphBatch,
        solver: Solver,
        columns: Ints,
        folds: Sequence[Fold],
        score: Score,
        seed: int,
    ) -> list[Floats]:
        """Choose, train, and keep what predictions need; give out-of-fold decision values."""
        parameters = vars(self)
        products_of = embedded_products if self.approximate_ else exact_products
        choice, self.cv_results_ = best_candidate(
            products_of(batch, parameters, seed, columns),
            solver,
            graph_kernel_candidates(parameters),
            checked_penalties(self.C),
            folds,
            score,
            self.n_jobs,
        )
        self.best_params_, self.best_index_ = choice.params, choice.place
        self.best_score_ = float(choice.scores.mean()) if folds else np.nan
        self.n_splits_ = len(folds)
        self.solver_ = solver.name
        machine = solver.fitted(choice.products, choice.kernel, choice.params["C"])
        self._keep(choice, machine, columns)
        return choice.decisions

    def _keep(self, choice: Any, machine: Machine, columns: Ints) -> None:
        """Keep the kernel with support graphs alone, and the arrays of the machine."""
        self.graph_kernel_ = choice.kernel
        for name in ("kernel_", "embedding_", "support_vectors_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if self.approximate_:
            self.embedding_, vectors = choice.source
            self.support_vectors_ = vectors_of(vectors, machine.support)
        else:
            self.kernel_ = choice.source
            self.kernel_._keep_graphs(machine.support)
            self.kernel_.graph_kernel_ = self.kernel_.graph_kernel = choice.kernel
        self.support_ = columns[machine.support]
        self.dual_coef_, self.intercept_ = machine.dual_coef, machine.intercept

    def _decisions(self, X: Any) -> Floats:
        """Values of the machine for new graphs, some thousand graphs at a time."""
        check_is_fitted(self, "dual_coef_")
        batch = as_batch(X)
        machine = Machine(self.support_, self.dual_coef_, self.intercept_)
        starts = range(0, len(batch), _GRAPHS_AT_A_TIME)
        parts = [
            machine.decisions(self._kernel_rows(batch[start : start + _GRAPHS_AT_A_TIME]))
            for start in starts
        ]
        return np.concatenate(parts) if parts else np.empty((0, len(self.intercept_)))

    def _kernel_rows(self, batch: GraphBatch) -> Floats:
        """Kernel between new graphs and the support graphs."""
        if not self.approximate_:
            return np.asarray(self.kernel_._kernel_with_fitted(batch))
        from retgk.engine.embedded.embedding_gram import embedding_gram

        vectors = self.embedding_._embedded(batch)  # sparse whatever scikit-learn is set to
        return embedding_gram(
            vectors, self.support_vectors_, kernel=self.graph_kernel_, n_jobs=self.n_jobs
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags
