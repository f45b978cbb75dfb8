"""Simulated populations of graphs for the benchmark of tests, with a difference and without."""

import numpy as np

from retgk.io import from_numpy

N_NODES = 20
DENSITY = 0.25


def symmetric(upper):
    upper = np.triu(upper, 1)
    return upper + upper.T


def edges(rng, probabilities):
    return symmetric((rng.random(probabilities.shape) < probabilities).astype(float))


def random_graph(rng, density=DENSITY, n_nodes=N_NODES):
    return edges(rng, np.full((n_nodes, n_nodes), density))


def batch_of(graphs):
    """Graphs as (matrix, labels), or with None for labels."""
    labels = [labels for _, labels in graphs]
    return from_numpy(
        [matrix for matrix, _ in graphs], labels=None if labels[0] is None else labels
    )


# without a difference: sizes and densities vary, as they do in real collections


def null_graph(rng, kind):
    n_nodes = int(rng.integers(10, 21))
    matrix = random_graph(rng, rng.uniform(0.15, 0.4), n_nodes)
    labels = rng.integers(3, size=n_nodes) if kind == "labels" else None
    if kind == "weights":
        matrix *= symmetric(rng.exponential(size=matrix.shape))
    return matrix, labels


# with a difference that grows with `effect`; nodes correspond


def denser(rng, effect):
    """More edges."""
    return random_graph(rng, DENSITY + effect), None


def rewired(rng, effect):
    """Ring lattices of which more edges are put elsewhere; as many edges."""
    ring = np.zeros((N_NODES, N_NODES))
    for node in range(N_NODES):
        for step in (1, 2):
            target = (node + step) % N_NODES
            while rng.random() < 0.2 + effect or ring[node, target] or target == node:
                target = int(rng.integers(N_NODES))
                if target != node and not ring[node, target]:
                    break
            ring[node, target] = ring[target, node] = 1.0
    return ring, None


def uneven(rng, effect):
    """One half of the nodes denser, the other sparser; about as many edges."""
    half = np.where(np.arange(N_NODES) < N_NODES // 2, effect, -effect)
    return edges(rng, DENSITY + (half[:, None] + half) / 2), None


def assortative(rng, effect):
    """Nodes of one label join more often; the shares of labels and the density stay."""
    labels = rng.permutation(np.arange(N_NODES) % 2)
    same = labels[:, None] == labels
    return edges(rng, np.where(same, DENSITY + effect, DENSITY - effect * 0.9)), labels


def clustered_weights(rng, effect):
    """Edges within two communities weigh more; edges and their mean weight stay."""
    community = np.arange(N_NODES) % 2
    same = community[:, None] == community
    weights = symmetric(rng.exponential(size=(N_NODES, N_NODES)))
    return random_graph(rng) * weights * np.where(same, 1 + effect, 1 - effect * 0.9), None


ALTERNATIVES = {
    "denser": (denser, (0.0, 0.01, 0.02, 0.03, 0.05)),
    "rewired": (rewired, (0.0, 0.05, 0.1, 0.15, 0.25)),
    "uneven": (uneven, (0.0, 0.06, 0.09, 0.12, 0.18)),
    "assortative": (assortative, (0.0, 0.04, 0.08, 0.12, 0.18)),
    "clustered weights": (clustered_weights, (0.0, 0.2, 0.4, 0.6, 0.8)),
}


# connectomes, and graphs of two sizes


def correlations(rng, signal, n_graphs, n_regions=60, n_planted=8, n_times=80):
    """Matrices of correlations, of which a network of regions shares a signal."""
    series = rng.normal(size=(n_graphs, n_times, n_regions))
    series[:, :, :n_planted] += signal * rng.normal(size=(n_graphs, n_times, 1))
    return np.array([np.corrcoef(each.T) for each in series])


SIZES = (50, 100)
DEGREE = 6


def regular(rng, n_nodes):
    """A random regular graph: a ring lattice whose edges are switched many times."""
    pairs = [(v, (v + step) % n_nodes) for v in range(n_nodes) for step in (1, 2, 3)]
    present = {frozenset(pair) for pair in pairs}
    for one, two, turned in rng.integers(len(pairs), size=(4 * len(pairs), 3)).tolist():
        (a, b), (c, d) = pairs[one], pairs[two][:: 1 - 2 * (turned % 2)]
        new = [frozenset((a, d)), frozenset((c, b))]
        if len({a, b, c, d}) == 4 and not present & set(new):
            present -= {frozenset(pairs[one]), frozenset(pairs[two])}
            present |= set(new)
            pairs[one], pairs[two] = (a, d), (c, b)
    found = np.zeros((n_nodes, n_nodes))
    found[tuple(np.array(pairs).T)] = 1.0
    return found + found.T


def weighted(rng, n_nodes):
    return regular(rng, n_nodes) * symmetric(rng.exponential(size=(n_nodes, n_nodes)))


def torus(rng, n_nodes):
    """A grid without a border, five or ten wide, with random weights."""
    width = n_nodes // 10
    place = np.arange(n_nodes).reshape(10, width)
    found = np.zeros((n_nodes, n_nodes))
    for axis in (0, 1):
        found[place.ravel(), np.roll(place, 1, axis).ravel()] = 1.0
    return (found + found.T) * symmetric(rng.exponential(size=found.shape))


OF_TWO_SIZES = {
    "random 6-regular": regular,
    "random of mean degree 6": lambda rng, n: random_graph(rng, DEGREE / (n - 1), n),
    "6-regular, random weights": weighted,
    "torus, random weights": torus,
}
