"""
Mutated files against every reader, for some time: exit 1 if any input is a failure.

    python -m tests.fuzz --seconds 1800 --seed 0 [--only tu-zip,model] [--keep FOLDER]

An input may be read or refused by InvalidInputError. Where a library reads it, the column "library"
counts inputs that took more time or memory, or crashed the process: such an input is read again
with `isolated=True`, which must raise InvalidInputError. Failures are other exceptions, crashes,
other data from a format with checksums, more than 500 MB beyond what the process had, more than
20 s.
Inputs depend on the seed and their number alone; failing ones are kept in FOLDER.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from retgk import InvalidInputError, read_graphs
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import SECONDS

BATCH = 400
START_SECONDS = 300  # imports, on a machine with other work
GOOD = {"read", "refused"}
BEYOND = {"contained", "memory", "slow"}
BY_LIBRARY = {target.name for target in TARGETS if target.by_library}


def lines_of_batch(name, seed, first, count, folder, deadline):
    """Reports of a batch, and whether it was stopped by its end, the deadline, or a crash."""
    command = [sys.executable, "-m", "tests.fuzz.worker", name, seed, first, count, folder]
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        limit = max(deadline - time.monotonic(), 1) + START_SECONDS
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += "\nkilled after its time"
    return [json.loads(line) for line in out.splitlines()], process.returncode, err


def reports_of_batch(name, seed, first, count, folder, deadline):
    """Reports of all inputs of a batch; one that ended the process is a crash."""
    lines, code, err = lines_of_batch(name, seed, first, count, folder, deadline)
    reports = [line for line in lines if "verdict" in line]
    if code != 0:
        last = lines[-1] if lines and "verdict" not in lines[-1] else {"number": first, "way": "-"}
        detail = f"exit code {code}: {err.strip()[-300:]}"
        verdict = "contained" if lines and is_contained(name, folder) else "crash"
        reports.append({**last, "verdict": verdict, "detail": detail, "seconds": 0, "megabytes": 0})
    return reports


def is_contained(name, folder):
    """Whether an input that crashed a library is an InvalidInputError when it is read isolated."""
    if name not in BY_LIBRARY:
        return False
    path = folder / f"crash.{name.partition('-')[0]}"
    shutil.copy(folder / "input", path)
    try:
        read_graphs(path, isolated=True)
    except InvalidInputError:
        return True
    return False


def is_good(name, verdict):
    """Libraries may crash where that is contained, and take more time and memory than we do."""
    return verdict in GOOD or (name in BY_LIBRARY and verdict in BEYOND)


def keep(report, name, seed, folder, kept):
    """Save a failing input of this batch, if it is the one that was tried last."""
    print(f"FAILURE {name} seed {seed}: {json.dumps(report)}", flush=True)
    source = folder / "input"
    if kept is not None and report["verdict"] == "crash" and source.exists():
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, kept / f"{name}-{seed}-{report['number']}")


def campaign(seconds, seed, names, kept, batch=BATCH):
    """Give every target its turns until the time is over; counts of verdicts by target."""
    counts, worst = defaultdict(Counter), defaultdict(lambda: [0.0, 0])
    deadline = time.monotonic() + seconds
    following = dict.fromkeys(names, 0)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        while time.monotonic() < deadline:
            for name in names:
                if time.monotonic() > deadline:
                    break
                folder = Path(scratch)
                first = following[name]
                for report in reports_of_batch(name, seed, first, batch, folder, deadline):
                    following[name] = max(following[name], report["number"] + 1)
                    counts[name][report["verdict"]] += 1
                    worst[name][0] = max(worst[name][0], report["seconds"])
                    worst[name][1] = max(worst[name][1], report["megabytes"])
                    if not is_good(name, report["verdict"]):
                        keep(report, name, seed, folder, kept)
    return counts, worst


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(target.name for target in TARGETS))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--batch", type=int, default=BATCH)
    given = parser.parse_args()
    names = given.only.split(",")
    counts, worst = campaign(given.seconds, given.seed, names, given.keep, given.batch)
    print(
        f"{'reader':16} {'inputs':>8} {'read':>8} {'refused':>8} {'library':>8} {'failures':>8} "
        f"{'s':>6} {'MB':>5}"
    )
    failures = 0
    for name in names:
        found = counts[name]
        bad = sum(count for verdict, count in found.items() if not is_good(name, verdict))
        failures += bad
        total = sum(found.values())
        beyond = total - bad - found["read"] - found["refused"]
        row = (total, found["read"], found["refused"], beyond, bad)
        numbers = " ".join(f"{number:8}" for number in row)
        print(f"{name:16} {numbers} {worst[name][0]:6.1f} {worst[name][1]:5.0f}")
    print(f"{failures} failures; an input may take {SECONDS} s and 500 MB")
    sys.stdout.flush()
    os._exit(1 if failures else 0)


if __name__ == "__main__":
    main()
