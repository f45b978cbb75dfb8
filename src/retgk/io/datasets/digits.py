"""scikit-learn's bundled images of digits, as graphs."""

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.io.graph_dataset import GraphDataset

__all__ = ["load_digit_graphs"]

_BRIGHTEST = 16.0
# One of each pair of opposite neighbours; the other direction follows by symmetry.
_NEIGHBOURS = ((0, 1), (1, -1), (1, 0), (1, 1))

_DESCRIPTION = """\
1,797 images of handwritten digits, 8 x 8 pixels, bundled with scikit-learn. Nodes are the
pixels of intensity {threshold:g} or more, edges join pixels that touch, also at a corner.
Attributes: intensity, row and column, each scaled to [0, 1]. The target is the digit."""


def load_digit_graphs(threshold: float = 0.25) -> GraphDataset:
    """
    Graphs of scikit-learn's digit images: bright pixels, joined where they touch.

    Needs no download. Every node has three attributes, each scaled to [0, 1]: the
    intensity of its pixel, its row and its column.

    Parameters
    ----------
    threshold : float, default=0.25
        Least intensity of a pixel that becomes a node, above 0 and at most 1.

    Returns
    -------
    GraphDataset
        1,797 graphs in ten classes; the targets are the digits.

    Examples
    --------
    >>> load_digit_graphs()
    GraphDataset('digits', GraphBatch(1,797 graphs, 48,401 nodes, 119,041 edges, 3 attributes), \
10 distinct targets)
    """
    from sklearn.datasets import load_digits

    if not 0 < threshold <= 1:
        raise InvalidInputError(f"threshold must be above 0 and at most 1, got {threshold}")
    digits = load_digits()
    images = digits.images / _BRIGHTEST
    bright = images >= threshold
    sizes = bright.sum(axis=(1, 2))
    if not sizes.all():
        raise InvalidInputError(
            f"image {int(np.argmin(sizes))} has no pixel of intensity {threshold:g} or more; lower "
            "the threshold"
        )
    _, rows, columns = np.nonzero(bright)
    last_row, last_column = np.subtract(bright.shape[1:], 1)
    attributes = np.stack([images[bright], rows / last_row, columns / last_column], axis=1)
    graphs = GraphBatch.from_edges(
        sizes, _touching_pixels(bright), attributes=attributes, symmetrize=True
    )
    description = _DESCRIPTION.format(threshold=threshold)
    return GraphDataset(graphs, digits.target, "digits", description)


def _touching_pixels(bright: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Pairs of bright pixels that touch; pixels are numbered as np.nonzero lists them."""
    images, rows, columns = np.nonzero(bright)
    # a dark frame of one pixel, so that every pixel has eight neighbours
    number = np.full(np.add(bright.shape, (0, 2, 2)), -1)
    number[images, rows + 1, columns + 1] = np.arange(len(images))
    pairs = []
    for down, right in _NEIGHBOURS:
        other = number[images, rows + 1 + down, columns + 1 + right]
        pairs.append(np.stack([np.flatnonzero(other >= 0), other[other >= 0]], axis=1))
    return np.concatenate(pairs)
