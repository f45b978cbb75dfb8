"""Models that see the numbers of nodes and edges alone: what a method has to beat."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from retgk.array_types import Floats
from retgk.io.converters import GraphsLike, as_batch

__all__ = ["GraphSizes", "size_classifier", "size_regressor"]

_LEAST_LEAF = 5  # graphs: sizes of single graphs would be learnt by heart


class GraphSizes(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """
    Numbers of nodes and of edges of graphs.

    Examples
    --------
    >>> from retgk import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, random_state=0).graphs
    >>> GraphSizes().fit_transform(graphs).shape
    (6, 2)
    """

    def fit(self, X: GraphsLike, y: object = None) -> Self:  # noqa: ARG002
        """Do nothing: there is nothing to learn."""
        return self

    def transform(self, X: GraphsLike) -> Floats:
        """Give a row for each graph."""
        graphs = as_batch(X)
        return np.stack([graphs.node_counts, graphs.edge_counts], axis=1).astype(np.float64)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def size_classifier() -> Any:
    """Random forest of sizes, for classes."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    return make_pipeline(GraphSizes(), RandomForestClassifier(min_samples_leaf=_LEAST_LEAF))


def size_regressor() -> Any:
    """Random forest of sizes, for values."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline

    return make_pipeline(GraphSizes(), RandomForestRegressor(min_samples_leaf=_LEAST_LEAF))
