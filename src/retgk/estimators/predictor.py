"""What the classifier and the regressor share: from graphs to decision values."""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.fields import check_codes, check_shape
from retgk._runtime.parallel import n_threads
from retgk._runtime.parameters import PREDICTORS, shared_parameters
from retgk._runtime.processes import available_bytes, check_room
from retgk.array_types import Floats, Ints
from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.estimators.embedding import RetGKEmbedding, embedding_of_engine
from retgk.estimators.explanation import Explanation, explanation
from retgk.estimators.kernel import RetGK, kernel_of_engine
from retgk.graphs.batch import GraphBatch, warn_of_unknown_labels
from retgk.io.convert import GraphsLike
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.engine import Engine, NodeFeatures, TakesGraphs, fit_intake
from retgk.kernels.exact import ExactEngine
from retgk.kernels.graph import KernelOfMeans, check_fitted_graph_kernel
from retgk.learning.folds import Fold
from retgk.learning.metrics import Scoring
from retgk.learning.ridge import LandmarkRidge
from retgk.learning.selection import (
    NodeCandidate,
    Score,
    Selection,
    checked_penalties,
    cross_validation_table,
    fold_mean,
    graph_kernel_candidates,
    node_candidates,
)
from retgk.learning.svm import GraphProducts, Machine, Solver, fit_products
from retgk.learning.targets import TrainingSet, targets_of
from retgk.walks.exact import Costs, published_cost
from retgk.walks.probabilities import Method, SelfLoop, Walks

MAX_EXACT_GRAPHS = 5_000
MAX_EXACT_NODES = 1_000_000

GRAPHS_AT_A_TIME = 4096

AnyEngine = TypeVar("AnyEngine", ExactEngine, EmbeddedEngine)


class GraphPredictor(TakesGraphs):
    """Base of `GraphClassifier` and `GraphRegressor`; their docstrings describe the parameters."""

    _parameter_constraints = PREDICTORS
    fitted_fields: ClassVar[tuple[str, ...]] = (
        *("approximate_", "engine_", "walks_", "intake_", "graph_kernel_", "solver_", "support_"),
        *("dual_coef_", "intercept_", "best_params_", "best_score_", "best_index_", "cv_results_"),
        "n_splits_",
    )

    approximate: bool | Literal["auto"]
    C: Any
    scoring: Scoring
    method: Method
    n_walks: int
    self_loop: SelfLoop
    n_jobs: int | None
    verbose: int

    approximate_: bool
    engine_: ExactEngine | EmbeddedEngine
    walks_: Walks
    graph_kernel_: KernelOfMeans
    solver_: str
    support_: Ints
    dual_coef_: Floats
    intercept_: Floats
    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    cv_results_: dict[str, Any]
    n_splits_: int

    def _check_machine(self, n_outputs: int | None) -> None:
        self.engine_.check_restored(self.walks_.n_steps)
        self.engine_.n_jobs = self.n_jobs
        self.intake_.check(self.engine_.n_attributes)
        check_fitted_graph_kernel(self.graph_kernel_)
        n_support = self.engine_.n_graphs
        check_shape("support_", self.support_, n_support)
        check_codes("support_", self.support_, np.iinfo(np.int64).max)
        check_shape("dual_coef_", self.dual_coef_, n_outputs, n_support)
        check_shape("intercept_", self.intercept_, len(self.dual_coef_))
        if self.approximate_ != isinstance(self.engine_, EmbeddedEngine):
            raise InvalidInputError("approximate_ is not what the engine is")

    @property
    def kernel_(self) -> RetGK:
        """Kernel with the support graphs; only if exact."""
        return kernel_of_engine(
            self._engine_of(ExactEngine), self.walks_, self.graph_kernel_, self.intake_
        )

    @property
    def embedding_(self) -> RetGKEmbedding:
        """Transformer of the embedding; only if approximate."""
        return embedding_of_engine(self._engine_of(EmbeddedEngine), self.walks_, self.intake_)

    @property
    def support_vectors_(self) -> Any:
        """Embedded support graphs; only if approximate."""
        return self._engine_of(EmbeddedEngine).vectors

    def _engine_of(self, kind: type[AnyEngine]) -> AnyEngine:
        check_is_fitted(self, "engine_")
        if not isinstance(self.engine_, kind):
            raise AttributeError(f"a model with approximate_={self.approximate_} has no such thing")
        return self.engine_

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
        >>> data = make_graph_classification(n_graphs=40, random_state=0)
        >>> sizes = data.graphs.node_counts
        >>> model = GraphRegressor(random_state=0).fit(data.graphs[:30], sizes[:30])
        >>> model.explain(data.graphs[30:])
        Explanation(10 graphs, 288 nodes)
        """
        return explanation(self, X, target, n_training)

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
            Their classes, labels or values; may be left out for a data set.
        sample_weight : array-like, shape (n_graphs,), optional
            Weights of the graphs.

        Returns
        -------
        float
            At most one, which is perfect.
        """
        return float(super().score(X, targets_of(X, y), sample_weight))  # type: ignore[misc]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


