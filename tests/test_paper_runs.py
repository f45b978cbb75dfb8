"""From cells to records: what is in them, what is skipped, and what a kill changes."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import reproduction
import retgk
from reproduction.__main__ import paper_app
from reproduction.frankenstein import REBUILT
from reproduction.graphs import PaperSet, Sources
from reproduction.records import code_digest, provenance, source_digest
from reproduction.runner import Runner, lacks, ordered_tasks, run_tasks_into
from reproduction.tables import chosen_cells, protocol_settings, table_cells, variation_cells
from reproduction.timed_matrices import embedding_matrix, matrix_path
from retgk import GraphBatch, GraphDataset, InvalidInputError, RetGK
from retgk._runtime.files import FORMAT, key_of, read_records, record_writer
from retgk.datasets import load_tudataset, save_tudataset
from retgk.kernels import RetGKEmbedding
from retgk.learning.folds import stratified_folds
from tests.errors import fails
from tests.paper_samples import MUTAG, PROGRAM, cell_of, write_set

OURS = ["RetGK_I", "RetGK_II", "RetGK_II joint"]


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    for name in ("MUTAG", "BZR", "IMDB-BINARY"):
        write_set(folder, name)
    return folder


@pytest.fixture
def runner(sets, tmp_path):
    return Runner(Sources(sets), tmp_path / "cache")


def quiet(*_):
    pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "protocol"),
    [*((method, "paper") for method in OURS), ("RetGK_I", "nested"), ("RetGK_II", "nested")],
)
def test_record_has_everything(runner, method, protocol):
    cell = cell_of(4, "BZR", method, protocol)
    record = runner.record(cell, 2)
    assert record["key"] == cell.key(2)
    assert (record["place"], record["dataset"], record["method"]) == ("table 4", "BZR", method)
    assert record["seed"] == record["repetition"] == 2
    assert record["n_graphs"] == 40
    assert len(record["accuracies"]) == len(record["chosen_c"]) == 10
    assert sum(record["n_test"]) == 40
    assert set(record["seconds"]) == {"rpf", "gram", "kernel", "svm"}
    assert record["seconds"]["rpf"] >= 0
    assert record["versions"].keys() >= {"retgk", "numpy", "scikit-learn"}
    assert record["failure"] is None
    assert len(record["choices"]) == (10 if protocol == "nested" else 0)


def test_exact_matrix_is_that_of_the_estimator(runner, sets):
    cell = cell_of(4, "BZR", "RetGK_I")
    matrix = runner.matrix(cell, runner.load(cell))
    graphs = load_tudataset("BZR", sets, download=False).graphs
    expected = RetGK(random_state=0).fit(graphs)
    assert np.allclose(matrix.products, expected.inner_products_, rtol=0, atol=2e-4)
    assert matrix.facts["structure_gamma"] == expected.structure_.gamma
    assert matrix.facts["attribute_gammas"] == pytest.approx([2**-0.5])


def test_exact_matrix_is_made_once(runner):
    cell = cell_of(2, "MUTAG", "RetGK_I")
    first = runner.matrix(cell, runner.load(cell))
    path = matrix_path(runner.cache, "MUTAG", runner.load(cell), cell.settings)
    made = path.stat()
    second = runner.matrix(replace(cell, protocol="nested"), runner.load(cell))
    assert np.array_equal(first.products, second.products)
    assert first.seconds == second.seconds
    assert {file.suffix for file in runner.cache.iterdir()} == {".npy", ".json"}
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (made.st_ino, made.st_mtime_ns)


def test_matrix_without_its_facts_is_made_again(runner):
    cell = cell_of(2, "MUTAG", "RetGK_I")
    runner.matrix(cell, runner.load(cell))
    path = matrix_path(runner.cache, "MUTAG", runner.load(cell), cell.settings)
    path.with_suffix(".json").unlink()
    assert runner.matrix(cell, runner.load(cell)).facts["n_graphs"] == 40


def test_embedding_is_the_papers(runner):
    cell = cell_of(4, "BZR", "RetGK_II")
    data = runner.load(cell)
    matrix = runner.matrix(cell, data, 7)
    from retgk.kernels import Gaussian

    embedding = RetGKEmbedding(
        feature_map="tensor",
        n_components=(100, 100),
        structure=Gaussian(50.0),
        attributes=Gaussian(0.5),
        frequencies="plain",
        random_state=7,
    )
    vectors = embedding.fit_transform(data.graphs)
    assert np.allclose(matrix.products, vectors @ vectors.T)
    assert matrix.facts["n_features"] == 3 * 100 * 100


def test_nested_bandwidth_is_on_the_grid(runner):
    record = runner.record(cell_of(2, "MUTAG", "RetGK_I", "nested"), 0)
    steps = [np.log2(choice["structure_gamma"]) for choice in record["choices"]]
    assert np.allclose(steps, np.round(steps))
    cell = cell_of(2, "MUTAG", "RetGK_I")
    median = np.log2(runner.matrix(cell, runner.load(cell)).facts["structure_gamma"])
    assert all(-1 < step - median < 3 for step in steps)  # 1 and 4 times, rounded


def test_copies_are_dropped_and_counted(tmp_path):
    from retgk import GraphBatch, GraphDataset
    from retgk.datasets import save_tudataset

    write_set(tmp_path, "MUTAG", 30)
    data = load_tudataset("MUTAG", tmp_path, download=False, cache=False)
    twice = GraphBatch.concatenate([data.graphs, data.graphs[:5]])
    targets = np.concatenate([data.targets, data.targets[:4], 1 - data.targets[4:5]])
    save_tudataset(GraphDataset(twice, targets, "MUTAG"), tmp_path)
    runner = Runner(Sources(tmp_path), tmp_path / "cache")
    record = runner.record(cell_of(2, "MUTAG", "RetGK_II", deduplicate=True), 0)
    assert record["deduplicate"] is True
    assert (record["n_graphs"], record["n_dropped"]) == (30, 5)
    assert record["n_dropped_of_other_target"] == 1


def test_what_is_there_is_skipped(runner, tmp_path):
    path = tmp_path / "records.jsonl"
    cells = chosen_cells(tables=[2], sets=["MUTAG"], methods=["RetGK_I", "RetGK_II"])
    said = []
    assert run_tasks_into(path, ordered_tasks(cells, 1), runner, quiet) == 2
    later = ordered_tasks(reversed(cells), 2)
    assert run_tasks_into(path, later, runner, lambda text, *_: said.append(text)) == 2
    assert run_tasks_into(path, later, runner, quiet) == 0
    records = read_records(path)
    assert len({record["key"] for record in records}) == len(records) == 4
    assert said[0].startswith("[3/4] table 2, MUTAG, RetGK_II, protocol paper, repetition 2")
    assert "%" in said[1]


def test_cheap_work_comes_first_and_nothing_twice():
    tasks = ordered_tasks(chosen_cells(), 3)
    assert len({task.key for task in tasks}) == len(tasks)
    assert [task.cost for task in tasks] == sorted(task.cost for task in tasks)
    assert tasks[0].cell.dataset == "MUTAG"
    assert tasks[-1].cell.dataset == "REDDIT-MULTI-12K"


def test_what_cells_lack(tmp_path):
    cells = chosen_cells(tables=[3])
    (images,) = [lack for lack in lacks(Sources(tmp_path)) if "images" in lack.what]
    assert {cell.dataset for cell in cells if images.is_needed(cell)} == {REBUILT}
    assert not any("images" in lack.what for lack in lacks(Sources(tmp_path, tmp_path)))


def test_an_incomplete_synthie_is_refused(tmp_path):
    write_set(tmp_path, "Synthie")
    runner = Runner(Sources(tmp_path), tmp_path / "cache")
    fails(lambda: runner.load(cell_of(3, "Synthie", "RetGK_I")), about=("Synthie", "38,000"))


def test_times_are_measured_from_scratch(runner):
    cells = [cell_of(2, "MUTAG", method, "time") for method in ("RetGK_I", "RetGK_II")]
    exact = cell_of(2, "MUTAG", "RetGK_I")
    runner.matrix(exact, runner.load(exact))
    (kept,) = runner.cache.glob("*.json")
    impossible = {"rpf": -1.0, "gram": -1.0}
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "seconds": impossible}))
    assert runner.matrix(exact, runner.load(exact)).seconds == impossible
    for cell in cells:
        record = runner.record(cell, 0)
        assert record["accuracies"] == []
        assert record["seconds"]["rpf"] >= 0
        assert record["seconds"]["gram"] > 0
    assert {path.suffix for path in runner.cache.iterdir()} == {".npy", ".json"}
    assert runner.matrix(exact, runner.load(exact)).seconds["gram"] > 0  # that matrix is kept


def arguments(sets, folder):
    names = [f"--dataset={name}" for name in ("MUTAG", "BZR", "IMDB-BINARY")]
    tables = [f"--table={table}" for table in (1, 2, 4)]
    methods = [f"--method={method}" for method in OURS]
    paths = [f"--data={sets}", f"--records={folder / 'records.jsonl'}", f"--cache={folder}/cache"]
    return [*PROGRAM, "run", *names, *tables, *methods, "--repetitions=2", "--n-jobs=1", *paths]


def results(path):
    return {record["key"]: (record["accuracies"], record["chosen_c"], record["settings"])
            for record in read_records(path)}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills by signal")
def test_killed_runs_end_with_the_same_records(sets, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run(arguments(sets, whole), check=True, capture_output=True)
    rng = np.random.default_rng(0)
    n_kills = 0
    while n_kills < 4:
        with subprocess.Popen(arguments(sets, killed), stderr=subprocess.PIPE) as process:
            for _ in range(rng.integers(1, 6)):  # some tasks are done, another one has begun
                process.stderr.readline()
            time.sleep(rng.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
            if process.wait() == 0:
                break
        n_kills += 1
    assert n_kills > 0
    path = killed / "records.jsonl"
    n_lines = len(read_records(path))
    path.write_bytes(path.read_bytes() + b'{"format": 1, "key": "cut sho')
    subprocess.run(arguments(sets, killed), check=True, capture_output=True)
    assert results(path) == results(whole / "records.jsonl")
    assert len(read_records(path)) == len(results(path)) == 14
    assert 0 < n_lines < 14


# Matrices that are kept are only found by those they fit

TRIANGLE = GraphBatch.from_edges(
    3, [[0, 1], [1, 2], [2, 0]], symmetrize=True, labels=[1, 1, 2], attributes=np.eye(3)
)


def digest(graphs):
    return PaperSet(graphs, np.zeros(len(graphs))).digest


def test_digest_sees_every_part_of_a_set():
    others = [
        TRIANGLE.without_labels(),
        TRIANGLE.without_attributes(),
        GraphBatch.concatenate([TRIANGLE, TRIANGLE]),
        GraphBatch.from_edges(
            3, [[0, 1], [1, 2]], symmetrize=True, labels=[1, 1, 2], attributes=np.eye(3)
        ),
        GraphBatch.from_edges(
            3,
            [[0, 1], [1, 2], [2, 0]],
            [1.0, 1.0, 2.0],
            symmetrize=True,
            labels=[1, 1, 2],
            attributes=np.eye(3),
        ),
    ]
    digests = [digest(graphs) for graphs in [TRIANGLE, *others]]
    assert len(set(digests)) == len(digests)
    assert digest(TRIANGLE[:1]) == digests[0]


def test_other_code_has_a_matrix_of_its_own(tmp_path, monkeypatch):
    source = PaperSet(TRIANGLE, np.zeros(1))
    before = matrix_path(tmp_path, "TOY", source, MUTAG.settings)
    monkeypatch.setattr("reproduction.timed_matrices.source_digest", lambda: "other")
    assert matrix_path(tmp_path, "TOY", source, MUTAG.settings) != before


def test_records_name_their_code():
    found = provenance(1)["versions"]["source"]
    assert found == source_digest()
    assert len(found) == 12


PRESENTING = {"cli", "comparison", "explorer", "plot.py"}  # files and packages of retgk
REPORTING = {"figures.py", "report.py", "report_tables.py"}  # of the reproduction


@pytest.mark.slow
def test_code_that_accuracies_come_from_is_in_the_digest(tmp_path):
    """All modules of the reproduction, and one of every package of retgk."""
    ignored = shutil.ignore_patterns("__pycache__")
    package, own = tmp_path / "retgk", tmp_path / "reproduction"
    shutil.copytree(Path(retgk.__file__).parent, package, ignore=ignored)
    shutil.copytree(Path(reproduction.__file__).parent, own, ignore=ignored)
    names = [path.relative_to(package) for path in sorted(package.rglob("*.py"))]
    names = [name for name in names if name.parts[0] != "_core"]  # digested when it is built
    changed = {package / name: name.parts[0] not in PRESENTING for name in names}
    one_of_each = {path.parent: path for path in changed}.values()
    changed = {path: changed[path] for path in one_of_each}
    changed |= {path: path.name not in REPORTING for path in own.rglob("*.py")}
    last = code_digest(package, own)
    assert last == source_digest()
    for path, counts in changed.items():
        with path.open("a") as file:
            file.write("# changed\n")
        now = code_digest(package, own)
        assert (now != last) == counts, path
        last = now


@pytest.mark.parametrize("cell", variation_cells(), ids=lambda cell: f"{cell.dataset} {cell.place}")
def test_variations_change_settings_that_count(cell):
    table = int(cell.place.removeprefix("variation of table ").partition(":")[0])
    base = cell_of(table, cell.dataset, cell.method)
    of_peers = {"connected", "size_weights", "similarity", "choose", "n_samples", "start"}
    known = {*base.settings, "structure_kernel", "copies_share_walks", "kernel", *of_peers}
    assert cell.settings.keys() <= known
    assert cell.key(0) != base.key(0)


def monte_carlo_products(graphs, **changes):
    cell = next(cell for cell in table_cells(1) if cell.method == "RetGK_II(MC)")
    return embedding_matrix(graphs, {**cell.settings, **changes}, seed=0).products


def test_copies_of_a_graph_take_walks_of_their_own():
    star, triangle = (
        GraphBatch.from_edges(n, edges, symmetrize=True)
        for n, edges in ((4, [[0, 1], [0, 2], [0, 3]]), (3, [[0, 1], [1, 2], [2, 0]]))
    )
    graphs = GraphBatch.concatenate([triangle, star, triangle, triangle, star])
    shared = monte_carlo_products(graphs, copies_share_walks=True)
    own = monte_carlo_products(graphs)
    assert np.array_equal(shared[0], shared[2])
    assert len(np.unique(own.diagonal())) == 5
    assert np.array_equal(own[:2, :2], shared[:2, :2])
    assert np.array_equal(
        own[np.ix_([0, 2, 3], [0, 2, 3])], monte_carlo_products(graphs[[0, 2, 3]])
    )


# Records: appended whole, repaired after a kill, refused where they are damaged

values = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text())


def write(path, *records):
    with record_writer(path) as writer:
        for record in records:
            writer.append(record)


@pytest.mark.parametrize("n_cut", [1, 5, 15])
def test_torn_last_line_is_ignored_and_then_removed(tmp_path, n_cut):
    path = tmp_path / "records.jsonl"
    write(path, {"a": 1}, {"a": 2})
    os.truncate(path, path.stat().st_size - n_cut)
    assert [record["a"] for record in read_records(path)] == [1]
    write(path, {"a": 3})
    assert [record["a"] for record in read_records(path)] == [1, 3]


def test_packed_files_are_read_only(tmp_path):
    path = tmp_path / "records.jsonl"
    write(path, {"a": 1}, {"a": 2})
    packed = tmp_path / "records.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_records(packed) == read_records(path)
    fails(lambda: write(packed, {"a": 3}), about="is packed; unpack")


@pytest.mark.parametrize(
    "line", ["{", "3", "{}", '["format"]', '{"format": NaN}', '{"format": 1, "a": ' + "[" * 10**5]
)
def test_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "records.jsonl"
    path.write_text(f'{{"format": {FORMAT}}}\n{line}\n')
    fails(lambda: read_records(path), about=("records.jsonl", "line 2"))


@pytest.mark.parametrize("record", [{"a": 0.1}, {"a": {"2": [1, None], "10": "\u00e9"}}])
def test_changed_line_is_named(tmp_path, record):
    path = tmp_path / "records.jsonl"
    write(path, record, {"a": 0.5})
    assert read_records(path)[0] == {"format": FORMAT, **record}
    path.write_text(path.read_text().replace('"a": 0.5', '"a": 7.5'))
    fails(lambda: read_records(path), about=("records.jsonl", "line 2"))


def test_lines_of_earlier_versions_have_no_digest(tmp_path):
    (tmp_path / "records.jsonl").write_text('{"format": 1, "a": 1}\n')
    write(tmp_path / "records.jsonl", {"a": 2})
    assert [record["a"] for record in read_records(tmp_path / "records.jsonl")] == [1, 2]


def test_unknown_form_is_refused(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text('{"format": 99}\n')
    fails(lambda: read_records(path), about=("line 1", "99"))


def test_second_writer_is_kept_out(tmp_path):
    path = tmp_path / "records.jsonl"
    with record_writer(path), pytest.raises(InvalidInputError, match="another run is writing to"):
        write(path, {"a": 1})
    write(path, {"a": 1})
    assert len(read_records(path)) == 1


def test_numbers_that_are_none_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        write(tmp_path / "records.jsonl", {"a": float("nan")})


@given(st.dictionaries(st.text(), values, min_size=2))
def test_key_does_not_depend_on_order(mapping):
    turned = dict(reversed(mapping.items()))
    assert key_of(mapping) == key_of(turned)
    assert key_of(mapping) == key_of(json.loads(json.dumps(mapping)))
    assert key_of(mapping) != key_of({**mapping, "more": 1, "other": 2})


# ``retgk paper`` as people call it


def call(*arguments):
    return CliRunner().invoke(paper_app, [str(argument) for argument in arguments])


@pytest.mark.slow
def test_run_and_report(tmp_path):
    write_set(tmp_path, "MUTAG", 30)
    records = tmp_path / "records.jsonl"
    options = ("--table", 2, "--dataset", "MUTAG", "--method", "RetGK_II", "--repetitions", 2)
    paths = ("--data", tmp_path, "--records", records, "--cache", tmp_path / "cache")
    done = call("run", *options, *paths)
    assert done.exit_code == 0, done.output
    assert "[1/2] table 2, MUTAG, RetGK_II, protocol paper, repetition 1" in done.stderr
    assert f"2 records added to {records}" in done.stdout
    assert re.search(
        r"table 2, MUTAG, RetGK_II: \d+\.\d \(\d+\.\d\); published 90\.1 \(1\.0\)", done.stdout
    )
    assert "0 records added" in call("run", *options, *paths).stdout
    assert len(read_records(records)) == 2
    done = call("report", "--records", records, "--output", tmp_path / "report")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "report" / "report.md").exists()


@pytest.mark.slow
def test_frankenstein_without_images(tmp_path):
    write_set(tmp_path, "PROTEINS", 20)
    options = ("run", "--table", 3, "--method", "RetGK_II", "--repetitions", 1, "--data", tmp_path,
               "--records", tmp_path / "r", "--cache", tmp_path)  # fmt: skip
    done = call(*options, "--dataset", "PROTEINS,FRANKENSTEIN_rebuilt")
    assert done.exit_code == 0, done.output
    left_out = "no images for FRANKENSTEIN; cells left out: 1; give --mnist FOLDER"
    assert left_out in done.stderr
    assert "1 records added" in done.stdout
    asked = call(*options, "--dataset", "FRANKENSTEIN_rebuilt")
    assert asked.exit_code == 1
    assert asked.stderr == "retgk: no images for FRANKENSTEIN; give --mnist FOLDER\n"


def test_figure_by_another_protocol(tmp_path):
    done = call("run", "--figure", 2, "--protocol", "nested", "--records", tmp_path / "r")
    assert done.exit_code == 1
    assert "figures and variations are made by the paper's protocol with all graphs" in done.stderr
    assert not (tmp_path / "r").exists()


def test_errors_are_one_line_and_a_traceback_on_demand(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise KeyError("a bug")

    monkeypatch.setattr("reproduction.report.write_report", broken)
    done = call("report", "--records", tmp_path / "r")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "retgk: KeyError: 'a bug' (--debug shows where)\n"
    assert "Traceback" in call("report", "--records", tmp_path / "r", "--debug").stderr


# Test graphs have no part in what the nested protocol chooses, from files to records

FOLD = 3

# Bandwidths that are hardly rounded, so that nothing hides a change of a median; small grids.
RULES = {
    **protocol_settings("nested"),
    "gamma_ratio": 1.0001,
    "inner_folds": 3,
    "c": [0.1, 1.0, 10.0, 100.0],
}


def complete_graph(n_nodes):
    """All pairs of nodes and one label, unlike any graph of the set."""
    edges = np.column_stack(np.triu_indices(n_nodes, 1))
    return GraphBatch.from_edges(n_nodes, edges, symmetrize=True).with_labels([0] * n_nodes)


def write_changed_set(original, folder):
    """Write the set with complete graphs in the place of the test graphs of a fold."""
    data = load_tudataset("MUTAG", original, download=False, cache=False)
    _, test = stratified_folds(data.targets, 0, RULES["folds"])[FOLD]
    plain = data.graphs.without_attributes()
    graphs = [complete_graph(30 + i) if i in test else plain[[i]] for i in range(len(plain))]
    save_tudataset(GraphDataset(GraphBatch.concatenate(graphs), data.targets, "MUTAG"), folder)


def choices_of(record):
    return [
        {"C": c, **choice} for c, choice in zip(record["chosen_c"], record["choices"], strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "chosen"),
    [("RetGK_I", {"C", "p", "structure_gamma"}), ("RetGK_II", {"C", "p", "structure_scale"})],
)
def test_other_test_graphs_do_not_change_what_is_chosen(tmp_path, monkeypatch, method, chosen):
    monkeypatch.setattr("reproduction.runner.protocol_settings", lambda _: RULES)
    original, changed = tmp_path / "original", tmp_path / "changed"
    write_set(original, "MUTAG", 40)
    write_changed_set(original, changed)
    cell = cell_of(2, "MUTAG", method, "nested")
    before, after = (
        choices_of(Runner(Sources(folder), folder / "cache").record(cell, 0))
        for folder in (original, changed)
    )
    assert before[FOLD] == after[FOLD]
    assert set(before[FOLD]) == chosen
    others = [fold for fold in range(RULES["folds"]) if fold != FOLD]
    assert any(before[fold] != after[fold] for fold in others)  # where the new graphs train
