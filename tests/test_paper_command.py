"""``retgk paper`` as people call it."""

import re

import pytest
from typer.testing import CliRunner

from reproduction.__main__ import paper_app
from retgk._runtime.files import read_records

from .paper_sets import write_set


def call(*arguments):
    return CliRunner().invoke(paper_app, [str(argument) for argument in arguments])


def test_run_and_report(tmp_path):
    write_set(tmp_path, "MUTAG", 30)
    records = tmp_path / "records.jsonl"
    options = ("--table", 2, "--dataset", "MUTAG", "--method", "RetGK_II", "--repetitions", 2)
    paths = ("--data", tmp_path, "--records", records, "--cache", tmp_path / "cache")
    done = call("run", *options, *paths)
    assert done.exit_code == 0, done.output
    assert "[1/2] table 2, MUTAG, RetGK_II, protocol paper, repetition 1" in done.stderr
    assert f"2 records added to {records}" in done.stdout
    assert re.search(
        r"table 2, MUTAG, RetGK_II: \d+\.\d \(\d+\.\d\); published 90\.1 \(1\.0\)", done.stdout
    )
    assert "0 records added" in call("run", *options, *paths).stdout
    assert len(read_records(records)) == 2
    done = call("report", "--records", records, "--output", tmp_path / "report")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "report" / "report.md").exists()


def test_times(tmp_path):
    write_set(tmp_path, "MUTAG", 20)
    done = call(
        "run", "--table", 2, "--dataset", "MUTAG", "--method", "RetGK_I", "--protocol", "time",
        "--repetitions", 1, "--data", tmp_path, "--records", tmp_path / "r", "--cache", tmp_path,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "peak memory" in done.stderr


def test_frankenstein_without_images(tmp_path):
    write_set(tmp_path, "PROTEINS", 20)
    options = ("run", "--table", 3, "--method", "RetGK_II", "--repetitions", 1, "--data", tmp_path,
               "--records", tmp_path / "r", "--cache", tmp_path)  # fmt: skip
    done = call(*options, "--dataset", "PROTEINS,FRANKENSTEIN_rebuilt")
    assert done.exit_code == 0, done.output
    left_out = "no images for FRANKENSTEIN; cells left out: 1; give --mnist FOLDER"
    assert left_out in done.stderr
    assert "1 records added" in done.stdout
    asked = call(*options, "--dataset", "FRANKENSTEIN_rebuilt")
    assert asked.exit_code == 1
    assert asked.stderr == "retgk: no images for FRANKENSTEIN; give --mnist FOLDER\n"


def test_lists_with_commas(tmp_path):
    for name in ("MUTAG", "BZR"):
        write_set(tmp_path, name, 20)
    paths = ("--data", tmp_path, "--records", tmp_path / "r", "--cache", tmp_path)
    done = call("run", "--table", "2,4", "--dataset", "MUTAG,BZR", "--method", "RetGK_I,RetGK_II",
                "--repetitions", 1, *paths)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "4 records added" in done.stdout
    wrong = call("run", "--table", "two", *paths)
    assert wrong.exit_code == 2
    assert "whole numbers" in wrong.output
    assert "0 records added" in call("run", "--figure", 1, *paths).stdout


def test_figure_by_another_protocol(tmp_path):
    done = call("run", "--figure", 2, "--protocol", "nested", "--records", tmp_path / "r")
    assert done.exit_code == 1
    assert "figures and variations are made by the paper's protocol with all graphs" in done.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("command", ["run", "report"])
def test_help(command):
    assert "--records" in call(command, "--help").output


def test_errors_are_one_line_and_a_traceback_on_demand(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise KeyError("a bug")

    monkeypatch.setattr("reproduction.report.write_report", broken)
    done = call("report", "--records", tmp_path / "r")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "retgk: KeyError: 'a bug' (--debug shows where)\n"
    assert "Traceback" in call("report", "--records", tmp_path / "r", "--debug").stderr
