"""Schedulers that die, and hosts that are cut off, in processes and networks of their own."""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.cluster_processes import ClusterProcesses, cluster_processes
from retgk import RetGKKernel, make_graph_classification, write_mean_embedding_gram
from retgk.estimators import gram_file

distributed = pytest.importorskip("distributed")

GRAPHS = make_graph_classification(n_graphs=60, n_labels=3, random_state=0).graphs
KERNEL = RetGKKernel(random_state=0)


@pytest.fixture(autouse=True)
def many_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gram_file, "_TILE_VALUES", 1 << 13)


@contextmanager
def quiet_client(processes: ClusterProcesses, n_workers: int) -> Iterator[Any]:
    """A client that gives up soon, when there are so many workers."""
    import logging

    import dask

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
        distributed.Client(processes.address, set_as_default=False, timeout=3) as client,
    ):
        client.wait_for_workers(n_workers, timeout=120)
        yield client


def after_blocks(n_blocks: int, action: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have something happen when so many blocks of rows are on disk."""
    append, n_done = gram_file.GrowingMatrix.append, []

    def append_and_act(matrix: Any, *arrays: Any) -> None:
        append(matrix, *arrays)
        n_done.append(1)
        if len(n_done) == n_blocks:
            action()

    monkeypatch.setattr(gram_file.GrowingMatrix, "append", append_and_act)


def test_lost_scheduler_is_an_error_and_the_matrix_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = write_mean_embedding_gram(tmp_path / "here.npy", GRAPHS, kernel=KERNEL)
    target = tmp_path / "there.npy"
    with (
        cluster_processes(1) as processes,
        quiet_client(processes, 1) as client,
        monkeypatch.context() as patch,
    ):
        after_blocks(2, processes.scheduler.kill, patch)
        with pytest.raises(ConnectionError, match=r"scheduler of the cluster is lost.*new Client"):
            write_mean_embedding_gram(target, GRAPHS, kernel=KERNEL, client=client)
    assert not target.exists()
    assert target.with_name("there.npy.partial").exists()
    rows = []
    products = gram_file._tile_products
    monkeypatch.setattr(
        gram_file, "_tile_products", lambda *tile: rows.append(tile[1]) or products(*tile)
    )
    there = write_mean_embedding_gram(target, GRAPHS, kernel=KERNEL)
    assert min(rows) > 0
    assert there.tobytes() == here.tobytes()


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def two_hosts() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Addresses of this host and of two network namespaces on one bridge, and their links."""
    tag = secrets.token_hex(2)
    bridge, subnet = f"rgb{tag}", f"10.{secrets.randbelow(100) + 100}.{secrets.randbelow(200)}"
    hosts = [(f"rgk{tag}{n}", f"rgv{tag}{n}", f"{subnet}.{n + 2}") for n in range(2)]
    try:
        ip("link", "add", bridge, "type", "bridge")
        ip("addr", "add", f"{subnet}.1/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for space, link, address in hosts:
            ip("netns", "add", space)
            ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("link", "set", link, "master", bridge, "up")
            ip("-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
            ip("-n", space, "link", "set", "lo", "up")
        yield f"{subnet}.1", hosts
    finally:
        for space, link, _ in hosts:
            subprocess.run(["ip", "link", "del", link], check=False, capture_output=True)
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", bridge], check=False, capture_output=True)


def can_make_networks() -> bool:
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    try:
        with two_hosts() as (address, hosts):
            space = hosts[0][0]
            reached = subprocess.run(
                ["ip", "netns", "exec", space, "ip", "route", "get", address],
                check=False,
                capture_output=True,
            )
            return reached.returncode == 0
    except (OSError, subprocess.CalledProcessError):
        return False


def test_host_that_is_cut_off_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker lives on, and cannot be heard."""
    if not can_make_networks():
        pytest.skip("network namespaces need root, and ip of iproute2")
    here = write_mean_embedding_gram(tmp_path / "here.npy", GRAPHS, kernel=KERNEL)
    with two_hosts() as (address, hosts), cluster_processes(0, address) as processes:
        for space, _, own in hosts:
            processes.add_worker(own, ["ip", "netns", "exec", space])
        with quiet_client(processes, 2) as client:
            addresses = [name.split("//")[1].split(":")[0] for name in client.nthreads()]
            assert sorted(addresses) == [own for _, _, own in hosts]
            lived: list[bool] = []

            def cut_off() -> None:
                ip("link", "set", hosts[1][1], "down")
                lived.extend(worker.poll() is None for worker in processes.workers)

            after_blocks(2, cut_off, monkeypatch)
            there = write_mean_embedding_gram(
                tmp_path / "there.npy", GRAPHS, kernel=KERNEL, client=client
            )
            assert len(client.nthreads()) == 1
    assert lived == [True, True]  # it ends later, when it has not been heard for long
    np.testing.assert_array_equal(there, here)
    assert there.tobytes() == here.tobytes()
