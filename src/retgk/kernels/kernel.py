"""
Kernels between graphs as values: the base of all kernels, and kernels that are made of kernels.

A kernel is a scikit-learn transformer that is fitted on graphs: `fit_transform` gives their kernel
matrix and `transform` the rows of new graphs. ``a + b``, ``a * b``, ``0.5 * a`` and
``a.normalized()`` are kernels too. Whatever takes a kernel asks for no more than is defined here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from numbers import Real
from operator import add
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.fields import check_codes, check_shape, stored
from retgk._runtime.names import names_there
from retgk._runtime.parameters import (
    MAX_ATTRIBUTES,
    Constraints,
    Number,
    OneOf,
    check_model_parameters,
    check_parameters,
    untyped,
)
from retgk._runtime.processes import check_room
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.io.convert import GraphsLike, as_batch
from retgk.kernels.engine import GraphIntake, TakesGraphs, check_fit
from retgk.kernels.graph import divide_by_norms

_MOST_PRODUCTS = 1 << 16  # columns of vectors of a product


class HasValues(BaseEstimator):  # type: ignore[misc]
    """
    An estimator whose parameters may be frozen values, such as kernels of nodes and walks.

    Searches reach their fields as "structure__gamma"; setting one replaces the value.
    """

    values_by_default: ClassVar[Mapping[str, Any]] = {}
    """What None stands for, by parameter."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        untyped(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """
        Give the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to give those of kernels inside too, such as "structure__gamma".

        Returns
        -------
        dict
            Their values.
        """
        found: dict[str, Any] = super().get_params(deep)
        if deep:
            for name in self._get_param_names():
                value = self._value_of(name)
                if is_dataclass(value):
                    own = {f"{name}__{part}": getattr(value, part) for part in _part_names(value)}
                    found |= own
        return found

    def set_params(self, **params: Any) -> Self:
        """
        Set parameters by name, those of kernels inside too.

        Parameters
        ----------
        **params
            Such as ``depth=2`` or ``structure__gamma=1.0``.

        Returns
        -------
        self
            The kernel itself.
        """
        parts: dict[str, dict[str, Any]] = {}
        others = dict(params)
        for name in params:
            owner, _, part = name.partition("__")
            if part and is_dataclass(self._value_of(owner, params)):
                parts.setdefault(owner, {})[part] = others.pop(name)
        super().set_params(**others)
        for owner, values in parts.items():
            value = self._value_of(owner)
            for part in values.keys() - set(_part_names(value)):
                advice = names_there(part, _part_names(value))
                raise InvalidInputError(f"{value!r} has no parameter {part!r}; it has {advice}")
            if replace(value, **values) != value:  # None stays None
                setattr(self, owner, replace(value, **values))
        return self

    def _value_of(self, name: str, given: Mapping[str, Any] | None = None) -> Any:
        value = (given or {}).get(name, getattr(self, name, None))
        return self.values_by_default.get(name) if value is None else value

    def __repr__(self, N_CHAR_MAX: int = 1 << 20) -> str:
        """Text that makes it again: scikit-learn's is cut after 700 characters."""
        return str(super().__repr__(N_CHAR_MAX))


