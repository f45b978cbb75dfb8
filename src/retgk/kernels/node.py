"""Kernels between nodes: small frozen values, each with its formula."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk._runtime.names import generator_from
from retgk.array_types import Floats
from retgk.errors import InvalidInputError

Bandwidth = float | Literal["median", "dimension"]

_NODES_PER_GRAPH = 5
_MAX_SAMPLE = 4000
_LEAST_DISTANCE = 1e-145  # its square has all digits
_ALIKE = 1e-12  # of the largest coordinate: rounding, for nodes that are equal


def _check_gamma(gamma: Any, name: str) -> None:
    if isinstance(gamma, str):
        if gamma not in ("median", "dimension"):
            raise InvalidInputError(
                f"{name}: gamma must be a positive number, 'median' or 'dimension', got {gamma!r}"
            )
    elif not (isinstance(gamma, (int, float, np.number)) and 0 < gamma < np.inf):
        raise InvalidInputError(f"{name}: gamma must be positive and finite, got {gamma!r}")


def _squared_distances(x: ArrayLike, y: ArrayLike) -> Floats:
    from scipy.spatial.distance import cdist

    return cdist(np.asarray(x, np.float64), np.asarray(y, np.float64), "sqeuclidean")


@dataclass(frozen=True)
class _Scaled:
    """A kernel with a scale gamma that may still have to be found from data."""

    gamma: Bandwidth = "median"

    def __post_init__(self) -> None:
        _check_gamma(self.gamma, type(self).__name__)

    @property
    def scale(self) -> float:
        """The number gamma; an error if it is still a rule."""
        if isinstance(self.gamma, str):
            raise InvalidInputError(
                f"{type(self).__name__}: gamma={self.gamma!r} is a rule; call fitted first"
            )
        return float(self.gamma)

    def fitted(self, points: Floats, node_ptr: NDArray[np.int64], random_state: Any = None) -> Self:
        """
        Replace a rule for gamma by the number that it gives for these points.

        Parameters
        ----------
        points : ndarray, shape (n_nodes, dimension)
            Features of all nodes.
        node_ptr : ndarray of int64, shape (n_graphs + 1,)
            First node of every graph.
        random_state : None, int, Generator or RandomState
            Draws the nodes for the median.

        Returns
        -------
        kernel
            The same kernel with a number for gamma.
        """
        if self.gamma == "median":
            return replace(self, gamma=self._from_median(points, node_ptr, random_state))
        if self.gamma == "dimension":
            return replace(self, gamma=points.shape[1] ** -0.5)
        return self

    def _from_median(self, points: Floats, node_ptr: NDArray[np.int64], random_state: Any) -> float:
        distance = median_distance(points, node_ptr, random_state)
        if distance < _LEAST_DISTANCE:
            raise InvalidInputError(
                f"{type(self).__name__}: the median distance of nodes is {distance:.3g}, whose "
                "square is too small to compute with; scale the attributes, so that they are "
                "closer to one"
            )
        return 1.0 / distance


@dataclass(frozen=True)
class Laplacian(_Scaled):
    """
    Laplacian kernel ``k(x, y) = exp(-gamma ||x - y||_2)``.

    Parameters
    ----------
    gamma : float, "median" or "dimension", default="median"
        "median" is one over the median distance of nodes, "dimension" is one over the root of
        the number of coordinates (section 6.2 of the paper: RPF and attributes).

    Examples
    --------
    >>> Laplacian(gamma=2.0)([[0.0]], [[0.0], [1.0]]).round(3)
    array([[1.   , 0.135]])
    """

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Give the matrix of kernel values between rows of x and rows of y."""
        return np.exp(-self.scale * np.sqrt(_squared_distances(x, y)))


