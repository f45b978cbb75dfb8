"""Kernels between graphs, from inner products of their mean embeddings.

Exact and approximate embeddings both end in the matrix of <m_G, m_H>; everything after it
is written here, once.
"""

from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

import numpy as np

from retgk import _core
from retgk.array_types import Floats
from retgk.errors import InvalidInputError, Remedy
from retgk.kernels.node_kernels import check_kernel_class

__all__ = [
    "ExponentialGraphKernel",
    "GraphKernel",
    "PolynomialGraphKernel",
    "check_graph_kernel",
    "fit_graph_kernel",
    "squared_mmd_from_products",
    "squared_mmd_within",
]


def squared_mmd_from_products(products: Floats, norms_x: Floats, norms_y: Floats) -> Floats:
    """
    ``MMD^2(G, H) = <m_G, m_G> + <m_H, m_H> - 2 <m_G, m_H>``, not below zero.

    Parameters
    ----------
    products : ndarray, shape (n_x, n_y)
        Inner products <m_G, m_H>.
    norms_x : ndarray, shape (n_x,)
        Squared norms <m_G, m_G>.
    norms_y : ndarray, shape (n_y,)
        Squared norms <m_H, m_H>.

    Returns
    -------
    ndarray, shape (n_x, n_y)
        Squared distances.

    Examples
    --------
    >>> squared_mmd_from_products(np.array([[0.5]]), np.array([1.0]), np.array([1.0]))
    array([[1.]])
    """
    squared = np.add.outer(norms_x, norms_y)  # first, so that the result is symmetric to the bit
    squared -= 2.0 * products
    return np.maximum(squared, 0.0, out=squared)


def squared_mmd_within(products: Floats) -> Floats:
    """Squared distances among graphs, from the symmetric matrix of their inner products."""
    norms = products.diagonal()
    squared = squared_mmd_from_products(products, norms, norms)
    np.fill_diagonal(squared, 0.0)
    return squared


@dataclass(frozen=True)
class PolynomialGraphKernel:
    """
    ``K_1(G, H) = (c + <m_G, m_H>)^d`` (equation 8a of the paper).

    Parameters
    ----------
    c : float, default=0.0
        Not negative.
    d : int, default=1
        At least one.

    Examples
    --------
    >>> norms = np.ones(1)
    >>> PolynomialGraphKernel(c=1, d=2)(np.array([[0.5]]), norms, norms)
    array([[2.25]])
    """

    c: float = 0.0
    d: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.c < np.inf:
            raise InvalidInputError(f"c must be finite and not negative, got {self.c!r}")
        if not (isinstance(self.d, int | np.integer) and self.d >= 1):
            raise InvalidInputError(f"d must be a whole number of at least 1, got {self.d!r}")

    def __call__(self, products: Floats, norms_x: Floats, norms_y: Floats) -> Floats:  # noqa: ARG002
        """Give the matrix of kernel values."""
        return np.asarray((self.c + products) ** self.d)


@dataclass(frozen=True)
class ExponentialGraphKernel:
    r"""
    ``K_2(G, H) = exp(-gamma MMD(G, H)^p)`` (equation 8b of the paper).

    Parameters
    ----------
    gamma : float or "median", default="median"
        "median" is :math:`(scale \cdot median)^{-p}`, of the median distance of all pairs of fitted
        graphs, each graph with itself among them, as in the authors' implementation. If it is
        zero, because more than half of all pairs are alike, the median of the other pairs takes
        its place, and one if there are none.
    p : float, default=1.0
        In (0, 2].
    scale : float, default=1.0
        Factor of the median; without effect when gamma is a number.

    Examples
    --------
    >>> norms = np.ones(1)
    >>> ExponentialGraphKernel(gamma=1.0, p=2)(np.array([[0.5]]), norms, norms).round(3)
    array([[0.368]])
    """

    gamma: float | Literal["median"] = "median"
    p: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.p <= 2:
            raise InvalidInputError(f"p must be in (0, 2], got {self.p!r}")
        if not 0 < self.scale < np.inf:
            raise InvalidInputError(f"scale must be positive and finite, got {self.scale!r}")
        if isinstance(self.gamma, str):
            if self.gamma != "median":
                raise InvalidInputError(
                    f"gamma must be a positive number or 'median', got {self.gamma!r}"
                )
        elif not 0 < self.gamma < np.inf:
            raise InvalidInputError(f"gamma must be positive and finite, got {self.gamma!r}")

    def fitted(self, squared_mmd: float) -> Self:
        """
        Replace the median rule by the number that it gives.

        Parameters
        ----------
        squared_mmd : float
            Squared median distance of the fitted graphs, positive.

        Returns
        -------
        ExponentialGraphKernel
            The same kernel with a number for gamma.
        """
        if self.gamma != "median":
            return self
        width = self.scale * float(np.sqrt(squared_mmd))
        try:
            gamma = width**-self.p
        except (OverflowError, ZeroDivisionError):
            gamma = np.inf
        if not 0 < gamma < np.inf:
            raise InvalidInputError(
                f"scale={self.scale!r} of the median distance {np.sqrt(squared_mmd):.3g} gives "
                f"gamma={gamma}, which is no number to compute with; choose a scale nearer to 1"
            )
        return replace(self, gamma=gamma)

    def __call__(self, products: Floats, norms_x: Floats, norms_y: Floats) -> Floats:
        """Give the matrix of kernel values, 1e-15 off, or the exponent times that if it is more."""
        if isinstance(self.gamma, str):
            raise InvalidInputError("gamma='median' is a rule; fit the kernel first")
        products = np.ascontiguousarray(products, np.float64)
        norms_x, norms_y = (np.ascontiguousarray(part, np.float64) for part in (norms_x, norms_y))
        values = np.empty(products.shape)
        _core.fill_exponentials(products, norms_x, norms_y, self.gamma, self.p, values)
        return values


GraphKernel = PolynomialGraphKernel | ExponentialGraphKernel


def check_graph_kernel(graph_kernel: object, n_graphs: int) -> None:
    """Raise unless this is a graph kernel that can be fitted to that many graphs."""
    rule = "an ExponentialGraphKernel, a PolynomialGraphKernel or None"
    check_kernel_class(graph_kernel, "graph_kernel", get_args(GraphKernel), rule)
    if n_graphs == 1 and getattr(graph_kernel, "gamma", None) == "median":
        raise InvalidInputError(
            "there is one graph (n_samples=1), whose distances have no median",
            Remedy(
                "graph_gamma", "give more graphs, or a number as gamma of ExponentialGraphKernel"
            ),
        )


def fit_graph_kernel(
    graph_kernel: GraphKernel, products: Floats, n_jobs: int | None = None
) -> GraphKernel:
    """Replace a rule for gamma by the number that the inner products of some graphs give."""
    if isinstance(graph_kernel, ExponentialGraphKernel) and graph_kernel.gamma == "median":
        from retgk.kernels.medians import typical_squared_mmd

        return graph_kernel.fitted(typical_squared_mmd(products, n_jobs))
    return graph_kernel