class GraphKernel(TakesGraphs, TransformerMixin, HasValues):  # type: ignore[misc]
    """
    Kernel between graphs: the base of all of them, and of your own.

    A kernel of your own has two methods: `describe` takes from graphs what is compared, and
    `products` compares. The constructor assigns its parameters, as in any estimator of
    scikit-learn. `save_model` writes it; `load_model` wants its module named in ``trust``.

    Examples
    --------
    >>> import numpy as np
    >>> from retgk import GraphClassifier
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import GraphKernel, WeisfeilerLehman
    >>> class Density(GraphKernel):
    ...     def __init__(self, gamma=1.0):
    ...         self.gamma = gamma
    ...
    ...     def describe(self, graphs):
    ...         return (graphs.edge_counts / graphs.node_counts**2)[:, None]
    ...
    ...     def products(self, x, y):
    ...         return np.exp(-self.gamma * (x - y.T) ** 2)
    >>> data = make_graph_classification(n_graphs=40, rng=0)
    >>> Density(gamma=100.0).fit_transform(data.graphs).shape
    (40, 40)
    >>> kernel = Density() + 0.5 * WeisfeilerLehman(n_iter=2)
    >>> GraphClassifier(kernel, random_state=0).fit(data).predict(data.graphs).shape
    (40,)
    """

    _parameter_constraints: ClassVar[Constraints] = {}
    usual_candidates: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """What a classifier tries for parameters that were left at their defaults."""
    fitted_fields: ClassVar[tuple[str, ...]] = ("fitted_", "intake_", "n_graphs_")
    if_too_large: ClassVar[str] = "give fewer graphs, or use approximate vectors"
    """What to do where the kernel matrix does not fit into memory."""
    __array_ufunc__ = None  # numbers of NumPy leave ``number * kernel`` to the kernel

    intake_: GraphIntake
    n_graphs_: int
    n_attributes_: int = MAX_ATTRIBUTES
    """Attributes of the fitted graphs, where the kernel has to know them."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        stored(cls)

    # What a kernel of your own defines

    def describe(self, graphs: GraphBatch) -> Any:
        """
        Take from graphs what is compared.

        Parameters
        ----------
        graphs : GraphBatch
            Graphs.

        Returns
        -------
        ndarray, sparse array or list
            One row or item for each graph.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method describe(graphs)")

    def products(self, x: Any, y: Any) -> Floats:
        """
        Compare graphs with graphs.

        Parameters
        ----------
        x, y : ndarray, sparse array or list
            What `describe` gave of graphs.

        Returns
        -------
        ndarray of float64, shape (n_x, n_y)
            Kernel values: inner products of some vectors of the graphs.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method products(x, y)")

    # What all kernels do

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
        batch = self.taken(X)
        if len(batch) == 0:
            raise InvalidInputError("there are no graphs to fit; give at least one")
        self.fit_batch(batch)
        return self

    def check(self) -> None:
        """Raise unless the parameters are valid, as far as can be said without graphs."""
        check_model_parameters(self)

    def taken(self, X: Any) -> Any:
        """Graphs as they come, in the form in which this kernel is fitted on them."""
        return as_batch(X)

    def new(self, X: Any) -> Any:
        """New graphs, read as the fitted ones were."""
        check_is_fitted(self)
        return self.intake_.new_batch(X)

    def fit_batch(self, batch: GraphBatch) -> None:
        """Fit on graphs that are checked."""
        self.fitted_ = self.describe(batch)
        self.intake_ = GraphIntake(batch.reading, batch.is_weighted)
        self.n_graphs_ = len(batch)

    def fit_on(self, batch: GraphBatch, graphs: Ints) -> None:
        """Fit on some graphs of a batch."""
        self.fit_batch(batch[graphs])

    def gram(self) -> Floats:
        """Kernel matrix of the fitted graphs."""
        check_is_fitted(self)
        return self._compared(self.fitted_, self.fitted_, (self.n_graphs_, self.n_graphs_))

    def add_gram(self, out: NDArray[Any], weight: float = 1.0) -> None:
        """Add a multiple of the kernel matrix of the fitted graphs, in float32 or float64."""
        values = self.gram()
        out += values if weight == 1 else weight * values

    def rows(self, batch: GraphBatch) -> Floats:
        """Kernel between new graphs, which are checked, and the fitted ones."""
        return self._compared(self.describe(batch), self.fitted_, (len(batch), self.n_graphs_))

    def norms(self, batch: GraphBatch | None = None) -> Floats:
        """Kernel of every graph with itself; of the fitted graphs by default."""
        own = self.fitted_ if batch is None else self.describe(batch)
        n_graphs = self.n_graphs_ if batch is None else len(batch)
        each = (_items(own, [graph]) for graph in range(n_graphs))
        return np.array([self._compared(one, one, (1, 1))[0, 0] for one in each])

    def rows_and_norms(self, batch: GraphBatch) -> tuple[Floats, Floats]:
        """Rows of new graphs, and their kernel with themselves."""
        return self.rows(batch), self.norms(batch)

    def _compared(self, x: Any, y: Any, shape: tuple[int, int]) -> Floats:
        """What `products` gives, checked: it may be anybody's."""
        values = _as_floats(self.products(x, y))
        if values.shape != shape or not np.isfinite(values).all():
            raise InvalidInputError(
                f"products of {self!r} must give finite values of shape {shape}, one for each pair "
                f"of graphs; got shape {values.shape}, smallest {values.min(initial=np.inf):g}, "
                f"largest {values.max(initial=-np.inf):g}"
            )
        return values

    def keep(self, graphs: Ints) -> Self:
        """Kernel with some of the fitted graphs; the others are no longer compared with."""
        kept = copy(self)
        kept.fitted_, kept.n_graphs_ = _items(self.fitted_, graphs), len(graphs)
        return kept

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
        batch = self.taken(X)
        check_room(2 * 8 * len(batch) ** 2, "the kernel matrix", self.if_too_large)
        return self.fit(batch, y, **options).gram()

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
        return self.rows(self.new(X))

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
            ``K(G, G)``.
        """
        check_is_fitted(self)
        return self.norms(None if X is None else self.new(X))

    def vectors(self, X: GraphsLike) -> Any:
        """
        Vectors of graphs whose inner products are the kernel, for kernels that have them.

        Where columns are what the fitted graphs have, such as colours, new graphs lack what only
        they have: their inner products with fitted graphs are the kernel, their own norms are less.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs, fitted ones or new ones.

        Returns
        -------
        ndarray or sparse array, shape (n, n_features)
            One row for each graph.
        """
        return self.batch_vectors(self.new(X))

    def batch_vectors(self, batch: GraphBatch) -> Any:  # noqa: ARG002
        """Vectors of graphs that are checked, or an error that says why there are none."""
        raise InvalidInputError(f"{self!r} has no vectors of finite length")

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:  # noqa: ARG002
        """
        Names of the columns: "graph0", "graph1" and so on, for the fitted graphs.

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
        return np.array([f"graph{i}" for i in range(self.n_graphs_)], dtype=object)

    def after_loading(self) -> None:
        self.intake_.check(self.n_attributes_)

    def __sklearn_is_fitted__(self) -> bool:
        return self.fitted_fields[0] in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def with_common(self, n_jobs: int | None, seed: int | None) -> Self:
        """Copy, not fitted, with threads and a seed wherever it has none of its own."""
        common = {"n_jobs": n_jobs, "random_state": seed}
        copied: Self = clone(self)
        return copied.set_params(
            **{
                name: common[name.rpartition("__")[2]]
                for name, value in copied.get_params().items()
                if value is None and name.rpartition("__")[2] in common
            }
        )

    # Algebra

    def __add__(self, other: Any) -> GraphKernel:
        return Sum(self, other) if isinstance(other, GraphKernel) else NotImplemented

    def __radd__(self, other: Any) -> GraphKernel:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # as sum() begins

    def __mul__(self, other: Any) -> GraphKernel:
        if isinstance(other, GraphKernel):
            return Product(self, other)
        return Scaled(self, float(other)) if isinstance(other, Real) else NotImplemented

    __rmul__ = __mul__

    def normalized(self) -> GraphKernel:
        """
        Cosine of this kernel, ``K(G, H) / sqrt(K(G, G) K(H, H))``.

        Returns
        -------
        GraphKernel
            The kernel; zero where a norm is zero.
        """
        return Normalized(self)


