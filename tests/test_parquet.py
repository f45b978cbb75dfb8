"""Graphs in Parquet files, there and back, and in batches."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from retgk import GraphBatch, GraphDataset, read_graphs
from retgk.datasets import make_graph_classification, save_tudataset
from retgk.io import iter_parquet, write_parquet
from retgk.io.cache import batch_of_parts, parts_of_batch
from tests.errors import fails
from tests.example_graphs import NAMES, edge_label_values, with_random_edge_labels

LABEL_SETS = (
    None,
    [1, -2, 3],
    ["C", "N", "é"],
    [("a", 1), ("b", (2, None)), ("a", 2)],
    [1, "1", None],
    [True, False, 2.5],
)
TARGETS = (
    lambda rng, n: rng.integers(0, 5, n),
    lambda rng, n: rng.standard_normal(n),
    lambda rng, n: np.array(["yes", "no"])[rng.integers(0, 2, n)],
    lambda rng, n: rng.random(n) < 0.5,
)


def random_dataset(
    seed, labels=None, weighted=False, n_attributes=0, target=TARGETS[0], edge_labels=None
):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=rng.integers(1, 9))
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    nodes = rng.integers(0, sizes.sum(), size=15)
    ends = starts[nodes] + rng.integers(0, np.repeat(sizes, sizes)[nodes])
    graphs = GraphBatch.from_edges(
        sizes,
        np.stack([nodes, ends], axis=1),
        rng.random(15) if weighted else None,
        labels=None if labels is None else [labels[i] for i in rng.integers(0, 3, sizes.sum())],
        attributes=rng.standard_normal((sizes.sum(), n_attributes)),
        symmetrize=True,
        missing="label",
    )
    if edge_labels is not None:
        graphs = with_random_edge_labels(graphs, edge_labels, seed)
    return GraphDataset(graphs, target(rng, len(sizes)), "RANDOM", "Made up.")


def datasets():
    return st.builds(
        random_dataset,
        st.integers(0, 2**32),
        st.sampled_from(LABEL_SETS),
        st.booleans(),
        st.integers(0, 3),
        st.sampled_from(TARGETS),
        st.sampled_from([None, *NAMES]),
    )


def assert_same(found, expected):
    assert found.graphs == expected.graphs
    assert np.array_equal(found.targets, expected.targets)
    assert found.targets.dtype.kind == expected.targets.dtype.kind


@settings(max_examples=60, deadline=None)
@given(dataset=datasets(), batch_size=st.integers(1, 10))
def test_there_and_back(tmp_path_factory, dataset, batch_size):
    path = tmp_path_factory.mktemp("parquet") / "set.parquet"
    write_parquet(dataset, path, batch_size=batch_size)
    found = read_graphs(path)
    assert_same(found, dataset)
    assert (found.name, found.description) == ("RANDOM", "Made up.")
    used = (
        [dataset.graphs.label_names[code] for code in np.unique(dataset.graphs.labels)]
        if (dataset.graphs.has_labels)
        else []
    )
    assert {json.dumps(name) for name in found.label_names} == {json.dumps(name) for name in used}
    batches = list(iter_parquet(path, batch_size))
    assert max(len(batch) for batch in batches) <= batch_size
    assert sum(len(batch) for batch in batches) == len(dataset)
    assert GraphBatch.concatenate(batch.graphs for batch in batches) == dataset.graphs


def test_pieces_are_written_as_they_come(tmp_path):
    pieces = [random_dataset(seed, labels=["C", "N", "O"]) for seed in range(5)]
    asked = []

    def stream():
        for position, piece in enumerate(pieces):
            asked.append(position)
            yield piece

    path = write_parquet(stream(), tmp_path / "set.parquet")
    assert asked == [0, 1, 2, 3, 4]
    assert parquet.ParquetFile(path).num_row_groups == 5
    found = read_graphs(path)
    assert found.graphs == GraphBatch.concatenate(piece.graphs for piece in pieces)


@pytest.mark.parametrize("labels", [[("C", 0), ("N", 1)], ["C", "N"]])
def test_names_of_columns_of_labels(tmp_path, labels):
    columns = ("element", "charge")[: 2 if isinstance(labels[0], tuple) else 1]
    graphs = GraphBatch.from_edges([1, 1], [], labels=labels, label_columns=columns)
    write_parquet(graphs, tmp_path / "a.parquet")
    assert read_graphs(tmp_path / "a.parquet").graphs == graphs
    stored = batch_of_parts(*parts_of_batch(graphs))
    assert stored == graphs


def test_graphs_without_targets(tmp_path):
    graphs = random_dataset(0).graphs
    path = write_parquet(graphs, tmp_path / "bare.parquet")
    assert parquet.read_schema(path).names == ["degrees", "neighbours", "weights"]
    found = read_graphs(path)
    assert found.graphs == graphs
    assert found.targets is None
    assert found.name == "bare"


def test_files_that_others_wrote(tmp_path):
    path = tmp_path / "set.parquet"
    columns = {
        "degrees": [[1, 1], [0]],
        "neighbours": [[1, 0], []],
        "labels": [["a", "b"], ["a"]],
        "attributes": [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]],
        "target": [0.5, 1.5],
    }
    parquet.write_table(pa.table(columns), path)
    found = read_graphs(path)
    expected = GraphBatch.from_edges(
        [2, 1],
        [[0, 1]],
        symmetrize=True,
        labels=["a", "b", "a"],
        attributes=[[1, 2], [3, 4], [5, 6]],
    )
    assert found.graphs == expected
    assert found.targets.tolist() == [0.5, 1.5]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_order_within_rows_does_not_matter(tmp_path_factory, seed):
    dataset = random_dataset(seed, weighted=True, edge_labels=(0, 5, 7))
    graphs, rng = dataset.graphs, np.random.default_rng(seed)
    rows = graphs.edge_rows
    order = np.lexsort((rng.random(len(rows)), rows))  # shuffled, but each within its row
    entry_ptr = graphs.indptr[graphs.node_ptr]
    columns = {
        "degrees": np.split(np.diff(graphs.indptr), graphs.node_ptr[1:-1]),
        "neighbours": np.split(graphs.indices[order], entry_ptr[1:-1]),
        "weights": np.split(graphs.weights[order], entry_ptr[1:-1]),
        "edge_labels": np.split(
            np.array(edge_label_values(graphs), np.int64)[order], entry_ptr[1:-1]
        ),
    }
    path = tmp_path_factory.mktemp("parquet") / "set.parquet"
    parquet.write_table(pa.table({name: list(value) for name, value in columns.items()}), path)
    found = read_graphs(path)
    assert found.graphs == graphs


@pytest.mark.parametrize("labels", [[2**70, 1, -1], ["\ud800", "a", "b"]])
def test_labels_beyond_the_types_of_the_file(tmp_path, labels):
    dataset = random_dataset(3, labels)
    found = read_graphs(write_parquet(dataset, tmp_path / "set.parquet"))
    assert found.graphs == dataset.graphs


@pytest.mark.parametrize("kind", [int, float, str])
def test_several_targets_there_and_back(tmp_path, kind):
    graphs = random_dataset(0).graphs
    targets = np.arange(3 * len(graphs)).reshape(-1, 3).astype(kind)
    path = write_parquet(GraphDataset(graphs, targets, "T"), tmp_path / "set.parquet")
    found = read_graphs(path).targets
    assert found.dtype.kind == targets.dtype.kind
    assert np.array_equal(found, targets)


@pytest.mark.parametrize("batch_size", [0, -1, 2.0])
def test_batch_sizes_that_make_no_sense(tmp_path, batch_size):
    path = write_parquet(random_dataset(0), tmp_path / "set.parquet")
    about = ("batch_size", str(batch_size))
    fails(lambda: write_parquet(random_dataset(0), path, batch_size=batch_size), about)
    fails(lambda: list(iter_parquet(path, batch_size=batch_size)), about)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"neighbours": [[1, 0], [0]]}, ("row 1", "1 values")),
        ({"weights": [[1.0], []]}, ("row 0", "1 values")),
        ({"labels": [["a", "b"], []]}, ("row 1", "0 values")),
        ({"attributes": [[[1.0]], [[1.0]]]}, ("row 0", "1 values")),
        ({"attributes": [[[1.0], [1.0]], [[1.0, 2.0]]]}, "2 values"),
        ({"neighbours": [[1, 7], []]}, ("node 1")),
        ({"degrees": [[1, 1], []]}, ("graph 1")),
        ({"degrees": [[1, 1], None]}, "row 1"),
        ({"labels": [["a", None], ["a"]]}, "a list in labels"),
        ({"degrees": ["a", "b"]}, "'degrees'"),
        ({"degrees": [["a", "b"], ["c"]]}, "'degrees'"),
        ({"neighbours": None}, "'neighbours'"),
        ({"attributes": [[1.0, 2.0], [3.0]]}, "'attributes'"),
        ({"attributes": [[[1.0], [None]], [[1.0]]]}, "a list in attributes"),
        ({"labels": [[1.5, float("nan")], [2.5]]}, ("graph 0", "node 1")),
        ({"labels": [[[1], [2]], [[3]]]}, "'labels'"),
        ({"target": [[1], [1, 2]]}, "2 values"),
        ({"target": [[1], [None]]}, "a list in target"),
        ({"target": [{"a": 1}, {"a": 2}]}, "'target'"),
        ({"target": [[[1]], [[2]]]}, "'target'"),
        ({"target": [1, None]}, "row 1"),
        ({"edge_labels": [[1, 2], []]}, ("graph 0", "node 0", "node 1")),
        ({"edge_labels": [[1], []]}, ("row 0", "1 values")),
        ({"edge_labels": [[1.5, float("nan")], []]}, "from 0 on: a"),
        ({"edge_labels": [[1, None], []]}, "a list in edge_labels"),
        ({"edge_labels": [[[1], [1]], []]}, "'edge_labels'"),
    ],
)
def test_rows_that_contradict_themselves(tmp_path, changes, message):
    columns = {"degrees": [[1, 1], [0]], "neighbours": [[1, 0], []], **changes}
    path = tmp_path / "set.parquet"
    parquet.write_table(
        pa.table({name: value for name, value in columns.items() if value is not None}), path
    )
    fails(lambda: read_graphs(path), about=message)


def test_damaged_file(tmp_path):
    path = write_parquet(random_dataset(0), tmp_path / "set.parquet")
    path.write_bytes(path.read_bytes()[:-20])
    fails(lambda: read_graphs(path), about="set.parquet")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "there are no graphs"),
        ([object()], ("graph 0", "object")),
        ([random_dataset(0), random_dataset(0, n_attributes=1)], ("piece 1")),
        (
            [random_dataset(0, labels=["a", "b", "c"]), random_dataset(0, labels=[1, "1", None])],
            "piece 1",
        ),
        (random_dataset(0, labels=[frozenset("a"), 1, 2]), "cannot be written"),
        (random_dataset(4, target=lambda _, n: np.array([1] * (n - 1) + [None])), "has no target"),
        (
            random_dataset(4, target=lambda _, n: np.array([1] + ["a"] * (n - 1), object)),
            "the targets cannot be",
        ),
    ],
)
def test_a_failed_write_leaves_the_old_file(tmp_path, data, message):
    path = tmp_path / "set.parquet"
    path.write_text("old")
    fails(lambda: write_parquet(data, path), about=message)
    assert [file.name for file in tmp_path.iterdir()] == ["set.parquet"]
    assert path.read_text() == "old"


# Everything but Parquet works without pyarrow, and Parquet says which extra it needs

BLOCKED = """
import sys

