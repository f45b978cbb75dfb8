"""Work on dask workers: the same bits as here, whatever becomes of the workers."""

import json
import os
import shutil
import signal
import socket
import ssl
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import joblib
import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from benchmarks.cluster_processes import ROOT, ClusterProcesses, cluster_processes
from retgk import GraphClassifier, InvalidInputError, RetGK, _core, as_batch, save_model
from retgk._runtime.cluster import cluster_client, results_in_order
from retgk._runtime.parallel import n_threads
from retgk.datasets import make_graph_classification
from retgk.estimators import gram_file
from retgk.io import write_parquet
from retgk.kernels import RetGKEmbedding, embed_files, write_mean_embedding_gram
from tests.errors import fails
from tests.programs import assert_fails, invoke, record

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

DATA = make_graph_classification(n_graphs=60, n_labels=3, n_attributes=1, rng=0)
KERNEL = RetGK(random_state=0, n_jobs=2)
CV = ["--folds", 3, "--C", 1, "--p", 1, "--scale", 1]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Worker processes as those of a command; how many, `workers` says."""
    with cluster_client(None, "local:1") as client:
        yield client


@pytest.fixture
def client(cluster: Any) -> Any:
    return workers(cluster, 2)


def workers(client: Any, n: int) -> Any:
    """The client, when its cluster has so many workers."""
    client.cluster.scale(n)
    deadline = time.monotonic() + 120
    while len(client.nthreads()) != n:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return client


@pytest.fixture
def many_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gram_file, "_TILE_VALUES", 1 << 15)


def parts(folder: Path) -> Path:
    """A folder of three files: Parquet in several row groups, JSON, and a single graph."""
    from retgk.io.json import write_json

    folder.mkdir()
    write_parquet(DATA.graphs[:40], folder / "0.parquet", batch_size=7)
    write_json(DATA.graphs[40:59], folder / "1.json")
    write_parquet(DATA.graphs[59:], folder / "2.parquet")
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("many_tiles")
@pytest.mark.parametrize("n", [1, 2, 4])
def test_same_bits_for_any_number_of_workers(tmp_path: Path, cluster: Any, n: int) -> None:
    files = parts(tmp_path / "parts")
    embedding = RetGKEmbedding(n_components=16, random_state=0).fit(DATA.graphs)
    expected = embedding.transform(DATA.graphs)
    here = write_mean_embedding_gram(tmp_path / "here.npy", DATA.graphs, kernel=KERNEL)
    client = workers(cluster, n)
    there = write_mean_embedding_gram(
        tmp_path / "there.npy", DATA.graphs, kernel=KERNEL, client=client
    )
    assert there.tobytes() == here.tobytes()
    for name in ("vectors.npy", "folder"):
        written = embed_files(embedding, files, tmp_path / name, client=client, piece_size=10)
        found = [np.load(file) for file in sorted(written.glob("*.npy"))] or [np.load(written)]
        assert np.concatenate(found).tobytes() == expected.tobytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "folder", "here.npy", "parts", "there.npy", "vectors.npy",
    ]  # fmt: skip


@pytest.fixture
def certified(cluster: Any) -> Iterator[None]:
    """The certificate of the cluster where dask looks for one, as users of one's own do it."""
    own = cluster.security
    settings = {
        "distributed.comm.tls.ca-file": own.tls_ca_file,
        "distributed.comm.tls.client.cert": own.tls_client_cert,
        "distributed.comm.tls.client.key": own.tls_client_key,
    }
    with dask.config.set(settings):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("certified")
def test_commands_on_a_cluster_print_the_same(
    graphs_file: Path, tmp_path: Path, client: Any
) -> None:
    there = ["--scheduler", client.scheduler.address]
    products = ["kernel", graphs_file, "--matrix", "products", "--on-disk"]
    for command in (["embed", graphs_file], products):
        for where, name in ((), "here.npy"), (there, "there.npy"):
            assert invoke(*command, *where, "-o", tmp_path / name).exit_code == 0
        here, other = (tmp_path / name for name in ("here.npy", "there.npy"))
        assert here.read_bytes() == other.read_bytes()
        here.unlink()
        other.unlink()
    for protocol in ("nested", "paper"):
        options = ["cv", graphs_file, "--protocol", protocol, *CV, "--repetitions", 2]
        for where, name in ((), "here.csv"), (there, "there.csv"):
            found = record(*options, *where, "-o", tmp_path / name)
            assert len(found["accuracy"]["folds"]) == 2
        assert (tmp_path / "here.csv").read_text() == (tmp_path / "there.csv").read_text()


