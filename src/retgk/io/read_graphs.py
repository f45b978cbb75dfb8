"""`read_graphs`: graphs from a file or folder of any format that retgk knows."""

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.missing_values import Missing
from retgk.io.formats.graph_files import Format, PathLike, format_of, paths_to_read
from retgk.io.formats.smiles_files import SmilesReading, read_smiles
from retgk.io.graph_dataset import GraphDataset, without_empty_targets

__all__ = ["read_graphs"]

_SMILES_SUFFIXES = {".smi", ".smiles", ".csv", ".tsv"}


def read_graphs(
    path: PathLike,
    *,
    format: Format | None = None,  # noqa: A002
    label: Hashable | None = None,
    attributes: Hashable | list[Hashable] | None = None,
    weight: Hashable | None = "weight",
    symmetrize: bool = False,
    missing: Missing = "error",
    delimiter: str | None = None,
    weighted: bool = False,
    smiles_column: str | None = None,
    target_column: str | None = None,
    skip_invalid: bool = False,
    bond_orders: bool = False,
    atom_attributes: str | Sequence[str] = (),
    add_hydrogens: bool = False,
    max_bytes: int | None = None,
) -> GraphDataset:
    r"""
    Read graphs from a file or folder; its name, or else its content, tells the format.

    An option of one format does nothing where graphs are of another. Collections are loaded by
    name with :func:`load_tudataset`.

    Parameters
    ----------
    path : path-like
        A zip archive or folder of TUDataset text files; a Parquet file as `write_parquet` makes
        them; a ``.graphml`` file, or a folder of them; a file of edges, or a folder of ``.edges``
        and ``.edges.gz`` files; a list of SMILES strings, or a table with a column of them. Edge
        lists and SMILES may be compressed by gzip.
    format : {"tu", "parquet", "graphml", "edges", "smiles"}, optional
        What it is, where name and content do not tell.
    label : hashable, optional
        GraphML: node attribute that is the discrete label.
    attributes : hashable or list of hashable, optional
        GraphML: node attributes that make up the continuous attributes.
    weight : hashable, optional
        GraphML: edge attribute that is the weight.
    symmetrize : bool, default=False
        TUDataset and GraphML: whether to make directed graphs undirected. Otherwise they are an
        error.
    missing : {"error", "label", "nan", "keep"}, default="error"
        GraphML: what becomes of missing labels and attributes, as in `from_networkx`.
    delimiter : str, optional
        Edge lists: what stands between the columns; a comma in ``.csv`` files and white space in
        others by default.
    weighted : bool, default=False
        Edge lists: whether the third column holds weights.
    smiles_column : str, optional
        Tables: name of the column of SMILES strings, "smiles" by default, in any letter case.
    target_column : str, optional
        Tables: name of the column of targets.
    skip_invalid : bool, default=False
        SMILES: whether to leave out molecules that RDKit cannot read, with a warning that lists
        them. Otherwise they are an error.
    bond_orders : bool, default=False
        SMILES: whether the order of a bond is its weight.
    atom_attributes : str or sequence of str, default=()
        SMILES: what to keep of every atom as continuous attributes, as in `from_rdkit`.
    add_hydrogens : bool, default=False
        SMILES: whether hydrogens become nodes too.
    max_bytes : int, optional
        Limit on the unpacked size, and on the memory that reading takes, as files may come from
        strangers. By default 4 GiB of text, and as much memory as honest files of that size need:
        256 MiB or, for larger files, 512 times the size on disk up to 4 GiB, and 64 times the size
        in any case.

    Returns
    -------
    GraphDataset
        The graphs with what the files tell of them; targets are None where there are none. Where
        molecules were left out, `rows` has the numbers of the others.

    Raises
    ------
    InvalidInputError
        If the format is not known, or the files are damaged; the message says where.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from retgk import read_graphs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "molecules.csv")
    ...     _ = path.write_text("smiles,active\nCCO,1\nc1ccccc1,0\n")
    ...     read_graphs(path, target_column="active")
    GraphDataset('molecules', GraphBatch(2 graphs, 9 nodes, 8 edges, 2 labels), 2 distinct targets)
    """
    if isinstance(atom_attributes, str):
        atom_attributes = (atom_attributes,)
    smiles = SmilesReading(
        smiles_column, target_column, skip_invalid, bond_orders, atom_attributes, add_hydrogens
    )
    source = _Source(Path(path), format)
    form = source.find_format(is_table=not smiles_column is target_column is None)
    if form == "tu":
        return source.read_tu(symmetrize, max_bytes)
    if form == "parquet":
        return source.read_parquet(max_bytes)
    if form == "graphml":
        named = {"label": label, "attributes": attributes, "weight": weight, "missing": missing}
        return source.read_graphml({**named, "symmetrize": symmetrize}, max_bytes)
    if form == "edges":
        return source.read_edges(delimiter, weighted, max_bytes)
    return source.read_smiles(smiles, max_bytes)


