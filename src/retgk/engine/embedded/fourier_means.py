"""Means of Fourier features over the nodes of a graph and label, without storing the features.

For a block of nodes at a time: frequencies times points, the cosine in place, and the sum. A sum
runs over the nodes of its group in order, so it depends on no other graph, block or thread.
"""

from typing import Any

import numpy as np

from retgk.engine.embedded.distinct_nodes import DistinctNodes, same_row
from retgk.runtime.compiling import njit
from retgk.simd import SOURCE
from retgk.simd.cosine import cosine_in_place
from retgk.simd.panel_products import ROWS, write_product

__all__ = [
    "fill_joint_means",
    "fill_phase_means",
    "fill_phase_values",
    "fill_tensor_means",
    "write_row_dots",
]

_BLOCK = 64
_TURNS_PER_WORD = 32


def fill_joint_means(
    distinct: DistinctNodes, blocks: tuple[Any, Any], fourier: Any, out: Any
) -> None:
    """
    Write ``sqrt(2 / D) sum_i w_i cos(2 pi (omega^T [p_i, a_i] + b))`` of every group.

    Parameters
    ----------
    distinct : DistinctNodes
        Nodes with their weights w, sorted by group.
    blocks : pair of ndarray of float64, shape (n_nodes, n_columns)
        Return probabilities p and attributes a; of width zero when they are not used.
    fourier : ndarray, shape (n_panels, 1 + n_columns, panel width)
        Phases, then frequencies, in turns and in panels.
    out : ndarray, shape (n_groups, D)
        Only rows of the groups of these nodes are written.
    """
    _fill_joint(*distinct, *blocks, fourier, out)


def fill_tensor_means(
    distinct: DistinctNodes,
    blocks: tuple[Any, Any],
    fourier: tuple[Any, Any],
    out: Any,
) -> None:
    """
    Write ``sum_i w_i phi_0(p_i) phi_c(a_i)^T`` of every group, to (n_groups, D0, Dc).

    As `fill_joint_means`, with one array in `fourier` for each of both feature maps.
    """
    _fill_tensor(*distinct, blocks, fourier, out)


def fill_phase_means(
    distinct: DistinctNodes, keys: Any, shares: Any, blocks: tuple[Any, Any], fourier: Any, out: Any
) -> None:
    """
    Write means of cosines, ``sqrt(2 / D) sum_i w_i sum_h s_h cos(2 pi (t_i + q_h(i) / 4))``.

    Here ``t_i = omega^T [p_i, a_i] + b``; the means of the sines of the same angles come after
    those of the cosines.

    Parameters
    ----------
    distinct : DistinctNodes
        Nodes with their weights w; the groups are graphs.
    keys : ndarray of uint64, shape (n_nodes, n_levels)
        Keys of the labels of every level; the phases q are two bits of a hash of them each.
    shares : ndarray of float64, shape (n_levels,)
        The s: roots of the weights of the levels.
    blocks, fourier : as in `fill_joint_means`
    out : ndarray, shape (n_graphs, D)
        Only rows of the graphs of these nodes are written. There are as many sines as cosines, or
        one less if D is odd.
    """
    _fill_phases(*distinct, keys, shares, *blocks, fourier, out)


def fill_phase_values(
    span: tuple[int, int],
    keys: Any,
    shares: Any,
    blocks: tuple[Any, Any],
    fourier: Any,
    directions: Any,
    graphs: Any,
    values: Any,
) -> None:
    """
    Write the inner product of the features of every node with the direction of its graph.

    `span` is the first and the last node, `directions` of shape (n_graphs, D), `graphs` the graph
    of every node; the others are those of `fill_phase_means`.
    """
    _fill_phase_values(*span, keys, shares, *blocks, fourier, directions, graphs, values)


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _load_points(nodes, probabilities, attributes, points):
    """Copy the rows of some nodes side by side, after a 1 that the phases are multiplied by."""
    n_steps = probabilities.shape[1]
    for i in range(len(nodes)):
        points[i, 0] = 1
        for column in range(n_steps):
            points[i, 1 + column] = probabilities[nodes[i], column]
        for column in range(attributes.shape[1]):
            points[i, 1 + n_steps + column] = attributes[nodes[i], column]


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _write_angles(points, n, fourier, strides, angles):
    """Angles of n points, rounded up to whole tiles; strides are those of panels and points."""
    n_panels, n_columns, _ = fourier.shape
    panel_stride, point_stride = strides
    flat = points.reshape(-1)
    for panel in range(n_panels):
        own = fourier[panel].reshape(-1)
        for i in range(0, n, ROWS):
            left = flat[i * n_columns :]
            out = angles[panel * panel_stride + i * point_stride :]
            write_product(left, n_columns, 1, own, n_columns, out, point_stride)


