"""From graphs to the features of their nodes and the kernels between those."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.engine.exact.points import NodePoints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.labels import recode, union_of_names
from retgk.kernels.node_kernels import Gaussian, Laplacian, NodeKernel, Polynomial

__all__ = [
    "AttributeKernel",
    "attribute_blocks",
    "check_node_kernel",
    "label_codes",
    "node_points",
]

AttributeKernel = NodeKernel | Mapping[str, tuple[Any, NodeKernel]] | None


def check_node_kernel(kernel: Any, name: str) -> None:
    """
    Raise unless something is a kernel of numbers.

    Parameters
    ----------
    kernel : object
        What a user gave.
    name : str
        The parameter, for the message.
    """
    if not isinstance(kernel, Laplacian | Gaussian | Polynomial):
        raise InvalidInputError(
            f"{name} must be a Laplacian, Gaussian or Polynomial kernel, such as Laplacian(), got "
            f"{kernel!r}"
        )


def attribute_blocks(
    attribute_kernel: AttributeKernel, n_attributes: int
) -> list[tuple[NDArray[np.int64], NodeKernel]]:
    """
    Columns of every block of attributes, and the kernel for it.

    Parameters
    ----------
    attribute_kernel : node kernel, mapping or None
        One kernel for all attributes; or, by name, the columns of a block and its kernel; None
        for a Laplacian of gamma="dimension" where there are attributes.
    n_attributes : int
        Number of attributes of a node.

    Returns
    -------
    list of (columns, kernel)
        No block where there are no attributes.
    """
    if attribute_kernel is None:
        if n_attributes == 0:
            return []
        attribute_kernel = Laplacian("dimension")
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


def _block(name: str, block: Any, n_attributes: int) -> tuple[NDArray[np.int64], NodeKernel]:
    """Columns of one named block, and its kernel."""
    if not isinstance(block, tuple | list) or len(block) != 2:
        raise InvalidInputError(
            f"attribute block {name!r} must be a tuple of columns and a kernel, such as "
            f"([0, 1], Laplacian()), got {block!r}"
        )
    columns, kernel = block
    check_node_kernel(kernel, f"the kernel of attribute block {name!r}")
    return _columns(name, columns, n_attributes), kernel


def _columns(name: str, columns: Any, n_attributes: int) -> NDArray[np.int64]:
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


def label_codes(batch: GraphBatch, names: Sequence[Hashable]) -> NDArray[np.int32] | None:
    """
    Labels in the vocabulary of the fitted graphs, continued by labels that it lacks.

    A label that was not seen in fit has a code of its own: it matches itself among the new
    graphs, whose norms are exact therefore, and nothing among the fitted ones.

    Parameters
    ----------
    batch : GraphBatch
        Graphs.
    names : sequence of hashable
        Vocabulary of the fitted graphs.

    Returns
    -------
    ndarray of int32 or None
        One code per node; None where there are no labels.
    """
    if not batch.has_labels:
        return None
    known = set(names)
    unseen = [name for name in union_of_names([batch.label_names]) if name not in known]
    return recode(batch.labels, batch.label_names, [*names, *unseen])


def node_points(
    batch: GraphBatch,
    probabilities: NDArray[np.float64],
    columns: Sequence[NDArray[np.int64]],
    names: Sequence[Hashable],
) -> NodePoints:
    """
    Put the features of all nodes together.

    Parameters
    ----------
    batch : GraphBatch
        Graphs.
    probabilities : ndarray, shape (n_nodes, n_steps)
        Return probabilities.
    columns : sequence of ndarray of int64
        Columns of every block of attributes.
    names : sequence of hashable
        Vocabulary of the fitted graphs.

    Returns
    -------
    NodePoints
        Return probabilities, then the blocks of attributes; labels.
    """
    blocks = [np.ascontiguousarray(batch.attributes[:, chosen]) for chosen in columns]
    return NodePoints((probabilities, *blocks), batch.node_ptr, label_codes(batch, names))
