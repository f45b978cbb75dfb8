"""What an index asks of an embedding: vectors of graphs, and exact distances of the same kernel."""

from copy import deepcopy
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.estimators.comparisons import pairwise_distances
from retgk.estimators.embedding import RetGKEmbedding
from retgk.graphs.batch import GraphBatch
from retgk.persistence.model_states import fitted_parameters
from retgk.runtime.progress import progress_bar
from retgk.search.row_store import RowStore
from retgk.search.vector_codec import VectorCodec

__all__ = [
    "Method",
    "check_count",
    "check_method",
    "check_rerank",
    "coded_vectors",
    "dense_vectors",
    "fitted_embedding",
    "reranked",
]

Method = Literal["auto", "scan", "approximate"]

_COMPONENTS = 2048
_BLOCK_GRAPHS = 20_000  # embedded at a time: 160 MB of vectors
_MOST_FEATURES = 1 << 14  # axes are found in a matrix of so many rows and columns


def check_count(name: str, value: Any) -> None:
    """Raise if a parameter is no number of something."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInputError(f"{name} must be a whole number of at least 1, got {value!r}")


def fitted_embedding(
    given: RetGKEmbedding | None, batch: GraphBatch, n_jobs: int | None, random_state: Any
) -> RetGKEmbedding:
    """
    Embedding of an index: that which was given, fitted if it is not yet; else the default one.

    It is a copy: what is done with the given one later changes no index.
    """
    if given is None:
        given = RetGKEmbedding(
            feature_map="phases",
            n_components=_COMPONENTS,
            dtype=np.float32,
            n_jobs=n_jobs,
            random_state=random_state,
        )
    fitted: RetGKEmbedding = deepcopy(given) if hasattr(given, "maps_") else clone(given).fit(batch)
    if fitted.n_features_out_ > _MOST_FEATURES:
        raise InvalidInputError(
            f"the embedding has {fitted.n_features_out_} columns, more than the {_MOST_FEATURES} "
            'that an index takes; use feature_map="phases", whose width is n_components'
        )
    return fitted


def dense_vectors(embedding: RetGKEmbedding, batch: GraphBatch) -> NDArray[Any]:
    """Vectors of graphs as a plain array."""
    found = embedding.transform(batch)
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def coded_vectors(
    embedding: RetGKEmbedding, codec: VectorCodec, batch: GraphBatch, n_jobs: int | None
) -> NDArray[Any]:
    """Vectors of graphs as an index stores them, some graphs at a time."""
    coded = np.empty((len(batch), codec.n_columns), codec.storage)
    with progress_bar("vectors of graphs", len(batch)) as advance:
        for start in range(0, len(batch), _BLOCK_GRAPHS):
            part = batch[start : start + _BLOCK_GRAPHS]
            coded[start : start + len(part)] = codec.encode(dense_vectors(embedding, part), n_jobs)
            advance(len(part))
    return coded


def check_method(method: str, has_graphs: bool) -> None:
    """Raise if an index cannot be searched in this way."""
    if method not in get_args(Method):
        raise InvalidInputError(
            f"method must be one of {', '.join(get_args(Method))}, got {method!r}"
        )
    if method == "approximate" and not has_graphs:
        raise InvalidInputError(
            'the index has too few graphs for graphs of neighbours; use method="auto", or make '
            "it with a smaller scan_below"
        )


def check_rerank(embedding: RetGKEmbedding, k: int, rerank: Any, keep_graphs: bool) -> None:
    """Raise if candidates cannot be compared by the exact kernel."""
    check_count("rerank", rerank)
    if rerank < k:
        raise InvalidInputError(f"rerank must be at least k={k}, got {rerank}")
    if not keep_graphs:
        raise InvalidInputError(
            "exact distances need the graphs, which this index does not hold; make it with "
            "keep_graphs=True"
        )
    if embedding.n_attributes_ and embedding.engine_.scale_attributes == "standard":
        raise InvalidInputError(
            'rerank knows attributes as they are; use scale_attributes="raw" or "drop" in the '
            "embedding"
        )


def reranked(
    embedding: RetGKEmbedding,
    queries: GraphBatch,
    rows: RowStore,
    found: Ints,
    n_jobs: int | None,
) -> tuple[Floats, Ints]:
    """Exact distances of candidates, and the candidates, the nearest first."""
    names = ("n_steps", "method", "n_walks", "self_loop", "scale_attributes", "depth")
    fitted = fitted_parameters(embedding)
    options = {name: fitted[name] for name in (*names, "level_weights")}
    options |= {
        "structure_kernel": embedding.structure_kernel_,
        "attribute_kernel": embedding.attribute_kernel_,
        "n_jobs": n_jobs,
        "random_state": embedding.walk_seed_,
    }
    distances = np.empty(found.shape)
    with progress_bar("exact distances", len(queries)) as advance:
        for number, query in enumerate(queries):
            candidates = rows.graphs_of(found[number], query.reading)
            distances[number] = pairwise_distances(query, candidates, **options)[0]
            advance(1)
    order = np.lexsort((found, distances), axis=1)
    return np.take_along_axis(distances, order, 1), np.take_along_axis(found, order, 1)
