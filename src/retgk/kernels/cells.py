"""Compiled search for groups of near-equal points."""

import numpy as np
from numba import njit

__all__ = ["cells_within"]


@njit(cache=True, nogil=True)
def _bounding_box(points, start, stop, low, high):
    """Fill in the box around points start..stop and give its widest coordinate."""
    low[:] = points[start]
    high[:] = points[start]
    for i in range(start + 1, stop):
        for k in range(len(low)):
            value = points[i, k]
            low[k] = value if value < low[k] else low[k]
            high[k] = value if value > high[k] else high[k]
    return np.argmax(high - low)


@njit(cache=True, nogil=True)
def _fits(points, weights, limits, start, stop, mean):
    """Whether points start..stop lie within their limits of their weighted mean."""
    total = 0.0
    mean[:] = 0.0
    for i in range(start, stop):
        total += weights[i]
        for k in range(len(mean)):
            mean[k] += weights[i] * points[i, k]
    mean /= total
    for i in range(start, stop):
        square = 0.0
        for k in range(len(mean)):
            square += (points[i, k] - mean[k]) ** 2
        if square > limits[i] * limits[i]:
            return False
    return True


@njit(cache=True, nogil=True)
def _split(points, weights, limits, order, start, stop, k, middle):
    """Move points with coordinate k up to the middle to the front; give their end."""
    i, j = start, stop - 1
    while i <= j:
        if points[i, k] <= middle:
            i += 1
        else:
            for c in range(points.shape[1]):
                points[i, c], points[j, c] = points[j, c], points[i, c]
            weights[i], weights[j] = weights[j], weights[i]
            limits[i], limits[j] = limits[j], limits[i]
            order[i], order[j] = order[j], order[i]
            j -= 1
    return i


@njit(cache=True, nogil=True)
def cells_within(points, weights, limits):
    """
    Group points so that each is no further from the weighted mean of its group than its limit.

    Boxes are halved across their widest side until they fit. All arguments are reordered on
    the way. Gives the cell of every point and the number of cells.
    """
    n_points, dimension = points.shape
    largest = 2 * limits.max() if n_points else 0.0
    order = np.arange(n_points)
    cells = np.empty(n_points, np.int64)
    low, high, mean = np.empty(dimension), np.empty(dimension), np.empty(dimension)
    n_cells = 0
    stack = [(0, n_points)]
    while len(stack) > 0:
        start, stop = stack.pop()
        if start == stop:
            continue
        widest = _bounding_box(points, start, stop, low, high)
        middle = 0.5 * (low[widest] + high[widest])
        # neighbouring floats have no middle between them: they count as equal
        done = low[widest] == high[widest] or middle == high[widest]
        if not done and high[widest] - low[widest] <= largest:
            done = _fits(points, weights, limits, start, stop, mean)
        if done:
            cells[order[start:stop]] = n_cells
            n_cells += 1
            continue
        cut = _split(points, weights, limits, order, start, stop, widest, middle)
        stack.append((cut, stop))
        stack.append((start, cut))
    return cells, n_cells