class NoPyarrow:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)

sys.meta_path.insert(0, NoPyarrow())
from retgk.cli.main import main
main()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    data = make_graph_classification(24, n_labels=2, n_attributes=2, rng=0)
    return save_tudataset(data, tmp_path)


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", BLOCKED, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_core_needs_no_pyarrow(home: Path, tmp_path: Path) -> None:
    model, table = tmp_path / "model.retgk", tmp_path / "predictions.csv"
    (tmp_path / "y.csv").write_text("graph,target\n" + "".join(f"{n},{n % 2}\n" for n in range(24)))
    for arguments in (
        ("info", home),
        ("cv", home, "--folds", "3", "--targets", tmp_path / "y.csv"),
        ("fit", home, "-o", model),
        ("predict", model, home, "-o", table),
        ("kernel", home, "-o", tmp_path / "kernel.csv"),
        ("convert", home, tmp_path / "graphs.jsonl.gz"),
        ("convert", home, tmp_path / "OTHER.zip"),
        ("index", "build", home, "-o", tmp_path / "index"),
    ):
        done = run(*arguments, "--quiet")
        assert done.returncode == 0, (arguments, done.stderr)
    assert table.read_text().count("\n") == 25


@pytest.mark.slow
def test_parquet_says_which_extra_it_needs(home: Path, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    for arguments in (
        ("info", tmp_path / "x.parquet"),
        ("convert", home, tmp_path / "y.parquet"),
        ("kernel", home, "-o", tmp_path / "k.parquet"),
    ):
        done = run(*arguments, "--quiet")
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "retgk[parquet]" in done.stderr
