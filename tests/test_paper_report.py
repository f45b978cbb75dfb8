"""The report, from made-up records."""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from reproduction import tables as table_results
from reproduction.figures import Curve, figure_2_curves
from reproduction.report import write_report
from reproduction.report_tables import Grid, entry, seconds_text
from reproduction.tables import (
    CellSummary,
    PublishedAccuracy,
    figure_cells,
    n_unknown_records,
    published_accuracies,
    records_by_cell,
    summary_of,
    table_rows,
    variations,
    verdict,
)
from tests.errors import fails
from tests.paper_samples import MUTAG, cell_of, made_up, write

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Records of all kinds: both protocols, copies, a stopped peer, curves."""
    records = [made_up(MUTAG, r, 0.9 + 0.01 * r) for r in range(3)]
    records.append(made_up(cell_of(2, "MUTAG", "RetGK_II"), accuracy=0.80))
    records.append(made_up(cell_of(2, "MUTAG", "RetGK_I", "nested"), accuracy=0.88))
    records.append(made_up(cell_of(2, "MUTAG", "RetGK_I", deduplicate=True), accuracy=0.87))
    stopped = made_up(cell_of(2, "MUTAG", "SP"), failure="did not finish in 600 s")
    del stopped["accuracies"], stopped["seconds"]
    records.append(stopped)
    records += [
        made_up(cell, r, 0.6 + 0.001 * r + (0.1 if cell.place.endswith("S=5") else 0))
        for cell in figure_cells()
        if cell.dataset in ("ENZYMES", "NCI1")
        for r in range(2)
    ]
    return write(tmp_path_factory.mktemp("records") / "records.jsonl", records)


@pytest.fixture(scope="module")
def folder(full, tmp_path_factory):
    """The report of all these."""
    return write_report([full], tmp_path_factory.mktemp("report")).parent


@pytest.mark.slow
def test_the_stored_records_give_the_stored_report(tmp_path):
    """Every table, note and picture: `make paper-report` writes what has changed on purpose."""
    stored = ROOT / "docs" / "paper"
    baseline = ROOT / "benchmarks" / "records" / "paper.jsonl"
    write_report([stored / "records.jsonl.gz"], tmp_path, baseline)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {path.name for path in stored.iterdir()} - {"records.jsonl.gz"}
    for name in made:
        if not name.endswith(".png"):  # whose bytes depend on the version of matplotlib
            assert (tmp_path / name).read_text("utf-8") == (stored / name).read_text("utf-8"), name


def test_markdown(folder):
    text = (folder / "report.md").read_text("utf-8")
    assert "91.0 (1.0)<br>paper 90.3 (1.1), +0.6 sd" in text
    assert "**80.0 ▼**<br>paper 90.1 (1.0), -10.1 sd" in text
    assert "did not finish in 600 s; paper 85.2 (2.3)" in text
    assert "| Table 2 | 18 | 1 | 0 | 2 | 15 | 1 to 3 |" in text
    assert "| MUTAG | RetGK_I | Table 2 | 90.3 (1.1) | 91.0 (1.0) | 88.0 | -3.0 | 3, 1 |" in text
    assert "| 91.0 (1.0) | 87.0 | -4.0 | 3 (1) |" in text
    assert "| RetGK_I | 38m4s | 3.5 s† | 1 s | 2 s | 0.5 s | MUTAG | 1 of 9, MUTAG only |" in text
    assert "S=5: +10.0" in text
    assert "Fewer than 10 repetitions: MUTAG RetGK_I (3), MUTAG RetGK_II (1)" in text
    assert "From {1, 10, 100, 1000}, on a validation tenth" in text


def test_peers_are_not_judged(tmp_path):
    """The paper does not state their settings; those that are far off are listed."""
    path = write(tmp_path / "r", [made_up(cell_of(2, "MUTAG", "WL"), r) for r in range(10)])
    write_report([path], tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "| 50.0 (0.0)<br>paper 84.4 (1.5), -22.9 sd |" in text
    assert "Fewer than" not in text
    assert "There are none." in text
    section = text[text.index("## Methods of other authors: over three deviations") :]
    section = section.partition("\n## ")[0]
    assert "| MUTAG | WL | Table 2 | 84.4 (1.5) | 50.0 (0.0) | -22.9 | Here n_iter = 5" in section
    assert "1 of the 1 cells of other authors" in section


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_files(folder):
    names = {path.name for path in folder.iterdir()}
    assert names == {"report.md", "cells.csv", "figure_2.csv",
                     "figure_1.png", "figure_2_S.png", "figure_2_D0.png",
                     "figure_2_Dc.png"}  # fmt: skip
    assert (folder / "figure_2_S.png").read_bytes().startswith(b"\x89PNG")


def test_cells_as_numbers(folder):
    rows = {
        (row["table"], row["set"], row["method"], row["protocol"], row["deduplicate"]): row
        for row in rows_of(folder / "cells.csv")
    }
    row = rows["2", "MUTAG", "RetGK_I", "paper", "0"]
    assert {name: row[name] for name in list(row)[5:]} == {
        "mean": "91.0", "sd": "1.0", "n": "3", "published": "90.3", "published_sd": "1.1",
        "verdict": "within", "seconds_rpf": "1.0", "seconds_gram": "2.0", "seconds_kernel": "0.5",
        "seconds_svm": "4.0", "svm_threads": "2", "peak_mb_of_process_so_far": "200.0",
        "failure": "",
    }  # fmt: skip
    assert rows["2", "MUTAG", "RetGK_II", "paper", "0"]["verdict"] == "below"
    assert rows["2", "MUTAG", "RetGK_I", "nested", "0"]["mean"] == "88.0"
    assert rows["2", "MUTAG", "RetGK_I", "nested", "0"]["verdict"] == ""
    assert rows["2", "MUTAG", "RetGK_I", "paper", "1"]["mean"] == "87.0"
    assert rows["2", "MUTAG", "SP", "paper", "0"]["failure"] == "did not finish in 600 s"
    quoted = rows["2", "MUTAG", "DGK", "paper", "0"]
    assert (quoted["mean"], quoted["n"], quoted["published"]) == ("", "0", "87.4")


def test_files_of_an_earlier_report_go(full, tmp_path):
    """They would show what no record says any more."""
    write_report([full], tmp_path)
    (tmp_path / "records.jsonl.gz").touch()
    write_report([write(tmp_path / "few.jsonl", [made_up(MUTAG)])], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "report.md", "cells.csv", "figure_1.png", "few.jsonl",
        "records.jsonl.gz",
    }  # fmt: skip


def test_records_of_several_files_and_of_other_settings(tmp_path):
    changed = made_up(MUTAG, settings={"kind": "exact"})
    paths = [write(tmp_path / "a", [made_up(MUTAG)]), write(tmp_path / "b", [changed])]
    text = write_report(paths, tmp_path / "out").read_text("utf-8")
    assert "Made from 2 records" in text
    assert "of no cell of this version: 1 record." in text


def test_no_records(tmp_path):
    fails(lambda: write_report([tmp_path / "missing"], tmp_path / "out"), about="missing")


def test_baseline_is_read_where_there_is_one(full, tmp_path):
    line = {"table": 2, "set": "MUTAG", "method": "RetGK_I", "graphs": 188, "sample": 188,
            "published": 3.0, "ours": 0.5, "runs": 3, "difference": 2.04e-6}  # fmt: skip
    lines = [line, {**line, "method": "RetGK_II", "difference": None}]
    path = tmp_path / "baseline.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    write_report([full], tmp_path / "out", path)
    text = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "| RetGK_I | Table 2 | 188 of 188 | 3 s | 0.5 s | 6.0x | 3 | 2e-06 |" in text
    assert "| RetGK_II | Table 2 | 188 of 188 | 3 s | 0.5 s | 6.0x | 3 |  |" in text
    assert "bench_paper" not in text


def test_times_of_machines_are_medians_with_their_threads(tmp_path):
    """One repetition beside other work must not spoil those of a cell."""
    records = [made_up(MUTAG, r, n_jobs=1 + (r > 0)) for r in range(3)]
    records[1]["seconds"] = {"rpf": 9.0, "gram": 9.0, "kernel": 9.0, "svm": 900.0}
    write_report([write(tmp_path / "r", records)], tmp_path)
    assert "| 2 s† | 0.5 s† | 4 s (1, 2) |" in (tmp_path / "report.md").read_text("utf-8")
    (row,) = [row for row in rows_of(tmp_path / "cells.csv") if row["n"] == "3"]
    assert (row["seconds_svm"], row["svm_threads"]) == ("4.0", "1 2")


def test_what_was_tried_stands_beside_the_table(tmp_path, monkeypatch):
    cells = {
        replace(
            MUTAG,
            place=f"variation of table 2: {change}",
            settings={**MUTAG.settings, "changed": change},
        ): accuracy
        for change, accuracy in (("p=2, S=7", 0.7), ("p=3", 0.89), ("p=4", 0.9))
    }
    monkeypatch.setattr(table_results, "variation_cells", lambda: list(cells))
    tried = [
        made_up(cell, r, accuracy + 0.02 * r) for cell, accuracy in cells.items() for r in range(2)
    ]
    write_report([write(tmp_path / "r", [made_up(MUTAG), *tried])], tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    line = "| MUTAG | RetGK_I | Table 2 | {} | 50.0 | 90.3 (1.1) | {} (1.4) | 2 | {} |\n"
    assert "## What was tried\n\n" in text
    assert line.format("p=2, S=7", "71.0", "**below ▼**") in text
    assert line.format("p=3", "90.0", "within") in text
    assert "Within with p=3 (2 repetitions), or with p=4 (2 repetitions)." in text
    assert "of no cell" not in text
    assert text.index("Cells outside") < text.index("What was tried") < text.index("## Protocols")
    write_report([write(tmp_path / "s", [made_up(MUTAG), *tried[:2]])], tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "| Not within with any change that was tried. |" in text


def test_several_machines_and_versions(tmp_path):
    new = {"python": "4", "numpy": "2", "scikit-learn": "1", "retgk": "0", "source": "0123456789ab"}
    records = [
        made_up(MUTAG),
        made_up(MUTAG, 1, versions=new),
        made_up(MUTAG, 2, versions=new, machine={"cpu": "Z3", "cores": 1}),
    ]
    write_report([write(tmp_path / "r", records)], tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "2 cores of <abacus> (2 records), 1 core of Z3 (1 record); Python 3 and 4, " in text
    assert "NumPy 2, scikit-learn 1, retgk 0." in text
    assert "computing code: not noted (1 record), 0123456789ab (2 records)." in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "0.012 s"), (5.55, "5.5 s"), (42.4, "42 s"), (197, "3m17s"), (7380, "2h03m")],
)
def test_seconds_for_people(seconds, text):
    assert seconds_text(seconds) == text


def test_grid_escapes():
    grid = Grid("a & b", ["x|y"], [[entry("<i>", "p|q", "above")]], ["1 < 2"])
    assert "**<i>**<br>p\\|q" in grid.markdown()
    quoted = Grid("title", ["x"], [[entry("", "paper 1.0", "quoted")]])
    assert "| *paper 1.0* |" in quoted.markdown()


# What records say, from made-up ones


def verdict_on(accuracy, published):
    return verdict(CellSummary(accuracy, math.nan, 1, {}), published)


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    [(90.0, "within"), (91.0, "within"), (91.1, "above"), (88.9, "below"), (89.0, "within")],
)
def test_one_point_is_within_where_deviations_are_small(accuracy, expected):
    assert verdict_on(accuracy, PublishedAccuracy(90.0, 0.2)) == expected


def test_two_deviations_are_within_where_they_are_larger():
    assert verdict_on(86.1, PublishedAccuracy(90.0, 2.0)) == "within"
    assert verdict_on(85.9, PublishedAccuracy(90.0, 2.0)) == "below"


def test_no_verdict_without_an_accuracy_on_both_sides():
    failed = CellSummary(math.nan, math.nan, 0, {}, failure="did not finish")
    assert verdict(None, PublishedAccuracy(90.0, 2.0)) == ""
    assert verdict(failed, PublishedAccuracy(90.0, 2.0)) == ""
    assert verdict_on(90.0, None) == ""


def test_mean_and_deviation_over_repetitions():
    found = summary_of(
        MUTAG, records_by_cell([made_up(MUTAG, r, a) for r, a in enumerate((0.8, 0.9))])
    )
    assert found.accuracy == pytest.approx(85.0)
    assert found.deviation == pytest.approx(50**0.5)
    assert found.n_repetitions == 2
    assert summary_of(MUTAG, {}) is None


def test_success_counts_more_than_a_failure_whenever_it_came():
    bad = made_up(MUTAG, failure="did not finish")
    for records in ([bad, made_up(MUTAG)], [made_up(MUTAG), bad]):
        assert summary_of(MUTAG, records_by_cell(records)).failure == ""
    assert summary_of(MUTAG, records_by_cell([bad])).failure == "did not finish"


def test_the_last_failure_counts():
    """Limits may have been raised in between, and the first repetition tried again alone."""
    short, long = "did not finish in 60 s", "did not finish in 300 s"
    for last in (0, 2):
        records = [made_up(MUTAG, r, failure=short) for r in range(2)]
        records.append(made_up(MUTAG, last, failure=long))
        assert summary_of(MUTAG, records_by_cell(records)).failure == long


def test_rows_hold_every_published_number():
    for table in (1, 2, 3, 4):
        rows = {(row.dataset, row.method): row.published for row in table_rows(table, {})}
        assert {place: p for place, p in rows.items() if p} == published_accuracies(table)


def test_times_of_a_run_for_times_count_more_unless_it_failed():
    timed = made_up(cell_of(2, "MUTAG", "RetGK_I", "time"), accuracies=[])
    timed["seconds"] = {"rpf": 0.1, "gram": 0.2, "kernel": 0.3, "svm": 0.0}
    stopped = {**timed, "failure": "did not finish"}
    for last, seconds, is_timed in ((timed, 0.2, True), (stopped, 2.0, False)):
        (row,) = [
            row
            for row in table_rows(2, records_by_cell([made_up(MUTAG), last]))
            if (row.dataset, row.method) == ("MUTAG", "RetGK_I")
        ]
        assert row.times.seconds["gram"] == seconds
        assert row.is_timed == is_timed
        assert row.paper.seconds["gram"] == 2.0


def figure_records(dataset="NCI1"):
    return [
        made_up(cell, r, 0.6 + 0.001 * r + (0.1 if cell.place.endswith("S=5") else 0))
        for cell in figure_cells()
        if cell.dataset == dataset
        for r in range(2)
    ]


def test_curves_know_how_far_they_are_from_the_tables():
    records = figure_records() + figure_records("ENZYMES")
    found = {(c.parameter, c.dataset): c for c in figure_2_curves(records_by_cell(records))}
    assert set(found) == {("S", "NCI1"), ("D0", "NCI1"), ("S", "ENZYMES"), ("D0", "ENZYMES"),
                          ("Dc", "ENZYMES")}  # fmt: skip
    steps = found["S", "NCI1"]
    assert steps.paper_value == 50
    assert steps.points_off()[5] == pytest.approx(10.0)
    assert steps.points_off()[100] == pytest.approx(0.0)
    assert steps.off_plateau() == {5: pytest.approx(10.0)}
    assert set(steps.n_repetitions) == {2}
    assert found["Dc", "ENZYMES"].paper_value == 100
    assert Curve("NCI1", "S", [5], [50.0], [1.0], [2], 50).points_off() == {}


def test_a_noisy_point_excuses_no_other():
    curve = Curve("NCI1", "S", [5, 20, 50], [57.0, 58.5, 60.0], [4.0, 0.3, 0.4], [3, 3, 3], 50)
    assert curve.off_plateau() == {20: -1.5}


def test_noise_of_the_reference_counts_too():
    values, accuracies = [5, 50], [57.0, 60.0]
    for deviations, is_off in (([0.8, 1.2], True), ([1.0, 1.2], False), ([math.nan] * 2, True)):
        curve = Curve("NCI1", "S", values, accuracies, deviations, [3, 3], 50)
        assert bool(curve.off_plateau()) == is_off  # 2 sqrt(a^2 + b^2) is 2.9, then 3.1


def test_one_value_is_no_curve():
    cell = next(cell for cell in figure_cells() if "=50" in cell.place and cell.dataset == "NCI1")
    assert figure_2_curves(records_by_cell([made_up(cell)])) == []


def changed_cell(change):
    place = f"variation of table 2: {change}"
    return replace(MUTAG, place=place, settings={**MUTAG.settings, "changed": change})


@pytest.fixture
def tried(monkeypatch):
    """Two changes that were tried on one cell."""
    cells = [changed_cell("n_walks=50"), changed_cell("p=2, S=3")]
    monkeypatch.setattr(table_results, "variation_cells", lambda: cells)
    return cells


def test_variations_by_change(tried):
    walks, p = tried
    records = [made_up(walks, 0, 0.7), made_up(walks, 1, 0.8), made_up(p, 0, 0.6), made_up(MUTAG)]
    first, second = variations(records_by_cell(records))
    assert (first.table, first.dataset, first.method) == (2, "MUTAG", "RetGK_I")
    assert (first.change, first.summary.n_repetitions) == ("n_walks=50", 2)
    assert first.summary.accuracy == pytest.approx(75.0)
    assert (second.change, second.summary.accuracy) == ("p=2, S=3", pytest.approx(60.0))
    assert summary_of(MUTAG, records_by_cell(records)).n_repetitions == 1


def test_settings_count_not_what_a_record_was_made_for(tried):
    """Settings of a table that were changed since are a variation, and the reverse."""
    earlier = made_up(tried[0], 0, 0.7, place="table 2")
    alike = made_up(MUTAG, 1, 0.1, place="variation of table 2: p=1")
    cells = records_by_cell([earlier, made_up(MUTAG, 0, 0.9), alike])
    (found,) = variations(cells)
    assert (found.change, found.summary.accuracy) == ("n_walks=50", pytest.approx(70.0))
    assert summary_of(MUTAG, cells).n_repetitions == 2


def test_variations_of_settings_that_are_no_more_are_left_out(tried):
    old = made_up(MUTAG, 1, 0.1, settings={"kind": "old"}, place=tried[0].place)
    cells = records_by_cell([old, made_up(tried[0], 0, 0.7)])
    (found,) = variations(cells)
    assert (found.summary.n_repetitions, found.summary.accuracy) == (1, pytest.approx(70.0))
    assert n_unknown_records(cells) == 1
