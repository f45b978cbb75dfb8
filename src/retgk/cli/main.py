"""The program `retgk`, of which this is the list of commands."""

import sys
from typing import Annotated

import typer

from retgk import __version__
from retgk.cli.command import (
    INTERRUPTED,
    ending_on_signals,
    one_line_errors,
    print_line,
    show_anything,
)
from retgk.cli.data import convert, datasets_app, info
from retgk.cli.evaluate import compare, cv
from retgk.cli.index import index_app
from retgk.cli.matrices import embed, features, kernel, similar
from retgk.cli.models import explain, explore, fit, predict
from retgk.cli.stats import population_test

app = typer.Typer(
    name="retgk",
    help="Compare, classify and search graphs by return probabilities of random walks (RetGK).",
    epilog="\n\n".join(
        [
            "Examples:",
            "  $ retgk info MUTAG",
            "  $ retgk cv MUTAG",
            "  $ retgk fit molecules.csv --target-column active -o model.retgk",
            "  $ retgk predict model.retgk new.smi -o predictions.csv",
            "Exit codes: 0 done, 1 failed (one line says why), 2 not understood, 130 interrupted.",
        ]
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _each in (
    info,
    convert,
    features,
    embed,
    kernel,
    cv,
    compare,
    fit,
    predict,
    explain,
    explore,
    similar,
    population_test,
):
    _each.add_to(app)
app.add_typer(datasets_app, name="datasets")
app.add_typer(index_app, name="index")


def _print_version(wanted: bool) -> None:
    if wanted:
        print_line(__version__)
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Hold the options that stand before a command."""


def main() -> None:
    """Run the program; what goes wrong is one line and an exit code."""
    run_program(app, "retgk")


def run_program(program: typer.Typer, name: str) -> None:
    show_anything()
    try:
        with ending_on_signals(), one_line_errors(debug=False):
            code = program(prog_name=name, standalone_mode=False)
    except typer.Exit as ended:
        code = ended.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)
