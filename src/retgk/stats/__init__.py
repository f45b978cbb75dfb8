"""Tests of populations of graphs: do two or more differ, and do graphs go with a number."""

from retgk._namespaces import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
