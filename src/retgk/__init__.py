"""
Graph kernels from return probabilities of random walks: compare, classify, search, test, explain.

- Learn: `GraphClassifier`, `GraphRegressor`, `save_model`, `load_model`, `compare` (methods).
- Compare: `similarity`, `distance`, `most_similar`, `GraphIndex`, `two_sample_test`, `explore`.
- Describe: `RetGK` (the kernel), `Walks`, `return_probabilities`.
- Graphs: `as_batch`, `GraphBatch`, `read_graphs`, `write_graphs`, `GraphDataset`,
  `InvalidInputError`.

More names are in the packages:

- `retgk.kernels`: kernels between graphs and between nodes, and what they are made of;
- `retgk.io`: graphs of other packages and in files;
- `retgk.datasets`: collections by name, and random ones;
- `retgk.model_selection`: methods side by side, folds, explanations;
- `retgk.stats`: tests of populations;
- `retgk.search`: distances, an index, duplicates;
- `retgk.plot`: pictures; `retgk.pyg`: a transform for PyTorch Geometric.
"""

from retgk._namespaces import lazy_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
