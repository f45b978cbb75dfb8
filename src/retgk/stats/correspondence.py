"""Graphs whose nodes correspond, such as regions of a brain: their edges, subnetworks and nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import fdtri

from retgk._runtime.parallel import progress_bar, run_tasks, single_threaded_blas
from retgk._runtime.processes import check_room
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.kernels.graph import ALIKE
from retgk.kernels.node import Delta, Gaussian, Laplacian, NodeKernel
from retgk.stats.statistics import (
    _TIE,
    QuadraticForm,
    Relabellings,
    _centred_columns,
    check_room_for,
    finite_or_none,
    max_test,
    permuted_statistics,
    step_down_p_values,
)

_REMEDY = "leave out nodes_correspond, or read the graphs with a threshold or a density"


def check_same_nodes(batch: GraphBatch) -> None:
    counts = batch.node_counts
    if (counts != counts[0]).any():
        graph = int(np.argmax(counts != counts[0]))
        raise InvalidInputError(
            f"graph 0 has {counts[0]} nodes, graph {graph} has {counts[graph]}: nodes correspond "
            "only where all graphs have the same ones, in the same order; leave out "
            "nodes_correspond"
        )
    if batch.node_names is None:
        return
    rows = batch.node_names.reshape(len(batch), -1)
    if (differ := (rows != rows[0]).any(axis=1)).any():
        graph = int(np.argmax(differ))
        node = int(np.argmax(rows[graph] != rows[0]))
        raise InvalidInputError(
            f"node {node} is {rows[0, node]!s:.80} in graph 0 and {rows[graph, node]!s:.80} in "
            f"graph {graph}: nodes correspond only where all graphs have the same ones, in the "
            "same order; put them in one order, or leave out nodes_correspond"
        )


def n_parts(batch: GraphBatch) -> int:
    """Two where graphs have all nodes twice, for positive and for negative weights; else one."""
    read = batch.reading
    return 2 if read is not None and read.options.get("negative") == "split" else 1


# -------------------------------------------------------------------------------------------------
# Edges as numbers: one column for each edge that any of the graphs has.
# -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EdgeWeights:
    """Weights of all edges, shape (n_graphs, n_edges), with their sign where it was split off."""

    ends: Ints
    values: Floats
    n_nodes: int

    @classmethod
    def of(cls, batch: GraphBatch) -> EdgeWeights:
        n_nodes = int(batch.node_counts[0]) // n_parts(batch)
        graph = np.repeat(np.arange(len(batch)), batch.node_counts)[batch.edge_rows]
        row, column = batch.edge_rows - batch.node_ptr[graph], batch.indices
        once = row <= column
        row, column, graph = row[once], column[once], graph[once]
        weights = np.where(row < n_nodes, 1.0, -1.0) * batch.weights[once]
        pair = (row % n_nodes) * n_nodes + column % n_nodes
        pairs, edge = np.unique(pair, return_inverse=True)
        check_room(8 * 3 * len(batch) * len(pairs), "the weights of all edges", _REMEDY)
        values = np.zeros((len(batch), len(pairs)))
        values[graph, edge.reshape(-1)] = weights
        return cls(np.column_stack([pairs // n_nodes, pairs % n_nodes]), values, n_nodes)

    def of_node(self, node: int) -> Floats:
        """Weights of the edges of one node, in a unit of their size."""
        return _in_powers_of_two(self.values[:, (self.ends == node).any(axis=1)])

    def kernels(self, bandwidths: tuple[float, ...]) -> Iterator[Floats]:
        """Gaussian kernels of matrices; bandwidths are in median distances of them."""
        values = _in_powers_of_two(self.values)
        centred = values - values.mean(axis=0)
        with single_threaded_blas():
            products = centred @ centred.T
        norms = products.diagonal()
        squared = norms[:, None] + norms - 2 * products
        size = float(np.square(values).sum(axis=1).max(initial=0.0))
        squared[squared <= ALIKE * size] = 0.0
        np.fill_diagonal(squared, 0.0)
        apart = squared[np.triu_indices(len(squared), 1)]
        for some in (apart, apart[apart > 0], np.ones(1)):  # zeros, if most matrices are equal
            median = float(np.median(some)) if len(some) else 0.0
            if median > 0:
                break
        for width in bandwidths:
            yield np.exp(-squared / (median * width**2))


def _in_powers_of_two(values: Floats, axis: int | None = None) -> Floats:
    """Values, exactly, in a unit of their size: squares neither overflow nor vanish."""
    size = np.abs(values).max(axis=axis, initial=0.0)
    return np.asarray(np.ldexp(values, -np.frexp(size)[1]))


# Statistics of edges, and of subnetworks, under all relabellings

_ENTRIES = 1 << 21  # relabellings by edges that are in memory at a time: 16 MB
_ALMOST_ONE = 1 - 1e-12
_ROUNDING = 1e-10
_LARGEST_P = 0.01
_EDGES_OF_NODE = 0.5


class Subnetwork(NamedTuple):
    """Edges beyond the threshold that are connected."""

    nodes: tuple[int, ...]
    """Nodes that they join."""
    n_edges: int
    """How many edges."""
    mass: float
    """Sum over its edges of how far statistics are beyond the threshold."""
    corrected_p_value: float
    """For all subnetworks together."""


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """
    Edges that any of the graphs has, one row for each.

    Attributes
    ----------
    ends : ndarray, shape (n_edges, 2)
        Nodes that it joins.
    statistic : ndarray
        Student's t of its weight, above 0 if the first group has the larger mean (association: if
        it grows with the value); F where there are more than two groups.
    p_value : ndarray
        Of each edge alone.
    corrected_p_value : ndarray
        For all edges together, by the largest statistic of all edges.
    mean_weights : ndarray, shape (n_edges, n_groups)
        Mean weight in every group, 0 where there is no edge.
    subnetwork : ndarray
        Place of its subnetwork among all, -1 if its statistic is not beyond the threshold.
    """

    ends: Ints
    statistic: Floats
    p_value: Floats
    corrected_p_value: Floats
    mean_weights: Floats
    subnetwork: Ints

    def __len__(self) -> int:
        return len(self.ends)

    def to_dict(self) -> dict[str, Any]:
        """Columns as plain lists, for JSON."""
        return {
            "nodes": self.ends.tolist(),
            "statistic": self.statistic.tolist(),
            "p_value": self.p_value.tolist(),
            "corrected_p_value": self.corrected_p_value.tolist(),
            "mean_weights": self.mean_weights.tolist(),
            "subnetwork": self.subnetwork.tolist(),
        }


@dataclass(frozen=True, eq=False)
class EdgeScan:
    """
    Shares of the variance of every edge that labels explain, R^2, and what is beyond a threshold.

    `weights` has rows of units and `labels` their columns of a linear model; both are
    centred within blocks, so R^2 is that of t (pairs: of paired t) and of F.
    """

    weights: EdgeWeights
    labels: Floats
    relabellings: Relabellings
    given_p: float | None

    @cached_property
    def _model(self) -> tuple[Floats, Floats, Floats]:
        """Weights of norm 1, labels that are orthonormal once centred, and the sign of each t."""
        blocks = self.relabellings.blocks
        weights = _in_powers_of_two(self.weights.values, axis=0)
        values = _centred_columns(weights, blocks)
        norms = np.sqrt(np.square(values).sum(axis=0))
        sizes = np.abs(weights).max(axis=0, initial=0.0)
        varies = norms > _ROUNDING * sizes * len(values) ** 0.5
        values = np.where(varies, values, 0.0) / np.where(varies, norms, 1.0)
        labels = _centred_columns(self.labels, blocks)
        _, spread, axes = np.linalg.svd(labels, full_matrices=False)
        kept = spread > 1e-10 * spread[0]
        # dealt as they are, as relabellings may give a graph the label of one of another block
        return values, self.labels @ (axes[kept].T / spread[kept]), np.sign(labels[:, 0] @ values)

    @property
    def degrees(self) -> tuple[int, int]:
        """Degrees of freedom of F."""
        n_labels = self._model[1].shape[1]
        n_blocks = len(np.unique(self.relabellings.blocks))
        return n_labels, len(self.labels) - n_blocks - n_labels

    @property
    def subnetwork_p(self) -> float:
        """
        P-value of a single edge at the threshold.

        By default half an edge of every node is beyond it by chance, which leaves subnetworks of
        chance small, and at most one edge in a hundred.
        """
        if self.given_p is not None:
            return self.given_p
        n_edges = max(1, len(self.weights.ends))
        return min(_LARGEST_P, _EDGES_OF_NODE * self.weights.n_nodes / (2 * n_edges))

    @cached_property
    def _threshold(self) -> float:
        """Threshold of R^2; infinite where labels explain all there is."""
        above, below = self.degrees
        if below < 1:
            return np.inf
        ratio = float(fdtri(above, below, 1 - self.subnetwork_p)) * above / below
        return ratio / (1 + ratio)

    def _statistic(self, shares: Floats | float) -> Floats:
        """Absolute t, the root of F."""
        above, below = self.degrees
        kept = np.minimum(shares, _ALMOST_ONE)
        return np.asarray(np.sqrt(kept / (1 - kept) * max(below, 1) / above))

    def _shares(self, relabelled: Ints) -> Floats:
        values, labels, _ = self._model
        found = np.zeros((len(relabelled), values.shape[1]))
        for column in labels.T:
            found += np.square(column[relabelled] @ values)
        return found

    def _subnetworks(self, shares: Floats) -> tuple[Ints, Ints, Ints, Floats]:
        """Relabelling, edge and subnetwork of everything beyond the threshold, and masses."""
        row, edge = np.nonzero(shares > self._threshold)
        n_nodes = self.weights.n_nodes
        ends = (row[:, None] * n_nodes + self.weights.ends[edge]).T
        size = len(shares) * n_nodes
        joined = coo_array((np.ones(len(row)), (ends[0], ends[1])), shape=(size, size))
        number: Ints = connected_components(joined, directed=False)[1][ends[0]]
        beyond = self._statistic(shares[row, edge]) - self._statistic(self._threshold)
        return row, edge, number, np.bincount(number, beyond).astype(np.float64)

    def _largest(self, shares: Floats) -> Floats:
        """Largest share and largest mass of every relabelling."""
        found = np.zeros((len(shares), 2))
        found[:, 0] = shares.max(axis=1, initial=0.0)
        row, _, number, masses = self._subnetworks(shares)
        np.maximum.at(found[:, 1], row, masses[number])
        return found

    def permuted(self, n_jobs: int | None) -> tuple[Floats, Ints]:
        """Largest of all relabellings, the labels as they are first, and how often each is less."""
        own = self._shares(np.arange(len(self.labels))[None, :])
        least = own * (1 - _TIE)
        borders = self.relabellings.borders
        found = np.empty((1 + self.relabellings.n_drawn, 2))
        found[:1] = self._largest(own)
        counts = np.zeros((len(borders), own.shape[1]), np.int64)
        counts[-1] = 1
        step = max(1, _ENTRIES // max(1, own.shape[1]))

        def fill(number: int) -> None:
            relabelled, start = self.relabellings.chunk(number), 1 + borders[number]
            for first in range(0, len(relabelled), step):
                shares = self._shares(relabelled[first : first + step])
                found[start + first : start + first + len(shares)] = self._largest(shares)
                counts[number] += (shares >= least).sum(axis=0)

        with single_threaded_blas():
            tasks = [(number,) for number in range(len(borders) - 1)]
            costs = np.diff(borders).astype(float).tolist()
            run_tasks(fill, tasks, costs, n_jobs, "edges")
        return found, counts.sum(axis=0)

    def results(
        self, groups: Floats, weights: EdgeWeights, n_jobs: int | None
    ) -> tuple[Floats, EdgeTable, tuple[Subnetwork, ...]]:
        """Largest statistics of relabellings, the table of edges, and subnetworks by their mass."""
        check_room(
            8 * len(weights.ends) * (4 + len(self.relabellings.borders)),
            "statistics of edges",
            _REMEDY,
        )
        largest, counts = self.permuted(n_jobs)
        own = self._shares(np.arange(len(self.labels))[None, :])
        _, edges, numbers, masses = self._subnetworks(own)
        order = np.argsort(-masses, kind="stable")
        order = order[masses[order] > 0]
        places = np.full(len(weights.ends), -1)
        subnetworks = []
        for place, number in enumerate(order):
            of_it = edges[numbers == number]
            places[of_it] = place
            nodes = tuple(np.unique(weights.ends[of_it]).tolist())
            mass = float(masses[number])
            p_value = float(np.mean(largest[:, 1] >= mass * (1 - _TIE)))
            subnetworks.append(Subnetwork(nodes, len(of_it), mass, p_value))
        least = np.sort(largest[:, 0])
        n_below = np.searchsorted(least, own[0] * (1 - _TIE))
        statistic = self._statistic(own[0])
        table = EdgeTable(
            weights.ends,
            statistic * self._model[2] if self.degrees[0] == 1 else statistic**2,
            counts / len(largest),
            1 - n_below / len(largest),
            (weights.values.T @ groups) / groups.sum(axis=0),
            places,
        )
        return largest, table, tuple(subnetworks)


# -------------------------------------------------------------------------------------------------
# Nodes: what a node is in every graph, by its edges, return probabilities, label and attributes.
# -------------------------------------------------------------------------------------------------

_NODE_BYTES = 1 << 28  # of kernel matrices of nodes that are in memory at a time


@dataclass(frozen=True, eq=False)
class NodeTable:
    """
    Nodes that all graphs have in common, one row for each.

    Attributes
    ----------
    effect : ndarray
        Distance of the means of the groups at that node, in deviations within groups; infinite
        where groups differ and are each all alike. Association: correlation of the kernels.
    p_value : ndarray
        Of each node alone.
    corrected_p_value : ndarray
        For all nodes together: the chance that any of the nodes without a difference is below 5 %
        is at most that.
    mean_strengths : ndarray, shape (n_nodes, n_groups)
        Mean sum of the weights of the edges of the node, in every group (association: in all
        graphs).
    names : ndarray, shape (n_nodes,), or None
        What nodes are called, where graphs have names of nodes.
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


