"""Graphs of other packages: one function for each, and one that finds the right one."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from retgk._runtime.names import check_keywords, keywords_of, optional_module
from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import is_missing
from retgk.graphs.reading import Reading, check_same_reading
from retgk.io.arrays import from_edge_lists, from_numpy, from_scipy
from retgk.io.dataset import GraphDataset
from retgk.io.formats import readable_endings
from retgk.io.grakel import from_grakel
from retgk.io.molecules import from_smiles
from retgk.io.networkx import from_igraph, from_networkx, networkx_graph, own_names
from retgk.io.objects import (
    is_from_package,
    is_grakel,
    is_igraph,
    is_networkx,
    is_pyg,
    is_rdkit,
    iterable_graphs,
    missing_graph_error,
    plain_graph,
)
from retgk.io.pyg import from_pyg, pyg_targets
from retgk.io.rdkit import from_rdkit

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    from torch_geometric.data import Data

# `as_batch`, which finds the converter for whatever holds the graphs

GraphLike = Any
"""One graph of any kind that `as_batch` knows."""

GraphsLike = GraphBatch | Iterable[GraphLike] | GraphLike
"""Whatever `as_batch` takes: a batch, a data set, one graph, or graphs of one kind."""


class _Kind(NamedTuple):
    """A kind of graph; `own` are the functions whose options its converter takes."""

    name: str
    is_one: Callable[[Any], bool]
    convert: Callable[..., GraphBatch]
    reading: str | None
    own: tuple[Callable[..., GraphBatch], ...]

    def options(self) -> tuple[str, ...]:
        return keywords_of(*self.own)


def as_batch(graphs: GraphsLike, **options: Any) -> GraphBatch:
    """
    Convert graphs of any kind that retgk knows.

    Parameters
    ----------
    graphs : object
        A GraphBatch (returned as it is), a data set of retgk, one graph, or an iterable
        of graphs of one kind: GraphBatch, networkx, igraph, PyTorch Geometric ``Data``,
        RDKit molecules, SMILES strings, scipy.sparse or NumPy adjacency matrices, NumPy
        arrays of edges of shape (n_edges, 2), or the input format of GraKeL. An array of
        shape (n_graphs, n, n) is a stack of adjacency matrices. A data frame has one
        column, whose rows are the graphs; `from_dataframe` reads tables of edges and nodes.
    **options
        Options of the converter of that kind, such as ``label`` of `from_networkx`.

    Returns
    -------
    GraphBatch
        The graphs, in order.

    Examples
    --------
    >>> import numpy as np
    >>> as_batch([np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), np.array([[0.5]])])
    GraphBatch(2 graphs, 4 nodes, 3 weighted edges)
    """
    if not options and isinstance(graphs, GraphBatch):
        return graphs
    if not options and isinstance(graphs, GraphDataset):
        return graphs.graphs
    kind, found = _kind_and_graphs(graphs, skips_missing=options.get("skip_invalid") is True)
    if options and kind.own:
        owner = f"as_batch of a {kind.name}"
        check_keywords(options, kind.options(), owner, _options_of_other_kinds(kind))
    return kind.convert(found, **options)


def dataset_of(graphs: GraphsLike, name: str) -> GraphDataset:
    """Graphs of any kind as a data set; one that is there keeps its name."""
    if isinstance(graphs, GraphDataset):
        return graphs
    if not isinstance(graphs, GraphBatch):
        kind, graphs = _kind_and_graphs(graphs)
        targets = pyg_targets(graphs) if kind.reading == "pyg" else None
        return GraphDataset(kind.convert(graphs), targets, name)
    return GraphDataset(graphs, None, name)


def known_targets(graphs: GraphsLike) -> NDArray[Any] | None:
    """Targets that come with graphs: of a data set, or in `y` of PyTorch Geometric."""
    if isinstance(graphs, GraphDataset):
        return graphs.targets
    if isinstance(graphs, list | tuple) and graphs:
        return pyg_targets(graphs) if all(map(is_pyg, graphs)) else None
    is_of_pyg = is_pyg(graphs) or is_from_package(graphs, "torch_geometric")
    return pyg_targets(graphs) if is_of_pyg else None


def batch_like(
    graphs: GraphsLike, reading: Reading | None, others_were: str = "the fitted ones"
) -> GraphBatch:
    """Convert graphs with the options by which others were read."""
    if isinstance(graphs, GraphBatch | GraphDataset) or reading is None:
        batch = as_batch(graphs)
        check_same_reading(batch.reading, reading, others_were=others_were)
        return batch
    others = f"{others_were} were {reading.in_words}"
    with _told_beside(others):
        kind, found = _kind_and_graphs(graphs)
    if kind.reading is None:  # several batches or data sets
        for part in found if isinstance(found, list) else [found]:
            check_same_reading(as_batch(part).reading, reading, others_were=others_were)
    if kind.reading != reading.kind:
        with _told_beside(others):
            return kind.convert(found)
    options = {**reading.options, **reading.form}
    names = kind.options()
    batch = kind.convert(found, **{name: options[name] for name in options if name in names})
    batch = batch if reading.labels else batch.without_labels()
    batch = batch.with_label_columns(reading.label_columns or batch.label_columns)
    batch = batch if reading.edge_labels else batch.without_edge_labels()
    return batch if reading.attributes else batch.without_attributes()


@contextmanager
def _told_beside(others: str) -> Iterator[None]:
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{error} ({others})") from error


def _concatenate(batches: Any, **options: Any) -> GraphBatch:
    if options:
        raise InvalidInputError(
            f"a GraphBatch takes no options, got {', '.join(options)}: its graphs are undirected, "
            "and its labels and attributes are set with with_labels and with_attributes"
        )
    parts = [batches] if _is_batch(batches) else batches
    return GraphBatch.concatenate(
        [part if isinstance(part, GraphBatch) else part.graphs for part in parts]
    )


def _is_batch(graph: Any) -> bool:
    return isinstance(graph, GraphBatch) or isinstance(getattr(graph, "graphs", None), GraphBatch)


def _is_matrix(graph: Any) -> bool:
    return isinstance(graph, np.ndarray) and graph.ndim == 2 and graph.dtype.kind not in "OUS"


def _from_matrices_or_edges(arrays: Any, **options: Any) -> GraphBatch:
    shapes = {array.shape for array in ([arrays] if _is_matrix(arrays) else arrays)}
    if all(len(shape) == 2 and shape[1] == 2 for shape in shapes):
        if shapes != {(2, 2)} or options.keys() & {"n_nodes", "weights", "edge_labels"}:
            return from_edge_lists(arrays, **_of_edges(options))
        if all(array.dtype.kind in "iu" for array in arrays):
            raise InvalidInputError(
                "integer arrays of shape (2, 2) may be adjacency matrices or edges; call "
                "from_numpy or from_edge_lists instead of as_batch"
            )
    return from_numpy(arrays, **options)


def _of_edges(options: dict[str, Any]) -> dict[str, Any]:
    """Options for arrays of edges, without those of correlations."""
    own = dict.fromkeys(("fisher_z", "threshold", "density"))
    for name in own.keys() & {name for name, value in options.items() if value}:
        raise InvalidInputError(
            f"{name} is an option of matrices of correlations; leave it out with arrays of edges"
        )
    return {name: value for name, value in options.items() if name not in own}


_ARRAYS = (from_numpy, from_edge_lists)


def _kind(name: str, is_one: Callable[[Any], bool], convert: Any, reading: str) -> _Kind:
    return _Kind(name, is_one, convert, reading, (convert,))


# The first kind that recognises a graph converts it; none of these tests imports a package.
_KINDS = (
    _Kind("GraphBatch", _is_batch, _concatenate, None, ()),
    _kind("SMILES string", lambda graph: isinstance(graph, str), from_smiles, "molecules"),
    _kind("scipy.sparse matrix", issparse, from_scipy, "arrays"),
    _Kind("two-dimensional NumPy array", _is_matrix, _from_matrices_or_edges, "arrays", _ARRAYS),
    _kind("networkx graph", is_networkx, from_networkx, "networkx"),
    _kind("igraph graph", is_igraph, from_igraph, "igraph"),
    _kind("RDKit molecule", is_rdkit, from_rdkit, "molecules"),
    _kind("PyTorch Geometric Data", is_pyg, from_pyg, "pyg"),
    _kind("GraKeL graph", is_grakel, from_grakel, "grakel"),
)
_STACK = _Kind("stack of NumPy matrices", _is_matrix, from_numpy, "arrays", (from_numpy,))

CONVERT_FIRST = dict.fromkeys(
    keywords_of(*(function for kind in _KINDS for function in kind.own)),
    "it is an option of as_batch; convert the graphs first: as_batch(graphs, {option})",
)
"""Where options of converters belong that were given to a function that has none of them."""


def _options_of_other_kinds(own: _Kind) -> dict[str, str]:
    return {
        name: f"it is an option of a {kind.name}; a {own.name} has {', '.join(own.options())}"
        for kind in reversed(_KINDS)
        for name in kind.options()
        if name not in own.options()
    }


def _kind_and_graphs(graphs: Any, *, skips_missing: bool = False) -> tuple[_Kind, Any]:
    """Find the converter, and give it what it takes: one graph, or a list of graphs of its kind."""
    if isinstance(graphs, np.ndarray) and graphs.ndim == 3 and graphs.dtype.kind != "O":
        return _STACK, graphs
    _check_not_path(graphs)
    kind = _kind_of(graphs)
    if kind is not None:
        return kind, graphs
    found = _list_any(graphs)
    _check_not_path(found[0])
    there = [graph for graph in found if not is_missing(graph)] if skips_missing else found
    return _kind_of_all(there or found), found


def _check_not_path(graph: Any) -> None:
    is_named_so = (
        isinstance(graph, str) and "." in graph and graph.lower().endswith(readable_endings())
    )
    if is_named_so or isinstance(graph, os.PathLike):
        name = os.fspath(graph)
        raise InvalidInputError(
            f"{name!r:.200} is the path of a file, not a graph; read the file first: "
            f"read_graphs({name!r:.200})"
        )


def _kind_of(graph: Any) -> _Kind | None:
    return next((kind for kind in _KINDS if kind.is_one(graph)), None)


def _list_any(graphs: Any) -> list[Any]:
    unordered = isinstance(graphs, str | bytes | Mapping | Set)
    try:
        found = None if unordered else list(iterable_graphs(graphs))
    except (TypeError, NotImplementedError):
        found = None
    if found is None:
        raise InvalidInputError(
            f"cannot read graphs from {type(graphs).__name__}; give one or a list of: "
            + ", ".join(kind.name for kind in _KINDS)
        )
    if not found:
        raise InvalidInputError("there are no graphs to convert")
    return found


_OF_LISTS = (
    "retgk.io.from_edge_lists reads lists of edges, with symmetrize=True where each edge is listed "
    "once; as_batch "
)


def _kind_of_all(graphs: list[Any]) -> _Kind:
    """Find the kind of all graphs from one of each type, so that long lists are quick."""
    types = list(map(type, graphs))
    first: _Kind | None = None
    for position in map(types.index, dict.fromkeys(types)):
        graph = graphs[position]
        kind = _kind_of(graph)
        if kind is None:
            raise missing_graph_error(graph, position) or InvalidInputError(
                f"graph {position} is of type {type(graph).__name__}, which is not a graph; "
                + _OF_LISTS * isinstance(graph, list | tuple)
                + "expected one of: "
                + ", ".join(kind.name for kind in _KINDS)
            )
        first = first or kind
        if kind is not first:
            raise InvalidInputError(
                f"graph {position} is a {kind.name}, graph 0 is a {first.name}; convert each "
                "kind on its own and join them with GraphBatch.concatenate"
            )
    assert first is not None
    return first


# Export to other packages


def to_networkx(graphs: GraphsLike) -> "list[nx.Graph]":
    """
    Convert graphs to graphs of networkx, without loss.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        The graphs.

    Returns
    -------
    list of networkx.Graph
        One graph each, with nodes called by `node_names`, or numbered from 0 where there are none
        or two are the same. Nodes have the attribute "label"
        where the batch has labels, and "attributes", a list of numbers, where it has
        attributes; edges have the attribute "weight" where the batch is weighted, and "label"
        where edges have labels. ``as_batch(found, label="label", attributes="attributes",
        edge_label="label")`` reads them back.

    Examples
    --------
    >>> to_networkx(GraphBatch.from_edges(2, [[0, 1], [1, 0]]))[0].edges
    EdgeView([(0, 1)])
    """
    batch = as_batch(graphs)
    return [networkx_graph(graph, batch.is_weighted) for graph in batch]


def to_igraph(graphs: GraphsLike) -> "list[igraph.Graph]":
    """
    Convert graphs to graphs of python-igraph, without loss.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        The graphs.

    Returns
    -------
    list of igraph.Graph
        One graph each, with the vertex attributes "name", "label" and "attributes" and the edge
        attributes "weight" and "label" where there are any, as in `to_networkx`.

    Examples
    --------
    >>> import numpy as np
    >>> to_igraph(np.ones((3, 3)) - np.eye(3))[0].get_edgelist()
    [(0, 1), (0, 2), (1, 2)]
    """
    igraph_package = optional_module("igraph", "igraph")
    batch = as_batch(graphs)
    found = []
    for graph in batch:
        plain = plain_graph(graph)
        made = igraph_package.Graph(n=graph.n_nodes, edges=plain.pairs)
        weights = plain.weights if batch.is_weighted else None
        for where, name, values in (
            (made.vs, "name", own_names(graph)),
            (made.vs, "label", plain.labels),
            (made.vs, "attributes", plain.attributes),
            (made.es, "weight", weights),
            (made.es, "label", plain.edge_labels),
        ):
            if values is not None:
                where[name] = values
        found.append(made)
    return found


def to_grakel(graphs: GraphsLike, *, as_attributes: bool = False) -> list[list[Any]]:
    """
    Convert graphs to the input format of GraKeL.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        The graphs.
    as_attributes : bool, default=False
        Whether the continuous attributes take the place of the node labels, as the kernels of
        GraKeL for attributes want them. GraKeL has room for one of the two.

    Returns
    -------
    list of [graph], [graph, node_labels] or [graph, node_labels, edge_labels]
        `graph` is a dictionary from node to neighbour to weight, with both directions of an edge;
        `node_labels` one from node to label (None where only edges have some), `edge_labels` one
        from pairs of nodes to labels. `from_grakel` reads them back.

    Examples
    --------
    >>> import numpy as np
    >>> to_grakel(np.array([[0, 2.0], [2.0, 0]]))
    [[{0: {1: 2.0}, 1: {0: 2.0}}]]
    """
    batch = as_batch(graphs)
    if as_attributes and not batch.n_attributes:
        raise InvalidInputError("the graphs have no attributes; leave out as_attributes=True")
    if batch.n_attributes and not as_attributes:
        note = "attributes were left out, as GraKeL has room for labels or attributes"
        warn_user(InputWarning(f"{note}; as_attributes=True takes them"))
    return [_grakel_graph(graph, as_attributes) for graph in batch]


def to_pyg(graphs: GraphsLike) -> "list[Data]":
    """
    Convert graphs to ``Data`` of PyTorch Geometric.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        The graphs; those of a `GraphDataset` keep their targets.

    Returns
    -------
    list of torch_geometric.data.Data
        Each has `edge_index`, with both directions of an edge, and `num_nodes`; where there are
        any, `edge_weight`, `edge_label` and `label` (positions of the labels in
        `edge_label_names` and `label_names`), `x` (the attributes) and `y` (the target, if it is
        a number). Numbers are rounded to torch's default type. ``from_pyg(found,
        attributes="x")`` reads them back.

    Examples
    --------
    >>> import numpy as np
    >>> to_pyg(np.ones((3, 3)) - np.eye(3))  # doctest: +SKIP
    [Data(edge_index=[2, 6], num_nodes=3)]
    """
    torch = optional_module("torch", "pyg")
    data = optional_module("torch_geometric.data", "pyg")
    batch = as_batch(graphs)
    targets = graphs.targets if isinstance(graphs, GraphDataset) else None
    if targets is not None and targets.dtype.kind not in "biuf":
        targets = None
    numbers = torch.get_default_dtype()
    found = []
    for position, graph in enumerate(batch):
        ends = np.stack([graph.edge_rows, graph.indices.astype(np.int64)])
        fields = {"edge_index": torch.from_numpy(ends)}
        if batch.is_weighted:
            fields["edge_weight"] = torch.tensor(graph.weights, dtype=numbers)
        if graph.has_edge_labels:
            fields["edge_label"] = torch.from_numpy(graph.edge_labels.astype(np.int64))
            fields["edge_label_names"] = list(graph.edge_label_names)
        if graph.n_attributes:
            fields["x"] = torch.tensor(graph.attributes, dtype=numbers)
        if graph.has_labels:
            fields["label"] = torch.from_numpy(graph.labels.astype(np.int64))
            fields["label_names"] = list(graph.label_names)
        if targets is not None:
            kind = numbers if targets.dtype.kind == "f" else torch.long
            fields["y"] = torch.tensor(targets[position : position + 1], dtype=kind)
        found.append(data.Data(num_nodes=graph.n_nodes, **fields))
    return found


def _grakel_graph(graph: GraphBatch, as_attributes: bool) -> list[Any]:
    entries = list(zip(graph.indices.tolist(), graph.weights.tolist(), strict=True))
    starts = graph.indptr.tolist()
    edges = {node: dict(entries[starts[node] : starts[node + 1]]) for node in range(graph.n_nodes)}
    values = None
    if as_attributes or graph.has_labels:
        plain = plain_graph(graph)
        values = dict(enumerate((plain.attributes if as_attributes else plain.labels) or ()))
    if not graph.has_edge_labels:
        return [edges] if values is None else [edges, values]
    ends = zip(graph.edge_rows.tolist(), graph.indices.tolist(), strict=True)
    names = [graph.edge_label_names[code] for code in graph.edge_labels.tolist()]
    return [edges, values, dict(zip(ends, names, strict=True))]
