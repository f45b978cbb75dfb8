"""Journals of comparisons that were edited: what is wrong is said, with its line."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retgk import Comparison, InvalidInputError, compare, make_graph_classification

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of processes")

DATA = make_graph_classification(30, random_state=0)
Lines = list[dict[str, Any]]
LINE = 4
"""A fold of the second method: lines count from one, and the first is of the comparison."""


def compared(journal: Path) -> Comparison:
    return compare(DATA, methods=["size", "majority"], folds=2, journal=journal)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Path]:
    journal = tmp_path_factory.mktemp("whole") / "journal.jsonl"
    return compared(journal), journal


@pytest.fixture
def edited(
    whole: tuple[Comparison, Path], tmp_path: Path
) -> Callable[[Callable[[Lines], Any]], Path]:
    """Give a journal without digests, as earlier versions wrote them, that was changed."""

    def write(change: Callable[[Lines], Any]) -> Path:
        lines = [json.loads(line) for line in whole[1].read_text().splitlines()]
        for line in lines:
            del line["digest"]
        change(lines)
        path = tmp_path / "journal.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


def test_a_changed_score_is_found(whole: tuple[Comparison, Path], tmp_path: Path) -> None:
    first, *others = whole[1].read_text().splitlines(keepends=True)
    score = json.loads(others[2])["scores"]["accuracy"]
    others[2] = others[2].replace(f'"accuracy": {score}', '"accuracy": 0.9', 1)
    (tmp_path / "journal.jsonl").write_text("".join([first, *others]))
    with pytest.raises(InvalidInputError, match=f"journal.jsonl, line {LINE}: not as it was writ"):
        compared(tmp_path / "journal.jsonl")


def test_journals_without_digests_are_read(
    whole: tuple[Comparison, Path], edited: Callable[[Callable[[Lines], Any]], Path]
) -> None:
    path = edited(lambda lines: lines)
    assert compared(path).rows == whole[0].rows
    assert len(path.read_text().splitlines()) == 5, "nothing was done again"


DONE: dict[str, Any] = {"failure": None}
STOPPED: dict[str, Any] = {"failure": "why", "by_limit": True, "limits": [1.0, 2.0]}
MISSING = object()


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        (DONE, "method_key", MISSING, "method_key is None"),
        (DONE, "method_key", 3, "method_key is 3"),
        (DONE, "repetition", [0], r"there is no fold 0 of repetition \[0\]"),
        (DONE, "repetition", 1, "there is no fold 0 of repetition 1"),
        (DONE, "fold", 99, "there is no fold 99 of repetition 0"),
        (DONE, "fold", -1, "there is no fold -1 of repetition 0"),
        (DONE, "fold", False, "there is no fold False"),
        (DONE, "fold", MISSING, "there is no fold None"),
        (DONE, "failure", MISSING, "failure is 'missing'"),
        (DONE, "failure", 1, "failure is 1"),
        (DONE, "scores", MISSING, "scores are None"),
        (DONE, "scores", {}, "accuracy is 'missing'"),
        (DONE, "scores.accuracy", 7.5, "accuracy is 7.5"),
        (DONE, "scores.accuracy", "x", "accuracy is 'x'"),
        (DONE, "scores.accuracy", True, "accuracy is True"),
        (DONE, "scores.log_loss", -0.1, "log_loss is -0.1"),
        (DONE, "scores.log_loss", 10**400, "log_loss is 1000"),
        (DONE, "scores.matthews_corrcoef", -1.1, "matthews_corrcoef is -1.1"),
        (DONE, "chosen", None, "chosen are None"),
        (DONE, "seconds", None, "seconds is None"),
        (DONE, "seconds", -1, "seconds is -1"),
        (DONE, "peak_mb", "much", "peak_mb is 'much'"),
        (DONE, "peak_mb", MISSING, "peak_mb is 'missing'"),
        (STOPPED, "by_limit", MISSING, "by_limit is None"),
        (STOPPED, "limits", [1.0], r"limits are \[1.0\]"),
        (STOPPED, "limits", ["a", "b"], r"limits are \['a', 'b'\]"),
    ],
)
def test_wrong_lines_are_named(
    edited: Callable[[Callable[[Lines], Any]], Path],
    kind: dict[str, Any],
    name: str,
    value: Any,
    message: str,
) -> None:
    def change(lines: Lines) -> None:
        record = lines[LINE - 1]
        record |= kind
        *outer, last = name.split(".")
        for each in outer:
            record = record[each]
        record[last] = value
        if value is MISSING:
            del record[last]

    with pytest.raises(InvalidInputError, match=f"journal.jsonl, line {LINE}: {message}.*remove"):
        compared(edited(change))


def test_scores_at_their_bounds_are_believed(
    edited: Callable[[Callable[[Lines], Any]], Path],
) -> None:
    def change(lines: Lines) -> None:
        for line in lines[1:]:
            line["scores"] |= {"accuracy": 1, "roc_auc": None, "matthews_corrcoef": -1.0}
            line["peak_mb"] = None  # on Windows

    rows = compared(edited(change)).rows
    assert [row["accuracy"] for row in rows] == [1.0, 1.0]
    assert [row["peak_mb"] for row in rows] == [None, None]


def test_a_first_line_that_lacks_something_is_of_another_comparison(
    edited: Callable[[Callable[[Lines], Any]], Path],
) -> None:
    def change(lines: Lines) -> None:
        lines[0] = {"format": 1, "comparison": "other"}

    with pytest.raises(InvalidInputError, match="is the journal of another comparison"):
        compared(edited(change))
