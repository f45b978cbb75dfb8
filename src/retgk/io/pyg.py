"""Data of PyTorch Geometric, by its fields alone: torch is never imported."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.edges import Negative, Symmetrize
from retgk.graphs.flat import Missing, checked_edges, graph_of, offsets
from retgk.graphs.reading import reading_of
from retgk.io.objects import (
    EdgeLabelName,
    EdgeNames,
    LocalEdges,
    NodeColumns,
    attribute_names,
    batch_from_local_edges,
    checked_edge_weights,
    each_edge_once,
    is_pyg,
    join_labels,
    list_graphs,
    remembers,
    stack_attributes,
)

if TYPE_CHECKING:
    from torch_geometric.data import Data


@remembers("pyg")
def from_pyg(
    graphs: "Data | Iterable[Data]",
    *,
    label: str | list[str] | None = "label",
    attributes: str | list[str] | None = None,
    weight: str | None = "edge_weight",
    edge_label: EdgeLabelName = "edge_label",
    negative: Negative = "error",
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
) -> GraphBatch:
    """
    Convert ``Data`` and ``Batch`` of PyTorch Geometric, or anything with their fields.

    Columns of a field are named as in NumPy: ``"x[:18]"``, ``"x[18:]"``, ``"x[3]"``. Continuous
    attributes of edges are not supported: one number for each edge may be its weight, discrete
    values and one-hot rows its label. Fields of the size of nodes or edges that are not used are a
    warning. `y` is what learning and `write_graphs` take for the target, if it is of the graph.

    Parameters
    ----------
    graphs : Data, Batch, or iterable of them
        Objects with `edge_index` of shape (2, n_edges), which lists both directions of an
        edge, and `num_nodes`.
    label : str or list of str, optional
        Field that is the discrete label: one value for each node, such as "z" of QM9, or one-hot
        rows, such as "x" in PyG's own ``TUDataset``. Several make one label, a tuple. By default
        "label", which `to_pyg` writes, if it is there; None for no labels.
    attributes : str or list of str, optional
        Fields that make up the continuous attributes, such as "x" or ["x[:18]", "pos"], put
        side by side. None by default; an empty list says that there are none, without a warning.
    weight : str, optional
        Field that is the weight, such as "edge_attr" where that is one number for each
        edge; a graph without it is unweighted. None makes all graphs unweighted, with
        parallel edges too, and says so without a warning.
    edge_label : str or list of str, optional
        Field that is the discrete label of an edge, such as "edge_attr": one value for each edge,
        or one-hot rows. Several make one label, a tuple. Kernels use it with ``depth`` above zero.
        By default "edge_label", which `to_pyg` writes, if it is there; an empty list is no warning.
    negative, symmetrize, missing
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
    found = _listed(graphs)
    sizes = [_n_nodes(graph, position) for position, graph in enumerate(found)]
    fields = _Fields.of(found, sizes)
    label = None if label == "label" and label not in fields.of_nodes else label
    if edge_label == "edge_label" and edge_label not in fields.of_edges:
        edge_label = None
    columns, edge_names = NodeColumns.of(label, None, None), EdgeNames.of(edge_label, missing)
    edges = [_edges(graph, position, weight, edge_names) for position, graph in enumerate(found)]
    parts = [
        stack_attributes([_field(graph, n, name) for n, graph in enumerate(found)], sizes, missing)
        for name in attribute_names(attributes)
    ]
    labels = [
        join_labels([_labels(g, n, name) for n, g in enumerate(found)], sizes)
        for name in columns.label_parts
    ]
    batch = batch_from_local_edges(
        sizes,
        edges,
        labels=columns.labels(labels, lambda node: _node_name(sizes, node)),
        label_columns=columns.label_columns,
        attributes=np.concatenate(parts, axis=1) if parts else None,  # type: ignore[arg-type]
        negative=negative,
        symmetrize=symmetrize,
        missing=missing,
    )
    columns.warn_if_unused(fields.unused(fields.of_nodes, columns.label_parts), attributes)
    on_edges = [name for name in (*edge_names.parts, weight) if name is not None]
    edge_names.warn_if_unused(fields.unused(fields.of_edges, on_edges), weight)
    field = None if weight is None else _parsed(weight)[0]
    there = [field] if any(getattr(graph, str(field), None) is not None for graph in found) else []
    edge_names.warn_if_no_weight([*there, *fields.of_edges], field)
    batch.reading = reading_of("pyg", {"label": label, "edge_label": edge_label})
    return batch