@dataclass(frozen=True, eq=False)
class NodeKernels:
    """Kernels between graphs at each node; bandwidths are the medians of that node."""

    features: NodeFeatures
    engine: ExactEngine
    weights: EdgeWeights

    def __len__(self) -> int:
        return self.weights.n_nodes

    @cached_property
    def _attributes(self) -> list[tuple[Floats, NodeKernel]]:
        return self.engine.attribute_points(self.features)

    def __getitem__(self, node: int) -> Floats:
        batch, seed = self.features.batch, self.engine.random_state
        rows = batch.node_ptr[:-1] + node
        each = np.arange(len(batch) + 1)
        parts = [rows + part * len(self) for part in range(n_parts(batch))]
        points = np.hstack([self.features.probabilities[part] for part in parts])
        kernel = Laplacian("median").fitted(points, each, seed)(points, points)
        if (edges := self.weights.of_node(node)).size:
            kernel += Gaussian("median").fitted(edges, each, seed)(edges, edges)
            kernel /= 2
        if batch.has_labels:
            kernel *= Delta()(batch.labels[rows], batch.labels[rows])
        for block, own in self._attributes:
            values = block[rows]
            kernel *= own.fitted(values, each, seed)(values, values)
        return kernel

    def mean(self) -> Floats:
        found = self[0]
        for node in range(1, len(self)):
            found += self[node]
        return found / len(self)


