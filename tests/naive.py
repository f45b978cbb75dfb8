"""The paper, slowly and obviously: the oracle for everything. Shares no code with the package."""

from collections import Counter
from itertools import combinations, permutations
from math import prod

import numpy as np


def dense_adjacency(batch, graph):
    """Weighted adjacency matrix of one graph of a batch."""
    first, last = batch.node_ptr[graph], batch.node_ptr[graph + 1]
    matrix = np.zeros((last - first, last - first))
    for node in range(first, last):
        for entry in range(batch.indptr[node], batch.indptr[node + 1]):
            matrix[node - first, batch.indices[entry]] = batch.weights[entry]
    return matrix


def return_probabilities(adjacency, n_steps, self_loop="mean"):
    """P^s(i, i) for s = 1..S with P = D^-1 (A + self_loop I): S matrix products (section 3)."""
    if self_loop == "mean":
        self_loop = adjacency[adjacency > 0].mean() if adjacency.any() else 1.0
    weights = adjacency + self_loop * np.eye(len(adjacency))
    degrees = weights.sum(axis=1)
    transition = weights / np.where(degrees == 0, 1, degrees)[:, None]
    transition[degrees == 0] = np.eye(len(adjacency))[degrees == 0]  # nowhere to go: stays
    power, probabilities = np.eye(len(adjacency)), []
    for _ in range(n_steps):
        power = power @ transition
        probabilities.append(np.diag(power).copy())
    return np.stack(probabilities, axis=1)


def return_probabilities_of_batch(batch, n_steps, self_loop="mean"):
    """Return probabilities of all graphs of a batch, one after the other."""
    return np.concatenate(
        [
            return_probabilities(dense_adjacency(batch, graph), n_steps, self_loop)
            for graph in range(len(batch))
        ]
    )


def laplacian(x, y, gamma):
    """Laplacian kernel exp(-gamma |x - y|_2) of two vectors."""
    return np.exp(-gamma * np.sqrt(np.sum((x - y) ** 2)))


def matern(x, y, gamma):
    """Matern kernel of smoothness 3/2, (1 + t) exp(-t) with t = sqrt(3) gamma |x - y|_2."""
    t = np.sqrt(3 * np.sum((x - y) ** 2)) * gamma
    return (1 + t) * np.exp(-t)


def mean_embedding_product(first, second, kernel):
    """<m_G, m_H> = mean of the node kernel over all pairs of nodes (section 4)."""
    return np.mean([[kernel(a, b) for b in second] for a in first])


def mean_embedding_gram(graphs, kernel):
    """Inner products of all pairs of graphs, each a list of nodes."""
    return np.array([[mean_embedding_product(g, h, kernel) for h in graphs] for g in graphs])


def squared_mmd(gram):
    """MMD^2 from inner products (section 4.1)."""
    norms = np.diag(gram)
    return norms[:, None] + norms[None, :] - 2 * gram


def gaussian(x, y, gamma):
    """Gaussian kernel exp(-gamma |x - y|_2^2) of two vectors."""
    return np.exp(-gamma * np.sum((x - y) ** 2))


def fourier_features(x, frequencies, phases):
    """sqrt(2/D) cos(omega^T x + b), one omega after the other (section 5.1)."""
    scale = np.sqrt(2 / len(phases))
    return np.array(
        [
            scale * np.cos(np.dot(omega, x) + b)
            for omega, b in zip(frequencies.T, phases, strict=True)
        ]
    )


def tensor_embedding(graph, n_labels, maps):
    """m_hat_G = 1/n sum_i e(label_i) o phi_0(p_i) o phi_1(a_i), by numpy.kron (equation 10).

    A label of -1 has no one-hot vector: its node adds nothing.
    """
    total = 0.0
    for p, label, a in zip(*graph, strict=True):
        one_hot = np.arange(n_labels) == label
        features = fourier_features(p, *maps[0])
        if len(maps) == 2:
            features = np.kron(features, fourier_features(a, *maps[1]))
        total = total + np.kron(one_hot.astype(float), features)
    return total / len(graph[1])


