"""What a test of populations found, in words and as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.parallel import progress_bar
from retgk._runtime.parameters import untyped
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.kernels.node import Delta, Laplacian, NodeKernel
from retgk.stats.statistics import (
    EffectSize,
    Relabellings,
    check_room_for,
    finite_or_none,
    group_columns,
    group_form,
    max_test,
    permuted_statistics,
    squared_effect,
    step_down_p_values,
)

# -------------------------------------------------------------------------------------------------
# Where populations differ: typical graphs, nodes that speak for a side, nodes that correspond.
# -------------------------------------------------------------------------------------------------

_PIECE_NODES = 1 << 13
_NODE_BYTES = 1 << 28  # of kernel matrices of nodes that are in memory at a time


def affinities(kernel: Floats, codes: Ints) -> Floats:
    """Mean kernel of every graph with the graphs of each group, itself left out."""
    columns = group_columns(codes)
    sums = kernel @ columns - kernel.diagonal()[:, None] * columns
    return np.asarray(sums / (columns.sum(axis=0) - columns))


@dataclass(frozen=True, eq=False)
class NodeEvidence:
    """Features and groups of graphs, and an unfitted engine with the median bandwidth."""

    features: NodeFeatures
    engine: ExactEngine
    codes: Ints

    def witness(self) -> Floats:
        """Witness of every node, without its own graph, for which it would always speak."""
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
    names : ndarray, shape (n_nodes,), or None
        What nodes are called, where graphs have names of nodes and all the same.
    """

    effect: Floats
    p_value: Floats
    corrected_p_value: Floats
    mean_strengths: Floats
    names: NDArray[Any] | None = None

    def name(self, node: int) -> str:
        """What a node is called, or its number."""
        return str(node if self.names is None else self.names[node])

    def __len__(self) -> int:
        return len(self.effect)

    def to_dict(self) -> dict[str, Any]:
        """Columns as plain lists, for JSON: None stands for infinite effects."""
        return {
            "node": list(range(len(self))),
            **({} if self.names is None else {"name": list(map(str, self.names))}),
            "effect": [finite_or_none(value) for value in self.effect.tolist()],
            "p_value": self.p_value.tolist(),
            "corrected_p_value": self.corrected_p_value.tolist(),
            "mean_strengths": self.mean_strengths.tolist(),
        }


def check_same_nodes(batch: GraphBatch) -> None:
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
        _common_names(batch),
    )


def _common_names(batch: GraphBatch) -> NDArray[Any] | None:
    """Names of nodes, where all graphs have the same; two that differ are no correspondence."""
    if batch.node_names is None:
        return None
    rows = batch.node_names.reshape(len(batch), -1)
    if (differ := (rows != rows[0]).any(axis=1)).any():
        graph = int(np.argmax(differ))
        node = int(np.argmax(rows[graph] != rows[0]))
        raise InvalidInputError(
            f"node {node} is {rows[0, node]!s:.80} in graph 0 and {rows[graph, node]!s:.80} in "
            f"graph {graph}: nodes correspond only where all graphs have the same ones, in the "
            "same order; put them in one order, or leave out nodes_correspond"
        )
    return np.asarray(rows[0])


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
    strengths = np.bincount(batch.edge_rows, batch.weights, batch.n_nodes).reshape(len(batch), -1)
    columns = group_columns(codes)
    return np.asarray(strengths.T @ columns / columns.sum(axis=0))


_SHOWN = 5
_LEVEL = 0.05
_COMPARED = {
    "graphs": "K_2 of graphs",
    "nodes": "means of all nodes",
    "both": "K_2 of graphs and means of all nodes",
}


class KernelResult(NamedTuple):
    compare: str
    """What it compares: "graphs" by K_2, or "nodes", the means of all nodes."""
    bandwidth: float
    """In median distances of nodes."""
    depth: int
    """Rounds by which labels were refined."""
    statistic: float
    """Unbiased squared MMD, or HSIC."""
    p_value: float
    """Of this kernel alone."""
    adjusted_p_value: float
    """With regard to all kernels that were tried."""
    kernel: str = ""
    """The kernel, where it was given; bandwidth and depth say nothing then."""


