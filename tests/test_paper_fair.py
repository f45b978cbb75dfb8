"""The fair table: fixed folds from files, choices that test graphs have no part in, the report."""

import json
import os
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from reproduction.__main__ import paper_app
from reproduction.fair import FAIR_KINDS, FairWork, folds_digest, read_fair_folds
from reproduction.graphs import PaperSet, Sources
from reproduction.protocols import SplitFold
from reproduction.report import write_report
from reproduction.report_tables import best_network, fair_results
from reproduction.runner import Runner, ordered_tasks
from reproduction.tables import (
    chosen_cells,
    fair_cells,
    n_unknown_records,
    read_settings,
    records_by_cell,
)
from retgk import GraphBatch, GraphDataset, RetGK, return_probabilities
from retgk._runtime.files import read_records
from retgk.datasets import load_tudataset, save_tudataset
from retgk.kernels import Laplacian
from tests.errors import fails
from tests.paper_samples import MUTAG, made_up, write, write_set

FOLD = 2
N_GRAPHS = 40
KERNELS = ["RetGK_I", "RetGK_I depth", "RetGK_II depth"]


def made_folds(n_graphs=N_GRAPHS, n_folds=4):
    """Folds in the form of the files: each graph is tested once, one split of the others."""
    parts = np.array_split(np.random.default_rng(0).permutation(n_graphs), n_folds)
    folds = []
    for fold, test in enumerate(parts):
        others = np.concatenate([part for i, part in enumerate(parts) if i != fold])
        inner = {"train": others[8:].tolist(), "validation": others[:8].tolist()}
        folds.append({"test": test.tolist(), "model_selection": [inner]})
    return folds


@pytest.fixture
def splits(tmp_path, monkeypatch):
    """Folder of folds of a small ENZYMES, which the settings are made to expect; small grids."""
    folder = tmp_path / "splits"
    folder.mkdir()
    for name in ("ENZYMES", "IMDB-BINARY"):
        own = read_settings("fair")["sets"][name]
        (folder / own["file"]).write_text(json.dumps(made_folds()))
        monkeypatch.setitem(own, "folds", folds_digest(made_folds()))
    methods = read_settings("fair")["methods"]
    monkeypatch.setitem(methods["RetGK_II depth"], "n_components", 64)
    return folder


def cell_of(dataset, method):
    return next(cell for cell in fair_cells() if (cell.dataset, cell.method) == (dataset, method))


def runner_of(folder, splits, **options):
    return Runner(Sources(folder), folder / "cache", 1, splits=splits, **options)


# Folds


def test_folds_are_those_of_the_file(splits):
    digest = cell_of("ENZYMES", "RetGK_I").settings["folds"]
    folds = read_fair_folds(splits, "ENZYMES_splits.json", digest, N_GRAPHS)
    assert len(folds) == 4
    for fold in folds:
        split = SplitFold.of(fold)
        assert sorted([*split.train, *split.test]) == list(range(N_GRAPHS))
        train, validation = (split.train[part].tolist() for part in split.inner[0])
        assert (train, validation) == (fold.train.tolist(), fold.validation.tolist())


def test_folds_that_are_not_the_published_ones(splits):
    digest = cell_of("ENZYMES", "RetGK_I").settings["folds"]
    path = splits / "ENZYMES_splits.json"
    fails(lambda: read_fair_folds(splits, path.name, digest, 41), about=("40", "41"))
    fails(lambda: read_fair_folds(None, path.name, digest, N_GRAPHS), about="ENZYMES_splits")
    path.write_text(json.dumps(made_folds()[::-1]))
    fails(lambda: read_fair_folds(splits, path.name, digest, N_GRAPHS), about="has other folds")
    path.write_text("[{")
    fails(lambda: read_fair_folds(splits, path.name, digest, N_GRAPHS), about="ENZYMES_splits")
    path.unlink()
    fails(lambda: read_fair_folds(splits, path.name, digest, N_GRAPHS), about="name the folder")


