"""No command writes over what it reads."""

import inspect
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from reproduction.__main__ import paper_app
from retgk import GraphDataset, save_tudataset, write_graphml
from retgk._runtime.files import record_writer
from retgk.cli.command import check_inputs_kept
from retgk.cli.data import convert, info
from retgk.cli.evaluate import compare, cv
from retgk.cli.index import index_app
from retgk.cli.matrices import embed, features, kernel, similar
from retgk.cli.models import explain, explore, fit, predict
from retgk.cli.options import FileRole
from retgk.cli.stats import population_test
from tests.cli_calls import DATA, assert_fails, invoke
from tests.cli_program import PROGRAM, TIMEOUT_SECONDS, environment
from tests.paper_records import MUTAG, made_up, write

REFUSED = ", which is read; choose another name for the output"


@pytest.fixture
def folder(tmp_path: Path, graphs_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Inputs of all kinds, each with another name by links."""
    shutil.copy(graphs_file, tmp_path / "graphs.parquet")
    (tmp_path / "mol.csv").write_text("smiles,y\n" + "CCO,1\nCCN,0\n" * 20)
    (tmp_path / "targets.txt").write_text("0\n1\n" * 20)
    (tmp_path / "model.csv").write_text("a model")
    for name in ("graphs.parquet", "mol.csv", "targets.txt", "model.csv"):
        path = tmp_path / name
        (tmp_path / f"link-{name}").symlink_to(path)
        os.link(path, tmp_path / f"hard-{name}")
    (tmp_path / "series").mkdir()
    plain = DATA.graphs.without_labels().without_attributes()
    write_graphml(plain[:3], tmp_path / "series")
    (tmp_path / "home").mkdir()
    save_tudataset(GraphDataset(plain, DATA.targets, "HOME"), tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "line",
    [
        "fit mol.csv --target-column y -o mol.csv",
        "fit mol.csv --target-column y -o ./mol.csv",
        "fit mol.csv --target-column y -o link-mol.csv",
        "fit link-mol.csv --target-column y -o mol.csv",
        "fit mol.csv --target-column y -o hard-mol.csv",
        "fit graphs.parquet --targets targets.txt -o targets.txt",
        "fit graphs.parquet --targets targets.txt -o hard-targets.txt",
        "fit series -o series/graph-1.graphml",
        "embed mol.csv -o mol.csv",
        "features graphs.parquet -o link-graphs.parquet",
        "kernel mol.csv -o mol.csv",
        "cv mol.csv --target-column y -o mol.csv",
        "predict model.csv graphs.parquet -o model.csv",
        "predict model.csv mol.csv -o mol.csv",
        "similar graphs.parquet --query mol.csv -o mol.csv",
        "similar mol.csv --index 0 -o mol.csv",
        "convert graphs.parquet graphs.parquet",
        "convert graphs.parquet hard-graphs.parquet",
        "convert series series --to graphml",
        "convert series ./series/ --to edges",
        "convert HOME home/HOME.zip --data-home home",
        "convert home/HOME.zip home/HOME.zip",
    ],
)
def test_input_is_kept(line: str, folder: Path) -> None:
    before = contents(folder)
    result = invoke(*line.split())
    assert_fails(result, REFUSED)
    assert len(result.stderr.splitlines()) == 1, "work was done before"
    assert contents(folder) == before


def test_standard_input_is_kept(folder: Path) -> None:
    before = contents(folder)
    for name in ("mol.csv", "hard-mol.csv"):
        with (folder / "mol.csv").open("rb") as stream:
            done = subprocess.run(
                [*PROGRAM, "embed", "-", "-o", name],
                cwd=folder,
                env=environment(),
                stdin=stream,
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        assert f"over standard input{REFUSED}" in done.stderr.decode()
    assert contents(folder) == before


@pytest.mark.parametrize(
    "line",
    [
        "embed mol.csv -D 2 -o new.csv",
        "embed mol.csv -D 2 -o targets.csv",
        "embed series -D 2 -o series/vectors.csv",
        "embed series -D 2 -o targets.csv",
        "convert HOME home/OTHER.zip --data-home home",
    ],
)
def test_other_files_may_be_replaced(line: str, folder: Path) -> None:
    (folder / "targets.csv").write_text("old")
    for _ in range(2):
        result = invoke(*line.split())
        assert result.exit_code == 0, result.output


def test_records_are_kept(folder: Path) -> None:
    (folder / "report").mkdir()
    records = write(folder / "report" / "cells.csv", [made_up(MUTAG)])
    before = contents(folder)
    result = CliRunner().invoke(
        paper_app, ["report", "--records", str(records), "--output", str(folder / "report")]
    )
    assert_fails(result, "the report would be written over")
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["mol.csv", "targets.txt"])
def test_what_holds_no_records_gets_none(name: str, folder: Path) -> None:
    (folder / name).write_text("smiles,y\nCCO,1\nCCN,0")  # no end of line at its end
    before = contents(folder)
    with pytest.raises(ValueError, match="not a record"), record_writer(folder / name):
        pass
    (folder / "one").write_text("one line")
    with pytest.raises(ValueError, match="does not end in a record"), record_writer(folder / "one"):
        pass
    assert contents(folder) == {**before, str(folder / "one"): b"one line"}


@pytest.mark.parametrize(
    "output",
    ["index/manifest.json", "index/new.csv", "index/deep/new.csv", "link", "link-index/new.csv"],
)
@pytest.mark.parametrize("line", ["index query index mol.csv", "similar index --smiles CCO"])
def test_nothing_is_written_into_an_index_that_is_asked(
    line: str, output: str, folder: Path
) -> None:
    build = invoke("index", "build", "mol.csv", "-D", "8", "--ids", "numbers", "-o", "index")
    assert build.exit_code == 0, build.output
    (folder / "link").symlink_to("index/manifest.json")
    (folder / "link-index").symlink_to("index")
    os.link(folder / "index" / "manifest.json", folder / "hard.csv")
    before = contents(folder)
    assert_fails(invoke(*line.split(), "-o", output), "would be written into the index index, whi")
    assert_fails(invoke(*line.split(), "-o", "hard.csv"), REFUSED)
    assert contents(folder) == before
    assert invoke(*line.split(), "-o", "beside.csv").exit_code == 0


@pytest.mark.parametrize(
    "line",
    [
        "test mol.csv graphs.parquet -o x.csv --nodes-output x.csv",
        "test mol.csv graphs.parquet -o x.csv --nodes-output ./sub/../x.csv",
        "test mol.csv graphs.parquet -o old.csv --nodes-output link-old.csv",
        "test mol.csv graphs.parquet -o old.csv --nodes-output hard-old.csv",
        "test mol.csv graphs.parquet -o x.csv --nodes-output dangling.csv",
        "test mol.csv graphs.parquet -o x.svg --figure x.svg",
        "compare graphs.parquet -o t.csv --journal t.csv",
        "compare graphs.parquet -o t.csv -o ./t.csv",
    ],
)
def test_two_outputs_are_two_files(line: str, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "old.csv").write_text("old")
    (folder / "link-old.csv").symlink_to("old.csv")
    os.link(folder / "old.csv", folder / "hard-old.csv")
    (folder / "dangling.csv").symlink_to("x.csv")
    before = contents(folder)
    result = invoke(*line.split())
    assert_fails(result, "are the same file; choose another name for one of these outputs")
    assert len(result.stderr.splitlines()) == 1, "work was done before"
    assert contents(folder) == before


def test_pipes_take_several_outputs(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    check_inputs_kept(["pipe", "pipe", "-", "-"], ["mol.csv"], None)


COMMANDS = [
    *(info, convert, embed, features, kernel, similar, cv, fit, predict, explore, explain),
    *(compare, population_test),
]
NEITHER = {"data_home", "data", "cache"}  # folders where things are found or made by their names
# records are added to those that are there, and a folder is made by its name in the other
BOTH = {"run.records", "frankenstein.output"}


def test_every_option_that_is_a_file_says_what_is_done_with_it() -> None:
    runs: dict[str, Any] = {command.name: command.run for command in COMMANDS}
    runs |= {str(each.name): each.callback for each in paper_app.registered_commands}
    runs |= {f"index {each.name}": each.callback for each in index_app.registered_commands}
    roles = {
        f"{name}.{option.name}": [role for role in FileRole if role in get_args(option.annotation)]
        for name, run in runs.items()
        for option in inspect.signature(run).parameters.values()
        if option.name not in NEITHER
        and ("Path" in str(option.annotation) or option.name in {"source", "query", "output"})
    }
    assert roles["predict.model_file"] == [FileRole.READ]
    assert roles["similar.output"] == [FileRole.WRITTEN]
    assert roles["index query.folder"] == [FileRole.READ]
    assert {name for name, role in roles.items() if len(role) != 1} == BOTH
