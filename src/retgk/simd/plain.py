"""The functions of this package as plain loops, for one float type or number of lanes each.

They compile as they stand, and give the same bits then if products and sums may be fused
(``fastmath={"contract"}``; `add_dots` without). As Python, they round products too.
"""

import math

import numpy as np

__all__ = [
    "GROUP",
    "LANES",
    "PANEL_BYTES",
    "ROWS",
    "RUN",
    "add_distances",
    "add_dots",
    "add_run",
    "finish",
    "finisher",
    "multiplier",
    "write_product",
]

LANES = {"float32": 16, "float64": 8}
GROUP = 6
RUN = 8  # products that are summed in the precision of the tile, and without a branch
ROWS = 4
PANEL_BYTES = 64

LARGEST = {"float32": 115.0, "float64": 1000.0}  # exponents are cut off there
COEFFICIENTS = {
    # minimax polynomial of 2^f on [-1/2, 1/2] among those that are 1 at 0: 1.1e-7 off, rounded
    "float32": [
        1.0,
        0.6931470036506653,
        0.24022242426872253,
        0.05550733581185341,
        0.009671512991189957,
        0.001326472731307149,
    ],
    "float64": [math.log(2.0) ** k / math.factorial(k) for k in range(14)],
}


def add_distances(rows, r, columns, group, n_groups, start, stop, is_absolute, is_first, tile):
    """
    Add ``sum_k (x_k - y_k)^2``, or ``|x_k - y_k|``, to a tile, or to zero if it is the first.

    The sum goes over coordinates start to stop - 1; x are the lanes ``rows[r, k]``, y the columns
    ``columns[g, k, c]`` of some groups.
    """
    lanes = rows.shape[2]
    for g in range(n_groups):
        for c in range(GROUP):
            base = (g * GROUP + c) * lanes
            for lane in range(base, base + lanes):
                tile[lane] = 0 if is_first else tile[lane]
            for k in range(start, stop):
                y = columns[group + g, k, c]
                for lane in range(lanes):
                    d = rows[r, k, lane] - y
                    tile[base + lane] += abs(d) if is_absolute else d * d


def finisher(name):
    """Make `finish` for one of the float types."""
    number = np.dtype(name).type
    largest, magic = number(LARGEST[name]), number(1.5 * 2.0 ** np.finfo(name).nmant)
    last, *others = [number(c) for c in COEFFICIENTS[name][::-1]]
    coefficients, lanes = tuple(others), LANES[name]

    def finish(squares, is_root, is_first, is_last, tile, n_vectors):
        """
        Add squares or their roots to a tile, or to zero if they are the first.

        If they are the last, the tile becomes ``2^-t = 2^-n 2^f`` of the sum t, with n the integer
        nearest to t. t is cut off before the result is denormalised.
        """
        for i in range(n_vectors * lanes):
            t = np.sqrt(squares[i]) if is_root else squares[i]
            t = t if is_first else tile[i] + t
            if is_last:
                t = t if t < largest else largest
                n = magic - (magic - t)
                f, value = n - t, last
                for coefficient in coefficients:
                    value = value * f + coefficient
                t = math.ldexp(value, -int(n))
            tile[i] = t

    return finish


_FINISHERS = {name: finisher(name) for name in LANES}


def finish(squares, is_root, is_first, is_last, tile, n_vectors):
    """See `finisher`; for the type of the arrays, and where nothing is compiled."""
    _FINISHERS[squares.dtype.name](squares, is_root, is_first, is_last, tile, n_vectors)


def add_run(tile, positions, weights, s, scale, sums, target):
    """``sums[target] += scale sum_e w_e tile[position_e]``, for all lanes."""
    lanes = sums.shape[2]
    flat = sums.reshape(-1)
    for lane in range(lanes):
        total = weights.dtype.type(0)  # the first product is then fused as all others
        for e in range(RUN):
            total += weights[s, e] * tile[positions[s, e] * lanes + lane]
        flat[target * lanes + lane] += scale * total


def add_dots(_, sums, r, lowest, weights, s, products, target):
    """``products[target, g] += <weights[s], sums[r, g]>`` for all graphs from the lowest on."""
    for g in range(lowest, sums.shape[1]):
        terms = weights[s] * sums[r, g]
        while len(terms) > 1:
            half = len(terms) // 2
            terms = terms[:half] + terms[half:]
        products[target, g] += terms[0]


def write_product(a, row_stride, step, b, n, out, out_stride):
    """``out[j out_stride + c] = sum_k a[j row_stride + k step] b[k width + c]``, k < n."""
    width = PANEL_BYTES // a.itemsize
    for j in range(ROWS):
        for c in range(width):
            out[j * out_stride + c] = 0
        for k in range(n):
            value = a[j * row_stride + k * step]
            for c in range(width):
                out[j * out_stride + c] += value * b[k * width + c]


def multiplier(lanes):  # noqa: C901
    """Make `multiply` for vectors of so many lanes."""

    def multiply(x, y, found, own, rows, diagonal, begin, end, columns, values, numbers):
        """
        For some steps h set ``y = B x``, and exchange x and y.

        The numbers are how many lanes are used, how many of `rows` there are, the first row of this
        matrix in its arrays, the first and one past the last step, and the number of all
        steps. Lane l writes x_h(own_l) to row h - 1 of `found`, after <x_(h-1), x_h> and
        <x_h, x_h>, in the second half of the steps, to the rows 2h - 2 and 2h - 1.
        """
        n_own, n_rows, first, first_step, last_step, n_products = numbers
        for step in range(first_step, last_step):
            wanted = 2 * step + 2 > n_products
            if wanted:
                found[2 * step * lanes : (2 * step + 2) * lanes] = 0.0
            for i in rows[:n_rows]:
                place = i * lanes
                for lane in range(lanes):
                    y[place + lane] = diagonal[first + i] * x[place + lane]
                for entry in range(begin[first + i], end[first + i]):
                    other, value = columns[entry] * lanes, values[entry]
                    for lane in range(lanes):
                        y[place + lane] += value * x[other + lane]
                if wanted:
                    odd, even = 2 * step * lanes, (2 * step + 1) * lanes
                    for lane in range(lanes):
                        found[odd + lane] += x[place + lane] * y[place + lane]
                        found[even + lane] += y[place + lane] * y[place + lane]
            for lane in range(n_own):
                found[step * lanes + lane] = y[own[lane]]
            x, y = y, x

    return multiply
