"""
Graph kernels from return probabilities of random walks.

Public names are imported when they are first used, so that ``import retgk`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retgk.cluster.embedded_files import embed_files as embed_files
    from retgk.comparison.compare_methods import compare as compare
    from retgk.comparison.comparison_table import Comparison as Comparison
    from retgk.engine.embedded.embedding_gram import embedding_gram as embedding_gram
    from retgk.engine.embedded.embedding_gram import embedding_products as embedding_products
    from retgk.errors import InvalidInputError as InvalidInputError
    from retgk.estimators.classifier import RetGKClassifier as RetGKClassifier
    from retgk.estimators.comparisons import distance as distance
    from retgk.estimators.comparisons import mean_embedding_gram as mean_embedding_gram
    from retgk.estimators.comparisons import most_similar as most_similar
    from retgk.estimators.comparisons import pairwise_distances as pairwise_distances
    from retgk.estimators.comparisons import similarity as similarity
    from retgk.estimators.comparisons import squared_mmd as squared_mmd
    from retgk.estimators.embedding import RetGKEmbedding as RetGKEmbedding
    from retgk.estimators.explanation import Explanation as Explanation
    from retgk.estimators.gram_file import write_mean_embedding_gram as write_mean_embedding_gram
    from retgk.estimators.kernel import RetGKKernel as RetGKKernel
    from retgk.estimators.regressor import RetGKRegressor as RetGKRegressor
    from retgk.explorer.collection_page import CollectionPage as CollectionPage
    from retgk.explorer.exploring import explore as explore
    from retgk.graphs.batch import GraphBatch as GraphBatch
    from retgk.io.converters import as_batch as as_batch
    from retgk.io.converters import from_dataframe as from_dataframe
    from retgk.io.converters import from_edge_lists as from_edge_lists
    from retgk.io.converters import from_grakel as from_grakel
    from retgk.io.converters import from_igraph as from_igraph
    from retgk.io.converters import from_networkx as from_networkx
    from retgk.io.converters import from_numpy as from_numpy
    from retgk.io.converters import from_pyg as from_pyg
    from retgk.io.converters import from_rdkit as from_rdkit
    from retgk.io.converters import from_scipy as from_scipy
    from retgk.io.converters import from_smiles as from_smiles
    from retgk.io.converters import iter_smiles as iter_smiles
    from retgk.io.converters import to_grakel as to_grakel
    from retgk.io.converters import to_igraph as to_igraph
    from retgk.io.converters import to_networkx as to_networkx
    from retgk.io.converters import to_pyg as to_pyg
    from retgk.io.datasets.digits import load_digit_graphs as load_digit_graphs
    from retgk.io.datasets.generators import make_graph_classification as make_graph_classification
    from retgk.io.datasets.synthetic import make_synthetic as make_synthetic
    from retgk.io.datasets.synthetic import make_synthie as make_synthie
    from retgk.io.datasets.tudataset import load_tudataset as load_tudataset
    from retgk.io.datasets.tudataset import save_tudataset as save_tudataset
    from retgk.io.formats.edge_lists import read_edge_list as read_edge_list
    from retgk.io.formats.edge_lists import write_edge_list as write_edge_list
    from retgk.io.formats.graphml import read_graphml as read_graphml
    from retgk.io.formats.graphml import write_graphml as write_graphml
    from retgk.io.formats.json_graphs import read_json as read_json
    from retgk.io.formats.json_graphs import write_json as write_json
    from retgk.io.formats.parquet import iter_parquet as iter_parquet
    from retgk.io.formats.parquet import read_parquet as read_parquet
    from retgk.io.formats.parquet import write_parquet as write_parquet
    from retgk.io.graph_dataset import GraphDataset as GraphDataset
    from retgk.io.read_graphs import read_graphs as read_graphs
    from retgk.kernels.graph_kernels import ExponentialGraphKernel as ExponentialGraphKernel
    from retgk.kernels.graph_kernels import PolynomialGraphKernel as PolynomialGraphKernel
    from retgk.kernels.node_kernels import Bridge as Bridge
    from retgk.kernels.node_kernels import Delta as Delta
    from retgk.kernels.node_kernels import Gaussian as Gaussian
    from retgk.kernels.node_kernels import Laplacian as Laplacian
    from retgk.kernels.node_kernels import Polynomial as Polynomial
    from retgk.learning.group_folds import scaffold_folds as scaffold_folds
    from retgk.peer_kernels.deep_graph import DeepGraphKernel as DeepGraphKernel
    from retgk.peer_kernels.graph_invariant import GraphInvariantKernel as GraphInvariantKernel
    from retgk.peer_kernels.graphlets import GraphletKernel as GraphletKernel
    from retgk.peer_kernels.graphlets import graphlet_counts as graphlet_counts
    from retgk.peer_kernels.hash_graph import HashGraphKernel as HashGraphKernel
    from retgk.peer_kernels.shortest_path import ShortestPathKernel as ShortestPathKernel
    from retgk.peer_kernels.subgraph_matching import (
        SubgraphMatchingKernel as SubgraphMatchingKernel,
    )
    from retgk.peer_kernels.weisfeiler_lehman import (
        WeisfeilerLehmanKernel as WeisfeilerLehmanKernel,
    )
    from retgk.persistence.model_files import load_model as load_model
    from retgk.persistence.model_files import save_model as save_model
    from retgk.populations.population_tests import association_test as association_test
    from retgk.populations.population_tests import k_sample_test as k_sample_test
    from retgk.populations.population_tests import two_sample_test as two_sample_test
    from retgk.refinement.refined_labels import refined_labels as refined_labels
    from retgk.search.duplicates import duplicate_groups as duplicate_groups
    from retgk.search.graph_index import GraphIndex as GraphIndex
    from retgk.walks.return_probabilities import return_probabilities as return_probabilities
    from retgk.walks.sampling import sample_nodes as sample_nodes

__version__ = "0.1.0"

_MODULE_OF = {
    "Bridge": "retgk.kernels.node_kernels",
    "CollectionPage": "retgk.explorer.collection_page",
    "Comparison": "retgk.comparison.comparison_table",
    "DeepGraphKernel": "retgk.peer_kernels.deep_graph",
    "Delta": "retgk.kernels.node_kernels",
    "Explanation": "retgk.estimators.explanation",
    "ExponentialGraphKernel": "retgk.kernels.graph_kernels",
    "Gaussian": "retgk.kernels.node_kernels",
    "GraphBatch": "retgk.graphs.batch",
    "GraphDataset": "retgk.io.graph_dataset",
    "GraphIndex": "retgk.search.graph_index",
    "GraphInvariantKernel": "retgk.peer_kernels.graph_invariant",
    "GraphletKernel": "retgk.peer_kernels.graphlets",
    "HashGraphKernel": "retgk.peer_kernels.hash_graph",
    "InvalidInputError": "retgk.errors",
    "Laplacian": "retgk.kernels.node_kernels",
    "Polynomial": "retgk.kernels.node_kernels",
    "PolynomialGraphKernel": "retgk.kernels.graph_kernels",
    "RetGKClassifier": "retgk.estimators.classifier",
    "RetGKEmbedding": "retgk.estimators.embedding",
    "RetGKKernel": "retgk.estimators.kernel",
    "RetGKRegressor": "retgk.estimators.regressor",
    "ShortestPathKernel": "retgk.peer_kernels.shortest_path",
    "SubgraphMatchingKernel": "retgk.peer_kernels.subgraph_matching",
    "WeisfeilerLehmanKernel": "retgk.peer_kernels.weisfeiler_lehman",
    "as_batch": "retgk.io.converters",
    "association_test": "retgk.populations.population_tests",
    "compare": "retgk.comparison.compare_methods",
    "distance": "retgk.estimators.comparisons",
    "duplicate_groups": "retgk.search.duplicates",
    "embed_files": "retgk.cluster.embedded_files",
    "embedding_gram": "retgk.engine.embedded.embedding_gram",
    "embedding_products": "retgk.engine.embedded.embedding_gram",
    "explore": "retgk.explorer.exploring",
    "from_dataframe": "retgk.io.converters",
    "from_edge_lists": "retgk.io.converters",
    "from_grakel": "retgk.io.converters",
    "from_igraph": "retgk.io.converters",
    "from_networkx": "retgk.io.converters",
    "from_numpy": "retgk.io.converters",
    "from_pyg": "retgk.io.converters",
    "from_rdkit": "retgk.io.converters",
    "from_scipy": "retgk.io.converters",
    "from_smiles": "retgk.io.converters",
    "graphlet_counts": "retgk.peer_kernels.graphlets",
    "iter_parquet": "retgk.io.formats.parquet",
    "iter_smiles": "retgk.io.converters",
    "k_sample_test": "retgk.populations.population_tests",
    "load_digit_graphs": "retgk.io.datasets.digits",
    "load_model": "retgk.persistence.model_files",
    "load_tudataset": "retgk.io.datasets.tudataset",
    "make_graph_classification": "retgk.io.datasets.generators",
    "make_synthetic": "retgk.io.datasets.synthetic",
    "make_synthie": "retgk.io.datasets.synthetic",
    "mean_embedding_gram": "retgk.estimators.comparisons",
    "most_similar": "retgk.estimators.comparisons",
    "pairwise_distances": "retgk.estimators.comparisons",
    "read_edge_list": "retgk.io.formats.edge_lists",
    "read_graphml": "retgk.io.formats.graphml",
    "read_graphs": "retgk.io.read_graphs",
    "read_json": "retgk.io.formats.json_graphs",
    "read_parquet": "retgk.io.formats.parquet",
    "refined_labels": "retgk.refinement.refined_labels",
    "return_probabilities": "retgk.walks.return_probabilities",
    "sample_nodes": "retgk.walks.sampling",
    "save_model": "retgk.persistence.model_files",
    "save_tudataset": "retgk.io.datasets.tudataset",
    "scaffold_folds": "retgk.learning.group_folds",
    "similarity": "retgk.estimators.comparisons",
    "squared_mmd": "retgk.estimators.comparisons",
    "to_grakel": "retgk.io.converters",
    "to_igraph": "retgk.io.converters",
    "to_networkx": "retgk.io.converters",
    "to_pyg": "retgk.io.converters",
    "two_sample_test": "retgk.populations.population_tests",
    "write_edge_list": "retgk.io.formats.edge_lists",
    "write_graphml": "retgk.io.formats.graphml",
    "write_json": "retgk.io.formats.json_graphs",
    "write_mean_embedding_gram": "retgk.estimators.gram_file",
    "write_parquet": "retgk.io.formats.parquet",
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
