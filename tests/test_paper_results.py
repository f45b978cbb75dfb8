"""What records say, from made-up ones."""

import math
from dataclasses import replace

import pytest

from reproduction import tables as table_results
from reproduction.figures import Curve, figure_2_curves
from reproduction.tables import (
    CellSummary,
    PublishedAccuracy,
    figure_cells,
    n_unknown_records,
    published_accuracies,
    published_methods,
    published_words,
    records_by_cell,
    summary_of,
    table_rows,
    variations,
    verdict,
)
from tests.paper_records import MUTAG, cell_of, made_up


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


@pytest.mark.parametrize("table", [1, 2, 3, 4])
def test_columns_are_those_of_the_numbers(table):
    methods = {method for _, method in published_accuracies(table)}
    assert set(published_methods(table)) == methods
    assert len(published_methods(table)) == len(methods)


def test_numbers_of_every_row_stand_in_the_order_of_the_columns():
    for table in (1, 2, 3, 4):
        order = published_methods(table)
        by_set = {}
        for name, method in published_accuracies(table):
            by_set.setdefault(name, []).append(order.index(method))
        assert all(places == sorted(places) for places in by_set.values())


def test_words_in_place_of_a_number():
    assert published_words(2) == {("DD", "SP"): ">24h"}
    assert ("DD", "SP") not in published_accuracies(2)


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
        for cell in figure_cells(2)
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


def test_one_point_is_on_the_plateau_without_noise():
    curve = Curve("NCI1", "S", [5, 10, 50], [59.0, 58.9, 60.0], [0.0] * 3, [3] * 3, 50)
    assert list(curve.off_plateau()) == [10]


def test_one_value_is_no_curve():
    cell = next(cell for cell in figure_cells(2) if "=50" in cell.place and cell.dataset == "NCI1")
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


def test_a_variation_that_failed_after_it_succeeded(tried):
    records = [made_up(tried[0], 0, 0.7), made_up(tried[0], 0, 0.7, failure="stopped")]
    (found,) = variations(records_by_cell(records))
    assert found.summary.failure == ""
