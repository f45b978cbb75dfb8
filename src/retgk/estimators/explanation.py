"""What a prediction is made of: shares of nodes and of training graphs."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError

__all__ = ["Explanation"]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """
    Why a model decided as it did: what `RetGKClassifier.explain` and `RetGKRegressor.explain` give.

    All numbers are in the units of decision values (of a regressor: of its targets), never of
    probabilities. ``baseline + shares of the nodes`` is the decision value of a graph, and so is
    ``intercept + shares of all support graphs``, of which the largest are here.

    Attributes
    ----------
    shares : ndarray of float64, shape (n_nodes,)
        What every node adds to the decision value, graph after graph; negative speaks against
        the target.
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    targets : ndarray, shape (n_graphs,)
        The class, or the number of the label or output, whose decision value is explained.
    predictions : ndarray, shape (n_graphs,) or (n_graphs, n_outputs)
        What the model predicts.
    decisions : ndarray of float64, shape (n_graphs,)
        Decision value for the target.
    baseline : ndarray of float64, shape (n_graphs,)
        Decision value of the mean embedding of the support graphs.
    training : ndarray of int64, shape (n_graphs, n_top)
        Training graphs of the largest shares, up or down, the largest first.
    training_shares : ndarray of float64, shape (n_graphs, n_top)
        Their shares.
    contrast : ndarray of int64, shape (n_graphs,), or None
        Nearest support graph of another class than the target; -1 if there is none. None for
        regressors, and for models from files that do not know the classes of their graphs.
    contrast_distances : ndarray of float64, shape (n_graphs,), or None
        Its distance, the maximum mean discrepancy.

    Examples
    --------
    >>> import numpy as np
    >>> from retgk import RetGKClassifier, make_graph_classification
    >>> data = make_graph_classification(n_graphs=40, random_state=0)
    >>> model = RetGKClassifier(random_state=0).fit(data.graphs[:30], data.targets[:30])
    >>> found = model.explain(data.graphs[30:])
    >>> whole = found.baseline[2] + found.of(2).sum()
    >>> bool(np.isclose(whole, found.decisions[2], rtol=0, atol=1e-9))
    True
    """

    shares: Floats
    node_ptr: Ints
    targets: NDArray[Any]
    predictions: NDArray[Any]
    decisions: Floats
    baseline: Floats
    training: Ints
    training_shares: Floats
    contrast: Ints | None
    contrast_distances: Floats | None

    def __len__(self) -> int:
        return len(self.decisions)

    def __repr__(self) -> str:
        return f"Explanation({len(self):,} graphs, {len(self.shares):,} nodes)"

    def of(self, graph: int) -> Floats:
        """Shares of the nodes of one graph."""
        if not -len(self) <= graph < len(self):
            raise InvalidInputError(
                f"there is no graph {graph}; the explanation has {len(self)} graphs, from 0 on"
            )
        graph %= len(self)
        return self.shares[self.node_ptr[graph] : self.node_ptr[graph + 1]]
