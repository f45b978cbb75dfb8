"""What a prediction is made of: shares of nodes and of training graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.parallel import progress_bar
from retgk._runtime.parameters import Whole, check_parameters
from retgk.array_types import Flags, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.estimators.kernel import RetGK
from retgk.graphs.batch import GraphBatch
from retgk.io.convert import GraphsLike
from retgk.kernels.gradients import LineEnds, line_gradients
from retgk.kernels.graph import squared_mmd_from_products
from retgk.kernels.kernel import Scaled, Sum
from retgk.kernels.others.colour_shares import ColourLines, counts_colours
from retgk.learning.outcomes import ClassOutcomes, LabelOutcomes, ValueOutcomes
from retgk.learning.svm import Machine, SupportVectors, one_vs_rest_from_pairs


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """
    Why a model decided as it did: what `GraphClassifier.explain` and `GraphRegressor.explain` give.

    All numbers are in the units of decision values (of a regressor: of its targets), never of
    probabilities. ``baseline + shares of the nodes`` is the decision value of a graph, and so is
    ``intercept + shares of all support graphs``, of which the largest are here.

    Attributes
    ----------
    shares : ndarray of float64, shape (n_nodes,)
        What every node adds to the decision value, graph after graph; negative speaks against
        the target.
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    targets : ndarray, shape (n_graphs,)
        The class, or the number of the label or output, whose decision value is explained.
    predictions : ndarray, shape (n_graphs,) or (n_graphs, n_outputs)
        What the model predicts.
    decisions : ndarray of float64, shape (n_graphs,)
        Decision value for the target.
    baseline : ndarray of float64, shape (n_graphs,)
        Decision value of the mean embedding of the support graphs.
    training : ndarray of int64, shape (n_graphs, n_top)
        Training graphs of the largest shares, up or down, the largest first.
    training_shares : ndarray of float64, shape (n_graphs, n_top)
        Their shares.
    training_names, training_smiles : ndarray of str, shape (n_graphs, n_top), or None
        Their names and SMILES, where the model was fitted on graphs that have some.
    node_names : ndarray, shape (n_nodes,), or None
        What the nodes are called; None where that is their number.
    contrast : ndarray of int64, shape (n_graphs,), or None
        Nearest support graph of another class than the target; -1 if there is none. None for
        regressors, and for models from files that do not know the classes of their graphs.
    contrast_distances : ndarray of float64, shape (n_graphs,), or None
        Its distance, the maximum mean discrepancy.

    Examples
    --------
    >>> import numpy as np
    >>> from retgk import GraphClassifier
    >>> from retgk.datasets import make_graph_classification
    >>> data = make_graph_classification(n_graphs=40, rng=0)
    >>> model = GraphClassifier(random_state=0).fit(data.graphs[:30], data.targets[:30])
    >>> found = model.explain(data.graphs[30:])
    >>> whole = found.baseline[2] + found.of(2).sum()
    >>> bool(np.isclose(whole, found.decisions[2], rtol=0, atol=1e-9))
    True
    """

    shares: Floats
    node_ptr: Ints
    targets: NDArray[Any]
    predictions: NDArray[Any]
    decisions: Floats
    baseline: Floats
    training: Ints
    training_shares: Floats
    contrast: Ints | None
    contrast_distances: Floats | None
    training_names: NDArray[Any] | None = None
    training_smiles: NDArray[Any] | None = None
    node_names: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.decisions)

    def __repr__(self) -> str:
        return f"Explanation({len(self):,} graphs, {len(self.shares):,} nodes)"

    def of(self, graph: int) -> Floats:
        """Shares of the nodes of one graph."""
        if not -len(self) <= graph < len(self):
            raise InvalidInputError(
                f"there is no graph {graph}; the explanation has {len(self)} graphs, from 0 on"
            )
        graph %= len(self)
        return self.shares[self.node_ptr[graph] : self.node_ptr[graph + 1]]


# Explanations of what a fitted classifier or regressor decides.

_GRAPHS_AT_A_TIME = 1024


def explanation(model: Any, X: GraphsLike, target: Any, n_training: int) -> Explanation:
    """Explain the decision values of a fitted predictor; see `GraphPredictor.explain`."""
    check_is_fitted(model, "dual_coef_")
    check_parameters({"n_training": (Whole(0),)}, {"n_training": n_training})
    outputs = _outputs_of(model)
    terms = _terms(model.kernel_, model.n_jobs)
    batch = model.kernel_.new(X)
    wanted = outputs.codes_of(target, len(batch))
    parts = []
    with progress_bar("explaining", len(batch)) as advance:
        for start in range(0, max(1, len(batch)), _GRAPHS_AT_A_TIME):
            rows = slice(start, start + _GRAPHS_AT_A_TIME)
            some = None if wanted is None else wanted[rows]
            parts.append(_explained(model, batch[rows], terms, outputs, some, int(n_training)))
            advance(len(parts[-1]))
    return parts[0] if len(parts) == 1 else _joined(parts, batch)


class _Compared(NamedTuple):
    """New graphs in a term of a kernel."""

    values: Floats
    """Kernel with the support graphs, shape (n, n_support)."""
    squared: Floats
    """Squared distances to them."""
    shares: Callable[[Floats, Floats], Floats]
    """Shares of nodes from coefficients of support graphs, and the rises that they add up to."""


class _Term(Protocol):
    """A term of a kernel, and how much it counts: a function of vectors that are sums of nodes'."""

    weight: float
    mean_values: Floats
    """Kernel of the mean of the support graphs with these."""

    def compared(self, batch: GraphBatch) -> _Compared:
        """Put new graphs beside the support graphs."""


