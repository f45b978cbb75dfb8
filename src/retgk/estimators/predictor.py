"""What the classifier and the regressor share: from graphs to decision values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from itertools import groupby
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.fields import check_codes, check_shape
from retgk._runtime.names import name_advice
from retgk._runtime.parameters import PREDICTORS
from retgk._runtime.processes import check_room
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError, UnseenWarning, warn_user
from retgk.estimators.embedding import RetGKEmbedding, embedding_of_engine
from retgk.estimators.explanation import Explanation, explanation
from retgk.estimators.fit_cost import FitLog, FitSize, announce, at_no_depth
from retgk.estimators.kernel import RetGK, new_engine, new_features
from retgk.graphs.batch import GraphBatch
from retgk.io.convert import GraphsLike, as_batch
from retgk.io.dataset import GraphDataset, graph_numbers, missing_targets, target_array
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.engine import (
    Engine,
    GraphIntake,
    NodeFeatures,
    TakesGraphs,
    fit_intake,
)
from retgk.kernels.graph import (
    ExponentialGraphKernel,
    KernelOfMeans,
    PolynomialGraphKernel,
    check_graph_kernel,
)
from retgk.kernels.kernel import Combination, GraphKernel
from retgk.kernels.others.min_max import MoleculeTask, molecule_kernel
from retgk.kernels.others.weisfeiler_lehman import WeisfeilerLehman
from retgk.learning.folds import Fold
from retgk.learning.outcomes import r2_of_known
from retgk.learning.ridge import (
    KernelRidge,
    RidgeMaker,
    landmarks_of,
    least_squares,
    to_compare_kernels,
)
from retgk.learning.selection import (
    Choice,
    Score,
    Selection,
    candidates_of,
    checked_penalties,
    combinations_of,
    cross_validation_table,
    fold_mean,
)
from retgk.learning.svm import GraphProducts, Machine, Solver, empty_products, fit_products
from retgk.learning.targets import TrainingSet, real_targets, targets_of

_Method = TypeVar("_Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Give the method itself."""
        return method


def tells_callbacks(method: _Method) -> _Method:
    """Let callbacks of scikit-learn end their work, whatever comes of a fit."""
    managed: _Method = with_callbacks(method)
    return managed


MOST_PAIRS = 1e12  # of nodes with the same label: what the exact kernel compares
MOST_GRAM_BYTES = 8 * 20_480**2  # of the kernel matrix that a machine of all graphs needs: 3 GiB
MOST_PAIRS_OF_GRAPHS = 3e7  # up to which support vectors are trained
MOST_MACHINES = 45  # of pairs of classes: ten of these
MOST_TO_SOLVE = 1e10  # multiplications for one kernel and penalty, where many kernels are compared
FEW_LANDMARKS = 1_000  # which are enough to compare kernels

GRAPHS_AT_A_TIME = 4096

_SMALLER = "use kernel=RetGK(n_components=1024)"
_COMPONENTS = 1024
_COMPONENTS_OF_A_LABEL = 64