@untyped
@dataclass(frozen=True, eq=False)
class PopulationTest:
    """
    Result of `two_sample_test`, `k_sample_test` or `association_test`; print it for a report.

    Attributes
    ----------
    kind : {"two-sample", "k-sample", "association"}
        Which test it is.
    p_value : float
        Of all kernels together; never 0.
    statistic : float
        The largest of the standardised statistics of the kernels.
    kernels : tuple of KernelResult
        What each kernel found.
    effect : EffectSize
        Groups: distance of their means by the deviation of graphs within them, infinite if those
        are all alike. Association: correlation of the kernels. With the mean of all kernels of
        graphs (of nodes, where only those are compared), which is not chosen by the data.
    confidence : float or None
        Of the interval of the effect.
    compare : {"both", "graphs", "nodes"}
        Whether K_2 of graphs, means of all nodes, or both were compared.
    engine : {"exact", "embedded"}
        How inner products were found.
    design : {"free", "blocks", "pairs"}
        Within what labels were permuted.
    n_permutations : int
        Relabellings that were used, beside the labels as they are.
    are_all : bool
        Whether those are all that there are.
    n_tied : int
        How many of all relabellings, the labels as they are among them, have the same statistic
        whatever the graphs: groups of one size that swap their names, and mirrored values.
    permuted : ndarray, shape (n_permutations,)
        The statistic under each of them.
    group_names : tuple
        Names of the groups; empty for an association.
    codes : ndarray of int64, shape (n_graphs,)
        Group of every graph; for an association, its distinct value.
    are_apart : bool
        Whether populations were given apart; reports then number the graphs of each from 0.
    affinities : ndarray, shape (n_graphs, n_groups), or None
        Mean kernel of every graph with each group, itself left out.
    nodes : NodeTable or None
        Table of nodes, where nodes correspond.
    graph_names : tuple of str, or None
        Name of every graph, where data sets have some.

    Examples
    --------
    >>> from retgk import two_sample_test
    >>> from retgk.datasets import make_graph_classification
    >>> data = make_graph_classification(n_graphs=40, rng=0)
    >>> groups = [data.graphs[data.targets == target] for target in (0, 1)]
    >>> result = two_sample_test(*groups, n_permutations=99, rng=0)
    >>> result.p_value
    0.01
    """

    kind: Literal["two-sample", "k-sample", "association"]
    p_value: float
    statistic: float
    kernels: tuple[KernelResult, ...]
    effect: EffectSize
    confidence: float | None
    compare: str
    engine: str
    design: str
    n_permutations: int
    are_all: bool
    permuted: Floats
    group_names: tuple[Any, ...]
    codes: Ints
    are_apart: bool = False
    affinities: Floats | None = None
    nodes: NodeTable | None = None
    evidence: NodeEvidence | None = None
    n_tied: int = 1
    graph_names: tuple[str, ...] | None = None

    @property
    def smallest_p_value(self) -> float:
        """Smallest p-value that so many relabellings can give: of 3 graphs against 3, it is 0.1."""
        return self.n_tied / (1 + self.n_permutations)

    @property
    def witness(self) -> Floats:
        """
        For two groups, how much more every graph is like the first than like the second.

        Graphs are in the order of the test: the first group, then the second, or as they were
        given together.
        """
        if self.affinities is None or len(self.group_names) != 2:
            raise InvalidInputError(
                f"a witness function is one of two groups, this is a {self.kind} test; see "
                "affinities, or test two of the groups"
            )
        return self.affinities[:, 0] - self.affinities[:, 1]

    def most_typical(self, group: int = 0, k: int = _SHOWN) -> Ints:
        """
        Graphs that are most like their own group and least like the others, the clearest first.

        Parameters
        ----------
        group : int, default=0
            Number of the group.
        k : int, default=5
            How many graphs.

        Returns
        -------
        ndarray of int64
            Their places among all graphs of the test.
        """
        if self.affinities is None or not 0 <= group < len(self.group_names):
            raise InvalidInputError(
                f"there is no group {group!r}: the test has {len(self.group_names)} groups"
            )
        others = np.delete(self.affinities, group, axis=1).mean(axis=1)
        clear = np.where(self.codes == group, self.affinities[:, group] - others, -np.inf)
        n_own = int((self.codes == group).sum())
        return np.argsort(-clear, kind="stable")[: min(k, n_own)]

    def node_witness(self) -> Floats:
        r"""
        For two groups, what every node says: above 0 for the first, below 0 for the second.

        It is :math:`\langle \phi_v, \mu_A - \mu_B \rangle` with the feature :math:`\phi_v` of the
        node at the median bandwidth, labels as they are, and the means of all nodes of the groups,
        its own graph left out. It is computed when it is asked for.

        Returns
        -------
        ndarray, shape (n_nodes,)
            One value per node, over all graphs of the test.
        """
        if self.evidence is None or len(self.group_names) != 2:
            raise InvalidInputError(f"a {self.kind} test has no two sides for a node to speak for")
        return self.evidence.witness()

    def to_dict(self) -> dict[str, Any]:
        """
        Give the result as plain values, for JSON.

        Returns
        -------
        dict
            Everything but the statistics of all permutations. JSON has no infinite numbers: an
            infinite effect, or an infinite end of its interval, is None.
        """
        found: dict[str, Any] = {
            "kind": self.kind,
            "p_value": self.p_value,
            "statistic": self.statistic,
            "effect": finite_or_none(self.effect.value),
            "effect_interval": [finite_or_none(self.effect.low), finite_or_none(self.effect.high)],
            "confidence": self.confidence,
            "compare": self.compare,
            "engine": self.engine,
            "design": self.design,
            "n_permutations": self.n_permutations,
            "are_all": self.are_all,
            "kernels": [kernel._asdict() for kernel in self.kernels],
        }
        if self.affinities is not None:
            found["groups"] = [
                {
                    "name": str(name),
                    "n_graphs": int((self.codes == group).sum()),
                    "most_typical": self._typical_numbers(group),
                    **({} if self.graph_names is None else {"typical": self._typical(group)}),
                }
                for group, name in enumerate(self.group_names)
            ]
        if self.nodes is not None:
            found["nodes"] = self.nodes.to_dict()
        return found

    def __str__(self) -> str:
        lines = [self._what(), self._verdict(), self._effect_line(), self._kernel_line()]
        for group, name in enumerate(self.group_names if self.affinities is not None else ()):
            lines.append(f"Most typical of {name}: graphs {', '.join(self._typical(group))}.")
        return "\n".join(lines + self._node_lines())

    def __repr__(self) -> str:
        return f"PopulationTest({self.kind}, p_value={self.p_value:.4g})"

    def _what(self) -> str:
        what = _COMPARED[self.compare]
        if self.kind == "association":
            return f"Association of {len(self.codes)} graphs with a value, by {what}."
        counts = np.bincount(self.codes)
        named = [f"{name} ({n} graphs)" for name, n in zip(self.group_names, counts, strict=True)]
        return f"{' against '.join(named)}, by {what}."

    def _verdict(self) -> str:
        within = {"free": "", "blocks": " within blocks", "pairs": " within pairs"}[self.design]
        how = f"all {self.n_permutations + 1:,}" if self.are_all else f"{self.n_permutations:,}"
        found = self.p_value <= _LEVEL
        if self.kind == "association":
            answer = "graphs go with the value" if found else "no association is seen"
        else:
            answer = "they differ" if found else "no difference is seen"
        line = f"p = {self.p_value:.4g} from {how} relabellings{within}: {answer} at the 5 % level."
        if self.smallest_p_value > _LEVEL:
            line += f" With so few graphs no p-value is below {self.smallest_p_value:.2g}."
        return line

    def _effect_line(self) -> str:
        value, low, high = self.effect
        if np.isinf(value):
            return "The means differ, and graphs within groups are all alike: an infinite effect."
        if self.kind == "association":
            line = f"Correlation of the kernels {value:.3g}"
        else:
            line = f"Distance of the means {value:.3g} deviations within groups"
        if self.confidence is None:
            return f"{line}."
        if low is None or high is None:
            return f"{line}; there are too few graphs for an interval."
        return (
            f"{line} ({100 * self.confidence:.0f} % interval {low:.3g} to {high:.3g}, from halves)."
        )

    def _kernel_line(self) -> str:
        best = min(self.kernels, key=lambda kernel: kernel.adjusted_p_value)
        where = f"{_COMPARED[best.compare]}, bandwidth {best.bandwidth:g}, depth {best.depth}"
        where = best.kernel or where
        if len(self.kernels) == 1:
            return f"Kernel: {where}."
        return (
            f"{len(self.kernels)} kernels combined by the largest standardised statistic; clearest "
            f"with {where} (adjusted p = {best.adjusted_p_value:.4g})."
        )

    def _typical(self, group: int) -> list[str]:
        """Names of graphs, or their numbers."""
        if self.graph_names is None:
            return list(map(str, self._typical_numbers(group)))
        return [str(self.graph_names[graph]) for graph in self.most_typical(group)]

    def _typical_numbers(self, group: int) -> list[int]:
        first = int(np.argmax(self.codes == group)) if self.are_apart else 0
        return [int(graph) - first for graph in self.most_typical(group)]

    def _node_lines(self) -> list[str]:
        if self.nodes is None:
            return []
        corrected = self.nodes.corrected_p_value
        found = np.flatnonzero(corrected <= _LEVEL)
        if not len(found):
            return [f"None of {len(corrected)} nodes differs, corrected for all of them."]
        order = found[np.lexsort([-self.nodes.effect[found], corrected[found]])]
        shown = [
            f"{self.nodes.name(node)} (p = {corrected[node]:.4g})"
            for node in order[:_SHOWN].tolist()
        ]
        more = ", ..." if len(order) > _SHOWN else ""
        return [
            f"{len(found)} of {len(corrected)} nodes differ, corrected for all of them: "
            f"{', '.join(shown)}{more}."
        ]
