"""Which matchings of subgraphs count, and how much."""

from dataclasses import dataclass

import numpy as np

from retgk.array_types import Floats
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError

__all__ = ["MAX_SUBGRAPH", "Matchings", "restored_matchings"]

MAX_SUBGRAPH = 5
"""Most nodes of a matched subgraph."""


@dataclass(frozen=True, eq=False)
class Matchings:
    r"""
    Which matchings of subgraphs count, and how much.

    Parameters
    ----------
    k : int
        Most nodes.
    connected : bool
        Whether matched subgraphs have to be connected.
    uses_edge_labels : bool
        Whether edges with different labels do not match.
    size_weights : ndarray of float64, shape (k,)
        Weights :math:`\lambda_s` of matchings of one node, two nodes and so on.
    width : float, default=0.0
        Width of the bridge kernel of weights of edges; zero where weights are left out.
    """

    k: int
    connected: bool
    uses_edge_labels: bool
    size_weights: Floats
    width: float = 0.0

    def state(self) -> FittedState:
        """Give plain values."""
        names = ("k", "connected", "uses_edge_labels", "width")
        values = {name: getattr(self, name) for name in names}
        return FittedState(values, {"size_weights": self.size_weights})


def restored_matchings(state: FittedState) -> Matchings:
    """Take them out of a state, after checking them."""
    k, width = state.take_count("k", MAX_SUBGRAPH), state.take_value("width", float)
    weights = state.take_array("size_weights", np.float64, (k,))
    if k < 1 or (weights < 0).any() or not 0 <= width < np.inf:
        raise InvalidInputError("'k', 'size_weights' or 'width' is out of range")
    connected = state.take_value("connected", bool)
    return Matchings(k, connected, state.take_value("uses_edge_labels", bool), weights, width)
