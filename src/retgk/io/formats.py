"""
File formats: one registry, from which all lists of formats and endings are made.

The file of a format makes a `Format`, which registers it. A new format is a new file in this
package: `read_graphs`, folders, completion, help, the table in the docs and the fuzzer find it.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, ClassVar, TypeVar

from retgk._runtime.files import (
    atomic_path,
    check_regular,
    check_size,
    naming_damage,
    open_unpacked,
    unpacked_size,
)
from retgk.errors import InvalidInputError

PathLike = str | os.PathLike[str]
Graph = TypeVar("Graph")

TABLES = (".csv", ".tsv")
"""Endings of tables, which several formats share: the content tells which it is."""

_GZIP = ".gz"
_HEAD_BYTES = 4096
_LONGEST_LINE = 1 << 20


class Sample:
    """Beginning of a file, by which formats know theirs; `names_columns` says it is a table."""

    def __init__(self, path: Path, names_columns: bool = False) -> None:
        self.path, self.names_columns = path, names_columns
        self.is_table = names_columns or ending_of(path) in TABLES

    @cached_property
    def head(self) -> bytes:
        with naming_damage(self.path), open_unpacked(self.path) as stream:
            return stream.read(_HEAD_BYTES)

    @cached_property
    def text(self) -> str:
        errors = "strict" if len(self.head) < _HEAD_BYTES else "ignore"
        try:
            text = self.head.decode("utf-8-sig", errors)
        except UnicodeDecodeError:
            return ""
        return "" if "\0" in text else text

    @cached_property
    def lines(self) -> list[str]:
        lines = map(str.strip, self.text.splitlines())
        return [line for line in lines if line and not line.startswith("#")]

    def all_lines(self) -> Iterator[str]:
        """Such lines of the whole file; long ones are cut off."""
        with naming_damage(self.path), open_unpacked(self.path) as stream:
            while line := stream.readline(_LONGEST_LINE):
                text = line.decode("utf-8-sig", "replace").strip()
                if text and not text.startswith("#"):
                    yield text


@dataclass(frozen=True, kw_only=True)
class Format:
    """A file format, registered by being made."""

    name: str  # what `format=` calls it
    endings: tuple[str, ...]  # of its files; where formats share one, the content tells
    read: Callable[..., Any]  # from a list of files to a `GraphDataset`, whose name may be empty
    options: tuple[str, ...] = ()  # keyword arguments of `read`, which are options of `read_graphs`
    # whether a sample is the beginning of such a file: asked by name, SMILES, of any table, last
    sniff: Callable[[Sample], bool] = lambda _: False
    write: Callable[[Any, Path], Any] | None = None  # a `GraphDataset` to a file or into a folder
    writes_folder: bool = False
    memory_factor: int = 64  # bytes of memory that reading takes for each byte, unpacked
    binary: tuple[str, ...] = ()  # endings that no `.gz` may follow
    # Endings in a folder that holds one collection, by rank: a later rank counts where there is
    # nothing of an earlier one, of any format. By default all endings have the first rank.
    in_folder: tuple[tuple[str, ...], ...] | None = None
    size_of: Callable[[Path, int], int] = unpacked_size  # bytes of a file, unpacked
    example: bytes = b""  # a small file for tests, where nothing writes the format

    registered: ClassVar[dict[str, "Format"]] = {}

    def __post_init__(self) -> None:
        self.registered[self.name] = self

    @property
    def readable(self) -> tuple[str, ...]:
        return self._with_gzip(self.endings)

    @property
    def folder_ranks(self) -> tuple[tuple[str, ...], ...]:
        ranks = (self.endings,) if self.in_folder is None else self.in_folder
        return tuple(map(self._with_gzip, ranks))

    def _with_gzip(self, endings: Iterable[str]) -> tuple[str, ...]:
        plain = tuple(endings)
        return plain + tuple(f"{each}{_GZIP}" for each in plain if each not in self.binary)

    def is_named(self, path: Path) -> bool:
        return path.name.lower().endswith(self.readable)

    def files(
        self,
        path: Path,
        max_bytes: int | None = None,
        besides: Path | None = None,
    ) -> list[Path]:
        """List a file, or those of a folder, by name, and check what reading them takes."""
        files = self._listed(path, besides)
        for file in files:
            check_regular(file)
        check_size(files, self.memory_factor, max_bytes, self.size_of)
        return files

    def _listed(self, path: Path, besides: Path | None = None) -> list[Path]:
        if not path.is_dir():
            return [path]
        found = [file for file in sorted(path.iterdir()) if not _is_same(file, besides)]
        for endings in self.folder_ranks:
            if files := [file for file in found if file.name.endswith(endings)]:
                return files
        known = list(chain.from_iterable(self.folder_ranks))
        raise InvalidInputError(
            f"{path} holds no files that end in {' or '.join(known)}"
            if known
            else f"{path} is a folder, and {self.name} is read from files"
        )


def _is_same(file: Path, other: Path | None) -> bool:
    return other is not None and other.exists() and file.samefile(other)


@cache
def formats() -> dict[str, Format]:
    """All formats by name: those that the modules of this package make."""
    import retgk.io

    for module in iter_modules(retgk.io.__path__):
        import_module(f"retgk.io.{module.name}")
    return dict(sorted(Format.registered.items()))


def endings() -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(form.endings for form in formats().values())))


@cache
def readable_endings() -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(form.readable for form in formats().values())))


def reading_options() -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(form.options for form in formats().values())))


def formats_table() -> str:
    def listed(names: Iterable[str]) -> str:
        return ", ".join(f"`{name}`" for name in names)

    rows = ["| format | files | a folder holds |", "| --- | --- | --- |"]
    for form in formats().values():
        ranks = (form.endings,) if form.in_folder is None else form.in_folder
        folder = ", or else ".join(listed(rank) for rank in ranks if rank)
        rows.append(f"| `{form.name}` | {listed(form.endings)} | {folder} |")
    return "\n".join(rows)


def checked_format(name: str) -> Format:
    if name not in formats():
        raise InvalidInputError(f"format must be one of {', '.join(formats())}, got {name!r}")
    return formats()[name]


def format_of(path: Path, names_columns: bool = False) -> Format:
    """Tell the format of a file or folder by its name, or else by its content."""
    if path.is_dir():
        return _format_of_folder(path)
    named = [form for form in formats().values() if form.is_named(path)]
    if len(named) == 1:
        return named[0]
    sample = Sample(path, names_columns)
    found = next((form for form in named or formats().values() if form.sniff(sample)), None)
    if found is None:
        raise InvalidInputError(f"{path} cannot be recognised; {_format_remedy()}")
    return found


def _format_remedy() -> str:
    names = ", ".join(formats())
    return f"say what it is with format=, one of {names}"


def _format_of_folder(path: Path) -> Format:
    names = [file.name for file in path.iterdir()]
    for rank in _endings_by_rank():
        found = [form for form, own in rank if any(name.endswith(own) for name in names)]
        if found:
            break
    if len(found) != 1:
        known = [
            f"{form.name} ({', '.join(chain.from_iterable(form.in_folder or (form.endings,)))})"
            for form in formats().values()
            if form.folder_ranks
        ]
        raise InvalidInputError(
            f"the folder {path} holds {' and '.join(form.name for form in found) or 'no'} graphs; "
            f"it should hold files of one of: {', '.join(known)}"
            + (f"; {_format_remedy()}" if found else "")
        )
    return found[0]


def _endings_by_rank() -> list[list[tuple[Format, tuple[str, ...]]]]:
    known = formats().values()
    most = max(len(form.folder_ranks) for form in known)
    return [
        [(form, form.folder_ranks[rank]) for form in known if rank < len(form.folder_ranks)]
        for rank in range(most)
    ]


def graph_files_in(folder: Path, *, any_format: bool) -> list[Path]:
    """List what may be read where a folder is named; `any_format` if one was asked for."""
    listed, found = sorted(folder.iterdir()), list[Path]()
    for number, rank in enumerate(_endings_by_rank()):
        endings = tuple(chain.from_iterable(own for _, own in rank))
        endings += (".txt",) * (number == 0)  # other files of a TU collection
        if any_format or not found:
            found += [file for file in listed if file.name.endswith(endings)]
    return found


# Names of files


def ending_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != _GZIP]
    return suffixes[-1] if suffixes else ""


def bare_name(path: Path) -> str:
    """Name of a file without the ending of its format; other dots are part of the name."""
    name = path.name
    found = [each for each in readable_endings() if name.lower().endswith(each) and name != each]
    return text_of_name(name[: len(name) - max(map(len, found), default=0)])


def text_of_name(name: str) -> str:
    """Read a file's name as UTF-8, whatever the locale; other bytes are given by their codes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def write_series(
    write: Callable[[Graph, Path], None],
    graphs: Sequence[Graph],
    folder: PathLike,
    stem: str,
    suffix: str,
) -> list[Path]:
    width = len(str(max(len(graphs) - 1, 0)))
    paths = [
        Path(folder) / f"{stem}-{str(position).zfill(width)}{suffix}"
        for position in range(len(graphs))
    ]
    _check_no_longer_series(paths, Path(folder), stem, suffix)
    for graph, path in zip(graphs, paths, strict=True):
        # to wait for each to be on the disk would take far longer
        with atomic_path(path, synced=False, follow_links=False) as part:
            write(graph, part)
    return paths


def _check_no_longer_series(paths: list[Path], folder: Path, stem: str, suffix: str) -> None:
    there = set(folder.iterdir()) if folder.is_dir() else set()
    numbered = re.compile(rf"{re.escape(stem)}-\d+{re.escape(suffix)}", re.ASCII)
    for path in sorted(there - set(paths)):
        if numbered.fullmatch(path.name):
            raise InvalidInputError(
                f"{path} is there already and would be taken for one of these graphs; remove it, "
                "or choose another folder or stem"
            )


# What to do where a format cannot hold the labels of nodes or of edges


def label_remedy(of_edges: bool, or_else: str = ", or write Parquet") -> str:
    if of_edges:
        advice = "number the labels (with_edge_labels(graphs.edge_labels)), leave them out "
        return f"{advice}(--no-edge-labels){or_else}"
    return f"number the labels (with_labels(graphs.labels)), leave them out (--no-labels){or_else}"
