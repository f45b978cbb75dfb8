"""
Clusters and maps of a collection
=================================

What kinds of graphs are there, and which are odd? No targets are needed: a kernel matrix, or vectors, go into whatever
scikit-learn has for clusters and maps. Digits as graphs have names that the clusters can be held against.
"""

# %%
# A collection
# ------------

import matplotlib.pyplot as plt
import numpy as np

from retgk import RetGK, plot
from retgk.datasets import load_digit_graphs
from retgk.kernels import Laplacian

digits = load_digit_graphs()
chosen = np.flatnonzero(np.isin(digits.targets, [0, 1, 2, 6]))[:160]
graphs, names = digits.graphs[chosen], digits.targets[chosen]

# %%
# Nodes know their brightness and their place, in units of the picture. Without targets nothing can be chosen by cross-validation, so say
# what you know: with ``gamma=4``, pixels a quarter of the picture apart are quite different.

kernel = RetGK(attributes=Laplacian(4.0), random_state=0)
matrix = kernel.fit_transform(graphs)

# %%
# A map
# -----
# The first two components of kernel PCA.

axes = plot.collection_map(matrix, names)

# %%
# Clusters
# --------
# Spectral clustering takes the kernel matrix as affinities, agglomerative clustering takes distances. The adjusted Rand index is 1
# for the true classes and 0 for random ones; in practice you would not have it.

from sklearn.cluster import AgglomerativeClustering, SpectralClustering
from sklearn.metrics import adjusted_rand_score

spectral = SpectralClustering(4, affinity="precomputed", random_state=0).fit_predict(matrix)
distances = kernel.distances()
tree = AgglomerativeClustering(4, metric="precomputed", linkage="average").fit_predict(distances)
for name, found in (("spectral", spectral), ("agglomerative", tree)):
    print(f"{name:14} adjusted Rand index {adjusted_rand_score(names, found):.2f}")

# %%

axes = plot.gram_heat_map(matrix, spectral)

# %%
# A typical graph of each cluster is the one nearest to all others of it.

figure, panels = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
for cluster, axes in enumerate(panels):
    members = np.flatnonzero(spectral == cluster)
    centre = members[np.argmin(distances[np.ix_(members, members)].sum(axis=1))]
    places = graphs[int(centre)].attributes[:, [2, 1]] * [1, -1]
    plot.graph_by_return_probability(graphs[int(centre)], 8, positions=places, ax=axes)
    axes.set_title(f"{len(members)} graphs; a {names[centre]}")

# %%
# Odd ones, and copies
# --------------------
# The graph whose nearest neighbour is farthest away is the oddest. Copies are found apart: they are common in real collections and
# make scores too good.

from retgk.search import duplicate_groups

nearest = np.sort(distances, axis=1)[:, 1]
print("oddest:", np.argsort(-nearest)[:3], "copies:", duplicate_groups(graphs))

# %%
# Larger collections
# ------------------
# Vectors take the place of the matrix; PCA, t-SNE, k-means and ``plot.collection_map`` take them as they are.

from sklearn.cluster import KMeans

from retgk.kernels import RetGKEmbedding

embedding = RetGKEmbedding(attributes=Laplacian(4.0), random_state=0)
vectors = embedding.fit_transform(graphs)
groups = KMeans(4, n_init=10, random_state=0).fit_predict(vectors)
print(f"k-means on vectors: adjusted Rand index {adjusted_rand_score(names, groups):.2f}")