@dataclass(frozen=True)
class Gaussian(_Scaled):
    """
    Gaussian kernel ``k(x, y) = exp(-gamma ||x - y||_2^2)``.

    Parameters
    ----------
    gamma : float, "median" or "dimension", default="median"
        "median" is one over the squared median distance of nodes, "dimension" is one over the
        root of the number of coordinates.

    Examples
    --------
    >>> Gaussian(gamma=2.0)([[0.0]], [[0.0], [1.0]]).round(3)
    array([[1.   , 0.135]])
    """

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Give the matrix of kernel values between rows of x and rows of y."""
        return np.exp(-self.scale * _squared_distances(x, y))

    def _from_median(self, points: Floats, node_ptr: NDArray[np.int64], random_state: Any) -> float:
        return float(super()._from_median(points, node_ptr, random_state) ** 2)


COMPARISON_KERNEL = Laplacian(gamma=5.0)
"""
Kernel of return probabilities wherever graphs are compared without being fitted to a collection.

The paper's rule for gamma, one over the median distance of nodes, gives 3 to 8 on its collections.
"""

ATTRIBUTE_KERNEL = Laplacian(gamma="dimension")
"""The paper's kernel of attributes."""


@dataclass(frozen=True)
class Polynomial(_Scaled):
    """
    Polynomial kernel ``k(x, y) = (gamma <x, y> + coef0)^degree``.

    Parameters
    ----------
    degree : int, default=2
        At least 1.
    coef0 : float, default=1.0
        Not negative, so that the kernel is positive definite.
    gamma : float, "median" or "dimension", default="dimension"
        Scale of the inner product.

    Examples
    --------
    >>> Polynomial(degree=2, coef0=1.0, gamma=1.0)([[1.0, 2.0]], [[3.0, 0.0]])
    array([[16.]])
    """

    gamma: Bandwidth = "dimension"
    degree: int = 2
    coef0: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.degree, (int, np.integer)) and self.degree >= 1):
            raise InvalidInputError(
                f"Polynomial: degree must be a whole number of at least 1, got {self.degree!r}"
            )
        if not 0 <= self.coef0 < np.inf:
            raise InvalidInputError(
                f"Polynomial: coef0 must be finite and not negative, got {self.coef0!r}"
            )

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Give the matrix of kernel values between rows of x and rows of y."""
        products = np.asarray(x, np.float64) @ np.asarray(y, np.float64).T
        return np.asarray(np.power(self.scale * products + self.coef0, self.degree))

    def largest_value(self, points: Floats) -> float:
        """Bound on the kernel of any two of some points; infinite where that is no number."""
        largest = float(max(points.max(initial=0.0), -points.min(initial=0.0)))
        try:
            inner = self.scale * points.shape[1] * largest * largest
            return float((inner + self.coef0) ** self.degree)
        except OverflowError:
            return np.inf

    def _from_median(self, points: Floats, node_ptr: NDArray[np.int64], random_state: Any) -> float:
        return float(super()._from_median(points, node_ptr, random_state) ** 2)


@dataclass(frozen=True)
class Delta:
    """
    Delta kernel of discrete labels, ``k(a, b) = 1`` where ``a == b``, else 0.

    Examples
    --------
    >>> Delta()([1, 2], [2, 2])
    array([[0., 0.],
           [1., 1.]])
    """

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Give the matrix of kernel values between labels x and labels y."""
        equal: NDArray[np.bool_] = np.asarray(x)[:, None] == np.asarray(y)[None, :]
        return equal.astype(np.float64)


