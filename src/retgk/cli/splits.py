"""Folds of `retgk cv` and `retgk compare`: random ones, by groups, by scaffold, or from a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from retgk._runtime.names import name_advice, near_names
from retgk.cli.inputs import column_values, source_smiles
from retgk.cli.options import FileRole, Reading, in_panel
from retgk.errors import InvalidInputError
from retgk.learning.folds import (
    MIN_FOLDS,
    MOST_REPETITIONS,
    OuterFold,
    check_apart,
    repeated_folds,
    scaffold_split,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.io.dataset import GraphDataset
    from retgk.io.tables import GraphTable

# Folds from files: JSON lists of graph numbers, and tables with a column of folds.

_FOLD_COLUMNS = ("fold", "split")
_ROLES = {"train", "training", "val", "valid", "validation", "test"}
_JSON_KEYS = ("test", "train", "model_selection")


def read_split(path: Path, collection: GraphDataset, max_bytes: int | None) -> list[OuterFold]:
    """
    Folds of a file, checked.

    JSON is a list of objects with the numbers of graphs: "test", and "train", or
    "model_selection" with pairs of "train" and "validation", among which the model chooses. Without
    either, all graphs that are not tested are trained on. A table (.csv, .tsv) has a column "fold"
    or "split": each value of it is tested once, but for train, valid and test. Its rows are graphs
    in order, or have their numbers in a column "graph", as the tables have that `retgk cv` writes.
    """
    import numpy as np

    from retgk._runtime.files import check_size
    from retgk.io.tables import MEMORY_FACTOR, is_table, read_table

    check_size([path], MEMORY_FACTOR, max_bytes)
    places = _Places(collection)
    if is_table(path):
        parts = _table_parts(read_table(path, collection, has_header=True), places)
        everything = np.arange(len(collection))
        return [OuterFold(np.setdiff1d(everything, test), test) for test in parts]
    try:
        folds = json.loads(_text_of(path))
    except (RecursionError, ValueError) as error:
        raise InvalidInputError(
            f"{path} is no JSON: {error}; a table of folds ends in .csv or .tsv"
        ) from error
    return _json_folds(folds, path, places)


def _text_of(path: Path) -> str:
    from retgk._runtime.files import text_lines

    return "\n".join(line for _, line in text_lines(path))


class _Places:
    def __init__(self, collection: GraphDataset) -> None:
        from retgk.io.dataset import graph_numbers

        rows = graph_numbers(collection)
        self.n_graphs = len(collection)
        self.has_gaps = collection.rows is not None
        self.of_number = {int(row): place for place, row in enumerate(rows)}
        names = collection.graph_names or ()
        pairs = zip(names, map(int, rows), strict=False)
        self.of_name = dict(pairs) if len(set(names)) == len(names) else {}

    def find(self, numbers: Any, where: str) -> NDArray[Any]:
        """Give positions of numbered graphs, without those that were left out in reading."""
        import numpy as np

        if not isinstance(numbers, list) or not all(type(each) is int for each in numbers):
            raise InvalidInputError(f"{where} must be a list of whole numbers of graphs, from 0")
        if len(set(numbers)) < len(numbers):
            raise InvalidInputError(f"{where} has a graph twice; give every graph once")
        for number in numbers:
            if number not in self.of_number and (number < 0 or not self.has_gaps):
                raise InvalidInputError(
                    f"{where} names graph {number}, but there are {self.n_graphs} graphs, from 0 on"
                )
        return np.sort([self.of_number[n] for n in numbers if n in self.of_number]).astype(np.int64)


# JSON


def _json_folds(folds: Any, path: Path, places: _Places) -> list[OuterFold]:
    is_list = isinstance(folds, list) and folds and all(isinstance(fold, dict) for fold in folds)
    if not is_list:
        raise InvalidInputError(
            f'{path} must be a list of folds, such as [{{"train": [0, 1], "test": [2, 3]}}, ...]'
        )
    return [
        OuterFold(*_json_fold(fold, f"{path}, fold {number}", places))
        for number, fold in enumerate(folds)
    ]


def _json_fold(fold: dict[str, Any], where: str, places: _Places) -> tuple[Any, Any, Any]:
    import numpy as np

    for key in fold:
        if key not in _JSON_KEYS:
            raise InvalidInputError(
                f"{where} has {key!r}; {name_advice(key, _JSON_KEYS, 'give one of')}"
            )
    if "test" not in fold:
        raise InvalidInputError(f'{where} has no graphs to test; give them as a list "test"')
    test = _filled(places.find(fold["test"], f'{where}, "test"'), f'{where}, "test"')
    inner = _inner_folds(fold.get("model_selection"), where, places)
    if "train" in fold:
        train = places.find(fold["train"], f'{where}, "train"')
    elif inner is not None:
        train = np.unique(np.concatenate([part for pair in inner for part in pair]))
    else:
        train = np.setdiff1d(np.arange(places.n_graphs), test)
    check_apart(_filled(train, f"{where}, graphs to train on,"), test, where)
    if inner is None:
        return train, test, None
    return train, test, [_within(pair, train, where) for pair in inner]


def _filled(graphs: Any, where: str) -> Any:
    if len(graphs) == 0:
        raise InvalidInputError(f"{where} has no graphs; give one at least")
    return graphs


def _inner_folds(pairs: Any, where: str, places: _Places) -> list[Any] | None:
    if pairs is None:
        return None
    keys = {"train", "validation"}
    is_list = isinstance(pairs, list) and pairs and all(isinstance(pair, dict) for pair in pairs)
    if not is_list or any(pair.keys() != keys for pair in pairs):
        raise InvalidInputError(
            f'{where}, "model_selection" must be a list of {{"train": [...], "validation": [...]}}'
        )
    return [
        tuple(
            _filled(places.find(pair[key], f'{where}, "{key}"'), f'{where}, "{key}"')
            for key in ("train", "validation")
        )
        for pair in pairs
    ]


def _within(pair: tuple[Any, Any], train: Any, where: str) -> tuple[Any, Any]:
    import numpy as np

    for part in pair:
        if not np.isin(part, train).all():
            raise InvalidInputError(f"{where} chooses by graphs that are not trained on")
    first, second = (np.searchsorted(train, part) for part in pair)
    return first, second


# Tables


def _table_parts(table: GraphTable, places: _Places) -> list[NDArray[Any]]:
    from retgk.io.tables import number_cells

    path = table.path
    at = next(iter(table.headed(*_FOLD_COLUMNS)), None)
    if at is None:
        raise InvalidInputError(f'{path} has no column "fold"; call the column of folds so')
    folds = table.cells(at)
    if not all(folds):
        raise InvalidInputError(f"{path}, row {folds.index('') + 1} has no fold; fill it in")
    if numbered := table.headed("graph"):
        numbers = number_cells(table, numbered[0])
    else:
        named = _named(table, at, places)
        numbers = list(range(len(folds))) if named is None else named
        if named is None and places.has_gaps and len(folds) <= max(places.of_number):
            raise InvalidInputError(
                f"{path} has {len(folds)} rows, fewer than the source, of which some were left "
                'out; give every row of the source a fold, or their numbers in a column "graph"'
            )
    if len(folds) < places.n_graphs:
        raise InvalidInputError(
            f"{path} has {len(folds)} rows for {places.n_graphs} graphs; give every graph a fold"
        )
    places.find(numbers, f"{path}, graphs")
    by_fold: dict[str, list[int]] = {}
    for number, fold in zip(numbers, folds, strict=True):
        by_fold.setdefault(fold, []).append(number)
    tested = {name: places.find(by_fold[name], str(path)) for name in _tested(folds, path)}
    return [_filled(test, f"{path}, fold {name}") for name, test in tested.items()]


def _named(table: GraphTable, fold_at: int, places: _Places) -> list[int] | None:
    """Numbers of the graphs that rows name in a column; None where no column names any."""
    for at in range(table.width):
        cells = table.cells(at)
        known = [cell in places.of_name for cell in cells]
        if at == fold_at or not any(known) or len(set(cells)) < len(cells):
            continue
        if not all(known) and not places.has_gaps:
            unknown = cells[known.index(False)]
            raise InvalidInputError(
                f"{table.path}, row {known.index(False) + 1}: there is no graph {unknown!r}; name "
                "graphs as the source does"
            )
        # rows of graphs that were left out get numbers that no graph has
        beyond = max(places.of_number) + 1
        return [places.of_name.get(cell, beyond + row) for row, cell in enumerate(cells)]
    return None


def _tested(folds: list[str], path: Path) -> list[str]:
    """Names of the folds that are tested, in order: numbers by their value."""
    names = list(dict.fromkeys(folds))
    if {name.lower() for name in names} <= _ROLES:
        names = [name for name in names if name.lower() == "test"]
        if not names:
            raise InvalidInputError(f"{path} has no graphs to test; call their fold test")
        return names
    if len(names) < 2:
        raise InvalidInputError(f"{path} has one fold, {names[0]}; give two or more")
    return sorted(names, key=lambda name: (not name.isdecimal(), name.zfill(20)))


DEFAULT_FOLDS = 10
_KINDS = ("random", "scaffold", "ogb-scaffold")
_folds = in_panel("Folds")


@dataclass(frozen=True)
class Splitting:
    folds: Annotated[
        int | None,
        _folds(
            min=MIN_FOLDS,
            help="Number of folds.",
            show_default=str(DEFAULT_FOLDS),
        ),
    ] = None
    repetitions: Annotated[
        int,
        _folds(
            "--repetitions",
            "--repeats",
            min=1,
            max=MOST_REPETITIONS,
            help="Times to do it, each with other folds.",
        ),
    ] = 1
    split: Annotated[
        str,
        FileRole.READ,
        _folds(
            metavar="random|scaffold|ogb-scaffold|FILE",
            help="random; scaffold: molecules of one Bemis-Murcko scaffold stay together, the "
            "largest sets first into folds; ogb-scaffold: one split as in the Open Graph "
            "Benchmark, nine tenths to train on and the rarest scaffolds to test; or a file: JSON, "
            'a list such as {"train": [...], "test": [...]}, or a .csv with a column fold.',
        ),
    ] = "random"
    groups: Annotated[
        str | None,
        FileRole.READ,
        _folds(
            metavar="COLUMN|FILE",
            help="Column of the table of GRAPHS or --targets, or text file of one line per graph: "
            "graphs of a group are never in two folds.",
        ),
    ] = None

    @property
    def is_file(self) -> bool:
        return self.split not in _KINDS

    @property
    def n_folds(self) -> int:
        return self.folds or DEFAULT_FOLDS

    def check(self) -> None:
        if self.is_file and not Path(self.split).is_file():
            near = near_names(self.split, _KINDS)
            question = f"did you mean {near[0]}? give" if near else "give"
            raise InvalidInputError(
                f"there is no split or file {self.split!r}; {question} random, scaffold, "
                "ogb-scaffold or a file with --split"
            )
        is_given = self.is_file or self.split == "ogb-scaffold"
        if is_given and (self.folds is not None or self.repetitions > 1):
            option = "--repetitions" if self.repetitions > 1 else "--folds"
            raise InvalidInputError(f"{self.split} says what the folds are; leave out {option}")
        if self.groups is not None and self.split != "random":
            raise InvalidInputError(
                f"--split {self.split} and --groups both say which graphs stay together; leave out "
                "one of them"
            )


def outer_folds(
    collection: GraphDataset,
    source: str,
    reading: Reading,
    splitting: Splitting,
    targets: NDArray[Any],
    *,
    regression: bool,
    seeds: Sequence[int],
) -> list[list[OuterFold]]:
    import numpy as np

    if splitting.is_file:
        return [read_split(Path(splitting.split), collection, reading.max_bytes)]
    if splitting.split == "ogb-scaffold":
        train, validation, test = scaffold_split(source_smiles(source, collection))
        return [[OuterFold(np.union1d(train, validation), test)]]
    return repeated_folds(
        targets,
        splitting.n_folds,
        seeds,
        regression=regression,
        groups=_group_codes(collection, source, reading, splitting),
        scaffolds=splitting.split == "scaffold",
    )


def _group_codes(
    collection: GraphDataset, source: str, reading: Reading, splitting: Splitting
) -> NDArray[Any] | None:
    import numpy as np

    if splitting.split == "scaffold":
        from retgk.io.molecules import molecule_scaffolds

        names: list[str] = molecule_scaffolds(source_smiles(source, collection))
    elif splitting.groups is not None:
        names = column_values(source, collection, reading, splitting.groups)
    else:
        return None
    # numbers in the order in which groups begin, by which ties are dealt
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names])