@pytest.mark.slow
def test_local_workers_of_a_command(tmp_path: Path) -> None:
    """A command starts them, uses them and ends them; the model says what the vectors are."""
    embedding = RetGKEmbedding(n_components=4, random_state=0).fit(as_batch(DATA.graphs[:20]))
    save_model(embedding, tmp_path / "m.retgk")
    files = parts(tmp_path / "parts")
    output = tmp_path / "v.npy"
    found = record(
        "embed", files, "--model", tmp_path / "m.retgk", "--cluster", "local:1", "-o", output
    )
    assert found["shape"] == list(np.load(output).shape) == [60, embedding.n_features_out_]
    np.testing.assert_array_equal(np.load(output), embedding.transform(DATA.graphs))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cluster", "local"], ("'local'", "4")),
        (["--cluster", "local:0"], ("'local:0'",)),
        (["--cluster", "local:1", "--scheduler", "tcp://localhost:1"], ("both name a cluster",)),
    ],
)
@pytest.mark.parametrize("command", ["embed", "cv", "kernel"])
def test_names_of_clusters_are_checked_first(
    graphs_file: Path, tmp_path: Path, options: list[str], message: str, command: str
) -> None:
    output = tmp_path / ("o.csv" if command == "cv" else "o.npy")
    assert_fails(invoke(command, graphs_file, *options, "-o", output), *message)


def test_kernels_in_memory_are_not_for_clusters(graphs_file: Path, tmp_path: Path) -> None:
    result = invoke("kernel", graphs_file, "--cluster", "local:1", "-o", tmp_path / "k.npy")
    assert_fails(result, "--matrix products", "--on-disk")


