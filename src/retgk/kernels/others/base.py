"""What kernels of other authors share: a scikit-learn transformer from graphs to kernel values."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.fields import check_codes, stored
from retgk._runtime.parameters import PEERS, Constraints
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import check_numbers
from retgk.kernels.engine import GraphIntake, PlainGraphs, check_attribute_sizes
from retgk.kernels.graph import divide_by_norms
from retgk.kernels.kernel import GraphKernel, rows_divided


class PeerEngine(ABC):
    """
    Kernel of other authors, as a `Kernel`: subclasses take graphs apart and multiply what they got.

    A subclass has the attribute `normalize`; what `taken` gives of graphs is its own business.
    """

    normalize: bool
    norms: Floats  # kernel of every fitted graph with itself, not normalized
    n_jobs: int | None = None
    divisor: int = 1
    """What values are divided by where they are not normalized."""
    kept: Ints | None = None
    """Fitted graphs that are compared with; None for all."""

    @abstractmethod
    def taken(self, batch: GraphBatch, is_fit: bool, n_jobs: int | None) -> Any:
        """What is compared of graphs; if they are fitted, vocabularies are kept."""

    @abstractmethod
    def store(self, taken: Any) -> None:
        """Keep what was taken of the fitted graphs."""

    @abstractmethod
    def own_products(self, taken: Any, n_jobs: int | None) -> Floats:
        """Kernel of every graph with itself, not normalized, or an error if it is no number."""

    @abstractmethod
    def matrix(self, n_jobs: int | None) -> Floats:
        """Kernel matrix of the fitted graphs, normalized if asked to."""

    @abstractmethod
    def rows(self, taken: Any, norms: Floats, n_jobs: int | None) -> Floats:
        """Kernel matrix of new graphs with the fitted ones, not normalized."""

    @abstractmethod
    def features(self, batch: GraphBatch, n_jobs: int | None) -> Any:
        """Vectors whose inner products are the kernel before it is normalized."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        stored(cls)

    def for_min_max(self) -> Self:
        """Engine, not fitted, whose values `MinMax` divides."""
        other = copy(self)
        other.normalize = False
        return other

    @property
    def n_graphs(self) -> int:
        """Number of graphs that are kept."""
        return len(self.norms if self.kept is None else self.kept)

    def fit(self, graphs: Any) -> Self:
        """Keep what is needed of the fitted graphs."""
        self.n_jobs, self.kept = graphs.n_jobs, None
        taken = self.taken(graphs.batch, True, graphs.n_jobs)
        self.norms = self.own_products(taken, graphs.n_jobs)
        self.store(taken)
        return self

    def inner_products(self) -> Floats:
        values = self.divided(self.matrix(self.n_jobs))
        return values if self.kept is None else values[np.ix_(self.kept, self.kept)]

    def squared_norms(self) -> Floats:
        norms = self.divided_norms(self.norms)
        return norms if self.kept is None else norms[self.kept]

    def compare(self, graphs: Any) -> "PeerComparison":
        taken = self.taken(graphs.batch, False, graphs.n_jobs)
        return PeerComparison(self, taken, self.own_products(taken, graphs.n_jobs), graphs.n_jobs)

    def keep(self, graphs: Ints) -> Self:
        other = copy(self)
        other.kept = graphs if self.kept is None else self.kept[graphs]
        return other

    def divided(self, values: Floats) -> Floats:
        """Kernel values from sums; normalized ones have no scale."""
        return values if self.normalize or self.divisor == 1 else values / self.divisor

    def divided_norms(self, norms: Floats) -> Floats:
        return (norms > 0).astype(np.float64) if self.normalize else norms / self.divisor


class PeerComparison(NamedTuple):
    """New graphs beside fitted ones, in a kernel of other authors."""

    engine: PeerEngine
    taken: Any
    norms: Floats
    n_jobs: int | None

    def products(self) -> Floats:
        engine = self.engine
        values = engine.rows(self.taken, self.norms, self.n_jobs)
        if engine.normalize:
            divide_by_norms(values, self.norms, engine.norms)
        values = engine.divided(values)
        return values if engine.kept is None else values[:, engine.kept]

    def squared_norms(self) -> Floats:
        return self.engine.divided_norms(self.norms)


class Compared(NamedTuple):
    """A method of `compare`: the kernel with parameters, and the candidates of others."""

    name: str
    about: str
    grid: Mapping[str, Sequence[Any]]
    parameters: Mapping[str, Any] = {}


LabelColumns = str | Sequence[str] | None
"""Named columns of labels that a kernel begins with; None for all."""


