"""Kernels of GraKeL in processes that can be stopped."""

import json
import os

import numpy as np
import pytest

from retgk.paper import peers
from retgk.paper.cells import table_cells
from retgk.paper.peers import Limits, PeerFailure, peer_matrix
from retgk.paper.records import read_records
from retgk.paper.runner import Runner
from retgk.paper.tasks import ordered_tasks, run_tasks_into

from .paper_sets import write_set

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of processes")


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    pytest.importorskip("grakel")
    folder = tmp_path_factory.mktemp("sets")
    write_set(folder, "MUTAG", 20)
    return folder


def spec_of(sets, method):
    cell = next(cell for cell in table_cells(2) if (cell.dataset, cell.method) == ("MUTAG", method))
    return {
        "dataset": "MUTAG",
        "deduplicate": False,
        "settings": dict(cell.settings),
        "data_home": str(sets),
    }


@pytest.mark.parametrize("method", ["WL", "SP"])
def test_matrix_of_a_peer(sets, tmp_path, method):
    matrix = peer_matrix(spec_of(sets, method), tmp_path, Limits(60, 8000))
    assert matrix.products.shape == (20, 20)
    assert np.allclose(matrix.products.diagonal(), 1)
    assert matrix.seconds["gram"] > 0


def test_peer_is_stopped_by_time_and_that_is_remembered(sets, tmp_path, monkeypatch):
    spec = spec_of(sets, "CSM")
    with pytest.raises(PeerFailure, match="did not finish in 0 s"):
        peer_matrix(spec, tmp_path, Limits(0.01, 8000))
    with monkeypatch.context() as patch:
        patch.setattr(peers, "_run", pytest.fail)
        with pytest.raises(PeerFailure, match="did not finish in 0 s"):
            peer_matrix(spec, tmp_path, Limits(0.01, 8000))
    tried = []
    monkeypatch.setattr(peers, "_run", lambda *_: tried.append(1) or {"failure": "again"})
    with pytest.raises(PeerFailure, match="again"):
        peer_matrix(spec, tmp_path, Limits(5, 8000))
    assert tried == [1]


def test_peer_is_stopped_by_memory(sets, tmp_path):
    with pytest.raises(PeerFailure, match="did not fit into 10 MB"):
        peer_matrix(spec_of(sets, "WL"), tmp_path, Limits(60, 10))


def test_peer_that_hangs_is_killed_from_outside(sets, tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "_GRACE_SECONDS", 0.0)
    with pytest.raises(PeerFailure, match="did not finish in 0 s"):
        peer_matrix(spec_of(sets, "WL"), tmp_path, Limits(0.05, 8000))


def test_failure_is_a_record_and_is_not_tried_again(sets, tmp_path):
    cells = [cell for cell in table_cells(2) if (cell.dataset, cell.method) == ("MUTAG", "CSM")]
    path, tasks = tmp_path / "records.jsonl", ordered_tasks(cells, 3)
    slow = Runner(sets, tmp_path / "cache", limits=Limits(0.01, 8000))
    assert run_tasks_into(path, tasks, slow, lambda *_: None) == 1
    assert run_tasks_into(path, tasks, slow, lambda *_: None) == 0
    (record,) = read_records(path)
    assert record["failure"] == "did not finish in 0 s"
    assert record["limits"] == [0.01, 8000]
    assert "accuracies" not in record
    facts = [json.loads(file.read_text()) for file in (tmp_path / "cache").glob("*.json")]
    assert [each["failure"] for each in facts] == ["did not finish in 0 s"]


def test_graphs_of_grakel():
    pytest.importorskip("grakel")
    from retgk import GraphBatch
    from retgk.paper.peer_process import grakel_graphs, normalized

    path = GraphBatch.from_edges(3, [[0, 1], [1, 2]], symmetrize=True)
    (graph,) = grakel_graphs(path)
    assert graph.get_labels(purpose="dictionary") == {0: 1, 1: 2, 2: 1}
    labelled = path.with_labels(["C", "N", "C"]).with_attributes([[0.5], [1.5], [2.5]])
    (graph,) = grakel_graphs(labelled)
    codes = [labelled.labels[0], labelled.labels[1]]
    assert graph.get_labels(purpose="dictionary")[1] == (codes[1], (1.5,))
    assert np.array_equal(normalized(np.diag([4.0, 0.0])), np.diag([1.0, 0.0]))
