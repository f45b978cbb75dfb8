"""Kernel matrices and confusion matrices."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.errors import InvalidInputError
from retgk.plot.axes import axes_or_new, checked_kernel, checked_targets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["confusion_matrix", "gram_heat_map"]

_OUTLIERS = 1.0  # per cent of the values at each end that share the last colour


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
    matrix = checked_kernel(kernel)
    targets = None if y is None else checked_targets(y, len(matrix))
    if targets is not None:
        order = np.lexsort([_first_component(matrix), np.unique(targets, return_inverse=True)[1]])
        matrix, targets = matrix[np.ix_(order, order)], targets[order]
    low, high = _limits(matrix)
    ax = axes_or_new(ax, (5.2, 4.4))
    image = ax.imshow(matrix, cmap=cmap, vmin=low, vmax=high)
    ax.figure.colorbar(image, ax=ax, label="kernel", extend="both", shrink=0.9)
    ax.set(xlabel="graphs", ylabel="graphs")
    if targets is not None:
        _mark_classes(ax, targets)
    return ax


def _first_component(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """First coordinate of kernel PCA."""
    from sklearn.decomposition import KernelPCA

    if len(matrix) < 3:
        return np.zeros(len(matrix))
    places = KernelPCA(1, kernel="precomputed", random_state=0).fit_transform(matrix)
    return places[:, 0] if places.shape[1] else np.zeros(len(matrix))


def _limits(matrix: NDArray[np.float64]) -> tuple[float, float]:
    """Range of the colours."""
    others = matrix[~np.eye(len(matrix), dtype=bool)] if len(matrix) > 1 else matrix
    low, high = np.percentile(others, [_OUTLIERS, 100 - _OUTLIERS])
    return float(low), float(high)


def _mark_classes(ax: "Axes", targets: NDArray[Any]) -> None:
    """Lines between classes, and their names in the middle of each."""
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