# "contract" lets a product and a sum become one instruction, which rounds once instead of
# twice; it takes no other liberty.
@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath={"contract"})
def _fill_joint(
    nodes,
    weights,
    groups,
    probabilities,
    attributes,
    fourier,
    out,
    simd=SOURCE,  # noqa: ARG001
):
    n_panels, n_columns, width = fourier.shape
    n_padded = n_panels * width
    points = np.zeros((_BLOCK, n_columns), out.dtype)
    cosines = np.empty(_BLOCK * n_padded, out.dtype)
    sums = np.zeros(n_padded)
    scale = np.sqrt(2.0 / out.shape[1])
    for begin in range(0, len(nodes), _BLOCK):
        end = min(begin + _BLOCK, len(nodes))
        _load_points(nodes[begin:end], probabilities, attributes, points)
        _write_angles(points, end - begin, fourier, (width, n_padded), cosines)
        cosine_in_place(cosines[: (end - begin) * n_padded])
        for i in range(begin, end):
            row = cosines[(i - begin) * n_padded : (i - begin + 1) * n_padded]
            weight = weights[i]
            for k in range(n_padded):
                sums[k] += weight * row[k]
            if i + 1 == len(nodes) or groups[i + 1] != groups[i]:
                own = out[groups[i]]
                for k in range(len(own)):
                    own[k] = scale * sums[k]
                sums[:] = 0.0


@njit(nogil=True, inline="always")
def _mixed_word(key, word):
    value = key + np.uint64(word + 1) * np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath={"contract"})