def _as_floats(values: Any) -> Floats:
    values = values.toarray() if hasattr(values, "toarray") else values
    return np.asarray(values, np.float64)


def _items(described: Any, graphs: Any) -> Any:
    if isinstance(described, list | tuple):
        return [described[graph] for graph in graphs]
    return described[np.asarray(graphs)]


def _part_names(value: Any) -> list[str]:
    hidden = getattr(value, "internal_fields", ())
    return [field.name for field in fields(value) if field.init and field.name not in hidden]


# Kernels that are made of kernels


class Combination(GraphKernel):
    """What sums, products, multiples and cosines of kernels have in common."""

    fitted_fields: ClassVar[tuple[str, ...]] = ("parts_", "intake_", "n_graphs_")
    part_names: ClassVar[tuple[str, ...]] = ("k1", "k2")
    parts_: list[GraphKernel]

    @property
    def given_parts(self) -> list[GraphKernel]:
        """Kernels that it is made of, as they were given."""
        return [getattr(self, name) for name in self.part_names]

    def check(self) -> None:
        super().check()
        for name, part in zip(self.part_names, self.given_parts, strict=True):
            if not isinstance(part, GraphKernel):
                raise InvalidInputError(
                    f"{name} must be a kernel such as RetGK(), got {part!r:.80}"
                )
            part.check()

    def fit_batch(self, batch: GraphBatch) -> None:
        self.check()
        parts = [clone(part) for part in self.given_parts]
        for part in parts:
            part.fit(batch)
        self.take_parts(parts, GraphIntake(batch.reading, batch.is_weighted), len(batch))

    def take_parts(self, parts: list[Any], intake: GraphIntake, n_graphs: int) -> None:
        """Set the fitted attributes."""
        self.parts_, self.intake_, self.n_graphs_ = parts, intake, n_graphs

    @abstractmethod
    def combined(self, values: list[Floats]) -> Floats:
        """Kernel values from those of the parts."""

    def gram(self) -> Floats:
        check_is_fitted(self)
        return self.combined([part.gram() for part in self.parts_])

    def rows(self, batch: GraphBatch) -> Floats:
        return self.combined([part.rows(batch) for part in self.parts_])

    def rows_and_norms(self, batch: GraphBatch) -> tuple[Floats, Floats]:
        rows, norms = zip(*(part.rows_and_norms(batch) for part in self.parts_), strict=True)
        return self.combined(list(rows)), self.combined(list(norms))

    def norms(self, batch: GraphBatch | None = None) -> Floats:
        return self.combined([part.norms(batch) for part in self.parts_])

    def keep(self, graphs: Ints) -> Self:
        kept = copy(self)
        kept.take_parts([part.keep(graphs) for part in self.parts_], self.intake_, len(graphs))
        return kept

    def leaves(self) -> Iterator[tuple[str, GraphKernel]]:
        """Kernels that are made of no others, with the beginning of the names of parameters."""
        for name, part in zip(self.part_names, self.given_parts, strict=True):
            if isinstance(part, Combination):
                yield from ((f"{name}__{more}", leaf) for more, leaf in part.leaves())
            else:
                yield f"{name}__", part


