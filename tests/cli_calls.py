"""Commands called in this process, on graphs that need no download."""

import csv
import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from retgk import (
    make_graph_classification,
)
from retgk.cli.main import app

N_GRAPHS = 40


DATA = make_graph_classification(
    N_GRAPHS, n_labels=3, n_attributes=2, n_nodes=(6, 12), random_state=0
)


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def printed(*arguments: object) -> str:
    """Standard output of a command that went well."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def record(*arguments: object) -> Any:
    return json.loads(printed(*arguments, "--json"))


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def assert_fails(result: Result, message: str) -> None:
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("retgk: ")
    assert message in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
