"""Data of PyTorch Geometric, by its fields alone: torch is never imported."""

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.graphs.batch import GraphBatch, checked_edges
from retgk.graphs.edges import Symmetrize
from retgk.graphs.flat import Missing
from retgk.io.objects import (
    EdgeLabelName,
    EdgeNames,
    LocalEdges,
    attribute_names,
    batch_from_local_edges,
    checked_edge_weights,
    each_edge_once,
    is_pyg,
    join_labels,
    list_graphs,
    remembers,
    stack_attributes,
    warn_of_unused_values,
)

if TYPE_CHECKING:
    from torch_geometric.data import Data


@remembers("pyg")
def from_pyg(
    graphs: "Data | Iterable[Data]",
    *,
    label: str | None = None,
    attributes: str | list[str] | None = None,
    weight: str | None = "edge_weight",
    edge_label: EdgeLabelName = None,
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
) -> GraphBatch:
    """
    Convert ``Data`` and ``Batch`` of PyTorch Geometric, or anything with their fields.

    Parameters
    ----------
    graphs : Data, Batch, or iterable of them
        Objects with `edge_index` of shape (2, n_edges), which lists both directions of an
        edge, and `num_nodes`.
    label : str, optional
        Field that is the discrete label: one value for each node, or one-hot rows (such as
        "x" in PyG's own ``TUDataset``). No labels by default.
    attributes : str or list of str, optional
        Fields that make up the continuous attributes, such as "x" or ["x", "pos"], put
        side by side. None by default, with a warning if there is "x" or "pos" and no label
        is read; an empty list is no warning.
    weight : str, optional
        Field that is the weight, such as "edge_attr" where that is one number for each
        edge; a graph without it is unweighted. None makes all graphs unweighted, with
        parallel edges too; "edge_attr" that is not read is a warning otherwise.
    edge_label : str or list of str, optional
        Field that is the discrete label of an edge, such as "edge_attr": one value for each edge,
        or one-hot rows. Several make one label, a tuple. Kernels use it with ``depth`` above zero.
        None by default; an empty list is no warning.
    symmetrize, missing
        As in `from_networkx`.

    Returns
    -------
    GraphBatch
        The graphs, in order.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> edge = SimpleNamespace(edge_index=[[0, 1], [1, 0]], num_nodes=2, x=[[0.5], [0.25]])
    >>> from_pyg([edge, edge], attributes="x")
    GraphBatch(2 graphs, 4 nodes, 2 edges, 1 attribute)
    """
    listed_graphs = list_graphs(graphs, is_pyg, "objects with an edge_index")
    found = list(chain.from_iterable(map(_members, listed_graphs)))
    if label is None and attributes is None:
        first = found[0] if found else None
        warn_of_unused_values(n for n in ("x", "pos") if getattr(first, n, None) is not None)
    edge_names = EdgeNames.of(edge_label, missing)
    _warn_of_edge_values(found, weight, edge_names)
    edges = [_edges(graph, position, weight, edge_names) for position, graph in enumerate(found)]
    sizes = [_n_nodes(graph, position) for position, graph in enumerate(found)]
    names = attribute_names(attributes)
    parts = [
        stack_attributes([_field(graph, n, name) for n, graph in enumerate(found)], sizes, missing)
        for name in names
    ]
    labels = None if label is None else [_labels(g, n, label) for n, g in enumerate(found)]
    return batch_from_local_edges(
        sizes,
        edges,
        labels=join_labels(labels, sizes),
        attributes=np.concatenate(parts, axis=1) if parts else None,  # type: ignore[arg-type]
        symmetrize=symmetrize,
        missing=missing,
    )


def _warn_of_edge_values(graphs: list[Any], weight: str | None, names: EdgeNames) -> None:
    """Warn of values of edges that are not read where no weights are; None means to read none."""
    first = graphs[0] if graphs else None
    if names.parts or names.is_silent:
        return
    if weight is None or getattr(first, weight, None) is not None:
        return
    if getattr(first, "edge_attr", None) is None:
        return
    warn_user(
        InputWarning(
            "edges have 'edge_attr', which is not used; "
            'weight="edge_attr" reads it as weights where it is one number for each edge, '
            'edge_label="edge_attr" as labels of edges, which count with depth above zero, '
            "weight=None leaves edges unweighted without this warning"
        )
    )


def _members(graph: Any) -> list[Any]:
    return list(graph.to_data_list()) if hasattr(graph, "to_data_list") else [graph]


def _numpy(value: Any) -> NDArray[Any]:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    return np.asarray(value)


def _field(graph: Any, position: int, name: str) -> NDArray[Any]:
    value = getattr(graph, name, None)
    if value is None:
        raise InvalidInputError(f"graph {position} has no field {name!r}")
    return _numpy(value)


def _edges(graph: Any, position: int, weight: str | None, names: EdgeNames) -> LocalEdges:
    index = _field(graph, position, "edge_index")
    if index.ndim != 2 or len(index) != 2:
        raise InvalidInputError(
            f"graph {position}: edge_index must have shape (2, n_edges), got {index.shape}"
        )
    pairs = checked_edges(index.T, f"graph {position}: edges")
    labels = names.of_columns(
        [_edge_values(graph, position, name, len(pairs)) for name in names.parts],
        lambda edge: f"graph {position}: edge {edge}, from {pairs[edge, 0]} to {pairs[edge, 1]},",
    )
    if weight is None:
        return each_edge_once(LocalEdges(pairs, None, labels), f"graph {position}")
    if getattr(graph, weight, None) is None:
        return LocalEdges(pairs, None, labels)
    values = _field(graph, position, weight)
    return LocalEdges(pairs, checked_edge_weights(values, len(pairs), position), labels)


def _edge_values(graph: Any, position: int, name: str, n_edges: int) -> list[Any]:
    values = _one_value_each(_field(graph, position, name))
    if values.ndim != 1 or len(values) != n_edges:
        raise InvalidInputError(
            f"graph {position}: the edge label {name!r} must be one value for each of {n_edges} "
            f"edges or one-hot rows, got shape {_numpy(getattr(graph, name)).shape}"
        )
    return list(values.tolist())


def _n_nodes(graph: Any, position: int) -> int:
    count = getattr(graph, "num_nodes", None)
    if count is None and getattr(graph, "x", None) is not None:
        count = len(graph.x)
    if count is None:
        raise InvalidInputError(f"graph {position} has neither num_nodes nor x; set num_nodes")
    return int(count)


def _labels(graph: Any, position: int, name: str) -> NDArray[Any]:
    values = _one_value_each(_field(graph, position, name))
    if values.ndim != 1:
        raise InvalidInputError(
            f"graph {position}: the label {name!r} must be one value for each node or one-hot "
            f"rows, got shape {values.shape}; use it as attributes={name!r} instead"
        )
    return values


def _one_value_each(values: NDArray[Any]) -> NDArray[Any]:
    """Values of rows of one number, positions of the ones in one-hot rows; others stay."""
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    is_one_hot = (
        values.ndim == 2
        and values.shape[1] > 0
        and bool(((values == 0) | (values == 1)).all() and (values.sum(axis=1) == 1).all())
    )
    return values.argmax(axis=1) if is_one_hot else values
