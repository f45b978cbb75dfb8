"""Pictures of graphs, their return probabilities, kernels between them and tests of them.

Every function draws into the `ax` that it is given, or into a new figure, and returns the axes.
"""

from retgk.plot.curves import return_probability_curves
from retgk.plot.graph_drawing import (
    explained_graph,
    graph_by_return_probability,
    node_positions,
)
from retgk.plot.kernel_pictures import collection_map, confusion_matrix, gram_heat_map
from retgk.plot.molecule_drawing import explained_molecule
from retgk.plot.permutation_pictures import permutation_distribution

__all__ = [
    "collection_map",
    "confusion_matrix",
    "explained_graph",
    "explained_molecule",
    "gram_heat_map",
    "graph_by_return_probability",
    "node_positions",
    "permutation_distribution",
    "return_probability_curves",
]
