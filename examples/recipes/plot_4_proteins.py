"""
Proteins with attributes: labels and numbers on every node
==========================================================

A protein as a graph: helices, sheets and turns are nodes, joined where they are neighbours along the chain or in space. The kind is a
label, length and hydrophobicity are attributes. Which of these does a model need?

The proteins are simulated: one fold is a bundle of long helices, the other alternates helices and sheets, and noise is
large. With ``RETGK_DATA_HOME`` at a folder of the TUDataset collections, use
``load_tudataset("ENZYMES")`` or ``"PROTEINS"``, which have labels and attributes of this kind.
"""

# %%
# Graphs with labels and attributes
# ---------------------------------

import networkx as nx
import numpy as np

from retgk import GraphClassifier, RetGK, as_batch

rng = np.random.default_rng(0)


def protein(fold):
    """A chain of elements with some contacts in space."""
    n = int(rng.integers(12, 25))
    graph = nx.path_graph(n)
    for k in range(n):
        is_helix = rng.random() < (0.6 if fold == "bundle" else 0.45)
        kind = "turn" if k % 3 == 2 else "helix" if is_helix else "sheet"
        length = rng.normal(16 if fold == "bundle" and kind == "helix" else 10, 4)
        graph.add_node(k, kind=kind, length=length, hydrophobicity=rng.normal(0, 100))
        if k >= 3 and rng.random() < 0.5:
            graph.add_edge(k, k - 3)
    return graph


folds_of = np.array(["bundle", "alternating"] * 50)
proteins = [protein(fold) for fold in folds_of]
graphs = as_batch(proteins, label="kind", attributes=["length", "hydrophobicity"])
print(graphs)

# %%
# What is needed?
# ---------------
# The same folds with structure alone, with labels, and with labels and attributes. The two attributes have quite different
# spreads; the classifier tries them raw, standardised and not at all, on the training graphs.

from sklearn.model_selection import StratifiedKFold, cross_val_score

outer = StratifiedKFold(5, shuffle=True, random_state=0)
inputs = {
    "structure": graphs.without_labels().without_attributes(),
    "labels": graphs.without_attributes(),
    "labels, attributes": graphs,
}
candidates = {**RetGK.usual_candidates, "depth": (0, 1)}
model = GraphClassifier(C=(1, 10, 100), candidates=candidates, cv=3, random_state=0)
for name, batch in inputs.items():
    scores = cross_val_score(model, batch, folds_of, cv=outer)
    print(f"{name:20} {scores.mean():.2f} (deviation over folds {scores.std():.2f})")

# %%
# What was chosen
# ---------------

model.fit(graphs, folds_of)
print(model.best_params_)

# %%
# Several domains
# ---------------
# Blocks of attributes may have kernels of their own, which multiply: here a length counts by its difference, and hydrophobicity
# by a wider Gaussian. Numbers in different units should not share one bandwidth.

from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from retgk.kernels import Gaussian, Laplacian

blocks = {"length": (slice(0, 1), Laplacian(0.2)), "water": (slice(1, 2), Gaussian(1e-5))}
kernel = RetGK(attributes=blocks, random_state=0)
pipeline = make_pipeline(kernel, SVC(kernel="precomputed", C=10))
scores = cross_val_score(pipeline, graphs, folds_of, cv=outer)
print(f"two domains          {scores.mean():.2f} (deviation over folds {scores.std():.2f})")

# %%
# Explain
# -------

import matplotlib.pyplot as plt

from retgk import plot

found = model.explain(graphs[:2], target="bundle")
figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for k, axes in enumerate(panels):
    plot.explained_graph(graphs[k], found.of(k), ax=axes)
    axes.set_title(f"{folds_of[k]}; decision for 'bundle' {found.decisions[k]:+.1f}")
