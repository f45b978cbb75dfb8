"""Graphs from whatever the user names, and what commands ask of them."""

from __future__ import annotations

import difflib
import hashlib
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retgk.cli.command import note
from retgk.cli.options import Common, Reading
from retgk.datasets import TUDATASETS
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.graphs.batch import GraphBatch
    from retgk.graphs.reading import Reading as FittedReading
    from retgk.io.dataset import GraphDataset
    from retgk.io.molecules import MoleculeStream, SmilesReading
    from retgk.search.index import SourcePiece

_WORDS = {"groups": "group", "subjects": "subject", "predicted": "prediction"}

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
    with left_out_as_note(common):
        dataset = _read_source(source, reading, read_jobs(n_jobs))
    dataset = replace(dataset, graphs=used_graphs(dataset.graphs, reading))
    if announce:
        note(common, f"{dataset.name}: {dataset.graphs!r}")
    return dataset


def molecule_stream(
    source: str, reading: Reading, common: Common, n_jobs: int | None = None
) -> MoleculeStream | None:
    """Molecules to read piece by piece; None where the source is none of many molecules."""
    from retgk.io.molecules import SMILES, MoleculeStream

    path = molecule_file(source, reading)
    if path is None or reading.isolated or not (reading.format or SMILES.is_named(path)):
        return None
    if reading.targets is not None or reading.target_column is not None:
        return None
    stream = MoleculeStream(path, smiles_reading(reading), reading.max_bytes, read_jobs(n_jobs))
    if stream.n_molecules <= STREAMED:
        return None
    note(common, f"{path.name}: {stream.n_molecules:,} molecules, read and embedded in pieces")
    return stream


def smiles_reading(reading: Reading) -> SmilesReading:
    from retgk.io.molecules import SmilesReading

    given, known = reading_options(reading), SmilesReading.__dataclass_fields__
    return SmilesReading(**{name: value for name, value in given.items() if name in known})


def read_jobs(n_jobs: int | None) -> int:
    return -1 if n_jobs is None else n_jobs


def used_graphs(graphs: GraphBatch, reading: Reading) -> GraphBatch:
    graphs = graphs if reading.use_labels else graphs.without_labels()
    graphs = graphs if reading.use_edge_labels else graphs.without_edge_labels()
    return graphs if reading.use_attributes else graphs.without_attributes()


def query_graph(
    reading: Reading, common: Common, query: str | None, smiles: str | None
) -> GraphBatch:
    if smiles is not None:
        from retgk.io.molecules import parsed_smiles

        return used_graphs(
            parsed_smiles(smiles_reading(reading).reader(), [smiles], None).graphs, reading
        )
    assert query is not None
    own = replace(reading, targets=None, target_column=None, format=None)
    asked = read_collection(query, own, common, announce=False)
    if len(asked) != 1:
        raise InvalidInputError(f"{asked.name} holds {len(asked)} graphs; a query is one")
    return asked.graphs


def required_targets(dataset: GraphDataset, *, several: bool = False) -> NDArray[Any]:
    """Targets to learn from: one for each graph, or several with gaps where that is allowed."""
    targets = dataset.targets
    if targets is None:
        raise InvalidInputError(
            f"{dataset.name} has no targets to learn from; name a column of a CSV with "
            "--target-column, or give a text file of one line per graph with --targets"
        )
    if targets.ndim != 1 and several:
        return targets
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
    """Columns that say which graph a row of a table is about."""
    import numpy as np

    from retgk.io.dataset import graph_numbers

    columns: dict[str, NDArray[Any]] = {"graph": graph_numbers(dataset)}
    if dataset.graph_names is not None:
        columns["name"] = np.array(dataset.graph_names, dtype=object)
    if dataset.targets is not None and dataset.targets.ndim == 1:
        columns["target"] = dataset.targets
    elif dataset.targets is not None:
        for name, column in zip(target_names(dataset), dataset.targets.T, strict=True):
            columns[f"target_{name}"] = column
    return columns


def target_names(dataset: GraphDataset) -> list[str]:
    """Names of several targets: of columns where these are known, else numbers."""
    names = dataset.target_names
    n_targets = 1 if dataset.targets is None else dataset.targets.shape[-1]
    return list(map(str, range(n_targets))) if names is None else list(names)


def node_columns(graphs: GraphBatch) -> dict[str, NDArray[Any]]:
    """Columns that say which node of its graph a row is about: its number, and its name."""
    import numpy as np

    from retgk.graphs.flat import numbers_of_nodes

    columns: dict[str, NDArray[Any]] = {"node": numbers_of_nodes(graphs.node_ptr)}
    if graphs.node_names is not None:
        columns["node_name"] = np.array(list(map(str, graphs.node_names)), dtype=object)
    return columns


