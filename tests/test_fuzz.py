"""A short run of the campaign of `make fuzz`, and the small files that long runs found."""

import gzip
import json
import mmap
import subprocess
import sys
from collections import Counter

import pytest

from retgk import InvalidInputError, read_graphs, write_parquet
from retgk.io.parquet import CompactReader
from tests.fuzz.seed_files import data_set
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import SECONDS

GOOD = {"read", "refused"}
INPUTS = 25


def test_mutated_files_are_read_or_refused(tmp_path):
    names = ",".join(target.name for target in TARGETS)
    command = [sys.executable, "-m", "tests.fuzz.worker", names, "1", "0", str(INPUTS), tmp_path]
    shown = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=600, check=False
    )
    assert shown.returncode == 0, shown.stdout[-300:] + shown.stderr[-2000:]
    reports = [json.loads(line) for line in shown.stdout.splitlines()]
    reports = [report for report in reports if "verdict" in report]
    failures = [report for report in reports if report["verdict"] not in GOOD]
    assert not failures, "\n".join(map(str, failures))
    counts = Counter(report["target"] for report in reports)
    assert counts == dict.fromkeys(names.split(","), INPUTS)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_target_can_fail(target):
    """Every format with checksums has damages that must not be read as other data."""
    has_checksums = target.name in {"parquet", "model", "cache", "gram"}
    assert bool(target.damages) == has_checksums
    assert target.changes or target.damages
    assert SECONDS > 0


# What campaigns found, each made by code --------------------------------------------------------


def flipped_at(data, text, offset, bit):
    """A file with one bit turned over, at a place in its footer."""
    at = data.rindex(text) + offset
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("text", "offset", "bit"),
    [
        (b"labels", 2, 0),  # another name: the labels were gone
        (b"labels", 2, 7),  # no UTF-8: UnicodeDecodeError
        (b"neighbours", 0, 5),
        (b"PAR1", -8, 0),  # the last byte of the footer
        (b"PAR1", -3, 6),  # a footer longer than the file
    ],
)
def test_footers_of_parquet(tmp_path, text, offset, bit):
    path = tmp_path / "x.parquet"
    good = write_parquet(data_set(), path).read_bytes()
    path.write_bytes(flipped_at(good, text, offset, bit))
    with pytest.raises(InvalidInputError, match=r"x.parquet is"):
        read_graphs(path)


def test_statistics_that_end_the_process(tmp_path):
    """Sizes of histograms in the footer, on which pyarrow aborts when it is asked for a column."""
    path = tmp_path / "x.parquet"
    good = write_parquet(data_set(), path).read_bytes()
    size = int.from_bytes(good[-8:-4], "little")
    for at in range(len(good) - 8 - size, len(good) - 8, 5):
        path.write_bytes(good[:at] + bytes([good[at] ^ 8]) + good[at + 1 :])
        with pytest.raises(InvalidInputError, match=r"x.parquet is"):
            read_graphs(path)


@pytest.mark.parametrize(
    "data",
    [
        b"\x1c" * 100,  # structs in structs
        b"\x19\x19" + b"\x19" * 100,  # lists in lists
        b"\x19\xf5\xff\xff\xff\xff\x0f",  # a list of billions
        b"\x18\xff\xff\xff\xff\x0f",  # text of gigabytes
        b"\x15" + b"\xff" * 20,  # a number without end
        b"\x15",  # cut off
        b"\x1f\x00",  # a type that is none
    ],
)
def test_structs_that_are_damaged(tmp_path, data):
    path = tmp_path / "struct"
    path.write_bytes(data)
    with (
        path.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        pytest.raises((LookupError, ValueError)),
    ):
        CompactReader(mapped, 0).struct()


def test_many_tiny_molecules_in_a_small_file(tmp_path):
    """A list of 20 kB that took 20 s."""
    path = tmp_path / "x.smi.gz"
    path.write_bytes(gzip.compress(b"C\n" * 2_000_000))
    with pytest.raises(InvalidInputError, match=r"x.smi.gz: .* would take \d+ bytes of memory"):
        read_graphs(path)
