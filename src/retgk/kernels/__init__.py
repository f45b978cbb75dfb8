"""
Kernels between graphs and between nodes.

- Of the paper: `RetGK`; as vectors `RetGKEmbedding`, `embedding_gram`, `embed_files`.
- Of other authors: `WeisfeilerLehman`, `WeisfeilerLehmanOA`, `ShortestPath`, `Graphlets`,
  `SubgraphMatching`, `GraphInvariant`, `HashGraph`, `DeepGraph`.
- Of molecules: `Morgan`, circular fragments; `Descriptors`, those of RDKit.
- Combined: ``a + b`` (`Sum`), ``a * b`` (`Product`), ``0.5 * a`` (`Scaled`), ``a.normalized()``
  (`Normalized`), `MinMax`, `mean_of`; for molecules `molecule_kernel`.
- Of your own: `GraphKernel` is the base, `Precomputed` takes values; `Vectors` is the transformer
  to a kernel's vectors, `write_mean_embedding_gram` a matrix larger than memory.
- Parts of RetGK: node kernels `Laplacian`, `Matern`, `Gaussian`, `Polynomial` (base
  `NodeKernel`), `Delta`, `Bridge`; graph kernels `ExponentialGraphKernel`,
  `PolynomialGraphKernel`; `Walks`.
- Features: `return_probabilities`, `sample_nodes`, `refined_labels`, `graphlet_counts`.
"""

from retgk._namespaces import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
