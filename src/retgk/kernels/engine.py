"""
The protocol of kernels between graphs, what RetGK's own are fitted on, and how graphs come in.

Every capability above it stands on this protocol and on nothing below it: estimators, selection,
matrices on disk, model files, comparisons. ``<m_G, m_H>`` is all that anything after it needs.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, Self, get_args

import numpy as np

from retgk._runtime.fields import check_shape, stored
from retgk._runtime.names import check_keywords
from retgk._runtime.parameters import check_model_parameters
from retgk.array_types import Floats, Ints
from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.graphs.batch import GraphBatch, flat_arrays, trusted_batch
from retgk.graphs.edges import Adjacency
from retgk.graphs.flat import check_numbers, chunks, gather_runs, graph_of, offsets
from retgk.graphs.reading import Reading
from retgk.io.convert import CONVERT_FIRST, GraphsLike, batch_like
from retgk.kernels.node import Bridge, NodeKernel
from retgk.walks.probabilities import Walks, sample_nodes

# What engines are fitted on: graphs, and the return probabilities of their nodes.

_MAX_ATTRIBUTE = 1e150
"""Squares of differences of larger attributes, and sums of these, would not be numbers."""

_PIECE_NODES = 1 << 17  # nodes whose probabilities are in memory at a time: 50 MB
_MAX_SHARED_BYTES = 1 << 31


@dataclass(frozen=True, eq=False)
class NodeFeatures:
    """
    Graphs with the return probabilities of their nodes.

    Probabilities are found when they are first asked for: all at once where the exact engine wants
    them or where several engines share them, else piece by piece, so that a long batch does not
    fill the memory.
    """

    batch: GraphBatch  # the graphs, with their labels and attributes
    walks: Walks  # how return probabilities are found
    n_jobs: int | None = None  # threads
    source: "NodeFeatures | None" = None
    """Features of the same graphs, of as many steps or more, whose probabilities are shared."""

    is_checked: bool = False

    def __post_init__(self) -> None:
        if self.is_checked:
            return
        # here, where graphs have the numbers that users know, and once
        object.__setattr__(self, "is_checked", True)
        self.walks.check(self.batch)
        attributes = self.batch.attributes
        if attributes.size and np.isnan(attributes.min()):
            check_numbers(attributes, self.batch.node_ptr)

    @cached_property
    def probabilities(self) -> Floats:
        if self.source is not None:
            return np.ascontiguousarray(self.source.probabilities[:, : self.walks.n_steps])
        return self.walks.probabilities(self.batch, n_jobs=self.n_jobs)

    def with_attributes(self, attributes: Floats) -> "NodeFeatures":
        other = replace(
            self, batch=trusted_batch(flat_arrays(self.batch)._replace(attributes=attributes))
        )
        if "probabilities" in vars(self):
            vars(other)["probabilities"] = self.probabilities
        return other

    def check_steps(self, n_steps: int) -> None:
        """Raise unless there are as many return probabilities as fitted graphs had."""
        if self.walks.n_steps != n_steps:
            raise InvalidInputError(
                f"the nodes have {self.walks.n_steps} return probabilities, those of the fitted "
                f"graphs have {n_steps}; use the walks that the engine was fitted with"
            )

    def shared_by_steps(self, n_steps: Sequence[int]) -> list["NodeFeatures"]:
        """Features for each number of steps, from one computation if memory allows."""
        n_bytes = 8 * self.batch.n_nodes * self.walks.n_steps
        source = self if len(n_steps) > 1 and n_bytes <= _MAX_SHARED_BYTES else None
        return [replace(self, walks=replace(self.walks, n_steps=n), source=source) for n in n_steps]

    def probabilities_of_nodes(self, nodes: Ints) -> Floats:
        """Return probabilities of some nodes; the others are not walked from unless shared."""
        if self._is_whole:
            return self.probabilities[nodes]
        return self.walks.probabilities(self.batch, nodes=nodes, n_jobs=self.n_jobs)

    def of_graphs(self, graphs: Ints) -> "NodeFeatures":
        known = None
        if self._is_whole:
            starts, sizes = self.batch.node_ptr[graphs], self.batch.node_counts[graphs]
            known = gather_runs(self.probabilities, starts, sizes)
        return self.with_batch(self.batch[graphs], known, is_checked=True)

    def drawn_nodes(self) -> Ints | None:
        """Nodes that stand for their graphs, numbered over the batch; None for all."""
        if self.walks.nodes is None:
            return None
        return sample_nodes(self.batch, self.walks.nodes, rng=self.walks.seed)

    def of_nodes(self, nodes: Ints | None) -> "NodeFeatures":
        """Features of some nodes of each graph, as of graphs without edges; None for all."""
        if nodes is None:
            return self
        arrays = flat_arrays(self.batch)
        n_kept = np.diff(np.searchsorted(nodes, arrays.node_ptr))
        no_edges = Adjacency(np.zeros(len(nodes) + 1, np.int64), np.empty(0, np.int32), None)
        kept = arrays._replace(
            node_ptr=offsets(n_kept),
            adjacency=no_edges,
            labels=None if arrays.labels is None else arrays.labels[nodes],
            attributes=arrays.attributes[nodes],
            edge_labels=None,
            node_names=None,
        )
        known = self.probabilities_of_nodes(nodes)
        whole = replace(self, walks=replace(self.walks, nodes=None))
        return whole.with_batch(trusted_batch(kept), known, is_checked=True)

    def pieces(self, batch_size: int | None = None) -> Iterator[tuple[int, "NodeFeatures"]]:
        """Pieces of so many graphs, or of about 130,000 nodes, and their first graph."""
        ptr = self.batch.node_ptr
        for first, last in chunks(ptr, _PIECE_NODES, batch_size):
            known = self.probabilities[ptr[first] : ptr[last]] if self._is_whole else None
            yield first, self.with_batch(self.batch[first:last], known, is_checked=True)

    @property
    def _is_whole(self) -> bool:
        return "probabilities" in vars(self) or self.source is not None

    def with_batch(
        self, batch: GraphBatch, known: Floats | None = None, is_checked: bool = False
    ) -> "NodeFeatures":
        """Features of other graphs by the same walks; their probabilities may be known already."""
        other = NodeFeatures(batch, self.walks, self.n_jobs, is_checked=is_checked)
        if known is not None:
            vars(other)["probabilities"] = known
        return other


def check_attribute_sizes(batch: GraphBatch) -> None:
    """Raise where an attribute is so large that squares of differences are no numbers."""
    attributes = batch.attributes
    if attributes.size and max(attributes.max(), -attributes.min()) > _MAX_ATTRIBUTE:
        raise InvalidInputError(
            f"{largest_attribute(batch)}, which is too large to compute with; if it stands for a "
            "missing value, fill it in, else scale the attributes"
        )


def largest_attribute(batch: GraphBatch) -> str:
    """Say where the largest attribute of a batch is: graph, node, column and value."""
    node, column = np.unravel_index(np.abs(batch.attributes).argmax(), batch.attributes.shape)
    graph = graph_of(batch.node_ptr, int(node))
    return (
        f"graph {graph}: attribute {column} of node {node - batch.node_ptr[graph]} is "
        f"{batch.attributes[node, column]:g}"
    )


def check_kernel_values(kernel: NodeKernel | Bridge, points: Floats, batch: GraphBatch) -> None:
    """Raise if a kernel is too large at points of these nodes to compute with."""
    if kernel.largest_value(points) > _MAX_ATTRIBUTE:
        raise InvalidInputError(
            f"{largest_attribute(batch)}, at which {kernel} is too large to compute with; scale "
            "the attributes, or choose a smaller gamma or degree"
        )


class Comparison(Protocol):
    """
    New graphs beside fitted ones.

    What a graph gets depends on it and on the fitted graphs, not on the others in the call.
    """

    def products(self) -> Floats:
        """``<m_G, m_H>`` of new graphs G with fitted graphs H, shape (n_new, n_fitted)."""

    def squared_norms(self) -> Floats:
        """``<m_G, m_G>`` of the new graphs, shape (n_new,)."""


class NodeComparison(Comparison, Protocol):
    """New graphs whose nodes have values of their own."""

    def node_values(self, weights: Floats, own_weights: Floats) -> Floats:
        """
        ``<phi(v), u_G>`` of every node v of every new graph G, shape (n_nodes,).

        The direction ``u_G = sum_H weights[G, H] m_H + own_weights[G] m_G`` is a sum over fitted
        graphs H and the new graph itself. Means over the nodes of a graph are ``<m_G, u_G>``.
        """


class PlainGraphs(NamedTuple):
    """Graphs for a kernel that needs no walks: what `NodeFeatures` has without them."""

    batch: GraphBatch
    n_jobs: int | None = None


class Kernel(Protocol):
    """
    Inner products of the embeddings m_G of graphs, exact or approximate, of RetGK or of others.

    Parameters are set when a kernel is made; `fit` finds the rest. Graphs are `NodeFeatures`, or
    `PlainGraphs` for the kernels of other authors.
    """

    @property
    def n_graphs(self) -> int:
        """Number of graphs that are kept."""

    def fit(self, graphs: Any) -> Self:
        """Find bandwidths or vocabularies, and keep the embeddings of all graphs."""

    def inner_products(self) -> Floats:
        """``<m_G, m_H>`` among the kept graphs."""

    def squared_norms(self) -> Floats:
        """``<m_G, m_G>`` of the kept graphs."""

    def compare(self, graphs: Any) -> Comparison:
        """Put new graphs beside the kept ones."""

    def keep(self, graphs: Ints) -> Self:
        """Kernel with some of the kept graphs, in the order given."""


class Engine(Kernel, Protocol):
    """
    A kernel of RetGK, `ExactEngine` or `EmbeddedEngine`: mean embeddings over nodes.

    A single node is a graph of one node, so that rows for nodes are rows for graphs.
    """

    @property
    def label_names(self) -> tuple[Hashable, ...] | None:
        """Labels of the graphs that it was fitted on; empty or None if they have none."""

    @property
    def walk_seed(self) -> int:
        """Seed of Monte Carlo walks for the graphs that it is fitted on."""

    def check(self, batch: GraphBatch) -> None:
        """Raise unless these graphs can be fitted with the parameters; no work is done."""

    def fit(self, graphs: NodeFeatures, keep: Ints | None = None) -> Self:
        """Find bandwidths on all graphs, and keep all of them or some, in this order."""

    def inner_products(self, rows: slice | None = None, columns: slice | None = None) -> Floats:
        """``<m_G, m_H>`` among the kept graphs, or a block of that matrix."""

    def mean_products(self) -> Floats:
        """``<m_G, m_0>`` of the kept graphs with their mean ``m_0``, shape (n_graphs,)."""

    def compare(self, graphs: NodeFeatures) -> NodeComparison:
        """Put new graphs beside the kept ones."""

    def work(self) -> float:
        """What `inner_products` costs, in kernel values or multiplications."""

    def digest(self) -> str:
        """Hash of everything that `inner_products` depends on."""

    def check_restored(self, n_steps: int) -> None:
        """Raise unless what a file said fits together: compiled loops look at no bound again."""


# How attributes of nodes enter: as they are, standardised on the fitted graphs, or not at all.

Scaling = Literal["raw", "standard", "drop"]
"""Attributes as they are; with mean 0 and deviation 1 over the fitted nodes; left out."""

_UNEVEN = 100.0  # ratio of standard deviations from which a warning is given

ScaleAttributes = Scaling | Mapping[str, Scaling]
"""One rule for all attributes, or one for each named block; blocks that are not named are raw."""


@stored
@dataclass(frozen=True, eq=False)
class AttributeScaling:
    """Fitted rule by which attributes are changed before kernels see them."""

    is_dropped: bool = False  # whether attributes are left out
    center: Floats | None = None  # (n_attributes,)
    scale: Floats | None = None  # (n_attributes,)

    @classmethod
    def fitted(
        cls, rule: ScaleAttributes, attributes: Floats, blocks: Mapping[str, Ints]
    ) -> "AttributeScaling":
        """Find means and deviations of the columns on the nodes of the fitted graphs."""
        if rule == "drop":
            return cls(is_dropped=True)
        columns = _standard_columns(rule, attributes.shape[1], blocks)
        if len(columns) == 0:
            return cls()
        center, scale = np.zeros(attributes.shape[1]), np.ones(attributes.shape[1])
        center[columns] = attributes[:, columns].mean(axis=0)
        scale[columns] = column_spreads(attributes[:, columns])
        scale[scale == 0] = 1.0  # constant columns, of which nothing is left
        return cls(center=center, scale=scale)

    def n_used(self, n_attributes: int) -> int:
        return 0 if self.is_dropped else n_attributes

    def __call__(self, features: NodeFeatures) -> NodeFeatures:
        attributes = features.batch.attributes
        if self.is_dropped:
            return features.with_attributes(attributes[:, :0])
        if self.center is None or self.scale is None:
            return features
        return features.with_attributes((attributes - self.center) / self.scale)

    def check(self, n_attributes: int) -> None:
        if (self.center is None) != (self.scale is None):
            raise InvalidInputError("attributes have a centre or a scale alone")
        if self.center is not None and self.scale is not None:
            check_shape("center", self.center, n_attributes)
            check_shape("scale", self.scale, n_attributes)
            if not (self.scale > 0).all():
                raise InvalidInputError("scale is not positive everywhere")


def column_spreads(attributes: Floats) -> Floats:
    """Standard deviation of every column; 0 where rounding is all that differs."""
    if len(attributes) == 0:
        return np.zeros(attributes.shape[1])
    largest = np.maximum(attributes.max(axis=0), -attributes.min(axis=0))
    # powers of two change no digit, and squares of the smallest numbers are no longer zero
    units = np.ldexp(1.0, np.minimum(-np.frexp(largest)[1], 1000))
    deviations = (attributes * units).std(axis=0) / units
    return np.where(deviations > 1e-12 * largest, deviations, 0.0)


def warn_of_uneven_attributes(batch: GraphBatch, rule: ScaleAttributes, kernel: Any) -> None:
    """Warn if raw columns differ by orders of magnitude, or from one without a kernel."""
    spreads = column_spreads(batch.attributes) if rule == "raw" else np.empty(0)
    columns = np.flatnonzero(spreads)
    if len(columns) == 0:
        return
    least, most = (columns[pick(spreads[columns])] for pick in (np.argmin, np.argmax))
    told = f"attribute {most} has a standard deviation of {spreads[most]:.3g}"
    if spreads[most] > _UNEVEN * spreads[least]:
        told += (
            f", attribute {least} one of {spreads[least]:.3g}: distances of nodes are those of the "
            "larger ones alone"
        )
    elif kernel is None and spreads[most] > _UNEVEN:
        told += ": nodes are so far apart that hardly any two count as alike"
    else:
        return
    warn_user(InputWarning(f"{told}; use scale_attributes='standard' to give all the same weight"))


def check_scaling(rule: Any, blocks: Sequence[str]) -> None:
    """Raise unless this is a rule for attributes with these names of blocks."""
    words = get_args(Scaling)
    if not isinstance(rule, Mapping):
        if not isinstance(rule, str) or rule not in words:
            raise InvalidInputError(
                f"scale_attributes must be one of {words}, or one of them by name of a block of "
                f"attributes, got {rule!r}"
            )
        return
    for name, word in rule.items():
        if name not in blocks:
            raise InvalidInputError(
                f"scale_attributes names the block {name!r}, but those of attributes are: "
                f"{', '.join(map(str, blocks)) or 'none'}"
            )
        if word not in ("raw", "standard"):
            raise InvalidInputError(
                f"scale_attributes of the block {name!r} must be 'raw' or 'standard', got {word!r}"
            )


def _standard_columns(rule: ScaleAttributes, n_attributes: int, blocks: Mapping[str, Ints]) -> Ints:
    if isinstance(rule, str):
        return np.arange(n_attributes if rule == "standard" else 0)
    chosen = [blocks[name] for name, word in rule.items() if word == "standard"]
    return np.unique(np.concatenate([np.empty(0, np.int64), *chosen]))


# How a fitted model takes in new graphs: read and completed as the training graphs were.

# Missing attributes filled in with means or medians of the training graphs.


_CHEMISTRY = ("element", "charge")  # columns of labels whose new values are told

Imputation = Literal["mean", "median"]
"""What takes the place of a missing attribute, over the nodes of the training graphs."""


@stored
@dataclass(frozen=True, eq=False)
class GraphIntake:
    """What a model remembers of how its graphs came in."""

    reading: Reading | None = None  # how they were read; None where they were made by hand
    is_weighted: bool | None = None  # whether they had weights; None where that is not known
    imputation: Floats | None = None
    """What takes the place of missing attributes, shape (n_attributes,)."""
    chemistry: dict[str, Any] = field(default_factory=dict)
    """Elements and charges that they had: lists of values by the name of a column of labels."""

    @classmethod
    def of(cls, batch: GraphBatch, imputation: Floats | None = None) -> "GraphIntake":
        columns = [name for name in _CHEMISTRY if name in batch.label_columns]
        chemistry = {name: _values_in_use(batch, name) for name in columns}
        return cls(batch.reading, batch.is_weighted, imputation, chemistry)

    def unseen(self, batch: GraphBatch) -> dict[int, list[str]]:
        """Elements and charges that no fitted graph had, of each graph that has some."""
        found: dict[int, list[str]] = {}
        for column, known in self.chemistry.items():
            if column not in batch.label_columns:
                continue
            own = batch.with_label_columns(column)
            for code, name in enumerate(own.label_names):
                if name in known:
                    continue
                nodes = np.flatnonzero(own.labels == code)
                for graph in np.unique(np.searchsorted(own.node_ptr, nodes, "right") - 1).tolist():
                    text = str(name) if column == "element" else f"charge {name:+}"
                    found.setdefault(graph, []).append(text)
        return dict(sorted(found.items()))

    def completed(self, batch: GraphBatch) -> GraphBatch:
        values, attributes = self.imputation, batch.attributes
        if values is None or batch.n_attributes != len(values) or not np.isnan(attributes).any():
            return batch  # other numbers of attributes are reported by the engine
        filled = np.where(np.isnan(attributes), values, attributes)
        return trusted_batch(flat_arrays(batch)._replace(attributes=filled))

    def new_batch(self, graphs: GraphsLike) -> GraphBatch:
        """New graphs, converted as the fitted ones were; another reading is an error."""
        self._check_not_table(graphs)
        batch = batch_like(graphs, self.reading)
        self._warn_of_weights(batch)
        return self.completed(batch)

    def _check_not_table(self, graphs: GraphsLike) -> None:
        """Raise for a table of numbers where the fitted graphs were none: it may be features."""
        if self.reading is None or self.reading.kind == "arrays":
            return
        if isinstance(graphs, np.ndarray) and graphs.ndim == 2 and graphs.dtype.kind in "biuf":
            raise InvalidInputError(
                f"got one array of numbers of shape {graphs.shape}, the fitted ones were "
                f"{self.reading.in_words}; give graphs like those, or a list [matrix] if it is the "
                "adjacency matrix of one graph"
            )

    def _warn_of_weights(self, batch: GraphBatch) -> None:
        if self.is_weighted in (None, batch.is_weighted) or not len(batch.indices):
            return
        own, its = self.reading, batch.reading
        is_alike = own is not None and its is not None and own.kind == its.kind
        if self.is_weighted and own is not None and is_alike and own.tells_weights:
            return  # as single bonds alone, where bonds weigh their order
        words = ("weights", "none") if batch.is_weighted else ("no weights", "some")
        warn_user(
            InputWarning(
                "edges of the graphs have {}, those of the fitted graphs had {}; read all graphs "
                "in the same way, with or without weights".format(*words)
            )
        )

    def check(self, n_attributes: int) -> None:
        """Raise unless this fits graphs of so many attributes; a file may say anything."""
        if self.reading is not None and _n_columns(self.reading) > n_attributes:
            raise InvalidInputError(
                f"the reading names more attributes than the {n_attributes} there are"
            )
        if self.imputation is not None:
            check_shape("imputation", self.imputation, n_attributes)
        for name, values in self.chemistry.items():
            if name not in _CHEMISTRY or not isinstance(values, list):
                raise InvalidInputError(f"the chemistry of {name!r:.80} is {values!r:.80}")

    def for_saving(self) -> "GraphIntake":
        """Leave out a reading with names that are objects of the user's, and say so."""
        if self.reading is None:
            return self
        try:
            self.reading.after_loading()
        except InvalidInputError as error:
            warn_user(
                InputWarning(
                    f"a model file cannot hold how the graphs were read: {error}; convert new "
                    "graphs in the same way by hand"
                )
            )
            return replace(self, reading=None)
        return self


