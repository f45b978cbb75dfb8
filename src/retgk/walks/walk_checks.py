"""Checks of the parameters of walks, and of the weights of graphs that are walked on."""

from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np

from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import graph_of

__all__ = ["WEIGHT_RANGE", "Method", "check_walk_parameters", "check_weight_range"]

Method = Literal["exact", "eigh", "monte-carlo", "monte-carlo-returns"]

WEIGHT_RANGE = (1e-150, 1e150)
"""Ratios of weights in this range, and products of two of them, are numbers."""


def check_walk_parameters(n_steps: Any, method: str, n_walks: Any, self_loop: Any) -> None:
    """Raise unless these are parameters of `return_probabilities`."""
    if not isinstance(n_steps, Integral) or isinstance(n_steps, bool) or n_steps < 1:
        raise InvalidInputError(f"n_steps must be a whole number of at least 1, got {n_steps!r}")
    if method not in get_args(Method):
        raise InvalidInputError(f"method must be one of {get_args(Method)}, got {method!r}")
    if not isinstance(self_loop, Real) or not 0 <= float(self_loop) < np.inf:
        raise InvalidInputError(f"self_loop must be finite and not negative, got {self_loop!r}")
    least, most = WEIGHT_RANGE
    if self_loop and not least <= float(self_loop) <= most:
        raise InvalidInputError(
            f"self_loop must be 0 or between {least:g} and {most:g}, got {self_loop!r}; scale it "
            "together with the weights of the edges"
        )
    if not isinstance(n_walks, Integral) or n_walks < 3:
        raise InvalidInputError(f"n_walks must be a whole number of at least 3, got {n_walks!r}")


def check_weight_range(batch: GraphBatch) -> None:
    """Raise where a weight is so large or small that probabilities would not be numbers."""
    if not batch.is_weighted or len(batch.weights) == 0:
        return
    least, most = WEIGHT_RANGE
    if batch.weights.min() >= least and batch.weights.max() <= most:
        return
    entry = int(np.argmax((batch.weights < least) | (batch.weights > most)))
    source = int(np.searchsorted(batch.indptr, entry, side="right")) - 1
    graph = graph_of(batch.node_ptr, source)
    raise InvalidInputError(
        f"graph {graph}: the edge from node {source - batch.node_ptr[graph]} to node "
        f"{batch.indices[entry]} has weight {batch.weights[entry]:g}; walks need weights between "
        f"{least:g} and {most:g}: scale all of the graph, which changes nothing without self-loops"
    )
