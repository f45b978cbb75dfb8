"""Molecules from SMILES text to saved vectors by `retgk embed`: time, and memory of all processes.

    python -m benchmarks.bench_stream SMILES_FILE [COUNT ...] [--beside FOLDER]

The first line of the file is a header. Memory is the sum over all processes of the program, of the
part of each that is its own (PSS, so that shared pages count once), looked at several times a
second; the record has its peak within each 50,000 molecules, by the size of the unfinished file.
With --beside, a clone of another version runs `benchmarks.bench_scaling` before each count: parsing
in one process, embedding, and nothing saved, which is what `retgk embed` is to be quicker than.
Where others use the machine, CPU time and load say more than the clock.
"""

import argparse
import gzip
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.records import add_record

COUNTS = [50_000, 1_000_000]
SAMPLED = 50_000


def head_of(path, count, folder):
    """File of the first molecules, packed like the whole."""
    part = Path(folder) / "molecules.csv.gz"
    with gzip.open(path, "rt") as lines, gzip.open(part, "wt", compresslevel=1) as out:
        out.writelines(itertools.islice(lines, count + 1))
    return part


def process_tree(root):
    """Numbers of a process and of all that it started, and of what those started."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(status.parent.name)] = int(fields[1])
    tree, new = {root}, {root}
    while new:
        new = {process for process, parent in parents.items() if parent in new} - tree
        tree |= new
    return tree


def own_megabytes(process):
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def measure(path, count):
    """One run of the program; the row of 1,400 numbers of four bytes tells how far it is."""
    with tempfile.TemporaryDirectory() as folder:
        molecules, output = head_of(path, count, folder), Path(folder) / "vectors.npy"
        command = [sys.executable, "-m", "retgk", "embed", str(molecules), "-o", str(output)]
        start, load, cpu_before = time.perf_counter(), os.getloadavg()[0], cpu_of_children()
        program = subprocess.Popen(
            [*command, "--dtype", "float32", "--json", "--quiet"], stdout=subprocess.PIPE, text=True
        )
        peaks = {}
        while program.poll() is None:
            megabytes = sum(map(own_megabytes, process_tree(program.pid)))
            written = sum(file.stat().st_size for file in Path(folder).glob("*vectors*"))
            step = written // (1400 * 4 * SAMPLED)
            peaks[step] = max(peaks.get(step, 0.0), megabytes)
            time.sleep(0.5)
        seconds = time.perf_counter() - start
        told = json.loads(program.stdout.read())
        return {
            "graphs": told["shape"][0],
            "features": told["shape"][1],
            "seconds": seconds,
            "peak_mb": max(peaks.values()),
            "peaks_mb": [round(peaks[step]) for step in sorted(peaks)],
            "cpu_seconds": cpu_of_children() - cpu_before,
            "load_before": load,
            "load_after": os.getloadavg()[0],
            "saved_gb": output.stat().st_size / 1e9,
        }


def cpu_of_children():
    """CPU time of all programs that were started and have ended, and of what they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def other_version(folder, path, count):
    """Seconds of the other version, by its own account, and its CPU time with its start."""
    cpu_before = cpu_of_children()
    environment = {**os.environ, "PYTHONPATH": f"{folder}/src:{folder}"}
    command = [sys.executable, "-m", "benchmarks.bench_scaling", path, str(count), "--worker"]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=folder, env=environment
    )
    return {
        "seconds_beside": json.loads(done.stdout.splitlines()[-1])["seconds"],
        "cpu_seconds_beside": cpu_of_children() - cpu_before,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("smiles")
    parser.add_argument("counts", nargs="*", type=int, default=COUNTS)
    parser.add_argument("--beside", help="clone of the version to compare with")
    options = parser.parse_args()
    for count in options.counts:
        beside = other_version(options.beside, options.smiles, count) if options.beside else {}
        record = {**measure(options.smiles, count), **beside}
        print(record, flush=True)
        add_record("stream", record, "graphs")


if __name__ == "__main__":
    main()
