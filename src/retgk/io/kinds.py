"""Which kind of graph an object is, found without importing its package; lists of one kind."""

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cache
from typing import Any, ParamSpec

import numpy as np
from scipy.sparse import issparse

from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.reading import reading_of

_MOST_NAMES = 5


def is_networkx(graph: Any) -> bool:
    """Whether an object is a networkx graph, found without importing networkx."""
    return is_from_package(graph, "networkx") and hasattr(graph, "adjacency")


def is_igraph(graph: Any) -> bool:
    """Whether an object is an igraph graph, found without importing igraph."""
    return is_from_package(graph, "igraph") and hasattr(graph, "get_edgelist")


def is_rdkit(molecule: Any) -> bool:
    """Whether an object is an RDKit molecule, found without importing RDKit."""
    return is_from_package(molecule, "rdkit") and hasattr(molecule, "GetNumAtoms")


def is_pyg(graph: Any) -> bool:
    """
    Whether an object looks like one ``Data``.

    A PyG data set hands out the `edge_index` of all its graphs joined, so it is not one.
    """
    is_collection = any(base.__name__ == "Dataset" for base in type(graph).__mro__)
    return not is_collection and getattr(graph, "edge_index", None) is not None


def is_grakel(graph: Any) -> bool:
    """
    Whether an object can only be one graph in GraKeL's format.

    A list of two matrices, or of a matrix and None, may as well be a list of graphs.
    """
    if not is_grakel_item(graph):
        return False
    if is_grakel_object(graph):
        return True
    structure, labels = graph[0], graph[1] if len(graph) > 1 else None
    if labels is None:
        return isinstance(structure, Mapping | Set)
    is_structure = isinstance(structure, Mapping | Set | list | tuple | np.ndarray)
    return isinstance(labels, Mapping) and (is_structure or issparse(structure))


def is_grakel_item(graph: Any) -> bool:
    """Whether an object can be one graph in GraKeL's format, where that format is asked for."""
    is_parts = isinstance(graph, list | tuple) and 1 <= len(graph) <= 3
    return is_parts or is_grakel_object(graph)


def is_grakel_object(graph: Any) -> bool:
    """Whether an object is a ``grakel.Graph``."""
    return hasattr(graph, "edge_dictionary") and hasattr(graph, "index_node_labels")


def list_graphs(graphs: Any, is_one: Callable[[Any], bool], accepted: str) -> list[Any]:
    """List one graph, or those of an iterable, all of which must be of one kind."""
    return [graphs] if is_one(graphs) else graphs_of_kind(graphs, is_one, accepted)


def graphs_of_kind(graphs: Any, is_one: Callable[[Any], bool], accepted: str) -> list[Any]:
    """List the graphs of an ordered iterable, all of which must be of one kind."""
    if isinstance(graphs, str | bytes | Mapping | Set) or not isinstance(graphs, Iterable):
        raise InvalidInputError(f"expected {accepted}, got {type(graphs).__name__}")
    found = list(iterable_graphs(graphs))
    if not found:
        raise InvalidInputError("there are no graphs to convert")
    for position, graph in enumerate(found):
        if not is_one(graph):
            raise missing_graph_error(graph, position) or InvalidInputError(
                f"graph {position} is of type {type(graph).__name__}; expected {accepted}"
            )
    return found


def iterable_graphs(graphs: Any) -> Any:
    """Give what to iterate over: of a table, its only column, whose rows are the graphs."""
    if hasattr(graphs, "columns") and hasattr(graphs, "iloc"):
        if len(graphs.columns) != 1:
            names = ", ".join(map(repr, graphs.columns[:_MOST_NAMES]))
            raise InvalidInputError(
                f"the table has {len(graphs.columns)} columns ({names}); give one column, such as "
                "df['smiles']; retgk.from_dataframe reads tables of edges and nodes"
            )
        return graphs.iloc[:, 0]
    if isinstance(graphs, np.ndarray) and graphs.dtype.kind in "OUT" and graphs.shape[1:] == (1,):
        return graphs[:, 0]  # a table of one column, as scikit-learn hands it on
    if isinstance(graphs, np.ndarray) and graphs.dtype.kind == "O" and graphs.ndim > 1:
        raise InvalidInputError(
            f"got an array of objects of shape {graphs.shape}: NumPy has taken the graphs apart, "
            "or it is a table; pass the list of graphs itself, or one column"
        )
    return graphs


def missing_graph_error(graph: Any, position: int) -> InvalidInputError | None:
    """Make the error for None or NaN in a list of graphs; None for anything else."""
    is_nan = isinstance(graph, float) and math.isnan(graph)
    if graph is None or is_nan or type(graph).__name__ == "NAType":
        return InvalidInputError(
            f"graph {position} is missing ({graph}); drop it together with its target"
        )
    return None


def is_from_package(graph: Any, package: str) -> bool:
    """Whether the class of an object, or one of its bases, belongs to a package."""
    kind: Any = type(graph)
    return package in _packages(kind)


@cache
def _packages(kind: Any) -> frozenset[str]:
    return frozenset(base.__module__.partition(".")[0] for base in kind.__mro__)


# -------------------------------------------------------------------------------------------------
# Converters remember with which options they were called, in the batch that they make.
# -------------------------------------------------------------------------------------------------

Options = ParamSpec("Options")


def remembers(
    kind: str,
) -> Callable[[Callable[Options, GraphBatch]], Callable[Options, GraphBatch]]:
    """
    Have a converter put a reading of this kind into its batches; see `Reading`.

    What the converter itself has put there, such as the categories that it found, stays.
    """

    def decorate(convert: Callable[Options, GraphBatch]) -> Callable[Options, GraphBatch]:
        parameters = inspect.signature(convert).parameters.values()
        usual = {each.name: each.default for each in parameters if each.kind == each.KEYWORD_ONLY}

        @functools.wraps(convert)
        def converted(*graphs: Options.args, **options: Options.kwargs) -> GraphBatch:
            batch = convert(*graphs, **options)  # which nobody else has yet
            found = {} if batch.reading is None else batch.reading.options
            batch.reading = reading_of(kind, usual | options | found)
            return batch

        return converted

    return decorate
