"""Checks of the parameters of `RetGKKernel`, before any work."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from retgk.engine.node_features import attribute_blocks, check_node_kernel
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.kernels.graph_kernels import ExponentialGraphKernel, PolynomialGraphKernel
from retgk.runtime.parallel import n_threads
from retgk.walks.monte_carlo import ESTIMATORS
from retgk.walks.return_probabilities import check_walk_parameters
from retgk.walks.sampling import seed_from

__all__ = ["check_graph_kernel", "check_node_parameters", "walk_seed"]

_MAX_SEED = 2**63 - 1  # of model files


def check_node_parameters(parameters: Mapping[str, Any], batch: GraphBatch) -> None:
    """
    Raise unless node kernels can be fitted to these graphs.

    Parameters
    ----------
    parameters : mapping
        Parameters of a `RetGKKernel` by name.
    batch : GraphBatch
        The graphs.
    """
    if len(batch) == 0:
        raise InvalidInputError("there are no graphs to fit")
    walks = (parameters[name] for name in ("n_steps", "method", "n_walks", "self_loop"))
    check_walk_parameters(*walks)
    tol = parameters["tol"]
    if isinstance(tol, bool) or not isinstance(tol, Real) or not 0 <= float(tol) < 1:
        raise InvalidInputError(f"tol must be at least 0 and below 1, got {tol!r}")
    n_threads(parameters["n_jobs"])
    if parameters["structure_kernel"] is not None:
        check_node_kernel(parameters["structure_kernel"], "structure_kernel")
    attribute_blocks(parameters["attribute_kernel"], batch.n_attributes)


def check_graph_kernel(graph_kernel: Any, n_graphs: int) -> None:
    """
    Raise unless a graph kernel can be fitted to that many graphs.

    Parameters
    ----------
    graph_kernel : object
        What a user gave.
    n_graphs : int
        Number of graphs.
    """
    if not isinstance(graph_kernel, ExponentialGraphKernel | PolynomialGraphKernel):
        raise InvalidInputError(
            "graph_kernel must be an ExponentialGraphKernel, a PolynomialGraphKernel or None, got "
            f"{graph_kernel!r}"
        )
    if n_graphs == 1 and getattr(graph_kernel, "gamma", None) == "median":
        raise InvalidInputError(
            "there is one graph (n_samples=1), whose distances have no median; give more "
            "graphs, or a number as gamma of ExponentialGraphKernel"
        )


def walk_seed(random_state: Any, method: str) -> int:
    """
    Whole number that stands for `random_state` wherever graphs are walked, in fit and later.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        A whole number stands for itself. From anything else one is drawn, if it is needed.
    method : str
        How return probabilities are found.

    Returns
    -------
    int
        The seed; 0 where nothing is drawn.
    """
    if isinstance(random_state, Integral) and 0 <= int(random_state) <= _MAX_SEED:
        return int(random_state)
    return int(seed_from(random_state)) if method in ESTIMATORS else 0
