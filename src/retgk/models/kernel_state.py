"""The fitted state of RetGKKernel, out of it and into it again."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InvalidInputError
from retgk.estimators.kernel import RetGKKernel
from retgk.estimators.node_features import attribute_blocks
from retgk.kernels.points import NodePoints
from retgk.models.stored import Stored

__all__ = ["kernel_state", "set_kernel_state"]

_MAX_ATTRIBUTES = 1 << 16
_ROUNDING = 1e-9  # a return probability may be above one by so much


def kernel_state(kernel: RetGKKernel) -> Stored:
    """
    Everything that `transform` needs; inner products of the fitted graphs are found again.

    Parameters
    ----------
    kernel : RetGKKernel
        A fitted kernel.

    Returns
    -------
    Stored
        Its state.
    """
    points = kernel._points
    probabilities, *attributes = points.blocks
    arrays: dict[str, NDArray[Any]] = {
        "node_ptr": points.node_ptr,
        "squared_norms": kernel.squared_norms_,
        "return_probabilities": probabilities,
        **{f"attributes_{b}": block for b, block in enumerate(attributes)},
    }
    if points.labels is not None:
        arrays["labels"] = points.labels
    values = {
        "structure_kernel": kernel.structure_kernel_,
        **{f"attribute_kernel_{b}": own for b, own in enumerate(kernel.attribute_kernels_)},
        "graph_kernel": kernel.graph_kernel_,
        "label_names": tuple(kernel.label_names_),
        "has_labels": kernel._has_labels,
        "n_attributes": kernel._n_attributes,
    }
    return Stored(values, arrays)


def set_kernel_state(kernel: RetGKKernel, stored: Stored) -> None:
    """
    Make a kernel fitted.

    Parameters
    ----------
    kernel : RetGKKernel
        A kernel with its parameters.
    stored : Stored
        What `kernel_state` gave, which is checked.
    """
    kernel.structure_kernel_ = stored.take_node_kernel("structure_kernel")
    kernel.graph_kernel_ = stored.take_graph_kernel("graph_kernel")
    kernel.label_names_ = stored.take_names("label_names")
    kernel._has_labels = stored.take_value("has_labels", bool)
    kernel._n_attributes = stored.take_count("n_attributes", _MAX_ATTRIBUTES)
    kernel._columns = _columns(kernel, stored)
    kernel.attribute_kernels_ = [
        stored.take_node_kernel(f"attribute_kernel_{b}") for b in range(len(kernel._columns))
    ]
    kernel._points = _points(kernel, stored)
    kernel.squared_norms_ = stored.take_array(
        "squared_norms", np.float64, (kernel._points.n_graphs,)
    )


def _columns(kernel: RetGKKernel, stored: Stored) -> list[NDArray[np.int64]]:
    """Columns of the blocks of attributes, which the parameters tell."""
    given = kernel.attribute_kernel
    n_stored = sum(name.startswith("attributes_") for name in stored.arrays)
    if isinstance(given, Mapping) and len(given) != n_stored:  # before memory is given to each
        raise InvalidInputError(
            f"attribute_kernel has {len(given)} blocks, but attributes are there for {n_stored}"
        )
    return [columns for columns, _ in attribute_blocks(given, kernel._n_attributes)]


def _points(kernel: RetGKKernel, stored: Stored) -> NodePoints:
    node_ptr = stored.take_array("node_ptr", np.int64, (None,))
    if len(node_ptr) < 2 or node_ptr[0] != 0 or not (np.diff(node_ptr) > 0).all():
        raise InvalidInputError("'node_ptr' does not rise from 0")
    n_nodes = int(node_ptr[-1])
    probabilities = stored.take_array("return_probabilities", np.float64, (n_nodes, kernel.n_steps))
    if not (probabilities.min() >= -_ROUNDING and probabilities.max() <= 1 + _ROUNDING):
        raise InvalidInputError("'return_probabilities' has values outside of [0, 1]")
    attributes = [
        stored.take_array(f"attributes_{b}", np.float64, (n_nodes, len(columns)))
        for b, columns in enumerate(kernel._columns)
    ]
    return NodePoints((probabilities, *attributes), node_ptr, _labels(kernel, stored, n_nodes))


def _labels(kernel: RetGKKernel, stored: Stored, n_nodes: int) -> NDArray[np.int32] | None:
    if not kernel._has_labels:
        return None
    labels = stored.take_array("labels", np.int32, (n_nodes,))
    if labels.min() < 0 or labels.max() >= len(kernel.label_names_):
        raise InvalidInputError("'labels' has codes that are not in 'label_names'")
    return labels
