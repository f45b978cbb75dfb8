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
    ("kind", "name", "value"),
    [
        (DONE, "method_key", MISSING),
        (DONE, "method_key", 3),
        (DONE, "repetition", [0]),
        (DONE, "repetition", 1),
        (DONE, "fold", 99),
        (DONE, "fold", -1),
        (DONE, "fold", False),
        (DONE, "fold", MISSING),
        (DONE, "failure", MISSING),
        (DONE, "failure", 1),
        (DONE, "scores", MISSING),
        (DONE, "scores", {}),
        (DONE, "scores.accuracy", "x"),
        (DONE, "scores.accuracy", True),
        (DONE, "scores.log_loss", 10**400),
        (DONE, "chosen", None),
        (DONE, "seconds", None),
        (DONE, "seconds", -1),
        (DONE, "peak_mb", "much"),
        (DONE, "peak_mb", MISSING),
        (STOPPED, "by_limit", MISSING),
        (STOPPED, "limits", [1.0]),
        (STOPPED, "limits", ["a", "b"]),
    ],
)
def test_wrong_lines_are_named(
    edited: Callable[[Callable[[Lines], Any]], Path],
    kind: dict[str, Any],
    name: str,
    value: Any,
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

    with pytest.raises(InvalidInputError, match=f"journal.jsonl, line {LINE}: .*remove"):
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
