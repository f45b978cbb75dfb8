"""Pictures of retgk.plot, and of a page of retgk.explore, for docs/gallery.md.

    python -m examples.gallery [folder]

Takes some seconds; needs no download.
"""

import io
import sys
import tempfile
from itertools import chain
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

from reproduction.figures import toy_graph
from retgk import GraphBatch, GraphClassifier, RetGK, Walks, explore, plot, two_sample_test
from retgk.datasets import load_digit_graphs
from retgk.kernels import ExponentialGraphKernel
from tests.explorer_pages import HAS_BROWSER, chromium

FOLDER = Path(__file__).parent.parent / "docs" / "gallery"


def digit_places(graph):
    """Where the pixels of a digit are."""
    return graph.attributes[:, [2, 1]] * [1, -1]


def explained_house():
    """Nodes of a ring with a house, as a model sees them that tells such rings from others."""
    rings = [(ring_with(n, has_house), has_house) for n in range(8, 20) for has_house in (0, 1)]
    graphs, classes = zip(*rings, strict=True)
    batch = GraphBatch.concatenate(graphs)
    model = GraphClassifier(RetGK(walks=Walks(20)), cv=3, random_state=0).fit(batch, classes)
    graph = ring_with(13, 1)
    return plot.explained_graph(graph, model.explain(graph, 1).of(0))


def ring_with(n_nodes, has_house):
    """A ring that a house hangs on, or a path of as many nodes."""
    house = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)]
    own = house if has_house else [(k, k + 1) for k in range(4)]
    edges = [(k, (k + 1) % n_nodes) for k in range(n_nodes)]
    edges += [(n_nodes + a, n_nodes + b) for a, b in own] + [(0, n_nodes + 3)]
    return GraphBatch.from_edges(n_nodes + 5, edges, symmetrize=True)


def pictures_of_graphs():
    graph, centres = toy_graph()
    names = ["$C_1$", "$C_2$", "$C_3$"]
    yield "curves", plot.return_probability_curves(graph, centres, n_steps=40, labels=names)
    yield "graph", plot.graph_by_return_probability(graph, step=6)
    digit = load_digit_graphs().graphs[0]
    yield "explained", explained_house()
    yield "digit", plot.graph_by_return_probability(digit, step=8, positions=digit_places(digit))


def pictures_of_a_collection():
    digits = load_digit_graphs()
    chosen = np.flatnonzero(np.isin(digits.targets, [0, 1, 2, 6]))[:120]
    graphs, targets = digits.graphs[chosen], digits.targets[chosen]
    kernel = RetGK(graph_kernel=ExponentialGraphKernel(p=2), random_state=0)
    matrix = kernel.fit_transform(graphs)
    yield "heat_map", plot.gram_heat_map(matrix, targets)
    yield "map", plot.collection_map(matrix, targets)
    predicted = cross_val_predict(SVC(C=100, kernel="precomputed"), matrix, targets, cv=10)
    yield "confusion", plot.confusion_matrix(targets, predicted)


def picture_of_a_test():
    digits = load_digit_graphs()
    sides = [digits.graphs[np.flatnonzero(digits.targets == digit)[:12]] for digit in (3, 5)]
    result = two_sample_test(*sides, scale_attributes="drop", rng=0)
    yield "permutations", plot.permutation_distribution(result)


def save_explorer(path):
    """Write the page of the digits, as a browser shows it."""
    digits = load_digit_graphs()
    model = GraphClassifier(random_state=0).fit(digits.graphs[::2], digits.targets[::2])
    places = digits.graphs.attributes[:, [2, 1]]
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = explore(digits, model=model, positions=places).save(Path(folder) / "digits.html")
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{file.as_uri()}#graph-1553")
        page.wait_for_selector("html[data-ready]")
        page.wait_for_timeout(500)
        save_quantized(page.screenshot(), path)


def save_small(axes, path):
    """Write a picture of Matplotlib."""
    buffer = io.BytesIO()
    axes.figure.savefig(buffer, format="png", dpi=100)
    plt.close(axes.figure)
    save_quantized(buffer.getvalue(), path)


def save_quantized(picture, path):
    """Write a picture with 200 colours, a third of the size."""
    with Image.open(io.BytesIO(picture)) as image:
        few = image.convert("RGB").quantize(200, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def main(folder=FOLDER):
    mpl.use("Agg")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, axes in chain(pictures_of_graphs(), pictures_of_a_collection(), picture_of_a_test()):
        save_small(axes, Path(folder) / f"{name}.png")
    if HAS_BROWSER:
        save_explorer(Path(folder) / "explorer.png")
    else:
        print("explorer.png is not drawn: that needs Chromium and playwright (make browser)")


if __name__ == "__main__":
    main(*sys.argv[1:])
