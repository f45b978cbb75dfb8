"""Where populations differ: typical graphs, nodes that speak for a side, nodes that correspond."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.engine.exact.exact_engine import ExactEngine
from retgk.engine.node_features import NodeFeatures
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.kernels.node_kernels import Delta, Laplacian, NodeKernel
from retgk.populations.effect_sizes import finite_or_none, squared_effect
from retgk.populations.permutations import (
    Relabellings,
    check_room_for,
    max_test,
    permuted_statistics,
    step_down_p_values,
)
from retgk.populations.quadratic_forms import group_columns, group_form
from retgk.runtime.progress import progress_bar

__all__ = ["NodeEvidence", "NodeTable", "affinities", "check_same_nodes", "node_table"]

_PIECE_NODES = 1 << 13
_NODE_BYTES = 1 << 28  # of kernel matrices of nodes that are in memory at a time


def affinities(kernel: Floats, codes: Ints) -> Floats:
    """
    Mean kernel of every graph with the graphs of each group, itself left out, shape (n, n_groups).

    The difference of two columns is the witness function of the two groups.
    """
    columns = group_columns(codes)
    sums = kernel @ columns - kernel.diagonal()[:, None] * columns
    return np.asarray(sums / (columns.sum(axis=0) - columns))


@dataclass(frozen=True, eq=False)
class NodeEvidence:
    """
    What is needed to say, node by node, what speaks for which of two populations.

    Attributes
    ----------
    features : NodeFeatures
        Graphs and return probabilities.
    engine : ExactEngine
        With the kernel of the median bandwidth, not yet fitted.
    codes : ndarray of int64
        Group of every graph.
    """

    features: NodeFeatures
    engine: ExactEngine
    codes: Ints

    def witness(self) -> Floats:
        r"""
        Witness of every node v, :math:`\langle \phi_v, \mu_A - \mu_B \rangle`.

        The mean over the nodes of a graph is that of the graph. A node's own graph is left out of
        the mean of its group, else every node would speak for its own side.
        """
        batch = self.features.batch
        columns = group_columns(self.codes)
        counts = columns.sum(axis=0)
        engine = self.engine.fit(self.features)
        found = np.empty(batch.n_nodes)
        graph_of_node = np.repeat(np.arange(len(batch)), batch.node_counts)
        with progress_bar("nodes", batch.n_nodes) as advance:
            for first in range(0, batch.n_nodes, _PIECE_NODES):
                nodes = np.arange(first, min(first + _PIECE_NODES, batch.n_nodes))
                alone = self.features.with_batch(
                    nodes_as_graphs(batch, nodes), self.features.probabilities[nodes]
                )
                products = engine.compare(alone).products()
                own = graph_of_node[nodes]
                sums = products @ columns
                sums -= columns[own] * products[np.arange(len(nodes)), own][:, None]
                means = sums / (counts - columns[own])
                found[nodes] = means[:, 0] - means[:, 1]
                advance(len(nodes))
        return found


def nodes_as_graphs(batch: GraphBatch, nodes: Ints) -> GraphBatch:
    """Every node a graph of its own, with its label and attributes and without edges."""
    labels = None
    if batch.has_labels:
        labels = [batch.label_names[code] for code in batch.labels[nodes]]
    attributes = batch.attributes[nodes] if batch.n_attributes else None
    none = np.empty((0, 2), np.int64)
    sizes = np.ones(len(nodes), np.int64)
    return GraphBatch.from_edges(sizes, none, labels=labels, attributes=attributes)


# nodes that correspond


@dataclass(frozen=True, eq=False)
class NodeTable:
    """
    Nodes that all graphs have in common, one row for each.

    Attributes
    ----------
    effect : ndarray
        Distance of the means of the groups at that node, in deviations within groups; infinite
        where groups differ and are each all alike.
    p_value : ndarray
        Of each node alone.
    corrected_p_value : ndarray
        For all nodes together: the chance that any of the nodes without a difference is below 5 %
        is at most that.
    mean_strengths : ndarray, shape (n_nodes, n_groups)
        Mean sum of the weights of the edges of the node, in every group.
    """

    effect: Floats
    p_value: Floats
    corrected_p_value: Floats
    mean_strengths: Floats

    def __len__(self) -> int:
        return len(self.effect)

    def to_dict(self) -> dict[str, Any]:
        """Columns as plain lists, for JSON: None stands for infinite effects."""
        return {
            "node": list(range(len(self))),
            "effect": [finite_or_none(value) for value in self.effect.tolist()],
            "p_value": self.p_value.tolist(),
            "corrected_p_value": self.corrected_p_value.tolist(),
            "mean_strengths": self.mean_strengths.tolist(),
        }


def check_same_nodes(batch: GraphBatch) -> None:
    """Raise unless all graphs have the same number of nodes."""
    counts = batch.node_counts
    if (counts != counts[0]).any():
        graph = int(np.argmax(counts != counts[0]))
        raise InvalidInputError(
            f"graph 0 has {counts[0]} nodes, graph {graph} has {counts[graph]}: nodes correspond "
            "only where all graphs have the same ones, in the same order; leave out "
            "nodes_correspond"
        )


def node_table(
    evidence: NodeEvidence, relabellings: Relabellings, blocks: Ints | None, n_jobs: int | None
) -> NodeTable:
    """Test every node by itself, with the relabellings of the whole test."""
    features = evidence.features
    batch, codes = features.batch, relabellings.codes
    attributes = evidence.engine.attribute_points(features)
    n_graphs, n_nodes = len(batch), int(batch.node_counts[0])
    check_room_for(n_nodes, relabellings)
    step = max(1, _NODE_BYTES // (8 * n_graphs**2))
    parts, effects = [], []
    with progress_bar("nodes that correspond", n_nodes) as advance:
        for first in range(0, n_nodes, step):
            nodes = range(first, min(first + step, n_nodes))
            kernels = [_kernel_of_node(evidence, attributes, node) for node in nodes]
            forms = [group_form(kernel, codes, blocks) for kernel in kernels]
            statistics = permuted_statistics(forms, relabellings, n_jobs)
            squared = [
                squared_effect(form, kernel, codes)
                for form, kernel in zip(forms, kernels, strict=True)
            ]
            effects.append(np.sqrt(np.maximum(squared, 0.0)))
            parts.append(max_test(statistics, np.array([form.rounding for form in forms])))
            advance(len(nodes))
    standardised = np.hstack([part.standardised for part in parts])
    return NodeTable(
        np.concatenate(effects),
        np.concatenate([part.single for part in parts]),
        step_down_p_values(standardised),
        _mean_strengths(batch, codes),
    )


def _kernel_of_node(
    evidence: NodeEvidence, attributes: list[tuple[Floats, NodeKernel]], node: int
) -> Floats:
    """Kernel between graphs at one node; bandwidths are the medians of that node."""
    batch, seed = evidence.features.batch, evidence.engine.random_state
    rows = batch.node_ptr[:-1] + node
    each = np.arange(len(batch) + 1)
    points = evidence.features.probabilities[rows]
    kernel = Laplacian("median").fitted(points, each, seed)(points, points)
    if batch.has_labels:
        kernel *= Delta()(batch.labels[rows], batch.labels[rows])
    for block, own in attributes:
        values = block[rows]
        kernel *= own.fitted(values, each, seed)(values, values)
    return kernel


def _mean_strengths(batch: GraphBatch, codes: Ints) -> Floats:
    rows = np.repeat(np.arange(batch.n_nodes), np.diff(batch.indptr))
    strengths = np.bincount(rows, batch.weights, batch.n_nodes).reshape(len(batch), -1)
    columns = group_columns(codes)
    return np.asarray(strengths.T @ columns / columns.sum(axis=0))
