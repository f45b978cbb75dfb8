"""Stored records: the only bridge between running a benchmark and reporting it."""

import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from reproduction.records import cpu_name

FOLDER = Path(__file__).parent / "records"
PACKAGES = ("retgk", "numpy", "scipy", "scikit-learn")


def machine():
    """What the numbers of this run depend on."""
    return {
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def add_record(name, record, *keys):
    """Put one record in the place of the one with the same keys, so that runs can be resumed."""
    path = FOLDER / f"{name}.jsonl"
    records = read_records(name) if path.exists() else []
    places = [
        place
        for place, other in enumerate(records)
        if all(other[key] == record[key] for key in keys)
    ]
    records[slice(*((places[0], places[0] + 1) if places else (len(records), None)))] = [record]
    write_records(name, records)


def write_records(name, records):
    """Replace the records of one benchmark, all at once; records that have a run keep it."""
    FOLDER.mkdir(exist_ok=True)
    stamp = {"date": datetime.now(UTC).date().isoformat(), **machine()}
    lines = [json.dumps({"run": stamp, **record}) for record in records]
    temporary = FOLDER / f"{name}.tmp"
    temporary.write_text("\n".join(lines) + "\n")
    temporary.replace(FOLDER / f"{name}.jsonl")


def read_records(name):
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]


def best_time(function, repetitions=3):
    """Shortest of several runs: the machine is shared, so noise only adds."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_memory(program, *arguments):
    """Number that a program in a fresh interpreter prints last: by its own account, its peak."""
    output = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
    ).stdout
    return float(output.strip().splitlines()[-1])
