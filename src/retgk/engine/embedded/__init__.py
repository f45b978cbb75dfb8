"""Explicit vectors for graphs: the approximate embeddings of RetGK_II."""
