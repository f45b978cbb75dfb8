"""The program stopped while it writes, computes, downloads or compiles."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retgk import GraphDataset, make_graph_classification, save_tudataset
from tests.cli_program import (
    PROGRAM,
    TIMEOUT_SECONDS,
    environment,
    output_of,
    run_program,
    start_program,
)

real_data = pytest.mark.real_data


def wait_for_part(folder: Path, process: Any) -> None:
    """Wait until an unfinished file lies in a folder."""
    while not list(folder.glob(".*.part")):
        assert process.poll() is None, "the program ended before it wrote anything"
        time.sleep(0.001)


def write_ring(path: Path, n_nodes: int) -> Path:
    """Write one graph whose features need neither scikit-learn nor much work."""
    path.write_text("".join(f"{node} {(node + 1) % n_nodes}\n" for node in range(n_nodes)))
    return path


STOPPED = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}


@pytest.mark.parametrize("number", STOPPED)
def test_stopped_while_writing(number: signal.Signals, tmp_path: Path) -> None:
    """Two million numbers as text take long enough to be stopped on the way."""
    source = write_ring(tmp_path / "ring.edges", 40_000)
    (tmp_path / "f.csv").write_text("an older file")
    process = start_program("features", source, "-o", "f.csv", folder=tmp_path)
    wait_for_part(tmp_path, process)
    process.send_signal(number)
    process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == STOPPED[number]
    assert (tmp_path / "f.csv").read_text() == "an older file"
    if number != signal.SIGKILL:
        assert sorted(path.name for path in tmp_path.iterdir()) == ["f.csv", "ring.edges"]


def test_stopped_while_computing(tmp_path: Path) -> None:
    """Minutes of work for all threads, which stop within seconds."""
    source = write_ring(tmp_path / "ring.edges", 40_000)
    arguments = ["features", source, "--n-steps", "4000", "-o", "f.npy"]
    process = start_program(*arguments, folder=tmp_path)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("ring: GraphBatch(1 graph")
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == STOPPED[signal.SIGINT]
    assert [path.name for path in tmp_path.iterdir()] == ["ring.edges"]


@pytest.fixture
def stalled_proxy() -> Iterator[socket.socket]:
    """A proxy that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(TIMEOUT_SECONDS)
        yield server


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_fetch_stopped(
    number: signal.Signals, stalled_proxy: socket.socket, tmp_path: Path
) -> None:
    """Nothing of a download stays; once the archive is there, the same command works."""
    proxy = f"http://127.0.0.1:{stalled_proxy.getsockname()[1]}"
    command = ["datasets", "fetch", "MUTAG", "--data-home", str(tmp_path)]
    process = subprocess.Popen(
        [*PROGRAM, *command],
        env=environment(HTTPS_PROXY=proxy, https_proxy=proxy, NO_PROXY="", no_proxy=""),
        stderr=subprocess.PIPE,
    )
    connection, _ = stalled_proxy.accept()
    with connection:
        process.send_signal(number)
        process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == STOPPED[number]
    assert not (tmp_path / "MUTAG.zip").exists()
    small = make_graph_classification(4, random_state=0)
    save_tudataset(GraphDataset(small.graphs, small.targets, "MUTAG"), tmp_path)
    assert json.loads(output_of(run_program(*command, "--json")))["graphs"] == 4


LOST = """
import time
from retgk.cli.command import ending_on_signals

with ending_on_signals():
    try:
        print("started", flush=True)
        time.sleep(60)
    except BaseException:
        print("lost", flush=True)
    try:
        time.sleep(60)
    finally:
        time.sleep(1.5)
        print("cleaned up", flush=True)
        time.sleep(60)
"""


def test_a_lost_interrupt_comes_again_and_a_second_kills() -> None:
    """One that somebody swallows is raised again, but not while the program cleans up."""
    process = subprocess.Popen([sys.executable, "-c", LOST], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)  # some programs send two for one
    assert [process.stdout.readline() for _ in range(2)] == ["lost\n", "cleaned up\n"]
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert (process.returncode, output) == (130, "")


def test_background_jobs_ignore_interrupts() -> None:
    """A shell starts them so."""
    script = (
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from retgk.cli.command import ending_on_signals\n"
        "with ending_on_signals():\n    signal.raise_signal(signal.SIGINT)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_reader_of_a_pipe_may_leave(tmp_path: Path) -> None:
    source = write_ring(tmp_path / "ring.edges", 20_000)
    process = subprocess.Popen(
        [*PROGRAM, "features", str(source), "--n-steps", "9", "-o", "-"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"graph,node,name,p1,p2,p3,p4,p5,p6,p7,p8,p9\n"
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read().decode().splitlines()[1:] == []
    process.stderr.close()
    assert process.wait() == 1