def pyg_targets(graphs: Any) -> NDArray[Any] | None:
    """Targets in `y`: one value, or one row, for each graph; None where it is of nodes, or none."""
    found = _listed(graphs)
    values = [getattr(graph, "y", None) for graph in found]
    if not found or any(value is None for value in values):
        return None
    rows = [_numpy(value) for value in values]
    rows = [row[0] if row.ndim and len(row) == 1 else row for row in rows]
    if len({row.shape for row in rows}) > 1 or any(row.ndim > 1 for row in rows):
        return None
    sizes = [_n_nodes(graph, position) for position, graph in enumerate(found)]
    is_of_nodes = rows[0].ndim == 1 and all(
        len(row) == size for row, size in zip(rows, sizes, strict=True)
    )
    return None if is_of_nodes else np.stack(rows)


def _listed(graphs: Any) -> list[Any]:
    listed_graphs = list_graphs(graphs, is_pyg, "objects with an edge_index")
    return list(chain.from_iterable(map(_members, listed_graphs)))


_COLUMNS = re.compile(
    r"(?P<field>\w+)\[(?:(?P<first>-?\d*)(?P<colon>:)(?P<last>-?\d*)|(?P<one>\d+))\]"
)
_STRUCTURE = ("edge_index", "num_nodes", "adj_t", "batch", "ptr", "label_names", "edge_label_names")


@dataclass(frozen=True)
class _Fields:
    """Fields that have one value, or row, for each node or each edge of all graphs."""

    of_nodes: dict[str, int]  # numbers of columns by name
    of_edges: dict[str, int]

    @classmethod
    def of(cls, graphs: list[Any], sizes: list[int]) -> "_Fields":
        shapes: dict[str, list[tuple[Any, int, int]]] = {}
        for graph, n_nodes in zip(graphs, sizes, strict=True):
            n_edges = np.shape(_numpy(graph.edge_index))[-1]
            for name in _names_of(graph):
                shape = _shape_of(getattr(graph, name, None))
                if shape and name not in _STRUCTURE:
                    shapes.setdefault(name, []).append((shape, n_nodes, n_edges))
        of_nodes, of_edges = {}, {}
        for name, found in shapes.items():
            width = int(np.prod(found[0][0][1:], dtype=int))
            is_of_nodes = all(shape[0] == n_nodes for shape, n_nodes, _ in found)
            is_of_edges = all(shape[0] == n_edges for shape, _, n_edges in found)
            if is_of_edges and ("edge" in name or not is_of_nodes):
                of_edges[name] = width
            elif is_of_nodes and not (name == "y" and all(size == 1 for size in sizes)):
                of_nodes[name] = width
        return cls(of_nodes, of_edges)

    def unused(self, fields: dict[str, int], used: Iterable[str]) -> list[str]:
        """Names of fields, or of their columns, that are not among those that are used."""
        read: dict[str, set[int]] = {}
        for name in used:
            field, columns = _parsed(name)
            every = range(fields.get(field, 0))
            read.setdefault(field, set()).update(every if columns is None else every[columns])
        left = []
        for field, width in fields.items():
            rest = [column for column in range(width) if column not in read.get(field, ())]
            if len(rest) == width:
                left.append(field)
            elif rest:
                is_run = rest == list(range(rest[0], rest[-1] + 1))
                left.append(f"{field}[{rest[0]}:{rest[-1] + 1}]" if is_run else field)
        return left


