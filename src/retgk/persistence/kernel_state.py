"""The fitted state of RetGKKernel, out of it and into it again."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.engine.exact.fitted_graphs import FittedGraphs
from retgk.engine.exact.frames import Factor, Frame, factor_order
from retgk.engine.exact.points import DistinctPoints
from retgk.engine.node_features import attribute_blocks
from retgk.errors import InvalidInputError
from retgk.estimators.kernel import RetGKKernel
from retgk.persistence.stored_state import Stored

__all__ = ["kernel_state", "set_kernel_state"]

_MAX_ATTRIBUTES = 1 << 16
_MAX_SEED = 2**63 - 1
_LIMITS = ("budget", "tail_budget", "size", "radius")
_ROUNDING = 1e-9  # weights of a graph may sum up to so much more than one


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
    points, frame = kernel._fitted.points, kernel._fitted.frame
    arrays: dict[str, NDArray[Any]] = {
        "squared_norms": kernel.squared_norms_,
        "coordinates": points.coordinates,
        "labels": points.labels,
        "entry_points": points.entry_points,
        "entry_graphs": points.entry_graphs,
        "entry_weights": points.entry_weights,
    }
    for factor in frame.factors:
        arrays[f"mean_{factor.block}"] = factor.mean
        if factor.basis is not None:
            arrays[f"basis_{factor.block}"] = factor.basis
    values = {
        "structure_kernel": kernel.structure_kernel_,
        **{f"attribute_kernel_{b}": own for b, own in enumerate(kernel.attribute_kernels_)},
        "graph_kernel": kernel.graph_kernel_,
        "label_names": tuple(kernel.label_names_),
        "has_labels": kernel._has_labels,
        "n_attributes": kernel._n_attributes,
        "walk_seed": kernel.walk_seed_,
        "precision": np.dtype(frame.dtype).name,
        **{name: float(getattr(frame, name)) for name in _LIMITS},
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
    kernel.walk_seed_ = stored.take_count("walk_seed", _MAX_SEED)
    kernel._columns = _columns(kernel, stored)
    kernel.attribute_kernels_ = [
        stored.take_node_kernel(f"attribute_kernel_{b}") for b in range(len(kernel._columns))
    ]
    kernel.squared_norms_ = stored.take_array("squared_norms", np.float64, (None,))
    frame = _frame(kernel, stored)
    kernel._fitted = FittedGraphs(_points(kernel, frame, stored), frame)


def _columns(kernel: RetGKKernel, stored: Stored) -> list[Ints]:
    """Columns of the blocks of attributes, which the parameters tell."""
    given = kernel.attribute_kernel
    n_stored = sum(name.startswith("attribute_kernel_") for name in stored.values)
    if isinstance(given, Mapping) and len(given) != n_stored:  # before memory is given to each
        raise InvalidInputError(
            f"attribute_kernel has {len(given)} blocks, but kernels are there for {n_stored}"
        )
    return [columns for columns, _ in attribute_blocks(given, kernel._n_attributes)]


def _frame(kernel: RetGKKernel, stored: Stored) -> Frame:
    kernels = [kernel.structure_kernel_, *kernel.attribute_kernels_]
    widths = [int(kernel.n_steps), *map(len, kernel._columns)]
    factors = tuple(
        Factor(
            b,
            kernels[b],
            stored.take_array(f"mean_{b}", np.float64, (widths[b],)),
            _basis(stored, b, widths[b]),
        )
        for b in factor_order(kernels, widths)
    )
    precision = stored.take_choice("precision", ("float32", "float64"))
    dtype = np.float32 if precision == "float32" else np.float64
    limits = [stored.take_value(name, float) for name in _LIMITS]
    if not (np.isfinite(limits).all() and min(limits) >= 0 and limits[-1] > 0):
        raise InvalidInputError(f"{', '.join(_LIMITS)} are {limits}, which cannot be")
    return Frame(factors, dtype, *limits)


def _basis(stored: Stored, b: int, width: int) -> NDArray[np.float64] | None:
    name = f"basis_{b}"
    if name not in stored.arrays:
        return None
    basis = stored.take_array(name, np.float64, (width, None))
    if not 1 <= basis.shape[1] < width:
        raise InvalidInputError(f"{name!r} has {basis.shape[1]} directions of {width}")
    return basis


def _points(kernel: RetGKKernel, frame: Frame, stored: Stored) -> DistinctPoints:
    coordinates = stored.take_array("coordinates", np.float64, (None, int(frame.block_ptr[-1])))
    labels = stored.take_array("labels", np.int32, (len(coordinates),))
    entry_points = stored.take_array("entry_points", np.int64, (None,))
    entry_graphs = stored.take_array("entry_graphs", np.int64, (len(entry_points),))
    weights = stored.take_array("entry_weights", np.float64, (len(entry_points),))
    n_graphs = len(kernel.squared_norms_)
    n_labels = max(1, len(kernel.label_names_)) if kernel._has_labels else 1
    if (
        len(labels) == 0
        or (np.diff(labels) < 0).any()
        or not 0 <= labels[0] <= labels[-1] < n_labels
    ):
        raise InvalidInputError("'labels' are not rising codes of 'label_names'")
    _check_entries(entry_points, entry_graphs, len(labels), n_graphs)
    totals = np.bincount(entry_graphs, weights, n_graphs)
    if not (weights > 0).all() or not (np.abs(totals - 1) <= _ROUNDING).all():
        raise InvalidInputError("'entry_weights' are not shares of the nodes of graphs")
    return DistinctPoints(coordinates, labels, entry_points, entry_graphs, weights, n_graphs)


def _check_entries(points: Ints, graphs: Ints, n_points: int, n_graphs: int) -> None:
    """Raise unless every point occurs, and its graphs rise."""
    steps = np.diff(points)
    is_complete = len(points) and points[0] == 0 and points[-1] == n_points - 1
    if not is_complete or ((steps != 0) & (steps != 1)).any():
        raise InvalidInputError("'entry_points' does not rise through all points")
    if not 0 <= graphs.min() <= graphs.max() < n_graphs:
        raise InvalidInputError(f"'entry_graphs' has graphs that are not among {n_graphs}")
    if (np.diff(graphs)[steps == 0] <= 0).any():
        raise InvalidInputError("'entry_graphs' does not rise within each point")
