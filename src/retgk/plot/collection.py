"""A map of a collection of graphs: similar ones lie close together."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.errors import InvalidInputError
from retgk.estimators.kernel import RetGKKernel
from retgk.graphs.batch import GraphBatch
from retgk.io.converters import as_batch
from retgk.plot.axes import FEW_COLOURS, MANY_COLOURS, axes_or_new, checked_kernel, checked_targets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["collection_map"]

_MARKERS = "osD^vPX*<>"
_MAX_CLASSES = 30


def collection_map(
    graphs: Any,
    y: ArrayLike | None = None,
    *,
    size: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """
    Draw graphs as points by the first two components of kernel PCA.

    Parameters
    ----------
    graphs : array of float, shape (n, n), or anything that `as_batch` takes
        A kernel matrix, which is what a square array of floats is taken for; or graphs, whose
        kernel is that of ``RetGKKernel(random_state=0)``.
    y : array-like, shape (n,), optional
        Classes, or numbers: more than 30 different numbers are shown as a range of colours.
    size : float, optional
        Area of a point in square points; by default smaller for more graphs.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> collection_map(np.eye(4) + 1.0, ["a", "a", "b", "b"]).get_xlabel()
    'first component (33 % of the variance)'
    """
    known = graphs if _is_kernel(graphs) else as_batch(graphs)
    if len(known) < 3:
        raise InvalidInputError(f"a map needs at least 3 graphs, got {len(known)}")
    targets = None if y is None else checked_targets(y, len(known))
    is_range = targets is not None and _is_range(targets)
    places, shares = _components(_kernel_matrix(known))
    ax = axes_or_new(ax, (5.4, 4.4))
    size = size or float(np.clip(9000 / len(known), 7, 36))
    if targets is None:
        ax.scatter(places[:, 0], places[:, 1], s=size, color=MANY_COLOURS[0], linewidths=0)
    elif is_range:
        points = ax.scatter(
            places[:, 0], places[:, 1], s=size, c=targets.astype(float), cmap="viridis"
        )
        ax.figure.colorbar(points, ax=ax, label="target")
    else:
        _draw_classes(ax, places, targets, size)
    first, second = (f"component ({100 * share:.0f} % of the variance)" for share in shares)
    ax.set(xlabel=f"first {first}", ylabel=f"second {second}")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _is_kernel(graphs: Any) -> bool:
    return isinstance(graphs, np.ndarray) and graphs.ndim == 2 and graphs.dtype.kind == "f"


def _kernel_matrix(known: NDArray[np.float64] | GraphBatch) -> NDArray[np.float64]:
    if isinstance(known, GraphBatch):
        known = RetGKKernel(random_state=0).fit_transform(known)
    return checked_kernel(known)


def _components(kernel: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates of the graphs, and the share of the variance that each axis shows."""
    from sklearn.decomposition import KernelPCA
    from sklearn.preprocessing import KernelCenterer

    pca = KernelPCA(2, kernel="precomputed", random_state=0)
    places = pca.fit_transform(kernel)
    total = np.trace(KernelCenterer().fit_transform(kernel))
    if places.shape[1] < 2 or not total > 0:
        raise InvalidInputError("the graphs are all alike to this kernel: there is no map of them")
    return places, pca.eigenvalues_ / total


def _is_range(targets: NDArray[Any]) -> bool:
    """Whether targets are numbers to be shown as a range rather than classes."""
    n_distinct = len(np.unique(targets))
    if n_distinct <= _MAX_CLASSES:
        return False
    if targets.dtype.kind not in "iuf":
        raise InvalidInputError(f"{n_distinct} classes cannot be told apart by colours; merge some")
    return True


def _draw_classes(
    ax: "Axes", places: NDArray[np.float64], targets: NDArray[Any], size: float
) -> None:
    """One colour and marker for each class."""
    names = np.unique(targets)
    colours = FEW_COLOURS if len(names) <= len(FEW_COLOURS) else MANY_COLOURS
    for position, name in enumerate(names):
        own = targets == name
        ax.scatter(
            places[own, 0],
            places[own, 1],
            s=size,
            color=colours[position % len(colours)],
            marker=_MARKERS[(position + position // len(colours)) % len(_MARKERS)],
            linewidths=0,
            alpha=0.8,
            label=str(name),
        )
    ax.legend(
        frameon=False, title="class", loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=1.6
    )