def column_values(
    source: str, dataset: GraphDataset, reading: Reading, name: str, option: str = "groups"
) -> list[str]:
    """
    One text for each graph: of a column of the table that was read, or of that of the targets.

    Where there is a file of that name, it has the texts, in one of the forms of --targets.
    """
    from retgk.io.molecules import table_column
    from retgk.io.tables import What, is_table, texts_of_graphs

    word = _WORDS.get(option, "value")
    if Path(name).is_file():
        return texts_of_graphs(dataset, Path(name), None, What(word, word), reading.max_bytes)
    path = molecule_file(source, reading)
    if path is not None and is_table(path):
        texts = table_column(path, name, option, reading.max_bytes)
        return texts if dataset.rows is None else [texts[row] for row in dataset.rows]
    if reading.targets is not None and is_table(reading.targets):
        what = What(word, word, option)
        return texts_of_graphs(dataset, reading.targets, name, what, reading.max_bytes)
    raise InvalidInputError(
        f"{source} is no table with a column {name!r}; give a text file of one line per graph "
        f"with --{option}, or, of one source, the table that has this column with --targets"
    )


def source_smiles(source: str, dataset: GraphDataset) -> list[str]:
    if dataset.graphs.smiles is None:
        raise InvalidInputError(
            f"scaffolds are those of molecules, and {source} is no file of such; use --groups, or "
            "--split with a file"
        )
    return list(dataset.graphs.smiles)


def molecule_file(source: str, reading: Reading) -> Path | None:
    from retgk.io.formats import format_of

    path = Path(source)
    if source == "-" or not path.exists():
        return None
    return path if (reading.format or format_of(path).name) == "smiles" else None


def _read_source(source: str, reading: Reading, n_jobs: int) -> GraphDataset:
    from retgk.io.read import read_graphs

    if source == "-":
        return _read_standard_input(reading, n_jobs)
    if Path(source).exists():
        return read_graphs(Path(source), **reading_options(reading), n_jobs=n_jobs)
    if source == "digits":
        from retgk.datasets import load_digit_graphs

        return _with_targets(load_digit_graphs(), reading)
    return _with_targets(_read_by_name(source, reading), reading)


def reading_options(reading: Reading) -> dict[str, Any]:
    given = {**vars(reading), **reading.named_values(), "symmetrize": reading.directions}
    names = [name.strip() for name in (reading.target_column or "").split(",")]
    if len(names) > 1:
        given["target_column"] = names
    if len(names) > 1 or names == ["all"]:  # collections of many targets have gaps of all kinds
        given["skip_invalid"] = True
    own = {name for name in given if name.startswith("use_")} | {"data_home", "symmetrize_by"}
    found = {name: value for name, value in given.items() if value is not None and name not in own}
    return found if reading.use_weights else found | {"weight": None}


def _read_by_name(name: str, reading: Reading) -> GraphDataset:
    from retgk._runtime.files import data_home_folder
    from retgk.datasets import load_tudataset
    from retgk.io.dataset import without_empty_targets

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
            weight_column=reading.weight_column,
            negative=reading.negative or "error",
            skip_invalid=reading.skip_invalid,
            max_bytes=reading.max_bytes,
        )
    )


def _read_standard_input(reading: Reading, n_jobs: int) -> GraphDataset:
    """Read what comes in on standard input, from a file: readers want to seek."""
    from retgk.io.read import read_graphs

    with tempfile.TemporaryDirectory(prefix="retgk-") as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        with path.open("rb") as stream:
            is_packed = stream.read(2) == b"\x1f\x8b"
        path = path.rename(path.with_suffix(".gz")) if is_packed else path
        try:
            dataset = read_graphs(path, **reading_options(reading), n_jobs=n_jobs)
        except InvalidInputError as error:
            problem = str(error).replace(str(path), "standard input")
            raise InvalidInputError(problem) from error
    return replace(dataset, name="standard input") if dataset.name == "stdin" else dataset


def _with_targets(dataset: GraphDataset, reading: Reading) -> GraphDataset:
    from retgk.io.tables import with_targets

    if reading.targets is None:
        return dataset
    return with_targets(dataset, reading.targets, reading.target_column, reading.max_bytes)


@contextmanager
def left_out_as_note(common: Common) -> Iterator[None]:
    """Show the warning about graphs that were left out, as asked, as a note."""
    from retgk.errors import LeftOutWarning

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


# Graphs for an index, in pieces: files of molecules as streams, all other sources from memory.

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
    """Graphs of a source that can be gone through in pieces."""
    known = f"{settings} {sorted((name, str(value)) for name, value in asdict(reading).items())}"
    path = molecule_file(source, reading)
    if path is None or reading.isolated:
        return CollectionPieces(read_collection(source, reading, common, n_jobs=n_jobs), ids, known)
    return MoleculePieces(path, reading, ids, known, n_jobs)


