"""What reading takes is checked before anything is parsed; honest files pass."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from retgk import InvalidInputError, iter_parquet, read_graphs, write_parquet
from retgk._runtime.files import check_size, memory_limit
from retgk.cli.inputs import read_collection
from retgk.cli.options import Common, Reading
from retgk.io.formats import format_of
from tests.fuzz.seed_files import data_set
from tests.hostile_files import HOSTILE
from tests.tu_files import write_zip

MEGABYTES = 1000
SECONDS = 60
# Imports of packages count as the interpreter; a limit on addresses turns a leak into an error.
CHILD = """
import resource, sys, time
import networkx, pyarrow.parquet, rdkit.Chem
import retgk, retgk.io.formats
from retgk._runtime.processes import peak_megabytes
retgk.io.formats.formats()
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
    assert message.startswith("refused")
    assert str(path) in message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.edges", "1 2\n" * 100),
        ("x.smi", "CCO\n" * 100),
        ("x.csv", "smiles,y\n" + "CCO,1\n" * 100),
        ("x.json", '{"edges": [[0, 1]]}'),
        ("x.graphml", "<graphml><graph><node id='1'/></graph></graphml>" + " " * 300),
    ],
)
def test_every_reader_has_the_option(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=r"allowed.*; pass a larger max_bytes") as error:
        read_graphs(path, max_bytes=300)
    assert str(path) in str(error.value)


def test_archives_parquet_and_targets_have_the_option(tmp_path):
    path = write_parquet(data_set(), tmp_path / "x.parquet")
    for read in (read_graphs, lambda path, **limit: list(iter_parquet(path, **limit))):
        with pytest.raises(InvalidInputError, match=r"would take .*; pass a larger max_bytes"):
            read(path, max_bytes=300)
    with pytest.raises(InvalidInputError, match="more than the 1000 allowed"):
        read_graphs(write_zip(tmp_path, node_attributes="1,2\n" * 60), max_bytes=1000)
    graphs, targets = tmp_path / "x.smi", tmp_path / "targets.txt"
    graphs.write_text("CCO\n")
    targets.write_text("1" * 3000)
    with pytest.raises(InvalidInputError, match=r"targets.txt: .*max_bytes"):
        read_collection(str(graphs), Reading(targets=targets, max_bytes=50_000), Common(quiet=True))


def test_one_target_of_many_letters_for_many_graphs(tmp_path):
    graphs, targets = tmp_path / "x.smi", tmp_path / "targets.txt"
    graphs.write_text("C\n" * 2000)
    targets.write_text("a\n" * 1999 + "b" * 100_000)
    with pytest.raises(InvalidInputError, match="a target has 100000 letters"):
        read_graphs(graphs, targets=targets)


def test_the_limit_grows_with_the_file():
    allowed = [memory_limit(size) for size in (0, 10**6, 10**7, 10**8, 10**9)]
    assert allowed == [256 << 20, 512 * 10**6, 4 << 30, 64 * 10**8, 64 * 10**9]
    assert memory_limit(10**9, 7) == 7
    with pytest.raises(InvalidInputError, match="max_bytes must be a positive number, got 0"):
        memory_limit(1, 0)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["COLLAB", "REDDIT-MULTI-12K", "FRANKENSTEIN_atoms", "Synthie"])
def test_honest_archives_pass(name, data_folder):
    path = Path(data_folder) / f"{name}.zip"
    form = format_of(path)
    check_size([path], form.memory_factor, memory_limit(path.stat().st_size), form.size_of)