@contextmanager
def unchanged_on_failure(model: GraphPredictor) -> Iterator[None]:
    """Leave a model as it was if fitting fails or is stopped: new parts do not go with old ones."""
    before = dict(model.__dict__)
    try:
        yield
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


def uses_embeddings(model: GraphPredictor, batch: GraphBatch) -> bool:
    if model.approximate != "auto":
        return bool(model.approximate)
    # the work of the exact kernel is the square of the nodes, for each candidate
    found = node_candidates(vars(model), batch.n_attributes, is_embedded=False)
    runs = groupby(found, lambda nodes: nodes._replace(depth=0))  # depths share their levels
    n_nodes = batch.n_nodes * len(list(runs)) ** 0.5
    return len(batch) > MAX_EXACT_GRAPHS or n_nodes > MAX_EXACT_NODES


def fit_machine(
    model: GraphPredictor,
    data: TrainingSet,
    solver: Solver,
    columns: Ints,
    folds: Sequence[Fold],
    score: Score,
    seed: int,
) -> list[Floats]:
    """Choose among candidates, train, and give out-of-fold decision values for a calibration."""
    log = FitLog(model.verbose)
    model.intake_, batch = fit_intake(model, data.batch)
    candidates = _candidates(model, batch, seed)
    kernels, penalties = graph_kernel_candidates(vars(model)), checked_penalties(model.C)
    _check_memory(model, candidates, len(batch), len(columns))
    is_ridge, n_machines = solver.name == LandmarkRidge.name, getattr(solver, "n_machines", 1)
    sizes = (len(columns), len(kernels), len(penalties), len(folds), n_machines)
    size = FitSize(model.approximate_, *sizes, is_ridge)
    announce(model, batch, [one.nodes for one in candidates], size, log)

    selection = Selection(solver, kernels, penalties, folds, score, model.n_jobs, log.candidate)
    shares_levels = not model.approximate_ and len(columns) == len(batch)
    runs = _runs(candidates if folds else candidates[:1], shares_levels)
    for number, run in enumerate(runs):
        with log.seconds("inner products %d of %d", number + 1, len(runs)):
            if not model.approximate_:
                _ = run[0].features.probabilities  # found once for all candidates
            fitted = _fit_run(run, columns)
        with log.seconds("choosing C, p and scale with them"):
            for nodes, engine, products in fitted:
                weighted = replace(products, weights=data.weights)
                selection.consider(nodes._asdict(), engine, weighted)
    choice = selection.clearly_best(_smallest_gain(model, folds))
    log.info("chosen: %s, score %.4f", choice.params, fold_mean(choice.scores))
    with log.seconds("training on %d graphs", len(batch)):
        machine = solver.train(choice.products, choice.graph_kernel, choice.params["C"])

    model.cv_results_ = cross_validation_table(selection.rows, np.array(selection.scores))
    model.best_params_, model.best_index_ = choice.params, choice.place
    model.best_score_, model.n_splits_ = fold_mean(choice.scores), len(folds)
    model.solver_, model.graph_kernel_ = solver.name, choice.graph_kernel
    model.engine_ = choice.kernel.keep(machine.support)
    model.walks_ = replace(candidates[0].features.walks, n_steps=choice.params["n_steps"])
    model.support_ = data.positions[columns[machine.support]]
    model.dual_coef_, model.intercept_ = machine.dual_coef, machine.intercept
    return choice.decisions


