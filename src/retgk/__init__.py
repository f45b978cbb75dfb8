"""
Graph kernels from return probabilities of random walks: compare, classify, search, test, explain.

The names here are those of the first hour; more are in the packages:

- `retgk.kernels`: kernels between graphs and between nodes, and what they are made of;
- `retgk.io`: graphs of other packages and in files;
- `retgk.datasets`: collections by name, and made-up ones;
- `retgk.model_selection`: methods side by side, folds, explanations;
- `retgk.stats`: tests of populations;
- `retgk.search`: distances, an index, duplicates;
- `retgk.plot`, `retgk.pyg`: pictures, a transform for PyTorch Geometric.
"""

from retgk._namespaces import lazy_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
