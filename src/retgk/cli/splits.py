"""Folds of `retgk cv` and `retgk compare`: random ones, by groups, by scaffold, or from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from retgk.cli.options import FileRole, Reading
from retgk.cli.sources import column_values, source_smiles
from retgk.cli.split_files import read_split
from retgk.errors import InvalidInputError
from retgk.learning.outer_folds import (
    MIN_FOLDS,
    MOST_REPETITIONS,
    OuterFold,
    check_enough_graphs,
    deal_groups,
    repeated_folds,
)
from retgk.runtime.near_names import near_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.io.graph_dataset import GraphDataset

__all__ = ["DEFAULT_FOLDS", "Splitting", "outer_folds"]

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
            max=MOST_REPETITIONS,
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
            help="Column of the table of GRAPHS or --targets, or text file of one line per graph: "
            "graphs of a group are never in two folds.",
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
    n_folds = splitting.n_folds
    if splitting.split != "scaffold" or groups is None:
        return repeated_folds(targets, n_folds, seeds, regression=regression, groups=groups)
    check_enough_graphs(targets, n_folds)
    # the first repetition is the one that others have too, for any seed
    ties = [None, *seeds[1:]]
    dealt = [deal_groups(groups, n_folds, seed, "scaffolds") for seed in ties]
    return [
        [OuterFold(train, test, None, groups[train]) for train, test in folds] for folds in dealt
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
