"""
Graph kernels from return probabilities of random walks.

Public names are imported when they are first used, so that ``import retgk`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retgk.batch import GraphBatch as GraphBatch
    from retgk.converters import as_batch as as_batch
    from retgk.converters import from_edge_lists as from_edge_lists
    from retgk.converters import from_grakel as from_grakel
    from retgk.converters import from_igraph as from_igraph
    from retgk.converters import from_networkx as from_networkx
    from retgk.converters import from_numpy as from_numpy
    from retgk.converters import from_pyg as from_pyg
    from retgk.converters import from_rdkit as from_rdkit
    from retgk.converters import from_scipy as from_scipy
    from retgk.converters import from_smiles as from_smiles
    from retgk.converters import to_networkx as to_networkx
    from retgk.datasets.dataset import GraphDataset as GraphDataset
    from retgk.datasets.digits import load_digit_graphs as load_digit_graphs
    from retgk.datasets.edge_lists import read_edge_list as read_edge_list
    from retgk.datasets.edge_lists import write_edge_list as write_edge_list
    from retgk.datasets.generators import make_graph_classification as make_graph_classification
    from retgk.datasets.graphml import read_graphml as read_graphml
    from retgk.datasets.graphml import write_graphml as write_graphml
    from retgk.datasets.parquet import iter_parquet as iter_parquet
    from retgk.datasets.parquet import read_parquet as read_parquet
    from retgk.datasets.parquet import write_parquet as write_parquet
    from retgk.datasets.synthetic import make_synthetic as make_synthetic
    from retgk.datasets.synthetic import make_synthie as make_synthie
    from retgk.datasets.tudataset import load_tudataset as load_tudataset
    from retgk.datasets.tudataset import save_tudataset as save_tudataset
    from retgk.embeddings.gram import embedding_gram as embedding_gram
    from retgk.embeddings.gram import embedding_products as embedding_products
    from retgk.errors import InvalidInputError as InvalidInputError
    from retgk.estimators.classifier import RetGKClassifier as RetGKClassifier
    from retgk.estimators.embedding import RetGKEmbedding as RetGKEmbedding
    from retgk.estimators.everyday import distance as distance
    from retgk.estimators.everyday import most_similar as most_similar
    from retgk.estimators.everyday import pairwise_distances as pairwise_distances
    from retgk.estimators.everyday import similarity as similarity
    from retgk.estimators.functions import mean_embedding_gram as mean_embedding_gram
    from retgk.estimators.functions import squared_mmd as squared_mmd
    from retgk.estimators.gram_file import write_mean_embedding_gram as write_mean_embedding_gram
    from retgk.estimators.kernel import RetGKKernel as RetGKKernel
    from retgk.estimators.regressor import RetGKRegressor as RetGKRegressor
    from retgk.kernels.graph_kernels import ExponentialGraphKernel as ExponentialGraphKernel
    from retgk.kernels.graph_kernels import PolynomialGraphKernel as PolynomialGraphKernel
    from retgk.kernels.node_kernels import Delta as Delta
    from retgk.kernels.node_kernels import Gaussian as Gaussian
    from retgk.kernels.node_kernels import Laplacian as Laplacian
    from retgk.kernels.node_kernels import Polynomial as Polynomial
    from retgk.models.files import load_model as load_model
    from retgk.models.files import save_model as save_model
    from retgk.walks.features import return_probabilities as return_probabilities
    from retgk.walks.sampling import sample_nodes as sample_nodes

__version__ = "0.1.0.dev0"

_MODULE_OF = {
    "Delta": "retgk.kernels.node_kernels",
    "ExponentialGraphKernel": "retgk.kernels.graph_kernels",
    "Gaussian": "retgk.kernels.node_kernels",
    "GraphBatch": "retgk.batch",
    "GraphDataset": "retgk.datasets.dataset",
    "InvalidInputError": "retgk.errors",
    "Laplacian": "retgk.kernels.node_kernels",
    "Polynomial": "retgk.kernels.node_kernels",
    "PolynomialGraphKernel": "retgk.kernels.graph_kernels",
    "RetGKClassifier": "retgk.estimators.classifier",
    "RetGKEmbedding": "retgk.estimators.embedding",
    "RetGKKernel": "retgk.estimators.kernel",
    "RetGKRegressor": "retgk.estimators.regressor",
    "as_batch": "retgk.converters",
    "distance": "retgk.estimators.everyday",
    "embedding_gram": "retgk.embeddings.gram",
    "embedding_products": "retgk.embeddings.gram",
    "from_edge_lists": "retgk.converters",
    "from_grakel": "retgk.converters",
    "from_igraph": "retgk.converters",
    "from_networkx": "retgk.converters",
    "from_numpy": "retgk.converters",
    "from_pyg": "retgk.converters",
    "from_rdkit": "retgk.converters",
    "from_scipy": "retgk.converters",
    "from_smiles": "retgk.converters",
    "iter_parquet": "retgk.datasets.parquet",
    "load_digit_graphs": "retgk.datasets.digits",
    "load_model": "retgk.models.files",
    "load_tudataset": "retgk.datasets.tudataset",
    "make_graph_classification": "retgk.datasets.generators",
    "make_synthetic": "retgk.datasets.synthetic",
    "make_synthie": "retgk.datasets.synthetic",
    "mean_embedding_gram": "retgk.estimators.functions",
    "most_similar": "retgk.estimators.everyday",
    "pairwise_distances": "retgk.estimators.everyday",
    "read_edge_list": "retgk.datasets.edge_lists",
    "read_graphml": "retgk.datasets.graphml",
    "read_parquet": "retgk.datasets.parquet",
    "return_probabilities": "retgk.walks.features",
    "sample_nodes": "retgk.walks.sampling",
    "save_model": "retgk.models.files",
    "save_tudataset": "retgk.datasets.tudataset",
    "similarity": "retgk.estimators.everyday",
    "squared_mmd": "retgk.estimators.functions",
    "to_networkx": "retgk.converters",
    "write_edge_list": "retgk.datasets.edge_lists",
    "write_graphml": "retgk.datasets.graphml",
    "write_mean_embedding_gram": "retgk.estimators.gram_file",
    "write_parquet": "retgk.datasets.parquet",
}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name == "plot":
        return import_module("retgk.plot")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'retgk' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "plot"})