class _MeanTerm(_Term):
    """A kernel of mean embeddings."""

    def __init__(self, weight: float, kernel: RetGK, n_jobs: int | None) -> None:
        self.weight, self.kernel, self.n_jobs = weight, kernel, n_jobs
        own = kernel.engine_
        self.of_mean = own.mean_products(), own.squared_norms()
        self.mean_values = self._ends(np.empty((0, 0)), np.empty(0)).mean_values(
            kernel.graph_kernel_
        )

    def _ends(self, products: Floats, norms: Floats) -> LineEnds:
        return LineEnds(products, norms, *self.of_mean)

    def compared(self, batch: GraphBatch) -> _Compared:
        new, own = self.kernel.compare(batch), self.kernel.graph_kernel_
        ends = self._ends(new.products(), new.squared_norms())

        def shares(coefficients: Floats, rises: Floats) -> Floats:
            found = line_gradients(own, ends, coefficients, rises, self.n_jobs)
            return _node_shares(new.node_values(*found), batch, rises)

        squared = squared_mmd_from_products(ends.products, ends.norms, ends.fitted_norms)
        return _Compared(ends.values(own), squared, shares)


class _ColourTerm(_Term):
    """A kernel of counts of colours."""

    def __init__(self, weight: float, kernel: Any) -> None:
        self.weight, self.kernel = weight, kernel
        self.lines, self.norms = ColourLines.of(kernel), kernel.norms()
        self.mean_values = self.lines.mean_values()

    def compared(self, batch: GraphBatch) -> _Compared:
        values, norms = self.kernel.rows_and_norms(batch)
        squared = np.maximum(np.add.outer(norms, self.norms) - 2 * values, 0.0)
        return _Compared(values, squared, partial(self.lines.node_shares, batch))


def is_explained(kernel: Any) -> bool:
    """Whether nodes have shares in a fitted kernel."""
    if isinstance(kernel, Sum | Scaled):
        return all(map(is_explained, kernel.parts_))
    return isinstance(kernel, RetGK) or counts_colours(kernel)


