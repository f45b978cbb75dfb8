"""Errors and warnings of bad input: their parts, their text, and their way between processes."""

import pickle

import numpy as np
import pytest

from retgk import InvalidInputError, as_batch
from retgk.errors import InputWarning, Remedy

REMEDY = Remedy("symmetrize", "pass symmetrize=True", value="yes")


@pytest.mark.parametrize("kind", [InvalidInputError, InputWarning])
def test_text_is_the_problem_and_the_remedy(kind: type[InvalidInputError]) -> None:
    plain, full = kind("it is directed"), kind("it is directed", REMEDY)
    assert (str(plain), plain.problem, plain.remedy) == ("it is directed", "it is directed", None)
    assert str(full) == "it is directed; pass symmetrize=True"
    assert (full.problem, full.remedy) == ("it is directed", REMEDY)


@pytest.mark.parametrize("kind", [InvalidInputError, InputWarning])
@pytest.mark.parametrize("remedy", [None, REMEDY])
def test_parts_survive_pickling(kind: type[InvalidInputError], remedy: Remedy | None) -> None:
    error = kind("it is directed", remedy)
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is kind
    assert (str(back), back.problem, back.remedy) == (str(error), error.problem, error.remedy)


def test_kinds() -> None:
    assert issubclass(InvalidInputError, ValueError)
    assert issubclass(InputWarning, UserWarning)


def test_library_says_what_to_do_in_python() -> None:
    with pytest.raises(InvalidInputError, match=r"directions are to be dropped$") as found:
        as_batch([np.array([[0.0, 1.0], [0.0, 0.0]])])
    assert found.value.remedy is not None
    assert found.value.remedy.key == "symmetrize"
    assert str(found.value).endswith(f"has weight 0; {found.value.remedy.text}")
