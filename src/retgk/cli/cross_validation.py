"""Models as the options describe them, their scores, and `retgk cv` by either protocol."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

from retgk.cli.metrics import Outcome, chosen_metrics
from retgk.cli.model_options import DEFAULT_COMPONENTS, Learning, Walks
from retgk.cli.splits import OuterFold, Splitting, check_enough_graphs
from retgk.errors import InputWarning, InvalidInputError
from retgk.runtime.cluster_tasks import results_in_order
from retgk.runtime.progress import no_progress, progress_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.graphs.batch import GraphBatch

__all__ = [
    "FoldAnswer",
    "check_paper_options",
    "chosen_parameters",
    "is_regression",
    "nested_answers",
    "new_model",
    "paper_answers",
    "paper_rules",
    "scores",
]

_FEW_CLASSES, _MANY_CLASSES = 5, 20  # whole numbers up to the first are classes in any case
_APPROXIMATE = {"auto": "auto", "yes": True, "no": False}


# Models


def is_regression(learning: Learning, targets: NDArray[Any]) -> bool:
    """Whether targets are values to predict rather than classes."""
    if learning.task == "regression" and targets.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"targets such as {targets[0]!r} are no values to regress on; leave --task out"
        )
    if learning.task != "auto":
        return learning.task == "regression"
    if targets.dtype.kind == "f" and bool((targets % 1 != 0).any()):
        return True
    if targets.dtype.kind in "iuf":
        _ask_if_classes(targets)
    elif len(set(targets.tolist())) > max(_FEW_CLASSES, len(targets) / 2):
        raise InvalidInputError(
            f"targets are {len(set(targets.tolist()))} different texts for {len(targets)} graphs, "
            f"such as {targets[0]!r}, so that few graphs are of one class; name another column, or "
            "say --task classification if they are classes"
        )
    return False


def _ask_if_classes(targets: NDArray[Any]) -> None:
    """Refuse whole numbers of which few graphs have the same; warn of many different ones."""
    import numpy as np

    n_distinct = len(np.unique(targets))
    question = (
        f"targets are {n_distinct} different whole numbers for {len(targets)} graphs: "
        "--task regression takes them for values, --task classification for classes"
    )
    if n_distinct > max(_FEW_CLASSES, len(targets) / 3):
        raise InvalidInputError(f"{question}; give one of them")
    if n_distinct > _MANY_CLASSES:
        warnings.warn(InputWarning(f"{question}, as is done here"), stacklevel=3)


def new_model(learning: Learning, walks: Walks, n_components: int, regression: bool) -> Any:
    """Estimator with the parameters that were given, and its own defaults for the others."""
    from retgk.estimators.classifier import RetGKClassifier
    from retgk.estimators.regressor import RetGKRegressor

    names = ("C", "p", "scale", "scale_attributes", "depth")
    parameters: dict[str, Any] = {
        "approximate": _APPROXIMATE[learning.approximate],
        "tol": learning.tol,
        "impute_attributes": learning.impute_attributes,
        "n_components": n_components,
        "n_landmarks": learning.n_landmarks,
        **{name: tuple(values) for name in names if (values := getattr(learning, name))},
        **walks.parameters(),
    }
    if regression:
        if learning.balanced:
            raise InvalidInputError("--balanced weights classes, but these targets are values")
        return RetGKRegressor(**parameters)
    return RetGKClassifier(**parameters, class_weight="balanced" if learning.balanced else None)


def chosen_parameters(model: Any) -> dict[str, Any]:
    """Parameters that a fitted model chose, without those left at their default."""
    return {name: value for name, value in model.best_params_.items() if value is not None}


def scores(targets: NDArray[Any], predictions: NDArray[Any], regression: bool) -> dict[str, float]:
    """Accuracy for classes; explained share of the variance, and mean errors, for values."""
    import numpy as np

    values = np.asarray(predictions, float) if regression else predictions
    found = Outcome(targets, values)
    return {metric.name: metric.value(found) for metric in chosen_metrics(None, regression)}


# The nested protocol


class FoldAnswer(NamedTuple):
    """
    Test graphs of a fold, what was predicted for them, and the parameters chosen.

    Decision values have one column for two classes, else one for each of all classes;
    probabilities have one for each. Values have neither, and the paper's machines no probabilities.
    """

    test: NDArray[Any]
    predictions: NDArray[Any]
    chosen: dict[str, Any]
    decisions: NDArray[Any] | None = None
    probabilities: NDArray[Any] | None = None

    def outcome(self, targets: NDArray[Any], classes: NDArray[Any] | None) -> Outcome:
        """What metrics are found from; classes as their places in the order of all of them."""
        import numpy as np

        found = targets[self.test], self.predictions
        if classes is not None:
            found = np.searchsorted(classes, found[0]), np.searchsorted(classes, found[1])
        return Outcome(*found, self.decisions, self.probabilities)


def nested_answers(
    graphs: GraphBatch,
    targets: NDArray[Any],
    folds: Sequence[Sequence[OuterFold]],
    model: Any,
    client: Any = None,
) -> list[list[FoldAnswer]]:
    """
    Answers of models that fit and choose everything on the training part of each fold.

    `folds` are those of every repetition. With a client of a cluster, each is a task.
    """
    tasks = [(fold, number) for each in folds for number, fold in enumerate(each)]
    with (
        progress_bar("cross-validation", len(tasks)) as advance,
        closing(results_in_order(_fold_answer, tasks, (graphs, targets, model), client)) as found,
    ):
        return [[_counted(found, advance) for _ in each] for each in folds]


def _counted(found: Iterator[Any], advance: Callable[[float], None]) -> Any:
    """Give the next answer, and count it."""
    answer = next(found)
    advance(1)
    return answer


def _fold_answer(
    shared: tuple[GraphBatch, NDArray[Any], Any], fold: OuterFold, number: int
) -> FoldAnswer:
    """Fit and predict one fold, on this machine or on a worker."""
    import numpy as np
    from sklearn.base import clone

    graphs, targets, model = shared
    with no_progress():
        fitted = _fitted(clone(model), graphs, targets, fold, number)
        return _answer(fitted, graphs[fold.test], fold.test, np.unique(targets))


def _fitted(
    model: Any, graphs: GraphBatch, targets: NDArray[Any], fold: OuterFold, number: int
) -> Any:
    """Fit on the training part; the model's own folds keep to the groups, or are those given."""
    options = {}
    if fold.inner is not None:
        model.set_params(cv=fold.inner)
    elif fold.groups is not None and "groups" in signature(model.fit).parameters:
        options["groups"] = fold.groups
    try:
        return model.fit(graphs[fold.train], targets[fold.train], **options)
    except InvalidInputError as error:
        raise InvalidInputError(f"fold {number}: {error.problem}", error.remedy) from error


