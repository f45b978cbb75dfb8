"""
Distances of graphs, the most similar ones, an index of many, and groups of equal graphs.

- Of two graphs: `similarity`, `distance`; of all pairs: `distances`.
- Nearest graphs: `most_similar`, and `GraphIndex` for many graphs and many questions.
- Equal graphs: `duplicate_groups`.
"""

from retgk._namespaces import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