@pytest.mark.slow
def test_no_scheduler_at_an_address(
    graphs_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retgk._runtime.cluster._CONNECT_SECONDS", 0.5)
    options = ["--scheduler", "tcp://127.0.0.1:9", "-o", tmp_path / "v.npy"]
    assert_fails(invoke("embed", graphs_file, *options), "no scheduler answers")
    options[1] = "tls://127.0.0.1:9"
    assert_fails(invoke("embed", graphs_file, *options), "certificate")


# Strangers


@pytest.mark.slow
def test_nobody_else_can_use_local_workers(client: Any) -> None:
    """Without the certificate, scheduler, workers and nannies answer nothing."""
    assert client.submit(square, 2, 3).result() == 18
    places = client.scheduler_info()["workers"]
    nannies = [place["nanny"] for place in places.values()]
    for address in (client.scheduler.address, *places, *nannies):
        assert address.startswith("tls://127.0.0.1:")
        other = {"timeout": 2, "set_as_default": False}
        with pytest.raises(OSError, match=r"Timed out|closed"):
            distributed.Client(address.replace("tls", "tcp"), **other)
        other["security"] = distributed.Security.temporary()
        with pytest.raises(OSError, match="certificate does not match"):
            distributed.Client(address, **other)
        stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # one who does not mind whom he talks to
        stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
        place = ("127.0.0.1", int(address.rpartition(":")[2]))
        with (
            pytest.raises(OSError, match=r"certificate required|reset|EOF"),
            socket.create_connection(place, 9) as plain,
            stranger.wrap_socket(plain) as tls,
        ):
            tls.recv(1)


@pytest.mark.slow
def test_local_workers_listen_on_the_loopback_address_and_tell_nothing(client: Any) -> None:
    psutil = pytest.importorskip("psutil")
    workers_there = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
    found = {
        connection.laddr
        for process in (psutil.Process(), *workers_there)
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    assert {place.ip for place in found} == {"127.0.0.1"}
    scheduler = client.scheduler_info()
    for server in (scheduler, *scheduler["workers"].values()):
        with urlopen(f"http://127.0.0.1:{server['services']['dashboard']}/sitemap.json") as reply:
            assert json.load(reply) == {"paths": ["/sitemap.json"]}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="modes of folders are POSIX")
def test_what_local_workers_put_aside_is_their_users_alone(client: Any) -> None:
    for folder in client.run(lambda dask_worker: dask_worker.local_directory).values():
        own = Path(folder).parents[1].stat()
        assert own.st_uid == os.getuid()
        assert stat.S_IMODE(own.st_mode) == 0o700


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        ("__init__.py", "__version__ = ", "__version__ = '0.0.1'  # "),
        ("kernels/graph.py", "", "# other code\n"),
    ],
)
def test_worker_with_another_retgk_that_joins_later_is_refused(
    tmp_path: Path, module: str, before: str, after: str
) -> None:
    other = tmp_path / "other" / "retgk"
    shutil.copytree(ROOT / "src" / "retgk", other, ignore=shutil.ignore_patterns("__pycache__"))
    text = (other / module).read_text("utf-8")
    assert before in text
    (other / module).write_text(text.replace(before, after, 1), "utf-8")
    shutil.copy(_core.__file__, other)
    # an editable installation finds its own modules before any path
    (other.parent / "sitecustomize.py").write_text(
        "import sys\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if 'Redirecting' not in repr(f)]\n"
    )
    found = []
    with (
        cluster_processes(1) as processes,
        distributed.Client(processes.address, set_as_default=False) as client,
    ):
        client.wait_for_workers(1, timeout=120)
        same = next(iter(client.nthreads()))
        results = results_in_order(slow_square, [(number,) for number in range(60)], 2, client)
        found.append(next(results))
        paths = os.pathsep.join([str(other.parent), str(ROOT)])
        processes.add_worker(prefix=["env", f"PYTHONPATH={paths}"])
        client.wait_for_workers(2, timeout=120)
        (new,) = set(client.nthreads()) - {same}
        with pytest.raises(InvalidInputError, match=f"worker {new} has another retgk.*the same"):
            found.extend(results)
    assert found == [2 * number**2 for number in range(len(found))]


# Tasks


def square(shared: int, number: int) -> int:
    return shared * number**2


def slow_square(shared: int, number: int) -> int:
    time.sleep(0.1)
    return square(shared, number)


def fail_at_three(shared: int, number: int) -> int:
    if number == 3:
        raise InvalidInputError("no threes")
    return square(shared, number)


def threads_there(shared: object, n_jobs: int | None) -> int:
    del shared
    return n_threads(n_jobs)


@pytest.mark.slow
def test_results_are_in_order_and_errors_in_their_place(client: Any) -> None:
    tasks = [(number,) for number in range(20)]
    assert list(results_in_order(square, tasks, 2, client)) == [2 * n**2 for n in range(20)]
    assert list(results_in_order(square, [], 2, client)) == []
    for where in (None, client):
        found = results_in_order(fail_at_three, tasks, 1, where)
        assert [next(found) for _ in range(3)] == [0, 1, 4]
        fails(lambda found=found: next(found), about="no threes")


@pytest.mark.slow
def test_few_tasks_are_under_way_at_a_time(client: Any) -> None:
    def n_under_way(expected: int) -> int:
        """Count futures, which clients forget a little after their release."""
        for _ in range(500):
            n = len([key for key in client.futures if "square" in str(key)])
            if n <= expected:
                break
            time.sleep(0.01)
        return n

    found = results_in_order(square, [(number,) for number in range(50)], 1, client)
    for _ in range(5):
        next(found)
        assert n_under_way(4) <= 4
    found.close()
    assert n_under_way(0) == 0


