"""Inputs are kept: no command may write over what it reads, whatever the names."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from retgk.errors import InvalidInputError
from retgk.io.formats.graph_files import graph_files_in
from retgk.runtime.storage import data_home_folder

__all__ = ["check_inputs_kept"]

_STANDARD_INPUT = "-"


def check_inputs_kept(
    outputs: Iterable[str | Path],
    inputs: Iterable[str | Path],
    data_home: Path | None,
    *,
    any_format: bool = False,
) -> None:
    """Raise if an output is one of the inputs: by path, by link, or by another name of the file."""
    sources = list(inputs)
    for output in outputs:
        there = _stat(output)
        if there is None or not (stat.S_ISREG(there.st_mode) or stat.S_ISDIR(there.st_mode)):
            continue
        for name, read in _stats_of_files(sources, data_home, any_format):
            if os.path.samestat(there, read):
                raise InvalidInputError(
                    f"{output} would be written over {name}, which is read; choose another name "
                    "for the output"
                )


def _stats_of_files(
    sources: list[str | Path], data_home: Path | None, any_format: bool
) -> Iterator[tuple[str | Path, os.stat_result]]:
    """Name and facts of every file and folder that may be read."""
    for source in sources:
        if str(source) == _STANDARD_INPUT:
            names: Iterable[tuple[str | Path, Path | int]] = [("standard input", 0)]
        else:
            names = ((path, path) for path in _paths_of(source, data_home, any_format))
        for name, file in names:
            if (found := _stat(file)) is not None:
                yield name, found


def _paths_of(source: str | Path, data_home: Path | None, any_format: bool) -> Iterator[Path]:
    """Path itself, or that of a collection in the data home, and graphs in it if it is a folder."""
    places = [Path(source)]
    if not places[0].exists():
        home = data_home_folder(data_home)
        places = [home / f"{source}.zip", home / f"{source}.zip.sha256", home / source]
        in_home = home.iterdir() if home.is_dir() else ()
        places += (path for path in in_home if path.name.startswith(f"{source}_"))
    for place in places:
        yield place
        if place.is_dir():
            yield from graph_files_in(place, any_format=any_format)


def _stat(path: str | Path | int) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
