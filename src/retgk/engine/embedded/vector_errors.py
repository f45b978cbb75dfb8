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

The last two come from a second estimate :math:`\phi(\hat p'_i)` by new walks, W' = W / 2 from every
node. Variances and shifts fall with the number of walks, as 1/W at least, so with r = W / W' the
differences :math:`d_i = \phi(\hat p'_i) - \phi(\hat p_i)` have a mean of at least (r - 1) b and a
mean square of at least :math:`(1 + r) w^2`. The standard error is
:math:`\sqrt{(1 - k/n) (s^2 - w^2) / k + w^2 / k + b^2}`.

It does not know of labels that no drawn node has, and too little of features whose frequency is so
high that noise turns them by half a turn or more: both estimates of these are near zero.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats
from retgk.engine.embedded.embedded_engine import EmbeddedEngine
from retgk.engine.embedded.label_columns import known_codes
from retgk.engine.node_features import NodeFeatures
from retgk.errors import InvalidInputError

__all__ = ["vectors_with_errors"]

_LEAST_WALKS = 6
_CHUNK_NODES = 4096
_OTHER_WALKS = 0x4F54484552  # so that the second estimate has random numbers of its own


def vectors_with_errors(
    engine: EmbeddedEngine, features: NodeFeatures
) -> tuple[NDArray[Any], Floats]:
    """Dense vectors of graphs, as ``engine.embed`` gives them, and the errors of all numbers."""
    if engine.feature_map == "phases":
        raise InvalidInputError(
            'errors are known of feature_map="joint" and "tensor", not of "phases"'
        )
    if features.walks.is_random and features.walks.n_walks < _LEAST_WALKS:
        raise InvalidInputError(
            f"{features.walks.n_walks} walks cannot tell their error; take {_LEAST_WALKS} or more"
        )
    vectors, errors = [], []
    for _, piece in features.pieces(engine.batch_size):
        nodes = piece.drawn_nodes()
        own = piece.of_nodes(nodes)
        vectors.append(engine.embed(own, is_sparse=False))
        other, ratio = None, 1.0
        if piece.walks.is_random:
            n_walks = piece.walks.n_walks // 2
            ratio = piece.walks.n_walks / n_walks
            seed = piece.walks.seed ^ _OTHER_WALKS
            walks = replace(piece.walks, n_walks=n_walks, seed=seed, nodes=None)
            other = walks.probabilities(piece.batch, nodes=nodes, n_jobs=piece.n_jobs)
        errors.append(_errors(engine, own, other, ratio, piece.batch.node_counts))
    return np.concatenate(vectors), np.concatenate(errors)


def _errors(
    engine: EmbeddedEngine, own: NodeFeatures, other: Floats | None, ratio: float, sizes: Any
) -> Floats:
    """Errors of all columns; `own` are the nodes in use, `other` more estimates of theirs."""
    batch = engine.scaling(own).batch
    codes = known_codes(batch, engine.label_names, engine.unknown_labels)
    labels = np.zeros(batch.n_nodes, np.int32) if codes is None else codes
    n_blocks = engine.n_features // engine.block_width
    errors = np.zeros((len(batch), n_blocks, engine.block_width))
    for graph, size in enumerate(sizes.tolist()):
        rows = slice(batch.node_ptr[graph], batch.node_ptr[graph + 1])
        n_rows = int(rows.stop - rows.start)
        for label in np.unique(labels[rows]).tolist():
            if label >= 0:
                chosen = rows.start + np.flatnonzero(labels[rows] == label)
                estimates = (own.probabilities, other)
                moments = _moments(engine, estimates, batch.attributes, chosen)
                errors[graph, label] = moments.error(n_rows, size, ratio)
    return errors.reshape(len(batch), -1)


class _Moments(NamedTuple):
    """Sums over nodes of features, of their squares, of differences, and of squares of these."""

    total: Floats
    squares: Floats
    change: Floats
    squared_change: Floats

    def error(self, n_rows: int, size: int, ratio: float) -> Floats:
        """Standard error of the mean over `n_rows` nodes of a graph that has `size`."""
        if n_rows == 1 < size:
            return np.full(len(self.total), np.inf)
        unbiased = n_rows / max(n_rows - 1, 1)
        variance = np.maximum(self.squares / n_rows - (self.total / n_rows) ** 2, 0.0) * unbiased
        of_walks = self.squared_change / n_rows / (1 + ratio)
        of_nodes = np.maximum(variance - of_walks, 0.0)
        shift = self.change / n_rows / (ratio - 1) if ratio > 1 else 0.0
        share = 1 - n_rows / size
        return np.asarray(np.sqrt((share * of_nodes + of_walks) / n_rows + shift**2))


def _moments(
    engine: EmbeddedEngine,
    estimates: tuple[Floats, Floats | None],
    attributes: Floats,
    rows: Any,
) -> _Moments:
    probabilities, other = estimates
    sums = np.zeros((4, engine.block_width))
    for first in range(0, len(rows), _CHUNK_NODES):
        chosen = rows[first : first + _CHUNK_NODES]
        features = _features(engine, probabilities[chosen], attributes[chosen])
        sums[0] += features.sum(axis=0)
        sums[1] += np.square(features).sum(axis=0)
        if other is not None:
            change = _features(engine, other[chosen], attributes[chosen]) - features
            sums[2] += change.sum(axis=0)
            sums[3] += np.square(change).sum(axis=0)
    return _Moments(*sums)


def _features(engine: EmbeddedEngine, probabilities: Floats, attributes: Floats) -> Floats:
    """Features of nodes within the block of their label, one row each."""
    if len(engine.maps) == 1:
        return engine.maps[0](np.hstack([probabilities, attributes]))
    first, second = engine.maps[0](probabilities), engine.maps[1](attributes)
    return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
