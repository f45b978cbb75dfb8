"""Kernels of other authors in processes that can be stopped."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from textwrap import indent

import numpy as np
import pytest

from reproduction.graphs import Sources
from reproduction.peers import READY, Limits, PeerFailure, peer_kernel, peer_matrix
from reproduction.runner import Runner, ordered_tasks, run_tasks_into
from reproduction.tables import table_cells
from retgk._runtime.files import read_records
from retgk.datasets import load_tudataset
from retgk.kernels import Graphlets, Laplacian, ShortestPath, WeisfeilerLehman
from tests.errors import fails
from tests.paper_samples import write_set

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of processes")

STAND_IN = """
import fcntl, os, re, signal, sys, time
from types import SimpleNamespace
from unittest.mock import MagicMock
import numpy as np
from reproduction import peers as peer_process
from retgk._runtime import processes as limited_processes

class Kernel:
    def fit_transform(self, graphs):
{kernel}
        return np.eye(20)

def load(order):
{loading}
    return list(range(20)), None

{first}
peer_process.load_graphs = load
peer_process.peer_kernel = lambda *_: Kernel()
peer_process.main(sys.argv[1])
"""
"""The program of a peer with other graphs and another kernel."""


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    write_set(folder, "MUTAG", 20)
    return folder


def cells_of(method):
    return [cell for cell in table_cells(2) if (cell.dataset, cell.method) == ("MUTAG", method)]


def spec_of(sets, method="WL"):
    return {
        "dataset": "MUTAG",
        "deduplicate": False,
        "graphs": "digest",
        "settings": dict(cells_of(method)[0].settings),
        "sources": [str(sets), None],
        "seed": 0,
        "n_jobs": 1,
    }


def program(*, first="", loading="pass", kernel="pass"):
    code = STAND_IN.format(
        first=first, loading=indent(loading, " " * 4), kernel=indent(kernel, " " * 8)
    )
    return (sys.executable, "-c", code)


def quiet(*_):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("method", ["WL", "SP", "GK"])
def test_matrix_of_a_peer(sets, tmp_path, method):
    spec = spec_of(sets, method)
    matrix = peer_matrix(spec, tmp_path, Limits(60, 8000))
    graphs = load_tudataset("MUTAG", sets, download=False).graphs.without_attributes()
    kernels = {
        "WL": WeisfeilerLehman(5),
        "SP": ShortestPath(),
        "GK": Graphlets(5, random_state=0),
    }
    assert np.array_equal(matrix.products, kernels[method].fit_transform(graphs))
    assert matrix.seconds["gram"] > 0


@pytest.mark.slow
def test_what_is_drawn_depends_on_the_seed(sets, tmp_path):
    """In the matrix of a record too; kernels that draw nothing are computed once."""
    runner = Runner(Sources(sets), tmp_path)
    for method, n_matrices in (("GK", 2), ("WL", 1)):
        (cell,) = cells_of(method)
        one, two = (runner.matrix(cell, runner.load(cell), seed).products for seed in (0, 1))
        assert np.array_equal(one, two) == (n_matrices == 1)
        assert len(list(tmp_path.glob(f"MUTAG-{method}-*.npy"))) == n_matrices


@pytest.mark.slow
def test_a_matrix_that_is_gone_is_made_again(sets, tmp_path):
    spec = spec_of(sets)
    expected = np.array(peer_matrix(spec, tmp_path, Limits()).products)
    for path in tmp_path.glob("*.npy"):
        path.unlink()
    np.testing.assert_array_equal(peer_matrix(spec, tmp_path, Limits()).products, expected)


@pytest.mark.slow
def test_peer_is_stopped_by_time_and_that_is_remembered(sets, tmp_path):
    spec = spec_of(sets)
    with pytest.raises(PeerFailure, match=r"did not finish in 0\.01 s"):
        peer_matrix(spec, tmp_path, Limits(0.01, 8000), program(kernel="time.sleep(60)"))
    again = program(kernel="raise ValueError('tried again')")
    for limits in (Limits(0.01, 8000), Limits(5, 7999)):
        with pytest.raises(PeerFailure, match=r"did not finish in 0\.01 s"):
            peer_matrix(spec, tmp_path, limits, again)
    with pytest.raises(PeerFailure, match="tried again"):
        peer_matrix(spec, tmp_path, Limits(5, 8000), again)


KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.slow
def test_a_killed_method_is_tried_once_in_every_run(sets, tmp_path):
    path, tasks = tmp_path / "records.jsonl", ordered_tasks(cells_of("WL"), 3)
    for n_records in (1, 2):
        assert run_tasks_into(path, tasks, runner_of(sets, tmp_path, 60, KILLED), quiet) == 1
        assert len(read_records(path)) == n_records
    assert run_tasks_into(path, tasks, runner_of(sets, tmp_path, 60, "pass"), quiet) == 3


@pytest.mark.slow
@pytest.mark.parametrize("part", ["loading", "kernel"])
def test_memory_is_limited_from_the_start(sets, tmp_path, part):
    peer = program(**{part: "bytearray(3 * 2**30)"})
    with pytest.raises(PeerFailure, match="did not fit into 3000 MB"):
        peer_matrix(spec_of(sets), tmp_path, Limits(60, 3000), peer)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("nothing", ("0",)),
        (READY, ("0.01",)),
    ],
)
def test_peer_that_cannot_stop_itself_is_stopped(sets, tmp_path, says, message):
    code = f"import time; print({says!r}, flush=True); time.sleep(60)"  # no limit of its own
    limits = Limits(0.01, 8000, least_preparation_seconds=0.05, grace_seconds=3.0)
    start = time.monotonic()
    program = (sys.executable, "-c", code)
    fails(lambda: peer_matrix(spec_of(sets), tmp_path, limits, program), message, PeerFailure)
    assert time.monotonic() - start < 50


IN_C = "re.match('(a+)+b', 'a' * 60)"  # for years, and no other thread of Python runs meanwhile
IN_PYTHON = "time.sleep(60)"
WITHOUT_PRCTL = "limited_processes.ctypes = MagicMock()"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "first"),
    [
        pytest.param(
            IN_C, "", marks=pytest.mark.skipif(sys.platform != "linux", reason="needs prctl")
        ),
        (IN_PYTHON, WITHOUT_PRCTL),
    ],
)
def test_peer_ends_with_a_parent_that_is_killed(sets, tmp_path, kernel, first):
    """The child holds a lock for as long as it lives, even if nobody waits for it."""
    lock = tmp_path / "lock"
    held = f"""\
