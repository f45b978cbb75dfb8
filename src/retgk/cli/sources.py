"""Graphs from whatever the user names: a collection, a file, a folder, standard input."""

from __future__ import annotations

import difflib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from retgk.cli.collection import Collection
from retgk.cli.formats import archive_name, format_of
from retgk.cli.options import Common, Reading
from retgk.cli.smiles_files import read_smiles_file
from retgk.cli.terminal import note
from retgk.cli.text_targets import read_targets
from retgk.errors import InvalidInputError
from retgk.io.datasets.catalogue import TUDATASETS

if TYPE_CHECKING:
    from retgk.graphs.batch import GraphBatch

__all__ = ["read_collection", "used_graphs"]


def read_collection(
    source: str, reading: Reading, common: Common, *, announce: bool = True
) -> Collection:
    """Read graphs, and say on standard error what they are."""
    collection = _with_options(_read(source, reading, common), reading)
    if announce:
        note(common, f"{collection.name}: {collection.graphs!r}")
    return collection


def _read(source: str, reading: Reading, common: Common) -> Collection:
    if source == "-":
        with _standard_input() as path:
            try:
                return _read_path(path, reading, "standard input", common)
            except InvalidInputError as error:
                message = str(error).replace(str(path), "standard input")
                raise InvalidInputError(message) from error
    path = Path(source)
    if path.exists():
        return _read_path(path, reading, path.name.split(".", 1)[0] or path.name, common)
    if source == "digits":
        from retgk.io.datasets.digits import load_digit_graphs

        return Collection.of_dataset(load_digit_graphs())
    return _read_by_name(source, reading)


def _read_by_name(name: str, reading: Reading) -> Collection:
    from retgk.io.datasets.tudataset import load_tudataset
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
    return Collection.of_dataset(
        load_tudataset(name, reading.data_home, symmetrize=reading.symmetrize)
    )


def _read_path(path: Path, reading: Reading, name: str, common: Common) -> Collection:
    form = reading.format or format_of(path)
    if form == "tu":
        return _read_tu(path, reading)
    if form == "parquet":
        from retgk.io.formats.parquet import read_parquet

        return Collection.of_dataset(read_parquet(path))
    if form == "graphml":
        return _read_graphml(path, reading, name)
    if form == "edges":
        return _read_edges(path, reading, name)
    return read_smiles_file(path, reading, name, common)


def _read_tu(path: Path, reading: Reading) -> Collection:
    """Read TU text; a parsed copy is kept in the data home only, not beside files of the user."""
    from retgk.io.formats.archive import DEFAULT_MAX_BYTES
    from retgk.io.formats.tudataset_reader import ReadOptions, read_tudataset

    options = ReadOptions(symmetrize=reading.symmetrize)
    return Collection.of_dataset(
        read_tudataset(path, archive_name(path), options, DEFAULT_MAX_BYTES)
    )


def _read_graphml(path: Path, reading: Reading, name: str) -> Collection:
    from retgk.io.formats.file_series import paths_to_read
    from retgk.io.formats.graphml import read_graphml

    paths = paths_to_read(path, ".graphml")
    graphs = read_graphml(
        paths, label=reading.label, attributes=reading.attribute, symmetrize=reading.symmetrize
    )
    return Collection(graphs, name, graph_names=[file.stem for file in paths])


def _read_edges(path: Path, reading: Reading, name: str) -> Collection:
    from retgk.io.formats.edge_lists import read_edge_list
    from retgk.io.formats.file_series import paths_to_read

    paths = paths_to_read(path, ".edges", ".edges.gz")
    comma = "," if path.suffix == ".csv" else None
    graphs = read_edge_list(paths, delimiter=reading.delimiter or comma, weighted=reading.weighted)
    return Collection(graphs, name, graph_names=[file.name.split(".", 1)[0] for file in paths])


def _with_options(collection: Collection, reading: Reading) -> Collection:
    """Collection with the targets that were given, without what is not to be used."""
    if reading.targets is not None:
        targets = read_targets(reading.targets, len(collection))
        collection = replace(collection, targets=targets)
    return replace(collection, graphs=used_graphs(collection.graphs, reading))


def used_graphs(graphs: GraphBatch, reading: Reading) -> GraphBatch:
    """Graphs without the labels and attributes that are not to be used."""
    graphs = graphs if reading.use_labels else graphs.without_labels()
    return graphs if reading.use_attributes else graphs.without_attributes()


@contextmanager
def _standard_input() -> Iterator[Path]:
    """File with what comes in on standard input: readers want to seek."""
    with tempfile.TemporaryDirectory(prefix="retgk-") as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        with path.open("rb") as stream:
            is_packed = stream.read(2) == b"\x1f\x8b"
        yield path.rename(path.with_suffix(".gz")) if is_packed else path
