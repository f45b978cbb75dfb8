"""A `RetGKEmbedding` that is fitted already, from a fitted engine."""

import numpy as np

from retgk.engine.embedded.embedded_engine import EmbeddedEngine
from retgk.estimators.embedding import RetGKEmbedding
from retgk.estimators.graph_intake import GraphIntake
from retgk.walks.return_probabilities import Walks

__all__ = ["embedding_of_engine", "set_fitted_embedding"]


def set_fitted_embedding(
    embedding: RetGKEmbedding, engine: EmbeddedEngine, walks: Walks, intake: GraphIntake
) -> RetGKEmbedding:
    """Set the fitted attributes of an estimator from a fitted engine."""
    return embedding.take_engine(engine.keep(np.empty(0, np.int64)), walks, intake)


def embedding_of_engine(
    engine: EmbeddedEngine, walks: Walks, intake: GraphIntake
) -> RetGKEmbedding:
    """Fitted embedding with the parameters and the feature map of an engine."""
    embedding = RetGKEmbedding(
        walks.n_steps,
        method=walks.method,
        n_walks=walks.n_walks,
        self_loop=walks.self_loop,
        nodes=walks.nodes,
        feature_map=engine.feature_map,
        n_components=engine.n_components,
        structure_kernel=engine.structure_kernel,
        attribute_kernel=engine.attribute_kernel,
        scale_attributes=engine.scale_attributes,
        depth=engine.depth,
        level_weights=engine.level_weights,
        frequencies=engine.frequencies,
        unknown_labels=engine.unknown_labels,
        sparse_output=True,
        dtype=engine.dtype,
        n_jobs=engine.n_jobs,
        batch_size=engine.batch_size,
        random_state=engine.random_state,
    )
    return set_fitted_embedding(embedding, engine, walks, intake)
