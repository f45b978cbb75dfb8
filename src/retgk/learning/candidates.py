"""Values to choose from: one or several for each parameter, and their combinations."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from retgk.errors import InvalidInputError
from retgk.kernels.graph_kernels import ExponentialGraphKernel
from retgk.walks.return_probabilities import check_walk_parameters

__all__ = [
    "NodeCandidate",
    "candidates_of",
    "checked_penalties",
    "graph_kernel_candidates",
    "node_candidates",
]


class NodeCandidate(NamedTuple):
    """What inner products of graphs depend on: a matrix of them for each candidate."""

    n_steps: int
    structure_kernel: Any
    attribute_kernel: Any


def candidates_of(value: Any, name: str) -> tuple[Any, ...]:
    """
    Candidates of one parameter.

    Parameters
    ----------
    value : object
        One value, or a list, tuple or array of candidates.
    name : str
        The parameter, for the error message.

    Returns
    -------
    tuple
        At least one candidate.

    Examples
    --------
    >>> candidates_of(50, "n_steps"), candidates_of((1, 2), "p")
    ((50,), (1, 2))
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (value,)
    if not value:
        raise InvalidInputError(f"{name} has no candidates; give one value or several")
    return tuple(value)


def node_candidates(parameters: Mapping[str, Any]) -> list[NodeCandidate]:
    """
    All combinations of what describes nodes, the first candidates first.

    Walks are checked for every candidate, so that a bad one is found before work on the others.
    """
    walks = [parameters[name] for name in ("method", "n_walks", "self_loop")]
    for n_steps in candidates_of(parameters["n_steps"], "n_steps"):
        check_walk_parameters(n_steps, *walks)
    return [
        NodeCandidate(*values)
        for values in product(*(candidates_of(parameters[n], n) for n in NodeCandidate._fields))
    ]


def graph_kernel_candidates(
    parameters: Mapping[str, Any],
) -> list[ExponentialGraphKernel]:
    """All combinations of p and scale, the first candidates first."""
    return [
        ExponentialGraphKernel(p=p, scale=scale)
        for p in candidates_of(parameters["p"], "p")
        for scale in candidates_of(parameters["scale"], "scale")
    ]


def checked_penalties(values: Sequence[Any] | Any) -> tuple[float, ...]:
    """Candidates of C, which are positive and finite."""
    found = candidates_of(values, "C")
    for c in found:
        if isinstance(c, bool | str) or not 0 < c < np.inf:
            raise InvalidInputError(f"C must be positive and finite, got {c!r}")
    return tuple(float(c) for c in found)
