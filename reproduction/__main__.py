"""`python -m reproduction`: the tables and figures of the paper, computed and reported."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retgk.cli.command import command, print_line, print_warning
from retgk.cli.options import Debugging, FileRole

if TYPE_CHECKING:
    from reproduction.graphs import Sources
    from reproduction.tables import Cell

paper_app = typer.Typer(
    help="Reproduce the paper: compute the cells of its tables and figures, and report them.",
    no_args_is_help=True,
)

DEFAULT_RECORDS = Path("paper-records.jsonl")


class ProtocolName(StrEnum):
    paper = "paper"
    nested = "nested"
    time = "time"
    fair = "fair"


@command(name="run", examples=["python -m reproduction run --table 2 --dataset MUTAG"])
def run_cells(
    common: Debugging,  # noqa: ARG001
    table: Annotated[
        list[str] | None, typer.Option(help="1 to 4, as in 1,2. Default: all.")
    ] = None,
    figure: Annotated[
        list[str] | None, typer.Option(help="1 or 2. Default: all, if no table is given.")
    ] = None,
    variations: Annotated[
        bool,
        typer.Option("--variations", help="Changed settings, tried where a cell differs."),
    ] = False,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Only these sets, as in MUTAG,DD.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Only these methods, as in RetGK_I,WL.")
    ] = None,
    repetitions: Annotated[int, typer.Option(min=1, help="Of the cross-validation.")] = 10,
    protocol: Annotated[
        list[ProtocolName] | None,
        typer.Option(
            help="paper: the authors' own; nested: test graphs have no part in choices; time: "
            "kernels from scratch, without accuracies; fair: the fixed folds of Errica et al. "
            "(2020), beside networks. May be repeated."
        ),
    ] = None,
    deduplicate: Annotated[
        bool, typer.Option("--deduplicate", help="Drop copies of graphs before splitting.")
    ] = False,
    records: Annotated[Path, typer.Option(help="File that records are added to.")] = (
        DEFAULT_RECORDS
    ),
    data: Annotated[
        Path | None, typer.Option(help="Folder of the sets; default: download them.")
    ] = None,
    mnist: Annotated[
        Path | None,
        FileRole.READ,
        typer.Option(help="Folder of MNIST's training images, of which FRANKENSTEIN is rebuilt."),
    ] = None,
    splits: Annotated[
        Path | None,
        FileRole.READ,
        typer.Option(help="Folder of NAME_splits.json, for the fair protocol."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for matrices; default: the user's cache folder.")
    ] = None,
    limit_seconds: Annotated[
        float, typer.Option(help="For the matrix of a peer, or all folds of a network.")
    ] = 600.0,
    limit_megabytes: Annotated[float, typer.Option(help="For the same.")] = 8000.0,
    n_jobs: Annotated[int | None, typer.Option(help="Threads; default: all cores.")] = None,
) -> None:
    """Compute what the records lack; it may be killed, and goes on when called again."""
    from reproduction.graphs import Sources
    from reproduction.peers import Limits
    from reproduction.report_tables import result_text
    from reproduction.runner import Runner, ordered_tasks, run_tasks_into
    from reproduction.tables import Protocol, chosen_cells, records_by_cell
    from reproduction.timed_matrices import default_cache
    from retgk._runtime.files import read_records

    protocols: list[Protocol] = [name.value for name in protocol or [ProtocolName.paper]]
    if ("fair" in protocols) != (splits is not None):
        raise typer.BadParameter("--protocol fair and --splits FOLDER go together")
    cells = chosen_cells(
        tables=_numbers("table", table),
        figures=_numbers("figure", figure),
        variations=variations,
        sets=_split_at_commas(dataset),
        methods=_split_at_commas(method),
        protocols=protocols,
        deduplicate=deduplicate,
    )
    sources = Sources(data, mnist)
    cells = _possible_cells(cells, sources, is_asked=bool(method or dataset))
    limits = Limits(limit_seconds, limit_megabytes)
    runner = Runner(sources, cache or default_cache(), n_jobs, limits, splits=splits)
    tasks = ordered_tasks(cells, repetitions)
    n_written = run_tasks_into(records, tasks, runner, print_warning)
    print_line(f"{n_written} records added to {records}")
    found = records_by_cell(read_records(records))
    for cell in cells:
        if text := result_text(cell, found):
            print_line(text)


@command(name="report", examples=["python -m reproduction report --output paper-report"])
def write_paper_report(
    common: Debugging,  # noqa: ARG001
    records: Annotated[
        list[Path] | None, FileRole.READ, typer.Option(help="File of records; may be repeated.")
    ] = None,
    output: Annotated[Path, FileRole.WRITTEN, typer.Option(help="Folder for the report.")] = Path(
        "paper-report"
    ),
    baseline: Annotated[
        Path | None,
        FileRole.READ,
        typer.Option(help="Records of the published method in plain NumPy, from the benchmarks."),
    ] = None,
) -> None:
    """Make Markdown, CSV and PNG from records alone."""
    from reproduction.report import write_report

    print_line(str(write_report(records or [DEFAULT_RECORDS], output, baseline)))


@command(
    name="frankenstein",
    examples=["python -m reproduction frankenstein --data sets --mnist mnist --seed 1"],
)
def rebuild_frankenstein(
    common: Debugging,  # noqa: ARG001
    mnist: Annotated[
        Path, FileRole.READ, typer.Option(help="Folder of MNIST's training images and labels.")
    ],
    data: Annotated[
        Path | None, FileRole.READ, typer.Option(help="Folder that has FRANKENSTEIN_atoms.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the images that are drawn.")] = 0,
    output: Annotated[
        Path, typer.Option(help="Folder for the new one, FRANKENSTEIN_rebuilt_SEED.")
    ] = Path(),
) -> None:
    """Rebuild FRANKENSTEIN by its recipe, from molecules and MNIST; it is not the original."""
    from reproduction.frankenstein import write_rebuilt

    print_line(str(write_rebuilt(data, mnist, seed, output)))


for _each in (run_cells, write_paper_report, rebuild_frankenstein):
    _each.add_to(paper_app)


def _split_at_commas(values: list[str] | None) -> list[str] | None:
    return None if values is None else [part for each in values for part in each.split(",")]


def _numbers(option: str, values: list[str] | None) -> list[int] | None:
    parts = _split_at_commas(values)
    if parts is None:
        return None
    wrong = [part for part in parts if not part.isdecimal()]
    if wrong:
        raise typer.BadParameter(f"--{option} takes whole numbers, got {wrong[0]!r}")
    return [int(part) for part in parts]


def _possible_cells(cells: "list[Cell]", sources: "Sources", is_asked: bool) -> "list[Cell]":
    """Leave out cells that lack something; an error if the user asked for nothing else."""
    from reproduction.runner import lacks
    from retgk.errors import InvalidInputError

    for lack in lacks(sources):
        possible = [cell for cell in cells if not lack.is_needed(cell)]
        n_left_out = len(cells) - len(possible)
        if n_left_out and not possible and is_asked:
            raise InvalidInputError(f"{lack.what}; {lack.remedy}")
        if n_left_out:
            print_warning(f"{lack.what}; cells left out: {n_left_out}; {lack.remedy}")
        cells = possible
    return cells


if __name__ == "__main__":
    from retgk.cli.main import run_program

    run_program(paper_app, "python -m reproduction")
