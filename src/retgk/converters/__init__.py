"""Graphs of other packages: one function for each, and one that finds the right one."""

from retgk.converters.arrays import from_edge_lists, from_numpy, from_scipy
from retgk.converters.dispatch import as_batch
from retgk.converters.grakel import from_grakel
from retgk.converters.igraph_graphs import from_igraph
from retgk.converters.networkx_graphs import from_networkx
from retgk.converters.networkx_output import to_networkx
from retgk.converters.pyg import from_pyg
from retgk.converters.rdkit_molecules import from_rdkit, from_smiles

__all__ = [
    "as_batch",
    "from_edge_lists",
    "from_grakel",
    "from_igraph",
    "from_networkx",
    "from_numpy",
    "from_pyg",
    "from_rdkit",
    "from_scipy",
    "from_smiles",
    "to_networkx",
]
