"""Models as the options describe them, their scores, and `retgk cv` by either protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from retgk.cli.model_options import DEFAULT_COMPONENTS, Learning, Walks
from retgk.cli.splits import Splitting
from retgk.errors import InvalidInputError
from retgk.learning.fold_answers import FoldAnswer, fold_answer
from retgk.learning.metrics import Outcome, chosen_metrics
from retgk.learning.outer_folds import OuterFold, check_enough_graphs
from retgk.runtime.cluster_tasks import results_in_order
from retgk.runtime.progress import no_progress, progress_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.graphs.batch import GraphBatch

__all__ = [
    "check_paper_options",
    "nested_answers",
    "new_model",
    "paper_answers",
    "paper_rules",
    "scores",
]

_APPROXIMATE = {"auto": "auto", "yes": True, "no": False}


# Models


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


def scores(targets: NDArray[Any], predictions: NDArray[Any], regression: bool) -> dict[str, float]:
    """Accuracy for classes; explained share of the variance, and mean errors, for values."""
    import numpy as np

    values = np.asarray(predictions, float) if regression else predictions
    found = Outcome(targets, values)
    return {metric.name: metric.value(found) for metric in chosen_metrics(None, regression)}


# The nested protocol


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
    from sklearn.base import clone

    graphs, targets, model = shared
    with no_progress():
        return fold_answer(clone(model), graphs, targets, fold, number)


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
    from retgk.learning.paper_protocol import PAPER_PENALTIES

    return sorted(learning.C or PAPER_PENALTIES)


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

    from retgk.learning.paper_protocol import paper_folds, paper_outcome

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