def _smallest_gain(model: GraphPredictor, folds: Sequence[Fold]) -> float:
    """Gain in accuracy between one graph and two: one graph does not replace the first kernel."""
    if not (is_classifier(model) and model.scoring in (None, "accuracy") and folds):
        return 0.0
    return 1.5 / len(np.unique(np.concatenate([test for _, test in folds])))


class _Candidate(NamedTuple):
    """An engine to choose, not fitted yet, and the features that it will be fitted on."""

    nodes: NodeCandidate
    engine: Any
    features: NodeFeatures


def _candidates(model: GraphPredictor, batch: GraphBatch, seed: int) -> list[_Candidate]:
    """Engines to choose from, all checked, that share one computation of return probabilities."""
    chosen = node_candidates(vars(model), batch.n_attributes, model.approximate_)
    engines = [_make_engine(model, nodes, seed) for nodes in chosen]
    steps = [nodes.n_steps for nodes in chosen]
    options = (model.method, model.n_walks, model.self_loop, engines[0].walk_seed)
    for n_steps, engine in zip(steps, engines, strict=True):
        Walks(n_steps, *options)  # which checks them
        engine.check(batch)
    features = NodeFeatures(batch, Walks(max(steps), *options), model.n_jobs)
    shared = features.shared_by_steps(steps)
    return [_Candidate(*own) for own in zip(chosen, engines, shared, strict=True)]


def _make_engine(model: GraphPredictor, nodes: NodeCandidate, seed: int) -> Engine:
    kind = EmbeddedEngine if model.approximate_ else ExactEngine
    return kind(**{**shared_parameters(kind, model, nodes), "random_state": seed})


def _check_memory(
    model: GraphPredictor, candidates: Sequence[_Candidate], n_graphs: int, n_columns: int
) -> None:
    # products, kernel values and a copy; embeddings hold their vectors too; landmarks keep moments
    n_copies = 2.2 if n_columns < n_graphs else 4 if model.approximate_ else 3
    if not model.approximate_:
        n_copies += max(one.nodes.depth for one in candidates)
    n_bytes = int(8 * n_copies * n_graphs * n_columns)
    check_room(n_bytes, "the kernel matrix", _REMEDIES["graphs" if model.approximate_ else "exact"])


def _runs(candidates: Sequence[_Candidate], shares_levels: bool) -> list[list[_Candidate]]:
    """Candidates one by one, or those that differ in depth alone together."""
    if not shares_levels:
        return [[own] for own in candidates]
    return [list(run) for _, run in groupby(candidates, lambda own: own.nodes._replace(depth=0))]


def _fit_run(
    run: Sequence[_Candidate], columns: Ints
) -> list[tuple[NodeCandidate, Engine, GraphProducts]]:
    """Fit a candidate, or the deepest of some: its levels are those of the others."""
    if len(run) == 1:
        nodes, engine, features = run[0]
        return [(nodes, engine, fit_products(engine, features, columns))]
    deepest = max(run, key=lambda own: own.nodes.depth)
    by_depth = deepest.engine.fit(deepest.features).products_by_depth()
    fitted: list[tuple[NodeCandidate, Engine, GraphProducts]] = []
    for nodes, *_ in run:
        norms = by_depth[nodes.depth].diagonal().copy()
        own = deepest.engine.at_depth(nodes.depth, norms)
        fitted.append((nodes, own, GraphProducts(by_depth[nodes.depth], norms, columns)))
    return fitted


