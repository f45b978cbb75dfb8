"""Graphs that are equal in everything that kernels read, found in linear time."""

from collections.abc import Callable

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.graphs.batch import GraphBatch
from retgk.kernels.refinement import Keys, colour_keys, keys_of_names
from retgk.walks.probabilities import return_probabilities

DECIMALS = 9
"""To which moments, weights and attributes have to agree."""

_SEED = 0
_DEPTH = 4
_ODD = np.uint64(0x9E3779B97F4A7C15)


def indistinguishable_groups(
    batch: GraphBatch,
    n_steps: int = 50,
    n_jobs: int | None = None,
    wanted: Callable[[Ints], bool] = lambda members: len(members) > 1,
) -> list[Ints]:
    """
    Groups of graphs that share labels, neighbourhoods, attributes, weights and probabilities.

    Only groups that are `wanted` are given, and only theirs are return probabilities computed: of
    graphs with the same keys, which is few, unless graphs are regular.
    """
    candidates = [members for members in _groups(graph_keys(batch, n_jobs)) if wanted(members)]
    if not candidates:
        return []
    moments = _moments(batch, np.concatenate(candidates), n_steps, n_jobs)
    found = [group for members in candidates for group in _kernel_groups(members, moments)]
    return [group for group in found if wanted(group)]


def graph_keys(batch: GraphBatch, n_jobs: int | None) -> Keys:
    """Hash each graph: labels, neighbourhoods, attributes and weights, whatever the node order."""
    named = keys_of_names(batch.label_names, _SEED) if batch.has_labels else None
    labels = np.zeros(batch.n_nodes, np.uint64) if named is None else named[batch.labels]
    nodes = colour_keys(batch, labels, _DEPTH, _SEED, n_jobs)[-1].astype(np.uint64)
    for column in batch.attributes.T:
        nodes = _mixed(nodes * _ODD + _bits(column))
    keys = np.add.reduceat(_mixed(nodes), batch.node_ptr[:-1])
    if batch.is_weighted:
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mixed(_bits(batch.weights)))])
        keys += _ODD * np.diff(sums[batch.indptr[batch.node_ptr]])
    return keys


def _bits(values: Floats) -> Keys:
    with np.errstate(over="ignore"):  # of values that have no such digits
        return (np.round(values, DECIMALS) + 0.0).view(np.uint64)  # no -0.0


def _mixed(keys: Keys) -> Keys:
    """Mix the bits of each key (the finalizer of SplitMix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _groups(keys: Keys) -> list[Ints]:
    _, group_of, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.argsort(group_of, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)])
    return [order[starts[group] : starts[group + 1]] for group in np.flatnonzero(counts > 1)]


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


def _kernel_groups(members: Ints, moments: Floats) -> list[Ints]:
    """Split graphs by moments of their return probabilities, which agree up to rounding."""
    groups: list[list[int]] = []
    for member in members.tolist():
        for group in groups:
            if np.abs(moments[member] - moments[group[0]]).max() <= 10.0**-DECIMALS:
                group.append(member)
                break
        else:
            groups.append([member])
    return [np.array(group) for group in groups]
