"""Checks of the parameters of an embedding, before any work is done."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from retgk.engine.embedded.frequencies import check_fourier_kernel
from retgk.errors import InvalidInputError

__all__ = ["FeatureMap", "UnknownLabels", "checked_widths"]

FeatureMap = Literal["joint", "tensor"]
UnknownLabels = Literal["ignore", "error", "column"]


def checked_widths(parameters: Mapping[str, Any]) -> tuple[int, ...]:
    """
    Numbers of features, from parameters that are checked.

    Parameters
    ----------
    parameters : mapping
        Parameters of `RetGKEmbedding`.

    Returns
    -------
    tuple of int
        D for the joint map, D0 and Dc for the tensor.
    """
    _check_choice(parameters, "feature_map", get_args(FeatureMap))
    _check_choice(parameters, "unknown_labels", get_args(UnknownLabels))
    for name in ("structure_kernel", "attribute_kernel"):
        if parameters[name] is not None:
            check_fourier_kernel(parameters[name], name)
    if np.dtype(parameters["dtype"]) not in (np.float64, np.float32):
        raise InvalidInputError(f"dtype must be float64 or float32, got {parameters['dtype']}")
    batch_size = parameters["batch_size"]
    if batch_size is not None and not (_is_whole(batch_size) and batch_size >= 1):
        raise InvalidInputError(f"batch_size must be None or at least 1, got {batch_size!r}")
    return _widths(parameters["n_components"], parameters["feature_map"])


def _widths(n_components: Any, feature_map: str) -> tuple[int, ...]:
    widths = n_components if isinstance(n_components, tuple | list) else (n_components,)
    if not all(_is_whole(width) and width >= 1 for width in widths) or len(widths) not in (1, 2):
        raise InvalidInputError(
            f"n_components must be a whole number of at least 1, or two of them, got {n_components}"
        )
    if feature_map == "joint":
        if len(widths) != 1:
            raise InvalidInputError(
                f"n_components must be one number for feature_map='joint', got {n_components}"
            )
        return (int(widths[0]),)
    return int(widths[0]), int(widths[-1])


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check_choice(parameters: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> None:
    if parameters[name] not in choices:
        raise InvalidInputError(f"{name} must be one of {choices}, got {parameters[name]!r}")
