"""Reduced points of fitted graphs as plain values and arrays, and back with every check."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.engine.exact.distinct_points import NO_COLOUR, DistinctPoints
from retgk.engine.exact.fitted_graphs import FittedGraphs
from retgk.engine.exact.frame import Factor, Frame, factor_order
from retgk.engine.fitted_state import FittedState
from retgk.engine.label_levels import Levels
from retgk.errors import InvalidInputError
from retgk.kernels.node_kernels import NodeKernel

__all__ = ["exact_state", "restored_graphs"]

_LIMITS = ("budget", "tail_budget", "size", "radius")
_ROUNDING = 1e-9  # weights of a graph may sum up to so much more than one


def exact_state(graphs: FittedGraphs, squared_norms: Floats) -> FittedState:
    """State of fitted graphs."""
    points, frame = graphs.points, graphs.frame
    arrays: dict[str, NDArray[Any]] = {
        "squared_norms": squared_norms,
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
    limits = {name: float(getattr(frame, name)) for name in _LIMITS}
    return FittedState({"precision": np.dtype(frame.dtype).name, **limits}, arrays)


def restored_graphs(
    state: FittedState, kernels: Sequence[NodeKernel], widths: Sequence[int], levels: Levels
) -> tuple[FittedGraphs, Floats]:
    """Fitted graphs and their squared norms; anything that does not fit is an error."""
    norms = state.take_array("squared_norms", np.float64, (None,))
    frame = _restored_frame(state, kernels, widths)
    return FittedGraphs(_restored_points(state, frame, levels, len(norms)), frame), norms


def _restored_frame(
    state: FittedState, kernels: Sequence[NodeKernel], widths: Sequence[int]
) -> Frame:
    factors = tuple(
        Factor(
            b,
            kernels[b],
            state.take_array(f"mean_{b}", np.float64, (widths[b],)),
            _restored_basis(state, b, widths[b]),
        )
        for b in factor_order(kernels, widths)
    )
    precision = state.take_choice("precision", ("float32", "float64"))
    dtype = np.float32 if precision == "float32" else np.float64
    limits = [state.take_value(name, float) for name in _LIMITS]
    if not (np.isfinite(limits).all() and min(limits) >= 0 and limits[-1] > 0):
        raise InvalidInputError(f"{', '.join(_LIMITS)} are {limits}, which cannot be")
    return Frame(factors, dtype, *limits)


def _restored_basis(state: FittedState, b: int, width: int) -> Floats | None:
    name = f"basis_{b}"
    if name not in state.arrays:
        return None
    basis = state.take_array(name, np.float64, (width, None))
    if not 1 <= basis.shape[1] < width:
        raise InvalidInputError(f"{name!r} has {basis.shape[1]} directions of {width}")
    return basis


def _restored_points(
    state: FittedState, frame: Frame, levels: Levels, n_graphs: int
) -> DistinctPoints:
    coordinates = state.take_array("coordinates", np.float64, (None, int(frame.block_ptr[-1])))
    labels = state.take_array("labels", np.int32, (len(coordinates),))
    entry_points = state.take_array("entry_points", np.int64, (None,))
    entry_graphs = state.take_array("entry_graphs", np.int64, (len(entry_points),))
    weights = state.take_array("entry_weights", np.float64, (len(entry_points),))
    if (
        len(labels) == 0
        or (np.diff(labels) < 0).any()
        or not 0 <= labels[0] <= labels[-1] < sum(levels.n_known)
    ):
        raise InvalidInputError("'labels' are not rising codes of 'label_names'")
    _check_entries(entry_points, entry_graphs, len(labels), n_graphs)
    totals = np.bincount(entry_graphs, weights, n_graphs)
    total = np.sqrt(levels.weights).sum()
    if not (weights > 0).all() or not (np.abs(totals - total) <= _ROUNDING * total).all():
        raise InvalidInputError("'entry_weights' are not shares of the nodes of graphs")
    first_colour = levels.n_known[0] if len(levels.n_known) > 1 else NO_COLOUR
    return DistinctPoints(
        coordinates, labels, entry_points, entry_graphs, weights, n_graphs, first_colour
    )


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