def _values_in_use(batch: GraphBatch, column: str) -> list[Any]:
    own = batch.with_label_columns(column)
    return [own.label_names[code] for code in np.unique(own.labels).tolist()]


def fit_intake(model: Any, batch: GraphBatch) -> tuple[GraphIntake, GraphBatch]:
    """Remember how training graphs came in, and give them with all attributes."""
    how, imputation = model.impute_attributes, None
    if how is not None:
        absent = np.isnan(batch.attributes).all(axis=0)
        if absent.any():
            raise InvalidInputError(
                f"attribute {int(np.argmax(absent))} is missing on all nodes, so there is nothing "
                "to impute it from; leave it out"
            )
        middle = np.nanmean if how == "mean" else np.nanmedian
        imputation = middle(batch.attributes, axis=0).reshape(batch.n_attributes)
    intake = GraphIntake.of(batch, imputation)
    return intake, intake.completed(batch)


def _n_columns(reading: Reading) -> int:
    """Columns of attributes that a reading asks for, at least: a name may have several."""
    categories = reading.options.get("categorical", {}).values()
    return len(reading.options.get("attributes", [])) + sum(map(len, categories))


class TakesGraphs:
    """An estimator that reads new graphs as it read those that it was fitted on."""

    intake_: GraphIntake

    @property
    def reading_(self) -> Reading | None:
        """How the fitted graphs were read; None where that is not known."""
        return self.intake_.reading


def check_fit(model: Any, given: dict[str, Any]) -> None:
    """Check parameters; raise for keywords of `fit` that are such, or options of converters."""
    check_model_parameters(model)
    if not given:
        return
    name = type(model).__name__
    own = dict.fromkeys(
        model.get_params(deep=False), f"it is a parameter of the model: {name}({{option}})"
    )
    check_keywords(given, (), f"{name}.fit", CONVERT_FIRST | own)