@dataclass(frozen=True)
class Bridge:
    """
    Brownian bridge kernel ``k(x, y) = prod_i max(0, 1 - |x_i - y_i| / width)``.

    It is zero for values that are far apart. `SubgraphMatchingKernel` alone takes it.

    Parameters
    ----------
    width : float, default=1.0
        Difference of one coordinate from which on the kernel is zero.

    Examples
    --------
    >>> Bridge(width=2.0)([[0.0]], [[0.0], [1.0], [5.0]])
    array([[1. , 0.5, 0. ]])
    """

    width: float = 1.0

    def __post_init__(self) -> None:
        if not (isinstance(self.width, (int, float, np.number)) and 0 < self.width < np.inf):
            raise InvalidInputError(
                f"Bridge: width must be positive and finite, got {self.width!r}"
            )

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Give the matrix of kernel values between rows of x and rows of y."""
        first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
        values = np.ones((len(first), len(second)))
        for own, other in zip(first.T, second.T, strict=True):
            values *= np.maximum(0.0, 1.0 - np.abs(own[:, None] - other) / self.width)
        return values

    def fitted(
        self,
        points: Floats,  # noqa: ARG002
        node_ptr: NDArray[np.int64],  # noqa: ARG002
        random_state: Any = None,  # noqa: ARG002
    ) -> Self:
        """Give the kernel itself: there is nothing to find."""
        return self


NodeKernel = Laplacian | Gaussian | Polynomial


def check_kernel_class(kernel: object, name: str, classes: tuple[type, ...], rule: str) -> None:
    """
    Raise unless the parameter `name` is a kernel of one of these very classes.

    Compiled code and model files know a kernel by its class and its numbers, never by its
    methods, so that a subclass would be computed as if it overrode nothing.
    """
    if type(kernel) in classes:
        return
    for known in classes:
        if isinstance(kernel, known):
            raise InvalidInputError(
                f"{name} is of class {type(kernel).__name__}, a subclass of {known.__name__}, and "
                f"what it overrides would be ignored; give a {known.__name__} itself"
            )
    raise InvalidInputError(f"{name} must be {rule}, got {kernel!r}")


def median_distance(points: Floats, node_ptr: NDArray[np.int64], random_state: Any = None) -> float:
    """
    Median distance between nodes, drawn as in the authors' implementation.

    Five nodes are drawn from every graph that has at least five (from all graphs if none has),
    and the median of all their pairwise distances is taken, the zeros of the diagonal included.
    Of more than 4,000 drawn nodes, 4,000 are used. Where more than half of the distances are zero
    but for rounding, as in symmetric graphs, the median of the others is taken.

    Parameters
    ----------
    points : ndarray, shape (n_nodes, dimension)
        Features of all nodes.
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    random_state : None, int, Generator or RandomState
        Draws the nodes.

    Returns
    -------
    float
        The median distance; 1 if all nodes are alike.

    Examples
    --------
    >>> median_distance(np.arange(6.0)[:, None], np.array([0, 6]), random_state=0)
    1.0
    """
    rng = generator_from(random_state)
    sizes = np.diff(node_ptr)
    large = np.flatnonzero(sizes >= _NODES_PER_GRAPH)
    graphs = large if len(large) else np.arange(len(sizes))
    drawn = [
        node_ptr[g] + rng.choice(sizes[g], min(_NODES_PER_GRAPH, int(sizes[g])), replace=False)
        for g in graphs
    ]
    nodes = np.concatenate(drawn)
    if len(nodes) > _MAX_SAMPLE:
        nodes = rng.choice(nodes, _MAX_SAMPLE, replace=False)
    return _median_of_pairs(points[nodes])


def _median_of_pairs(points: Floats) -> float:
    """Median of the whole matrix of distances, from its upper triangle."""
    from scipy.spatial.distance import pdist

    n_points = len(points)
    if n_points == 1:
        return 1.0
    # in a unit that is a power of two, which changes no digit: squares of any distance are numbers
    exponent = np.frexp(np.abs(points).max())[1]
    points = np.ldexp(np.asarray(points, np.float64), -exponent)
    squared = pdist(points, "sqeuclidean")
    # sorted, the matrix has a zero for every point, and then each distance of a pair twice
    middle = np.array([(n_points**2 - 1) // 2, n_points**2 // 2])
    places = np.maximum(middle - n_points, 0) // 2
    squared.partition(places)
    median = np.where(middle < n_points, 0.0, np.sqrt(squared[places])).mean()
    rounding = _ALIKE * np.abs(points).max()
    if median > rounding:
        return float(np.ldexp(median, exponent))
    different = squared[squared > rounding**2]
    return float(np.ldexp(np.sqrt(np.median(different)), exponent)) if len(different) else 1.0
