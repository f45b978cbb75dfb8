"""Pictures of graphs, of their return probabilities and of kernels between them.

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

__all__ = [
    "collection_map",
    "confusion_matrix",
    "explained_graph",
    "explained_molecule",
    "gram_heat_map",
    "graph_by_return_probability",
    "node_positions",
    "return_probability_curves",
]