def decision_values(model: GraphPredictor, X: GraphsLike) -> Floats:
    """Values of the machine for new graphs, some thousand graphs at a time."""
    check_is_fitted(model, "dual_coef_")
    batch = model.intake_.new_batch(X)
    warn_of_unknown_labels(batch.label_names, model.engine_.label_names)
    machine = Machine(model.support_, model.dual_coef_, model.intercept_)
    norms = model.engine_.squared_norms()
    parts = [np.empty((0, len(model.intercept_)))]
    for start in range(0, len(batch), GRAPHS_AT_A_TIME):
        some = batch[start : start + GRAPHS_AT_A_TIME]
        features = NodeFeatures(some, model.walks_, model.n_jobs)
        if not model.approximate_:  # embeddings find them piece by piece
            _ = features.probabilities
        new = model.engine_.compare(features)
        rows = model.graph_kernel_(new.products(), new.squared_norms(), norms)
        parts.append(machine.decisions(rows))
    return np.concatenate(parts)


# What fitting says of itself: to the logger "retgk", and to people who ask for it.

_LOGGER = logging.getLogger("retgk")
_LOGGER.addHandler(logging.NullHandler())

_DETAILS = {logging.INFO: 1, logging.DEBUG: 2}


class FitLog:
    """Lines for the logger "retgk", printed as well where `verbose` asks for them."""

    def __init__(self, verbose: Any = 0) -> None:
        self.verbose = int(verbose)

    def info(self, message: str, *values: Any, level: int = logging.INFO) -> None:
        _LOGGER.log(level, message, *values)
        if self.verbose >= _DETAILS[level]:
            print(f"[retgk] {message % values}", flush=True)  # where scikit-learn prints, too

    def candidate(self, params: dict[str, Any], scores: Floats) -> None:
        self.info("%s: %.4f", params, fold_mean(scores), level=logging.DEBUG)

    @contextmanager
    def seconds(self, message: str, *values: Any) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.info(f"{message}: %.1f s", *values, time.perf_counter() - start)


# What fitting takes, told before it begins: seconds and memory, and what makes them smaller.
#
# The numbers are of the sizes of the graphs alone. Beside measured times (MUTAG, PROTEINS, NCI1,
# DD, REDDIT-BINARY and COLLAB on two cores) they are right within a factor of three, and memory
# within one of two; below a second they mean nothing. Graphs of many equal nodes come out
# quicker, classes that are hard to tell apart slower.

LONG_SECONDS = 600.0

# Nanoseconds of one core, measured.
_WALK_FACTOR = 5.0  # half powers beside those in cache
_STEP_OF_A_WALK = 8.0
_NODE_VALUE = 2.0  # one value of a node kernel
_EXACT_COORDINATE = 350.0  # of a node, for the exact kernel: rotated, merged
_FEATURE = 0.4  # of a node: one input of one random feature
_PRODUCT = 0.25  # one multiplication in an inner product of vectors
_SVM_PAIR = 30.0  # one pair of training graphs in one machine
_FLOP = 0.1  # of matrix products
_EIGENVALUES = 10.0  # operations of an eigendecomposition, in n^3

_SAMPLE = 2000  # graphs whose labels are counted
_PIECE_NODES = 1 << 17  # nodes of which embeddings hold probabilities at a time

_FEW_CANDIDATES = 12  # of what describes nodes: those of scale_attributes and depth by default

