"""What fitting says of itself: log lines, and beforehand how long it takes and how much memory."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from retgk._runtime.parallel import n_threads
from retgk._runtime.processes import available_bytes
from retgk.array_types import Floats
from retgk.errors import InputWarning, warn_user
from retgk.estimators.kernel import RetGK
from retgk.graphs.batch import GraphBatch
from retgk.learning.selection import (
    fold_mean,
)
from retgk.walks.exact import Costs, published_cost
from retgk.walks.probabilities import Walks

# What fitting says of itself: to the logger "retgk", and to people who ask for it.

_LOGGER = logging.getLogger("retgk")
_LOGGER.addHandler(logging.NullHandler())

_DETAILS = {logging.INFO: 1, logging.DEBUG: 2}


class FitLog:
    """Lines for the logger "retgk", printed as well where `verbose` asks for them."""

    def __init__(self, verbose: Any = 0, model: Any = None) -> None:
        self.verbose = int(verbose)
        self.model = model
        self.task = getattr(model, "_callback_fit_ctx", None)

    def info(self, message: str, *values: Any, level: int = logging.INFO) -> None:
        _LOGGER.log(level, message, *values)
        if self.verbose >= _DETAILS[level]:
            print(f"[retgk] {message % values}", flush=True)  # where scikit-learn prints, too

    def candidate(self, params: dict[str, Any], scores: Floats) -> None:
        self.info("%s: %.4f", params, fold_mean(scores), level=logging.DEBUG)
        if self.task is not None:
            own = self.task.subcontext(task_name="candidate")
            own.call_on_fit_task_begin(estimator=self.model)
            own.call_on_fit_task_end(estimator=self.model)

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
    "walks": 'Walks(method="monte-carlo") estimates return probabilities in a fraction of that',
    "exact": "use kernel=RetGK(n_components=1024)",
    "embedded": "use a smaller n_components",
    "choosing": "give fewer candidates, such as C=10 and candidates={}, or fewer folds",
    "nodes": "give fewer candidates of what describes nodes",
    "landmarks": "use a smaller n_landmarks",
    "graphs": "give fewer graphs",
}


def at_no_depth(kernel: RetGK) -> str:
    """All that tells a candidate apart from others but its depth."""
    return repr(kernel.get_params(deep=False) | {"depth": 0})


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


def estimate(model: Any, batch: GraphBatch, kernels: Sequence[RetGK], size: FitSize) -> Estimate:
    """Seconds and bytes that fitting takes."""
    cores = min(n_threads(model.n_jobs), n_threads(-1))
    walks = max((own.walks or Walks() for own in kernels), key=lambda own: own.n_steps)
    cost = _embedded if size.is_embedded else _exact
    kernel, n_bytes = cost(kernels[0], batch, walks.n_steps, size)
    choosing = len(kernels) * (_ridge if size.is_ridge else _support_vectors)(len(batch), size)
    n_bytes += 8.0 * _matrices(size, cores) * len(batch) * size.n_columns
    n_bytes += 8.0 * size.n_columns**2 * (size.n_folds + 2 * cores if size.is_ridge else 0)
    per_second = 1e9 * cores
    return Estimate(
        _walks(walks, batch) / per_second,
        _n_matrices(kernels, size.is_embedded) * kernel / per_second,
        choosing / per_second,
        n_bytes,
    )


def _n_matrices(kernels: Sequence[RetGK], is_embedded: bool) -> float:
    """Kernel matrices to compute; depths of the exact one share theirs, for twice the work."""
    if is_embedded:
        return len(kernels)
    runs = groupby(kernels, at_no_depth)
    return sum(2.0 if max(own.depth for own in run) else 1.0 for _, run in runs)


def _matrices(size: FitSize, cores: int) -> float:
    """Matrices of the size of the inner products that are held at a time."""
    return 2.2 if size.is_ridge else 3 + 0.8 * min(cores, max(1, size.n_folds))


def _walks(walks: Walks, batch: GraphBatch) -> float:
    if walks.method == "eigh":
        return published_cost(batch)
    if walks.method != "exact":
        return _STEP_OF_A_WALK * batch.n_nodes * float(walks.n_walks) * walks.n_steps
    entries = np.diff(batch.indptr[batch.node_ptr])
    sizes = batch.node_counts
    return Costs.of(sizes, entries, sizes, walks.n_steps).total(sizes, _WALK_FACTOR)


def _exact(_: Any, batch: GraphBatch, n_steps: int, size: FitSize) -> tuple[float, float]:
    """Nanoseconds and bytes of the exact kernel: all pairs of nodes with the same label."""
    n_values = float((np.bincount(batch.labels).astype(np.float64) ** 2).sum())
    n_inputs = n_steps + batch.n_attributes
    share = size.n_columns / len(batch)
    work = _EXACT_COORDINATE * batch.n_nodes * n_inputs + _NODE_VALUE * n_values * share
    return work, 2.0 * 8 * batch.n_nodes * n_inputs


def _embedded(own: RetGK, batch: GraphBatch, n_steps: int, size: FitSize) -> tuple[float, float]:
    """Nanoseconds and bytes of vectors, and of inner products in their blocks of labels."""
    width, n_inputs = int(np.prod(own.n_components or 1)), n_steps + batch.n_attributes
    is_wide = own.feature_map != "phases"  # a block of features for each label
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
    """Nanoseconds of inverses, or of features on landmarks and all solutions in every fold."""
    width = float(size.n_columns)
    if size.n_columns == n_graphs:
        return _FLOP * size.n_kernels * size.n_penalties * width**3
    features = 4 * n_graphs * width**2 + _EIGENVALUES * width**3
    solutions = size.n_folds * size.n_penalties * width**3 / 3
    return _FLOP * size.n_kernels * (features + solutions)


def announce(
    model: Any, batch: GraphBatch, kernels: Sequence[RetGK], size: FitSize, log: FitLog
) -> Estimate:
    """
    Log what fitting takes, and warn where it is long or more than the memory that is free.

    Exact return probabilities that are long by themselves have a warning of their own.
    """
    found = estimate(model, batch, kernels, size)
    kind = "embedded" if size.is_embedded else "exact"
    log.info(
        "%d graphs of %d nodes, %s kernel, %d x %d candidates, %d folds: about %s (return "
        "probabilities %s, kernel %s, choosing %s), %.2g GiB",
        len(batch),
        batch.n_nodes,
        kind,
        len(kernels),
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
        warn_user(InputWarning(f"{problem}; {_time_remedy(found, len(kernels), kind)}"))
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
