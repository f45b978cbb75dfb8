"""
Time of reading a benchmark set, beside its floor and a plain reader, in one run.

    python benchmarks/bench_reading.py FOLDER [SET]

FOLDER holds SET.zip in TUDataset form; SET is COLLAB by default. Prints the time of merely
inflating the archive (zipfile, pieces of 1 MB), of load_tudataset (parsing; parsing and storing
the parsed copy; loading that copy), and of a plain reader on numpy.loadtxt that ends in the same
GraphBatch, then the ratios and the peak memory of a process that does nothing but load the set.
The rounds are interleaved, so that all columns meet the same state of the machine. The compiled
functions are warmed up with a tiny set; what a first call costs is printed apart.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from retgk import GraphBatch, GraphDataset
from retgk.datasets import load_tudataset, save_tudataset

ROUNDS = 5
TINY = "TINY"
# VmHWM, because ru_maxrss of a new process starts from that of the one that started it.
COLD = """
import re, sys, time
from pathlib import Path
from retgk.datasets import load_tudataset
start = time.perf_counter()
load_tudataset(sys.argv[1], sys.argv[2], download=False, cache=False)
seconds = time.perf_counter() - start
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
print(f"{seconds:.3f} s, peak memory {peak:.0f} MB")
"""


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def inflate(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            with archive.open(info) as stream:
                while stream.read(1 << 20):
                    pass


def plain_reader(path: Path) -> GraphBatch:
    """What a person would write in ten minutes."""
    name = path.stem
    with zipfile.ZipFile(path) as archive:

        def table(kind: str) -> np.ndarray:
            with archive.open(f"{name}/{name}_{kind}.txt") as stream:
                return np.loadtxt(stream, dtype=np.int64, delimiter=",")

        table("graph_labels")
        sizes = np.bincount(table("graph_indicator"))[1:]
        return GraphBatch.from_edges(sizes, table("A") - 1)


def warm_up(scratch: Path) -> None:
    edge = GraphBatch.from_edges(2, [[0, 1], [1, 0]])
    save_tudataset(GraphDataset(edge, np.array([1]), TINY), scratch)
    load_tudataset(TINY, scratch, download=False, cache=False)


def measured(path: Path) -> dict[str, float]:
    """Seconds of every way to read, in one round."""
    name, home = path.stem, path.parent
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        return {
            "inflate": seconds_of(lambda: inflate(path)),
            "read": seconds_of(lambda: load_tudataset(name, home, download=False, cache=False)),
            "read and store": seconds_of(lambda: load_tudataset(name, home, download=False)),
            "read stored": seconds_of(lambda: load_tudataset(name, home, download=False)),
        }


def main(folder: str, name: str = "COLLAB") -> None:
    path = Path(folder) / f"{name}.zip"
    with tempfile.TemporaryDirectory() as scratch:
        warm_up(Path(scratch))
    rounds = [measured(path) for _ in range(ROUNDS)]
    medians = {key: statistics.median(row[key] for row in rounds) for key in rounds[0]}
    medians["plain numpy.loadtxt"] = seconds_of(lambda: plain_reader(path))
    print(f"{name}, medians of {ROUNDS} interleaved rounds (loadtxt: one), whole set")
    for key, seconds in medians.items():
        print(f"  {key:22} {seconds:8.3f} s")
    ratios = {
        "read / inflate (at most 2.5)": medians["read"] / medians["inflate"],
        "read and store / inflate": medians["read and store"] / medians["inflate"],
        "loadtxt / read (at least 3)": medians["plain numpy.loadtxt"] / medians["read"],
        "first / second load (at least 10)": medians["read and store"] / medians["read stored"],
    }
    for key, ratio in ratios.items():
        print(f"  {key:36} {ratio:8.2f}")
    each = ", ".join(f"{row['read'] / row['inflate']:.2f}" for row in rounds)
    print(f"  read / inflate in every round: {each}")
    for cold in dict.fromkeys((name, "MUTAG")):
        command = [sys.executable, "-c", COLD, cold, folder]
        shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(f"  {cold} in a fresh process, with imports: {shown.strip()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