_REMEDIES = {
    "walks": 'method="monte-carlo" estimates return probabilities in a fraction of that',
    "exact": "use approximate=True",
    "embedded": "use a smaller n_components",
    "choosing": "give fewer candidates, such as C=10, p=1, scale=1, or fewer folds",
    "nodes": "give fewer candidates of n_steps, scale_attributes and node kernels",
    "landmarks": "use a smaller n_landmarks",
    "graphs": "give fewer graphs",
}


class FitSize(NamedTuple):
    is_embedded: bool
    n_columns: int
    """Graphs whose kernel columns are needed: all, or landmarks."""
    n_kernels: int
    """Candidates of the graph kernel."""
    n_penalties: int
    n_folds: int
    n_outputs: int
    """Machines for each candidate: labels, or pairs of classes in parts of one."""
    is_ridge: bool


class Estimate(NamedTuple):
    """Seconds of the steps, and bytes held at most."""

    walks: float
    kernel: float
    choosing: float
    n_bytes: float

    @property
    def seconds(self) -> float:
        return self.walks + self.kernel + self.choosing


def estimate(
    model: Any, batch: GraphBatch, nodes: Sequence[NodeCandidate], size: FitSize
) -> Estimate:
    cores = min(n_threads(model.n_jobs), n_threads(-1))
    n_steps = max(one.n_steps for one in nodes)
    kernel, n_bytes = (_embedded if size.is_embedded else _exact)(model, batch, n_steps, size)
    choosing = len(nodes) * (_ridge if size.is_ridge else _support_vectors)(len(batch), size)
    n_bytes += 8.0 * _matrices(size, cores) * len(batch) * size.n_columns
    n_bytes += 8.0 * size.n_columns**2 * (size.n_folds + 2 * cores if size.is_ridge else 0)
    walks = _walks(model, batch, n_steps)
    per_second = 1e9 * cores
    matrices = _n_matrices(nodes, size.is_embedded)
    return Estimate(
        walks / per_second, matrices * kernel / per_second, choosing / per_second, n_bytes
    )


def _n_matrices(nodes: Sequence[NodeCandidate], is_embedded: bool) -> float:
    """Kernel matrices to compute; depths of the exact one share theirs, for twice the work."""
    if is_embedded:
        return len(nodes)
    runs = groupby(nodes, lambda own: own._replace(depth=0))
    return sum(2.0 if max(own.depth for own in run) else 1.0 for _, run in runs)


def _matrices(size: FitSize, cores: int) -> float:
    """Matrices of the size of the inner products that are held at a time."""
    return 2.2 if size.is_ridge else 3 + 0.8 * min(cores, max(1, size.n_folds))


def _walks(model: Any, batch: GraphBatch, n_steps: int) -> float:
    if model.method == "eigh":
        return published_cost(batch)
    if model.method != "exact":
        return _STEP_OF_A_WALK * batch.n_nodes * float(model.n_walks) * n_steps
    entries = np.diff(batch.indptr[batch.node_ptr])
    sizes = batch.node_counts
    return Costs.of(sizes, entries, sizes, n_steps).total(sizes, _WALK_FACTOR)


def _exact(_: Any, batch: GraphBatch, n_steps: int, size: FitSize) -> tuple[float, float]:
    """Nanoseconds and bytes of the exact kernel: all pairs of nodes with the same label."""
    n_values = float((np.bincount(batch.labels).astype(np.float64) ** 2).sum())
    n_inputs = n_steps + batch.n_attributes
    share = size.n_columns / len(batch)
    work = _EXACT_COORDINATE * batch.n_nodes * n_inputs + _NODE_VALUE * n_values * share
    return work, 2.0 * 8 * batch.n_nodes * n_inputs