def _fill_phases(
    nodes,
    weights,
    groups,
    keys,
    shares,
    probabilities,
    attributes,
    fourier,
    out,
    simd=SOURCE,  # noqa: ARG001
):
    n_panels, n_columns, width = fourier.shape
    n_padded = n_panels * width
    points = np.zeros((_BLOCK, n_columns), out.dtype)
    waves = np.empty((2, _BLOCK * n_padded), out.dtype)
    turns = np.empty((2, -(-n_padded // _TURNS_PER_WORD) * _TURNS_PER_WORD))
    run, sums = np.zeros((2, n_padded)), np.zeros((2, n_padded))
    for begin in range(0, len(nodes), _BLOCK):
        end = min(begin + _BLOCK, len(nodes))
        _load_points(nodes[begin:end], probabilities, attributes, points)
        _write_waves(points, end - begin, fourier, waves)
        for i in range(begin, end):
            own = slice((i - begin) * n_padded, (i - begin + 1) * n_padded)
            _add_weighted(weights[i], waves[0, own], run[0])
            _add_weighted(weights[i], waves[1, own], run[1])
            is_last = i + 1 == len(nodes) or groups[i + 1] != groups[i]
            # nodes of the same labels that follow each other are turned together
            if is_last or not same_row(keys, nodes[i], nodes[i + 1]):
                _write_turns(keys[nodes[i]], shares, turns)
                _add_turned(turns[0], turns[1], run[0], run[1], sums[0], sums[1])
                run[:] = 0.0
            if is_last:
                _write_halves(sums, out[groups[i]])
                sums[:] = 0.0


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath={"contract"})
def _add_weighted(weight, wave, total):
    for k in range(len(total)):
        total[k] += weight * wave[k]


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath={"contract"})
def _add_turned(along, across, cosines, sines, sums, sine_sums):
    for k in range(len(cosines)):
        sums[k] += along[k] * cosines[k] + across[k] * sines[k]
    for k in range(len(cosines)):
        sine_sums[k] += along[k] * sines[k] - across[k] * cosines[k]


@njit(nogil=True, inline="always")
def _write_halves(sums, out):
    """Write the cosines, then the sines, to their place."""
    scale = np.sqrt(2.0 / len(out))
    half = (len(out) + 1) // 2
    for k in range(half):
        out[k] = scale * sums[0, k]
    for k in range(len(out) - half):
        out[half + k] = scale * sums[1, k]


@njit(nogil=True, inline="always")
def _write_waves(points, n, fourier, waves):
    """Write cosines and sines of the angles of a block of points."""
    n_panels, _, width = fourier.shape
    n_padded = n_panels * width
    cosines, sines = waves[0, : n * n_padded], waves[1, : n * n_padded]
    _write_angles(points, n, fourier, (width, n_padded), waves[0])
    for k in range(n * n_padded):
        sines[k] = cosines[k] - sines.dtype.type(0.25)
    cosine_in_place(cosines)
    cosine_in_place(sines)


# "reassoc" lets the sum over features be taken in several lanes, the same for every node
@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath={"contract", "reassoc"})
def _fill_phase_values(
    first_node,
    last_node,
    keys,
    shares,
    probabilities,
    attributes,
    fourier,
    directions,
    graphs,
    values,
    simd=SOURCE,  # noqa: ARG001
):
    n_panels, n_columns, width = fourier.shape
    n_padded, n_features = n_panels * width, directions.shape[1]
    half = (n_features + 1) // 2
    points = np.zeros((_BLOCK, n_columns), directions.dtype)
    waves = np.empty((2, _BLOCK * n_padded), directions.dtype)
    turns = np.empty((2, -(-n_padded // _TURNS_PER_WORD) * _TURNS_PER_WORD))
    scale = np.sqrt(2.0 / n_features)
    for begin in range(first_node, last_node, _BLOCK):
        nodes = np.arange(begin, min(begin + _BLOCK, last_node))
        _load_points(nodes, probabilities, attributes, points)
        _write_waves(points, len(nodes), fourier, waves)
        for node in nodes:
            _write_turns(keys[node], shares, turns)
            first, own, total = (node - begin) * n_padded, directions[graphs[node]], 0.0
            for k in range(half):
                wave = turns[0, k] * waves[0, first + k] + turns[1, k] * waves[1, first + k]
                total += wave * own[k]
            for k in range(n_features - half):
                wave = turns[0, k] * waves[1, first + k] - turns[1, k] * waves[0, first + k]
                total += wave * own[half + k]
            values[node] = scale * total


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _write_turns(keys, shares, turns):
    """
    Write what turns a pair of a cosine and a sine: sums over levels of quarter turns.

    ``cos(a + q / 4 turn)`` is cos a, -sin a, -cos a, sin a for q = 0, 1, 2, 3: the cosine times
    ``turns[0]`` and the sine times ``turns[1]``.
    """
    turns[:] = 0
    for level in range(len(shares)):
        share, key = shares[level], keys[level]
        for word in range(turns.shape[1] // _TURNS_PER_WORD):
            bits = _mixed_word(key, word)
            for half in range(2):
                part = np.uint32(bits >> np.uint64(32 * half))
                first = 32 * word + 16 * half
                for k in range(16):
                    code = np.int32(part >> np.uint32(2 * k)) & np.int32(3)
                    odd = code & np.int32(1)
                    sign = np.int32(1) - (np.int32(2) * ((code >> np.int32(1)) ^ odd))
                    turns[0, first + k] += share * ((np.int32(1) - odd) * sign)
                    turns[1, first + k] += share * (odd * sign)


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def _fill_tensor(nodes, weights, groups, blocks, fourier, out, simd=SOURCE):  # noqa: ARG001
    none = np.empty((len(blocks[0]), 0))
    width = fourier[0].shape[2]
    points_0 = np.zeros((_BLOCK, fourier[0].shape[1]), out.dtype)
    points_c = np.zeros((_BLOCK, fourier[1].shape[1]), out.dtype)
    phi_0 = np.zeros(len(fourier[0]) * _BLOCK * width, out.dtype)
    phi_c = np.zeros(len(fourier[1]) * _BLOCK * width, out.dtype)
    tile = np.empty(ROWS * width, out.dtype)
    sums = np.zeros((len(fourier[0]) * width, len(fourier[1]) * width))
    begin = 0
    while begin < len(nodes):
        end = begin + 1
        while end < min(begin + _BLOCK, len(nodes)) and groups[end] == groups[begin]:
            end += 1
        _load_points(nodes[begin:end], blocks[0], none, points_0)
        _load_points(nodes[begin:end], blocks[1], none, points_c)
        _fill_panels(points_0, end - begin, fourier[0], phi_0)
        _fill_panels(points_c, end - begin, fourier[1], phi_c)
        _weigh(phi_0, weights[begin:end], width)
        _add_outer_products(phi_0, phi_c, end - begin, tile, sums)
        if end == len(nodes) or groups[end] != groups[begin]:
            _write_tensor(sums, out[groups[begin]])
            sums[:] = 0.0
        begin = end


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _fill_panels(points, n, fourier, phi):
    """Cosines of n points, panel after panel."""
    n_panels, _, width = fourier.shape
    _write_angles(points, n, fourier, (_BLOCK * width, width), phi)
    for panel in range(n_panels):
        first = panel * _BLOCK * width
        cosine_in_place(phi[first : first + n * width])


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _weigh(phi, weights, width):
    """Multiply the features of every point, in panels, by its weight."""
    for panel in range(0, len(phi), _BLOCK * width):
        for i in range(len(weights)):
            for k in range(panel + i * width, panel + (i + 1) * width):
                phi[k] *= weights[i]


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _add_outer_products(phi_0, phi_c, n, tile, sums):
    """``sums += phi_0^T phi_c`` over n points, both in panels."""
    width = len(tile) // ROWS
    for r in range(0, sums.shape[0], ROWS):
        left = phi_0[(r // width) * _BLOCK * width + r % width :]
        for panel in range(sums.shape[1] // width):
            write_product(left, 1, width, phi_c[panel * _BLOCK * width :], n, tile, width)
            for j in range(ROWS):
                for k in range(width):
                    sums[r + j, panel * width + k] += tile[j * width + k]


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _write_tensor(sums, out):
    scale = 2.0 / np.sqrt(out.shape[0] * out.shape[1])
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = scale * sums[i, k]


# "reassoc" lets a sum be taken in several lanes, the same for every node
@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath={"contract", "reassoc"})
def write_row_dots(x, places, y, of_row, values):
    """Write the inner product of every row of x with a row of y to its place."""
    for i in range(len(x)):
        total = 0.0
        for k in range(x.shape[1]):
            total += x[i, k] * y[of_row[i], k]
        values[places[i]] = total