@dataclass(frozen=True)
class _Source:
    """A file or folder; each format has a method, which imports its reader when it is called."""

    path: Path
    given_format: Format | None

    def find_format(self, is_table: bool) -> Format:
        if not self.path.exists():
            raise InvalidInputError(
                f"there is no file or folder {self.path}; load_tudataset loads collections by name"
            )
        if self.given_format not in (None, *get_args(Format)):
            raise InvalidInputError(
                f"format must be one of {', '.join(get_args(Format))}, got {self.given_format!r}"
            )
        return self.given_format or format_of(self.path, is_table)

    @property
    def name(self) -> str:
        return _name_of(self.path) or self.path.name

    def read_tu(self, symmetrize: bool, max_bytes: int | None) -> GraphDataset:
        from retgk.io.formats.parsed_copies import ReadOptions, with_options
        from retgk.io.formats.tudataset_reader import read_tudataset

        options = ReadOptions(symmetrize=symmetrize)
        dataset, _ = read_tudataset(self.path, None, options, max_bytes)
        return without_empty_targets(with_options(dataset, options))

    def read_parquet(self, max_bytes: int | None) -> GraphDataset:
        from retgk.io.formats.parquet import read_parquet

        return without_empty_targets(read_parquet(self.path, max_bytes=max_bytes))

    def read_graphml(self, options: dict[str, Any], max_bytes: int | None) -> GraphDataset:
        from retgk.io.formats.graphml import read_graphml

        paths = paths_to_read(self.path, ".graphml")
        graphs = read_graphml(paths, **options, max_bytes=max_bytes)
        names = [_text(file.stem) for file in paths]
        return GraphDataset(graphs, None, self.name, graph_names=names)

    def read_edges(
        self, delimiter: str | None, weighted: bool, max_bytes: int | None
    ) -> GraphDataset:
        from retgk.io.formats.edge_lists import read_edge_list

        paths = paths_to_read(self.path, ".edges", ".edges.gz")
        comma = "," if self.path.suffix == ".csv" else None
        graphs = read_edge_list(
            paths, delimiter=delimiter or comma, weighted=weighted, max_bytes=max_bytes
        )
        names = [_name_of(file) for file in paths]
        return GraphDataset(graphs, None, self.name, graph_names=names)

    def read_smiles(self, reading: SmilesReading, max_bytes: int | None) -> GraphDataset:
        try:
            return read_smiles(self.path, reading, self.name, max_bytes)
        except InvalidInputError as error:
            is_guess = self.given_format is None and not _SMILES_SUFFIXES & set(self.path.suffixes)
            if error.remedy is None or error.remedy.key != "skip_invalid" or not is_guess:
                raise
            advice = f"{error.remedy.text}; if it is not SMILES, say what it is with format="
            raise InvalidInputError(error.problem, Remedy("smiles_or_format", advice)) from error


def _name_of(path: Path) -> str:
    """Name of a file without its endings."""
    return _text(path.name.split(".", 1)[0])


def _text(name: str) -> str:
    """Read a file's name as UTF-8, whatever the locale; other bytes are given by their codes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
