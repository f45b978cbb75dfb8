"""Public names of retgk.io: the one list of them."""

from retgk.graphs.batch import GraphBatch as GraphBatch
from retgk.io.arrays import from_edge_lists as from_edge_lists
from retgk.io.arrays import from_numpy as from_numpy
from retgk.io.arrays import from_scipy as from_scipy
from retgk.io.convert import as_batch as as_batch
from retgk.io.convert import to_grakel as to_grakel
from retgk.io.convert import to_igraph as to_igraph
from retgk.io.convert import to_networkx as to_networkx
from retgk.io.convert import to_pyg as to_pyg
from retgk.io.dataframes import from_dataframe as from_dataframe
from retgk.io.dataset import GraphDataset as GraphDataset
from retgk.io.grakel import from_grakel as from_grakel
from retgk.io.molecules import are_readable as are_readable
from retgk.io.molecules import from_rdkit as from_rdkit
from retgk.io.molecules import from_smiles as from_smiles
from retgk.io.molecules import iter_smiles as iter_smiles
from retgk.io.networkx import from_igraph as from_igraph
from retgk.io.networkx import from_networkx as from_networkx
from retgk.io.parquet import iter_parquet as iter_parquet
from retgk.io.parquet import write_parquet as write_parquet
from retgk.io.pyg import from_pyg as from_pyg
from retgk.io.read import read_graphs as read_graphs
from retgk.io.read import write_graphs as write_graphs
