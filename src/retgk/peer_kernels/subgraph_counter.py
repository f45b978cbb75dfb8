"""Counts of small induced subgraphs of graphs, by their type."""

from dataclasses import dataclass, field

import numpy as np

from retgk.array_types import Floats
from retgk.engine.fitted_state import FittedState
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import offsets
from retgk.graphs.validation import warn_of_unknown_labels
from retgk.peer_kernels.graph_counts import GraphCounts
from retgk.peer_kernels.stored_colours import colour_values, restored_colours
from retgk.peer_kernels.subgraph_types import FoundSubgraphs, SubgraphTypes
from retgk.refinement.first_colours import FirstColours, Start

__all__ = ["SubgraphCounter"]


@dataclass
class SubgraphCounter:
    r"""
    Counts induced subgraphs of up to k nodes.

    A count of subgraphs of s nodes and with a automorphisms is multiplied by
    :math:`\sqrt{a \lambda_s}`, so that products of counts are sums over isomorphisms.

    Parameters
    ----------
    start : {"labels", "degrees", "none"}
        What the labels of nodes are.
    types : SubgraphTypes
        Which subgraphs count, and their types.
    """

    start: Start
    types: SubgraphTypes
    first: FirstColours = field(init=False)

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Count in the fitted graphs, and number the types that are found."""
        self.first = FirstColours(self.start)
        return self._weighted(self.types.fit(batch, self.first.fit(batch), n_jobs))

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Count in new graphs; types of no fitted graph come after all columns."""
        codes = self.first.colours(batch)
        if self.start == "labels":
            warn_of_unknown_labels(batch.label_names, self.first.names)
        return self._weighted(self.types.find(batch, codes, n_jobs))

    def _weighted(self, found: FoundSubgraphs) -> GraphCounts:
        """Counts that are weighted; those that weigh nothing are left out."""
        size_weights = self.types.matchings.size_weights[self.types.sizes(found.types) - 1]
        with np.errstate(over="ignore"):  # `check_norms` says it better
            scales: Floats = np.sqrt(found.types[:, 2] * size_weights)
        values = found.counts.astype(np.float64) * scales[found.columns]
        is_kept = values > 0
        columns = found.columns[is_kept].astype(np.int32)
        ptr = offsets(is_kept)[found.ptr]
        return GraphCounts(ptr, columns, values[is_kept], len(self.types.known))

    def state(self) -> FittedState:
        """Give labels and types."""
        state = self.types.state()
        state.values |= colour_values(self.first)
        return state

    def restore(self, state: FittedState) -> int:
        """Take them out of a state, after checking them; gives the number of columns."""
        self.first = restored_colours(state)
        self.start = self.first.start
        self.types.restore(state)
        return len(self.types.known)
