r"""
Standard errors of vectors of graphs: of drawn nodes, of random walks, and of what walks shift.

A vector is a mean over k drawn nodes of n, :math:`\hat m = \frac 1 k \sum_i \phi(\hat p_i)`, with
return probabilities that are estimates from W walks. Three things keep it from the vector of all
nodes and exact probabilities:

- other nodes might have been drawn: :math:`(1 - k/n) (s^2 - w^2) / k`, with :math:`s^2` the
  variance of :math:`\phi(\hat p_i)` over nodes, of which :math:`w^2` is due to walks;
- other walks might have been taken: :math:`w^2 / k`;
- features are no linear functions, so noise in p shifts their mean, by b, however many nodes there
  are.

The last two are looked at: from every eighth of the drawn nodes, at random, eight times as many new
walks give :math:`\phi(\hat p'_i)`. Variances and shifts fall with the number of walks, as 1/W where
noise is small, so the differences :math:`d_i = \phi(\hat p'_i) - \phi(\hat p_i)` have the mean
-7/8 b and a mean square of :math:`9/8\, w^2` or more. The standard error is
:math:`\sqrt{(1 - k/n) (s^2 - w^2) / k + w^2 / k + b^2}`; it takes as long as the vector itself.

It does not know of labels that no drawn node has, and not all of features whose frequency is so
high that noise turns them by half a turn even with eight times the walks.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Flags, Floats, Ints
from retgk.engine.embedded.embedded_engine import EmbeddedEngine
from retgk.engine.embedded.graph_vectors import compiled_maps, phase_vectors
from retgk.engine.embedded.label_columns import known_codes
from retgk.engine.node_features import NodeFeatures
from retgk.graphs.batch import GraphBatch

__all__ = ["vectors_with_errors"]

_MORE = 8  # times the walks, from one of so many nodes
_LEAST_NODES = 64  # of a graph, for the second estimate, if it has as many
_CHUNK_NODES = 4096
_OTHER_WALKS = 0x4F54484552  # so that the second estimate has random numbers of its own


def vectors_with_errors(
    engine: EmbeddedEngine, features: NodeFeatures
) -> tuple[NDArray[Any], Floats]:
    """Dense vectors of graphs, as ``engine.embed`` gives them, and the errors of all numbers."""
    shape = (len(features.batch), engine.n_features)
    vectors, errors = np.empty(shape, engine.dtype), np.empty(shape)
    for first, piece in features.pieces(engine.batch_size):
        rows = slice(first, first + len(piece.batch))
        drawn = piece.drawn_nodes()
        own = piece.of_nodes(drawn)
        vectors[rows] = engine.embed(own, is_sparse=False)
        again = _Again.of(piece, drawn, own.batch.node_ptr) if piece.walks.is_random else None
        errors[rows] = _errors(engine, own, again, piece.batch.node_counts)
    return vectors, errors


class _Again(NamedTuple):
    """Some of the nodes in use, rising, and better estimates of their probabilities."""

    rows: Ints
    probabilities: Floats

    @classmethod
    def of(cls, piece: NodeFeatures, drawn: Ints | None, node_ptr: Ints) -> "_Again":
        """Walk again from some of the nodes that were drawn, of every graph."""
        seed = piece.walks.seed ^ _OTHER_WALKS
        parts = []
        for first, last in pairwise(node_ptr.tolist()):
            n_again = min(last - first, max((last - first) // _MORE, _LEAST_NODES))
            rng = np.random.default_rng([seed, last - first])  # by the graph alone
            parts.append(first + np.sort(rng.choice(last - first, n_again, replace=False)))
        rows = np.concatenate(parts)
        walks = replace(piece.walks, n_walks=_MORE * piece.walks.n_walks, seed=seed, nodes=None)
        nodes = rows if drawn is None else drawn[rows]
        return cls(rows, walks.probabilities(piece.batch, nodes=nodes, n_jobs=piece.n_jobs))


def _errors(engine: EmbeddedEngine, own: NodeFeatures, again: _Again | None, sizes: Ints) -> Floats:
    """Errors of all columns; `own` are the nodes in use."""
    batch = engine.scaling(own).batch
    nodes = _NodeVectors.of(engine, batch, own.n_jobs)
    codes = None
    if engine.feature_map != "phases":
        codes = known_codes(batch, engine.label_names, engine.unknown_labels)
    labels = np.zeros(batch.n_nodes, np.int32) if codes is None else codes
    n_blocks = engine.n_features // engine.block_width
    errors = np.zeros((len(batch), n_blocks, engine.block_width))
    for graph, size in enumerate(sizes.tolist()):
        first, last = batch.node_ptr[graph : graph + 2].tolist()
        chosen = _Again(np.empty(0, np.int64), np.empty((0, 0)))
        if again is not None:
            places = slice(*np.searchsorted(again.rows, [first, last]))
            chosen = _Again(again.rows[places], again.probabilities[places])
        for label in np.unique(labels[first:last]).tolist():
            if label >= 0:
                moments = _moments(nodes, own.probabilities, labels == label, (first, last), chosen)
                errors[graph, label] = moments.error(last - first, size, len(chosen.rows))
    return errors.reshape(len(batch), -1)


class _Moments(NamedTuple):
    """Sums over nodes of features, of their squares, of differences, and of squares of these."""

    total: Floats
    squares: Floats
    change: Floats
    squared_change: Floats

    def error(self, n_rows: int, size: int, n_again: int) -> Floats:
        """Standard error of the mean over `n_rows` nodes of a graph that has `size`."""
        if n_rows == 1 < size:
            return np.full(len(self.total), np.inf)
        unbiased = n_rows / max(n_rows - 1, 1)
        variance = np.maximum(self.squares / n_rows - (self.total / n_rows) ** 2, 0.0) * unbiased
        of_walks = self.squared_change / max(n_again, 1) / (1 + 1 / _MORE)
        of_nodes = np.maximum(variance - of_walks, 0.0)
        shift = self.change / max(n_again, 1) / (1 - 1 / _MORE)
        share = 1 - n_rows / size
        return np.asarray(np.sqrt((share * of_nodes + of_walks) / n_rows + shift**2))


class _NodeVectors(NamedTuple):
    """Features of nodes within the block of their label, each node by itself."""

    engine: EmbeddedEngine
    attributes: Floats
    turns: tuple[Any, Any] | None
    n_jobs: int | None

    @classmethod
    def of(cls, engine: EmbeddedEngine, batch: GraphBatch, n_jobs: int | None) -> "_NodeVectors":
        """Features of nodes of some graphs, whose labels turn them where there are no blocks."""
        is_turned = engine.feature_map == "phases"
        turns = engine.phases.keys(batch, n_jobs) if is_turned else None
        return cls(engine, batch.attributes, turns, n_jobs)

    def __call__(self, rows: Ints, probabilities: Floats) -> Floats:
        """One row for each of these nodes, with probabilities that may be another estimate."""
        maps, attributes = self.engine.maps, self.attributes[rows]
        if self.turns is not None:
            keys, shares = self.turns
            vectors = phase_vectors(
                np.arange(len(rows) + 1),
                (probabilities, attributes),
                keys[rows],
                shares,
                maps[0],
                width=self.engine.block_width,
                compiled=compiled_maps(maps, np.float64),
                n_jobs=self.n_jobs,
            )
            return np.asarray(vectors.data[:, 0, :])
        if len(maps) == 1:
            return maps[0](np.hstack([probabilities, attributes]))
        first, second = maps[0](probabilities), maps[1](attributes)
        return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)


def _moments(
    nodes: _NodeVectors,
    probabilities: Floats,
    has_label: Flags,
    rows: tuple[int, int],
    again: _Again,
) -> _Moments:
    """Sums over the nodes of a graph that have a label; `again` are those of the graph."""
    sums = np.zeros((4, nodes.engine.block_width))
    for first in range(*rows, _CHUNK_NODES):
        chunk = np.arange(first, min(first + _CHUNK_NODES, rows[1]))
        chunk = chunk[has_label[chunk]]
        features = nodes(chunk, probabilities[chunk])
        sums[:2] += features.sum(axis=0), np.square(features).sum(axis=0)
    chosen = has_label[again.rows]
    if chosen.any():
        chunk = again.rows[chosen]
        change = nodes(chunk, again.probabilities[chosen]) - nodes(chunk, probabilities[chunk])
        sums[2:] += change.sum(axis=0), np.square(change).sum(axis=0)
    return _Moments(*sums)