def _parsed(name: str) -> tuple[str, slice | None]:
    """Name of a field, and which columns of it are meant, if not all."""
    found = _COLUMNS.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        return name, None
    if found["one"]:
        return found["field"], slice(int(found["one"]), int(found["one"]) + 1)
    first, last = (int(text) if text else None for text in (found["first"], found["last"]))
    return found["field"], slice(first, last)


def _names_of(graph: Any) -> list[str]:
    keys = getattr(graph, "keys", None)
    return list(vars(graph) if keys is None else keys() if callable(keys) else keys)


def _shape_of(value: Any) -> tuple[int, ...]:
    if value is None or isinstance(value, str | bytes):
        return ()
    if hasattr(value, "shape"):
        return tuple(value.shape)
    return (len(value),) if isinstance(value, list | tuple) else ()


def _node_name(sizes: list[int], node: int) -> str:
    node_ptr = offsets(sizes)
    graph = graph_of(node_ptr, node)
    return f"graph {graph}, node {node - node_ptr[graph]}"


def _members(graph: Any) -> list[Any]:
    return list(graph.to_data_list()) if hasattr(graph, "to_data_list") else [graph]


def _numpy(value: Any) -> NDArray[Any]:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value  # not in NumPy
    return np.asarray(value)


def _field(graph: Any, position: int, name: str) -> NDArray[Any]:
    field, columns = _parsed(name)
    value = getattr(graph, field, None)
    if value is None:
        raise InvalidInputError(f"graph {position} has no field {field!r}")
    found = _numpy(value)
    if columns is None:
        return found
    if found.ndim != 2 or found[:, columns].shape[1] == 0:
        raise InvalidInputError(
            f"graph {position}: {field!r} of shape {found.shape} has no columns {name!r}"
        )
    return found[:, columns]


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
    if getattr(graph, _parsed(weight)[0], None) is None:
        return LocalEdges(pairs, None, labels)
    values = _field(graph, position, weight)
    if values.ndim == 2 and values.shape[1] > 1:
        raise InvalidInputError(
            f"graph {position}: weights must have shape ({len(values)},), one for each edge; got "
            f"{values.shape}; {_instead(values, weight)}; continuous attributes of edges are not "
            "supported"
        )
    return LocalEdges(pairs, checked_edge_weights(values, len(pairs), position), labels)


def _instead(values: NDArray[Any], weight: str) -> str:
    """What to do with several columns in place of one weight."""
    if _one_value_each(values).ndim == 1:
        return f"its rows are one-hot: read them as labels, edge_label={weight!r}"
    return f"weight='{_parsed(weight)[0]}[0]' reads the first column"


def _edge_values(graph: Any, position: int, name: str, n_edges: int) -> list[Any]:
    field = _field(graph, position, name)
    values = _one_value_each(field)
    if values.ndim != 1 or len(values) != n_edges:
        raise InvalidInputError(
            f"graph {position}: the edge label {name!r} must be one value for each of {n_edges} "
            f"edges or one-hot rows, got shape {field.shape}; name columns that are, such as "
            f"'{_parsed(name)[0]}[:4]'; continuous attributes of edges are not supported"
        )
    return list(_named(values, getattr(graph, f"{name}_names", None)).tolist())


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
            f"rows, got shape {values.shape}; name columns that are, such as "
            f"'{_parsed(name)[0]}[:4]', or use it as attributes={name!r}"
        )
    return _named(values, getattr(graph, f"{name}_names", None))


def _named(codes: NDArray[Any], names: Any) -> NDArray[Any]:
    """Labels that `to_pyg` numbered, by their names."""
    if names is None or codes.dtype.kind not in "iu" or codes.max(initial=-1) >= len(names):
        return codes
    found = np.empty(len(codes), dtype=object)
    for place, code in enumerate(codes.tolist()):
        found[place] = names[code]
    return found


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
