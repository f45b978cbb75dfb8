"""Folds of `retgk cv`: random ones, by groups, by scaffold, or from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import typer

from retgk.cli.options import MIN_FOLDS, FileRole, Reading
from retgk.cli.sources import column_values, source_smiles
from retgk.cli.split_files import read_split
from retgk.errors import InvalidInputError
from retgk.runtime.near_names import near_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.io.graph_dataset import GraphDataset

__all__ = ["DEFAULT_FOLDS", "OuterFold", "Splitting", "check_enough_graphs", "outer_folds"]

DEFAULT_FOLDS = 10
_KINDS = ("random", "scaffold")


@dataclass(frozen=True)
class Splitting:
    """How graphs are split for cross-validation."""

    remedies: ClassVar[Mapping[str, str]] = {"groups": "{value} with --groups"}

    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            min=MIN_FOLDS,
            help="Number of folds.",
            show_default=str(DEFAULT_FOLDS),
            rich_help_panel="Folds",
        ),
    ] = None
    repetitions: Annotated[
        int,
        typer.Option(
            "--repetitions",
            "--repeats",
            min=1,
            help="Times to do it, each with other folds.",
            rich_help_panel="Folds",
        ),
    ] = 1
    split: Annotated[
        str,
        FileRole.READ,
        typer.Option(
            "--split",
            metavar="random|scaffold|FILE",
            help="random; scaffold: molecules of one Bemis-Murcko scaffold stay together, the "
            "largest sets first into folds; or a file: JSON, a list of folds such as "
            '{"train": [...], "test": [...]}, or a .csv with a column fold.',
            rich_help_panel="Folds",
        ),
    ] = "random"
    groups: Annotated[
        str | None,
        FileRole.READ,
        typer.Option(
            "--groups",
            metavar="COLUMN|FILE",
            help="Column of the table, or text file of one line per graph: graphs of a group are "
            "never in two folds.",
            rich_help_panel="Folds",
        ),
    ] = None

    @property
    def is_file(self) -> bool:
        """Whether a file says what the folds are."""
        return self.split not in _KINDS

    @property
    def n_folds(self) -> int:
        """Number of folds, where no file says it."""
        return self.folds or DEFAULT_FOLDS

    def check(self) -> None:
        """Raise if options contradict each other, or there is no such split."""
        if self.is_file and not Path(self.split).is_file():
            near = near_names(self.split, _KINDS)
            question = f"did you mean {near[0]}? give" if near else "give"
            raise InvalidInputError(
                f"there is no split or file {self.split!r}; {question} random, scaffold or a file "
                "with --split"
            )
        if self.is_file and (self.folds is not None or self.repetitions > 1):
            option = "--repetitions" if self.repetitions > 1 else "--folds"
            raise InvalidInputError(f"{self.split} says what the folds are; leave out {option}")
        if self.groups is not None and self.split != "random":
            raise InvalidInputError(
                f"--split {self.split} and --groups both say which graphs stay together; leave out "
                "one of them"
            )


class OuterFold(NamedTuple):
    """Graphs to train on and to test; what the model's own folds are to be, or to respect."""

    train: NDArray[Any]
    test: NDArray[Any]
    inner: list[tuple[NDArray[Any], NDArray[Any]]] | None = None
    groups: NDArray[Any] | None = None


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
    """Folds of every repetition."""
    if splitting.is_file:
        return [read_split(Path(splitting.split), collection, OuterFold, reading.max_bytes)]
    groups = _group_codes(collection, source, reading, splitting)
    check_enough_graphs(targets, splitting.n_folds)
    if groups is None:
        found = [_random_folds(targets, splitting.n_folds, seed, regression) for seed in seeds]
    elif splitting.split == "scaffold":
        # the first repetition is the one that others have too, for any seed
        ties = [None, *seeds[1:]]
        found = [_folds_of_groups(groups, splitting.n_folds, seed, "scaffolds") for seed in ties]
    elif regression:
        found = [_folds_of_groups(groups, splitting.n_folds, seed, "groups") for seed in seeds]
    else:
        found = [_class_group_folds(targets, groups, splitting.n_folds, seed) for seed in seeds]
    return [
        [
            OuterFold(train, test, None, None if groups is None else groups[train])
            for train, test in folds
        ]
        for folds in found
    ]


def _group_codes(
    collection: GraphDataset, source: str, reading: Reading, splitting: Splitting
) -> NDArray[Any] | None:
    """Number of the group of every graph; None if all may be apart."""
    import numpy as np

    if splitting.split == "scaffold":
        from retgk.io.converters.smiles_strings import molecule_scaffolds

        names: list[str] = molecule_scaffolds(source_smiles(source, collection, reading))
    elif splitting.groups is not None:
        names = column_values(source, collection, reading, splitting.groups)
    else:
        return None
    # numbers in the order in which groups begin, by which ties are dealt
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names])


def _random_folds(targets: NDArray[Any], n_folds: int, seed: int, regression: bool) -> Any:
    """Shuffled folds, stratified for classes."""
    from sklearn.model_selection import KFold

    from retgk.paper.protocols import stratified_folds

    if regression:
        return list(KFold(n_folds, shuffle=True, random_state=seed).split(targets))
    _check_enough_of_every_class(targets, n_folds)
    return list(stratified_folds(targets, seed, n_folds))


def _folds_of_groups(groups: NDArray[Any], n_folds: int, seed: int | None, what: str) -> Any:
    from retgk.learning.group_folds import group_folds

    _check_enough_groups(groups, n_folds, what)
    return group_folds(groups, n_folds, seed)


def _class_group_folds(targets: NDArray[Any], groups: NDArray[Any], n_folds: int, seed: int) -> Any:
    """Folds that keep groups together, and shares of classes as near as that allows."""
    from sklearn.model_selection import StratifiedGroupKFold

    _check_enough_groups(groups, n_folds, "groups")
    _check_enough_of_every_class(targets, n_folds)
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(targets, targets, groups))


def _check_enough_groups(groups: NDArray[Any], n_folds: int, what: str) -> None:
    n_groups = int(groups.max()) + 1
    if n_groups < n_folds:
        raise InvalidInputError(
            f"{n_groups} {what} do not fill {n_folds} folds; give fewer --folds"
        )


def check_enough_graphs(targets: NDArray[Any], n_folds: int) -> None:
    """Raise if there are fewer graphs than folds."""
    if len(targets) < n_folds:
        raise InvalidInputError(
            f"{len(targets)} graphs do not fill {n_folds} folds; give fewer --folds"
        )


def _check_enough_of_every_class(targets: NDArray[Any], n_folds: int) -> None:
    import numpy as np

    names, counts = np.unique(targets, return_counts=True)
    name, count = names[counts.argmin()], counts.min()
    if count >= n_folds:
        return
    remedies = ["fewer --folds"] if count >= MIN_FOLDS else []
    remedies.append("more graphs of it")
    if targets.dtype.kind in "iuf":
        remedies.append("--task regression if these are values")
    graphs = "graph" if count == 1 else "graphs"
    raise InvalidInputError(
        f"class {name} has {count} {graphs} for {n_folds} folds; give {', or '.join(remedies)}"
    )
