"""Figure 1 of the paper: three centres of equal degree, told apart by their return probabilities.

    python examples/figure_1.py [figure_1.png]

C1, C2 and C3 have the same degree, and so have their neighbours: the first two return
probabilities agree. The surroundings of C1 and C2 agree up to distance three, so their return
probabilities agree until the eighth step. The neighbours of C3 know each other: it
leaves the others at the third step. (The paper shows its graph as a picture only; this one has
the properties that the text states.)
"""

import sys

import numpy as np

from retgk import GraphBatch, return_probabilities

N_STEPS = 200


class Builder:
    """Edges of a graph that grows node by node."""

    def __init__(self):
        self.edges = []
        self.n_nodes = 0

    def node(self, *neighbours):
        self.edges += [(self.n_nodes, neighbour) for neighbour in neighbours]
        self.n_nodes += 1
        return self.n_nodes - 1

    def branching(self, children_per_level):
        """A centre with that many children per node at each distance; last level too."""
        centre = self.node()
        level = [centre]
        for n_children in children_per_level:
            level = [self.node(parent) for parent in level for _ in range(n_children)]
        return centre, level


def toy_graph():
    """The graph and its three centres."""
    builder = Builder()
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


def centre_probabilities():
    graph, centres = toy_graph()
    return return_probabilities(graph, N_STEPS, nodes=centres)


def draw(path):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    steps = np.arange(1, N_STEPS + 1)
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    close_up = axes.inset_axes([0.3, 0.35, 0.5, 0.6])
    for number, values in enumerate(centre_probabilities(), start=1):
        for panel in (axes, close_up):
            panel.plot(steps, values, ".-", markersize=4, linewidth=1, label=f"$C_{number}$")
    close_up.set(xlim=(4.5, 14.5), ylim=(0.025, 0.085))
    axes.indicate_inset_zoom(close_up)
    axes.set(xlabel="steps s", ylabel="return probability $P^s(i, i)$", xscale="linear")
    axes.legend(loc="upper right")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "figure_1.png")