def quarter_turns(keys, n_frequencies):
    """Phases of labels, in quarters of a turn: two bits of SplitMix64 for each frequency."""
    steps = np.arange(1, -(-n_frequencies // 32) + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        bits = np.asarray(keys, np.uint64)[:, None] + steps * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    turns = (bits[..., None] >> (2 * np.arange(32, dtype=np.uint64))) & np.uint64(3)
    return turns.reshape(len(bits), -1)[:, :n_frequencies].astype(int)


def refined_labels(batch, depth):
    """Colours of all nodes after 0..depth rounds: own colour and those of the neighbours."""
    names = [batch.label_names[code] for code in batch.labels] if batch.has_labels else None
    colours = [names or [0] * batch.n_nodes]
    first = np.repeat(batch.node_ptr[:-1], np.diff(batch.node_ptr))
    for _ in range(depth):
        before = colours[-1]
        entries = [range(batch.indptr[v], batch.indptr[v + 1]) for v in range(batch.n_nodes)]
        rows = [
            [(batch.edge_labels[e], before[first[v] + batch.indices[e]]) for e in entries[v]]
            for v in range(batch.n_nodes)
        ]
        colours.append([(before[v], tuple(sorted(rows[v]))) for v in range(batch.n_nodes)])
    return colours


def refined_gram(batch, n_steps, gamma, depth, weights=None):
    """Inner products of mean embeddings with k_0 times the weighted mean over matching levels."""
    weights = np.ones(depth + 1) if weights is None else np.asarray(weights, float)
    features = return_probabilities_of_batch(batch, n_steps)
    colours = refined_labels(batch, depth)

    def node_kernel(v, u):
        same = [level[v] == level[u] for level in colours]
        return laplacian(features[v], features[u], gamma) * (weights @ same) / weights.sum()

    nodes = [range(a, b) for a, b in zip(batch.node_ptr, batch.node_ptr[1:], strict=False)]
    return np.array(
        [[np.mean([[node_kernel(v, u) for u in h] for v in g]) for h in nodes] for g in nodes]
    )


def weisfeiler_lehman_gram(batch, depth, is_assignment):
    """Sum over all colours of all rounds of n_c(G) n_c(H), or of the smaller of the two."""
    levels = refined_labels(batch, depth)
    histograms = [
        Counter((h, level[v]) for h, level in enumerate(levels) for v in range(first, last))
        for first, last in zip(batch.node_ptr[:-1], batch.node_ptr[1:], strict=True)
    ]

    def kernel(g, h):
        return sum(min(g[c], h[c]) if is_assignment else g[c] * h[c] for c in g.keys() & h.keys())

    return np.array([[kernel(g, h) for h in histograms] for g in histograms], float)


def path_lengths(adjacency):
    """Lengths of shortest paths by Floyd and Warshall; infinite where there is none."""
    lengths = np.where(adjacency > 0, adjacency, np.inf)
    np.fill_diagonal(lengths, 0.0)
    for node in range(len(lengths)):
        lengths = np.minimum(lengths, lengths[:, [node]] + lengths[node])
    return lengths


def shortest_path_gram(batch, node_kernel):
    """Sum over ordered pairs of nodes of equal, finite distance of the kernels of their ends."""
    graphs = [range(a, b) for a, b in zip(batch.node_ptr[:-1], batch.node_ptr[1:], strict=True)]
    lengths = [path_lengths(dense_adjacency(batch, g)) for g in range(len(graphs))]
    paths = [
        [(nodes[i], nodes[j], d[i, j]) for i in range(len(d)) for j in range(len(d)) if i != j]
        for nodes, d in zip(graphs, lengths, strict=True)
    ]

    def kernel(g, h):
        return sum(
            node_kernel(u, w) * node_kernel(v, x)
            for u, v, d in g
            for w, x, e in h
            if np.isfinite(d) and np.isclose(d, e, rtol=1e-12)
        )

    return np.array([[kernel(g, h) for h in paths] for g in paths], float)


def is_connected(adjacency):
    """Whether every node is reached from the first."""
    return bool(
        (np.linalg.matrix_power(np.eye(len(adjacency)) + adjacency, len(adjacency))[0] > 0).all()
    )


def subgraph_matching_gram(batch, k, node_kernel, edge_kernel, connected=True, size_weights=None):
    """Sum over all one-to-one maps from up to k nodes of one graph to nodes of another.

    `edge_kernel` takes the weights of two edges and their labels.
    """
    graphs = [range(a, b) for a, b in zip(batch.node_ptr[:-1], batch.node_ptr[1:], strict=True)]
    matrices = [dense_adjacency(batch, g) for g in range(len(graphs))]
    labels = [edge_label_matrix(batch, g) for g in range(len(graphs))]
    weights = np.ones(k) if size_weights is None else size_weights

    def value(g, h, own, others):
        pairs = list(combinations(range(len(own)), 2))
        total = prod(
            node_kernel(graphs[g][u], graphs[h][x]) for u, x in zip(own, others, strict=True)
        )
        for i, j in pairs:
            edge, other = (own[i], own[j]), (others[i], others[j])
            if (matrices[g][edge] > 0) != (matrices[h][other] > 0):
                return 0.0
            if matrices[g][edge] > 0:
                values = (
                    (m[g][edge] for m in (matrices, labels)),
                    (m[h][other] for m in (matrices, labels)),
                )
                total *= edge_kernel(*values[0], *values[1])
        return total

    def kernel(g, h):
        total = 0.0
        for size in range(1, k + 1):
            for own in combinations(range(len(graphs[g])), size):
                if connected and not is_connected(matrices[g][np.ix_(own, own)] > 0):
                    continue
                maps = permutations(range(len(graphs[h])), size)
                total += weights[size - 1] * sum(value(g, h, own, others) for others in maps)
        return total

    return np.array([[kernel(g, h) for h in range(len(graphs))] for g in range(len(graphs))])


def edge_label_matrix(batch, graph):
    """Labels of the edges of one graph of a batch, -1 where there is none."""
    first, last = batch.node_ptr[graph], batch.node_ptr[graph + 1]
    matrix = np.full((last - first, last - first), -1)
    for node in range(first, last):
        for entry in range(batch.indptr[node], batch.indptr[node + 1]):
            matrix[node - first, batch.indices[entry]] = batch.edge_labels[entry]
    return matrix


def hash_graph_gram(batch, base, hashes, bin_width, means, deviations):
    """Mean over hash functions (a, b) of a base kernel of graphs labelled by floor((a x + b) / w).

    `base` takes graphs and gives a kernel matrix; hashes stand beside the labels of nodes.
    """
    grams = []
    for direction, shift in hashes:
        labels = []
        for node in range(batch.n_nodes):
            point = (batch.attributes[node] - means) / deviations
            own = batch.label_names[batch.labels[node]] if batch.has_labels else None
            labels.append((own, int(np.floor((np.dot(direction, point) + shift) / bin_width))))
        grams.append(base(batch.with_labels(labels)))
    return np.mean(grams, axis=0)


def local_colours(batch, graph, radius, depth, first_colours, is_local):
    """For every node of a graph: 1 / size and colours, of the neighbourhoods that it is in."""
    adjacency, labels = dense_adjacency(batch, graph) > 0, edge_label_matrix(batch, graph)
    steps = path_lengths(adjacency.astype(float))
    found = [[] for _ in range(len(adjacency))]
    for root in range(len(adjacency)):
        inside = [node for node in range(len(adjacency)) if steps[root, node] <= radius]
        seen = inside if is_local else range(len(adjacency))
        colours = [{node: first_colours[batch.node_ptr[graph] + node] for node in seen}]
        for _ in range(depth):
            before = colours[-1]
            colours.append(
                {
                    v: (
                        before[v],
                        tuple(sorted((labels[v, u], before[u]) for u in seen if adjacency[v, u])),
                    )
                    for v in seen
                }
            )
        for node in inside:
            found[node].append((1 / len(inside), [own[node] for own in colours]))
    return found


def graph_invariant_gram(batch, radius, depth, first_colours, node_kernel, is_local):
    """Sum over nodes v, v' and their neighbourhoods g, g' of k(v, v') matches / (|g| |g'|)."""
    graphs = [
        local_colours(batch, g, radius, depth, first_colours, is_local) for g in range(len(batch))
    ]

    def weight(v, w):
        return sum(
            a * b * sum(x == y for x, y in zip(own, others, strict=True))
            for a, own in v
            for b, others in w
        )

    def kernel(g, h):
        return sum(
            node_kernel(batch.node_ptr[g] + i, batch.node_ptr[h] + j) * weight(v, w)
            for i, v in enumerate(graphs[g])
            for j, w in enumerate(graphs[h])
        )

    return np.array([[kernel(g, h) for h in range(len(batch))] for g in range(len(batch))])


def shifted_pmi_gram(counts, pairs, n_components, n_negatives, similarity="vectors"):
    """phi M phi^T, from vectors nearest to the shifted positive PMI, weighted by counts."""
    n = pairs.sum()
    shares = pairs.sum(axis=0) / n
    used = [i for i in range(len(pairs)) if shares[i] > 0]
    matrix = np.zeros(pairs.shape)
    for i, j in zip(*np.nonzero(pairs), strict=True):
        pmi = np.log(pairs[i, j] / n / (shares[i] * shares[j]))
        matrix[i, j] = max(0.0, pmi - np.log(n_negatives))
    used = [i for i in used if matrix[i].any()]
    total = sum(shares[i] for i in used)
    roots = np.diag([np.sqrt(shares[i] / total) for i in used])
    values, vectors = np.linalg.eigh(roots @ matrix[np.ix_(used, used)] @ roots)
    last = sorted(values)[-min(n_components, len(values))]
    tie = 1e-9 * max(values)
    largest = [v for v in range(len(values)) if values[v] > max(last - tie, tie)]
    found = np.zeros((len(pairs), len(largest)))
    found[used] = np.linalg.inv(roots) @ vectors[:, largest] @ np.diag(np.sqrt(values[largest]))
    weights = found @ found.T
    if similarity == "lengths":
        weights = np.diag([np.sqrt(weights[i, i]) for i in range(len(weights))])
    return counts @ weights @ counts.T


def colour_pairs(batch, depth, least_graphs):
    """Counts of colours of all rounds in each graph, and of pairs in a graph and a round."""
    levels = refined_labels(batch, depth)
    graphs = [range(a, b) for a, b in zip(batch.node_ptr[:-1], batch.node_ptr[1:], strict=True)]
    names = sorted({(h, c) for h, level in enumerate(levels) for c in level}, key=repr)
    place = {name: i for i, name in enumerate(names)}
    counts, pairs = np.zeros((len(graphs), len(names))), np.zeros((len(names), len(names)))
    for g, nodes in enumerate(graphs):
        for h, level in enumerate(levels):
            for u in nodes:
                counts[g, place[h, level[u]]] += 1
    rare = (counts > 0).sum(axis=0) < least_graphs
    for nodes in graphs:
        for h, level in enumerate(levels):
            for u in nodes:
                for v in nodes:
                    a, b = place[h, level[u]], place[h, level[v]]
                    if u != v and not rare[a] and not rare[b]:
                        pairs[a, b] += 1
    return counts, pairs


def path_pairs(batch, least_graphs):
    """Counts of paths in each graph, by labels of ends and length, and of pairs in a graph."""
    found = []
    for g, first in enumerate(batch.node_ptr[:-1]):
        lengths = path_lengths(dense_adjacency(batch, g))
        labels = batch.labels[first:]
        found.append(
            [
                (int(labels[u]), int(labels[v]), lengths[u, v])
                for u, v in permutations(range(len(lengths)), 2)
                if np.isfinite(lengths[u, v])
            ]
        )
    names = sorted({path for paths in found for path in paths})
    counts = np.array([[paths.count(name) for name in names] for paths in found], float)
    rare = (counts > 0).sum(axis=0) < least_graphs
    pairs = np.zeros((len(names), len(names)))
    for own in counts:
        for a in range(len(names)):
            for b in range(len(names)):
                if not rare[a] and not rare[b]:
                    pairs[a, b] += own[a] * (own[b] - (a == b))
    return counts, pairs
