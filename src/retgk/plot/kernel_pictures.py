"""Pictures of kernels: a map of the graphs, the kernel matrix, and the confusion of classes."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.estimators.kernel import RetGKKernel
from retgk.graphs.batch import GraphBatch
from retgk.io.converters import as_batch
from retgk.plot.axes import FEW_COLOURS, MANY_COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["collection_map", "confusion_matrix", "gram_heat_map"]

_MARKERS = "osD^vPX*<>"
_MAX_CLASSES = 30
_OUTLIERS = 1.0  # per cent of the values at each end that share the last colour


def collection_map(
    graphs: Any,
    y: ArrayLike | None = None,
    *,
    size: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """
    Draw graphs as points by the first two components of kernel PCA, or of PCA of their vectors.

    Parameters
    ----------
    graphs : array of float, sparse matrix, or anything that `as_batch` takes
        A kernel matrix, which is what a symmetric array of floats is taken for; vectors of
        graphs, such as `RetGKEmbedding` gives, which are the rows of any other array of floats
        and of a sparse matrix; or graphs, whose kernel is that of
        ``RetGKKernel(random_state=0)``.
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
    known = graphs if _is_matrix(graphs) else as_batch(graphs)
    n_graphs = known.shape[0] if _is_matrix(known) else len(known)
    if n_graphs < 3:
        raise InvalidInputError(f"a map needs at least 3 graphs, got {n_graphs}")
    targets = None if y is None else _checked_targets(y, n_graphs)
    are_numbers = targets is not None and _are_numbers(targets)
    places, shares = _map_coordinates(known)
    ax = axes_or_new(ax, (5.4, 4.4))
    size = size or float(np.clip(9000 / n_graphs, 7, 36))
    if targets is None:
        ax.scatter(places[:, 0], places[:, 1], s=size, color=MANY_COLOURS[0], linewidths=0)
    elif are_numbers:
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


def _is_sparse(values: Any) -> bool:
    return bool(issparse(values))


def _is_matrix(graphs: Any) -> bool:
    """Whether a kernel or vectors are given, rather than graphs."""
    if _is_sparse(graphs):
        return len(graphs.shape) == 2
    return isinstance(graphs, np.ndarray) and graphs.ndim == 2 and graphs.dtype.kind == "f"


def _map_coordinates(known: Any) -> tuple[Floats, Floats]:
    """Coordinates of the graphs, and the share of the variance that each axis shows."""
    if isinstance(known, GraphBatch):
        return _kernel_coordinates(RetGKKernel(random_state=0).fit_transform(known))
    if _is_sparse(known) or not _is_symmetric(known):
        return _vector_coordinates(known)
    return _kernel_coordinates(known)


def _is_symmetric(matrix: Floats) -> bool:
    """Whether it can be a kernel; rounding, and values that are not finite, do not count here."""
    if matrix.shape[0] != matrix.shape[1]:
        return False
    return np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-8, equal_nan=True)


def _kernel_coordinates(kernel: Floats) -> tuple[Floats, Floats]:
    """Coordinates and shares by kernel PCA."""
    from sklearn.decomposition import KernelPCA
    from sklearn.preprocessing import KernelCenterer

    matrix = _checked_kernel(kernel)
    pca = KernelPCA(2, kernel="precomputed", random_state=0)
    places = pca.fit_transform(matrix)
    total = np.trace(KernelCenterer().fit_transform(matrix))
    if places.shape[1] < 2 or not total > 0:
        raise InvalidInputError("the graphs are all alike to this kernel: there is no map of them")
    return places, pca.eigenvalues_ / total


def _vector_coordinates(vectors: Any) -> tuple[Floats, Floats]:
    """Coordinates and shares by PCA, which is kernel PCA with inner products of the vectors."""
    from sklearn.decomposition import PCA

    if min(vectors.shape) < 2:
        raise InvalidInputError(f"a map needs vectors of at least 2 values, got {vectors.shape[1]}")
    if _is_sparse(vectors):
        is_small = min(vectors.shape) == 2  # too small for ARPACK
        vectors = vectors.toarray() if is_small else vectors.tocsr().astype(np.float64)
    if not np.isfinite(vectors.data if _is_sparse(vectors) else vectors).all():
        raise InvalidInputError("the vectors have values that are not finite")
    if abs(vectors - vectors[[0] * vectors.shape[0]]).max() == 0:
        raise InvalidInputError("the vectors are all alike: there is no map of them")
    pca = PCA(2, svd_solver="arpack" if _is_sparse(vectors) else "auto", random_state=0)
    return pca.fit_transform(vectors), pca.explained_variance_ratio_


def _are_numbers(targets: NDArray[Any]) -> bool:
    """Whether targets are shown as a range of colours; too many classes are an error."""
    n_distinct = len(np.unique(targets))
    if n_distinct <= _MAX_CLASSES:
        return False
    if targets.dtype.kind not in "iuf":
        raise InvalidInputError(f"{n_distinct} classes cannot be told apart by colours; merge some")
    return True


def _draw_classes(ax: "Axes", places: Floats, targets: NDArray[Any], size: float) -> None:
    """Draw the points of each class in a colour and with a marker of its own."""
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