class PeerKernel(GraphKernel):
    """
    Base of the kernels of other authors; their docstrings describe the parameters.

    A subclass gives a `new_engine` from its parameters, `normalize` and `n_jobs` among them, and
    says as what methods `compare` knows it. Being defined is being listed: see `all_kernels`.
    """

    _parameter_constraints: ClassVar[Constraints] = PEERS
    kinds: ClassVar[list[type["PeerKernel"]]] = []
    methods: ClassVar[tuple[Compared, ...]] = ()
    fitted_fields = ("engine_", "intake_", "n_attributes_", "label_columns_")
    normalize: bool
    labels: LabelColumns = None
    label_columns_: tuple[str, ...]
    """Columns of the labels of the fitted graphs that take part; new graphs need them."""
    n_jobs: int | None
    engine_: PeerEngine
    n_attributes_: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "methods" in vars(cls):
            PeerKernel.kinds.append(cls)

    @abstractmethod
    def new_engine(self) -> PeerEngine:
        """Make an engine that is not fitted, from parameters that are checked one by one."""

    @property
    def usual_candidates(self) -> Mapping[str, Sequence[Any]]:  # type: ignore[override]
        """What `compare` tries too."""

        def is_own(method: Compared) -> bool:
            return all(getattr(self, name) == value for name, value in method.parameters.items())

        own = sorted(filter(is_own, self.methods), key=lambda one: len(one.parameters))
        return own[-1].grid if own else {}

    def fit_batch(self, batch: GraphBatch) -> None:
        self.fit_engine(self.new_engine(), batch)

    def fit_engine(self, engine: PeerEngine, batch: GraphBatch) -> None:
        """Fit with an engine, that of the parameters or one like it."""
        chosen = batch if self.labels is None else batch.with_label_columns(self.labels)
        self.engine_ = engine.fit(PlainGraphs(chosen, self.n_jobs))
        self.n_attributes_ = batch.n_attributes
        self.intake_ = GraphIntake(batch.reading, batch.is_weighted)
        self.label_columns_ = chosen.label_columns

    @property
    def n_graphs_(self) -> int:  # type: ignore[override]
        """Number of fitted graphs."""
        return self.engine_.n_graphs

    def after_loading(self) -> None:
        self.intake_.check(self.n_attributes_)
        self.engine_.n_jobs = self.n_jobs
        if self.engine_.kept is not None:
            check_codes("kept", self.engine_.kept, len(self.engine_.norms))

    def gram(self) -> Floats:
        check_is_fitted(self)
        return self.engine_.inner_products()

    def rows(self, batch: GraphBatch) -> Floats:
        return self.compare(batch).products()

    def compare(self, batch: GraphBatch) -> "PeerComparison":
        """Put new graphs, which are checked, beside the fitted ones."""
        return self.engine_.compare(self.plain(batch))

    def plain(self, batch: GraphBatch) -> PlainGraphs:
        """New graphs with the columns of labels that take part."""
        chosen = batch.with_label_columns(self.label_columns_ or batch.label_columns)
        return PlainGraphs(chosen, self.n_jobs)

    def norms(self, batch: GraphBatch | None = None) -> Floats:
        if batch is None:
            return self.engine_.squared_norms()
        return self.compare(batch).squared_norms()

    def rows_and_norms(self, batch: GraphBatch) -> tuple[Floats, Floats]:
        new = self.compare(batch)
        return new.products(), new.squared_norms()

    def keep(self, graphs: Ints) -> Self:
        kept = copy(self)
        kept.engine_ = self.engine_.keep(graphs)
        return kept

    def batch_vectors(self, batch: GraphBatch) -> Any:
        found = self.engine_.features(self.plain(batch).batch, self.n_jobs)
        if not self.normalize:
            return found
        norms = self.compare(batch).norms
        return rows_divided(found, np.sqrt(norms / self.engine_.divisor))


def check_first(counter: Any) -> None:
    if counter.first.start != counter.start:
        raise InvalidInputError("the first colours are of another start")


_LEAST_NORM = 1e-290  # sums of smaller products lose digits


def check_norms(norms: Floats, normalize: bool) -> None:
    """Raise if a kernel of a graph with itself is no number, or too small to divide by."""
    is_bad = ~np.isfinite(norms)
    if normalize:
        is_bad |= (norms > 0) & (norms < _LEAST_NORM)
    if is_bad.any():
        graph = int(is_bad.argmax())
        how = "small" if norms[graph] < 1 else "large"
        raise InvalidInputError(
            f"graph {graph}: its kernel with itself is too {how} to compute with; scale the "
            "attributes or the weights that the kernel is given, such as size_weights, so that "
            "they are closer to one"
        )


# Checks of attributes that kernels of other authors compute with.


def check_attributes(batch: GraphBatch) -> None:
    check_numbers(batch.attributes, batch.node_ptr)
    check_attribute_sizes(batch)