class Sum(Combination):
    """
    Sum of two kernels; ``k1 + k2`` is one.

    Parameters
    ----------
    k1, k2 : GraphKernel
        The kernels.

    Examples
    --------
    >>> from retgk.kernels import RetGK, ShortestPath
    >>> RetGK(depth=2) + ShortestPath()
    Sum(k1=RetGK(depth=2), k2=ShortestPath())
    """

    def __init__(self, k1: GraphKernel, k2: GraphKernel) -> None:
        self.k1 = k1
        self.k2 = k2

    def combined(self, values: list[Floats]) -> Floats:
        return values[0] + values[1]

    def gram(self) -> Floats:
        return added_gram(self)

    def add_gram(self, out: NDArray[Any], weight: float = 1.0) -> None:
        for part in self.parts_:
            part.add_gram(out, weight)

    def batch_vectors(self, batch: GraphBatch) -> Any:
        parts = [part.batch_vectors(batch) for part in self.parts_]
        if any(hasattr(part, "toarray") for part in parts):
            from scipy.sparse import csr_array, hstack

            return csr_array(hstack([csr_array(part) for part in parts]))
        return np.hstack(parts)


class Product(Combination):
    """
    Product of two kernels; ``k1 * k2`` is one.

    Parameters
    ----------
    k1, k2 : GraphKernel
        The kernels.

    Examples
    --------
    >>> from retgk.kernels import RetGK, ShortestPath
    >>> RetGK() * ShortestPath()
    Product(k1=RetGK(), k2=ShortestPath())
    """

    def __init__(self, k1: GraphKernel, k2: GraphKernel) -> None:
        self.k1 = k1
        self.k2 = k2

    def combined(self, values: list[Floats]) -> Floats:
        return values[0] * values[1]

    def batch_vectors(self, batch: GraphBatch) -> Any:
        parts = [part.batch_vectors(batch) for part in self.parts_]
        width = int(np.prod([part.shape[1] for part in parts]))
        if width > _MOST_PRODUCTS:
            raise InvalidInputError(
                f"vectors of {self!r} would have {width:,} columns, more than {_MOST_PRODUCTS:,}; "
                "use the kernel matrix, or parts with fewer columns"
            )
        check_room(8 * len(batch) * width, "the vectors", "take fewer graphs at a time")
        first, second = map(_as_floats, parts)
        return (first[:, :, None] * second[:, None, :]).reshape(len(batch), width)


