"""Comparisons as they run: processes with limits, kills, journals, clusters and the command."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline

from retgk import GraphClassifier, GraphDataset, InvalidInputError, RetGK, compare
from retgk._runtime.cluster import cluster_client
from retgk._runtime.files import read_records
from retgk.io import to_networkx
from retgk.model_selection import Comparison
from retgk.model_selection import runs as method_runs
from retgk.model_selection.methods import GraphSizes
from tests.errors import fails
from tests.programs import assert_fails, invoke, printed, record
from tests.slow_methods import (
    DATA,
    N_SLOW_FOLDS,
    Eating,
    Failing,
    Killed,
    Sleeping,
    slow_comparison,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of processes")

TRIALS = {"eating": Eating(), "killed": Killed(), "failing": Failing(), "size": "size"}
MEMORY = 4000.0


MEASURED = ("seconds", "processor", "ratio", "peak_mb")


def scores_of(table: Comparison) -> list[dict[str, Any]]:
    """Everything but what was measured of the machine."""
    return [
        {name: value for name, value in row.items() if name not in MEASURED} for row in table.rows
    ]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Path]:
    """What becomes of methods that eat, are killed and fail, and of one beside them."""
    journal = tmp_path_factory.mktemp("trials") / "journal.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDEVMODE", raising=False)  # its allocator aborts where memory ends
        table = compare(DATA, methods=TRIALS, folds=3, journal=journal, memory_limit=MEMORY)
    return table, journal


@pytest.mark.slow
def test_methods_that_are_stopped_do_not_stop_the_rest(trials: tuple[Comparison, Path]) -> None:
    rows = {row["method"]: row for row in trials[0].rows}
    assert {name: row["status"] for name, row in rows.items()} == {
        "eating": "did not fit into 4000 MB",
        "killed": "was killed from outside, probably because the machine ran out of memory",
        "failing": "ValueError: these graphs are <odd>",
        "size": "done",
    }
    assert [rows[name]["folds"] for name in TRIALS] == [0, 1, 0, 3]
    assert rows["killed"]["accuracy"] is None
    assert rows["size"]["accuracy"] > 0
    assert rows["size"]["peak_mb"] > 50


@pytest.mark.slow
def test_a_wrong_parameter_called_memory_is_no_lack_of_it(tmp_path: Path) -> None:
    """It is no limit that a journal would wait for to be raised."""
    journal = tmp_path / "journal.jsonl"
    mine = Pipeline([("sizes", GraphSizes()), ("chance", DummyClassifier())], memory=5)
    table = compare(DATA, methods={"mine": mine}, folds=3, journal=journal)
    assert "memory" in table.rows[0]["status"]
    assert "did not fit" not in table.rows[0]["status"]
    assert read_records(journal)[-1]["by_limit"] is False


@pytest.mark.slow
def test_what_limits_stopped_is_tried_again_if_they_are_raised(
    trials: tuple[Comparison, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was killed from outside is tried again in any case, and what is done is not."""
    table, journal = trials
    tried: list[int] = []

    def no_run(*_: Any) -> Any:
        tried.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(method_runs, "run_to_end", no_run)

    def again(*names: str, **limits: float) -> Comparison:
        chosen = {name: TRIALS[name] for name in names}
        limits = {"memory_limit": MEMORY} | limits
        return compare(DATA, methods=chosen, folds=3, journal=journal, **limits)

    same = again("eating", "size")
    again("eating", memory_limit=MEMORY - 1, time_limit=10_000.0)
    assert tried == []
    kept = [row for row in table.rows if row["method"] in ("eating", "size")]
    assert sorted(map(str, same.rows)) == sorted(map(str, kept))
    for name, limits in (("eating", {"memory_limit": MEMORY + 1}), ("killed", {}), ("failing", {})):
        with pytest.raises(KeyboardInterrupt):
            again(name, **limits)
    assert len(tried) == 3


@pytest.mark.slow
def test_a_method_that_takes_too_long_is_stopped() -> None:
    folds = [(np.arange(20), np.arange(20, 30)), (np.arange(10, 30), np.arange(10))]
    table = compare(DATA, methods={"late": Sleeping(600)}, folds=folds, time_limit=1.0)
    assert [(row["status"], row["folds"]) for row in table.rows] == [("did not finish in 1 s", 0)]
    assert table.facts["folds"] == [2]


@pytest.mark.slow
def test_another_collection_is_refused(trials: tuple[Comparison, Path]) -> None:
    other = GraphDataset(DATA.graphs[::-1], DATA.targets, "toy")
    fails(
        lambda: compare(other, methods=["majority"], folds=3, journal=trials[1]),
        about="another comparison",
    )
    fails(
        lambda: compare(DATA, methods=["majority"], folds=4, journal=trials[1]), about="folds [3]"
    )


