"""Distances of graphs, the most similar ones, an index of many, and groups of equal graphs."""

from retgk._namespaces import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
