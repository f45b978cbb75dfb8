"""Files of graphs, cut into pieces that workers read."""

import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.io.converters.smiles_strings import parsed_smiles
from retgk.io.formats.graph_files import READABLE, PathLike, format_of, paths_to_read
from retgk.io.formats.parquet import iter_parquet
from retgk.io.formats.smiles_files import SmilesReading, smiles_texts
from retgk.io.read_graphs import read_graphs

__all__ = ["FilePiece", "file_pieces"]

_UNLIKE_ROWS = ("skip_invalid", "targets")  # what would leave rows out, or does nothing here
_MOLECULE_OPTIONS = ("bond_orders", "bond_types", "atom_attributes", "add_hydrogens")


@dataclass(frozen=True)
class FilePiece:
    """
    A file, or a part of one.

    Attributes
    ----------
    path : Path
        The file, by the name that all machines have for it.
    row_groups : tuple of int
        Row groups of a Parquet file; empty for other files.
    first : int
        Number of its first graph in the file.
    smiles : tuple of str
        Molecules of a list or table of SMILES, which is read where the pieces are made; empty for
        other files.
    """

    path: Path
    row_groups: tuple[int, ...] = ()
    first: int = 0
    smiles: tuple[str, ...] = ()

    def batches(self, options: Mapping[str, Any], batch_size: int) -> Iterator[GraphBatch]:
        """Read the graphs, in batches where the format allows it."""
        if self.smiles:
            yield self._molecules(options)
            return
        self._check_visible()
        if self.row_groups:
            limit = options.get("max_bytes")
            parts = iter_parquet(self.path, batch_size, row_groups=self.row_groups, max_bytes=limit)
            yield from (part.graphs for part in parts)
        else:
            yield read_graphs(self.path, **options).graphs

    def _molecules(self, options: Mapping[str, Any]) -> GraphBatch:
        own = {name: options[name] for name in _MOLECULE_OPTIONS if name in options}
        try:
            return parsed_smiles(SmilesReading(**own).reader(), self.smiles, None).graphs
        except InvalidInputError as error:
            where = f"{self.path}, counted from molecule {self.first} on"
            raise InvalidInputError(f"{where}: {error.problem}", error.remedy) from error

    def _check_visible(self) -> None:
        if not self.path.exists():
            raise InvalidInputError(
                f"{self.path} cannot be seen on {socket.gethostname()}",
                Remedy("shared_files", "put it where all machines have it by the same name"),
            )

    def as_json(self) -> dict[str, Any]:
        """What tells this piece from others, without its content."""
        n_graphs = len(self.smiles) or None
        return {
            "file": str(self.path),
            "row_groups": list(self.row_groups),
            "first": self.first,
            "molecules": n_graphs,
        }


def file_pieces(
    files: PathLike | Iterable[PathLike], options: Mapping[str, Any], piece_size: int
) -> list[FilePiece]:
    """
    Cut files into pieces of about so many graphs.

    Parquet files are cut between row groups, lists and tables of SMILES between molecules; any
    other file is one piece. Of a folder, all files that can be read are taken, by name.
    """
    for name in _UNLIKE_ROWS:
        if options.get(name):
            raise InvalidInputError(
                f"{name} cannot be given for files that are read in pieces: row i is graph i; "
                f"leave it out, or convert the files first"
            )
    paths = [Path(os.path.abspath(path)) for path in paths_to_read(files, *READABLE)]
    for path in paths:
        if not path.is_file():
            raise InvalidInputError(f"there is no file {path}")
    return list(chain.from_iterable(_pieces_of(path, options, piece_size) for path in paths))


def _pieces_of(path: Path, options: Mapping[str, Any], piece_size: int) -> Iterator[FilePiece]:
    is_table = bool(options.get("smiles_column") or options.get("target_column"))
    form = options.get("format") or format_of(path, is_table)
    if form == "parquet":
        yield from _parquet_pieces(path, piece_size)
    elif form == "smiles":
        columns = SmilesReading(options.get("smiles_column"))
        texts = smiles_texts(path, columns, options.get("max_bytes"))
        for first in range(0, len(texts), piece_size):
            yield FilePiece(path, (), first, tuple(texts[first : first + piece_size]))
    else:
        yield FilePiece(path)


def _parquet_pieces(path: Path, piece_size: int) -> Iterator[FilePiece]:
    """Runs of row groups."""
    sizes = _row_group_sizes(path)
    first = start = n_graphs = 0
    for group, size in enumerate(sizes):
        if n_graphs and n_graphs + size > piece_size:
            yield FilePiece(path, tuple(range(start, group)), first)
            first, start, n_graphs = first + n_graphs, group, 0
        n_graphs += size
    if n_graphs:
        yield FilePiece(path, tuple(range(start, len(sizes))), first)


def _row_group_sizes(path: Path) -> Sequence[int]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            facts = file.metadata
            return [facts.row_group(group).num_rows for group in range(facts.num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(
            f"{path} is not a whole Parquet file: {error}; fetch it again"
        ) from error
