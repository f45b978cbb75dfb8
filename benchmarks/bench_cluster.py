"""
Measure work on dask workers: two against one, against threads, and through kills.

``python -m benchmarks.bench_cluster FOLDER [--only speed,gram,kills] [--graphs 1000]``

All workers have one thread and are processes of this machine. Sides are measured in turns, because
other programs may take a part of the machine: what is reported are ratios of neighbours in time,
with the load of the machine beside them, and of processor time, which depends less on others.
"""

import argparse
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from sklearn.base import clone

from benchmarks.records import add_record
from retgk import GraphClassifier, RetGK, Walks
from retgk._runtime.cluster import cluster_client
from retgk.cli.evaluate import nested_answers
from retgk.datasets import load_tudataset, make_graph_classification
from retgk.estimators import gram_file
from retgk.io import write_parquet
from retgk.kernels import (
    PolynomialGraphKernel,
    RetGKEmbedding,
    embed_files,
    write_mean_embedding_gram,
)
from retgk.learning.folds import OuterFold

TURNS = 3
SPEED_SET, SPEED_COPIES = "DD", 3
GRAM_SET = "REDDIT-BINARY"
KILLS = 5


def cpu_seconds(client):
    """Processor time of this process, which has the scheduler too, and of the workers."""
    there = client.run(time.process_time).values() if client else ()
    return time.process_time() + sum(there)


def in_turns(sides, turns=TURNS):
    """Seconds of every side, and those of all its processors, measured in turns."""
    times = {name: [] for name in sides}
    cpu_times = {name: [] for name in sides}
    for _ in range(turns):
        for name, (work, client) in sides.items():
            start, cpu_start = time.perf_counter(), cpu_seconds(client)
            work()
            times[name].append(round(time.perf_counter() - start, 2))
            cpu_times[name].append(round(cpu_seconds(client) - cpu_start, 2))
    return times, cpu_times


def ratios(times, over, under):
    return [round(a / b, 3) for a, b in zip(times[over], times[under], strict=True)]


def record_of(job, measured, over, under, **facts):
    times, cpu_times = ({side: each[side] for side in (over, under)} for each in measured)
    found, of_cpu = ratios(times, over, under), ratios(cpu_times, over, under)
    record = {
        "job": job,
        **facts,
        "seconds": times,
        "ratio": f"{over} / {under}",
        "ratios": found,
        "median_ratio": statistics.median(found),
        "cpu_seconds": cpu_times,
        "median_cpu_ratio": statistics.median(of_cpu),
        "load": [round(load, 1) for load in os.getloadavg()],
    }
    print(record, flush=True)
    add_record("cluster", record, "job", "ratio")


def measure_speed(data, folder, _):
    """One worker against two, reading and embedding Parquet files in pieces."""
    graphs = load_tudataset(SPEED_SET, data_home=data).graphs
    files = folder / "parts"
    files.mkdir()
    for number in range(SPEED_COPIES):
        write_parquet(graphs, files / f"{number}.parquet", batch_size=64)
    output = folder / "vectors.npy"

    def embed(embedding, client):
        def work():
            output.unlink(missing_ok=True)
            embed_files(embedding, files, output, client=client, piece_size=64)

        return work, client

    with cluster_client(None, "local:1") as one, cluster_client(None, "local:2") as two:
        for feature_map in ("phases", "joint"):  # narrow vectors, and wide ones that disks feel
            embedding = RetGKEmbedding(feature_map=feature_map, dtype="float32", random_state=0)
            embedding.fit(graphs[:100])
            sides = {"one worker": embed(embedding, one), "two workers": embed(embedding, two)}
            for warm_up, _ in sides.values():
                warm_up()
            job = f"embed files to {embedding.n_features_out_} columns"
            facts = {"set": SPEED_SET, "graphs": SPEED_COPIES * len(graphs)}
            record_of(job, in_turns(sides), "one worker", "two workers", **facts)