RESUMED = """\
import sys
from tests.slow_methods import slow_comparison
slow_comparison(sys.argv[1])
"""


@pytest.mark.slow
def test_killed_at_five_moments_and_resumed(tmp_path: Path) -> None:
    """The first kill comes before the first fold, the last before the last."""
    journal = tmp_path / "journal.jsonl"
    for n_folds in range(5):
        command = [sys.executable, "-c", RESUMED, str(journal)]
        with subprocess.Popen(command, cwd=Path(__file__).parent.parent) as process:
            wait_until(lambda n=n_folds: n_lines(journal) >= n + 1)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        assert n_lines(journal) < 1 + N_SLOW_FOLDS
    with journal.open("ab") as file:
        file.write(b'{"format": 1, "meth')  # what a kill in the middle of a line leaves
    resumed = slow_comparison(journal)
    assert scores_of(resumed) == scores_of(slow_comparison(tmp_path / "whole.jsonl"))
    places = [
        (each["method"], each["repetition"], each["fold"]) for each in read_records(journal)[1:]
    ]
    assert len(places) == len(set(places)) == N_SLOW_FOLDS


def n_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_until(is_so: Any, seconds: float = 600.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)


@pytest.mark.slow
def test_all_methods_have_the_folds_of_cv(tmp_path: Path, graphs_file: Path) -> None:
    """RetGK scores as `retgk cv` scores it, fold by fold; repetitions have folds of their own."""
    options = ["--folds", 3, "--repetitions", 2, "--seed", 4]
    journal = tmp_path / "j.jsonl"
    fixed = ["--C", 10, "--p", 1, "--scale", 1, "--depth", 0]
    one = {"depth": (0,), "graph_kernel__p": (1,), "graph_kernel__scale": (1,)}
    mine = GraphClassifier(C=(10,), candidates={**RetGK().usual_candidates, **one})
    cv = record("cv", graphs_file, *options, *fixed)["accuracy"]["folds"]
    from retgk import read_graphs

    data = read_graphs(graphs_file)
    table = compare(
        data, methods={"mine": mine, "wl": "wl"}, folds=3, repetitions=2, random_state=4,
        journal=journal,
    )  # fmt: skip
    found = {
        (fold["repetition"], fold["fold"]): fold["accuracy"]
        for fold in table.folds
        if fold["method"] == "mine"
    }
    assert [[found[r, f] for f in range(3)] for r in range(2)] == cv
    assert all(row["status"] == "done" for row in table.rows)
    found = record("compare", graphs_file, *options, "--methods", "majority", "--journal", journal)
    assert found["rows"][0]["folds"] == 6  # the journal of Python is that of the command


@pytest.mark.slow
def test_the_command(graphs_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, text = tmp_path / "page.html", tmp_path / "table.tex"
    monkeypatch.chdir(tmp_path)
    Path("sklearn.py").write_text("raise SystemExit('a module of a stranger')")
    given = ["compare", graphs_file, "--folds", 3, "--methods", "size,mean", "-o", page]
    result = invoke(*given, "-o", text)
    assert result.exit_code == 0, result.output
    assert "accuracy %" in result.stdout
    assert "majority" in result.stdout
    assert "corrected resampled t-test" in result.stdout
    assert f"journal: {tmp_path / 'page.journal.jsonl'}" in result.stderr
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert text.read_text().endswith("\\end{tabular}\n")
    before = (tmp_path / "page.journal.jsonl").read_bytes()
    assert "size" in printed(*given)
    assert (tmp_path / "page.journal.jsonl").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "retgk,wwl"], ("method 'wwl'",)),
        (["--metric", "rmse"], ("--task regression",)),
        (["-o", "x.doc"], ("'x.doc'",)),
        (["--folds", 30], ("0", "20", "30")),
        (["--journal", "-"], ("give a name",)),
        (["--cluster", "remote"], ("'remote'",)),
        (["--split", "scafold"], ("'scafold'",)),
    ],
)
def test_errors_of_the_command(graphs_file: Path, options: list[Any], message: str) -> None:
    assert_fails(invoke("compare", graphs_file, *options), *message)


@pytest.mark.slow
def test_repetitions_have_an_end(graphs_file: Path) -> None:
    for command in ("cv", "compare"):
        result = invoke(command, graphs_file, "--repetitions", 10**9)
        assert result.exit_code == 2
        assert "1000" in result.stderr
    for repetitions in (1_001, 10**9, 10**30):
        options = {"methods": ["size"], "folds": 3, "repetitions": repetitions}
        fails(partial(compare, DATA, **options), about="1,000")


