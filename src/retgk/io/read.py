"""`read_graphs`: graphs from a file or folder of any format that retgk knows."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.edges import Symmetrize
from retgk.graphs.flat import Missing
from retgk.io.arrays import Negative
from retgk.io.columns import Categorical, EdgeLabelName
from retgk.io.dataset import GraphDataset, without_empty_targets
from retgk.io.files import (
    ENDINGS_IN_FOLDER,
    Format,
    PathLike,
    check_regular,
    format_of,
    matrix_paths,
    paths_to_read,
    text_of_name,
)
from retgk.io.smiles_files import SmilesReading, read_smiles
from retgk.io.tables import with_targets

SMILES_SUFFIXES = {".smi", ".smiles", ".csv", ".tsv"}


def read_graphs(
    path: PathLike,
    *,
    format: Format | None = None,  # noqa: A002
    label: Hashable | list[Hashable] | None = None,
    attributes: Hashable | list[Hashable] | None = None,
    categorical: Categorical | None = None,
    weight: Hashable | None = "weight",
    edge_label: EdgeLabelName = None,
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
    delimiter: str | None = None,
    weighted: bool = False,
    negative: Negative = "error",
    smiles_column: str | None = None,
    target_column: str | None = None,
    skip_invalid: bool = False,
    bond_orders: bool = False,
    bond_types: bool = False,
    atom_attributes: str | Sequence[str] = (),
    add_hydrogens: bool = False,
    variable: str | None = None,
    targets: PathLike | None = None,
    max_bytes: int | None = None,
    n_jobs: int | None = None,
) -> GraphDataset:
    r"""
    Read graphs from a file or folder; its name, or else its content, tells the format.

    An option of one format does nothing where graphs are of another. Collections are loaded by
    name with :func:`load_tudataset`.

    Parameters
    ----------
    path : path-like
        A zip archive or folder of TUDataset text files; a Parquet file as `write_parquet` makes
        them; a ``.graphml`` file, or a folder of them; a ``.json`` or ``.jsonl`` file as
        `read_json` describes it, or a folder of them; a file of edges, or a folder of ``.edges``
        and ``.edges.gz`` files; adjacency matrices (``.npy``, a matrix or a stack; ``.npz``;
        ``.mat``, version 7 or earlier; ``.csv`` or ``.tsv`` of numbers, one matrix, with or
        without names of rows and columns as pandas and R write them), or a folder of them; a list
        of SMILES strings, or a table with a column of them. Text may be compressed by gzip.
    format : {"tu", "parquet", "graphml", "json", "edges", "matrices", "smiles"}, optional
        What it is, where name and content do not tell. A table of numbers without a header is a
        matrix if it has as many lines as columns, and three or more.
    label : hashable or list of hashable, optional
        GraphML and JSON: node attribute that is the discrete label, or several that make one, a
        tuple.
    attributes : hashable or list of hashable, optional
        GraphML and JSON: node attributes that make up the continuous attributes.
    categorical : hashable, list of hashable, or dict, optional
        GraphML and JSON: node attributes that become columns of zeros and ones, as in
        `from_networkx`.
    weight : hashable, optional
        GraphML and JSON: edge attribute that is the weight; None for unweighted graphs.
    edge_label : hashable or list of hashable, optional
        GraphML and JSON: edge attribute that is the discrete label of an edge, or several that make
        one, a tuple. Labels of edges count with ``depth`` above zero; those of TUDataset and
        Parquet files, and of plain edges in JSON, are always read.
    symmetrize : bool or {"max", "mean", "sum"}, default=False
        TUDataset, GraphML, JSON and matrices: whether to make directed graphs undirected, and what
        the weights of two directions become, as in `from_networkx`. Otherwise they are an error.
    missing : {"error", "label", "nan", "keep"}, default="error"
        GraphML and JSON: what becomes of missing labels and attributes, as in `from_networkx`.
    delimiter : str, optional
        Edge lists: what stands between the columns; a comma in ``.csv`` files and white space in
        others by default.
    weighted : bool, default=False
        Edge lists: whether the third column holds weights.
    negative : {"error", "absolute", "positive", "split"}, default="error"
        Matrices: what becomes of negative weights, as in `from_numpy`.
    smiles_column : str, optional
        Tables: name of the column of SMILES strings, "smiles" by default, in any letter case.
    target_column : str, optional
        Tables: name of the column of targets, in the table of `targets` if that is given. JSON:
        what is the target of a graph, "target" by default.
    skip_invalid : bool, default=False
        SMILES: whether to leave out molecules that RDKit cannot read, with a warning that lists
        them. Otherwise they are an error.
    bond_orders : bool, default=False
        SMILES: whether the order of a bond is its weight.
    bond_types : bool, default=False
        SMILES: whether the type of a bond is the label of its edge.
    atom_attributes : str or sequence of str, default=()
        SMILES: what to keep of every atom as continuous attributes, as in `from_rdkit`.
    add_hydrogens : bool, default=False
        SMILES: whether hydrogens become nodes too.
    variable : str, optional
        ``.mat`` and ``.npz`` files: name of the matrix to read. By default all variables are
        graphs, and must be square.
    targets : path-like, optional
        File of targets: one line for each graph, or a ``.csv`` or ``.tsv`` table, matched by the
        names of files where it has them and by its order otherwise.
    max_bytes : int, optional
        Limit on the unpacked size, and on the memory that reading takes, as files may come from
        strangers. By default 4 GiB of text, and as much memory as honest files of that size need:
        256 MiB or, for larger files, 512 times the size on disk up to 4 GiB, and 64 times the size
        in any case.
    n_jobs : int, optional
        SMILES and GraphML: processes that read them, where there are more than 20,000 molecules or
        some megabytes of files; None for one, -1 for all cores. It changes no result. Inside
        workers of joblib there is one in any case.

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
    table_column = None if targets is not None else target_column
    smiles = SmilesReading(
        smiles_column,
        table_column,
        skip_invalid,
        bond_orders,
        atom_attributes,
        add_hydrogens,
        bond_types,
    )
    named = {"label": label, "attributes": attributes, "categorical": categorical}
    on_edges = {"weight": weight, "edge_label": edge_label}
    values = {**named, **on_edges, "symmetrize": symmetrize, "missing": missing}
    source = _Source(Path(path), format)
    form = source.find_format(is_table=not smiles_column is table_column is None)
    if form == "tu":
        dataset = source.read_tu(symmetrize, max_bytes)
    elif form == "parquet":
        dataset = source.read_parquet(max_bytes)
    elif form == "graphml":
        dataset = source.read_graphml(values, max_bytes, n_jobs)
    elif form == "json":
        dataset = source.read_json(values, table_column, max_bytes)
    elif form == "edges":
        dataset = source.read_edges(delimiter, weighted, max_bytes)
    elif form == "matrices":
        besides = None if targets is None else Path(targets)
        dataset = source.read_matrices(variable, besides, (symmetrize, negative), max_bytes)
    else:
        dataset = source.read_smiles(smiles, max_bytes, n_jobs)
    if targets is None:
        return dataset
    return with_targets(dataset, Path(targets), target_column, max_bytes)


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
        check_regular(self.path)
        if self.given_format not in (None, *get_args(Format)):
            raise InvalidInputError(
                f"format must be one of {', '.join(get_args(Format))}, got {self.given_format!r}"
            )
        return self.given_format or format_of(self.path, is_table)

    @property
    def name(self) -> str:
        return _name_of(self.path) or self.path.name

    def read_tu(self, symmetrize: Symmetrize, max_bytes: int | None) -> GraphDataset:
        from retgk.io.cache import ReadOptions, with_options
        from retgk.io.tudataset import read_tudataset

        options = ReadOptions(symmetrize=symmetrize)
        dataset, _ = read_tudataset(self.path, None, options, max_bytes)
        return without_empty_targets(with_options(dataset, options))

    def read_parquet(self, max_bytes: int | None) -> GraphDataset:
        from retgk.io.parquet import read_parquet

        return without_empty_targets(read_parquet(self.path, max_bytes=max_bytes))

    def read_graphml(
        self, values: dict[str, Any], max_bytes: int | None, n_jobs: int | None
    ) -> GraphDataset:
        from retgk.io.graphml import read_graphml

        paths = paths_to_read(self.path, *ENDINGS_IN_FOLDER["graphml"])
        graphs = read_graphml(paths, max_bytes=max_bytes, n_jobs=n_jobs, **values)
        names = [text_of_name(file.stem) for file in paths]
        return GraphDataset(graphs, None, self.name, graph_names=names)

    def read_json(
        self, values: dict[str, Any], target: str | None, max_bytes: int | None
    ) -> GraphDataset:
        from retgk.io.json import read_json

        found = read_json(self.path, target=target, max_bytes=max_bytes, **values)
        return replace(found, name=self.name)

    def read_matrices(
        self,
        variable: str | None,
        besides: Path | None,
        weights: tuple[Symmetrize, Negative],
        max_bytes: int | None,
    ) -> GraphDataset:
        from retgk.io.matrices import read_matrices

        files = matrix_paths(self.path, besides)
        symmetrize, negative = weights
        graphs, names = read_matrices(files, variable, symmetrize, max_bytes, negative)
        return GraphDataset(graphs, None, self.name, graph_names=names)

    def read_edges(
        self, delimiter: str | None, weighted: bool, max_bytes: int | None
    ) -> GraphDataset:
        from retgk.io.edges import read_edge_list

        paths = paths_to_read(self.path, *ENDINGS_IN_FOLDER["edges"])
        comma = "," if self.path.suffix == ".csv" else None
        graphs = read_edge_list(
            paths, delimiter=delimiter or comma, weighted=weighted, max_bytes=max_bytes
        )
        names = [_name_of(file) for file in paths]
        return GraphDataset(graphs, None, self.name, graph_names=names)

    def read_smiles(
        self, reading: SmilesReading, max_bytes: int | None, n_jobs: int | None
    ) -> GraphDataset:
        try:
            return read_smiles(self.path, reading, self.name, max_bytes, n_jobs)
        except InvalidInputError as error:
            is_guess = self.given_format is None and not SMILES_SUFFIXES & set(self.path.suffixes)
            if error.remedy is None or error.remedy.key != "skip_invalid" or not is_guess:
                raise
            advice = f"{error.remedy.text}; if it is not SMILES, say what it is with format="
            raise InvalidInputError(error.problem, Remedy("smiles_or_format", advice)) from error


def _name_of(path: Path) -> str:
    """Name of a file without its endings."""
    return text_of_name(path.name.split(".", 1)[0])
