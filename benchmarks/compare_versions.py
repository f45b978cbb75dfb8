"""Two versions of retgk in one run, in turns: is the new one as fast as the old one?

    python -m benchmarks.compare_versions --old OLD/src --new NEW/src FOLDER [--sets MUTAG,NCI1]

Every version has one process, which compiles and warms up first and then waits for its turn. The
two measure the same job one after the other, the first of them changing from round to round, so
that both meet the same state of the machine. Ratios are old / new: above 1 the new version is
faster. Short jobs are called several times in one measurement.
"""

import argparse
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from benchmarks.records import machine

SETS = ("MUTAG", "NCI1", "DD", "REDDIT-BINARY")
SECONDS_PER_JOB = 12.0  # of both versions together
SECONDS_PER_MEASUREMENT = 0.1
REPEATS = (3, 30)
LEAST_RATIO = 0.95
REPOSITORY = Path(__file__).parent.parent


class Version:
    """A process that runs jobs with the sources in one folder."""

    def __init__(self, sources, folder):
        paths = [str(Path(sources).resolve()), str(REPOSITORY)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.compare_versions_worker", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        package = Path(self.answer())
        if package.parent != Path(paths[0]):
            raise SystemExit(f"{sources} holds no retgk; pass the folder that retgk lies in")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a process has ended before its time; its error stands above")
        return json.loads(line)

    def ask(self, **command):
        print(json.dumps(command), file=self.process.stdin, flush=True)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measurements(old, new, job, repeats):
    """Seconds of both versions, in turns, and how many calls one measurement has."""
    for version in (old, new):
        version.ask(job=job, n_calls=1)  # compiles
    seconds = max(version.ask(job=job, n_calls=1)["wall"] for version in (old, new))
    n_calls = max(1, round(SECONDS_PER_MEASUREMENT / seconds))
    affordable = round(SECONDS_PER_JOB / (2 * n_calls * seconds))
    found = {old: [], new: []}
    for i in range(repeats or min(max(affordable, REPEATS[0]), REPEATS[1])):
        for version in (old, new) if i % 2 == 0 else (new, old):
            found[version].append(version.ask(job=job, n_calls=n_calls))
    return found[old], found[new], n_calls


def record_of(old, new, name, job, repeats):
    """Times and ratios of one job on one set."""
    olds, news, n_calls = measurements(old, new, job, repeats)
    record = {"set": name, "job": job, "repeats": len(olds), "n_calls": n_calls}
    for kind in ("wall", "cpu"):
        for of, statistic in (("min", min), ("median", median)):
            times = [statistic(row[kind] for row in rows) for rows in (olds, news)]
            record[f"old_{kind}_{of}"], record[f"new_{kind}_{of}"] = times
            record[f"{kind}_{of}_ratio"] = times[0] / times[1]
    return record


def print_record(record):
    print(
        f"{record['set']:14} {record['job']:40} {record['repeats']:3} x {record['n_calls']:<3} "
        f"{1e3 * record['old_wall_min']:9.2f} {1e3 * record['new_wall_min']:9.2f}  "
        f"{record['wall_min_ratio']:6.3f} {record['wall_median_ratio']:6.3f}  "
        f"{record['cpu_min_ratio']:6.3f} {record['cpu_median_ratio']:6.3f}",
        flush=True,
    )


def compare(old, new, sets, repeats):
    """Records of all jobs on all sets, printed as they come."""
    print(f"{'':64} wall, ms (least)    old / new: wall       processor")
    print(f"{'set':14} {'job':40} repeats   {'old':>9} {'new':>9}   least median   least median")
    records = []
    for name in sets:
        jobs, _ = (version.ask(set=name) for version in (old, new))
        for job in jobs:
            records.append(record_of(old, new, name, job, repeats))
            print_record(records[-1])
    slower = [r for r in records if r["wall_min_ratio"] < LEAST_RATIO]
    least = min(r["wall_min_ratio"] for r in records)
    print(f"least ratio of least wall times {least:.3f}; below {LEAST_RATIO}: {len(slower)}")
    return records


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="holds the sets as zip files")
    parser.add_argument("--old", required=True, help="folder that the old retgk lies in")
    parser.add_argument("--new", required=True, help="folder that the new retgk lies in")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--repeats", type=int, help="by default about a minute for every set")
    parser.add_argument("-o", "--output", type=Path, help="write the records here, as JSON")
    options = parser.parse_args()
    folder = Path(options.folder).resolve()
    old, new = Version(options.old, folder), Version(options.new, folder)
    records = compare(old, new, options.sets.split(","), options.repeats)
    old.close()
    new.close()
    if options.output:
        run = {"date": datetime.now(UTC).date().isoformat(), **machine()}
        options.output.write_text(json.dumps({"run": run, "records": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()