@pytest.mark.real_data
@pytest.mark.parametrize("name", read_settings("fair")["sets"])
def test_digests_are_those_of_the_real_folds(data_folder, name):
    folder = data_folder.parent / "splits"
    if not folder.exists():
        pytest.skip(f"needs the files of folds in {folder}")
    own, n_graphs = read_settings("fair")["sets"][name], read_settings("sets")[name][0]
    folds = read_fair_folds(folder, own["file"], own["folds"], n_graphs)
    assert len(folds) == 10
    assert all(len(np.unique(np.concatenate(fold))) == n_graphs for fold in folds)


# Cells


def test_cells():
    cells = fair_cells()
    assert len(cells) == 9 * 5
    assert {cell.settings["kind"] for cell in cells} == {*FAIR_KINDS, "classifier"}
    published = cell_of("ENZYMES", "RetGK_I").settings
    assert (published["p"], published["median_scale"], published["depth"]) == ([2], [8], [0])
    assert cell_of("NCI1", "RetGK_I").settings["p"] == [1]
    assert cell_of("NCI1", "RetGK_I depth").settings["scale_attributes"] == ["raw"]
    assert len(cell_of("ENZYMES", "RetGK_I depth").settings["scale_attributes"]) == 3
    defaults = cell_of("DD", "GraphClassifier").settings["defaults"]
    assert defaults["C"] == "(1, 10, 100, 1000)"
    assert len({cell.key(0) for cell in cells}) == len(cells)


def test_methods_that_draw_nothing_are_repeated_once():
    tasks = ordered_tasks([cell for cell in fair_cells() if cell.dataset == "DD"], 10)
    counts = {}
    for task in tasks:
        counts[task.cell.method] = counts.get(task.cell.method, 0) + 1
    assert counts == {"RetGK_I": 1, "RetGK_I depth": 1, "RetGK_II depth": 3,
                      "GraphClassifier": 3, "WL": 1}  # fmt: skip


def test_choosing_cells():
    assert {cell.place for cell in chosen_cells(protocols=["fair"])} == {"fair table"}
    both = chosen_cells(protocols=["paper", "fair"], tables=[2], sets=["NCI1"])
    assert {cell.place for cell in both} == {"table 2", "fair table"}
    fails(lambda: chosen_cells(protocols=["fair"], deduplicate=True), about="are of all")
    fails(lambda: chosen_cells(protocols=["fair"], tables=[2]), about="leave the numbers")


# Records


@pytest.mark.slow
@pytest.mark.parametrize("method", [*KERNELS, "GraphClassifier"])
@pytest.mark.parametrize("dataset", ["ENZYMES", "IMDB-BINARY"])
def test_record_has_everything(tmp_path, splits, dataset, method):
    write_set(tmp_path, dataset, N_GRAPHS)
    cell = cell_of(dataset, method)
    record = runner_of(tmp_path, splits).record(cell, 1)
    assert record["key"] == cell.key(1)
    assert (record["place"], record["protocol"]) == ("fair table", "fair")
    assert record["settings"]["folds"] == folds_digest(made_folds())
    assert len(record["accuracies"]) == len(record["chosen_c"]) == len(record["choices"]) == 4
    assert record["n_test"] == [10] * 4
    assert record["facts"]["peak_mb"] > 1
    assert sum(record["seconds"].values()) > 0
    has_attributes = dataset == "ENZYMES" and method != "RetGK_I"
    is_said = "scale_attributes" in record["choices"][0]
    assert is_said == (has_attributes or method == "GraphClassifier")
    json.dumps(record, allow_nan=False)


def changed_targets(data, test):
    """Targets with those of some graphs turned round."""
    targets = data.targets.copy()
    targets[test] = targets.min() + targets.max() - targets[test]
    return data.graphs, targets


def changed_graphs(data, test):
    """Complete graphs with large attributes in the place of some."""
    graphs = []
    for i, graph in enumerate(data.graphs):
        edges = np.column_stack(np.triu_indices(30 + i, 1))
        whole = GraphBatch.from_edges(30 + i, edges, symmetrize=True).with_labels([0] * (30 + i))
        whole = whole.with_attributes(np.full((30 + i, 2), 50.0))
        graphs.append(whole if i in test else graph)
    return GraphBatch.concatenate(graphs), data.targets