class GraphPredictor(CallbackSupportMixin, TakesGraphs):  # type: ignore[misc]
    """Base of `GraphClassifier` and `GraphRegressor`; their docstrings describe the parameters."""

    _parameter_constraints = PREDICTORS
    fitted_fields: ClassVar[tuple[str, ...]] = (
        *("kernel_", "solver_", "method_", "support_", "support_names_", "support_smiles_"),
        *("dual_coef_", "intercept_", "best_params_", "target_names_"),
        *("best_score_", "best_index_", "cv_results_", "n_splits_"),
    )

    kernel: GraphKernel | Literal["auto"]
    C: Any
    candidates: Any
    scoring: Any
    n_jobs: int | None
    verbose: Any
    kernel_: GraphKernel
    solver_: str
    method_: str
    support_: Ints
    support_names_: NDArray[Any] | None
    support_smiles_: NDArray[Any] | None
    dual_coef_: Floats
    intercept_: Floats
    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    cv_results_: dict[str, Any]
    n_splits_: int
    target_names_: tuple[str, ...] | None
    """Names of several targets, where a table had some."""

    def _check_machine(self, n_outputs: int | None) -> None:
        """Raise unless what a file said of a fitted model fits together."""
        n_support = self.kernel_.n_graphs_
        check_shape("support_", self.support_, n_support)
        check_codes("support_", self.support_, np.iinfo(np.int64).max)
        for name in ("support_names_", "support_smiles_"):
            if (texts := getattr(self, name)) is not None:
                check_shape(name, texts, n_support)
        check_shape("dual_coef_", self.dual_coef_, n_outputs, n_support)
        check_shape("intercept_", self.intercept_, len(self.dual_coef_))

    @property
    def approximate_(self) -> bool:
        """Whether the kernel is RetGK by random features."""
        check_is_fitted(self, "kernel_")
        return isinstance(getattr(self.kernel_, "engine_", None), EmbeddedEngine)

    @property
    def intake_(self) -> GraphIntake:  # type: ignore[override]
        """What the model remembers of how its graphs came in."""
        check_is_fitted(self, "kernel_")
        return self.kernel_.intake_

    @property
    def embedding_(self) -> RetGKEmbedding:
        """Transformer to the vectors of the kernel; only if it is RetGK by random features."""
        if not self.approximate_:
            raise AttributeError(f"{self.kernel_!r} has no random features, and no embedding_")
        own: Any = self.kernel_
        return embedding_of_engine(own.engine_, own.walks_, own.intake_)

    def explain(self, X: GraphsLike, target: Any = None, *, n_training: int = 5) -> Explanation:
        r"""
        Say what every node of a graph contributes to its decision value.

        The decision value is a function of the mean embedding,
        :math:`f(m) = \sum_s a_s K(m, m_s) + b` over the support graphs s, and the mean embedding is
        a mean over nodes, :math:`m_G = \frac{1}{n} \sum_v \phi(v)`. Integrated gradients
        (Sundararajan, Taly and Yan, 2017) along the straight line from the mean :math:`m_0` of the
        support graphs to :math:`m_G` give node v the share

        .. math:: \frac{1}{n} \left\langle \phi(v) - m_0,
            \int_0^1 \nabla f(m_0 + t (m_G - m_0)) \, dt \right\rangle .

        The integral is a sum of mean embeddings whose coefficients are found in closed form, or by
        quadrature where p is not 2 (`retgk.kernels.gradients`). Therefore

        - shares are complete: with the baseline :math:`f(m_0)` they add up to the decision value;
        - nodes that are alike (return probabilities, labels, attributes) have the same share, and
          the order of nodes does not matter;
        - support graph s has the share :math:`a_s K(m_G, m_s)`; these, of which the largest are
          given, and the intercept b add up to the decision value too.

        Kernels of refined labels (`WeisfeilerLehman`, `WeisfeilerLehmanOA`, and `MinMax` of them,
        of which `molecule_kernel` is made) are functions of counts of colours: there integrated
        gradients along the line from the mean counts give each colour a share, which goes in equal
        parts to the nodes that have it; shares of colours that the graph does not have go to all of
        its nodes alike. Where the smaller of two counts is taken, a count of n is n ones followed
        by zeros, and the mean is that of these. Of sums and multiples of kernels the shares add up.

        All of it is in decision units, for classifiers with probabilities too: those are a
        monotone function of decision values, and have no shares that add up.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs.
        target : class, "predicted" or array-like of classes, optional
            The class whose decision value is explained, for all graphs or for each its own; by
            default that which is predicted. For several labels or outputs it is the number of one,
            and has to be given. With two classes the decision value of the first is that of the
            second with the other sign. With more, support vectors decide by votes of pairs of
            classes, which have no gradient; what is explained is then the sum of the decision
            values of the target against all others, by which votes are weighed in a tie.
        n_training : int, default=5
            How many training graphs are named for every graph.

        Returns
        -------
        Explanation
            Shares of nodes, decision values, the training graphs that pushed most, and the
            nearest graph of another class.

        Examples
        --------
        >>> from retgk import GraphRegressor
        >>> from retgk.datasets import make_graph_classification
        >>> data = make_graph_classification(n_graphs=40, rng=0)
        >>> sizes = data.graphs.node_counts
        >>> model = GraphRegressor(random_state=0).fit(data.graphs[:30], sizes[:30])
        >>> model.explain(data.graphs[30:])
        Explanation(10 graphs, 288 nodes)
        """
        return explanation(self, _new_graphs(self, X), target, n_training)

    def score(
        self, X: GraphsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """
        Accuracy of a classifier, with all labels right where there are several; R^2 of a regressor.

        Parameters
        ----------
        X : GraphBatch, GraphDataset or anything that `as_batch` takes
            Graphs.
        y : array-like, shape (n_graphs,) or (n_graphs, n_outputs), optional
            Their classes, labels or values, of which several may be NaN and count for nothing;
            may be left out for a data set.
        sample_weight : array-like, shape (n_graphs,), optional
            Weights of the graphs.

        Returns
        -------
        float
            At most one, which is perfect.
        """
        given = targets_of(X, y)
        targets = target_array(given)
        missing = missing_targets(targets)
        if targets.ndim != 2 or not missing.any():
            return float(super().score(X, given, sample_weight))
        predictions = self.predict(X)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        if not is_classifier(self):
            return r2_of_known(real_targets(targets), predictions, weights)
        is_right = (missing | (predictions == targets)).all(axis=1)
        return float(np.average(is_right, weights=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        if isinstance(self.kernel, GraphKernel):
            tags.input_tags.pairwise = self.kernel.__sklearn_tags__().input_tags.pairwise
        tags.target_tags.required = True
        return tags


@contextmanager
def fit_task(model: GraphPredictor, X: Any, y: Any) -> Iterator[None]:
    """
    Tell callbacks of a fit, and leave the model as it was if fitting fails or is stopped.

    New parts do not go with old ones.
    """
    task = None
    if hasattr(model, "_init_callback_context"):
        task = model._init_callback_context(max_subtasks=None)
        task.call_on_fit_task_begin(estimator=model, X=X, y=y)
    before = dict(model.__dict__)
    try:
        yield
        if task is not None:
            task.call_on_fit_task_end(
                estimator=model, X=X, y=y, reconstruction_attributes=_own_fields(model)
            )
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


def _own_fields(model: GraphPredictor) -> dict[str, Any]:
    return {name: getattr(model, name) for name in model.fitted_fields if hasattr(model, name)}


Candidates = Mapping[str, Any] | Literal["auto"] | None
"""Values of parameters of a kernel to choose from, by name."""


def taken_by(kernel: Any) -> Callable[[Any], Any]:
    """How graphs are taken in: as a batch, unless the kernel takes something else."""
    return kernel.taken if isinstance(kernel, GraphKernel) else as_batch


def kernel_to_fit(model: GraphPredictor, batch: Any) -> GraphKernel:
    """
    The kernel that a user gives; for "auto" RetGK, or that for labels of several columns.

    Candidates that are parameters of RetGK ask for it.
    """
    if isinstance(model.kernel, GraphKernel):
        return model.kernel
    if model.kernel != "auto" or not isinstance(model.kernel, str):
        raise InvalidInputError(
            f"kernel must be 'auto' or a kernel such as RetGK() or WeisfeilerLehman(), got "
            f"{model.kernel!r:.80}"
        )
    columns, asked = batch.label_columns, model.candidates
    asks_for_retgk = (
        isinstance(asked, Mapping) and asked and asked.keys() <= RetGK().get_params().keys()
    )
    if len(columns) > 1 and not asks_for_retgk:
        task: MoleculeTask = "classification" if is_classifier(model) else "regression"
        return molecule_kernel(task, labels=columns[0])
    return retgk_to_fit(batch)


def retgk_to_fit(batch: GraphBatch) -> RetGK:
    """The exact kernel while its pairs of nodes can be compared, else one by random features."""
    n_graphs = len(batch)
    fits = 8.0 * n_graphs**2 <= MOST_GRAM_BYTES
    share = 1.0 if fits else FEW_LANDMARKS / n_graphs
    if _exact_pairs(batch) * share <= MOST_PAIRS:
        return RetGK()
    if len(batch.label_names) > _COMPONENTS:  # which few features would not tell apart
        return RetGK(n_components=_COMPONENTS_OF_A_LABEL, feature_map="joint")
    return RetGK(n_components=_COMPONENTS)


def _exact_pairs(batch: GraphBatch) -> float:
    """Pairs of nodes that the exact kernel compares: with the same label, for all candidates."""
    n_runs = len(RetGK().usual_candidates["scale_attributes"]) if batch.n_attributes else 1
    return float((np.bincount(batch.labels).astype(np.float64) ** 2).sum()) * n_runs


class Demand(NamedTuple):
    """What is asked of a machine."""

    n_machines: int
    """Support vector machines that it would be: of pairs of classes, or of labels."""
    outputs: str
    """What is predicted, in words."""
    leaves_one_out: bool
    """Whether out-of-fold values may be those of graphs left out one by one."""
    why_ridge: str | None = None
    """Why least squares are used in any case; empty if no reason need be given."""
    wants_svm: bool = False


class Way(NamedTuple):
    """Kernel and machine, and why these: decided by counted work alone, never by a clock."""

    kernel: GraphKernel
    columns: Ints
    """Graphs that the machine is expressed in: all, or landmarks."""
    words: str
    is_ridge: bool = False
    is_whole: bool = True
    leaves_one_out: bool = False
    few_columns: Ints | None = None
    """Landmarks in which kernels are compared, where that is less work."""


def way_to_fit(model: GraphPredictor, batch: Any, demand: Demand, seed: int) -> Way:
    """
    Choose the machine of a model for graphs.

    Support vectors for what is as small as the sets of the paper; least squares for many graphs,
    classes or labels, on all graphs while their kernel matrix takes 3 GiB, beyond on landmarks.
    With least squares, counts of labels are added to the exact kernel while memory allows it.
    """
    kernel, n_graphs = kernel_to_fit(model, batch), len(batch)
    everything, n_bytes = np.arange(n_graphs), 8.0 * n_graphs**2
    name = type(kernel).__name__
    if model.kernel == "auto" and not isinstance(kernel, RetGK):
        name = "kernel for molecules"
    if isinstance(kernel, RetGK):
        name = "random features" if is_embedded(kernel) else "exact kernel"
    about = f"{n_graphs:,} graphs, {demand.outputs}"
    why = demand.why_ridge
    if why is None and model.kernel == "auto" and not isinstance(kernel, RetGK):
        why = "labels of several columns"
    if why is None and demand.n_machines > MOST_MACHINES:
        why = f"support vectors would be {demand.n_machines:,} machines"
    if why is None and n_graphs**2 > MOST_PAIRS_OF_GRAPHS:
        why = f"support vectors would be of {n_graphs**2:.1e} pairs of graphs"
    if why is None or demand.wants_svm:
        return Way(kernel, everything, f"{name}, support vectors: {about}")
    n_landmarks = model.n_landmarks or (n_graphs if n_bytes <= MOST_GRAM_BYTES else None)
    columns = landmarks_of(n_graphs, seed, n_landmarks)
    is_whole, n_columns = len(columns) == n_graphs, len(columns)
    if (
        (model.kernel, model.candidates) == ("auto", "auto")
        and is_classifier(model)
        and name == "exact kernel"
        and len(batch.label_names) > 1
        and is_whole
        and 4 * n_bytes <= MOST_GRAM_BYTES
    ):  # where labels alone tell many classes apart, structure must not be in their way
        kernel, name = kernel + WeisfeilerLehman(n_iter=0), "exact kernel and counts of labels"
    few = None
    if n_columns > FEW_LANDMARKS and float(n_graphs) * n_columns**2 > MOST_TO_SOLVE:
        few = landmarks_of(n_graphs, seed, FEW_LANDMARKS)
    if is_whole:
        machine = "ridge with leave-one-out" if demand.leaves_one_out else "ridge"
    else:
        machine, why = f"ridge on {n_columns:,} landmarks", _why_landmarks(model, n_bytes)
    words = f"{name}, {machine}: {about}" + f"; {why}" * bool(why)
    return Way(kernel, columns, words, True, is_whole, demand.leaves_one_out and is_whole, few)


def _why_landmarks(model: GraphPredictor, n_bytes: float) -> str:
    if model.n_landmarks is not None:
        return "as many as asked for"
    return f"all pairs of graphs would take {n_bytes / 2**30:,.0f} GiB"


def is_embedded(kernel: GraphKernel) -> bool:
    """Whether a kernel is RetGK by random features."""
    return isinstance(kernel, RetGK) and kernel.n_components is not None


@dataclass(frozen=True)
class Fitting:
    """One call of `fit`: candidates are compared, and the machine of the best is trained."""

    model: GraphPredictor
    data: TrainingSet
    solver: Solver
    columns: Ints
    """Graphs that the machine is expressed in: all, or landmarks."""
    folds: Sequence[Fold]
    score: Score
    seed: int
    words: str = ""
    first: Fitting | None = None
    """By what kernels are compared, where that is not the machine that is trained."""

    @classmethod
    def by(
        cls, way: Way, model: Any, data: TrainingSet, machines: Machines, score: Score, seed: int
    ) -> Fitting:
        svm, ridge, folds = machines
        if svm is not None and not way.is_ridge:
            return cls(model, data, svm(), way.columns, folds, score, seed, way.words)
        own, first = ridge(least_squares(way.is_whole, way.leaves_one_out)), None
        if way.few_columns is not None:
            few = ridge(to_compare_kernels)
            first = cls(model, data, few, way.few_columns, folds, score, seed)
        return cls(model, data, own, way.columns, folds, score, seed, way.words, first)

    def fit(self, kernel: GraphKernel) -> list[Floats]:
        """Choose and train; out-of-fold decision values are for a calibration."""
        model, log = self.model, FitLog(self.model.verbose, self.model)
        log.info("%s", self.words)
        kernel = kernel.with_common(model.n_jobs, self.seed)
        kernel.check()
        candidates, rows, scores = self._candidates(kernel, log), [], []
        if self.first is not None and len(combinations_of(candidates)) > 1 and self.folds:
            before, choice = self.first._selected(kernel, candidates, log)
            candidates = {name: (choice.params[name],) for name in candidates}
            rows, scores = before.rows, before.scores
            log.info("chosen on %d landmarks: %s", len(self.first.columns), candidates)
        selection, choice = self._selected(kernel, candidates, log)
        usual = checked_penalties(signature(type(model)).parameters["C"].default)
        if self.solver.name == KernelRidge.name and selection.penalties == usual:
            choice = selection.extended(choice)
        log.info("chosen: %s, score %.4f", choice.params, fold_mean(choice.scores))
        with log.seconds("training on %d graphs", len(self.data.batch)):
            penalty = choice.params["C"]
            machine = self.solver.train(choice.products, choice.graph_kernel, penalty)

        found = [*rows, *selection.rows], np.array([*scores, *selection.scores])
        model.cv_results_ = cross_validation_table(*found)
        model.best_params_, model.best_index_ = choice.params, len(rows) + choice.place
        model.best_score_, model.n_splits_ = fold_mean(choice.scores), len(self.folds)
        model.solver_, model.method_ = self.solver.name, self.words
        model.target_names_ = None
        model.kernel_ = choice.kernel(choice.graph_kernel, machine.support)
        support = self.columns[machine.support]
        model.support_ = self.data.positions[support]
        model.support_names_ = _texts_at(self.data.names, support)
        model.support_smiles_ = _texts_at(getattr(self.data.batch, "smiles", None), support)
        model.dual_coef_, model.intercept_ = machine.dual_coef, machine.intercept
        return choice.decisions

    def _candidates(self, kernel: GraphKernel, log: FitLog) -> Mapping[str, Any]:
        given = self.model.candidates
        if given is None or isinstance(given, Mapping):
            return _checked_candidates(kernel, given or {})
        if not isinstance(kernel, Combination):
            return usual_candidates(kernel)
        # each part is chosen as if it were alone: no more work than all of them
        chosen: dict[str, Any] = {}
        for prefix, part in kernel.leaves():
            candidates = usual_candidates(part)
            if candidates:
                params = (self.first or self)._selected(part, candidates, FitLog(0))[1].params
                chosen |= {prefix + name: (own,) for name, own in params.items() if name != "C"}
        log.info("chosen for the parts: %s", {name: own for name, (own,) in chosen.items()})
        return chosen

    def _selected(
        self, kernel: GraphKernel, candidates: Mapping[str, Any], log: FitLog
    ) -> tuple[Selection, Choice]:
        """Compare all candidates of a kernel and of C."""
        model, folds = self.model, self.folds
        penalties = checked_penalties(model.C)
        selection = Selection(
            self.solver, penalties, folds, self.score, model.n_jobs, log.candidate
        )
        if isinstance(kernel, RetGK):
            self._consider_retgk(kernel, candidates, selection, log)
            return selection, selection.clearly_best(_smallest_gain(model, folds))
        combinations = combinations_of(candidates)
        kernels = [(own, clone(kernel).set_params(**own)) for own in combinations]
        for _, own in kernels:
            own.check()
        self._check_memory(3, _SMALLER)
        for number, (params, own) in enumerate(kernels if folds else kernels[:1]):
            with log.seconds("kernel %d of %d", number + 1, len(kernels)):
                values = self._values(own)
            norms = np.zeros(len(values))  # of no use to the values themselves
            products = GraphProducts(values, norms, self.columns, self.data.weights)
            selection.consider(params, partial(_kept, own), products, [({}, _AS_IT_IS)])
        return selection, selection.best()

    def _values(self, kernel: GraphKernel) -> Floats:
        """Fit a kernel on the graphs of the columns, and give its values of all with these."""
        batch, columns = self.data.batch, self.columns
        if len(columns) == len(batch):
            return np.asarray(kernel.fit_transform(batch))
        kernel.fit_on(batch, columns)
        values: Floats = empty_products(len(batch), len(columns))
        for start in range(0, len(batch), GRAPHS_AT_A_TIME):
            rows = slice(start, start + GRAPHS_AT_A_TIME)
            values[rows] = kernel.rows(batch[rows])
        return values

    def _consider_retgk(
        self, kernel: RetGK, candidates: Mapping[str, Any], selection: Selection, log: FitLog
    ) -> None:
        """
        Compare candidates of RetGK, which have much in common.

        Depths share their levels, all of them their return probabilities, and the kernels on top
        of the inner products share these.
        """
        intake, batch = fit_intake(kernel, self.data.batch)
        n_columns, folds, solver = len(self.columns), self.folds, self.solver
        is_exact, is_whole = not is_embedded(kernel), n_columns == len(batch)
        of_graphs = {n: own for n, own in candidates.items() if n.startswith("graph_kernel")}
        of_nodes = {name: own for name, own in candidates.items() if name not in of_graphs}
        on_top = [
            (own, clone(kernel).set_params(**own).graph_kernel or ExponentialGraphKernel())
            for own in combinations_of(of_graphs)
        ]
        for _, graph_kernel in on_top:
            check_graph_kernel(graph_kernel, 2)
        found = _node_candidates(kernel, of_nodes, batch)
        # products, kernel values and a copy; levels of all depths; the vectors of embeddings
        n_copies = 3 + max(one.kernel.depth for one in found) if is_exact else 4
        self._check_memory(n_copies, _SMALLER if is_exact else "give fewer graphs")
        sizes = (n_columns, len(on_top), len(selection.penalties), len(folds))
        n_machines = getattr(solver, "n_machines", 1)
        size = FitSize(not is_exact, *sizes, n_machines, solver.name == KernelRidge.name)
        announce(self.model, batch, [one.kernel for one in found], size, log)
        runs = _runs(
            found if folds else found[:1], is_exact and is_whole and kernel.level_weights is None
        )
        for number, run in enumerate(runs):
            with log.seconds("inner products %d of %d", number + 1, len(runs)):
                if is_exact and is_whole:
                    _ = run[0].features.probabilities  # found once for all candidates
                fitted = _fit_run(run, self.columns)
            with log.seconds("choosing C and the kernel on top of them"):
                for one, engine, products in fitted:
                    weighted = replace(products, weights=self.data.weights)
                    taken = partial(_taken, one, engine, intake)
                    selection.consider(one.params, taken, weighted, on_top)

    def _check_memory(self, n_copies: float, remedy: str) -> None:
        n_graphs, n_columns = len(self.data.batch), len(self.columns)
        n_copies = 2.2 if n_columns < n_graphs else n_copies  # landmarks keep moments
        check_room(int(8 * n_copies * n_graphs * n_columns), "the kernel matrix", remedy)


class Machines(NamedTuple):
    """Makers of what a model may be trained by, for its targets, and its folds."""

    svm: Callable[[], Solver] | None
    ridge: Callable[[RidgeMaker], Solver]
    folds: Sequence[Fold]


def _kept(kernel: GraphKernel, _: KernelOfMeans, support: Ints) -> GraphKernel:
    return kernel.keep(support)


_AS_IT_IS = PolynomialGraphKernel()  # the values themselves


def _texts_at(texts: Sequence[str] | None, graphs: Ints) -> NDArray[Any] | None:
    if texts is None:
        return None
    return np.array([str(texts[graph]) for graph in graphs.tolist()], dtype=object)


def _checked_candidates(kernel: GraphKernel, given: Mapping[str, Any]) -> Mapping[str, Any]:
    known = kernel.get_params()
    for name in given:
        if name not in known:
            advice = name_advice(str(name), [own for own in known if own != "random_state"])
            raise InvalidInputError(
                f"candidates has {name!r}, which is no parameter of {kernel!r:.80}; {advice}"
            )
    return given


def usual_candidates(kernel: GraphKernel) -> dict[str, Any]:
    """What a kernel says is worth trying, of the parameters that are left at their defaults."""
    defaults = {name: own.default for name, own in signature(type(kernel)).parameters.items()}
    usual = {}
    for name, values in kernel.usual_candidates.items():
        owner = name.partition("__")[0]
        if getattr(kernel, owner) == defaults[owner]:
            usual[name] = values
    return usual


def _smallest_gain(model: GraphPredictor, folds: Sequence[Fold]) -> float:
    """Gain in accuracy between one graph and two: one graph does not replace the first kernel."""
    if not (is_classifier(model) and model.scoring in (None, "accuracy") and folds):
        return 0.0
    return 1.5 / len(np.unique(np.concatenate([test for _, test in folds])))


class _Candidate(NamedTuple):
    """An engine to choose, not fitted yet, and the features that it will be fitted on."""

    params: dict[str, Any]
    kernel: RetGK
    engine: Any
    features: NodeFeatures


def _taken(
    one: _Candidate, engine: Any, intake: GraphIntake, graph_kernel: KernelOfMeans, support: Ints
) -> RetGK:
    """Fitted kernel of a candidate, with the support graphs alone."""
    kernel = one.kernel.set_params(graph_kernel=graph_kernel)
    return kernel.take_engine(engine.keep(support), one.features.walks, graph_kernel, intake)


def _node_candidates(kernel: RetGK, grid: Mapping[str, Any], batch: GraphBatch) -> list[_Candidate]:
    """Engines to choose from, all checked, that share one computation of return probabilities."""
    grid = dict(grid)
    may_drop = len(candidates_of(grid.get("scale_attributes", "raw"), "scale_attributes")) > 1
    if may_drop and batch.n_attributes == 0:
        grid["scale_attributes"] = ("raw",)
    kernels: list[tuple[dict[str, Any], RetGK]] = []
    for params in combinations_of(grid):
        own = clone(kernel).set_params(**params)
        if may_drop and own.scale_attributes == "drop":
            own.set_params(attributes=None)  # what their kernel is makes no difference
        if repr(own) not in [repr(other) for _, other in kernels]:
            kernels.append((params, own))
    engines = [new_engine(own) for _, own in kernels]
    for engine in engines:
        engine.check(batch)
    features = [
        new_features(own, engine, batch) for (_, own), engine in zip(kernels, engines, strict=True)
    ]
    steps = [one.walks.n_steps for one in features]
    if len({replace(one.walks, n_steps=1) for one in features}) == 1:
        longest = features[int(np.argmax(steps))]
        features = longest.shared_by_steps(steps)
    return [
        _Candidate(*own, engine, shared)
        for own, engine, shared in zip(kernels, engines, features, strict=True)
    ]


def _runs(candidates: Sequence[_Candidate], shares_levels: bool) -> list[list[_Candidate]]:
    """Candidates one by one, or those that differ in depth alone together."""
    if not shares_levels:
        return [[own] for own in candidates]
    return [list(run) for _, run in groupby(candidates, lambda one: at_no_depth(one.kernel))]


def _fit_run(
    run: Sequence[_Candidate], columns: Ints
) -> list[tuple[_Candidate, Engine, GraphProducts]]:
    """Fit a candidate, or the deepest of some: its levels are those of the others."""
    if len(run) == 1:
        (one,) = run
        return [(one, one.engine, fit_products(one.engine, one.features, columns))]
    deepest = max(run, key=lambda own: own.kernel.depth)
    by_depth = deepest.engine.fit(deepest.features).products_by_depth()
    fitted: list[tuple[_Candidate, Engine, GraphProducts]] = []
    for one in run:
        products = by_depth[one.kernel.depth]
        norms = products.diagonal().copy()
        own = deepest.engine.at_depth(one.kernel.depth, norms)
        fitted.append((one, own, GraphProducts(products, norms, columns)))
    return fitted


def decision_values(model: GraphPredictor, X: GraphsLike) -> Floats:
    """Values of the machine for new graphs, some thousand graphs at a time."""
    batch = _new_graphs(model, X)
    machine = Machine(model.support_, model.dual_coef_, model.intercept_)
    parts = [np.empty((0, len(model.intercept_)))]
    for start in range(0, len(batch), GRAPHS_AT_A_TIME):
        rows = model.kernel_.rows(batch[start : start + GRAPHS_AT_A_TIME])
        parts.append(machine.decisions(rows))
    return np.concatenate(parts)


def _new_graphs(model: GraphPredictor, X: GraphsLike) -> Any:
    """Graphs as those of training came in, with a warning of elements that these did not have."""
    check_is_fitted(model, "dual_coef_")
    batch = model.kernel_.new(X)
    if unseen := model.intake_.unseen(batch) if model.intake_.chemistry else {}:
        _warn_of_unseen(model, batch, X, unseen)
    return batch


def _warn_of_unseen(
    model: GraphPredictor, batch: GraphBatch, X: GraphsLike, unseen: dict[int, list[str]]
) -> None:
    """Warn of molecules with new elements or charges, with their nearest training graphs."""
    told = list(unseen)[:_MOST_TOLD]
    values, norms = model.kernel_.rows_and_norms(batch[told])
    squared = norms[:, None] + model.kernel_.norms() - 2 * values
    nearest = squared.argmin(axis=1)
    distances = np.sqrt(np.maximum(squared.min(axis=1), 0))
    numbers, names = np.arange(len(batch)), None  # type: Any, Any
    if isinstance(X, GraphDataset):
        numbers, names = graph_numbers(X), X.graph_names
    elif not isinstance(X, GraphBatch):
        given = [X] if isinstance(X, str) else list(X) if isinstance(X, Iterable) else []
        names = given if len(given) == len(batch) and isinstance(given[0], str) else None
    known = model.support_ if model.support_names_ is None else model.support_names_
    texts = [
        f"graph {numbers[graph]}{f' ({names[graph]:.60})' if names else ''} has "
        f"{', '.join(unseen[graph])}, at distance {distance:.3g} from its nearest training graph, "
        f"{known[near]!s:.60}"
        for graph, near, distance in zip(told, nearest, distances, strict=True)
    ]
    more = f"; and {len(unseen) - len(told)} more" if len(unseen) > len(told) else ""
    reading, hydrogens = model.reading_, ""
    if reading is not None and any("H" in each for each in unseen.values()):
        hydrogens = (
            "; the training molecules had no hydrogens as atoms: leave them out "
            "(rdkit.Chem.RemoveHs), or fit with add_hydrogens=True"
        )
    warn_user(
        UnseenWarning(
            "no training graph had some of the elements or charges, so that these predictions are "
            f"guesses: {'; '.join(texts)}{more}{hydrogens}"
        )
    )


_MOST_TOLD = 5  # graphs that a warning names
