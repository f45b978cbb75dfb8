"""`refined_labels`: what nodes and their neighbourhoods look like, as numbers."""

from typing import Any, Literal

import numpy as np

from retgk.array_types import Codes, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.io.converters import GraphsLike, as_batch
from retgk.refinement.label_refinement import LabelRefinement

__all__ = ["Start", "refined_labels"]

Start = Literal["labels", "degrees", "none"]


def refined_labels(
    graphs: GraphsLike,
    depth: int = 3,
    *,
    like: GraphsLike | None = None,
    start: Start = "labels",
    n_jobs: int | None = None,
) -> Ints:
    """
    Colours of nodes after 0, 1, .., depth rounds of Weisfeiler and Leman's refinement.

    Two nodes have the same colour after h rounds if and only if what can be seen of their graphs
    from them within h steps (as a tree) is the same: labels of nodes and of edges, and numbers of
    neighbours. Neighbourhoods are told apart by all that is in them, not by a hash of it.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        Graphs to be coloured.
    depth : int, default=3
        Number of rounds.
    like : GraphBatch or anything that `as_batch` takes, optional
        Graphs whose colours these get where they have the same ones; a neighbourhood that is not
        among them has a larger number than all of theirs. By default the graphs themselves.
    start : {"labels", "degrees", "none"}, default="labels"
        Colours before the first round: labels (one for all nodes, if there are none), numbers of
        neighbours, or one for all.
    n_jobs : int, optional
        Threads; None for all cores. It changes no result.

    Returns
    -------
    ndarray of int64, shape (n_nodes, depth + 1)
        Colours of every node, the first column before any round. Each column counts from 0, in
        order of appearance.

    Examples
    --------
    >>> path = np.diag([1, 1, 1], 1) + np.diag([1, 1, 1], -1)
    >>> refined_labels(path, 2)
    array([[0, 0, 0],
           [0, 1, 1],
           [0, 1, 1],
           [0, 0, 0]])
    """
    if isinstance(depth, bool) or not isinstance(depth, int | np.integer) or depth < 0:
        raise InvalidInputError(f"depth must be a whole number of at least 0, got {depth!r}")
    batch = as_batch(graphs)
    refinement = LabelRefinement(int(depth))
    if like is None:
        first, _ = _numbered(_first_colours(batch, start), {})
        return np.stack(refinement.fit(batch, first, n_jobs), axis=1)
    fitted = as_batch(like)
    known, numbers = _numbered(_first_colours(fitted, start), {})
    refinement.fit(fitted, known, n_jobs)
    first, _ = _numbered(_first_colours(batch, start), numbers)
    return np.stack(refinement.colours(batch, first, n_jobs), axis=1)


def _first_colours(batch: GraphBatch, start: str) -> tuple[Ints, list[Any]]:
    """Codes of the first colours, and what they stand for."""
    if start == "degrees":
        values, codes = np.unique(np.diff(batch.indptr), return_inverse=True)
        return codes.astype(np.int64), values.tolist()
    if start not in ("labels", "none"):
        raise InvalidInputError(f"start must be 'labels', 'degrees' or 'none', got {start!r}")
    if start == "none" or not batch.has_labels:
        return np.zeros(batch.n_nodes, np.int64), [None]
    return batch.labels.astype(np.int64), list(batch.label_names)


def _numbered(
    colours: tuple[Ints, list[Any]], numbers: dict[Any, int]
) -> tuple[Codes, dict[Any, int]]:
    """Number colours that have no number yet in order of appearance."""
    codes, names = colours
    used, first = np.unique(codes, return_index=True)
    known = dict(numbers)
    table = np.zeros(len(names), np.int32)
    for code in used[np.argsort(first)]:
        table[code] = known.setdefault(names[code], len(known))
    return table[codes], known
