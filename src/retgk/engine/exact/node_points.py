"""Features of nodes as plain arrays, one block for each factor of the node kernel."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from retgk.array_types import Codes, Floats, Ints
from retgk.engine.label_levels import Levels
from retgk.engine.node_features import NodeFeatures
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.labels import recode, union_of_names
from retgk.graphs.ragged import chunks, gather_runs, offsets
from retgk.kernels.node_kernels import ATTRIBUTE_KERNEL, NodeKernel, check_kernel_class

__all__ = [
    "AttributeKernel",
    "NodePoints",
    "attribute_blocks",
    "check_node_kernel",
    "label_codes",
    "node_points",
]

AttributeKernel = NodeKernel | Mapping[str, tuple[Any, NodeKernel]] | None

_CHUNK_NODES = 1 << 11  # with 50 features they fit the second-level cache


@dataclass(frozen=True, eq=False)
class NodePoints:
    """
    Features of the nodes of many graphs.

    Attributes
    ----------
    blocks : tuple of ndarray of float64, each of shape (n_nodes, dimension)
        Return probabilities and attributes, one block for each factor of the node kernel.
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph. No graph is empty.
    labels : ndarray of int, shape (n_nodes,), optional
        Label codes. A negative code matches nothing, not even itself.
    levels : Levels, optional
        Refined labels.
    """

    blocks: tuple[Floats, ...]
    node_ptr: Ints
    labels: Codes | None = None
    levels: Levels | None = None

    def __post_init__(self) -> None:
        if not self.blocks:
            raise InvalidInputError("the nodes have no features: blocks is empty")
        for b, block in enumerate(self.blocks):
            if block.ndim != 2 or len(block) != self.n_nodes or block.shape[1] == 0:
                raise InvalidInputError(
                    f"block {b} must have shape ({self.n_nodes}, at least 1), got {block.shape}"
                )
        if self.labels is not None and self.labels.shape != (self.n_nodes,):
            raise InvalidInputError(
                f"got {len(self.labels)} labels for {self.n_nodes} nodes; pass one for each"
            )

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return int(self.node_ptr[-1])

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return len(self.node_ptr) - 1

    def graph_of_node(self) -> Ints:
        """Graph of every node."""
        return np.repeat(np.arange(self.n_graphs), np.diff(self.node_ptr))

    def label_codes(self) -> Codes:
        """Labels, zeros where there are none."""
        return np.zeros(self.n_nodes, np.int32) if self.labels is None else self.labels

    def of_graphs(self, graphs: Ints) -> "NodePoints":
        """Nodes of some graphs, in the order given."""
        starts, sizes = self.node_ptr[graphs], np.diff(self.node_ptr)[graphs]
        return NodePoints(
            tuple(gather_runs(block, starts, sizes) for block in self.blocks),
            offsets(sizes),
            None if self.labels is None else gather_runs(self.labels, starts, sizes),
            None if self.levels is None else self.levels.of_nodes(starts, sizes),
        )

    def level_codes(self) -> list[tuple[Codes, float, int]]:
        """
        Labels and colours of all levels that count: codes, weight, and first code of the level.

        Codes of one level begin where those of the level before end, so that no two are the same.
        """
        if self.levels is None:
            return [(self.label_codes(), 1.0, 0)]
        found, first = [], 0
        all_levels = zip(
            (self.label_codes(), *self.levels.colours),
            self.levels.n_known,
            self.levels.weights.tolist(),
            strict=True,
        )
        for codes, n_known, weight in all_levels:
            if weight > 0:
                found.append((codes, weight, first))
            first += max(n_known, int(codes.max(initial=-1)) + 1)
        return found

    def graph_chunks(self) -> Iterator[tuple[int, int]]:
        """Ranges of whole graphs of some thousand nodes together."""
        return chunks(self.node_ptr, _CHUNK_NODES)

    def chunk_costs(self, ranges: Sequence[tuple[int, int]]) -> list[float]:
        """Nodes of ranges of graphs."""
        return [float(self.node_ptr[stop] - self.node_ptr[start]) for start, stop in ranges]


def node_points(
    features: NodeFeatures, columns: Sequence[Ints], labels: Codes | None, levels: Levels | None
) -> NodePoints:
    """
    Put return probabilities, blocks of attributes and labels of all nodes together.

    `columns` are those of every block of attributes, labels those of `label_codes`.
    """
    batch = features.batch
    blocks = [np.ascontiguousarray(batch.attributes[:, chosen]) for chosen in columns]
    return NodePoints((features.probabilities, *blocks), batch.node_ptr, labels, levels)


def label_codes(batch: GraphBatch, names: Sequence[Hashable]) -> Codes | None:
    """
    Labels in the vocabulary of the fitted graphs, continued by labels that it lacks.

    A label that was not seen in fit has a code of its own: it matches itself among the new
    graphs, whose norms are exact therefore, and nothing among the fitted ones.
    """
    if not batch.has_labels:
        return None
    known = set(names)
    unseen = [name for name in union_of_names([batch.label_names]) if name not in known]
    return recode(batch.labels, batch.label_names, [*names, *unseen])


def check_node_kernel(kernel: Any, name: str) -> None:
    """Raise unless the parameter `name` is a kernel of numbers."""
    rule = "a Laplacian, Gaussian or Polynomial kernel, such as Laplacian()"
    check_kernel_class(kernel, name, get_args(NodeKernel), rule)


def attribute_blocks(
    attribute_kernel: AttributeKernel, n_attributes: int
) -> list[tuple[Ints, NodeKernel]]:
    """
    Columns of every block of attributes, and the kernel for it.

    One kernel serves all attributes; a mapping gives, by name, the columns of a block and its
    kernel; None is a Laplacian of gamma="dimension". There is no block without attributes.
    """
    if attribute_kernel is None:
        if n_attributes == 0:
            return []
        attribute_kernel = ATTRIBUTE_KERNEL
    if not isinstance(attribute_kernel, Mapping):
        check_node_kernel(attribute_kernel, "attribute_kernel")
    if n_attributes == 0:
        raise InvalidInputError(
            f"the graphs have no attributes for attribute_kernel={attribute_kernel!r}; leave it "
            "out, or give the graphs attributes"
        )
    if not isinstance(attribute_kernel, Mapping):
        return [(np.arange(n_attributes), attribute_kernel)]
    if not attribute_kernel:
        raise InvalidInputError("attribute_kernel names no block; pass None for the default")
    return [_block(name, block, n_attributes) for name, block in attribute_kernel.items()]


def _block(name: str, block: Any, n_attributes: int) -> tuple[Ints, NodeKernel]:
    """Columns of one named block, and its kernel."""
    if not isinstance(block, tuple | list) or len(block) != 2:
        raise InvalidInputError(
            f"attribute block {name!r} must be a tuple of columns and a kernel, such as "
            f"([0, 1], Laplacian()), got {block!r}"
        )
    columns, kernel = block
    check_node_kernel(kernel, f"the kernel of attribute block {name!r}")
    return _columns(name, columns, n_attributes), kernel


def _columns(name: str, columns: Any, n_attributes: int) -> Ints:
    if isinstance(columns, tuple):  # which would be an index of several dimensions
        columns = list(columns)
    try:
        chosen = np.atleast_1d(np.arange(n_attributes)[columns])
    except (IndexError, TypeError) as error:
        raise InvalidInputError(
            f"attribute block {name!r}: the columns {columns!r} do not fit {n_attributes} "
            "attributes"
        ) from error
    if len(chosen) == 0:
        raise InvalidInputError(f"attribute block {name!r} has no columns")
    return chosen
