"""Colours of shares: blue against, white for zero, orange for; the same scale on both sides."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from retgk.array_types import Floats
from retgk.errors import InvalidInputError

__all__ = ["AGAINST_AND_FOR", "checked_shares", "colour_limit", "share_colour", "share_rgb"]

# Okabe and Ito's blue and vermilion, which all kinds of colour vision tell apart
AGAINST_AND_FOR = ("#0072B2", "#FFFFFF", "#D55E00")


def checked_shares(shares: ArrayLike, n_nodes: int) -> Floats:
    """Shares as numbers, one for each node."""
    try:
        values = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"shares must be numbers, got {shares!r:.80}") from error
    if values.shape != (n_nodes,) or not np.isfinite(values).all():
        raise InvalidInputError(
            f"shares must be finite and of shape ({n_nodes},), one for each node, got shape "
            f"{values.shape}"
        )
    return values


def colour_limit(values: Floats, limit: Any = None) -> float:
    """Share of the darkest colours: what is given, or the largest there is."""
    if limit is None:
        return float(np.abs(values).max(initial=0.0)) or 1.0
    if isinstance(limit, bool) or not isinstance(limit, Real) or not 0 < float(limit) < np.inf:
        raise InvalidInputError(f"limit must be a positive number, got {limit!r}")
    return float(limit)


def share_rgb(share: float, limit: float) -> tuple[float, float, float]:
    """Red, green and blue, between 0 and 1, of a share."""
    against, zero, in_favour = (
        np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        for colour in AGAINST_AND_FOR
    )
    part = float(np.clip(share / limit, -1.0, 1.0))
    red, green, blue = zero + abs(part) * ((in_favour if part > 0 else against) - zero)
    return float(red), float(green), float(blue)


def share_colour(share: float, limit: float) -> str:
    """Give the same as a colour of HTML, such as #D55E00."""
    return "#" + "".join(f"{round(255 * part):02X}" for part in share_rgb(share, limit))
