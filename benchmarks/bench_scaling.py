"""Molecules from a stream of SMILES strings to vectors: time should be linear, memory flat.

    python -m benchmarks.bench_scaling SMILES_FILE [COUNT ...]

The first line of the file is a header. Every count runs in a process of its own, which parses
with RDKit, embeds, and forgets, a batch at a time; the time of the parser is stated apart.
"""

import argparse
import gzip
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.records import write_records
from retgk._runtime.processes import peak_megabytes
from retgk.io import from_smiles
from retgk.kernels import RetGKEmbedding

COUNTS = [1_000, 10_000, 100_000, 1_000_000]
BATCH = 10_000


def smiles_of(path, count):
    with gzip.open(path, "rt") as lines:
        next(lines)
        yield from map(str.strip, itertools.islice(lines, count))


class TimedBatches:
    """Iterator of batches that knows how long making them took."""

    def __init__(self, path, count):
        self.smiles = smiles_of(path, count)
        self.seconds = 0.0

    def __iter__(self):
        return self

    def __next__(self):
        start = time.perf_counter()
        smiles = list(itertools.islice(self.smiles, BATCH))
        if not smiles:
            raise StopIteration
        batch = from_smiles(smiles)
        self.seconds += time.perf_counter() - start
        return batch


def measure(path, count):
    embedding = RetGKEmbedding(random_state=0, dtype=np.float32).fit(
        from_smiles(list(smiles_of(path, 1_000)))
    )
    next(embedding.transform(TimedBatches(path, 100)))  # compiles
    batches = TimedBatches(path, count)
    start, n_graphs, total, peaks = time.perf_counter(), 0, 0.0, []
    for vectors in embedding.transform(batches):
        n_graphs += len(vectors)
        total += float(np.square(vectors, dtype=np.float64).sum())
        peaks.append(peak_megabytes())
    seconds = time.perf_counter() - start
    return {
        "graphs": n_graphs,
        "features": vectors.shape[1],
        "seconds": seconds,
        "parse_seconds": batches.seconds,
        "embed_seconds": seconds - batches.seconds,
        "mean_squared_norm": total / n_graphs,
        "peak_mb": peaks[-1],
        "peak_mb_at_a_tenth": peaks[len(peaks) // 10],
    }


def record_of(path, count):
    command = [sys.executable, "-m", "benchmarks.bench_scaling", path, str(count), "--worker"]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent
    )
    record = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{record['graphs']:9,} graphs  {record['seconds']:8.2f} s, of which parsing "
        f"{record['parse_seconds']:8.2f} s  {record['graphs'] / record['embed_seconds']:8,.0f} "
        f"graphs/s embedded  peak {record['peak_mb']:.0f} MB "
        f"({record['peak_mb_at_a_tenth']:.0f} MB after a tenth)",
        flush=True,
    )
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("smiles")
    parser.add_argument("counts", nargs="*", type=int, default=COUNTS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.smiles, options.counts[0])))
        return
    records = []
    for count in options.counts:
        records.append(record_of(options.smiles, count))
        write_records("scaling", records)  # what is measured stays if a larger count is interrupted


if __name__ == "__main__":
    main()