file = open({str(lock)!r}, "w")
fcntl.flock(file, fcntl.LOCK_EX)
file.write("held")
file.flush()
{kernel}"""
    code = f"""\
from pathlib import Path
from reproduction.peers import Limits, peer_matrix
program = {program(first=first, kernel=held)!r}
peer_matrix({spec_of(sets)!r}, Path({str(tmp_path)!r}), Limits(60, 8000), program)"""
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        wait_until(lambda: lock.exists() and lock.read_text() == "held")
        assert is_locked(lock)
        parent.kill()
    wait_until(lambda: not is_locked(lock))


def wait_until(is_so, seconds=60.0):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def is_locked(path):
    import fcntl

    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def runner_of(sets, folder, seconds, kernel):
    limits, peer = Limits(seconds, 8000), program(kernel=kernel)
    return Runner(Sources(sets), folder / "cache", limits=limits, peer_program=peer)


@pytest.mark.slow
def test_failure_is_a_record_and_is_not_tried_again(sets, tmp_path):
    path, tasks = tmp_path / "records.jsonl", ordered_tasks(cells_of("WL"), 3)
    slow, said = runner_of(sets, tmp_path, 0.01, "time.sleep(60)"), []
    assert run_tasks_into(path, tasks, slow, lambda text, *_: said.append(text)) == 1
    assert said == [
        "[1/3] table 2, MUTAG, WL, protocol paper, repetition 1", "    did not finish in 0.01 s",
    ]  # fmt: skip
    said.clear()
    assert run_tasks_into(path, tasks, slow, lambda text, *_: said.append(text)) == 0
    assert said == [
        "[1/3] table 2, MUTAG, WL, protocol paper, repetition 1",
        "    not tried again: did not finish in 0.01 s",
    ]
    for protocol in ("nested", "time"):  # they need the same matrix
        others = [replace(task, cell=replace(task.cell, protocol=protocol)) for task in tasks]
        assert run_tasks_into(path, others, slow, quiet) == 0
    (record,) = read_records(path)
    assert record["failure"] == "did not finish in 0.01 s"
    assert record["limits"] == [0.01, 8000]
    assert "accuracies" not in record
    facts = [json.loads(file.read_text()) for file in (tmp_path / "cache").glob("*.json")]
    assert [each["failure"] for each in facts] == ["did not finish in 0.01 s"]


@pytest.mark.slow
def test_success_with_raised_limits_makes_up_for_a_failure(sets, tmp_path):
    """Repetitions that are wanted later are computed, from the matrix that is there."""
    path, cells = tmp_path / "records.jsonl", cells_of("WL")
    low, high = (runner_of(sets, tmp_path, seconds, "time.sleep(1)") for seconds in (0.01, 60))
    assert run_tasks_into(path, ordered_tasks(cells, 2), low, quiet) == 1
    assert run_tasks_into(path, ordered_tasks(cells, 2), high, quiet) == 2
    assert run_tasks_into(path, ordered_tasks(cells, 4), low, quiet) == 2
    failures = [record["failure"] for record in read_records(path)]
    assert failures == ["did not finish in 0.01 s", None, None, None, None]


def test_settings_are_parameters_of_the_class(sets):
    graphs = load_tudataset("MUTAG", sets, download=False).graphs
    settings = dict(cells_of("WL")[0].settings)
    assert peer_kernel(settings, graphs).get_params()["start"] == "labels"
    assert peer_kernel(settings, graphs.without_labels()).get_params()["start"] == "degrees"
    assert peer_kernel({**settings, "start": "none"}, graphs).get_params()["start"] == "none"
    with_attributes = {**cells_of("SP")[0].settings, "attributes": {"Laplacian": 2}}
    assert peer_kernel(with_attributes, graphs).attributes == Laplacian(2)
    fails(
        lambda: peer_kernel({**settings, "depth": 3}, graphs),
        about=("WeisfeilerLehman", "'depth'"),
    )


@pytest.mark.slow
def test_settings_to_choose_from(sets, tmp_path):
    """The validation part chooses among matrices; one that limits stop is no choice."""
    (cell,) = cells_of("WL")
    chosen = replace(cell, settings={**cell.settings, "choose": [{"n_iter": 1}, {"n_iter": 2}]})
    runner = Runner(Sources(sets), tmp_path, n_jobs=1)
    record = runner.record(chosen, 0)
    assert len(record["accuracies"]) == len(record["choices"]) == 10
    assert {choice["n_iter"] for choice in record["choices"]} <= {1, 2}
    assert len(list(tmp_path.glob("MUTAG-WL-*.npy"))) == 2
    only = replace(cell, settings={**cell.settings, "choose": [{"n_iter": 5}]})
    assert runner.record(only, 0)["accuracies"] == runner.record(cell, 0)["accuracies"]

    def stopped(spec, *_):
        if spec["settings"]["n_iter"] == 1:
            raise PeerFailure("did not finish", by_limit=True)
        return peer_matrix(spec, tmp_path, Limits(60, 8000))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reproduction.runner.peer_matrix", stopped)
        record = runner.record(chosen, 0)
    assert record["facts"]["stopped"] == "{'n_iter': 1}: did not finish"
    assert {choice["n_iter"] for choice in record["choices"]} == {2}
