"""From cells to records: what is in them, what is skipped, and what a kill changes."""

import json
import os
import signal
import subprocess
import time
from dataclasses import replace

import numpy as np
import pytest

from reproduction.frankenstein import REBUILT
from reproduction.graphs import Sources
from reproduction.runner import Runner, lacks, ordered_tasks, run_tasks_into
from reproduction.tables import chosen_cells
from reproduction.timed_matrices import exact_matrix, matrix_path
from retgk import InvalidInputError, RetGKEmbedding, RetGKKernel, load_tudataset
from retgk._runtime.files import read_records

from .paper_records import cell_of
from .paper_sets import PROGRAM, write_set

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
    expected = RetGKKernel(random_state=0).fit(graphs)
    assert np.allclose(matrix.products, expected.inner_products_, rtol=0, atol=2e-4)
    assert matrix.facts["structure_gamma"] == expected.structure_kernel_.gamma
    assert matrix.facts["attribute_gammas"] == pytest.approx([2**-0.5])


def test_exact_matrix_of_graphs_of_which_the_first_are_alike(sets, tmp_path):
    graphs = load_tudataset("MUTAG", sets, download=False).graphs
    alike = graphs[[0, 0, 0, *range(1, len(graphs))]]
    settings = cell_of(2, "MUTAG", "RetGK_I").settings
    assert len(exact_matrix(alike, settings, tmp_path / "matrix.npy").products) == len(alike)


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
    from retgk import Gaussian

    embedding = RetGKEmbedding(
        feature_map="tensor",
        n_components=(100, 100),
        structure_kernel=Gaussian(50.0),
        attribute_kernel=Gaussian(0.5),
        frequencies="plain",
        random_state=7,
    )
    vectors = embedding.fit_transform(data.graphs)
    assert np.allclose(matrix.products, vectors @ vectors.T)
    assert matrix.facts["n_features"] == 3 * 100 * 100


def test_frequencies_are_drawn_anew_for_each_repetition(runner):
    cell = cell_of(2, "MUTAG", "RetGK_II")
    data = runner.load(cell)
    one, two = (runner.matrix(cell, data, seed).products for seed in (0, 1))
    assert not np.allclose(one, two)
    assert np.array_equal(one, runner.matrix(cell, data, 0).products)


def test_nested_bandwidth_is_on_the_grid(runner):
    record = runner.record(cell_of(2, "MUTAG", "RetGK_I", "nested"), 0)
    steps = [np.log2(choice["structure_gamma"]) for choice in record["choices"]]
    assert np.allclose(steps, np.round(steps))
    cell = cell_of(2, "MUTAG", "RetGK_I")
    median = np.log2(runner.matrix(cell, runner.load(cell)).facts["structure_gamma"])
    assert all(-1 < step - median < 3 for step in steps)  # 1 and 4 times, rounded


def test_copies_are_dropped_and_counted(tmp_path):
    from retgk import GraphBatch, GraphDataset, save_tudataset

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
    with pytest.raises(InvalidInputError, match=r"Synthie has [\d,]+ nodes here, 38,000 in full"):
        runner.load(cell_of(3, "Synthie", "RetGK_I"))


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
