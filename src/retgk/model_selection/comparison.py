"""`compare`: several methods on the same folds of the same graphs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk._runtime.cluster import check_client
from retgk._runtime.parallel import n_threads
from retgk._runtime.processes import ProcessLimits, physical_megabytes
from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.io.convert import GraphsLike
from retgk.io.dataset import GraphDataset
from retgk.learning.folds import (
    OuterFold,
    check_apart,
    check_keeps_groups,
    folds_without_groups,
    given_folds,
    repeated_folds,
    with_groups,
)
from retgk.learning.metrics import check_metric_names
from retgk.learning.targets import TaskKind, is_regression, training_set, warn_of_contradictions
from retgk.model_selection.methods import (
    check_can_resume,
    estimator_key,
    new_estimators,
)
from retgk.model_selection.runs import ComparisonPlan, fold_journal, new_plan, run_methods
from retgk.model_selection.table import Comparison, comparison_of

Folds = int | Sequence[tuple[ArrayLike, ArrayLike]]


def compare(
    graphs: GraphsLike,
    y: ArrayLike | None = None,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    task: TaskKind = "auto",
    metrics: Sequence[str] | str | None = None,
    folds: Folds = 10,
    repetitions: int = 1,
    groups: ArrayLike | None = None,
    journal: str | os.PathLike[str] | None = None,
    time_limit: float = ProcessLimits.seconds,
    memory_limit: float | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    client: Any = None,
) -> Comparison:
    r"""
    Compare methods on the same folds of a collection of graphs.

    Every method runs in a process of its own. One that takes too long or too much memory, that is
    killed or that fails, is a row of the table that says so, and does not stop the others. All
    parameters are chosen on inner folds of the training graphs of a fold.

    Parameters
    ----------
    graphs : GraphBatch, GraphDataset or anything that `as_batch` takes
        Graphs.
    y : array-like, shape (n_graphs,), optional
        Classes or values; may be left out for a data set, which has its own.
    methods : sequence of str, or mapping of str to str or estimator
        Names: "retgk" (as `GraphClassifier` and `GraphRegressor` come), "retgk-exact",
        "retgk-embedding"; "wl", "wl-oa", "sp", "graphlet", "csm", "dgk" and, for attributes, "hgk"
        and "gik", each a kernel with a support vector machine or, for values, kernel ridge
        regression; for molecules "morgan", "morgan-minmax" and "morgan-forest", counts of circular
        fragments with boosted trees, a kernel machine or a forest; "size" (numbers of nodes and
        edges alone) and "majority" (the most frequent class, or the mean). A mapping gives names to
        them, or to estimators of your own that take graphs. None is the usual, of molecules those
        of fragments beside "retgk".
    task : {"auto", "classification", "regression"}, default="auto"
        By the targets: numbers with fractions are values.
    metrics : sequence of str, optional
        What is shown, as in `retgk cv`: "accuracy", "roc_auc", .., "r2", "rmse", .. Methods are
        ranked by the first, and choose their parameters by it.
    folds : int or list of (train, test), default=10
        Number of folds, with classes in proportion; or the folds themselves, such as those of
        `scaffold_folds`.
    repetitions : int, default=1
        Times to do it, each with other folds.
    groups : array-like, shape (n_graphs,), optional
        Graphs of one group are never in two folds, inner ones neither. Searches of scikit-learn
        get the groups too, and need a splitter that keeps groups together, such as
        ``cv=GroupKFold(5)``. A splitter that puts one group on both sides of a fold is an error;
        an estimator whose own folds cannot be given groups is a warning.
    journal : path, optional
        File that finished folds are written to. The same call goes on from there after a stop; that
        with more methods adds theirs; one with other graphs, targets or folds is an error.
    time_limit : float, default=600.0
        Seconds that a method may take for one fold.
    memory_limit : float, optional
        Megabytes (of address space) that the process of a method may take; by default those of the
        machine.
    n_jobs : int, optional
        Threads of a method; None for all cores. It changes no score.
    random_state : int, default=0
        Seed of folds and methods.
    client : dask.distributed.Client, optional
        Cluster on whose workers methods run, with the same scores.

    Returns
    -------
    Comparison
        `rows` are dictionaries, one for each method, the best first; `to_csv`, `to_latex`,
        `to_html`, `to_pandas`, `plot` and `save` give other forms. p-values are those of the
        corrected resampled t-test (Nadeau and Bengio, 2003) against the best method:

        .. math:: t = \bar d / \sqrt{(1/J + n_{test} / n_{train})\, s^2}

        for the J differences over all folds, with variance :math:`s^2`.

    Notes
    -----
    On a cluster, methods run at the same time, and seconds say less.

    Examples
    --------
    >>> from retgk import compare
    >>> from retgk.datasets import make_graph_classification
    >>> data = make_graph_classification(n_graphs=30, rng=0)
    >>> table = compare(data, methods=["size", "majority"], folds=3)
    >>> [row["method"] for row in table.rows], table.rows[0]["p_value"]
    (['size', 'majority'], None)
    """
    metrics = [metrics] if isinstance(metrics, str) else metrics
    check_metric_names(metrics)
    random_state = _whole("random_state", random_state, 0)
    data = training_set(graphs, y, None, groups)
    if data.targets.ndim != 1:
        raise InvalidInputError(
            f"y has {data.targets.shape[1]} targets for each graph; compare on one of them"
        )
    regression = is_regression(task, data.targets)
    warn_of_contradictions(data, regression, n_jobs)
    made = _outer_folds(data.targets, folds, repetitions, random_state, regression, data.groups)
    name = graphs.name if isinstance(graphs, GraphDataset) else "graphs"
    plan = new_plan(name, data.batch, data.targets, made, regression, metrics, random_state)
    limits = limits_of(time_limit, memory_limit)
    return comparison_on_folds(plan, methods, limits, journal, n_jobs, client)


def limits_of(seconds: float, megabytes: float | None) -> ProcessLimits:
    """Limits that were given, checked; memory is that of the machine by default."""
    for name, value in (("time_limit", seconds), ("memory_limit", megabytes)):
        if value is not None and not 0 < value < np.inf:
            raise InvalidInputError(f"{name} must be positive and finite, got {value!r}")
    return ProcessLimits(seconds, physical_megabytes() if megabytes is None else megabytes)


def comparison_on_folds(
    plan: ComparisonPlan,
    methods: Sequence[str] | Mapping[str, Any] | None,
    limits: ProcessLimits,
    journal: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    client: Any = None,
) -> Comparison:
    """Compare methods on a plan; what is wrong with any of them is said before the work."""
    check_client(client)
    n_threads(n_jobs)
    estimators = {
        name: plan.with_settings(estimator)
        for name, estimator in new_estimators(methods, plan.regression, plan.graphs).items()
    }
    for name, estimator in estimators.items():
        _check_inner_groups(name, estimator, plan)
        if journal is not None:
            check_can_resume(name, estimator)
    keys = {name: estimator_key(estimator) for name, estimator in estimators.items()}
    with fold_journal(journal, plan) as found:
        run_methods(plan, estimators, found, limits, n_jobs, client)
        finished = {name: found.scores(key) for name, key in keys.items()}
        failures = {name: found.failure(key) for name, key in keys.items()}
    return comparison_of(plan, finished, failures)


def _check_inner_groups(name: str, estimator: Any, plan: ComparisonPlan) -> None:
    """Raise or warn, on the first fold, if a method's own folds will split groups."""
    fold = plan.fold(plan.places[0])
    if fold.groups is None or fold.inner is not None:
        return
    try:
        check_keeps_groups(estimator, plan.targets[fold.train], fold.groups)
    except InvalidInputError as error:
        raise InvalidInputError(f"the method {name!r}: {error}") from error
    without = folds_without_groups(estimator)
    if without:
        warn_user(
            InputWarning(
                f"the method {name!r} cannot be given groups for {', '.join(without)}, so that "
                "folds of its own may split them; its choices may look better there than they are"
            )
        )


def _whole(name: str, value: Any, smallest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < smallest:
        raise InvalidInputError(f"{name} must be a whole number from {smallest} on, got {value!r}")
    return int(value)


def _outer_folds(
    targets: NDArray[Any],
    folds: Folds,
    repetitions: int,
    seed: int,
    regression: bool,
    groups: NDArray[Any] | None,
) -> list[list[OuterFold]]:
    repetitions = _whole("repetitions", repetitions, 1)
    if isinstance(folds, Integral):
        n_folds, seeds = _whole("folds", folds, 2), range(seed, seed + repetitions)
        return repeated_folds(targets, n_folds, seeds, regression=regression, groups=groups)
    if repetitions > 1:
        raise InvalidInputError("folds are given; leave out repetitions, or give their number")
    given = given_folds(folds, np.zeros(len(targets), np.int64))
    if len(given) == 0:
        raise InvalidInputError("folds has none; give a number of folds, or at least one")
    for number, (train, test) in enumerate(given):
        check_apart(train, test, f"fold {number}")
    return [with_groups(given, groups)]
