"""Graphs from whatever the user names, and what commands ask of them."""

from __future__ import annotations

import difflib
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgk.cli.options import Common, Reading
from retgk.cli.terminal import note
from retgk.errors import InvalidInputError
from retgk.io.datasets.download import TUDATASETS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.graphs.batch import GraphBatch
    from retgk.io.formats.smiles_files import MoleculeStream, SmilesReading
    from retgk.io.formats.target_tables import What
    from retgk.io.graph_dataset import GraphDataset

__all__ = [
    "column_values",
    "key_columns",
    "known_smiles",
    "left_out_as_note",
    "molecule_file",
    "molecule_graphs",
    "molecule_stream",
    "query_graph",
    "read_collection",
    "read_jobs",
    "reading_options",
    "required_targets",
    "smiles_reading",
    "source_smiles",
    "texts_of_file",
    "used_graphs",
]

_WORDS = {"groups": "group", "pairs": "pair", "predicted": "prediction"}

STREAMED = 20_000
"""Molecules up to which a file is read as a whole."""


def read_collection(
    source: str,
    reading: Reading,
    common: Common,
    *,
    announce: bool = True,
    n_jobs: int | None = None,
) -> GraphDataset:
    """Read graphs, long files in several processes, and say on standard error what they are."""
    with left_out_as_note(common):
        dataset = _read_source(source, reading, read_jobs(n_jobs))
    dataset = replace(dataset, graphs=used_graphs(dataset.graphs, reading))
    if announce:
        note(common, f"{dataset.name}: {dataset.graphs!r}")
    return dataset


def molecule_stream(
    source: str, reading: Reading, common: Common, n_jobs: int | None = None
) -> MoleculeStream | None:
    """
    Molecules to read piece by piece; None where the source is none of many molecules.

    Targets are checked all together, so there is no stream where any are read.
    """
    from retgk.io.formats.smiles_files import MoleculeStream
    from retgk.io.read_graphs import SMILES_SUFFIXES

    path = molecule_file(source, reading)
    if path is None or not (reading.format or SMILES_SUFFIXES & set(path.suffixes)):
        return None
    if reading.targets is not None or reading.target_column is not None:
        return None
    stream = MoleculeStream(path, smiles_reading(reading), reading.max_bytes, read_jobs(n_jobs))
    if stream.n_molecules <= STREAMED:
        return None
    note(common, f"{path.name}: {stream.n_molecules:,} molecules, read and embedded in pieces")
    return stream


def smiles_reading(reading: Reading) -> SmilesReading:
    """What is read of a file of molecules."""
    from retgk.io.formats.smiles_files import SmilesReading

    return SmilesReading(
        reading.smiles_column,
        reading.target_column,
        reading.skip_invalid,
        bool(reading.bond_orders),
        reading.atom_attribute or (),
        bool(reading.add_hydrogens),
        bool(reading.bond_types),
    )


def read_jobs(n_jobs: int | None) -> int:
    """Processes that read: all cores unless the user asks for fewer."""
    return -1 if n_jobs is None else n_jobs


def used_graphs(graphs: GraphBatch, reading: Reading) -> GraphBatch:
    """Graphs without the labels and attributes that are not to be used."""
    graphs = graphs if reading.use_labels else graphs.without_labels()
    graphs = graphs if reading.use_edge_labels else graphs.without_edge_labels()
    return graphs if reading.use_attributes else graphs.without_attributes()


def molecule_graphs(smiles: list[str], reading: Reading) -> GraphBatch:
    """Graphs of molecules, with what the options say of atoms and bonds."""
    from retgk.io.converters import from_smiles

    return from_smiles(
        smiles,
        attributes=reading.atom_attribute or (),
        add_hydrogens=bool(reading.add_hydrogens),
        bond_orders=bool(reading.bond_orders),
        bond_types=bool(reading.bond_types),
    )


def query_graph(
    reading: Reading, common: Common, query: str | None, smiles: str | None
) -> GraphBatch:
    """Graph to look for, from --query or --smiles."""
    if smiles is not None:
        return used_graphs(molecule_graphs([smiles], reading), reading)
    assert query is not None
    own = replace(reading, targets=None, target_column=None, format=None)
    asked = read_collection(query, own, common, announce=False)
    if len(asked) != 1:
        raise InvalidInputError(f"{asked.name} holds {len(asked)} graphs; a query is one")
    return asked.graphs


