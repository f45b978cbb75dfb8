"""Inputs are kept, and outputs: no command may write over what it reads or has just written."""

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

from retgk.errors import InvalidInputError
from retgk.io.formats.graph_files import graph_files_in
from retgk.runtime.storage import data_home_folder

__all__ = ["check_inputs_kept"]

_STANDARD_STREAM = "-"


def check_inputs_kept(
    outputs: Iterable[str | Path],
    inputs: Iterable[str | Path],
    data_home: Path | None,
    *,
    any_format: bool = False,
) -> None:
    """Raise if a file has two uses: by path, by link, or by another name of the file."""
    sources, targets = list(inputs), list(outputs)
    _check_apart(targets)
    for output in targets:
        _check_outside(output, sources)
        there = _stat(output)
        if there is None or not _is_kept(there):
            continue
        for name, read in _stats_of_files(sources, data_home, any_format):
            if os.path.samestat(there, read):
                raise InvalidInputError(
                    f"{output} would be written over {name}, which is read; choose another name "
                    "for the output"
                )


def _check_apart(outputs: list[str | Path]) -> None:
    """Raise if two outputs are one file: the second would take the place of the first."""
    for first, second in combinations(outputs, 2):
        if _STANDARD_STREAM not in (str(first), str(second)) and _is_same_file(first, second):
            raise InvalidInputError(
                f"{first} and {second} are the same file; choose another name for one of these "
                "outputs"
            )


def _is_same_file(first: str | Path, second: str | Path) -> bool:
    found, other = _stat(first), _stat(second)
    if found is None or other is None:
        return found is other and os.path.realpath(first) == os.path.realpath(second)
    return _is_kept(found) and os.path.samestat(found, other)


def _is_kept(found: os.stat_result) -> bool:
    """Whether what is written stays; a device or a pipe may get more than one output."""
    return stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)


def _check_outside(output: str | Path, sources: list[str | Path]) -> None:
    """Raise if an output is in the folder of an index, all of whose files belong to it."""
    folders = [path for path in map(Path, sources) if path.is_dir() and _is_index(path)]
    above = [] if str(output) == _STANDARD_STREAM else Path(os.path.realpath(output)).parents
    for folder in folders:
        if any(parent.exists() and parent.samefile(folder) for parent in above):
            raise InvalidInputError(
                f"{output} would be written into the index {folder}, which is read; choose another "
                "folder for the output"
            )


def _is_index(folder: Path) -> bool:
    from retgk.search.index_folder import is_index_folder

    return is_index_folder(folder)


def _stats_of_files(
    sources: list[str | Path], data_home: Path | None, any_format: bool
) -> Iterator[tuple[str | Path, os.stat_result]]:
    """Name and facts of every file and folder that may be read."""
    for source in sources:
        if str(source) == _STANDARD_STREAM:
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
            yield from place.iterdir() if _is_index(place) else ()


def _stat(path: str | Path | int) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