def results_of(record, fold):
    return record["accuracies"][fold], record["chosen_c"][fold], record["choices"][fold]


@pytest.mark.slow
@pytest.mark.parametrize("change", [changed_targets, changed_graphs])
@pytest.mark.parametrize("method", [*KERNELS, "GraphClassifier"])
def test_test_graphs_have_no_part_in_choices(tmp_path, splits, method, change):
    original, changed = tmp_path / "original", tmp_path / "changed"
    write_set(original, "ENZYMES", N_GRAPHS)
    data = load_tudataset("ENZYMES", original, download=False, cache=False)
    graphs, targets = change(data, np.array(made_folds()[FOLD]["test"]))
    save_tudataset(GraphDataset(graphs, targets, "ENZYMES"), changed)
    cell = cell_of("ENZYMES", method)
    if "tol" in cell.settings:  # directions that are dropped within it depend on all graphs
        cell = replace(cell, settings={**cell.settings, "tol": 1e-9})
    before, after = (runner_of(folder, splits).record(cell, 0) for folder in (original, changed))
    chosen = [(own["chosen_c"][FOLD], own["choices"][FOLD]) for own in (before, after)]
    assert chosen[0] == chosen[1]
    others = [fold for fold in range(4) if fold != FOLD]
    assert any(results_of(before, fold) != results_of(after, fold) for fold in others)
    if change is changed_targets:
        assert before["accuracies"][FOLD] == pytest.approx(1 - after["accuracies"][FOLD])
    if "structure_gammas" in before["facts"]:
        gammas = [own["facts"]["structure_gammas"] for own in (before, after)]
        assert gammas[0][FOLD] == gammas[1][FOLD]


def test_products_of_depths_are_those_of_the_estimator(tmp_path, splits):  # noqa: ARG001
    write_set(tmp_path, "ENZYMES", N_GRAPHS)
    graphs = load_tudataset("ENZYMES", tmp_path, download=False).graphs
    settings = cell_of("ENZYMES", "RetGK_I depth").settings
    rules = {"gamma_ratio": 1.1}
    work = FairWork(PaperSet(graphs, np.zeros(N_GRAPHS)), settings, rules, 0, 1, no_peer)
    options = FAIR_KINDS["levels"](work, np.arange(30))
    assert len(options) == 3 * 4
    (gamma,) = work.facts["structure_gammas"]
    median = Laplacian("median").fitted(*points_of(graphs[:30]), 0).scale
    assert 1.1**-0.5 <= gamma / median <= 1.1**0.5
    center, scale = (of(graphs[:30].attributes, axis=0) for of in (np.mean, np.std))
    standard = graphs.with_attributes((graphs.attributes - center) / scale)
    for option in options:
        rule = option.choice["scale_attributes"]
        kernel = RetGK(
            structure=Laplacian(gamma),
            scale_attributes="drop" if rule == "drop" else "raw",
            depth=option.choice["depth"],
        )
        kernel.fit(standard if rule == "standard" else graphs)
        assert np.allclose(option.products, kernel.inner_products_, rtol=0, atol=3e-4)


def no_peer(settings):
    raise AssertionError(settings)


def points_of(graphs):
    return return_probabilities(graphs, 50), graphs.node_ptr


