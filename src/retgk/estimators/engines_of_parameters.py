"""Engines and features from the parameters of `RetGKKernel` and `RetGKEmbedding`."""

from numbers import Integral
from typing import Any

from retgk.engine.embedded.embedded_engine import EmbeddedEngine
from retgk.engine.exact.exact_engine import ExactEngine
from retgk.engine.node_features import NodeFeatures
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.runtime.seeds import whole_seed
from retgk.walks.return_probabilities import MONTE_CARLO, Walks

__all__ = ["embedding_engine", "embedding_features", "kernel_engine", "kernel_features"]


def kernel_engine(kernel: Any) -> ExactEngine:
    """Unfitted engine with the parameters of an estimator for nodes."""
    return ExactEngine(
        kernel.structure_kernel,
        kernel.attribute_kernel,
        scale_attributes=kernel.scale_attributes,
        depth=kernel.depth,
        level_weights=kernel.level_weights,
        tol=kernel.tol,
        n_jobs=kernel.n_jobs,
        random_state=kernel.random_state,
    )


def kernel_features(kernel: Any, batch: GraphBatch) -> NodeFeatures:
    """Features of graphs to be fitted, by the parameters of an estimator for walks."""
    is_drawn = kernel.method in MONTE_CARLO or isinstance(kernel.random_state, Integral)
    seed = whole_seed(kernel.random_state) if is_drawn else 0
    walks = Walks(kernel.n_steps, kernel.method, kernel.n_walks, kernel.self_loop, seed)
    return NodeFeatures(batch, walks, kernel.n_jobs)


def embedding_engine(embedding: Any) -> EmbeddedEngine:
    """Unfitted engine with the parameters of an estimator for nodes."""
    return EmbeddedEngine(
        embedding.structure_kernel,
        embedding.attribute_kernel,
        scale_attributes=embedding.scale_attributes,
        depth=embedding.depth,
        level_weights=embedding.level_weights,
        feature_map=embedding.feature_map,
        n_components=embedding.n_components,
        frequencies=embedding.frequencies,
        unknown_labels=embedding.unknown_labels,
        dtype=embedding.dtype,
        batch_size=embedding.batch_size,
        n_jobs=embedding.n_jobs,
        random_state=embedding.random_state,
    )


def embedding_features(embedding: Any, engine: EmbeddedEngine, batch: GraphBatch) -> NodeFeatures:
    """Features of graphs to be fitted, by the parameters of an embedding for walks."""
    walks = Walks(
        embedding.n_steps,
        embedding.method,
        embedding.n_walks,
        embedding.self_loop,
        engine.walk_seed,
        embedding.nodes,
    )
    if embedding.nodes is not None and embedding.depth:
        raise InvalidInputError(
            f"depth={embedding.depth} refines the labels of all nodes, so nodes={embedding.nodes} "
            "would save nothing; leave one of them out"
        )
    return NodeFeatures(batch, walks, embedding.n_jobs)
