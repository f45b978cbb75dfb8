"""A page with the help of every command, as the program prints it."""

from pathlib import Path

import typer
from typer.testing import CliRunner

from reference_groups import write_if_new
from retgk.cli.main import app

HEAD = """# The command line

`retgk` reads whatever the library reads: a file, a folder, the name of a benchmark set, `digits`.
Outputs are CSV, Parquet, npz, npy or JSON by their suffix, and appear whole or not at all.
`--json` prints for programs. What goes wrong is one line, and the exit code is 1; 2 means that the
options were not understood, 130 that the program was interrupted. `retgk --install-completion`
completes commands, options and files in the shell.

The pages below are what `retgk COMMAND --help` prints.
"""


def command_names(command, parts=()):
    """Words of every command, groups before what they hold."""
    yield parts
    for name, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from command_names(below, (*parts, name))


def help_text(parts):
    width = {"COLUMNS": "92", "TERMINAL_WIDTH": "92", "TERM": "dumb", "NO_COLOR": "1"}
    result = CliRunner().invoke(app, [*parts, "--help"], prog_name="retgk", env=width)
    if result.exit_code != 0:
        raise RuntimeError(f"retgk {' '.join(parts)} --help failed: {result.output}")
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines())


def write_commands(path):
    sections = [
        f"## {' '.join(('retgk', *parts))}\n\n```text\n{help_text(parts)}\n```\n"
        for parts in command_names(typer.main.get_command(app))
    ]
    write_if_new(Path(path), "\n".join([HEAD, *sections]))