@pytest.mark.slow
def test_seeds_of_any_size(graphs_file: Path) -> None:
    """The last of two repetitions has a seed of 33 bits."""
    given = [graphs_file, "--folds", 3, "--repetitions", 2, "--seed", 2**32 - 1]
    assert record("compare", *given, "--methods", "size")["rows"][0]["status"] == "done"
    assert "accuracy" in printed("cv", *given)


@pytest.mark.slow
def test_the_input_is_not_written_over(graphs_file: Path) -> None:
    given = ["compare", graphs_file, "--methods", "size", "--journal", graphs_file]
    assert_fails(invoke(*given), "would be written")


@pytest.mark.slow
def test_a_folder_of_graphml_with_a_table_of_targets(tmp_path: Path) -> None:
    nx = pytest.importorskip("networkx")
    folder = tmp_path / "graphs"
    folder.mkdir()
    lines = ["file,size"]
    for number, graph in enumerate(to_networkx(DATA.graphs)):
        nx.write_graphml(graph, folder / f"g{number:02}.graphml")
        lines.append(f"g{number:02}.graphml,{graph.number_of_nodes() + 0.5}")
    (tmp_path / "targets.csv").write_text("\n".join(lines) + "\n")
    found = record(
        "compare", folder, "--targets", tmp_path / "targets.csv", "--target-column", "size",
        "--label", "label", "--folds", 3, "--methods", "mean,size",
    )  # fmt: skip
    assert found["task"] == "regression"
    rows = {row["method"]: row for row in found["rows"]}
    assert rows["size"]["r2"] > 0.5 > rows["majority"]["r2"]
    assert rows["size"]["rmse"] < rows["majority"]["rmse"]
    assert [row["method"] for row in found["rows"]] == ["size", "majority"]


@pytest.mark.slow
def test_the_same_scores_on_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    methods = {"size": "size", "failing": Failing()}
    options = {"folds": 3, "repetitions": 2}
    here = compare(DATA, methods=methods, **options)
    with cluster_client(None, "local:2") as client:
        journal = tmp_path / "journal.jsonl"
        there = compare(DATA, methods=methods, journal=journal, client=client, **options)
    assert scores_of(there) == scores_of(here)
    assert there.rows[-1]["status"] == "ValueError: these graphs are <odd>"
    assert len(read_records(journal)) == 1 + 6 + 2


@pytest.mark.slow
def test_a_journal_holds_plain_values(trials: tuple[Comparison, Path]) -> None:
    first, *others = (json.loads(line) for line in trials[1].read_text().splitlines())
    assert first["collection"] == "toy"
    done = [each for each in others if each["failure"] is None]
    assert len(done) == 1 + 3
    assert set(done[0]["scores"]) >= {"accuracy", "roc_auc", "log_loss"}
    assert np.isfinite(done[-1]["scores"]["log_loss"])


# Journals of comparisons that were edited: what is wrong is said, with its line


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


@pytest.mark.slow
def test_a_changed_score_is_found(whole: tuple[Comparison, Path], tmp_path: Path) -> None:
    first, *others = whole[1].read_text().splitlines(keepends=True)
    score = json.loads(others[2])["scores"]["accuracy"]
    others[2] = others[2].replace(f'"accuracy": {score}', '"accuracy": 0.9', 1)
    (tmp_path / "journal.jsonl").write_text("".join([first, *others]))
    with pytest.raises(InvalidInputError, match=f"journal.jsonl, line {LINE}: not as it was writ"):
        compared(tmp_path / "journal.jsonl")


@pytest.mark.slow
def test_journals_without_digests_are_read(
    whole: tuple[Comparison, Path], edited: Callable[[Callable[[Lines], Any]], Path]
) -> None:
    path = edited(lambda lines: lines)
    assert compared(path).rows == whole[0].rows
    assert len(path.read_text().splitlines()) == 5, "nothing was done again"


DONE: dict[str, Any] = {"failure": None}
STOPPED: dict[str, Any] = {"failure": "why", "by_limit": True, "limits": [1.0, 2.0]}
MISSING = object()


@pytest.mark.slow
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
        (DONE, "processor", MISSING),
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_first_line_that_lacks_something_is_of_another_comparison(
    edited: Callable[[Callable[[Lines], Any]], Path],
) -> None:
    def change(lines: Lines) -> None:
        lines[0] = {"format": 1, "comparison": "other"}

    fails(lambda: compared(edited(change)), about="another comparison")
