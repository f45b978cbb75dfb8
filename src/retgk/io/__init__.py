"""
Graphs in and out: objects of other packages, files, data frames.

- Any graphs: `as_batch` gives a `GraphBatch`.
- Any file: `read_graphs` gives a `GraphDataset`, `write_graphs` writes one.
- One package, with its options: `from_networkx`, `from_igraph`, `from_pyg`, `from_rdkit`,
  `from_smiles`, `from_numpy`, `from_scipy`, `from_edge_lists`, `from_dataframe`, `from_grakel`.
- Which SMILES strings RDKit can read: `are_readable`.
- Back: `to_networkx`, `to_igraph`, `to_pyg`, `to_grakel`.
- Piece by piece: `iter_parquet`, `iter_smiles`, `write_parquet`.
"""

from retgk._namespaces import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