def node_table(
    kernels: NodeKernels,
    of_units: Callable[[Floats], Floats],
    form: Callable[[Floats], QuadraticForm],
    effect: Callable[[Floats], float],
    relabellings: Relabellings,
    mean_strengths: Floats,
    n_jobs: int | None,
) -> NodeTable:
    n_nodes = len(kernels)
    check_room_for(n_nodes, relabellings)
    step = max(1, _NODE_BYTES // (8 * kernels.features.batch.n_graphs**2))
    parts, effects = [], []
    with progress_bar("nodes that correspond", n_nodes) as advance:
        for first in range(0, n_nodes, step):
            nodes = range(first, min(first + step, n_nodes))
            own = [of_units(kernels[node]) for node in nodes]
            forms = [form(kernel) for kernel in own]
            statistics = permuted_statistics(forms, relabellings, n_jobs)
            effects += [effect(kernel) for kernel in own]
            parts.append(max_test(statistics, np.array([form.rounding for form in forms])))
            advance(len(nodes))
    standardised = np.hstack([part.standardised for part in parts])
    return NodeTable(
        np.array(effects),
        np.concatenate([part.single for part in parts]),
        step_down_p_values(standardised),
        mean_strengths,
        _common_names(kernels.features.batch, n_nodes),
    )


def _common_names(batch: GraphBatch, n_nodes: int) -> NDArray[Any] | None:
    return None if batch.node_names is None else batch.node_names[:n_nodes]


def mean_strengths(weights: EdgeWeights, groups: Floats) -> Floats:
    """Mean strength of every node in every group; a self-loop counts once."""
    means = (weights.values.T @ groups) / groups.sum(axis=0)
    found = np.zeros((weights.n_nodes, groups.shape[1]))
    first, second = weights.ends.T
    np.add.at(found, first, means)
    np.add.at(found, second[first != second], means[first != second])
    return found
