"""Errors and warnings of bad input."""

import numpy as np
import pytest

from retgk import InvalidInputError, as_batch
from retgk.errors import InputWarning


def test_kinds() -> None:
    assert issubclass(InvalidInputError, ValueError)
    assert issubclass(InputWarning, UserWarning)


def test_message_says_what_and_what_to_do() -> None:
    with pytest.raises(InvalidInputError, match="weight 0; pass symmetrize=True"):
        as_batch([np.array([[0.0, 1.0], [0.0, 0.0]])])
