"""Keys of methods are the same in another session, also where parameters are functions."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from retgk import InvalidInputError, compare
from retgk.comparison.methods import check_can_resume, estimator_key
from tests.slow_methods import DATA

SCRIPT = """
from functools import partial
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from retgk.comparison.methods import estimator_key

def sizes(X, scale={scale}):
    return X.node_counts[:, None] * scale

def scaled(by):
    return lambda X: sizes(X) * by

for function in (sizes, partial(sizes, scale={part}), scaled({closed}), [sizes, {{1: sizes}}]):
    print(estimator_key(make_pipeline(FunctionTransformer(function), DummyClassifier())))
"""


def keys(folder: Path, **numbers: int) -> list[str]:
    """Keys as a new process finds them."""
    script = folder / "script.py"
    script.write_text(SCRIPT.format(**{"scale": 1, "part": 2, "closed": 3, **numbers}))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_functions_have_the_same_key_in_another_process(tmp_path: Path) -> None:
    first, again = keys(tmp_path), keys(tmp_path)
    assert first == again
    assert len(set(first)) == 4


@pytest.mark.parametrize(
    ("changed", "differ"),
    [
        ({"scale": 9}, [True, True, True, True]),
        ({"part": 9}, [False, True, False, False]),
        ({"closed": 9}, [False, False, True, False]),
    ],
)
def test_a_changed_function_is_another_method(
    changed: dict[str, int], differ: list[bool], tmp_path: Path
) -> None:
    before, after = keys(tmp_path), keys(tmp_path, **changed)
    found = [one != other for one, other in zip(before, after, strict=True)]
    # the lambda calls `sizes` by its name, which its own source does not tell
    expected = [*differ[:2], "closed" in changed, differ[3]]
    assert found == expected


class Untold:
    """An object of which Python tells the place in memory alone."""

    def __call__(self, X: Any) -> Any:
        return np.zeros((len(X), 1))


def untold_model() -> Any:
    return make_pipeline(FunctionTransformer(Untold()), DummyClassifier())


def test_what_cannot_be_told_again_is_not_resumed_in_silence(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with pytest.raises(
        InvalidInputError, match=r"__func of method 'mine' .* a journal would never resume"
    ):
        compare(DATA, methods={"mine": untold_model()}, folds=2, journal=journal)
    assert not journal.exists()
    check_can_resume(
        "mine", make_pipeline(FunctionTransformer(partial(np.sum, axis=0)), DummyClassifier())
    )
    assert estimator_key(untold_model()) != estimator_key(DummyClassifier())