def gram_heat_map(
    kernel: ArrayLike,
    y: ArrayLike | None = None,
    *,
    cmap: str = "viridis",
    ax: "Axes | None" = None,
) -> "Axes":
    """
    Draw a kernel matrix, its graphs ordered by class.

    Within a class graphs are in the order of the first component of kernel PCA, so that similar
    ones are next to each other.
    Colours range over all but the outermost per cent of the values outside of the diagonal: a
    graph is so similar to itself that nothing else would be seen.

    Parameters
    ----------
    kernel : array-like, shape (n, n)
        Kernel values.
    y : array-like, shape (n,), optional
        Classes of the graphs; without them graphs are in their order.
    cmap : str, default="viridis"
        Colour map of Matplotlib.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> ax = gram_heat_map([[1, 0.2, 0.7], [0.2, 1, 0.1], [0.7, 0.1, 1]], ["a", "b", "a"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b']
    """
    matrix = _checked_kernel(kernel)
    targets = None if y is None else _checked_targets(y, len(matrix))
    if targets is not None:
        order = np.lexsort([_first_coordinate(matrix), np.unique(targets, return_inverse=True)[1]])
        matrix, targets = matrix[np.ix_(order, order)], targets[order]
    low, high = _colour_range(matrix)
    ax = axes_or_new(ax, (5.2, 4.4))
    image = ax.imshow(matrix, cmap=cmap, vmin=low, vmax=high)
    ax.figure.colorbar(image, ax=ax, label="kernel", extend="both", shrink=0.9)
    ax.set(xlabel="graphs", ylabel="graphs")
    if targets is not None:
        _mark_classes(ax, targets)
    return ax


def _first_coordinate(matrix: Floats) -> Floats:
    """First coordinate of kernel PCA."""
    from sklearn.decomposition import KernelPCA

    if len(matrix) < 3:
        return np.zeros(len(matrix))
    places = KernelPCA(1, kernel="precomputed", random_state=0).fit_transform(matrix)
    return places[:, 0] if places.shape[1] else np.zeros(len(matrix))


def _colour_range(matrix: Floats) -> tuple[float, float]:
    """Lowest and highest value that has a colour of its own."""
    others = matrix[~np.eye(len(matrix), dtype=bool)] if len(matrix) > 1 else matrix
    low, high = np.percentile(others, [_OUTLIERS, 100 - _OUTLIERS])
    return float(low), float(high)


def _mark_classes(ax: "Axes", targets: NDArray[Any]) -> None:
    """Draw lines between classes, and write their names beside them."""
    names, starts = np.unique(targets, return_index=True)
    ends = np.append(starts[1:], len(targets))
    for border in starts[1:] - 0.5:
        ax.axhline(border, color="white", linewidth=0.9)
        ax.axvline(border, color="white", linewidth=0.9)
    middles = (starts + ends - 1) / 2
    ax.set_xticks(middles, [str(name) for name in names])
    ax.set_yticks(middles, [str(name) for name in names])
    ax.tick_params(length=0)
    ax.set(xlabel="graphs, by class", ylabel="graphs, by class")


def confusion_matrix(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    normalize: Literal["true", "pred", "all"] | None = None,
    cmap: str = "Blues",
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """
    Draw how often each class was predicted for each.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        Classes of the graphs.
    y_pred : array-like, shape (n,)
        Predictions, of `cross_val_predict` for example.
    normalize : {"true", "pred", "all"}, optional
        Whether to show shares of a row, of a column or of all; counts by default.
    cmap : str, default="Blues"
        Colour map of Matplotlib.
    ax : Axes, optional
        Where to draw; a new figure by default.
    **options
        Passed to `sklearn.metrics.ConfusionMatrixDisplay.from_predictions`.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> confusion_matrix(["a", "b", "b"], ["a", "b", "a"]).get_xlabel()
    'predicted class'
    """
    from sklearn.metrics import ConfusionMatrixDisplay

    if len(np.asarray(y_true)) != len(np.asarray(y_pred)):
        raise InvalidInputError(
            f"there are {len(np.asarray(y_true))} classes but {len(np.asarray(y_pred))} predictions"
        )
    ax = axes_or_new(ax, (4.8, 4.4))
    defaults = {"colorbar": False, "values_format": None if normalize is None else ".2f"}
    ConfusionMatrixDisplay.from_predictions(
        y_true, y_pred, normalize=normalize, cmap=cmap, ax=ax, **(defaults | options)
    )
    ax.set(xlabel="predicted class", ylabel="true class")
    return ax


def _checked_kernel(kernel: ArrayLike) -> Floats:
    """Square matrix of finite numbers; anything else is an error."""
    matrix = np.asarray(kernel, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InvalidInputError(
            f"the kernel matrix must be square, got shape {matrix.shape}; pass what "
            "RetGKKernel().fit_transform(graphs) gives"
        )
    if not np.isfinite(matrix).all():
        raise InvalidInputError("the kernel matrix has values that are not finite")
    return matrix


def _checked_targets(y: ArrayLike, n_graphs: int) -> NDArray[Any]:
    """One target for each graph; anything else is an error."""
    targets = np.asarray(y)
    if targets.shape != (n_graphs,):
        raise InvalidInputError(
            f"y must be one target for each of the {n_graphs} graphs, got shape {targets.shape}"
        )
    return targets
