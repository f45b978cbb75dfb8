r"""
The engine: inner products of the mean embeddings of graphs.

Every capability above it stands on this protocol and on nothing below it: estimators, matrices on
disk, model files. There are two implementations, `ExactEngine` (RetGK_I) and `EmbeddedEngine`
(RetGK_II); :math:`\langle m_G, m_H \rangle` is all that anything after them needs.
"""

from collections.abc import Hashable
from typing import Protocol, Self

from retgk.array_types import Floats, Ints
from retgk.engine.fitted_state import FittedState
from retgk.engine.node_features import NodeFeatures
from retgk.graphs.batch import GraphBatch

__all__ = ["Comparison", "Engine"]


class Comparison(Protocol):
    """
    New graphs beside fitted ones.

    What a graph gets depends on it and on the fitted graphs, not on the others in the call.
    """

    def products(self) -> Floats:
        """``<m_G, m_H>`` of new graphs G with fitted graphs H, shape (n_new, n_fitted)."""

    def squared_norms(self) -> Floats:
        """``<m_G, m_G>`` of the new graphs, shape (n_new,)."""

    def node_values(self, weights: Floats, own_weights: Floats) -> Floats:
        """
        ``<phi(v), u_G>`` of every node v of every new graph G, shape (n_nodes,).

        The direction ``u_G = sum_H weights[G, H] m_H + own_weights[G] m_G`` is a sum over fitted
        graphs H and the new graph itself. Means over the nodes of a graph are ``<m_G, u_G>``.
        """


class Engine(Protocol):
    """
    Mean embeddings of fitted graphs.

    Parameters of node kernels are set when an engine is made; bandwidths are found by `fit`. A
    single node is a graph of one node to an engine, so that rows for nodes are rows for graphs.
    """

    @property
    def label_names(self) -> tuple[Hashable, ...] | None:
        """Labels of the graphs that it was fitted on; empty or None if they have none."""

    @property
    def walk_seed(self) -> int:
        """Seed of Monte Carlo walks for the graphs that it is fitted on."""

    def check(self, batch: GraphBatch) -> None:
        """Raise unless these graphs can be fitted with the parameters; no work is done."""

    def fit(self, features: NodeFeatures, keep: Ints | None = None) -> Self:
        """
        Find bandwidths on all graphs, and keep the mean embeddings of all or of some.

        Parameters
        ----------
        features : NodeFeatures
            Graphs with their return probabilities.
        keep : ndarray of int64, optional
            Graphs that are kept, in this order; by default all.
        """

    @property
    def n_graphs(self) -> int:
        """Number of graphs that are kept."""

    def inner_products(self, rows: slice | None = None, columns: slice | None = None) -> Floats:
        """``<m_G, m_H>`` among the kept graphs, or a block of that matrix."""

    def squared_norms(self) -> Floats:
        """``<m_G, m_G>`` of the kept graphs."""

    def mean_products(self) -> Floats:
        """``<m_G, m_0>`` of the kept graphs with their mean ``m_0``, shape (n_graphs,)."""

    def compare(self, features: NodeFeatures) -> Comparison:
        """Put new graphs beside the kept ones."""

    def keep(self, graphs: Ints) -> Self:
        """Engine with some of the kept graphs, in the order given."""

    def work(self) -> float:
        """What `inner_products` costs, in kernel values or multiplications."""

    def digest(self) -> str:
        """Hash of everything that `inner_products` depends on."""

    def state(self) -> FittedState:
        """Everything that `compare` needs, as plain values and arrays."""

    def restore(self, state: FittedState, n_steps: int) -> Self:
        """
        Take the state of a fitted engine with the same parameters, after checking all of it.

        `n_steps` is the number of return probabilities that it was fitted with.
        """
