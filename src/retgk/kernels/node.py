"""Kernels between nodes: small frozen values, each with its formula."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk._runtime.fields import stored
from retgk._runtime.names import generator_from
from retgk._runtime.parameters import MAX_DEGREE, Whole, check_parameters
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


@dataclass(frozen=True)
class NodeKernel:
    r"""
    Base of the kernels between nodes, each of which knows what engines need of it.

    In coordinates multiplied by `coordinate_scale`, kernels of distances are ``exp(-t) factor(t)``,
    with t the distance or its square (`argument`) and factor the polynomial whose coefficients are
    `series`: compiled loops compute any such kernel. Being defined is being listed, in `kinds`.

    A kernel of your own is a frozen dataclass with `__call__`, which is called block by block.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from retgk.kernels import NodeKernel
    >>> @dataclass(frozen=True)
    ... class Linear(NodeKernel):
    ...     gamma: float = 1.0
    ...
    ...     def __call__(self, x, y):
    ...         return self.gamma * np.asarray(x) @ np.asarray(y).T
    >>> Linear(0.5)([[1.0, 2.0]], [[2.0, 1.0]])
    array([[2.]])
    """

    gamma: Bandwidth = "median"

    kinds: ClassVar[list[type["NodeKernel"]]] = []
    """All kernels, in the order of their definition; a subclass of one of them is not another."""
    argument: ClassVar[Literal["distance", "squared distance", "product"] | None] = None
    """What the kernel is a function of; None where no compiled loop computes it."""
    is_stationary: ClassVar[bool] = True  # whether the kernel depends on x - y alone
    series: ClassVar[tuple[float, ...]] = (1.0,)
    lipschitz: ClassVar[float] = 1.0
    """Bound on the change of a kernel of distances when a point moves by one, scaled."""
    n_normals: ClassVar[int | None] = None
    """Numbers that the length of a frequency depends on; None for kernels without frequencies."""

    def __init_subclass__(cls) -> None:
        stored(cls)
        if not any(base in NodeKernel.kinds for base in cls.__mro__):
            NodeKernel.kinds.append(cls)

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

    @property
    def is_fitted(self) -> bool:
        return not isinstance(self.gamma, str)

    @property
    def rate(self) -> float:
        """Factor of the distance, of its square or of the product: gamma unless overridden."""
        return self.scale

    @property
    def coordinate_scale(self) -> float:
        return self.rate if self.argument == "distance" else float(np.sqrt(self.rate))

    @property
    def is_compiled(self) -> bool:
        """Whether compiled loops compute it, as its class says what they need to know."""
        own = next(kind for kind in type(self).__mro__ if "__call__" in vars(kind))
        return self.argument is not None and own.__module__ == NodeKernel.__module__

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Give the matrix of kernel values between rows of x and rows of y."""
        from scipy.spatial.distance import cdist

        t = cdist(np.asarray(x, np.float64), np.asarray(y, np.float64), "sqeuclidean")
        t = self.rate * (np.sqrt(t) if self.argument == "distance" else t)
        values = np.exp(-t)
        return np.polynomial.Polynomial(self.series)(t) * values if self.series[1:] else values

    def fitted(self, points: Floats, node_ptr: NDArray[np.int64], random_state: Any = None) -> Self:
        """Replace a rule for gamma by the number that it gives for these points."""
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
        inverse = 1.0 / distance
        return inverse if self.argument == "distance" else float(inverse**2)

    @property
    def power(self) -> tuple[float, int]:
        """Constant c and degree d of a kernel of products, ``(<x, y> + c)^d``."""
        raise InvalidInputError(f"no constant and degree are known of {self!r}")

    def error_of_argument(self, width: int) -> float:  # noqa: ARG002
        """Relative error of -log k in float32 by that of t, in roundings; infinite if not known."""
        return np.inf

    def frequency_scale(self, normals: Floats) -> Any:  # noqa: ARG002
        """Lengths that make standard normal vectors frequencies; `normals`: (n, n_normals)."""
        raise InvalidInputError(f"no frequencies are known of {self!r}")

    def largest_value(self, points: Floats) -> float:  # noqa: ARG002
        """Bound on the kernel of any two of some points; infinite where that is no number."""
        return 1.0


@dataclass(frozen=True)
class Laplacian(NodeKernel):
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

    argument = "distance"
    n_normals = 1

    def error_of_argument(self, width: int) -> float:
        """A squared distance of width d is wrong by d + 2 roundings, its root by half and one."""
        return (width + 2) * 0.5 + 1

    def frequency_scale(self, normals: Floats) -> Floats:
        r"""Frequencies are multivariate Cauchy, :math:`\gamma z / |z_0|` with z standard normal."""
        return np.asarray(self.scale / np.abs(normals))


@dataclass(frozen=True)
class Gaussian(NodeKernel):
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

    argument = "squared distance"
    n_normals = 0

    def error_of_argument(self, width: int) -> float:
        """A squared distance of width d is wrong by d + 2 roundings, and adding it by one."""
        return (width + 2) * 1.0 + 1

    def frequency_scale(self, normals: Floats) -> float:  # noqa: ARG002
        r"""Frequencies are :math:`\sqrt{2 \gamma}\, z` with z standard normal."""
        return float(np.sqrt(2 * self.scale))