class CollectionPieces:
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
        from retgk.kernels.refinement import keys_of_names

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
        return len(self._collection)

    def sample(self, n_graphs: int) -> GraphBatch:
        return self._collection.graphs[:: max(1, self.n_graphs // n_graphs)]

    def pieces(self, first: int) -> Iterator[SourcePiece]:
        from retgk.search.index import SourcePiece

        for start in range(first, self.n_graphs, _PIECE):
            stop = min(start + _PIECE, self.n_graphs)
            graphs = self._collection.graphs[start:stop]
            yield SourcePiece(graphs, self._ids[start:stop].tolist(), stop)


class MoleculePieces:
    def __init__(
        self,
        path: Path,
        reading: Reading,
        ids: IdChoice | None,
        settings: str,
        n_jobs: int | None,
    ) -> None:
        from retgk.io.molecules import MoleculeStream

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
        digest = hashlib.sha256(f"{self._settings} {self._ids}".encode())
        with self._path.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
        return digest.hexdigest()

    @property
    def n_graphs(self) -> int:
        return self._stream.n_molecules

    def sample(self, n_graphs: int) -> GraphBatch:
        return used_graphs(self._stream.sample(n_graphs), self._own)

    def pieces(self, first: int) -> Iterator[SourcePiece]:
        from retgk.search.index import SourcePiece

        for piece in self._stream.pieces(first):
            ids = piece.numbers if self._ids == "numbers" else piece.names
            yield SourcePiece(used_graphs(piece.graphs, self._own), ids, piece.stop)


def _check_distinct(source: str, names: list[Any]) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise InvalidInputError(
                f"{source}: two graphs have the name {name!r:.80}; use --ids numbers"
            )
        seen.add(name)


# Models from files, and graphs for them: options that a model remembers, and those given.

MaxSteps = Annotated[
    int, typer.Option(min=1, help="Most steps of walks that the model file may ask for.")
]

# What a model remembers, by kind of graphs; only attributes of atoms have another field here.
_OPTIONS = {
    "molecules": (
        *("chemistry", "stereo", "largest_fragment"),
        *("attributes", "add_hydrogens", "bond_orders", "bond_types"),
    ),
    "networkx": ("label", "attributes", "categorical", "weight", "edge_label", "negative"),
    "edges": ("weight", "edge_label", "negative"),
    "json": ("negative",),
    "tu": ("weight_column", "negative"),
    "arrays": ("negative", "fisher_z", "threshold", "density"),
}
_FORM = ("symmetrize", "delimiter", "missing", "variable")


def load_predictor(path: Path, limits: tuple[int | None, int]) -> Any:
    from retgk.estimators.model_files import DEFAULT_MAX_BYTES, load_model

    if not path.is_file():
        raise InvalidInputError(f"there is no model file {path}; make it with `retgk fit`")
    max_bytes, max_steps = limits
    model = load_model(path, max_bytes=max_bytes or DEFAULT_MAX_BYTES, max_steps=max_steps)
    if not hasattr(model, "predict"):
        raise InvalidInputError(
            f"{path} holds a {type(model).__name__}, which does not predict; make a model with "
            "`retgk fit`"
        )
    return model


def read_for_model(model: Any, source: str, reading: Reading, common: Common) -> GraphDataset:
    reading = as_fitted(reading, model.reading_, source)
    reading = replace(reading, max_bytes=_limit_for_graphs(source, reading.max_bytes))
    return read_collection(source, reading, common)


def _limit_for_graphs(source: str, max_bytes: int | None) -> int | None:
    """Give the limit that was meant for the model, unless graphs may have more by their size."""
    from retgk._runtime.files import memory_limit

    if max_bytes is None:
        return None
    path = Path(source)
    return max(max_bytes, memory_limit(path.stat().st_size if path.is_file() else 0))


def as_fitted(reading: Reading, fitted: FittedReading | None, source: str) -> Reading:
    """Give the options by which the graphs of a model were read, where the user gave none."""
    if fitted is None:
        return reading
    changes: dict[str, Any] = {
        "use_labels": reading.use_labels and fitted.labels,
        "use_attributes": reading.use_attributes and fitted.attributes,
        "use_edge_labels": reading.use_edge_labels and fitted.edge_labels,
        "use_weights": reading.use_weights
        and fitted.options.get("weight", True) is not None
        and fitted.options.get("weighted", True),
    }
    named = reading.named_values() if fitted.kind == "networkx" else {}
    for name in _OPTIONS.get(fitted.kind, ()):
        is_of_atoms = fitted.kind == "molecules" and name == "attributes"
        field = "atom_attributes" if is_of_atoms else name
        given, known = named.get(name, getattr(reading, field)), fitted.options.get(name)
        if not _agrees(given, known):
            option = f"--{'no-' * (given is False)}{field.replace('_', '-')}"
            raise InvalidInputError(
                f"{option} contradicts the model, whose graphs were read with "
                f"{field}={known!r}; leave it out, as the model knows how to read graphs"
            )
        is_one = name in ("label", "edge_label") and isinstance(known, str)
        changes[field] = [known] if is_one else known
    for name in _FORM:
        changes[name] = getattr(reading, name) or fitted.form.get(name, getattr(reading, name))
    changes["smiles_column"] = reading.smiles_column or _column_in(source, fitted)
    return replace(reading, **changes)


def _agrees(given: Any, known: Any) -> bool:
    """Whether an option says what the model knows: categories need not be listed again."""
    if isinstance(known, dict) and isinstance(given, list):
        return given == list(known)
    return given in (None, [], known)


def _column_in(source: str, fitted: FittedReading) -> str | None:
    from retgk.io.molecules import has_column

    name, path = fitted.form.get("smiles_column"), Path(source)
    return name if name is not None and path.is_file() and has_column(path, name) else None
