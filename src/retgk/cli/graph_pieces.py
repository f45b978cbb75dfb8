"""Graphs for an index, in pieces: files of molecules as streams, all other sources from memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from retgk.cli.options import Common, Reading
from retgk.cli.sources import (
    key_columns,
    molecule_file,
    read_collection,
    read_jobs,
    smiles_reading,
    used_graphs,
)
from retgk.errors import InvalidInputError, Remedy

if TYPE_CHECKING:
    from retgk.graphs.batch import GraphBatch
    from retgk.io.graph_dataset import GraphDataset
    from retgk.search.growing_index import SourcePiece

__all__ = ["IdChoice", "graph_pieces"]

IdChoice = Literal["names", "numbers"]

_PIECE = 20_000
_CHUNK_BYTES = 1 << 22


def graph_pieces(
    source: str,
    reading: Reading,
    common: Common,
    ids: IdChoice | None,
    settings: str = "",
    n_jobs: int | None = None,
) -> CollectionPieces | MoleculePieces:
    """
    Graphs of a source that can be gone through in pieces.

    `ids` says what they are called: by default their names, where they have some, or else their
    numbers. `settings` is part of the fingerprint.
    """
    known = f"{settings} {sorted((name, str(value)) for name, value in asdict(reading).items())}"
    path = molecule_file(source, reading)
    if path is None:
        return CollectionPieces(read_collection(source, reading, common, n_jobs=n_jobs), ids, known)
    return MoleculePieces(path, reading, ids, known, n_jobs)


class CollectionPieces:
    """A collection that was read as a whole."""

    def __init__(self, collection: GraphDataset, ids: IdChoice | None, settings: str) -> None:
        self._collection = collection
        keys = key_columns(collection)
        if ids == "names" and "name" not in keys:
            raise InvalidInputError(f"{collection.name} has no names of graphs; use --ids numbers")
        self._ids = keys["name" if "name" in keys and ids != "numbers" else "graph"]
        _check_distinct(collection.name, self._ids.tolist())
        self._settings = settings

    @property
    def fingerprint(self) -> str:
        """Digest of the graphs, their ids and the settings."""
        from retgk.refinement.label_keys import keys_of_names

        graphs = self._collection.graphs
        digest = hashlib.sha256(self._settings.encode())
        arrays = (graphs.node_ptr, graphs.indptr, graphs.indices, graphs.weights, graphs.labels)
        for values in (*arrays, graphs.attributes, graphs.edge_labels):
            digest.update(values.tobytes())
        for names in (graphs.label_names, graphs.edge_label_names, self._ids.tolist()):
            digest.update(keys_of_names(names, 0).tobytes())
        return digest.hexdigest()

    @property
    def n_graphs(self) -> int:
        """How many there are."""
        return len(self._collection)

    def sample(self, n_graphs: int) -> GraphBatch:
        """Give graphs from all over the collection, about so many."""
        return self._collection.graphs[:: max(1, self.n_graphs // n_graphs)]

    def pieces(self, first: int) -> Iterator[SourcePiece]:
        """Give the graphs from one on."""
        from retgk.search.growing_index import SourcePiece

        for start in range(first, self.n_graphs, _PIECE):
            stop = min(start + _PIECE, self.n_graphs)
            graphs = self._collection.graphs[start:stop]
            yield SourcePiece(graphs, self._ids[start:stop].tolist(), stop)


class MoleculePieces:
    """A file of SMILES, of which a piece at a time is read."""

    def __init__(
        self,
        path: Path,
        reading: Reading,
        ids: IdChoice | None,
        settings: str,
        n_jobs: int | None,
    ) -> None:
        from retgk.io.formats.smiles_files import MoleculeStream

        self._path, self._own, self._ids, self._settings = path, reading, ids, settings
        how = smiles_reading(reading)
        self._stream = MoleculeStream(path, how, reading.max_bytes, read_jobs(n_jobs))
        if not self.n_graphs:
            raise InvalidInputError(f"{path} holds no molecules")
        if ids != "numbers":
            self._check_names()

    def _check_names(self) -> None:
        """Raise if two molecules have the same name, before hours of work; hashes may collide."""
        import numpy as np

        keys = np.fromiter(map(hash, self._stream.names()), np.int64, self.n_graphs)
        found, counts = np.unique(keys, return_counts=True)
        repeated = set(found[counts > 1].tolist())
        names = [name for name in self._stream.names() if hash(name) in repeated]
        _check_distinct(str(self._path), names)

    @property
    def fingerprint(self) -> str:
        """Digest of the file and the settings."""
        digest = hashlib.sha256(f"{self._settings} {self._ids}".encode())
        with self._path.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
        return digest.hexdigest()

    @property
    def n_graphs(self) -> int:
        """How many there are."""
        return self._stream.n_molecules

    def sample(self, n_graphs: int) -> GraphBatch:
        """Give molecules from all over the file, about so many."""
        return used_graphs(self._stream.sample(n_graphs), self._own)

    def pieces(self, first: int) -> Iterator[SourcePiece]:
        """Give the molecules from one on."""
        from retgk.search.growing_index import SourcePiece

        for piece in self._stream.pieces(first):
            ids = piece.numbers if self._ids == "numbers" else piece.names
            yield SourcePiece(used_graphs(piece.graphs, self._own), ids, piece.stop)


def _check_distinct(source: str, names: list[Any]) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise InvalidInputError(
                f"{source}: two graphs have the name {name!r:.80}",
                Remedy("ids", "give them ids of their own"),
            )
        seen.add(name)
