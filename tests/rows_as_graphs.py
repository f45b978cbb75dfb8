"""Estimators that take rows of numbers as graphs, for checks that know arrays only."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from retgk import (
    DeepGraphKernel,
    GraphBatch,
    GraphInvariantKernel,
    GraphletKernel,
    HashGraphKernel,
    RetGKClassifier,
    RetGKEmbedding,
    RetGKKernel,
    RetGKRegressor,
    ShortestPathKernel,
    SubgraphMatchingKernel,
    WeisfeilerLehmanKernel,
)


def rows_as_graphs(rows: Any) -> GraphBatch:
    """Each row as a path: a node for each number, its attribute, labelled by the column."""
    n_rows, width = rows.shape
    starts = width * np.arange(n_rows)[:, None]
    steps = (starts + np.arange(width - 1)).ravel()
    return GraphBatch.from_edges(
        np.full(n_rows, width),
        np.column_stack([steps, steps + 1]),
        labels=np.tile(np.arange(width), n_rows),
        attributes=np.asarray(rows, np.float64).reshape(-1, 1),
        symmetrize=True,
    )


class Rows:
    """Turn rows into graphs before an estimator sees them."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(self._graphs(X, reset=True), y)

    def _graphs(self, X: Any, reset: bool = False) -> GraphBatch:
        if isinstance(X, GraphBatch):
            return X
        if not reset:
            check_is_fitted(self)
        return rows_as_graphs(validate_data(self, X, reset=reset, dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


class RowsTransformer(Rows):
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return super().fit_transform(self._graphs(X, reset=True), y)

    def transform(self, X: Any) -> Any:
        return super().transform(self._graphs(X))


class RowsPredictor(Rows):
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        graphs = self._graphs(X, reset=True)
        return super(Rows, self).fit(graphs, y, sample_weight, groups)

    def predict(self, X: Any) -> Any:
        return super().predict(self._graphs(X))


class RowsKernel(RowsTransformer, RetGKKernel):
    """`RetGKKernel` of rows."""


class RowsSubtrees(RowsTransformer, WeisfeilerLehmanKernel):
    """`WeisfeilerLehmanKernel` of rows."""


class RowsPaths(RowsTransformer, ShortestPathKernel):
    """`ShortestPathKernel` of rows."""


class RowsGraphlets(RowsTransformer, GraphletKernel):
    """`GraphletKernel` of rows."""


class RowsMatchings(RowsTransformer, SubgraphMatchingKernel):
    """`SubgraphMatchingKernel` of rows."""


class RowsHashes(RowsTransformer, HashGraphKernel):
    """`HashGraphKernel` of rows."""


class RowsInvariants(RowsTransformer, GraphInvariantKernel):
    """`GraphInvariantKernel` of rows."""


class RowsDeep(RowsTransformer, DeepGraphKernel):
    """`DeepGraphKernel` of rows."""


class RowsEmbedding(RowsTransformer, RetGKEmbedding):
    """`RetGKEmbedding` of rows."""

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        return super().partial_fit(self._graphs(X, reset=not hasattr(self, "maps_")), y)


class RowsRegressor(RowsPredictor, RetGKRegressor):
    """`RetGKRegressor` of rows."""


class RowsClassifier(RowsPredictor, RetGKClassifier):
    """`RetGKClassifier` of rows."""

    def decision_function(self, X: Any) -> Any:
        return super().decision_function(self._graphs(X))

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(self._graphs(X))
