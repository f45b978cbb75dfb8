"""Small files that ask for gigabytes are refused within a budget; honest files are not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from retgk import InvalidInputError, read_graphs
from retgk._runtime.files import ParseBudget
from retgk.cli.inputs import read_collection
from retgk.cli.options import Common, Reading
from tests.hostile_files import HOSTILE, long_text_in_parquet
from tests.tu_files import write_zip

MEGABYTES = 500
SECONDS = 60
# Imports of packages count as the interpreter; a limit on addresses turns a leak into an error.
CHILD = """
import resource, sys, time
import networkx, pyarrow.csv, pyarrow.parquet, rdkit.Chem
import retgk, retgk.io.text_columns
from retgk._runtime.processes import peak_megabytes
start, before = time.perf_counter(), peak_megabytes()
resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
try:
    print("read", retgk.read_graphs(sys.argv[1]))
except retgk.InvalidInputError as error:
    print("refused", error)
print("cost", round(peak_megabytes() - before), round(time.perf_counter() - start))
"""


@pytest.mark.parametrize("name", HOSTILE)
def test_small_files_take_little_memory(name, tmp_path):
    path = HOSTILE[name](tmp_path)
    assert path.stat().st_size < 1_100_000
    command = [sys.executable, "-c", CHILD, str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert shown.returncode == 0, shown.stderr[-1000:]
    message, cost = re.fullmatch(r"(.*)\ncost (\d+ \d+)\n", shown.stdout, re.DOTALL).groups()
    megabytes, seconds = map(int, cost.split())
    assert megabytes < MEGABYTES, message
    assert seconds < SECONDS, message
    if name != "parquet-text":  # a label that is stored once is held once
        assert str(path) in message
        assert re.search(r"more than the \d+ allowed.*; pass a larger max_bytes", message)


def test_one_label_that_is_used_often_is_held_once(tmp_path):
    graphs = read_graphs(long_text_in_parquet(tmp_path, 2000, 200_000)).graphs
    assert graphs.n_nodes == 2000
    assert graphs.label_names == ("x" * 200_000,)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.edges", "1 2\n" * 100),
        ("x.smi", "CCO\n" * 100),
        ("x.csv", "smiles,y\n" + "CCO,1\n" * 100),
        ("x.graphml", "<graphml><graph><node id='1'/></graph></graphml>" + " " * 300),
    ],
)
def test_every_reader_has_the_option(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=r"allowed.*; pass a larger max_bytes") as error:
        read_graphs(path, max_bytes=300)
    assert str(path) in str(error.value)


def test_archives_and_parquet_have_the_option(tmp_path):
    from retgk import iter_parquet, read_parquet, write_parquet
    from tests.fuzz.seed_files import data_set

    path = write_parquet(data_set(), tmp_path / "x.parquet")
    for read in (
        read_graphs,
        read_parquet,
        lambda path, **limit: list(iter_parquet(path, **limit)),
    ):
        with pytest.raises(InvalidInputError, match=r"its rows would take .*; pass a larger max_b"):
            read(path, max_bytes=300)
    archive = write_zip(tmp_path, node_attributes="1,2\n" * 6)
    with pytest.raises(InvalidInputError, match="2 columns would take 5360 bytes of memory"):
        read_graphs(archive, max_bytes=1000)


def test_targets_have_the_option(tmp_path):
    graphs, targets = tmp_path / "x.smi", tmp_path / "targets.txt"
    graphs.write_text("CCO\n")
    targets.write_text("1" * 3000)
    with pytest.raises(InvalidInputError, match=r"targets.txt: .*max_bytes"):
        read_collection(str(graphs), Reading(targets=targets, max_bytes=50_000), Common(quiet=True))


def test_long_targets_of_many_graphs(tmp_path):
    graphs, targets = tmp_path / "x.smi", tmp_path / "targets.txt"
    graphs.write_text("C\n" * 2000)
    targets.write_text("a\n" * 1999 + "b" * 100_000)
    with pytest.raises(InvalidInputError, match="targets of up to 100000 letters would take"):
        read_collection(str(graphs), Reading(targets=targets), Common(quiet=True))


def test_the_limit_grows_with_the_file():
    allowed = [ParseBudget("x", size).allowed for size in (0, 10**6, 10**7, 10**8, 10**9)]
    assert allowed == [256 << 20, 512 * 10**6, 4 << 30, 64 * 10**8, 64 * 10**9]
    assert ParseBudget("x", 10**9, 7).allowed == 7
    with pytest.raises(InvalidInputError, match="max_bytes must be a positive number, got 0"):
        ParseBudget("x", 1, 0)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["REDDIT-MULTI-12K", "FRANKENSTEIN_atoms", "Synthie", "DHFR"])
def test_honest_archives_take_a_fraction(name, data_folder, monkeypatch):
    left = []
    whole = ParseBudget.check

    def watched(self, n_bytes, what):
        whole(self, n_bytes, what)
        left.append((self.left - n_bytes) / self.allowed)

    monkeypatch.setattr(ParseBudget, "check", watched)
    read_graphs(Path(data_folder) / f"{name}.zip")
    assert min(left) > 0.5
