"""`refined_labels`: what nodes and their neighbourhoods look like, as numbers."""

import numpy as np

from retgk.array_types import Ints
from retgk.io.converters import GraphsLike, as_batch
from retgk.refinement.first_colours import FirstColours, Start
from retgk.refinement.label_refinement import LabelRefinement, check_rounds

__all__ = ["refined_labels"]


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
        Number of rounds, up to 64.
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
    check_rounds(depth)
    batch = as_batch(graphs)
    refinement, first = LabelRefinement(int(depth)), FirstColours(start)
    if like is None:
        return np.stack(refinement.fit(batch, first.fit(batch), n_jobs), axis=1)
    fitted = as_batch(like)
    refinement.fit(fitted, first.fit(fitted), n_jobs)
    return np.stack(refinement.colours(batch, first.colours(batch), n_jobs), axis=1)
