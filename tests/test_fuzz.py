"""A short run of the campaign of `make fuzz`, and the small files that long runs found."""

import json
import subprocess
import sys
import time
from collections import Counter

import pytest

from retgk.io.formats import formats
from tests.fuzz.__main__ import is_good, reports_of_batch
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import SECONDS

GOOD = {"read", "refused"}
INPUTS = 25


def reports_of(names, folder):
    command = [sys.executable, "-m", "tests.fuzz.worker", names, "1", "0", str(INPUTS), folder]
    shown = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=600, check=False
    )
    reports = [json.loads(line) for line in shown.stdout.splitlines()]
    return [report for report in reports if "verdict" in report], shown


def test_mutated_files_are_read_or_refused(tmp_path):
    names = ",".join(target.name for target in TARGETS if not target.by_library)
    reports, shown = reports_of(names, tmp_path)
    assert shown.returncode == 0, shown.stdout[-300:] + shown.stderr[-2000:]
    failures = [report for report in reports if report["verdict"] not in GOOD]
    assert not failures, "\n".join(map(str, failures))
    counts = Counter(report["target"] for report in reports)
    assert counts == dict.fromkeys(names.split(","), INPUTS)


@pytest.mark.parametrize("name", [target.name for target in TARGETS if target.by_library])
def test_what_libraries_raise_is_an_error_of_the_file(name, tmp_path):
    """A crash is contained where the file is read in a process of its own."""
    deadline = time.monotonic() + 300
    first, failures = 0, []
    while first < INPUTS:  # a crash ends a batch; the next goes on behind it
        reports = reports_of_batch(name, 1, first, INPUTS - first, tmp_path, deadline)
        failures += [report for report in reports if not is_good(name, report["verdict"])]
        first = max(report["number"] for report in reports) + 1
    assert not failures, "\n".join(map(str, failures))


def test_every_format_is_fuzzed():
    names = {target.name.partition("-")[0] for target in TARGETS}
    assert set(formats()) - {"matrices"} <= names
    assert {"npy", "npz", "mat", "matrix"} <= names


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_target_can_fail(target):
    """Every format with checksums has damages that must not be read as other data."""
    has_checksums = target.name in {"model", "cache", "gram"}
    assert bool(target.damages) == has_checksums
    assert target.changes or target.damages
    assert SECONDS > 0
