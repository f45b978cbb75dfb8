"""Where graphs stand on the map: vectors, their nearest graphs, and places that keep them near."""

from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from retgk import _core
from retgk._runtime.names import RandomState, whole_seed
from retgk._runtime.parallel import n_threads, progress_bar, run_tasks, single_threaded_blas
from retgk.array_types import Floats, Ints

Projection = Literal["auto", "tsne", "pca"]
PROJECTIONS = ("auto", "tsne", "pca")

Vectors = NDArray[np.float32]

_PERPLEXITY = 20.0  # 10, 20 and 30 keep as many neighbours, within a point
NEIGHBOURS_OF_MAP = 60
"""Nearest graphs that t-SNE asks for: three times its perplexity."""

_MOST_WITHOUT_OPENTSNE = 20_000  # scikit-learn's t-SNE takes minutes for so many graphs
_FEWEST_FOR_TSNE = 12
_THREADS_FROM = 4_000  # points from which threads of openTSNE take longer to work than to meet
_FOURIER_FROM = 10_000  # points from which openTSNE's interpolation is quicker than its tree
_SEARCHED_DIMENSIONS = 96
_SEARCHED_WHOLE = 8_000  # graphs up to which all coordinates are searched
_CANDIDATES = 2  # times as many neighbours, to be ranked by all coordinates
_ROWS_AT_A_TIME = 512
_CALLED_EVERY = 25  # rounds of t-SNE
_SAMPLE = 20_000  # rows that principal axes are found on


class Neighbours(NamedTuple):
    """Nearest graphs of every graph, the nearest first, without the graph itself."""

    indices: Ints
    """Shape (n_graphs, k)."""
    distances: Vectors
    """Their Euclidean distances, which approximate the maximum mean discrepancy."""

    def first(self, k: int) -> "Neighbours":
        return Neighbours(self.indices[:, :k], self.distances[:, :k])


class MapPlaces(NamedTuple):
    places: Floats
    """Shape (n_graphs, 2)."""
    method: str
    """In a few words, for the page."""


def nearest_graphs(vectors: Vectors, k: int, n_jobs: int | None = None) -> Neighbours:
    """Find the k nearest rows of every row."""
    n_graphs = len(vectors)
    k = min(k, n_graphs - 1)
    indices = np.empty((n_graphs, k), np.int64)
    distances = np.empty((n_graphs, k), np.float32)
    if k < 1:
        return Neighbours(indices, distances)
    is_whole = n_graphs <= _SEARCHED_WHOLE or vectors.shape[1] <= _SEARCHED_DIMENSIONS
    searched = vectors if is_whole else _principal(vectors, _SEARCHED_DIMENSIONS, n_jobs)
    n_candidates = k if is_whole else min(n_graphs - 1, max(_CANDIDATES * k, k + 50))
    norms = np.einsum("ij,ij->i", searched, searched)

    def search(start: int, stop: int) -> None:
        found = _candidates(searched, norms, slice(start, stop), n_candidates)
        gaps = _distances(vectors, np.arange(start, stop), found)
        order = np.lexsort((found, gaps), axis=1)[:, :k]  # of equal ones the first
        indices[start:stop] = np.take_along_axis(found, order, axis=1)
        distances[start:stop] = np.take_along_axis(gaps, order, axis=1)

    pieces = _pieces(n_graphs)
    with single_threaded_blas():
        run_tasks(search, pieces, [stop - start for start, stop in pieces], n_jobs, "neighbours")
    return Neighbours(indices, distances)


def _pieces(n_rows: int) -> list[tuple[int, int]]:
    starts = range(0, n_rows, _ROWS_AT_A_TIME)
    return [(start, min(n_rows, start + _ROWS_AT_A_TIME)) for start in starts]


def _candidates(searched: Vectors, norms: Vectors, rows: slice, count: int) -> Ints:
    """Nearest rows by a product of matrices; never the row itself."""
    gaps = searched[rows] @ searched.T
    gaps *= -2.0
    gaps += norms
    own = np.arange(rows.start, rows.stop)
    gaps[np.arange(len(own)), own] = np.inf
    found = np.empty((len(gaps), count), np.int64)
    _core.find_smallest(gaps, found)
    return found


def _distances(vectors: Vectors, rows: Ints, found: Ints) -> Vectors:
    """Distances of rows to those found, from differences: products lose equal graphs' zero."""
    gaps = np.empty(found.shape, np.float32)
    for place, row in enumerate(rows):
        difference = vectors[found[place]] - vectors[row]
        gaps[place] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return gaps


