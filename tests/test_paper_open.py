"""What is still to be run, in one sentence; and the README's block that ends with it."""

import gzip
import json

import pytest

from benchmarks import paper_tables
from reproduction.report import open_sentence
from reproduction.tables import (
    TABLES,
    fair_cells,
    figure_cells,
    n_repetitions,
    records_by_cell,
    table_cells,
)
from retgk._runtime.files import FORMAT
from tests.paper_records import made_up


@pytest.fixture(scope="module")
def everything():
    """Records of a run that lacks nothing."""
    wanted = [(cell, 10) for table in TABLES for cell in table_cells(table)]
    wanted += [(cell, 3) for table in TABLES for cell in table_cells(table, "nested")]
    wanted += [(cell, 1) for table in TABLES for cell in table_cells(table, "time")]
    wanted += [(cell, 3) for cell in figure_cells(2)]
    wanted += [(cell, n_repetitions(cell, 10)) for cell in fair_cells()]
    wanted += [(cell, 3) for cell in table_cells(2, deduplicate=True) if "RetGK" in cell.method]
    return [made_up(cell, r) for cell, n in wanted for r in range(n)]


def without(records, **fields):
    return [
        record for record in records if any(record[name] != value for name, value in fields.items())
    ]


def test_nothing_is_open(everything):
    assert open_sentence(records_by_cell(everything)) == ""


def test_cells_with_few_repetitions(everything):
    few = without(everything, dataset="COLLAB", method="RetGK_I", protocol="paper", repetition=9)
    few = without(few, dataset="COLLAB", method="WL", protocol="paper")
    few += [r for r in everything if (r["dataset"], r["method"]) == ("COLLAB", "WL")][:8]
    assert open_sentence(records_by_cell(few)) == (
        "Still to be run: Table 1, RetGK_I (1 of 10 repetitions) and WL (2 of 10 repetitions) "
        "on COLLAB."
    )


def test_methods_that_were_never_run_stand_together(everything):
    few = without(everything, place="table 1", method="WL", protocol="paper")
    few = without(few, place="table 1", method="SP", protocol="nested")
    assert open_sentence(records_by_cell(few)) == (
        "Still to be run: Table 1, WL on all sets; Table 1 by the nested protocol, SP on all sets."
    )


def test_sets_that_lack_the_same_stand_together(everything):
    """Some cells of Table 4 are cells of Table 2 too: labels are all that WL sees."""
    few = without(everything, place="table 4", method="WL", protocol="paper")
    assert open_sentence(records_by_cell(few)) == (
        "Still to be run: Table 4, WL on BZR, COX2 and DHFR."
    )


def test_a_protocol_that_was_never_run_is_one_thing(everything):
    few = without(everything, protocol="nested")
    expected = "Still to be run: all tables by the nested protocol."
    assert open_sentence(records_by_cell(few)) == expected


def test_times(everything):
    few = without(everything, protocol="time", dataset="COLLAB", method="WL")
    assert open_sentence(records_by_cell(few)) == "Still to be run: times of Table 1, WL on COLLAB."
    few = without(everything, protocol="time")
    assert open_sentence(records_by_cell(few)) == "Still to be run: times of all tables."


def test_copies_and_the_baseline(everything):
    few = without(everything, deduplicate=True)
    assert open_sentence(records_by_cell(few), has_baseline=False) == (
        "Still to be run: tables without copies of graphs (--deduplicate); the published method in "
        "plain NumPy (benchmarks.bench_paper)."
    )


def test_fair_table(everything):
    few = without(everything, protocol="fair", dataset="DD", method="RetGK_II depth", repetition=2)
    few = without(few, protocol="fair", dataset="NCI1", method="WL")
    assert open_sentence(records_by_cell(few)) == (
        "Still to be run: fair table, WL on NCI1; fair table, RetGK_II depth (1 of 3 repetitions) "
        "on DD."
    )
    assert open_sentence(records_by_cell(without(everything, protocol="fair"))) == (
        "Still to be run: the fair table (--protocol fair)."
    )


def test_points_of_the_figure(everything):
    few = without(everything, place="figure 2: S=5", dataset="NCI1")
    assert open_sentence(records_by_cell(few)) == (
        f"Still to be run: Figure 2, 1 of {len(figure_cells(2))} points."
    )


def test_a_peer_that_was_stopped_is_not_open(everything):
    few = without(everything, place="table 2", dataset="DD", method="SP", protocol="paper")
    cell = next(c for c in table_cells(2) if (c.dataset, c.method) == ("DD", "SP"))
    stopped = made_up(cell, failure="did not finish in 600 s")
    assert "Table 2, SP on DD." in open_sentence(records_by_cell(few))
    assert open_sentence(records_by_cell([*few, stopped])) == ""
    without_time = without(
        [*few, stopped], place="table 2", dataset="DD", method="SP", protocol="time"
    )
    assert open_sentence(records_by_cell(without_time)) == ""


def test_block_of_the_readme(everything, tmp_path, monkeypatch):
    records = without(everything, dataset="MUTAG", repetition=9)
    records = without(records, protocol="time")
    lines = [json.dumps({"format": FORMAT, **record}) + "\n" for record in records]
    packed = tmp_path / "records.jsonl.gz"
    packed.write_bytes(gzip.compress("".join(lines).encode()))
    monkeypatch.setattr(paper_tables, "PAPER_RECORDS", packed)
    lines = paper_tables.paper_table().splitlines()
    assert lines[3].startswith("| Table 2 | 18 |")
    assert lines[3].endswith("| 32 s† for 9 of 9 sets (paper, all: 49.9s) |")
    assert lines[-3].startswith("† taken beside accuracies: Table 1, RetGK_I on all; ")
    assert lines[-1] == "The page lists what is still to be run."
