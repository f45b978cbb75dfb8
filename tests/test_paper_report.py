"""The report, from made-up records."""

import csv
import json
import re
from html.parser import HTMLParser

import pytest

from retgk import InvalidInputError
from retgk.paper.cells import figure_cells, table_cells
from retgk.paper.curves import Curve, curves
from retgk.paper.published import Published, published_accuracies
from retgk.paper.records import read_records, record_writer
from retgk.paper.report import write_report
from retgk.paper.report_grids import Entry, Grid
from retgk.paper.report_times import seconds_text
from retgk.paper.summaries import by_cell, measured, table_rows, verdict


def made_up(cell, repetition=0, accuracy=0.5, **changes):
    return {
        "key": cell.key(repetition),
        "place": cell.place,
        "method": cell.method,
        **cell.identity(),
        "repetition": repetition,
        "seed": repetition,
        "n_graphs": 100,
        "n_dropped": 3,
        "n_dropped_of_other_target": 1,
        "accuracies": [accuracy] * 10,
        "seconds": {"rpf": 1.0, "gram": 2.0, "kernel": 0.5, "svm": 4.0},
        "facts": {"peak_mb": 200.0},
        "failure": None,
        "versions": {"python": "3", "numpy": "2", "scikit-learn": "1", "retgk": "0"},
        "machine": {"cpu": "<abacus>", "cores": 2},
        "time": "2026-01-01T00:00:00+00:00",
        **changes,
    }


def cell_of(table, dataset, method, *arguments, **options):
    return next(
        cell
        for cell in table_cells(table, *arguments, **options)
        if (cell.dataset, cell.method) == (dataset, method)
    )


MUTAG = cell_of(2, "MUTAG", "RetGK_I")