def _embedded(model: Any, batch: GraphBatch, n_steps: int, size: FitSize) -> tuple[float, float]:
    """Nanoseconds and bytes of vectors, and of inner products in their blocks of labels."""
    width, n_inputs = int(np.prod(model.n_components)), n_steps + batch.n_attributes
    is_wide = model.feature_map != "phases"  # a block of features for each label
    blocks = _graphs_with_label(batch) if is_wide else np.array([float(len(batch))])
    products = float((blocks**2).sum()) * width * size.n_columns / len(batch)
    work = _FEATURE * batch.n_nodes * width * n_inputs + _PRODUCT * products
    n_piece = min(batch.n_nodes, _PIECE_NODES)
    n_vectors = max(size.n_columns / len(batch), n_piece / batch.n_nodes)  # as a share of all
    n_bytes = 8.0 * (blocks.sum() * n_vectors * width + n_piece * n_inputs)
    return work, n_bytes


def _graphs_with_label(batch: GraphBatch) -> Any:
    """Graphs that have each label, estimated from some of them."""
    step = max(1, len(batch) // _SAMPLE)
    some = batch[::step]
    graphs = np.repeat(np.arange(len(some)), some.node_counts)
    n_labels = max(1, len(batch.label_names))
    pairs = np.unique(graphs * n_labels + some.labels)
    return np.bincount(pairs % n_labels) * (len(batch) / len(some))


def _support_vectors(n_graphs: int, size: FitSize) -> float:
    """Nanoseconds of all machines of a cross-validation; that of all graphs comes on top."""
    n_train = n_graphs * (1 - 1 / max(size.n_folds, 2))
    n_machines = size.n_kernels * size.n_penalties * size.n_folds
    return _SVM_PAIR * size.n_outputs * (n_machines * n_train**2 + n_graphs**2)


def _ridge(n_graphs: int, size: FitSize) -> float:
    """Nanoseconds of features on landmarks, their moments, and all solutions in every fold."""
    width = float(size.n_columns)
    features = 4 * n_graphs * width**2 + _EIGENVALUES * width**3
    solutions = size.n_folds * size.n_penalties * width**3 / 3
    return _FLOP * size.n_kernels * (features + solutions)


def announce(
    model: Any, batch: GraphBatch, nodes: Sequence[NodeCandidate], size: FitSize, log: FitLog
) -> Estimate:
    """Log what fitting takes, and warn where it is long or more than the memory that is free."""
    found = estimate(model, batch, nodes, size)
    kind = "embedded" if size.is_embedded else "exact"
    log.info(
        "%d graphs of %d nodes, %s kernel, %d x %d candidates, %d folds: about %s (return "
        "probabilities %s, kernel %s, choosing %s), %.2g GiB",
        len(batch),
        batch.n_nodes,
        kind,
        len(nodes),
        size.n_kernels * size.n_penalties,
        size.n_folds,
        *map(_in_words, (found.seconds, *found[:3])),
        found.n_bytes / 2**30,
    )
    available = available_bytes()
    if available is not None and found.n_bytes > available:
        problem = (
            f"fitting takes about {found.n_bytes / 2**30:.1f} GiB of memory, but only "
            f"{available / 2**30:.1f} GiB are free"
        )
        warn_user(InputWarning(f"{problem}; {_memory_remedy(size)}"))
    elif found.seconds > LONG_SECONDS >= found.walks:
        problem = f"fitting takes about {_in_words(found.seconds)} on this machine"
        warn_user(InputWarning(f"{problem}; {_time_remedy(found, len(nodes), kind)}"))
    return found


def _memory_remedy(size: FitSize) -> str:
    if not size.is_embedded:
        return _REMEDIES["exact"]
    return _REMEDIES["landmarks" if size.is_ridge else "graphs"]


def _time_remedy(found: Estimate, n_nodes: int, kind: str) -> str:
    """What makes the longest step shorter."""
    if found.choosing >= max(found.kernel, found.walks):
        return _REMEDIES["choosing"]
    if found.walks > found.kernel:
        return _REMEDIES["walks"]
    return _REMEDIES["nodes" if n_nodes > _FEW_CANDIDATES else kind]


def _in_words(seconds: float) -> str:
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.1f} s"