def required_targets(dataset: GraphDataset) -> NDArray[Any]:
    """Targets, one for each graph, or an error that says how to give them."""
    targets = dataset.targets
    if targets is None:
        raise InvalidInputError(
            f"{dataset.name} has no targets to learn from; name a column of a CSV with "
            "--target-column, or give a text file of one line per graph with --targets"
        )
    if targets.ndim != 1:
        raise InvalidInputError(
            f"{dataset.name} has {targets.shape[1]} targets for each graph; give one of them with "
            "--targets"
        )
    if (graph := dataset.first_without_target()) is not None:
        finite = "finite " if targets[graph] in (float("inf"), -float("inf")) else ""
        raise InvalidInputError(
            f"{dataset.name}: graph {graph} has no {finite}target; drop it, or give all targets "
            "with --targets"
        )
    return targets


def key_columns(dataset: GraphDataset) -> dict[str, NDArray[Any]]:
    """
    Columns that say which graph a row of a table is about.

    Names are objects: in an array of text, each would take as much memory as the longest.
    """
    import numpy as np

    from retgk.io.graph_dataset import graph_numbers

    columns: dict[str, NDArray[Any]] = {"graph": graph_numbers(dataset)}
    if dataset.graph_names is not None:
        columns["name"] = np.array(dataset.graph_names, dtype=object)
    if dataset.targets is not None and dataset.targets.ndim == 1:
        columns["target"] = dataset.targets
    elif dataset.targets is not None:
        for number, column in enumerate(dataset.targets.T):
            columns[f"target_{number}"] = column
    return columns


def column_values(
    source: str, dataset: GraphDataset, reading: Reading, name: str, option: str = "groups"
) -> list[str]:
    """
    One text for each graph: of a column of the table that was read, or of that of the targets.

    Where there is a file of that name, it has the texts, in one of the forms of --targets.
    """
    from retgk.io.formats.graph_tables import is_table
    from retgk.io.formats.smiles_files import table_column
    from retgk.io.formats.target_tables import What

    word = _WORDS.get(option, "value")
    if Path(name).is_file():
        return texts_of_file(dataset, Path(name), None, What(word, word), reading)

    path = molecule_file(source, reading)
    if path is not None and is_table(path):
        texts = table_column(path, name, option, reading.max_bytes)
        return texts if dataset.rows is None else [texts[row] for row in dataset.rows]
    if reading.targets is not None and is_table(reading.targets):
        return texts_of_file(dataset, reading.targets, name, What(word, word, option), reading)
    raise InvalidInputError(
        f"{source} is no table with a column {name!r}; give a text file of one line per graph "
        f"with --{option}, or the table that has this column with --targets"
    )


def texts_of_file(
    dataset: GraphDataset, path: Path, column: str | None, what: What, reading: Reading
) -> list[str]:
    """One text for each graph, of a file as those of targets are."""
    from retgk.io.formats.target_tables import texts_of_graphs
    from retgk.runtime.parse_budget import ParseBudget

    budget = ParseBudget.of_files(path, [path], reading.max_bytes)
    return texts_of_graphs(dataset, path, column, budget, what)


def source_smiles(source: str, dataset: GraphDataset, reading: Reading) -> list[str]:
    """SMILES of the molecules that were read."""
    from retgk.io.formats.smiles_files import SmilesReading, smiles_texts

    path = molecule_file(source, reading)
    if path is None:
        raise InvalidInputError(
            f"scaffolds are those of molecules, and {source} is no file of SMILES; use --groups or "
            "--split with a file"
        )
    columns = SmilesReading(reading.smiles_column, reading.target_column)
    texts = smiles_texts(path, columns, reading.max_bytes)
    return texts if dataset.rows is None else [texts[row] for row in dataset.rows]


def known_smiles(source: str, dataset: GraphDataset, reading: Reading) -> list[str] | None:
    """SMILES of graphs that came from a file of such; None where others did, or from a pipe."""
    read = dataset.graphs.reading
    if read is None or read.kind != "molecules":
        return None
    try:
        return source_smiles(source, dataset, reading)
    except InvalidInputError:  # from standard input, or in another form
        return None