def write(path, records):
    with record_writer(path) as writer:
        for record in records:
            writer.append(record)
    return path


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Records of all kinds: both protocols, copies, a stopped peer, curves."""
    records = [made_up(MUTAG, r, 0.9 + 0.01 * r) for r in range(3)]
    records.append(made_up(cell_of(2, "MUTAG", "RetGK_II"), accuracy=0.80))
    records.append(made_up(cell_of(2, "MUTAG", "RetGK_I", "nested"), accuracy=0.88))
    records.append(made_up(cell_of(2, "MUTAG", "RetGK_I", deduplicate=True), accuracy=0.87))
    stopped = made_up(cell_of(2, "MUTAG", "CSM"), failure="did not finish in 600 s")
    del stopped["accuracies"], stopped["seconds"]
    records.append(stopped)
    records += [
        made_up(cell, r, 0.6 + 0.001 * r + (0.1 if cell.place.endswith("S=5") else 0))
        for cell in figure_cells(2)
        if cell.dataset in ("ENZYMES", "NCI1")
        for r in range(2)
    ]
    return write(tmp_path_factory.mktemp("records") / "records.jsonl", records)


@pytest.fixture(scope="module")
def folder(full, tmp_path_factory):
    """The report of all these."""
    return write_report([full], tmp_path_factory.mktemp("report")).parent


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    [(90.0, "within"), (91.0, "within"), (91.1, "above"), (88.9, "below"), (89.0, "within")],
)
def test_one_point_is_within_where_deviations_are_small(accuracy, expected):
    assert verdict(accuracy, Published(90.0, 0.2)) == expected


def test_two_deviations_are_within_where_they_are_larger():
    assert verdict(86.1, Published(90.0, 2.0)) == "within"
    assert verdict(85.9, Published(90.0, 2.0)) == "below"


def test_mean_and_deviation_over_repetitions():
    found = measured(MUTAG, by_cell([made_up(MUTAG, r, a) for r, a in enumerate((0.8, 0.9))]))
    assert found.accuracy == pytest.approx(85.0)
    assert found.deviation == pytest.approx(50**0.5)
    assert found.kernel_seconds == pytest.approx(3.5)
    assert found.n_repetitions == 2
    assert measured(MUTAG, {}) is None


def test_success_counts_more_than_a_failure_whenever_it_came():
    bad = made_up(MUTAG, failure="did not finish")
    for records in ([bad, made_up(MUTAG)], [made_up(MUTAG), bad]):
        assert measured(MUTAG, by_cell(records)).failure == ""
    assert measured(MUTAG, by_cell([bad])).failure == "did not finish"


def test_rows_hold_every_published_number():
    for table in (1, 2, 3, 4):
        rows = {(row.dataset, row.method): row.published for row in table_rows(table, {})}
        assert {place: p for place, p in rows.items() if p} == published_accuracies(table)


def test_curves_know_how_far_they_are_from_the_tables(full):
    found = {(c.parameter, c.dataset): c for c in curves(by_cell(read_records(full)))}
    assert set(found) == {("S", "NCI1"), ("D0", "NCI1"), ("S", "ENZYMES"), ("D0", "ENZYMES"),
                          ("Dc", "ENZYMES")}  # fmt: skip
    steps = found["S", "NCI1"]
    assert steps.paper_value == 50
    assert steps.points_off()[5] == pytest.approx(10.0)
    assert steps.points_off()[100] == pytest.approx(0.0)
    assert found["Dc", "ENZYMES"].paper_value == 100
    assert Curve("NCI1", "S", [5], [50.0], [1.0], 50).points_off() == {}


def test_one_value_is_no_curve():
    cell = next(cell for cell in figure_cells(2) if "=50" in cell.place and cell.dataset == "NCI1")
    assert curves(by_cell([made_up(cell)])) == []


def test_markdown(folder):
    text = (folder / "report.md").read_text("utf-8")
    assert "91.0 (1.0)<br>paper 90.3 (1.1), +0.6 sd" in text
    assert "**80.0 ▼**<br>paper 90.1 (1.0), -10.1 sd" in text
    assert "did not finish in 600 s; paper 85.4 (1.2)" in text
    assert "FRANKENSTEIN stays open: its 780 attributes are not to be had." in text
    assert "| Table 2 | 18 | 1 | 0 | 2 | 15 | 1 to 3 |" in text
    assert "| MUTAG | RetGK_I | Table 2 | 90.3 (1.1) | 91.0 (1.0) | 88.0 | -3.0 | 3, 1 |" in text
    assert "| 91.0 (1.0) | 87.0 | -4.0 | 3 (1) |" in text
    assert "| Table 2 | RetGK_I | 1 of 9 | 38m4s | 3.5 s |" in text
    assert "S=5: +10.0" in text
    assert "Fewer than 10 repetitions: MUTAG RetGK_I (3), MUTAG RetGK_II (1)" in text
    assert "other machine" in text.replace("another", "other")


def test_peers_are_not_judged(tmp_path):
    """Their settings are not the paper's."""
    path = write(tmp_path / "r", [made_up(cell_of(2, "MUTAG", "WL"), r) for r in range(10)])
    write_report([path], tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "| 50.0 (0.0)<br>paper 84.4 (1.5), -22.9 sd |" in text
    assert "Fewer than" not in text
    assert "There are none." in text


def test_files(folder):
    names = {path.name for path in folder.iterdir()}
    assert names >= {"report.html", "table_1.csv", "table_4.csv", "times.csv", "figure_1.png",
                     "figure_2_S.png", "figure_2_D0.png", "figure_2_Dc.png"}  # fmt: skip
    assert (folder / "figure_2_S.png").read_bytes().startswith(b"\x89PNG")
    with (folder / "table_2.csv").open(encoding="utf-8") as file:
        rows = {row["set"]: row for row in csv.DictReader(file)}
    assert rows["MUTAG"]["RetGK_I"] == "91.0 (1.0); paper 90.3 (1.1), +0.6 sd"


class Balance(HTMLParser):
    """Checks that tags close in order, and gathers what is linked to."""

    VOID = ("meta", "link", "img")

    def __init__(self):
        super().__init__()
        self.open, self.links, self.ids = [], [], set()

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        self.ids |= {value for name, value in attrs if name == "id"}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_whole_and_needs_no_network(folder):
    text = (folder / "report.html").read_text("utf-8")
    page = Balance()
    page.feed(text)
    assert page.open == []
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert {link[1:] for link in page.links if link.startswith("#")} <= page.ids
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert "&lt;abacus&gt;" in text
    assert "<abacus>" not in text


def test_report_is_the_same_when_made_again(full, folder, tmp_path):
    pages = [folder / "report.html", write_report([full], tmp_path)]
    texts = [page.read_text("utf-8") for page in pages]
    texts = [re.sub(r'"data:image[^"]*"', "", text) for text in texts]
    assert texts[0] == texts[1]


def test_records_of_several_files_and_of_other_settings(tmp_path):
    changed = made_up(MUTAG, settings={"kind": "exact"})
    paths = [write(tmp_path / "a", [made_up(MUTAG)]), write(tmp_path / "b", [changed])]
    text = write_report(paths, tmp_path / "out").read_text("utf-8")
    assert "Made from 2 records" in text
    assert "1 records belong to no cell of this version" in text


def test_no_records(tmp_path):
    with pytest.raises(InvalidInputError, match="missing has no records; make some with `retgk"):
        write_report([tmp_path / "missing"], tmp_path / "out")


def test_baseline_is_read_where_there_is_one(full, tmp_path):
    line = {"table": 2, "set": "MUTAG", "method": "RetGK_I", "graphs": 188, "sample": 188,
            "published": 3.0, "ours": 0.5}  # fmt: skip
    path = tmp_path / "baseline.jsonl"
    path.write_text(json.dumps(line) + "\n")
    write_report([full], tmp_path / "out", path)
    text = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "| MUTAG | RetGK_I | Table 2 | 188 of 188 | 3 s | 0.5 s | 6.0x |" in text


def test_times_of_a_run_for_times_count_more(tmp_path):
    timed = made_up(cell_of(2, "MUTAG", "RetGK_I", "time"), accuracies=[])
    timed["seconds"] = {"rpf": 0.1, "gram": 0.2, "kernel": 0.3, "svm": 0.0}
    (row,) = [
        row
        for row in table_rows(2, by_cell([made_up(MUTAG), timed]))
        if (row.dataset, row.method) == ("MUTAG", "RetGK_I")
    ]
    assert row.times.kernel_seconds == pytest.approx(0.6)
    assert row.paper.kernel_seconds == pytest.approx(3.5)
    write_report([write(tmp_path / "r", [made_up(MUTAG), timed])], tmp_path)
    lines = (tmp_path / "set_times.csv").read_text().splitlines()
    assert lines[1] == "MUTAG,RetGK_I,Table 2,0.1 s,0.2 s,0.3 s,4 s,200 MB"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "0.012 s"), (5.55, "5.5 s"), (42.4, "42 s"), (197, "3m17s"), (7380, "2h03m")],
)
def test_seconds_for_people(seconds, text):
    assert seconds_text(seconds) == text


def test_grid_escapes():
    grid = Grid("name", "a & b", ["x|y"], [[Entry("<i>", "p|q", "above")]], ["1 < 2"])
    assert "&lt;i&gt;<small>p|q</small>" in grid.html()
    assert "a &amp; b" in grid.html()
    assert "**<i>**<br>p\\|q" in grid.markdown()
    assert grid.csv() == "x|y\n<i>; p|q\n"
