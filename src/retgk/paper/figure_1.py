"""Figure 1 of the paper: three centres of equal degree, told apart by their return probabilities.

C1, C2 and C3 have the same degree, and so have their neighbours: the first two return
probabilities agree. The surroundings of C1 and C2 agree up to distance three, so their return
probabilities agree until the eighth step. The neighbours of C3 know each other: it leaves the
others at the third step. (The paper shows its graph as a picture only; this one has the properties
that the text states.)
"""

from collections.abc import Sequence
from typing import Any

from retgk.graphs.batch import GraphBatch

__all__ = ["N_STEPS", "draw_centres", "toy_graph"]

N_STEPS = 200


class _Builder:
    """Edges of a graph that grows node by node."""

    def __init__(self) -> None:
        self.edges: list[tuple[int, int]] = []
        self.n_nodes = 0

    def node(self, *neighbours: int) -> int:
        self.edges += [(self.n_nodes, neighbour) for neighbour in neighbours]
        self.n_nodes += 1
        return self.n_nodes - 1

    def branching(self, children_per_level: Sequence[int]) -> tuple[int, list[int]]:
        """A centre with that many children per node at each distance; last level too."""
        centre = self.node()
        level = [centre]
        for n_children in children_per_level:
            level = [self.node(parent) for parent in level for _ in range(n_children)]
        return centre, level


def toy_graph() -> tuple[GraphBatch, list[int]]:
    """The graph and its three centres."""
    builder = _Builder()
    first, first_ends = builder.branching([4, 3, 1, 1])
    second, second_ends = builder.branching([4, 3, 1, 1, 2])
    third = builder.node()
    ring = [builder.node(third) for _ in range(4)]
    for position, node in enumerate(ring):
        builder.edges.append((node, ring[position - 1]))
    outer = [builder.node(node) for node in ring]
    for ends in (first_ends, second_ends):
        builder.edges += list(zip(outer, ends[:: len(ends) // len(outer)], strict=True))
    graph = GraphBatch.from_edges(builder.n_nodes, builder.edges, symmetrize=True)
    return graph, [first, second, third]


def draw_centres(axes: Any) -> None:
    """Draw the figure into axes of matplotlib."""
    from retgk.plot.curves import return_probability_curves

    names = ["$C_1$", "$C_2$", "$C_3$"]
    return_probability_curves(*toy_graph(), n_steps=N_STEPS, labels=names, ax=axes)
    close_up = axes.inset_axes([0.3, 0.35, 0.5, 0.6])
    return_probability_curves(*toy_graph(), n_steps=14, labels=names, ax=close_up)
    close_up.set(xlim=(4.5, 14.5), ylim=(0.025, 0.145), xlabel="", ylabel="")
    close_up.get_legend().remove()
    axes.indicate_inset_zoom(close_up)
