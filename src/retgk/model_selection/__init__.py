"""
Methods side by side on one collection, folds for graphs, and reasons of a model.

- `compare` runs methods on the same folds and gives a `Comparison`.
- `scaffold_folds` keeps molecules with one scaffold together, and so does `scaffold_split`, the
  split of the Open Graph Benchmark.
- `Explanation` is what ``model.explain(graphs)`` gives.
"""

from retgk._namespaces import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
