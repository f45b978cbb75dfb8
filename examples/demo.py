"""The main job on data that needs no download: tell handwritten digits apart as graphs.

    make demo

Each digit is a graph: bright pixels are nodes, neighbouring pixels are joined, and a node knows
its brightness and its place. Everything is printed or written into demo-output/.
"""

import time
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from retgk import GraphClassifier, RetGK, explore, load_model, most_similar, plot, save_model
from retgk._runtime.parallel import progress_bar
from retgk.datasets import load_digit_graphs

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
OUTPUT = Path("demo-output")
SHADES = " ░▒▓█"
console = Console(highlight=False)


def main(output=OUTPUT, n_graphs=None):
    mpl.use("Agg")
    start = time.perf_counter()
    digits = load_digit_graphs()
    graphs, targets = digits.graphs[:n_graphs], digits.targets[:n_graphs]
    console.print(
        f"[bold]{len(graphs):,} handwritten digits as graphs[/]: {graphs.n_nodes:,} nodes, "
        f"{graphs.n_edges:,} edges\n"
    )
    predicted, model, test = cross_validated(graphs, targets)
    show_accuracy(predicted, graphs, targets)
    show_similar(graphs, targets, query=0)
    output.mkdir(parents=True, exist_ok=True)
    show_model(model, graphs[test], targets[test], output / "digits.retgk")
    draw(graphs, targets, predicted, output)
    write_page(graphs, targets, predicted, model, output / "digits.html")
    console.print(f"\n{time.perf_counter() - start:.0f} seconds. Next: README.md, docs/gallery.md")


def cross_validated(graphs, targets):
    """Predictions by models that did not see the graph; the last model and its test graphs."""
    predicted = np.empty_like(targets)
    splits = list(FOLDS.split(graphs, targets))
    with progress_bar("5-fold cross-validation", len(splits)) as advance:
        for train, test in splits:
            model = GraphClassifier(random_state=0).fit(graphs[train], targets[train])
            predicted[test] = model.predict(graphs[test])
            advance(1)
    return predicted, model, test


def show_accuracy(predicted, graphs, targets):
    baseline = cross_val_score(
        LogisticRegression(max_iter=5000), mean_attributes(graphs), targets, cv=FOLDS
    )
    table = Table("5-fold cross-validation", "sees edges", "correct")
    table.add_row("GraphClassifier()", "yes", f"[bold]{np.mean(predicted == targets):.1%}[/]")
    table.add_row("logistic regression on mean attributes", "no", f"{baseline.mean():.1%}")
    console.print(table)


def mean_attributes(graphs):
    """A baseline that sees no edge: mean and spread of each attribute over the nodes."""
    starts, sizes = graphs.node_ptr[:-1], graphs.node_counts[:, None]
    mean = np.add.reduceat(graphs.attributes, starts) / sizes
    square = np.add.reduceat(graphs.attributes**2, starts) / sizes
    return np.hstack([mean, np.sqrt(np.maximum(square - mean**2, 0))])


def show_similar(graphs, targets, query):
    """One digit, and the four most similar to it among all others."""
    found = most_similar(graphs[query], graphs, k=5)
    table = Table("query", *[f"{value:.3f}" for value in found.similarities[1:]], box=None)
    table.add_row(*[picture(graphs[int(i)]) for i in found.indices])
    table.add_row(*[f"{targets[i]} (graph {i})" for i in found.indices])
    console.print("\n[bold]most similar graphs[/], by retgk.most_similar")
    console.print(table)


def picture(graph):
    """The pixels of a digit, in characters."""
    rows = np.full((8, 8), " ")
    brightness, row, column = graph.attributes.T
    shades = np.array(list(SHADES))[(brightness * (len(SHADES) - 1)).round().astype(int)]
    rows[(7 * row).round().astype(int), (7 * column).round().astype(int)] = shades
    return "\n".join("".join(2 * character for character in row) for row in rows)


def show_model(model, graphs, targets, path):
    """Save the last model of the cross-validation, load it, and predict with it."""
    save_model(model, path)
    loaded = load_model(path)
    same = np.array_equal(loaded.predict_proba(graphs), model.predict_proba(graphs))
    console.print(
        f"\n[bold]model file[/] {path} ({path.stat().st_size / 1e6:.1f} MB of arrays and JSON)\n"
        f"loaded again it is {loaded.score(graphs, targets):.1%} correct on {len(graphs)} graphs "
        "that it was not trained on;\nits probabilities are "
        f"{'the same to the last bit' if same else 'DIFFERENT from those before'}"
    )


def draw(graphs, targets, predicted, output):
    few, few_targets = graphs[:400], targets[:400]
    matrix = RetGK(random_state=0).fit_transform(few)
    places = graphs[0].attributes[:, [2, 1]] * [1, -1]
    pictures = {
        "confusion.png": plot.confusion_matrix(targets, predicted),
        "map.png": plot.collection_map(matrix, few_targets),
        "kernel.png": plot.gram_heat_map(matrix, few_targets),
        "digit.png": plot.graph_by_return_probability(graphs[0], 8, positions=places),
        "curves.png": plot.return_probability_curves(graphs[0]),
    }
    for name, axes in pictures.items():
        axes.figure.savefig(output / name, dpi=120)
        plt.close(axes.figure)
    console.print(f"\n[bold]figures[/] in {output}: {', '.join(pictures)}")


def write_page(graphs, targets, predicted, model, path):
    """One interactive page: map, drawings, neighbours, predictions, shares of nodes."""
    page = explore(
        graphs,
        targets,
        model=model,
        predicted=predicted,
        positions=graphs.attributes[:, [2, 1]],
        title="Handwritten digits as graphs",
    ).save(path)
    console.print(
        f"\n[bold]the collection to look at[/]: open {page.resolve()} in a browser "
        f"({page.stat().st_size / 1e6:.1f} MB, needs no network)"
    )


if __name__ == "__main__":
    main()
