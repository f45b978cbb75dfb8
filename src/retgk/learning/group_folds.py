"""Folds that keep graphs together which belong together: groups, and scaffolds of molecules."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.io.converters.smiles_strings import molecule_scaffolds
from retgk.learning.folds import Fold
from retgk.runtime.seeds import RandomState, whole_seed

__all__ = ["group_folds", "scaffold_folds"]


def scaffold_folds(
    smiles: Iterable[str], n_splits: int = 5, *, random_state: RandomState = None
) -> list[Fold]:
    """
    Folds in which no scaffold of the test molecules is one of the training molecules.

    Molecules of the same Bemis-Murcko scaffold, rings and what links them, stay together; those
    without a ring share one, the empty scaffold. As in MoleculeNet, the largest sets of molecules
    are dealt first, each to the fold that is the smallest so far, so that folds have about the same
    size; which classes they hold is left to chance. The folds are what `RetGKClassifier` and
    scikit-learn take as `cv`.

    Parameters
    ----------
    smiles : iterable of str
        The molecules.
    n_splits : int, default=5
        Number of folds.
    random_state : int, Generator, RandomState or None
        Seed that shuffles sets of the same size, for other folds. With None, they are in the
        order of their first molecules, and the folds are the same in every call.

    Returns
    -------
    list of (train, test)
        Rising positions of molecules, one pair for each fold.

    Examples
    --------
    >>> from retgk import scaffold_folds
    >>> molecules = ["CCO", "Cc1ccccc1", "CCN", "Oc1ccccc1", "C1CCNCC1"]
    >>> [test.tolist() for _, test in scaffold_folds(molecules, 3)]
    [[0, 2], [1, 3], [4]]
    """
    return group_folds(molecule_scaffolds(smiles), n_splits, random_state, "scaffolds")


def group_folds(
    groups: ArrayLike, n_splits: int, random_state: RandomState = None, what: str = "groups"
) -> list[Fold]:
    """
    Folds of about the same size, with every group in the test part of one of them.

    Groups are dealt from the largest to the smallest, each to the smallest fold so far; a seed
    shuffles those of the same size, which are in the order of their first members otherwise.
    """
    _, first, codes = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
    codes = codes.reshape(-1)
    if n_splits < 2:
        raise InvalidInputError(f"n_splits={n_splits} must be at least 2 folds")
    if len(first) < n_splits:
        raise InvalidInputError(
            f"{len(first)} {what} do not fill {n_splits} folds; ask for fewer folds"
        )
    fold = _fold_of_groups(np.bincount(codes), first, n_splits, random_state)[codes]
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(n_splits)]


def _fold_of_groups(sizes: Ints, first: Ints, n_splits: int, random_state: Any) -> Ints:
    """Fold of every group; among folds of the same size, the first is taken."""
    ties = first
    if random_state is not None:
        ties = np.random.default_rng(whole_seed(random_state)).permutation(len(sizes))
    fold, filled = np.empty(len(sizes), np.int64), np.zeros(n_splits, np.int64)
    for group in np.lexsort([ties, -sizes]):
        fold[group] = filled.argmin()
        filled[fold[group]] += sizes[group]
    return fold
