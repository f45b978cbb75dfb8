"""
Kernels between graphs and between nodes.

`RetGK`, and of other authors `WeisfeilerLehman`, `ShortestPath`, ...; ``a + b``, ``a * b``,
``0.5 * a``, ``a.normalized()`` and `mean_of` combine them, `Precomputed` takes values,
`GraphKernel` is the base of your own. `Laplacian`, ... compare nodes. `RetGKEmbedding` and
`Vectors` give vectors of graphs.
"""

from retgk._namespaces import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
