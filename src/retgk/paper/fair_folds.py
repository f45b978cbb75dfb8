"""The fixed folds of the fair comparison, from files that the user names."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.paper.records import key_of

__all__ = ["FairFold", "folds_digest", "read_fair_folds"]


class FairFold(NamedTuple):
    """Graphs for training, for every choice, and for the test."""

    train: Ints
    validation: Ints
    test: Ints

    @property
    def known(self) -> Ints:
        """Graphs that the chosen settings are trained with, those for training first."""
        return np.concatenate([self.train, self.validation])

    @property
    def inner(self) -> tuple[Ints, Ints]:
        """Places of both parts among the known graphs."""
        n_train = len(self.train)
        return np.arange(n_train), np.arange(n_train, n_train + len(self.validation))


def folds_digest(folds: Any) -> str:
    """Digest of what a file of folds says, however it is written."""
    return key_of({"folds": folds})


def read_fair_folds(folder: Path | None, name: str, digest: str, n_graphs: int) -> list[FairFold]:
    """
    Read the folds of a set.

    Parameters
    ----------
    folder : Path or None
        Where the files are; None is an error, since nothing can be downloaded.
    name : str
        Of the file.
    digest : str
        Of the folds that the published accuracies are for; others are an error.
    n_graphs : int
        Number of graphs of the set.
    """
    if folder is None:
        raise InvalidInputError(
            f"the fair protocol has fixed folds; give the folder that has {name}"
        )
    path = folder / name
    folds = _parsed(path)
    if folds_digest(folds) != digest:
        raise InvalidInputError(
            f"{path} has other folds than those that the published accuracies are for; take the "
            "file of Errica et al. (2020), https://github.com/diningphil/gnn-comparison"
        )
    found = [_fold(own) for own in folds]
    n_named = sum(len(fold.test) for fold in found)
    if n_named != n_graphs:
        raise InvalidInputError(
            f"{path} has folds of {n_named} graphs, but there are {n_graphs}; take the edition of "
            "the set that the folds are for"
        )
    return found


def _parsed(path: Path) -> Any:
    if not path.exists():
        raise InvalidInputError(f"there is no file {path}; name the folder that has it")
    try:
        return json.loads(path.read_text("utf-8"))
    except (RecursionError, ValueError) as error:
        raise InvalidInputError(f"{path} is no JSON: {error}; take another copy of it") from error


def _fold(own: Any) -> FairFold:
    (inner,) = own["model_selection"]
    parts = (inner["train"], inner["validation"], own["test"])
    return FairFold(*(np.asarray(part, np.int64) for part in parts))