def _principal(vectors: Vectors, width: int, n_jobs: int | None) -> Vectors:
    step = -(-len(vectors) // _SAMPLE)
    mean = vectors[::step].mean(axis=0, dtype=np.float64).astype(np.float32)
    with single_threaded_blas():
        width = min(width, *vectors[::step].shape)
        _, _, rows = randomized_svd(vectors[::step] - mean, width, n_iter=5, random_state=0)
        axes = rows.T
        # an axis has no direction of its own: its largest entry is made positive
        axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
        turned = np.empty((len(vectors), axes.shape[1]), np.float32)

        def turn(start: int, stop: int) -> None:
            turned[start:stop] = (vectors[start:stop] - mean) @ axes

        pieces = _pieces(len(vectors))
        run_tasks(turn, pieces, [1.0] * len(pieces), n_jobs, "principal axes")
    return turned


def map_places(
    vectors: Vectors,
    projection: Projection = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    near: Neighbours | None = None,
) -> MapPlaces:
    n_graphs = len(vectors)
    components = _principal(vectors, min(50, vectors.shape[1]), n_jobs).astype(np.float64)
    if components.shape[1] < 2:
        components = np.hstack([components, np.zeros((n_graphs, 2 - components.shape[1]))])
    has_fast = find_spec("openTSNE") is not None
    is_too_slow = not has_fast and n_graphs > _MOST_WITHOUT_OPENTSNE
    is_plain = projection == "pca" or n_graphs < _FEWEST_FOR_TSNE
    if is_plain or (projection == "auto" and is_too_slow):
        return MapPlaces(components[:, :2], _pca_words(components, vectors))
    start = components[:, :2] / max(components[:, 0].std(), 1e-30) * 1e-4
    perplexity = min(_PERPLEXITY, (n_graphs - 1) / 3.5)
    seed = whole_seed(random_state, n_bits=31) % 2**31
    if has_fast:
        known = nearest_graphs(vectors, NEIGHBOURS_OF_MAP, n_jobs) if near is None else near
        places = _open_tsne(known.first(int(3 * perplexity)), start, perplexity, seed, n_jobs)
    else:
        places = _sklearn_tsne(components, start, perplexity, seed)
    return MapPlaces(_without_far_places(places), "t-SNE")


def _without_far_places(places: Floats) -> Floats:
    """Pull the few graphs in that t-SNE threw far out, along their line to the middle."""
    centred = places - np.median(places, axis=0)
    radii = np.linalg.norm(centred, axis=1)
    border = 1.1 * np.quantile(radii, 0.98)
    if border <= 0:
        return centred
    beyond = np.maximum(radii / border, 1.0)
    return np.asarray(centred * ((1 + 0.2 * np.log(beyond)) / beyond)[:, None])


def _pca_words(components: Floats, vectors: Vectors) -> str:
    total = float(vectors.var(axis=0, dtype=np.float64).sum())
    share = float(components[:, :2].var(axis=0).sum()) / total if total > 0 else 1.0
    return f"kernel PCA ({share:.0%} of the variance)"


def _open_tsne(
    near: Neighbours, start: Floats, perplexity: float, seed: int, n_jobs: int | None
) -> Floats:
    import openTSNE
    from openTSNE import affinity, nearest_neighbors

    n_jobs = n_threads(n_jobs) if len(start) >= _THREADS_FROM else 1
    known: Any = nearest_neighbors.PrecomputedNeighbors(
        np.ascontiguousarray(near.indices), near.distances.astype(np.float64)
    )
    affinities = affinity.PerplexityBasedNN(perplexity=perplexity, knn_index=known, n_jobs=n_jobs)
    is_many = len(start) >= _FOURIER_FROM
    with progress_bar("map", 750) as advance:
        machine = openTSNE.TSNE(
            negative_gradient_method="fft" if is_many else "bh",
            random_state=seed,
            n_jobs=n_jobs,
            callbacks=lambda *_: advance(_CALLED_EVERY),
            callbacks_every_iters=_CALLED_EVERY,
        )
        found = machine.fit(affinities=affinities, initialization=start)
    return np.asarray(found, np.float64)


def _sklearn_tsne(components: Floats, start: Floats, perplexity: float, seed: int) -> Floats:
    """t-SNE by scikit-learn, on one thread: its sums depend on the number of threads."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    machine = TSNE(perplexity=perplexity, init=start.astype(np.float32), random_state=seed)
    with threadpool_limits(1):
        return np.asarray(machine.fit_transform(components.astype(np.float32)), np.float64)
