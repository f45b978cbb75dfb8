"""Compiled parser of lines of integers; imported when a file is first read."""

from typing import Any

import numpy as np
from numba import njit

__all__ = ["parse_integers"]

MINUS, COMMA, SPACE, TAB, RETURN, NEWLINE, ZERO = 45, 44, 32, 9, 13, 10, 48
MAX_DIGITS = np.uintp(18)  # the most that never overflow 64 bits
ONE = np.uintp(1)


# One long function: with its inner loops in functions of their own it takes a third longer.
@njit(cache=True, nogil=True)
def parse_integers(text: Any, limit: int, out: Any) -> tuple[Any, Any]:  # noqa: C901
    """
    Parse whole lines of integers, separated by commas, into the columns `out[c, :]`.

    The text must end with a newline: it ends every inner loop, so that none of them has to
    look for the end of the text. Unsigned positions spare the test for indices that count
    from the end.

    Returns the number of lines that parsed, and where the first other one starts, or -1.
    """
    at, end, row = np.uintp(0), np.uintp(len(text)), np.uintp(0)
    n_columns = out.shape[0]
    while at < end:
        line = at
        for column in range(n_columns):
            while text[at] == SPACE or text[at] == TAB:
                at += ONE
            negative = text[at] == MINUS
            if negative:
                at += ONE
            first = at
            value = np.int64(0)
            digit = np.int64(text[at]) - ZERO
            while 0 <= digit <= 9:
                value = value * 10 + digit
                at += ONE
                digit = np.int64(text[at]) - ZERO
            if at == first or at - first > MAX_DIGITS or value > limit:
                return np.int64(row), np.int64(line)
            out[np.uintp(column), row] = -value if negative else value
            while text[at] == SPACE or text[at] == TAB:
                at += ONE
            if column + 1 < n_columns:
                if text[at] != COMMA:
                    return np.int64(row), np.int64(line)
                at += ONE
        if text[at] == RETURN:
            at += ONE
        if text[at] != NEWLINE:
            return np.int64(row), np.int64(line)
        at += ONE
        row += ONE
    return np.int64(row), np.int64(-1)