@dataclass(frozen=True)
class Matern(NodeKernel):
    r"""
    Matern kernel of smoothness 3/2, ``k(x, y) = (1 + t) exp(-t)``, ``t = sqrt(3) gamma ||x - y||``.

    It falls as slowly as `Laplacian` far away and is flat at zero as `Gaussian` is, so that small
    differences of nodes hardly count.

    Parameters
    ----------
    gamma : float, "median" or "dimension", default="median"
        "median" is one over the median distance of nodes, "dimension" is one over the root of
        the number of coordinates.

    Examples
    --------
    >>> Matern(gamma=2.0)([[0.0]], [[0.0], [1.0]]).round(3)
    array([[1.  , 0.14]])
    """

    argument = "distance"
    series = (1.0, 1.0)
    lipschitz = float(np.exp(-1))  # the slope is t exp(-t)
    n_normals = 3

    @property
    def rate(self) -> float:
        return float(np.sqrt(3) * self.scale)

    def error_of_argument(self, width: int) -> float:
        """Twice that of a distance: ``-log k`` behaves as t for large and as t^2 for small t."""
        return 2 * ((width + 2) * 0.5 + 1)

    def frequency_scale(self, normals: Floats) -> Floats:
        r"""Frequencies are multivariate t, :math:`\sqrt{3} \gamma z / \chi_3`, z normal."""
        return np.asarray(self.rate / np.linalg.norm(normals, axis=1, keepdims=True))


COMPARISON_KERNEL = Laplacian(gamma=5.0)
"""
Kernel of return probabilities wherever graphs are compared without being fitted to a collection.

The paper's rule for gamma, one over the median distance of nodes, gives 3 to 8 on its collections.
"""

ATTRIBUTE_KERNEL = Laplacian(gamma="dimension")
"""The paper's kernel of attributes."""


@dataclass(frozen=True)
class Polynomial(NodeKernel):
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

    argument = "product"
    is_stationary = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameters({"degree": (Whole(1, MAX_DEGREE),)}, {"degree": self.degree})
        if not 0 <= self.coef0 < np.inf:
            raise InvalidInputError(
                f"Polynomial: coef0 must be finite and not negative, got {self.coef0!r}"
            )

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        products = np.asarray(x, np.float64) @ np.asarray(y, np.float64).T
        return np.asarray(np.power(self.scale * products + self.coef0, self.degree))

    @property
    def power(self) -> tuple[float, int]:
        return self.coef0, self.degree

    def largest_value(self, points: Floats) -> float:
        largest = float(max(points.max(initial=0.0), -points.min(initial=0.0)))
        try:
            inner = self.scale * points.shape[1] * largest * largest
            return float((inner + self.coef0) ** self.degree)
        except OverflowError:
            return np.inf


@stored
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
        equal: NDArray[np.bool_] = np.asarray(x)[:, None] == np.asarray(y)[None, :]
        return equal.astype(np.float64)


@stored
@dataclass(frozen=True)
class Bridge:
    """
    Brownian bridge kernel ``k(x, y) = prod_i max(0, 1 - |x_i - y_i| / width)``.

    It is zero for values that are far apart. `SubgraphMatching` alone takes it.

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
        first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
        values = np.ones((len(first), len(second)))
        for own, other in zip(first.T, second.T, strict=True):
            values *= np.maximum(0.0, 1.0 - np.abs(own[:, None] - other) / self.width)
        return values

    def fitted(self, *_: Any) -> Self:
        return self

    def largest_value(self, points: Floats) -> float:  # noqa: ARG002
        return 1.0


def check_kernel_class(kernel: object, name: str, classes: Sequence[type], rule: str) -> None:
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


def check_node_kernel(kernel: Any, name: str, also: tuple[type, ...] = ()) -> None:
    """Raise unless the parameter `name` is a kernel that is computed between any two nodes."""
    if isinstance(kernel, (NodeKernel, *also)) and callable(kernel):
        return
    classes = (*also, *(kind for kind in NodeKernel.kinds if kind.argument is not None))
    raise InvalidInputError(
        f"{name} must be a {_listed(classes)} kernel, such as {classes[0].__name__}(), or a "
        f"NodeKernel of your own, got {kernel!r}"
    )


def check_fourier_kernel(kernel: Any, name: str) -> None:
    classes = [kind for kind in NodeKernel.kinds if kind.n_normals is not None]
    rule = f"{_listed(classes)}, the kernels that depend on x - y alone and so have frequencies"
    check_kernel_class(kernel, name, classes, rule)


def _listed(classes: Sequence[type]) -> str:
    *names, last = (kind.__name__ for kind in classes)
    return f"{', '.join(names)} or {last}"


def median_distance(points: Floats, node_ptr: NDArray[np.int64], random_state: Any = None) -> float:
    """
    Median distance between nodes, drawn as in the authors' implementation.

    Five nodes are drawn from every graph that has at least five (from all graphs if none has),
    and the median of all their pairwise distances is taken, the zeros of the diagonal included.
    Of more than 4,000 drawn nodes, 4,000 are used. Where more than half of the distances are zero
    but for rounding, as in symmetric graphs, the median of the others is taken.

    One, if all nodes are alike.
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