def added_gram(kernel: Combination) -> Floats:
    """Kernel matrix in memory of its own, where parts add theirs."""
    check_is_fitted(kernel)
    out = np.zeros((kernel.n_graphs_, kernel.n_graphs_))
    kernel.add_gram(out)
    return out


class Scaled(Combination):
    """
    Multiple of a kernel; ``factor * kernel`` is one.

    Parameters
    ----------
    kernel : GraphKernel
        The kernel.
    factor : float or "mean"
        A positive number; or "mean", which divides by the mean of ``K(G, G)`` over the fitted
        graphs, so that kernels which grow with graphs can be added to others.

    Examples
    --------
    >>> from retgk.kernels import ShortestPath
    >>> 0.5 * ShortestPath()
    Scaled(factor=0.5, kernel=ShortestPath())
    >>> from retgk.datasets import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, rng=0).graphs
    >>> float(Scaled(ShortestPath(normalize=False), "mean").fit(graphs).diagonal().mean().round(9))
    1.0
    """

    part_names = ("kernel",)
    fitted_fields = (*Combination.fitted_fields, "factor_")
    _parameter_constraints: ClassVar[Constraints] = {"factor": (OneOf(("mean",)), Number("()", 0))}
    factor_: float

    def __init__(self, kernel: GraphKernel, factor: float | Literal["mean"] = 1.0) -> None:
        self.kernel = kernel
        self.factor = factor

    def fit_batch(self, batch: GraphBatch) -> None:
        super().fit_batch(batch)
        if self.factor == "mean":
            mean = float(self.parts_[0].norms().mean())
            self.factor_ = 1 / mean if mean > 0 else 1.0
        else:
            self.factor_ = float(self.factor)

    def gram(self) -> Floats:
        return added_gram(self)

    def add_gram(self, out: NDArray[Any], weight: float = 1.0) -> None:
        self.parts_[0].add_gram(out, weight * self.factor_)

    def combined(self, values: list[Floats]) -> Floats:
        return self.factor_ * values[0]

    def batch_vectors(self, batch: GraphBatch) -> Any:
        return np.sqrt(self.factor_) * self.parts_[0].batch_vectors(batch)

    def after_loading(self) -> None:
        super().after_loading()
        check_parameters({"factor": (Number("()", 0),)}, {"factor": self.factor_})


class Normalized(Combination):
    """
    Cosine of a kernel, ``K(G, H) / sqrt(K(G, G) K(H, H))``; ``kernel.normalized()`` is one.

    Parameters
    ----------
    kernel : GraphKernel
        The kernel.

    Examples
    --------
    >>> from retgk.kernels import WeisfeilerLehman
    >>> WeisfeilerLehman(normalize=False).normalized()
    Normalized(kernel=WeisfeilerLehman(normalize=False))
    """

    part_names = ("kernel",)

    def __init__(self, kernel: GraphKernel) -> None:
        self.kernel = kernel

    def combined(self, values: list[Floats]) -> Floats:
        return (values[0] > 0).astype(np.float64)  # of norms alone

    def gram(self) -> Floats:
        check_is_fitted(self)
        values = self.parts_[0].gram().copy()
        norms = values.diagonal().copy()
        divide_by_norms(values, norms, norms)
        return values

    def rows(self, batch: GraphBatch) -> Floats:
        return self.rows_and_norms(batch)[0]

    def rows_and_norms(self, batch: GraphBatch) -> tuple[Floats, Floats]:
        part = self.parts_[0]
        values, norms = part.rows_and_norms(batch)
        values = values.copy()  # it may be anybody's
        divide_by_norms(values, norms, part.norms())
        return values, self.combined([norms])

    def batch_vectors(self, batch: GraphBatch) -> Any:
        part = self.parts_[0]
        return rows_divided(part.batch_vectors(batch), np.sqrt(part.norms(batch)))


def rows_divided(vectors: Any, lengths: Floats) -> Any:
    """Vectors divided by their lengths, dense or sparse; zero stays zero."""
    factors = 1 / np.where(lengths > 0, lengths, np.inf)
    if not hasattr(vectors, "toarray"):
        return factors[:, None] * vectors
    from scipy.sparse import csr_array, diags_array

    return csr_array(diags_array(factors) @ vectors)