def measure_gram(data, folder, n_graphs):
    """Two threads against two workers; the engine is fitted once, before both."""
    graphs = load_tudataset(GRAM_SET, data_home=data).graphs
    if n_graphs is not None:
        graphs = graphs[np.linspace(0, len(graphs) - 1, n_graphs).astype(int)]
    kernel = RetGK(graph_kernel=PolynomialGraphKernel(), random_state=0, n_jobs=2)
    engine, small = (clone(kernel).fit(some).engine_ for some in (graphs, graphs[:20]))
    found = {}

    def write(name, client):
        path = folder / f"{name}.npy"
        gram_file.write_gram(path, small, 0, client)  # so that workers have compiled code

        def work():
            path.unlink(missing_ok=True)
            found[name] = gram_file.write_gram(path, engine, 0, client)

        return work

    with cluster_client(None, "local:2") as two:
        sides = {
            "two threads": (write("threads", None), None),
            "two workers": (write("workers", two), two),
            "in memory": (engine.inner_products, None),
        }
        times = in_turns(sides)
    same = found["threads"].tobytes() == found["workers"].tobytes()
    facts = {"set": GRAM_SET, "graphs": len(graphs), "same_bits": same}
    facts["tiles"] = len(list(gram_file._tiles(engine, 0)))
    for over, under in (("two workers", "two threads"), ("two threads", "in memory")):
        record_of("gram", times, over, under, **facts)


def kill_jobs(folder):
    """Work that gives bytes, by name."""
    data = make_graph_classification(n_graphs=400, n_nodes=(20, 60), n_labels=2, rng=0)
    gram_file._TILE_VALUES = 1 << 24
    path = write_parquet(data.graphs, folder / "graphs.parquet", batch_size=20)
    embedding = RetGKEmbedding(random_state=0, walks=Walks(method="monte-carlo", n_walks=100))
    embedding.fit(data.graphs[:50])
    model = GraphClassifier(C=1, candidates={"graph_kernel__scale": (1, 2)}, random_state=0)
    places = np.random.default_rng(0).permutation(len(data.graphs))
    folds = [OuterFold(np.setdiff1d(places, test), test) for test in np.array_split(places, 10)]

    def gram(client):
        kernel, target = RetGK(random_state=0), folder / "gram.npy"
        target.unlink(missing_ok=True)
        return write_mean_embedding_gram(
            target, data.graphs, kernel=kernel, client=client
        ).tobytes()

    def embed(client):
        target = folder / "vectors.npy"
        target.unlink(missing_ok=True)
        return embed_files(embedding, path, target, client=client, piece_size=20).read_bytes()

    def cv(client):
        (answers,) = nested_answers(data.graphs, data.targets, [folds], model, client)
        return b"".join(answer.decisions.tobytes() for answer in answers)

    return {"gram": gram, "embed files": embed, "cv": cv}


def both_workers(client):
    """Numbers of the processes of both workers, when there are two again."""
    while True:
        pids = list(client.run(os.getpid, on_error="ignore").values())
        if len(pids) == 2:
            return pids
        time.sleep(0.2)


def killed_during(work, pid, delay):
    """Do some work, and kill a worker on the way; whether there was time for it, and the result."""
    is_done, kills = threading.Event(), []

    def kill():
        if not is_done.wait(delay):
            os.kill(pid, signal.SIGKILL)
            kills.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    result = work()
    is_done.set()
    thread.join()
    return bool(kills), result


def measure_kills(folder):
    """Kill -9 of a worker at random moments of each job; its result must stay the same."""
    random.seed(0)
    with cluster_client(None, "local:2") as client:
        for name, job in kill_jobs(folder).items():
            expected = job(None)
            job(client)
            start = time.perf_counter()
            assert job(client) == expected
            undisturbed = time.perf_counter() - start
            kills = []
            while len(kills) < KILLS:
                delay = random.uniform(0.05, 0.95) * undisturbed
                pid = random.choice(both_workers(client))
                start = time.perf_counter()
                is_killed, found = killed_during(lambda job=job: job(client), pid, delay)
                assert found == expected
                if is_killed:  # the machine may have been quicker than before
                    took = time.perf_counter() - start
                    kills.append({"after": round(delay, 2), "seconds": round(took, 2)})
            record = {
                "job": name,
                "ratio": "kills",
                "undisturbed_seconds": round(undisturbed, 2),
                "kills": kills,
                "same_bits": True,
                "load": [round(load, 1) for load in os.getloadavg()],
            }
            print(record, flush=True)
            add_record("cluster", record, "job", "ratio")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="speed,gram,kills")
    parser.add_argument("--graphs", type=int, help="a sample of the set of the matrix")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    for name, measure in (("speed", measure_speed), ("gram", measure_gram)):
        if name in wanted:
            with tempfile.TemporaryDirectory() as folder:
                measure(arguments.data, Path(folder), arguments.graphs)
    if "kills" in wanted:
        with tempfile.TemporaryDirectory() as folder:
            measure_kills(Path(folder))


if __name__ == "__main__":
    main()
