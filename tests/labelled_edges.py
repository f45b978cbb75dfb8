"""Graphs whose edges have labels drawn at random, the same in both directions."""

import numpy as np

from retgk import GraphBatch

NAMES = (("SINGLE", "DOUBLE", "AROMATIC"), (0, 1, 7), (-3, 2**40), ("a", ("b", 1)), (0.5, "x", 3))
"""Vocabularies: text, numbers, and what cannot be compared."""


def rows_of(graphs):
    """Row of every entry, numbered over the batch, and its column."""
    rows = graphs.edge_rows
    first = np.repeat(graphs.node_ptr[:-1], np.diff(graphs.node_ptr))
    return rows, graphs.indices + first[rows]


def with_random_edge_labels(graphs, names, seed):
    """Give every edge one of some names."""
    rows, columns = rows_of(graphs)
    ends = zip(np.minimum(rows, columns).tolist(), np.maximum(rows, columns).tolist(), strict=True)
    pairs, rng = list(ends), np.random.default_rng(seed)
    own = {pair: names[rng.integers(len(names))] for pair in sorted(set(pairs))}
    return graphs.with_edge_labels([own[pair] for pair in pairs])


def random_graphs(seed, names=NAMES[0], labelled=True, weighted=False, n_attributes=0):
    """Some graphs, isolated nodes and self-loops among them, with labels on their edges."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=rng.integers(1, 6))
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    nodes = rng.integers(0, sizes.sum(), size=12)
    ends = starts[nodes] + rng.integers(0, np.repeat(sizes, sizes)[nodes])
    pairs = np.unique(np.sort(np.stack([nodes, ends], axis=1), axis=1), axis=0)
    graphs = GraphBatch.from_edges(
        sizes,
        pairs,
        rng.integers(1, 9, len(pairs)) / 4 if weighted else None,
        labels=rng.integers(0, 3, sizes.sum()).tolist() if labelled else None,
        attributes=rng.integers(-5, 5, (sizes.sum(), n_attributes)) / 4 if n_attributes else None,
        symmetrize=True,
    )
    return with_random_edge_labels(graphs, names, seed)


def edge_label_values(graphs):
    """Label of every entry."""
    return [graphs.edge_label_names[code] for code in graphs.edge_labels.tolist()]
