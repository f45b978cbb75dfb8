"""Drawings of the guide and of "How it is fast": computed with the library, or from records.

python docs/drawings.py [FOLDER]
"""

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from reproduction.figures import toy_graph
from retgk import GraphBatch, RetGK, plot, return_probabilities
from retgk.datasets import load_digit_graphs
from retgk.kernels import Laplacian, RetGKEmbedding

RECORDS = Path(__file__).parent.parent / "benchmarks" / "records"
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#999999"
STYLE = {
    "figure.dpi": 110,
    "savefig.bbox": "tight",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def read_records(name):
    lines = (RECORDS / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def figure_1():
    """The toy graph of the paper's Figure 1, and the curves of its centres."""
    graph, centres = toy_graph()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    plot.graph_by_return_probability(graph, step=6, ax=left)
    left.set_title("coloured by the probability of a return in 6 steps")
    places = plot.node_positions(graph)
    for name, centre in zip(("$C_1$", "$C_2$", "$C_3$"), centres, strict=True):
        left.annotate(name, places[centre], (7, 7), textcoords="offset points", fontsize=13,
                      bbox={"fc": "white", "ec": "none", "pad": 1, "alpha": 0.8})  # fmt: skip
    names = ["$C_1$", "$C_2$", "$C_3$"]
    plot.return_probability_curves(graph, centres, n_steps=40, labels=names, ax=right)
    right.set_title("three nodes of equal degree")
    return figure


def path_matrix(n_nodes):
    matrix = np.eye(n_nodes) + np.eye(n_nodes, k=1) + np.eye(n_nodes, k=-1)
    degrees = matrix.sum(axis=1)
    return matrix / np.sqrt(np.outer(degrees, degrees))


def half_powers():
    """B^h e_i on a path: its squared length is the return probability after 2 h steps."""
    n_nodes, n_halves = 21, 6
    B = path_matrix(n_nodes)
    rows = [np.eye(n_nodes)[n_nodes // 2]]
    for _ in range(n_halves - 1):
        rows.append(B @ rows[-1])
    rows = np.array(rows)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.5, 3), layout="constrained", width_ratios=(1.5, 1)
    )
    left.imshow(rows, cmap="Blues", vmax=0.6, aspect="auto")
    left.set(xlabel="node", ylabel="$h$ (products)", title="$B^h e_i$: a vector that spreads")
    squares = (rows**2).sum(axis=1)
    between = (rows[1:] * rows[:-1]).sum(axis=1)
    right.bar(2 * np.arange(n_halves), squares, 0.8, color=BLUE, label=r"$|B^h e_i|^2$")
    right.bar(
        2 * np.arange(1, n_halves) - 1, between, 0.8, color=ORANGE,
        label=r"$\langle B^{h-1} e_i, B^h e_i\rangle$",
    )  # fmt: skip
    powers = [np.linalg.matrix_power(B, s)[10, 10] for s in range(2 * n_halves - 1)]
    right.plot(powers, "k.", ms=4, label="$P^s(i, i)$, all products")
    right.set(xlabel="steps $s$", title="ten steps from five products")
    right.legend(frameon=False, fontsize=9)
    return figure


def twins():
    """Leaves of a star, and members of a clique, are one node to a walk."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
    leaves = [(-1.6, y) for y in (-1, -0.33, 0.33, 1)]
    clique = [(1.3, -0.7), (1.3, 0.7), (2.2, 0)]
    hub, bridge = (-0.6, 0), (0.4, 0)
    lines = [(hub, leaf) for leaf in leaves] + [(hub, bridge)]
    lines += [(bridge, node) for node in clique]
    lines += [(clique[a], clique[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    draw_lines(left, lines, [(leaves, ORANGE), (clique, BLUE), ([hub, bridge], GREY)])
    left.set_title("four open twins, three closed twins")
    merged = [((-1.6, 0), hub), (hub, bridge), (bridge, (1.5, 0))]
    draw_lines(right, merged, [([(-1.6, 0)], ORANGE), ([(1.5, 0)], BLUE), ([hub, bridge], GREY)])
    for place, text in (((-1.6, 0.25), "4"), ((1.5, 0.25), "3")):
        right.annotate(text, place, ha="center", fontsize=12)
    right.set_title("the quotient: four nodes to walk on in place of nine")
    return figure


def draw_lines(axes, lines, groups):
    for a, b in lines:
        axes.plot(*zip(a, b, strict=True), color="#444444", lw=1.2, zorder=1)
    for places, colour in groups:
        axes.scatter(*zip(*places, strict=True), s=170, color=colour, edgecolor="k", zorder=2)
    axes.set(xlim=(-2.2, 2.7), ylim=(-1.3, 1.3))
    axes.axis("off")


def distinct_nodes():
    """Share of nodes that are left once equal ones are merged, from the records."""
    records = [r for r in read_records("retgk1") if r["tol"] == 1e-4]
    names = [", ".join(filter(None, (r["set"], r["uses"]))) for r in records]
    shares = [r["distinct"] / r["nodes"] for r in records]
    order = np.argsort(shares)
    figure, axes = plt.subplots(figsize=(8, 0.27 * len(order) + 0.9), layout="constrained")
    axes.barh([names[k] for k in order], [100 * shares[k] for k in order], color=BLUE)
    axes.axvline(100, color=GREY, lw=1)
    axes.set(xlabel="distinct points in % of nodes, at tol = 1e-4")
    return figure


def tiles():
    """All pairs of nodes, by label and by graph; a tile runs across the borders of graphs."""
    rng = np.random.default_rng(3)
    labels, graphs = np.array([12, 8, 5]), 4
    n = labels.sum()
    figure, axes = plt.subplots(figsize=(5.6, 4.6), layout="constrained")
    start = 0
    for count, colour in zip(labels, (BLUE, ORANGE, "#009E73"), strict=True):
        axes.add_patch(Rectangle((start, start), count, count, color=colour, alpha=0.25, lw=0))
        cuts = start + np.sort(rng.choice(np.arange(1, count), graphs - 1, replace=False))
        for cut in cuts:
            axes.plot([cut, cut], [start, start + count], color=colour, lw=0.8)
            axes.plot([start, start + count], [cut, cut], color=colour, lw=0.8)
        start += count
    for row in range(0, 12, 4):
        for column in range(row, 12, 4):
            axes.add_patch(Rectangle((column, row), 4, 4, fill=False, lw=1.8))
    axes.text(
        18.5, 5, "labels differ:\nkernel is zero,\nnothing is computed", ha="center", va="center"
    )
    axes.annotate("a tile, across\nborders of graphs", (10, 2), (14, 0.2), fontsize=9,
                  arrowprops={"arrowstyle": "->"}, va="top")  # fmt: skip
    axes.set(xlim=(0, n), ylim=(n, 0), aspect="equal", xticks=[], yticks=[])
    axes.set_xlabel("distinct nodes, sorted by label, then by graph")
    for side in axes.spines.values():
        side.set_visible(True)
    return figure


def tolerance():
    """What `tol` promises, and the largest error that was seen."""
    records = read_records("tolerance")
    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    tols = sorted({r["tol"] for r in records if r["tol"] > 0})
    axes.fill_between(tols, 1e-15, tols, color=BLUE, alpha=0.12, lw=0)
    axes.plot(tols, tols, color=BLUE, label="promised")
    found = [(r["tol"], max(r["largest_error"], 1e-15)) for r in records if r["tol"] > 0]
    axes.scatter(*zip(*found, strict=True), s=18, color=ORANGE, label="largest error seen, per set")
    axes.set(xscale="log", yscale="log", xlabel="tol", ylabel="error of an inner product",
             ylim=(1e-15, 1e-1))  # fmt: skip
    axes.legend(frameon=False, loc="lower right")
    return figure


def collisions():
    """Errors of the two Monte Carlo estimators with as many walks."""
    rng = np.random.default_rng(0)
    edges = np.array(
        [(k, rng.integers(k)) for k in range(1, 200)] + list(rng.integers(200, size=(150, 2)))
    )
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    graph = GraphBatch.from_edges(200, edges, symmetrize=True)
    exact = return_probabilities(graph)
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    kinds = (
        ("monte-carlo-returns", "returns (the paper's)", GREY),
        ("monte-carlo", "meetings", BLUE),
    )
    for method, name, colour in kinds:
        runs = [
            return_probabilities(graph, method=method, n_walks=200, rng=seed) - exact
            for seed in range(10)
        ]
        axes.plot(
            np.arange(1, 51),
            np.sqrt(np.mean(np.square(runs), axis=(0, 1))),
            color=colour,
            label=name,
        )
    axes.set(
        yscale="log", ylim=(2e-4, 1e-1), xlabel="steps $s$", ylabel="root mean square error",
        title="200 walks a node; meetings are exact up to step 4",
    )  # fmt: skip
    axes.legend(frameon=False)
    return figure


def convergence():
    """Vectors against the exact kernel, by their number of columns."""
    graphs = load_digit_graphs().graphs[:60]
    kernel = Laplacian(5.0)
    exact = RetGK(structure=kernel, random_state=0).fit(graphs).inner_products_
    widths = [64, 128, 256, 512, 1024, 2048]
    errors = []
    for width in widths:
        own = []
        for seed in range(12):
            embedding = RetGKEmbedding(n_components=width, structure=kernel, random_state=seed)
            vectors = embedding.fit_transform(graphs)
            own.append(np.sqrt(np.mean((vectors @ vectors.T - exact) ** 2)))
        errors.append(np.mean(own))
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    axes.plot(widths, errors, "o-", color=BLUE, label="60 digit graphs, mean of 12 seeds")
    axes.plot(
        widths,
        errors[0] * np.sqrt(widths[0] / np.array(widths)),
        "--",
        color=GREY,
        label=r"$\propto 1/\sqrt{D}$",
    )
    axes.set(xscale="log", yscale="log", xlabel="columns $D$", ylabel="error of inner products")
    axes.set_xticks(widths, widths)
    axes.minorticks_off()
    axes.legend(frameon=False)
    return figure


def mean_embedding():
    """From walks to a distance of two graphs, in one picture."""
    rng = np.random.default_rng(1)
    figure, panels = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (2, 0.5)])
    lines = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (2, 4)]
    for a, b in lines:
        panels[0].plot(*square[[a, b]].T, color="#444444", lw=1.2, zorder=1)
    graph = GraphBatch.from_edges(5, lines, symmetrize=True)
    panels[0].scatter(
        *square.T, s=260, c=return_probabilities(graph, 2)[:, 1], edgecolor="k", zorder=2
    )
    panels[0].set(
        title="1  probability to be back,\nfor every node and step",
        xlim=(-0.4, 2.4),
        ylim=(-0.5, 1.5),
    )
    panels[0].axis("off")
    means = []
    for colour, centre in ((BLUE, (0.3, 0.6)), (ORANGE, (0.7, 0.35))):
        points = rng.normal(centre, 0.12, (9, 2))
        means.append(points.mean(axis=0))
        panels[1].scatter(*points.T, s=30, color=colour, alpha=0.45)
        panels[1].scatter(*means[-1], s=160, color=colour, edgecolor="k", marker="s")
    panels[1].plot(*np.array(means).T, "k--", lw=1.2)
    panels[1].annotate("MMD", np.mean(means, axis=0), (4, 8), textcoords="offset points")
    panels[1].set(
        title="2  mean of the nodes' features,\na point for each graph", xticks=[], yticks=[]
    )
    distances = np.linspace(0, 3)
    for p, colour in ((1, BLUE), (2, ORANGE)):
        panels[2].plot(distances, np.exp(-(distances**p)), color=colour, label=f"$p = {p}$")
    panels[2].set(
        title=r"3  kernel $\exp(-\gamma\,\mathrm{MMD}^p)$",
        xlabel="distance by median",
        ylim=(0, 1.05),
    )
    panels[2].legend(frameon=False)
    return figure


DRAWINGS = (
    figure_1, mean_embedding, half_powers, twins, distinct_nodes, tiles, tolerance, collisions,
    convergence,
)  # fmt: skip


def draw_all(folder):
    """Draw what is not there yet, or is older than this file."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    changed = max(
        Path(__file__).stat().st_mtime, *(path.stat().st_mtime for path in RECORDS.glob("*.jsonl"))
    )
    with mpl.rc_context(STYLE):
        for draw in DRAWINGS:
            path = folder / f"{draw.__name__}.png"
            if not path.exists() or path.stat().st_mtime < changed:
                figure = draw()
                figure.savefig(path)
                plt.close(figure)


if __name__ == "__main__":
    draw_all(*sys.argv[1:] or [Path(__file__).parent / "_drawings"])
