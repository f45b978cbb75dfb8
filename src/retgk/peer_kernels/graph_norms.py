"""Kernels of graphs with themselves, and kernel values that are divided by their roots."""

from typing import NamedTuple

import numpy as np

from retgk.array_types import Floats
from retgk.errors import InvalidInputError

__all__ = ["NormParts", "check_norms", "divide_by_norms"]

_LEAST_NORM = 1e-290  # sums of smaller products lose digits


class NormParts(NamedTuple):
    """
    Norms as products, so that products of two of them are numbers however large they are.

    Units are powers of two: what is multiplied by them has the same digits as before.

    Attributes
    ----------
    units : ndarray of float64, shape (n_graphs,)
        One over the root of the power of four in each norm.
    rest : ndarray of float64, shape (n_graphs,)
        What is left of it, from 1/4 to 1; zero for a norm of zero.
    """

    units: Floats
    rest: Floats

    @classmethod
    def of(cls, norms: Floats) -> "NormParts":
        """Parts of norms."""
        halves = (np.frexp(norms)[1] + 1) // 2
        return cls(np.ldexp(1.0, -halves), np.ldexp(norms, -2 * halves))


def divide_by_norms(values: Floats, row_norms: Floats, column_norms: Floats) -> None:
    """Divide kernel values, in place, by the roots of both norms; zero where a norm is zero."""
    rows, columns = NormParts.of(row_norms), NormParts.of(column_norms)
    values *= rows.units[:, None]
    values *= columns.units
    scale = np.sqrt(np.outer(rows.rest, columns.rest))
    scale[scale == 0] = np.inf
    values /= scale


def check_norms(norms: Floats, normalize: bool) -> None:
    """Raise if a kernel of a graph with itself is no number, or too small to divide by."""
    is_bad = ~np.isfinite(norms)
    if normalize:
        is_bad |= (norms > 0) & (norms < _LEAST_NORM)
    if is_bad.any():
        graph = int(is_bad.argmax())
        how = "small" if norms[graph] < 1 else "large"
        raise InvalidInputError(
            f"graph {graph}: its kernel with itself is too {how} to compute with; scale the "
            "attributes or the weights that the kernel is given, such as size_weights, so that "
            "they are closer to one"
        )
