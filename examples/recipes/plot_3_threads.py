"""
Social threads: what kind of conversation is this?
==================================================

A thread is a graph: people are nodes, and two are joined if one answered the other. In threads of questions and answers many
people answer one; in discussions they answer each other. No node has a label, and sizes are the same for both
kinds, so that structure alone can tell.

The threads are simulated. The collections REDDIT-BINARY and REDDIT-MULTI have real ones:
``load_tudataset("REDDIT-BINARY")``.
"""

# %%
# Threads
# -------

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from retgk import GraphClassifier, as_batch, plot

rng = np.random.default_rng(0)


def thread(kind):
    """People join one after the other; whom they answer depends on the kind."""
    graph = nx.Graph()
    graph.add_node(0)
    for person in range(1, rng.integers(25, 60)):
        weights = np.array([graph.degree(other) + 1.0 for other in graph])
        weights = weights**1.6 if kind == "questions" else weights**0.6
        graph.add_edge(person, int(rng.choice(len(weights), p=weights / weights.sum())))
        if rng.random() < 0.25:  # somebody comes back
            graph.add_edge(person, int(rng.integers(person)))
    graph.remove_edges_from(nx.selfloop_edges(graph))
    return graph


kinds = np.array(["questions", "discussion"] * 60)
threads = [thread(kind) for kind in kinds]
graphs = as_batch(threads)
print(graphs)

# %%
# Return probabilities of all nodes of one thread of each kind. Leaves of a star come back to themselves often; hubs
# seldom.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for axes, k in zip(panels, (0, 1), strict=True):
    plot.return_probability_curves(graphs[k], n_steps=20, ax=axes)
    axes.set_title(kinds[k])

# %%
# Check, beside a baseline
# ------------------------
# The baseline sees the number of nodes and edges and the largest degree, which for threads is a strong one.

from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score

outer = StratifiedKFold(5, shuffle=True, random_state=0)
scores = cross_val_score(GraphClassifier(random_state=0), graphs, kinds, cv=outer)
sizes = np.array([[len(g), g.size(), max(dict(g.degree).values())] for g in threads])
beside = cross_val_score(RandomForestClassifier(200, random_state=0), sizes, kinds, cv=outer)
print(f"RetGK {scores.mean():.2f}, sizes and largest degree {beside.mean():.2f}")

# %%
# Who makes it a discussion?
# --------------------------

model = GraphClassifier(random_state=0).fit(graphs[2:], kinds[2:])
found = model.explain(graphs[:2], target="discussion")
figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for k, axes in enumerate(panels):
    plot.explained_graph(graphs[k], found.of(k), ax=axes)
    axes.set_title(f"{kinds[k]}; decision for 'discussion' {found.decisions[k]:+.1f}")

# %%
# Threads like this one
# ---------------------
# ``most_similar`` compares one graph with all others; for a collection that is asked again and again build a
# ``GraphIndex``.

from retgk import most_similar

nearest = most_similar(graphs[0], graphs[1:], k=5)
print([str(kinds[1 + k]) for k in nearest.indices], nearest.similarities.round(3))
