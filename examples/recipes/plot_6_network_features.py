"""
Features for a PyTorch Geometric network
========================================

Networks that pass messages cannot tell some nodes apart that walks can. Return probabilities are a positional encoding that mends this:
one more block of columns beside the features of nodes. ``retgk.pyg.AddReturnProbabilities`` adds them as a transform.

PyTorch is large and not needed for the rest of the library; where it is not installed, as where this page was built, the recipe shows the
arrays alone and the last part is not run.
"""

# %%
# What messages cannot see
# ------------------------
# Two triangles and a ring of six: every node has two neighbours, so that any number of rounds of refinement, and any network
# of messages, gives all nodes the same value. Walks in a triangle come back after three steps.

import networkx as nx
import numpy as np

from retgk import as_batch, return_probabilities
from retgk.kernels import refined_labels

triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
pair = as_batch([triangles, nx.cycle_graph(6)])
print("refined labels, three rounds:", np.unique(refined_labels(pair, 3)[:, -1]))
encoding = return_probabilities(pair, n_steps=5, self_loop=0)
print(encoding[[0, 6]].round(3))

# %%
# The arrays
# ----------
# One row for each node, graph after graph: cut by ``node_ptr``. ``self_loop=0`` is the plain walk, and gives what
# ``torch_geometric.transforms.AddRandomWalkPE`` gives, without a dense matrix.

rows = [encoding[a:b] for a, b in zip(pair.node_ptr[:-1], pair.node_ptr[1:], strict=True)]
print([block.shape for block in rows])

# %%
# Does it help? A linear model on mean and spread of the columns stands in for a network. It has to tell rings, in which everybody
# knows the next two on either side, from random graphs in which everybody has four neighbours too.

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sizes = [20 + k for k in range(30)]
rings = [nx.circulant_graph(n, [1, 2]) for n in sizes]
others = [nx.random_regular_graph(4, n, seed=n) for n in sizes]
graphs, y = as_batch(rings + others), np.repeat([0, 1], 30)


def pooled(columns):
    starts, counts = graphs.node_ptr[:-1], graphs.node_counts[:, None]
    mean = np.add.reduceat(columns, starts) / counts
    square = np.add.reduceat(columns**2, starts) / counts
    return np.hstack([mean, np.sqrt(np.maximum(square - mean**2, 0))])


degrees = np.diff(graphs.indptr)[:, None].astype(float)
walks = return_probabilities(graphs, n_steps=16, self_loop=0)
for name, columns in (("degrees", degrees), ("degrees and walks", np.hstack([degrees, walks]))):
    machine = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    print(f"{name:18} {cross_val_score(machine, pooled(columns), y, cv=5).mean():.2f}")

# %%
# In a network
# ------------
# As a transform of a data set, or of a ``Data`` object, before it goes to the loader.

from importlib.util import find_spec

if find_spec("torch_geometric"):
    from torch_geometric.nn import GINConv, global_mean_pool
    from torch_geometric.transforms import Compose

    from retgk.io import to_pyg
    from retgk.pyg import AddReturnProbabilities

    transform = Compose([AddReturnProbabilities(n_steps=16, self_loop=0)])
    data = [transform(item) for item in to_pyg(graphs)]
    print(data[0], GINConv, global_mean_pool)
else:
    print("PyTorch Geometric is not installed: this part was not run")