def _terms(kernel: Any, n_jobs: int | None, weight: float = 1.0) -> list[_Term]:
    """Terms of a kernel, each of which is explained."""
    if isinstance(kernel, RetGK):
        return [_MeanTerm(weight, kernel, n_jobs)]
    if counts_colours(kernel):
        return [_ColourTerm(weight, kernel)]
    if isinstance(kernel, Sum):
        return [term for part in kernel.parts_ for term in _terms(part, n_jobs, weight)]
    if isinstance(kernel, Scaled):
        return _terms(kernel.parts_[0], n_jobs, weight * kernel.factor_)
    raise InvalidInputError(
        f"nodes have no shares in {kernel!r:.80}; explanations are there for RetGK, "
        "WeisfeilerLehman, WeisfeilerLehmanOA and MinMax of these, and for sums and multiples"
    )


class _Outputs(NamedTuple):
    """What may be explained: classes, labels or outputs, as sums of values of the machine."""

    names: NDArray[Any]
    signs: Floats
    """Sums of the values of the machine, shape (n_names, n_machine_outputs)."""
    outcomes: ClassOutcomes | LabelOutcomes | ValueOutcomes
    is_paired: bool
    """Whether values of the machine are those of pairs of classes."""

    def scores(self, values: Floats) -> Floats:
        return one_vs_rest_from_pairs(values, len(self.names)) if self.is_paired else values

    def codes_of(self, target: Any, n_graphs: int) -> Ints | None:
        """Place of the target of every graph among the names; None for what is predicted."""
        is_predicted = target is None or (isinstance(target, str) and target == "predicted")
        if is_predicted and isinstance(self.outcomes, ClassOutcomes):
            return None
        if is_predicted and len(self.names) == 1:
            return np.zeros(n_graphs, np.int64)
        if is_predicted:
            raise InvalidInputError(
                f"the model has {len(self.names)} outputs; give the number of one of them, from 0 "
                f"to {len(self.names) - 1}, as target="
            )
        given = np.asarray(target)
        if given.ndim > 1 or (given.ndim == 1 and len(given) != n_graphs):
            raise InvalidInputError(
                f"target has shape {given.shape}, but there are {n_graphs} graphs; give one class "
                "for all of them, or one for each"
            )
        places = {name: place for place, name in enumerate(self.names.tolist())}
        wanted = [given.item()] if given.ndim == 0 else given.tolist()
        unknown = [own for own in wanted if own not in places]
        if unknown:
            known = ", ".join(repr(name) for name in self.names.tolist()[:10])
            more = ", .." * (len(self.names) > 10)
            raise InvalidInputError(
                f"target {unknown[0]!r} is none of those of the model, which are {known}{more}"
            )
        codes = np.array([places[own] for own in wanted], np.int64)
        return np.full(n_graphs, codes[0]) if given.ndim == 0 else codes


def _outputs_of(model: Any) -> _Outputs:
    """Names of the targets of a model, and how the values of its machine belong to them."""
    n_values = len(model.intercept_)
    if not hasattr(model, "classes_"):
        outcomes = ValueOutcomes(model.target_ndim_)
        return _Outputs(np.arange(n_values), np.eye(n_values), outcomes, False)
    n_classes = len(model.classes_)
    if model.multilabel_:
        return _Outputs(model.classes_, np.eye(n_values), LabelOutcomes(n_classes), False)
    is_paired = model.solver_ == SupportVectors.name
    if n_classes == 2:
        signs = np.array([[-1.0], [1.0]])
    elif is_paired:
        signs = np.zeros((n_classes, n_values))
        for pair, (i, j) in enumerate(combinations(range(n_classes), 2)):
            signs[i, pair], signs[j, pair] = 1.0, -1.0
    else:
        signs = np.eye(n_classes)
    return _Outputs(model.classes_, signs, ClassOutcomes(model.classes_), is_paired)