@pytest.mark.slow
def test_tasks_keep_to_their_share_of_threads(client: Any) -> None:
    tasks = [(None,), (8,), (-1,)]
    assert list(results_in_order(threads_there, tasks, None, client)) == [1, 1, 1]
    assert client.submit(threads_there, None, None).result() == 1  # tasks of others


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2])
def test_killed_worker_changes_nothing(cluster: Any, n: int) -> None:
    """With one worker, what was sent to it is gone too."""
    client = workers(cluster, n)
    victim = next(iter(client.run(os.getpid).values()))
    tasks = [(number,) for number in range(12)]
    found = results_in_order(slow_square, tasks, 3, client)
    first = [next(found), next(found)]
    os.kill(victim, signal.SIGKILL)
    assert first + list(found) == [3 * number**2 for number in range(12)]


@pytest.mark.slow
def test_vectors_of_a_killed_call_are_kept(tmp_path: Path, client: Any) -> None:
    files = parts(tmp_path / "parts")
    embedding = RetGKEmbedding(n_components=4, random_state=0).fit(DATA.graphs)
    embed_files(embedding, files, tmp_path / "v", client=client, piece_size=10)
    kept, lost = tmp_path / "v" / "00000.npy", tmp_path / "v" / "00003.npy"
    before, bits = kept.stat().st_mtime_ns, lost.read_bytes()
    lost.unlink()
    embed_files(embedding, files, tmp_path / "v", client=client, piece_size=10)
    assert kept.stat().st_mtime_ns == before
    assert lost.read_bytes() == bits
    other = RetGKEmbedding(n_components=4, random_state=1).fit(DATA.graphs)
    fails(
        lambda: embed_files(other, files, tmp_path / "v", client=client, piece_size=10),
        about="was begun with",
    )
    lost.write_bytes(bits[:-8])
    fails(lambda: embed_files(embedding, files, tmp_path / "v", piece_size=10), about="00003.npy")


def test_molecules_are_cut_between_lines(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    from retgk.io import from_smiles

    texts = ["CCO", "c1ccccc1", "CN", "CC", "CCC", "OCC=O", "N"]
    graphs = from_smiles(texts, bond_orders=True)
    embedding = RetGKEmbedding(n_components=4, random_state=0).fit(graphs)
    table = tmp_path / "molecules.csv"
    table.write_text("\n".join(["smiles", *texts]))
    written = embed_files(embedding, table, tmp_path / "v.npy", piece_size=3, bond_orders=True)
    np.testing.assert_array_equal(np.load(written), embedding.transform(graphs))
    table.write_text("\n".join(["smiles", *texts[:4], "C(", *texts]))
    fails(
        lambda: embed_files(embedding, table, tmp_path / "w.npy", piece_size=3, bond_orders=True),
        about=("3", "graph 1"),
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embedding": RetGK()}, ("RetGKEmbedding", "RetGK")),
        ({"piece_size": 0}, ("piece_size",)),
        ({"skip_invalid": True}, ("skip_invalid",)),
        ({"bond_order": True}, ("'bond_order'", "bond_orders")),
        ({"files": "missing.parquet"}, ("missing.parquet",)),
        ({"client": "tcp://host"}, ("client", "str")),
    ],
)
def test_embed_files_checks_before_it_works(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    embedding = RetGKEmbedding(n_components=4, random_state=0).fit(DATA.graphs)
    given = {"embedding": embedding, "files": parts(tmp_path / "parts"), **change}
    fails(lambda: embed_files(output=tmp_path / "v.npy", **given), about=message)


@pytest.mark.slow
def test_scikit_learn_on_a_cluster(client: Any) -> None:
    """By joblib's backend; models use one thread in each worker."""
    model = GraphClassifier(C=1, candidates={}, random_state=0)
    here = cross_val_score(model, DATA.graphs, DATA.targets, cv=3)
    with client.as_current(), joblib.parallel_config("dask"):
        there = cross_val_score(model, DATA.graphs, DATA.targets, cv=3)
    np.testing.assert_array_equal(there, here)


# Schedulers that die, in processes of their own

GRAPHS = make_graph_classification(n_graphs=60, n_labels=3, rng=0).graphs


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.slow
@pytest.mark.usefixtures("small_tiles")
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
