"""What a test of populations found, in words and as plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from retgk._runtime.parallel import progress_bar
from retgk._runtime.parameters import untyped
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.stats.correspondence import EdgeTable, NodeTable, Subnetwork
from retgk.stats.statistics import EffectSize, finite_or_none, group_columns, holm

# -------------------------------------------------------------------------------------------------
# Where populations differ: typical graphs, and nodes that speak for a side.
# -------------------------------------------------------------------------------------------------

_PIECE_NODES = 1 << 13


def affinities(kernel: Floats, codes: Ints, subjects: Ints | None) -> Floats:
    """Mean kernel of every graph with the graphs of each group, those of its subject left out."""
    columns = group_columns(codes)
    own = np.arange(len(codes)) if subjects is None else subjects
    others = own[:, None] != own
    return np.asarray(((kernel * others) @ columns) / (others @ columns))


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


_SHOWN, _MANY = 5, 12
_LEVEL = 0.05
_COMPARED = {
    "graphs": "K_2 of graphs",
    "nodes": "means of all nodes",
    "both": "K_2 of graphs and means of all nodes",
}
_CORRESPOND = {
    "graphs": "edges that correspond",
    "nodes": "nodes that correspond",
    "both": "edges and nodes that correspond",
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


class PairOfGroups(NamedTuple):
    """A two-sample test of two of several groups."""

    first: Any
    """Name of the first group."""
    second: Any
    """Name of the second group."""
    p_value: float
    """Of this pair alone; NaN if the two cannot be compared within their blocks or subjects."""
    corrected_p_value: float
    """For all pairs together (Holm, 1979)."""
    test: PopulationTest | None
    """All that was found of the two."""

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, for JSON."""
        effect = None if self.test is None else finite_or_none(self.test.effect.value)
        p_values = [None if np.isnan(p) else p for p in (self.p_value, self.corrected_p_value)]
        return {
            "groups": [str(self.first), str(self.second)],
            "p_value": p_values[0],
            "corrected_p_value": p_values[1],
            "effect": effect,
        }


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
    design : {"free", "blocks", "pairs", "within subjects", "between subjects"}
        What labels were permuted within.
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
    graph_names : tuple of str or None
        Names of the graphs of data sets that have some; reports name graphs by them.
    are_apart : bool
        Whether populations were given apart; reports then number the graphs of each from 0.
    affinities : ndarray, shape (n_graphs, n_groups), or None
        Mean kernel of every graph with each group, itself left out.
    nodes : NodeTable or None
        Table of nodes, where nodes correspond: columns `effect`, `p_value`, `corrected_p_value` and
        `mean_strengths`.
    edges : EdgeTable or None
        Table of edges, where nodes correspond: columns `ends`, `statistic`, `p_value`,
        `corrected_p_value`, `mean_weights` and `subnetwork`.
    subnetworks : tuple of Subnetwork
        Connected edges beyond the threshold, the clearest first: `nodes`, `n_edges`, `mass` and
        `corrected_p_value`.

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
    edges: EdgeTable | None = None
    subnetworks: tuple[Subnetwork, ...] = ()
    evidence: NodeEvidence | None = None
    n_tied: int = 1
    graph_names: tuple[str, ...] | None = None
    test_pair: Callable[[int, int], PopulationTest | None] | None = None

    @cached_property
    def pairwise(self) -> tuple[PairOfGroups, ...]:
        """
        Tests of all pairs of groups of `k_sample_test`, which are made when they are asked for.

        Each is a `two_sample_test` of the graphs of two groups, with the same settings; p-values
        are corrected for all pairs by Holm's method.
        """
        if self.test_pair is None:
            raise InvalidInputError(
                f"pairwise is for three groups or more, this is a {self.kind} test; p_value is its "
                "answer"
            )
        pairs = list(combinations(range(len(self.group_names)), 2))
        tests = [self.test_pair(*pair) for pair in pairs]
        p_values = np.array([np.nan if test is None else test.p_value for test in tests])
        names = [[self.group_names[group] for group in pair] for pair in pairs]
        given = zip(names, p_values.tolist(), holm(p_values).tolist(), tests, strict=True)
        return tuple(PairOfGroups(*name, *values) for name, *values in given)

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
            "kernels": [
                {**kernel._asdict(), "bandwidth": finite_or_none(kernel.bandwidth)}
                for kernel in self.kernels
            ],
        }
        if self.affinities is not None:
            found["groups"] = [
                {
                    "name": str(name),
                    "n_graphs": int((self.codes == group).sum()),
                    "most_typical": self._typical_numbers(group),
                    **self._typical_names(group),
                }
                for group, name in enumerate(self.group_names)
            ]
        if self.nodes is not None:
            found["nodes"] = self.nodes.to_dict()
        if self.edges is not None:
            found["edges"] = self.edges.to_dict()
            found["subnetworks"] = [own._asdict() for own in self.subnetworks]
        return found

    def __str__(self) -> str:
        lines = [self._what(), self._verdict(), self._effect_line(), self._kernel_line()]
        for group, name in enumerate(self.group_names if self.affinities is not None else ()):
            lines.append(f"Most typical of {name}: graphs {self._typical_in_words(group)}.")
        return "\n".join(lines + self._node_lines())

    def __repr__(self) -> str:
        return f"PopulationTest({self.kind}, p_value={self.p_value:.4g})"

    def _what(self) -> str:
        what = (_COMPARED if self.nodes is None else _CORRESPOND)[self.compare]
        if self.kind == "association":
            return f"Association of {len(self.codes)} graphs with a value, by {what}."
        counts = np.bincount(self.codes)
        named = [f"{name} ({n} graphs)" for name, n in zip(self.group_names, counts, strict=True)]
        return f"{' against '.join(named)}, by {what}."

    def _verdict(self) -> str:
        within = {"free": "", "blocks": " within blocks", "pairs": " within pairs"}.get(
            self.design, f" {self.design}"
        )
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
        what = "kernels" if self.edges is None else "statistics"
        return (
            f"{len(self.kernels)} {what} combined by the largest standardised one; clearest "
            f"with {where} (adjusted p = {best.adjusted_p_value:.4g})."
        )

    def _typical_names(self, group: int) -> dict[str, list[str]]:
        if self.graph_names is None:
            return {}
        return {"names": [self.graph_names[graph] for graph in self.most_typical(group)]}

    def _typical_in_words(self, group: int) -> str:
        if self.graph_names is None:
            return ", ".join(map(str, self._typical_numbers(group)))
        return ", ".join(self._typical_names(group)["names"])

    def _typical_numbers(self, group: int) -> list[int]:
        first = int(np.argmax(self.codes == group)) if self.are_apart else 0
        return [int(graph) - first for graph in self.most_typical(group)]

    def _node_lines(self) -> list[str]:
        """What is found of nodes, edges and subnetworks."""
        if self.nodes is None or self.edges is None:
            return []
        name = self.nodes.name
        ends = [f"{name(a)}-{name(b)}" for a, b in self.edges.ends.tolist()]
        of_networks = np.array([own.corrected_p_value for own in self.subnetworks])
        networks = [
            f"of {own.n_edges} edges between nodes {_shown(list(map(name, own.nodes)))}"
            for own in self.subnetworks
        ]
        sizes = np.array([own.mass for own in self.subnetworks])
        edges = (self.edges.corrected_p_value, np.abs(self.edges.statistic))
        return [
            self._line_of(
                "node",
                list(map(name, range(len(self.nodes)))),
                self.nodes.corrected_p_value,
                self.nodes.effect,
            ),
            self._line_of("edge", ends, *edges),
            self._line_of("subnetwork", networks, of_networks, sizes),
        ]

    def _line_of(self, what: str, names: Sequence[Any], corrected: Floats, sizes: Floats) -> str:
        is_value = self.kind == "association"
        found = np.flatnonzero(corrected <= _LEVEL)
        if not len(corrected):
            return f"There are no {what}s."
        if not len(found):
            does = "goes with the value" if is_value else "differs"
            return f"None of {len(corrected):,} {what}s {does}, corrected for all of them."
        do = "go with the value" if is_value else "differ"
        order = found[np.lexsort([-sizes[found], corrected[found]])]
        shown = [f"{names[at]} (p = {corrected[at]:.4g})" for at in order[:_SHOWN].tolist()]
        more = ", ..." if len(order) > _SHOWN else "."
        return (
            f"{len(found):,} of {len(corrected):,} {what}s {do}, corrected for all of them: "
            f"{', '.join(shown)}{more}"
        )


def _shown(nodes: Sequence[str]) -> str:
    listed = ", ".join(nodes[:_MANY])
    return listed + ", ..." * (len(nodes) > _MANY)