def molecule_file(source: str, reading: Reading) -> Path | None:
    """File of SMILES that a source is; None if it is another, or no file."""
    from retgk.io.formats.graph_files import format_of

    path = Path(source)
    if source == "-" or not path.exists():
        return None
    return path if (reading.format or format_of(path)) == "smiles" else None


def _read_source(source: str, reading: Reading, n_jobs: int) -> GraphDataset:
    if source == "-":
        return _read_standard_input(reading, n_jobs)
    if Path(source).exists():
        return _read_path(Path(source), reading, n_jobs)
    if source == "digits":
        from retgk.io.datasets.digits import load_digit_graphs

        return _with_targets(load_digit_graphs(), reading)
    return _with_targets(_read_by_name(source, reading), reading)


def _read_path(path: Path, reading: Reading, n_jobs: int) -> GraphDataset:
    """Read a file or folder; no parsed copy is put beside the files of the user."""
    from retgk.io.read_graphs import read_graphs

    return read_graphs(path, **reading_options(reading), n_jobs=n_jobs)


def reading_options(reading: Reading) -> dict[str, Any]:
    """Arguments of `read_graphs`."""
    return {
        "format": reading.format,
        **reading.named_values(),
        "weight": reading.weight or "weight",
        "symmetrize": reading.directions,
        "negative": reading.negative or "error",
        "missing": reading.missing or "error",
        "delimiter": reading.delimiter,
        "weighted": bool(reading.weighted),
        "smiles_column": reading.smiles_column,
        "target_column": reading.target_column,
        "skip_invalid": reading.skip_invalid,
        "bond_orders": bool(reading.bond_orders),
        "bond_types": bool(reading.bond_types),
        "add_hydrogens": bool(reading.add_hydrogens),
        "atom_attributes": reading.atom_attribute or (),
        "variable": reading.variable,
        "targets": reading.targets,
        "max_bytes": reading.max_bytes,
    }


def _read_by_name(name: str, reading: Reading) -> GraphDataset:
    from retgk.io.datasets.tudataset import load_tudataset
    from retgk.io.graph_dataset import without_empty_targets
    from retgk.runtime.storage import data_home_folder

    home = data_home_folder(reading.data_home)
    is_here = "/" not in name and ((home / f"{name}.zip").exists() or (home / name).exists())
    if not is_here and name not in TUDATASETS:
        names = {known.lower(): known for known in ("digits", *TUDATASETS)}
        close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.7)
        hint = (
            f"did you mean {names[close[0]]}?" if close else "`retgk datasets list` shows the names"
        )
        raise InvalidInputError(f"there is no file, folder or known collection {name!r}; {hint}")
    return without_empty_targets(
        load_tudataset(
            name,
            reading.data_home,
            symmetrize=reading.directions,
            max_bytes=reading.max_bytes,
        )
    )


def _read_standard_input(reading: Reading, n_jobs: int) -> GraphDataset:
    """Read what comes in on standard input, from a file: readers want to seek."""
    with tempfile.TemporaryDirectory(prefix="retgk-") as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        with path.open("rb") as stream:
            is_packed = stream.read(2) == b"\x1f\x8b"
        path = path.rename(path.with_suffix(".gz")) if is_packed else path
        try:
            dataset = _read_path(path, reading, n_jobs)
        except InvalidInputError as error:
            problem = error.problem.replace(str(path), "standard input")
            raise InvalidInputError(problem, error.remedy) from error
    return replace(dataset, name="standard input") if dataset.name == "stdin" else dataset


def _with_targets(dataset: GraphDataset, reading: Reading) -> GraphDataset:
    """Give a collection the targets of a file, if one is named."""
    from retgk.io.formats.target_tables import with_targets

    if reading.targets is None:
        return dataset
    return with_targets(dataset, reading.targets, reading.target_column, reading.max_bytes)


@contextmanager
def left_out_as_note(common: Common) -> Iterator[None]:
    """Show the warning about molecules that were left out, as asked, as a note."""
    from retgk.io.formats.smiles_files import LeftOutWarning

    with warnings.catch_warnings():
        show_other = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **to: Any) -> None:
            if issubclass(category, LeftOutWarning):
                note(common, str(message))
            else:
                show_other(message, category, *where, **to)

        warnings.simplefilter("always", LeftOutWarning)
        warnings.showwarning = show
        yield