def _answer(
    model: Any, graphs: GraphBatch, test: NDArray[Any], classes: NDArray[Any]
) -> FoldAnswer:
    """Predict; for classes, all from decision values that are computed once."""
    import numpy as np

    from retgk.learning.calibration import class_probabilities

    chosen = chosen_parameters(model)
    if not hasattr(model, "classes_"):
        return FoldAnswer(test, model.predict(graphs), chosen)
    decisions = model.decision_function(graphs)
    columns = decisions[:, None] if decisions.ndim == 1 else decisions
    places = columns.argmax(axis=1) if decisions.ndim > 1 else (decisions > 0).astype(np.int64)
    probabilities = None
    if model.calibration_coef_ is not None:
        probabilities = class_probabilities(
            columns, model.calibration_coef_, model.calibration_intercept_
        )
    if len(model.classes_) < len(classes):  # some are in no training part of these folds
        own = np.searchsorted(classes, model.classes_)
        columns = columns if columns.shape[1] > 1 else np.hstack([-columns, columns])
        decisions = _in_columns(columns, own, len(classes), columns.min() - 1)
        if probabilities is not None:
            probabilities = _in_columns(probabilities, own, len(classes), 0.0)
    return FoldAnswer(test, model.classes_[places], chosen, decisions, probabilities)


def _in_columns(values: NDArray[Any], own: NDArray[Any], n_columns: int, other: float) -> Any:
    """Spread columns over more of them; the others hold one value."""
    import numpy as np

    spread = np.full((len(values), n_columns), other)
    spread[:, own] = values
    return spread


