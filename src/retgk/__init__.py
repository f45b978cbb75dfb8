"""
Graph kernels from return probabilities of random walks.

Public names are imported when they are first used, so that ``import retgk`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retgk.cluster import embed_files as embed_files
    from retgk.comparison.compare import compare as compare
    from retgk.comparison.table import Comparison as Comparison
    from retgk.datasets import load_digit_graphs as load_digit_graphs
    from retgk.datasets import load_tudataset as load_tudataset
    from retgk.datasets import make_graph_classification as make_graph_classification
    from retgk.datasets import save_tudataset as save_tudataset
    from retgk.errors import InvalidInputError as InvalidInputError
    from retgk.estimators.classifier import GraphClassifier as GraphClassifier
    from retgk.estimators.embedding import RetGKEmbedding as RetGKEmbedding
    from retgk.estimators.explanation import Explanation as Explanation
    from retgk.estimators.gram_file import write_mean_embedding_gram as write_mean_embedding_gram
    from retgk.estimators.kernel import RetGK as RetGK
    from retgk.estimators.model_files import load_model as load_model
    from retgk.estimators.model_files import save_model as save_model
    from retgk.estimators.regressor import GraphRegressor as GraphRegressor
    from retgk.estimators.similarity import distance as distance
    from retgk.estimators.similarity import mean_embedding_gram as mean_embedding_gram
    from retgk.estimators.similarity import most_similar as most_similar
    from retgk.estimators.similarity import pairwise_distances as pairwise_distances
    from retgk.estimators.similarity import similarity as similarity
    from retgk.estimators.similarity import squared_mmd as squared_mmd
    from retgk.explorer.page import CollectionPage as CollectionPage
    from retgk.explorer.page import explore as explore
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
    from retgk.io.edges import write_edge_list as write_edge_list
    from retgk.io.grakel import from_grakel as from_grakel
    from retgk.io.graphml import write_graphml as write_graphml
    from retgk.io.json import write_json as write_json
    from retgk.io.molecules import from_rdkit as from_rdkit
    from retgk.io.molecules import from_smiles as from_smiles
    from retgk.io.molecules import iter_smiles as iter_smiles
    from retgk.io.networkx import from_igraph as from_igraph
    from retgk.io.networkx import from_networkx as from_networkx
    from retgk.io.parquet import iter_parquet as iter_parquet
    from retgk.io.parquet import write_parquet as write_parquet
    from retgk.io.pyg import from_pyg as from_pyg
    from retgk.io.read import read_graphs as read_graphs
    from retgk.kernels.embedded_vectors import embedding_gram as embedding_gram
    from retgk.kernels.graph import ExponentialGraphKernel as ExponentialGraphKernel
    from retgk.kernels.graph import PolynomialGraphKernel as PolynomialGraphKernel
    from retgk.kernels.node import Bridge as Bridge
    from retgk.kernels.node import Delta as Delta
    from retgk.kernels.node import Gaussian as Gaussian
    from retgk.kernels.node import Laplacian as Laplacian
    from retgk.kernels.node import Polynomial as Polynomial
    from retgk.kernels.others.deep_graph import DeepGraph as DeepGraph
    from retgk.kernels.others.graph_invariant import GraphInvariant as GraphInvariant
    from retgk.kernels.others.graphlets import Graphlets as Graphlets
    from retgk.kernels.others.graphlets import graphlet_counts as graphlet_counts
    from retgk.kernels.others.hash_graph import HashGraph as HashGraph
    from retgk.kernels.others.shortest_path import ShortestPath as ShortestPath
    from retgk.kernels.others.subgraph_matching import (
        SubgraphMatching as SubgraphMatching,
    )
    from retgk.kernels.others.weisfeiler_lehman import (
        WeisfeilerLehman as WeisfeilerLehman,
    )
    from retgk.kernels.refinement import refined_labels as refined_labels
    from retgk.learning.folds import scaffold_folds as scaffold_folds
    from retgk.search.duplicates import duplicate_groups as duplicate_groups
    from retgk.search.index import GraphIndex as GraphIndex
    from retgk.stats.tests import association_test as association_test
    from retgk.stats.tests import k_sample_test as k_sample_test
    from retgk.stats.tests import two_sample_test as two_sample_test
    from retgk.walks.probabilities import return_probabilities as return_probabilities
    from retgk.walks.probabilities import sample_nodes as sample_nodes

__version__ = "0.1.0"

_MODULE_OF = {
    "Bridge": "retgk.kernels.node",
    "CollectionPage": "retgk.explorer.page",
    "Comparison": "retgk.comparison.table",
    "DeepGraph": "retgk.kernels.others.deep_graph",
    "Delta": "retgk.kernels.node",
    "Explanation": "retgk.estimators.explanation",
    "ExponentialGraphKernel": "retgk.kernels.graph",
    "Gaussian": "retgk.kernels.node",
    "GraphBatch": "retgk.graphs.batch",
    "GraphDataset": "retgk.io.dataset",
    "GraphIndex": "retgk.search.index",
    "GraphInvariant": "retgk.kernels.others.graph_invariant",
    "Graphlets": "retgk.kernels.others.graphlets",
    "HashGraph": "retgk.kernels.others.hash_graph",
    "InvalidInputError": "retgk.errors",
    "Laplacian": "retgk.kernels.node",
    "Polynomial": "retgk.kernels.node",
    "PolynomialGraphKernel": "retgk.kernels.graph",
    "GraphClassifier": "retgk.estimators.classifier",
    "RetGKEmbedding": "retgk.estimators.embedding",
    "RetGK": "retgk.estimators.kernel",
    "GraphRegressor": "retgk.estimators.regressor",
    "ShortestPath": "retgk.kernels.others.shortest_path",
    "SubgraphMatching": "retgk.kernels.others.subgraph_matching",
    "WeisfeilerLehman": "retgk.kernels.others.weisfeiler_lehman",
    "as_batch": "retgk.io.convert",
    "association_test": "retgk.stats.tests",
    "compare": "retgk.comparison.compare",
    "distance": "retgk.estimators.similarity",
    "duplicate_groups": "retgk.search.duplicates",
    "embed_files": "retgk.cluster",
    "embedding_gram": "retgk.kernels.embedded_vectors",
    "explore": "retgk.explorer.page",
    "from_dataframe": "retgk.io.dataframes",
    "from_edge_lists": "retgk.io.arrays",
    "from_grakel": "retgk.io.grakel",
    "from_igraph": "retgk.io.networkx",
    "from_networkx": "retgk.io.networkx",
    "from_numpy": "retgk.io.arrays",
    "from_pyg": "retgk.io.pyg",
    "from_rdkit": "retgk.io.molecules",
    "from_scipy": "retgk.io.arrays",
    "from_smiles": "retgk.io.molecules",
    "graphlet_counts": "retgk.kernels.others.graphlets",
    "iter_parquet": "retgk.io.parquet",
    "iter_smiles": "retgk.io.molecules",
    "k_sample_test": "retgk.stats.tests",
    "load_digit_graphs": "retgk.datasets",
    "load_model": "retgk.estimators.model_files",
    "load_tudataset": "retgk.datasets",
    "make_graph_classification": "retgk.datasets",
    "mean_embedding_gram": "retgk.estimators.similarity",
    "most_similar": "retgk.estimators.similarity",
    "pairwise_distances": "retgk.estimators.similarity",
    "read_graphs": "retgk.io.read",
    "refined_labels": "retgk.kernels.refinement",
    "return_probabilities": "retgk.walks.probabilities",
    "sample_nodes": "retgk.walks.probabilities",
    "save_model": "retgk.estimators.model_files",
    "save_tudataset": "retgk.datasets",
    "scaffold_folds": "retgk.learning.folds",
    "similarity": "retgk.estimators.similarity",
    "squared_mmd": "retgk.estimators.similarity",
    "to_grakel": "retgk.io.convert",
    "to_igraph": "retgk.io.convert",
    "to_networkx": "retgk.io.convert",
    "to_pyg": "retgk.io.convert",
    "two_sample_test": "retgk.stats.tests",
    "write_edge_list": "retgk.io.edges",
    "write_graphml": "retgk.io.graphml",
    "write_json": "retgk.io.json",
    "write_mean_embedding_gram": "retgk.estimators.gram_file",
    "write_parquet": "retgk.io.parquet",
}

__all__ = list(_MODULE_OF)

_SUBPACKAGES = ("plot", "pyg")


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"retgk.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'retgk' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})