def _explained(
    model: Any,
    batch: GraphBatch,
    terms: Sequence[_Term],
    outputs: _Outputs,
    codes: Ints | None,
    n_training: int,
) -> Explanation:
    """Explain some graphs, all at once."""
    found = [term.compared(batch) for term in terms]
    weights = [term.weight for term in terms]
    machine = Machine(model.support_, model.dual_coef_, model.intercept_)
    rows = _weighted(weights, [own.values for own in found])
    mean_row = _weighted(weights, [term.mean_values for term in terms])
    values = machine.decisions(rows)
    scores = outputs.scores(values)
    if codes is None:
        codes = ClassOutcomes(model.classes_).codes(scores)
    signs = outputs.signs[codes]
    coefficients = np.einsum("go,os->gs", signs, model.dual_coef_)
    graph_shares = coefficients * rows
    decisions = np.einsum("go,go->g", signs, values)
    start = np.einsum("go,o->g", signs, machine.decisions(mean_row[None])[0])
    shares, left = np.zeros(batch.n_nodes), decisions - start
    for number, (term, own) in enumerate(zip(terms, found, strict=True)):
        pulls, rises = coefficients * term.weight, left
        if number < len(terms) - 1:  # the last term has all that is left, whatever was rounded
            rises = np.einsum("gs,gs->g", pulls, own.values - term.mean_values)
            left = left - rises
        shares += own.shares(pulls, rises)
    training = _largest(np.abs(graph_shares), n_training)
    squared = _weighted(weights, [own.squared for own in found])
    return Explanation(
        shares=shares,
        node_ptr=batch.node_ptr,
        targets=outputs.names[codes],
        predictions=outputs.outcomes.predict(scores),
        decisions=decisions,
        baseline=start,
        training=model.support_[training],
        training_shares=np.take_along_axis(graph_shares, training, axis=1),
        training_names=None if (n := model.support_names_) is None else n[training],
        training_smiles=None if (s := model.support_smiles_) is None else s[training],
        node_names=batch.node_names,
        **_contrast(model, squared, codes, decisions > 0),
    )


def _weighted(weights: Sequence[float], terms: Sequence[Floats]) -> Floats:
    """Sum of weighted arrays; one of weight one is the array itself, to the bit."""
    pairs = zip(weights, terms, strict=True)
    return np.asarray(sum(values if weight == 1 else weight * values for weight, values in pairs))


def _largest(values: Floats, count: int) -> Ints:
    count = min(count, values.shape[1])
    places = np.argpartition(-values, max(0, count - 1), axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(values, places, axis=1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(places, order, axis=1), np.int64)


def _node_shares(values: Floats, batch: GraphBatch, rises: Floats) -> Floats:
    """Shares of nodes, from their inner products with the mean gradient of their graph."""
    # the mean over the nodes is taken off and the rise added: rounding cannot make them incomplete
    sizes = batch.node_counts
    graphs = np.repeat(np.arange(len(batch)), sizes)
    means = np.bincount(graphs, values, len(batch)) / sizes
    return np.asarray((values - means[graphs] + rises[graphs]) / sizes[graphs])


def _contrast(model: Any, squared: Floats, codes: Ints, is_positive: Flags) -> dict[str, Any]:
    """Nearest support graph of another class, or that differs in the label, and its distance."""
    known = getattr(model, "support_codes_", None)
    if known is None:
        return {"contrast": None, "contrast_distances": None}
    if known.ndim == 1:
        is_other = known[None, :] != codes[:, None]
    else:
        own = known.T[codes]
        is_other = (own != is_positive[:, None]) & (own >= 0)
    squared[~is_other] = np.inf
    nearest = squared.argmin(axis=1)
    distances = np.sqrt(np.take_along_axis(squared, nearest[:, None], axis=1)[:, 0])
    contrast = np.where(np.isfinite(distances), model.support_[nearest], -1)
    return {"contrast": contrast, "contrast_distances": distances}


def _joined(parts: list[Explanation], batch: GraphBatch) -> Explanation:

    def join(name: str) -> Any:
        found = [getattr(part, name) for part in parts]
        return None if found[0] is None else np.concatenate(found)

    names = [name for name in vars(parts[0]) if name != "node_ptr"]
    return Explanation(node_ptr=batch.node_ptr, **{name: join(name) for name in names})