def mean_of(kernels: Iterable[GraphKernel]) -> GraphKernel:
    """
    Mean of kernels.

    Parameters
    ----------
    kernels : iterable of GraphKernel
        One or more.

    Returns
    -------
    GraphKernel
        Their sum, divided by their number.

    Examples
    --------
    >>> from retgk.kernels import RetGK, ShortestPath, mean_of
    >>> mean_of([RetGK(), ShortestPath()])
    Scaled(factor=0.5, kernel=Sum(k1=RetGK(), k2=ShortestPath()))
    """
    own = list(kernels)
    if not own:
        raise InvalidInputError("there are no kernels to take the mean of; give at least one")
    return Scaled(reduce(add, own), 1 / len(own))


class Precomputed(GraphKernel):
    """
    Kernel values that were computed before, in place of graphs.

    It is fitted on the square matrix of the training graphs; new graphs are their rows with the
    training graphs. Splits for cross-validation take the same rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> from retgk import GraphClassifier
    >>> from retgk.kernels import Precomputed
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> y = (x[:, 0] > 0.5).astype(int)
    >>> model = GraphClassifier(Precomputed(), random_state=0).fit(x @ x.T, y)
    >>> model.predict(x[:3] @ x.T)
    array([0, 0, 0])
    """

    fitted_fields = ("matrix_", "columns_", "width_")
    matrix_: Floats | None
    """Kernel matrix of the fitted graphs; None where some of them are kept."""
    columns_: Ints
    """Columns of the kept graphs in the rows of new ones, which have `width_` columns."""
    width_: int

    @property
    def n_graphs_(self) -> int:  # type: ignore[override]
        """Number of fitted graphs."""
        return len(self.columns_)

    def taken(self, X: Any) -> Any:
        matrix = _matrix(X)
        if matrix.shape[0] != matrix.shape[1]:
            raise InvalidInputError(
                f"Precomputed is fitted on the kernel matrix of the training graphs, which is "
                f"square; got shape {matrix.shape}"
            )
        if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12 * np.abs(matrix).max(initial=0)):
            raise InvalidInputError("the kernel matrix of Precomputed is not symmetric")
        return matrix

    def new(self, X: Any) -> Any:
        check_is_fitted(self)
        matrix = _matrix(X)
        if matrix.shape[1] != self.width_:
            raise InvalidInputError(
                f"the rows of new graphs have {matrix.shape[1]} kernel values, but there were "
                f"{self.width_} training graphs; give one value for each of them"
            )
        return matrix

    def fit_batch(self, batch: Any) -> None:
        self.matrix_, self.columns_, self.width_ = batch, np.arange(len(batch)), len(batch)
        self.intake_ = GraphIntake()

    def fit_on(self, batch: Any, graphs: Ints) -> None:
        self.fit_batch(batch)
        self.matrix_, self.columns_ = None, graphs

    def gram(self) -> Floats:
        check_is_fitted(self)
        if self.matrix_ is None:
            raise InvalidInputError("a model keeps no kernel matrix; give the rows of new graphs")
        return self.matrix_

    def rows(self, batch: Any) -> Floats:
        return np.asarray(batch[:, self.columns_])

    def norms(self, batch: Any | None = None) -> Floats:
        if batch is not None:
            raise InvalidInputError("Precomputed does not know the kernel of new graphs with them")
        return self.gram().diagonal().copy()

    def keep(self, graphs: Ints) -> Self:
        kept = copy(self)
        kept.matrix_, kept.columns_ = None, self.columns_[graphs]
        return kept

    def after_loading(self) -> None:
        self.intake_ = GraphIntake()
        check_shape("columns_", self.columns_, None)
        check_codes("columns_", self.columns_, self.width_)
        if self.matrix_ is not None:
            check_shape("matrix_", self.matrix_, self.width_, self.width_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags


def _matrix(X: Any) -> Floats:
    try:
        matrix = np.asarray(X, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"Precomputed takes a matrix of kernel values, got {type(X).__name__}"
        ) from error
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise InvalidInputError(
            f"Precomputed takes a matrix of finite kernel values, got shape {matrix.shape}"
        )
    return matrix