PEER = """
import json, sys
import numpy as np
from reproduction import peers as peer_process
order = json.loads(sys.argv[1])
class Kernel:
    def fit_transform(self, graphs):
        if order["settings"]["n_iter"] >= {stop}:
            raise MemoryError("no memory")
        return np.eye(40) + 1
peer_process.peer_kernel = lambda *_: Kernel()
peer_process.main(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="limits of processes")
@pytest.mark.parametrize("stop", [1, 3])
def test_peer_chooses_from_what_the_limits_allow(tmp_path, splits, stop):
    write_set(tmp_path, "ENZYMES", N_GRAPHS)
    peer = (sys.executable, "-c", PEER.format(stop=stop))
    record = runner_of(tmp_path, splits, peer_program=peer).record(cell_of("ENZYMES", "WL"), 0)
    if stop == 1:
        assert record["failure"] == "did not fit into 8000 MB"
        return
    assert record["facts"]["stopped"] == "n_iter=3: did not fit into 8000 MB"
    assert {choice["n_iter"] for choice in record["choices"]} <= {1, 2}


# The report


@pytest.fixture
def records():
    """Made-up records of one set: above the networks, below them, stopped."""
    folds = [0.6, 0.8] * 5
    found = [made_up(cell_of("NCI1", "RetGK_I"), accuracies=folds)]
    found += [
        made_up(cell_of("NCI1", "RetGK_II depth"), r, accuracies=[0.82 + 0.01 * r] * 10)
        for r in range(2)
    ]
    found.append(made_up(cell_of("NCI1", "WL"), failure="did not fit into 9 MB"))
    del found[-1]["accuracies"]
    return found


def test_report(tmp_path, records):
    folder = write_report([write(tmp_path / "r", records)], tmp_path / "out").parent
    text = (folder / "report.md").read_text("utf-8")
    section = text[text.index("## Fair table") :].partition("\n## ")[0]
    (line,) = [line for line in section.splitlines() if line.startswith("| NCI1")]
    assert line.startswith(
        "| NCI1 | 70.0 (10.0)<br>7.5 s | not run | **82.5 (0.0) ▲**<br>7.5 s | not run | "
        "did not fit into 9 MB | *GIN 80.0 (1.4)* | +2.5<br>RetGK_II depth | *69.8 (2.2)* |"
    )
    assert "Fewer repetitions than wanted: NCI1 RetGK_II depth (2)." in section
    assert "of no cell" not in text
    assert (folder / "fair.png").read_bytes().startswith(b"\x89PNG")


def test_report_without_fair_records(tmp_path):
    folder = write_report([write(tmp_path / "r", [made_up(MUTAG)])], tmp_path / "out").parent
    assert "## Fair table" not in (folder / "report.md").read_text("utf-8")
    assert not (folder / "fair.png").exists()


def test_records_of_other_defaults_are_unknown(records):
    other = made_up(cell_of("DD", "GraphClassifier"), settings={"defaults": {"depth": "9"}})
    cells = records_by_cell([*records, other])
    assert n_unknown_records(cells) == 1
    assert "GraphClassifier" not in {each.method for each in fair_results(cells)}


def test_published_networks():
    best = {name: best_network(name)[1].accuracy for name in read_settings("fair")["sets"]}
    assert best == {
        "ENZYMES": 65.2, "PROTEINS": 75.8, "IMDB-MULTI": 49.1, "IMDB-BINARY": 72.7, "NCI1": 80.0,
        "DD": 78.4, "COLLAB": 78.9, "REDDIT-BINARY": 91.6, "REDDIT-MULTI-5K": 56.1,
    }  # fmt: skip


# The command


def call(*arguments):
    return CliRunner().invoke(paper_app, [str(argument) for argument in arguments])


@pytest.mark.slow
def test_command(tmp_path, splits):
    write_set(tmp_path, "ENZYMES", N_GRAPHS)
    records = tmp_path / "records.jsonl"
    options = ("run", "--protocol", "fair", "--dataset", "ENZYMES", "--method", "RetGK_I",
               "--data", tmp_path, "--records", records, "--cache", tmp_path / "c")  # fmt: skip
    done = call(*options, "--splits", splits)
    assert done.exit_code == 0, done.output
    assert "fair table, ENZYMES, RetGK_I, protocol fair, repetition 1" in done.stderr
    assert "0 records added" in call(*options, "--splits", splits).stdout
    assert len(read_records(records)) == 1
    for wrong in (options, ("run", "--splits", splits)):
        done = call(*wrong)
        assert done.exit_code == 2
        assert "go together" in done.output