# The paper's protocol


def check_paper_options(learning: Learning, n_components: int, splitting: Splitting) -> None:
    """Raise if the paper's protocol cannot do what the options ask for."""
    from retgk.learning.candidates import checked_penalties

    unused = {
        "--balanced": learning.balanced,
        "--approximate yes": learning.approximate == "yes",
        "--n-components": n_components != DEFAULT_COMPONENTS,
        "--n-landmarks": learning.n_landmarks is not None,
        f"--split {splitting.split}": splitting.split != "random",
        "--groups": splitting.groups is not None,
    }
    for option, is_given in unused.items():
        if is_given:
            raise InvalidInputError(
                f"the paper's protocol is exact and takes all graphs alike: {option} is for "
                "--protocol nested"
            )
    for name in ("p", "scale", "scale_attributes", "depth"):
        if len(getattr(learning, name) or ()) > 1:
            raise InvalidInputError(
                f"the paper's protocol takes one --{name.replace('_', '-')}; --protocol nested "
                "chooses among several"
            )
    checked_penalties(_penalties(learning))


def _penalties(learning: Learning) -> list[float]:
    """Rising grid of C: the options', or the paper's."""
    from retgk.paper.table_cells import read_settings

    return sorted(learning.C or read_settings("protocols")["paper"]["c"])


def paper_rules(learning: Learning, n_folds: int) -> dict[str, Any]:
    """Folds and penalties of the authors' protocol."""
    return {"folds": n_folds, "c": _penalties(learning)}


def paper_answers(
    graphs: GraphBatch,
    targets: NDArray[Any],
    seeds: Sequence[int],
    rules: dict[str, Any],
    learning: Learning,
    walks: Walks,
    client: Any = None,
) -> list[list[FoldAnswer]]:
    """
    Answers by the authors' protocol, of one repetition for each seed.

    Medians are taken over all graphs, test graphs included; C is chosen on a validation part. With
    a client of a cluster, each repetition is a task; the kernel matrix is computed here.
    """
    from retgk.estimators.kernel import RetGKKernel
    from retgk.kernels.graph_kernels import ExponentialGraphKernel

    check_enough_graphs(targets, rules["folds"])
    kernel = ExponentialGraphKernel(p=(learning.p or [1.0])[0], scale=(learning.scale or [1.0])[0])
    model = RetGKKernel(
        **walks.parameters(),
        tol=learning.tol,
        graph_kernel=kernel,
        scale_attributes=(learning.scale_attributes or ["raw"])[0],
        depth=(learning.depth or [0])[0],
    ).fit(graphs)
    tasks = [(seed,) for seed in seeds]
    shared = (model, targets, rules, walks.n_jobs)
    with (
        progress_bar("cross-validation", len(tasks)) as advance,
        closing(results_in_order(_paper_repetition, tasks, shared, client)) as found,
    ):
        return [_counted(found, advance) for _ in tasks]


def _paper_repetition(
    shared: tuple[Any, NDArray[Any], dict[str, Any], int | None], seed: int
) -> list[FoldAnswer]:
    """Folds and C as in `retgk paper`; machines are trained again for their predictions."""
    import numpy as np
    from sklearn.svm import SVC

    from retgk.paper.protocols import paper_folds, paper_outcome

    model, targets, rules, n_jobs = shared
    products, norms = model.inner_products_, model.squared_norms_
    outcome = paper_outcome(products, targets, model.graph_kernel_, seed, rules, n_jobs)
    matrix = model.graph_kernel_(products, norms, norms)
    folds = paper_folds(len(targets), seed, rules["folds"])
    answers = []
    for fold, result in zip(folds, outcome.folds, strict=True):
        known = np.concatenate([fold.train, fold.validation])
        machine = SVC(C=result.c, kernel="precomputed")
        machine.fit(matrix[np.ix_(known, known)], targets[known])
        rows = matrix[np.ix_(fold.test, known)]
        predictions, decisions = machine.predict(rows), machine.decision_function(rows)
        answers.append(FoldAnswer(fold.test, predictions, {"C": result.c}, decisions))
    return answers
