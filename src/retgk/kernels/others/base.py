"""What kernels of other authors share: a scikit-learn transformer from graphs to kernel values."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.fields import stored
from retgk._runtime.parameters import PEERS, Constraints
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import check_numbers
from retgk.io.convert import GraphsLike, as_batch
from retgk.kernels.engine import (
    GraphIntake,
    PlainGraphs,
    TakesGraphs,
    check_attribute_sizes,
    check_fit,
)


class PeerEngine(ABC):
    """
    Kernel of other authors, as a `Kernel`: subclasses take graphs apart and multiply what they got.

    A subclass has the attribute `normalize`; what `taken` gives of graphs is its own business.
    """

    normalize: bool
    norms: Floats  # kernel of every fitted graph with itself, not normalized
    n_jobs: int | None = None
    divisor: int = 1  # what values are divided by where they are not normalized
    _kept: Ints | None = None

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
        """Vectors of which the kernel is made."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        stored(cls)

    @property
    def n_graphs(self) -> int:
        return len(self.norms if self._kept is None else self._kept)

    def fit(self, graphs: Any) -> Self:
        self.n_jobs, self._kept = graphs.n_jobs, None
        taken = self.taken(graphs.batch, True, graphs.n_jobs)
        self.norms = self.own_products(taken, graphs.n_jobs)
        self.store(taken)
        return self

    def inner_products(self) -> Floats:
        values = self.divided(self.matrix(self.n_jobs))
        return values if self._kept is None else values[np.ix_(self._kept, self._kept)]

    def squared_norms(self) -> Floats:
        norms = self.divided_norms(self.norms)
        return norms if self._kept is None else norms[self._kept]

    def compare(self, graphs: Any) -> "PeerComparison":
        taken = self.taken(graphs.batch, False, graphs.n_jobs)
        return PeerComparison(self, taken, self.own_products(taken, graphs.n_jobs), graphs.n_jobs)

    def keep(self, graphs: Ints) -> Self:
        other = copy(self)
        other._kept = graphs if self._kept is None else self._kept[graphs]
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
        return values if engine._kept is None else values[:, engine._kept]

    def squared_norms(self) -> Floats:
        return self.engine.divided_norms(self.norms)


class Compared(NamedTuple):
    """A method of `compare`: the kernel with parameters, and the candidates of others."""

    name: str
    about: str
    grid: Mapping[str, Sequence[Any]]
    parameters: Mapping[str, Any] = {}


class PeerKernel(TakesGraphs, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """
    Base of the kernels of other authors; their docstrings describe the parameters.

    A subclass gives a `new_engine` from its parameters, `normalize` and `n_jobs` among them, and
    says as what methods `compare` knows it. Being defined is being listed: see `all_kernels`.
    """

    _parameter_constraints: ClassVar[Constraints] = PEERS
    kinds: ClassVar[list[type["PeerKernel"]]] = []
    methods: ClassVar[tuple[Compared, ...]] = ()
    fitted_fields = ("engine_", "intake_", "n_attributes_")
    normalize: bool
    n_jobs: int | None
    engine_: PeerEngine
    n_attributes_: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not any(base in PeerKernel.kinds for base in cls.__mro__):
            PeerKernel.kinds.append(stored(cls))

    @abstractmethod
    def new_engine(self) -> PeerEngine:
        """Make an engine that is not fitted, from parameters that are checked one by one."""

    def fit(self, X: GraphsLike, y: object = None, **options: Any) -> Self:  # noqa: ARG002
        """
        Take in the graphs that others will be compared with.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs.
        y : ignored
            For scikit-learn's sake.
        **options : error
            Options of converters belong to `as_batch`; an error says so.

        Returns
        -------
        self
            The fitted kernel.
        """
        check_fit(self, options)
        engine = self.new_engine()
        batch = as_batch(X)
        if len(batch) == 0:
            raise InvalidInputError("there are no graphs to fit; give at least one")
        engine.fit(PlainGraphs(batch, self.n_jobs))
        intake = GraphIntake(batch.reading, batch.is_weighted)
        self.engine_, self.intake_, self.n_attributes_ = engine, intake, batch.n_attributes
        return self

    def after_loading(self) -> None:
        self.intake_.check(self.n_attributes_)
        self.engine_.n_jobs = self.n_jobs

    def fit_transform(self, X: GraphsLike, y: object = None, **options: Any) -> Floats:
        """
        Fit, and give the kernel between the fitted graphs.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs.
        y, **options
            As in `fit`.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Kernel values.
        """
        return self.fit(X, y, **options).engine_.inner_products()

    def transform(self, X: GraphsLike) -> Floats:
        """
        Kernel between new graphs and the fitted ones.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            New graphs.

        Returns
        -------
        ndarray of float64, shape (n_new, n_fitted)
            Kernel values.
        """
        check_is_fitted(self)
        return self._compare(X).products()

    def _compare(self, X: GraphsLike) -> PeerComparison:
        return self.engine_.compare(PlainGraphs(self.intake_.new_batch(X), self.n_jobs))

    def diagonal(self, X: GraphsLike | None = None) -> Floats:
        """
        Kernel of every graph with itself.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes, optional
            New graphs; the fitted graphs by default.

        Returns
        -------
        ndarray of float64, shape (n,)
            ``K(G, G)``; 1, or 0 for a graph without any substructure, if normalized.
        """
        check_is_fitted(self)
        return (self.engine_ if X is None else self._compare(X)).squared_norms()

    def features(self, X: GraphsLike) -> Any:
        """
        Sparse vectors of graphs of which the kernel is made, before it is normalized.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs, fitted ones or new ones.

        Returns
        -------
        csr_array of float64, shape (n, n_features)
            How often every substructure of the fitted graphs occurs. Substructures that no fitted
            graph has have no column.
        """
        check_is_fitted(self)
        return self.engine_.features(self.intake_.new_batch(X), self.n_jobs)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:  # noqa: ARG002
        """
        Names of the columns of kernel values: "graph0", "graph1" and so on, for the fitted graphs.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn's sake.

        Returns
        -------
        ndarray of str, shape (n_fitted,)
            The names.
        """
        check_is_fitted(self)
        return np.array([f"graph{i}" for i in range(self.engine_.n_graphs)], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "engine_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def check_first(counter: Any) -> None:
    if counter.first.start != counter.start:
        raise InvalidInputError("the first colours are of another start")


# Kernels of graphs with themselves, and kernel values that are divided by their roots.

_LEAST_NORM = 1e-290  # sums of smaller products lose digits


class NormParts(NamedTuple):
    """
    Norms as products, so that products of two of them are numbers however large they are.

    Units are powers of two: what is multiplied by them has the same digits as before.
    """

    units: Floats  # (n_graphs,): one over the root of the power of four in each norm
    rest: Floats  # (n_graphs,): what is left of it, from 1/4 to 1; zero for a norm of zero

    @classmethod
    def of(cls, norms: Floats) -> "NormParts":
        halves = (np.frexp(norms)[1] + 1) // 2
        return cls(np.ldexp(1.0, -halves), np.ldexp(norms, -2 * halves))


def divide_by_norms(values: Floats, row_norms: Floats, column_norms: Floats) -> None:
    """Divide kernel values, in place, by the roots of both norms; zero where a norm is zero."""
    rows, columns = NormParts.of(row_norms), NormParts.of(column_norms)
    values *= rows.units[:, None]
    values *= columns.units
    scale = np.sqrt(np.outer(rows.rest, columns.rest))
    scale[scale == 0] = np.inf
    values /= scale


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
