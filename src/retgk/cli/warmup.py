"""`retgk warmup`: compile everything once, so that the first real run is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from retgk.cli.command import command
from retgk.cli.options import Common
from retgk.cli.terminal import note, print_record

__all__ = ["register"]

PARTS = ("kernel", "embedding", "walks", "probabilities", "reading")  # the longest first

Parts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PART...",
        help=f"Only some of {', '.join(PARTS)}.",
        autocompletion=lambda incomplete: [p for p in PARTS if p.startswith(incomplete)],
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--n-jobs", "-j", help="Processes; one per core by default.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    command(
        app,
        examples=[
            "retgk warmup",
            "retgk warmup probabilities kernel",
            "NUMBA_CACHE_DIR=/fast/cache retgk warmup",
        ],
    )(warmup)


def warmup(common: Common, parts: Parts = None, n_jobs: Jobs = None) -> None:
    """
    Compile everything that is compiled on first use, and say how long that took.

    Compiled code is kept beside the package, or in NUMBA_CACHE_DIR, and used by all later runs.
    """
    from time import perf_counter

    from retgk.cli.compiling import compile_parts
    from retgk.errors import InvalidInputError

    wanted = list(parts or PARTS)
    for part in wanted:
        if part not in PARTS:
            raise InvalidInputError(f"there is no part {part!r}; choose from {', '.join(PARTS)}")
    note(common, f"compiling {', '.join(wanted)}, which may take half a minute")
    start = perf_counter()
    seconds: dict[str, float] = {}
    for part, spent in compile_parts(wanted, n_jobs):
        seconds[part] = round(spent, 2)
        note(common, f"{part}: {spent:.1f} s")
    total = round(perf_counter() - start, 2)
    if common.json:
        print_record({"seconds": total, "parts": seconds})
    else:
        print(f"{', '.join(wanted)}: compiled in {total:.1f} s")
