"""`duplicate_groups`: graphs of a collection that are equal, and how sure that is."""

from operator import eq
from typing import Any, NamedTuple

import numpy as np

from retgk._runtime.parallel import progress_bar
from retgk.array_types import Ints
from retgk.graphs.batch import GraphBatch
from retgk.io.convert import GraphsLike, as_batch, to_networkx
from retgk.kernels.indistinguishable import DECIMALS, indistinguishable_groups

_MAX_NODES = 200  # beyond that, an isomorphism test may take forever


class DuplicateGroup(NamedTuple):
    """Graphs that are equal, at least to the kernel."""

    indices: Ints
    """Their places in the collection, rising."""
    verified: bool
    """
    Whether they were found to be isomorphic, with labels, weights and attributes.

    False means that nothing tells them apart and no test was made, because they are too large.
    """


def duplicate_groups(
    graphs: GraphsLike,
    *,
    n_steps: int = 50,
    max_nodes: int = _MAX_NODES,
    n_jobs: int | None = None,
) -> list[DuplicateGroup]:
    """
    Find graphs that are equal but for the order of their nodes.

    Graphs fall into one group if nothing that kernels look at tells them apart: labels refined by
    four rounds, with labels of edges; attributes and weights, rounded; means, mean squares and
    mean cubes of return probabilities, within rounding. The graphs of a group are then tested for
    an isomorphism that keeps labels of nodes and edges, weights and attributes, and the group is
    split where there is none.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        The collection.
    n_steps : int, default=50
        Number of return probabilities.
    max_nodes : int, default=200
        Largest graphs that are tested; groups of larger ones are given as they are, with
        ``verified=False``.
    n_jobs : int, optional
        Threads; they change no result.

    Returns
    -------
    list of DuplicateGroup
        Groups of two graphs or more, in the order of their first graphs. A graph is in one of
        them at most. The test needs networkx; without it no group is verified.

    Examples
    --------
    >>> from retgk.io import from_smiles
    >>> from retgk.search import duplicate_groups
    >>> duplicate_groups(from_smiles(["CCO", "CCN", "OCC"]))
    [DuplicateGroup(indices=array([0, 2]), verified=True)]
    """
    batch = as_batch(graphs)
    groups = indistinguishable_groups(batch, n_steps, n_jobs)
    found: list[DuplicateGroup] = []
    with progress_bar("equal graphs", sum(map(len, groups))) as advance:
        for group in groups:
            found += _verified(batch, group, max_nodes)
            advance(len(group))
    return sorted(found, key=lambda group: int(group.indices[0]))


def _verified(batch: GraphBatch, members: Ints, max_nodes: int) -> list[DuplicateGroup]:
    if batch.node_counts[members[0]] > max_nodes:
        return [DuplicateGroup(members, False)]
    try:
        from networkx.algorithms.isomorphism import GraphMatcher
    except ImportError:
        return [DuplicateGroup(members, False)]
    classes: list[tuple[Any, list[int]]] = []
    for member in members:
        graph = _plain_graph(batch[int(member)])
        for first, others in classes:
            if GraphMatcher(first, graph, eq, eq).is_isomorphic():
                others.append(int(member))
                break
        else:
            classes.append((graph, [int(member)]))
    return [DuplicateGroup(np.array(others), True) for _, others in classes if len(others) > 1]


def _plain_graph(graph: GraphBatch) -> Any:
    """Graph of networkx whose values are rounded, so that they can be compared."""
    (made,) = to_networkx(graph)
    for _, values in made.nodes(data=True):
        _round_all(values)
    for _, _, values in made.edges(data=True):
        _round_all(values)
    return made


def _round_all(values: dict[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, float):
            values[name] = round(value, DECIMALS)
        elif name == "attributes":
            values[name] = [round(float(number), DECIMALS) for number in value]
