"""`duplicate_groups`: graphs of a collection that are equal, and how sure that is."""

import hashlib
from operator import eq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.parallel import progress_bar
from retgk.array_types import Floats, Ints
from retgk.graphs.batch import GraphBatch
from retgk.io.convert import GraphsLike, as_batch, to_networkx
from retgk.kernels.refinement import colour_keys, keys_of_names
from retgk.walks.probabilities import return_probabilities

_DECIMALS = 9  # to which moments, weights and attributes have to agree
_MAX_NODES = 200  # beyond that, an isomorphism test may take forever
_SEED = 0
_DEPTH = 4
_ODD = 0x9E3779B97F4A7C15


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
    keys = _graph_keys(batch, n_jobs)
    _, group_of, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.argsort(group_of, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)])
    candidates = [order[starts[group] : starts[group + 1]] for group in np.flatnonzero(counts > 1)]
    if not candidates:
        return []
    moments = _moments(batch, np.concatenate(candidates), n_steps, n_jobs)
    found: list[DuplicateGroup] = []
    with progress_bar("equal graphs", sum(map(len, candidates))) as advance:
        for members in candidates:
            for group in _kernel_groups(members, moments):
                found += _verified(batch, group, max_nodes)
            advance(len(members))
    return sorted(found, key=lambda group: int(group.indices[0]))


def _graph_keys(batch: GraphBatch, n_jobs: int | None) -> NDArray[np.bytes_]:
    """Digest of labels, neighbourhoods, attributes and weights, in no order of nodes."""
    named = keys_of_names(batch.label_names, _SEED) if batch.has_labels else None
    labels = np.zeros(batch.n_nodes, np.uint64) if named is None else named[batch.labels]
    colours = colour_keys(batch, labels, _DEPTH, _SEED, n_jobs)[-1].astype(np.uint64)
    if batch.n_attributes:
        values = np.round(batch.attributes, _DECIMALS) + 0.0  # no -0.0
        _, codes = np.unique(values, axis=0, return_inverse=True)
        colours = colours * np.uint64(_ODD) + codes.reshape(-1).astype(np.uint64)
    colours = colours[np.lexsort((colours, np.repeat(np.arange(len(batch)), batch.node_counts)))]
    weights = np.round(batch.weights, _DECIMALS) if batch.is_weighted else np.empty(0)
    nodes, entries = batch.node_ptr, batch.indptr[batch.node_ptr]
    keys = []
    for graph in range(len(batch)):
        digest = hashlib.blake2b(colours[nodes[graph] : nodes[graph + 1]].tobytes(), digest_size=16)
        digest.update(np.sort(weights[entries[graph] : entries[graph + 1]]).tobytes())
        keys.append(digest.hexdigest().encode())
    return np.array(keys)


def _kernel_groups(members: Ints, moments: Floats) -> list[Ints]:
    """Split graphs by moments of their return probabilities, which agree up to rounding."""
    groups: list[list[int]] = []
    for member in members.tolist():
        for group in groups:
            if np.abs(moments[member] - moments[group[0]]).max() <= 10.0**-_DECIMALS:
                group.append(member)
                break
        else:
            groups.append([member])
    return [np.array(group) for group in groups if len(group) > 1]


def _moments(batch: GraphBatch, members: Ints, n_steps: int, n_jobs: int | None) -> Floats:
    """Mean return probabilities and their mean squares and cubes, one row for each graph."""
    chosen = batch[members]
    values = return_probabilities(chosen, n_steps, n_jobs=n_jobs)
    starts = chosen.node_ptr[:-1]
    powers = [np.add.reduceat(values**power, starts) for power in (1, 2, 3)]
    means = np.hstack(powers) / chosen.node_counts[:, None]
    found = np.zeros((len(batch), means.shape[1]))
    found[members] = means
    return found


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
            values[name] = round(value, _DECIMALS)
        elif name == "attributes":
            values[name] = [round(float(number), _DECIMALS) for number in value]
