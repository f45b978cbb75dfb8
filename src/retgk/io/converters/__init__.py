"""Graphs of other packages: one function for each, and one that finds the right one."""

from retgk.io.converters.arrays import from_edge_lists, from_numpy, from_scipy
from retgk.io.converters.data_frames import from_dataframe
from retgk.io.converters.dispatch import GraphLike, GraphsLike, as_batch, batch_like
from retgk.io.converters.grakel import from_grakel
from retgk.io.converters.igraph_graphs import from_igraph
from retgk.io.converters.networkx_graphs import from_networkx
from retgk.io.converters.pyg_data import from_pyg
from retgk.io.converters.rdkit_molecules import from_rdkit
from retgk.io.converters.smiles_strings import from_smiles, iter_smiles
from retgk.io.converters.ways_back import to_grakel, to_igraph, to_networkx, to_pyg

__all__ = [
    "GraphLike",
    "GraphsLike",
    "as_batch",
    "batch_like",
    "from_dataframe",
    "from_edge_lists",
    "from_grakel",
    "from_igraph",
    "from_networkx",
    "from_numpy",
    "from_pyg",
    "from_rdkit",
    "from_scipy",
    "from_smiles",
    "iter_smiles",
    "to_grakel",
    "to_igraph",
    "to_networkx",
    "to_pyg",
]
