"""Everything but Parquet works without pyarrow, and Parquet says which extra it needs."""

import subprocess
import sys
from pathlib import Path

import pytest

from retgk import make_graph_classification, save_tudataset

BLOCKED = """
import sys

class NoPyarrow:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)

sys.meta_path.insert(0, NoPyarrow())
from retgk.cli.main import main
main()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    data = make_graph_classification(24, n_labels=2, n_attributes=2, random_state=0)
    return save_tudataset(data, tmp_path)


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", BLOCKED, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_core_needs_no_pyarrow(home: Path, tmp_path: Path) -> None:
    model, table = tmp_path / "model.retgk", tmp_path / "predictions.csv"
    (tmp_path / "y.csv").write_text("graph,target\n" + "".join(f"{n},{n % 2}\n" for n in range(24)))
    for arguments in (
        ("info", home),
        ("cv", home, "--folds", "3", "--targets", tmp_path / "y.csv"),
        ("fit", home, "-o", model),
        ("predict", model, home, "-o", table),
        ("kernel", home, "-o", tmp_path / "kernel.csv"),
        ("convert", home, tmp_path / "graphs.jsonl.gz"),
        ("convert", home, tmp_path / "OTHER.zip"),
        ("index", "build", home, "-o", tmp_path / "index"),
    ):
        done = run(*arguments, "--quiet")
        assert done.returncode == 0, (arguments, done.stderr)
    assert table.read_text().count("\n") == 25


def test_parquet_says_which_extra_it_needs(home: Path, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    for arguments in (
        ("info", tmp_path / "x.parquet"),
        ("convert", home, tmp_path / "y.parquet"),
        ("kernel", home, "-o", tmp_path / "k.parquet"),
    ):
        done = run(*arguments, "--quiet")
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "retgk[parquet]" in done.stderr
