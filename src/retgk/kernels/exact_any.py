"""Inner products for node kernels of any class, called block by block: right, and slower."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from retgk._runtime.fields import check_offsets, check_shape, stored
from retgk._runtime.parallel import run_tasks
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.flat import chunks
from retgk.kernels.exact_points import NodePoints
from retgk.kernels.node import NodeKernel

_BLOCK_NODES = 1 << 11


@stored
@dataclass(frozen=True, eq=False)
class CalledGraphs:
    """Nodes of fitted graphs, which are compared by calling their kernels."""

    nodes: NodePoints
    kernels: list[NodeKernel]

    @property
    def n_graphs(self) -> int:
        return self.nodes.n_graphs

    @property
    def n_steps(self) -> int:
        return int(self.nodes.blocks[0].shape[1])

    def of_graphs(self, graphs: Ints) -> "CalledGraphs":
        return CalledGraphs(self.nodes.of_graphs(graphs), self.kernels)

    def of_levels(self, _: Ints, shares: Floats) -> "CalledGraphs":
        """Other weights of the levels of refined labels: the old ones times squared shares."""
        levels = self.nodes.levels
        if levels is None:
            return self
        n_levels = 1 + int(np.flatnonzero(shares).max())
        colours, n_known = levels.colours[: n_levels - 1], levels.n_known[:n_levels]
        own = replace(
            levels,
            colours=colours,
            n_known=n_known,
            weights=(levels.weights * np.square(shares[: len(levels.weights)]))[:n_levels],
        )
        return CalledGraphs(replace(self.nodes, levels=own), self.kernels)

    def gram(
        self, rows: slice | None = None, columns: slice | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Inner products of the fitted graphs, or of some rows and columns of their matrix."""
        everything = np.arange(self.n_graphs)
        x, y = (
            self.nodes.of_graphs(everything[own]) if own else self.nodes for own in (rows, columns)
        )
        return mean_products(x, y, self.kernels, n_jobs, is_symmetric=rows == columns)

    def compare(self, nodes: NodePoints, _: float, n_jobs: int | None) -> "CalledComparison":
        return CalledComparison(nodes, self, n_jobs)

    def work(self) -> float:
        return float((np.bincount(self.nodes.label_codes()).astype(float) ** 2).sum())

    def digest(self) -> str:
        found = sha256(repr(self.kernels).encode())
        for codes, weight, _ in self.nodes.level_codes():
            found.update(codes.tobytes() + repr(weight).encode())
        for array in (self.nodes.node_ptr, *self.nodes.blocks):
            found.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    def check(self, widths: Sequence[int], n_levels: int) -> None:
        """Raise unless nodes fit the kernels and the levels; a file may say anything."""
        nodes = self.nodes
        if [block.shape[1] for block in nodes.blocks] != list(widths):
            raise InvalidInputError("blocks are not those of the kernels")
        check_offsets("node_ptr", nodes.node_ptr, nodes.n_graphs, len(nodes.blocks[0]), 1)
        if n_levels != (1 if nodes.levels is None else len(nodes.levels.weights)):
            raise InvalidInputError("levels of nodes are not those of their labels")
        for colours in () if nodes.levels is None else nodes.levels.colours:
            check_shape("colours", colours, nodes.n_nodes)


@dataclass(frozen=True, eq=False)
class CalledComparison:
    """New graphs beside fitted ones."""

    nodes: NodePoints
    fitted: CalledGraphs
    n_jobs: int | None

    def products(self) -> Floats:
        return mean_products(self.nodes, self.fitted.nodes, self.fitted.kernels, self.n_jobs)

    def squared_norms(self) -> Floats:
        ones = (self.nodes.of_graphs(np.array([graph])) for graph in range(self.nodes.n_graphs))
        found = [mean_products(one, one, self.fitted.kernels, self.n_jobs)[0, 0] for one in ones]
        return np.array(found)

    def node_values(self, weights: Floats, own_weights: Floats) -> Floats:
        """``<phi(v), u_G>`` of every node v, as in `ExactComparison`."""
        nodes, values = self.nodes, np.empty(self.nodes.n_nodes)
        for graph in range(nodes.n_graphs):
            one = nodes.of_graphs(np.array([graph]))
            alone = replace(one, node_ptr=np.arange(one.n_nodes + 1))
            to_fitted = mean_products(alone, self.fitted.nodes, self.fitted.kernels, self.n_jobs)
            to_own = mean_products(alone, one, self.fitted.kernels, self.n_jobs)[:, 0]
            own = slice(nodes.node_ptr[graph], nodes.node_ptr[graph + 1])
            values[own] = to_fitted @ weights[graph] + own_weights[graph] * to_own
        return values


def mean_products(
    x: NodePoints,
    y: NodePoints,
    kernels: Sequence[NodeKernel],
    n_jobs: int | None,
    *,
    is_symmetric: bool = False,
) -> Floats:
    """``<m_G, m_H>`` of graphs with graphs: means over all pairs of their nodes."""
    found = np.empty((x.n_graphs, y.n_graphs))
    levels = list(zip(x.level_codes(), y.level_codes(), strict=True))

    def fill(rows: tuple[int, int], columns: tuple[int, int]) -> None:
        own = slice(*x.node_ptr[list(rows)])
        other = slice(*y.node_ptr[list(columns)])
        values: Floats = np.zeros((own.stop - own.start, other.stop - other.start))
        for (codes, weight, _), (others, _, _) in levels:
            is_same = codes[own][:, None] == others[other]
            is_same &= (codes[own] >= 0)[:, None]
            values += weight * is_same
        for kernel, block, fitted in zip(kernels, x.blocks, y.blocks, strict=True):
            values *= _called(kernel, block[own], fitted[other])
        sums = np.add.reduceat(values, x.node_ptr[rows[0] : rows[1]] - own.start, axis=0)
        sums = np.add.reduceat(sums, y.node_ptr[columns[0] : columns[1]] - other.start, axis=1)
        sizes = [np.diff(p.node_ptr) for p in (x, y)]
        scale = np.outer(sizes[0][rows[0] : rows[1]], sizes[1][columns[0] : columns[1]])
        means = sums / scale
        if is_symmetric:
            means = (means + means.T) / 2 if rows == columns else means
            found[columns[0] : columns[1], rows[0] : rows[1]] = means.T
        found[rows[0] : rows[1], columns[0] : columns[1]] = means

    tasks = [
        (rows, columns)
        for rows in chunks(x.node_ptr, _BLOCK_NODES)
        for columns in chunks(y.node_ptr, _BLOCK_NODES)
        if rows <= columns or not is_symmetric
    ]
    run_tasks(fill, tasks, [1.0] * len(tasks), n_jobs, "inner products")
    return found


def _called(kernel: NodeKernel, x: Floats, y: Floats) -> Floats:
    """Values of a kernel, checked: it may be anybody's."""
    values = np.asarray(kernel(x, y), np.float64)
    if values.shape != (len(x), len(y)) or not np.isfinite(values).all():
        raise InvalidInputError(
            f"{kernel!r} must give finite values of shape {(len(x), len(y))}, one for each pair of "
            f"nodes; got shape {values.shape}"
        )
    return values
