"""One graph per file: which files are read, and how those that are written are called."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from retgk.errors import InvalidInputError
from retgk.runtime.storage import atomic_path

__all__ = ["PathLike", "paths_to_read", "write_series"]

PathLike = str | os.PathLike[str]
Graph = TypeVar("Graph")


def paths_to_read(paths: PathLike | Iterable[PathLike], *suffixes: str) -> list[Path]:
    """Files that were named, or those of a folder with one of the suffixes, sorted by name."""
    if not isinstance(paths, str | os.PathLike):
        files = [Path(path) for path in paths]
        if not files:
            raise InvalidInputError("there are no files to read")
        return files
    path = Path(paths)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.name.endswith(suffixes))
    if not files:
        raise InvalidInputError(f"{path} holds no files that end in {' or '.join(suffixes)}")
    return files


def write_series(
    write: Callable[[Graph, Path], None],
    graphs: Sequence[Graph],
    folder: PathLike,
    stem: str,
    suffix: str,
) -> list[Path]:
    """Write files whose names sort in the order of the graphs; no others of their kind stay."""
    width = len(str(max(len(graphs) - 1, 0)))
    paths = [
        Path(folder) / f"{stem}-{str(position).zfill(width)}{suffix}"
        for position in range(len(graphs))
    ]
    _check_none_beside(paths, Path(folder), stem, suffix)
    for graph, path in zip(graphs, paths, strict=True):
        with atomic_path(path) as part:
            write(graph, part)
    return paths


def _check_none_beside(paths: list[Path], folder: Path, stem: str, suffix: str) -> None:
    """Raise if files of an earlier, longer series would be read together with the new ones."""
    there = set(folder.iterdir()) if folder.is_dir() else set()
    for path in sorted(there - set(paths)):
        number = path.name.removeprefix(f"{stem}-").removesuffix(suffix)
        if path.name == f"{stem}-{number}{suffix}" and number.isdecimal():
            raise InvalidInputError(
                f"{path} is there already and would be taken for one of these graphs; remove it, "
                "or choose another folder or stem"
            )
