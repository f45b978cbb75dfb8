"""Models as the options describe them, their scores, and `retgk cv` by either protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from retgk.cli.options import DEFAULT_COMPONENTS, MIN_FOLDS, Learning, Walks
from retgk.errors import InvalidInputError
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
    "scores",
]

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
    return targets.dtype.kind == "f" and bool((targets % 1 != 0).any())


def new_model(learning: Learning, walks: Walks, n_components: int, regression: bool) -> Any:
    """Estimator with the parameters that were given, and its own defaults for the others."""
    from retgk.estimators.classifier import RetGKClassifier
    from retgk.estimators.regressor import RetGKRegressor

    given = {"C": learning.C, "p": learning.p, "scale": learning.scale}
    parameters: dict[str, Any] = {
        "approximate": _APPROXIMATE[learning.approximate],
        "tol": learning.tol,
        "impute_attributes": learning.impute_attributes,
        "n_components": n_components,
        **{name: tuple(values) for name, values in given.items() if values},
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

    if not regression:
        return {"accuracy": float(np.mean(targets == predictions))}
    error = np.asarray(predictions, float) - targets
    variance = float(np.var(targets))
    return {
        "r2": 1 - float(np.mean(error**2)) / variance if variance else float("nan"),
        "rmse": float(np.sqrt(np.mean(error**2))),
        "mae": float(np.mean(np.abs(error))),
    }


# The nested protocol


class FoldAnswer(NamedTuple):
    """Test graphs of a fold, what was predicted for them, and the parameters chosen."""

    test: NDArray[Any]
    predictions: NDArray[Any]
    chosen: dict[str, Any]


def nested_answers(
    graphs: GraphBatch, targets: NDArray[Any], n_folds: int, seed: int, model_of: Callable[[], Any]
) -> list[FoldAnswer]:
    """Answers of models that fit and choose everything on the training part of each fold."""
    answers = []
    with progress_bar("cross-validation", n_folds) as advance:
        for train, test in _outer_folds(targets, n_folds, seed, model_of()):
            with no_progress():
                model = model_of().fit(graphs[train], targets[train])
                answers.append(
                    FoldAnswer(test, model.predict(graphs[test]), chosen_parameters(model))
                )
            advance(1)
    return answers


def _outer_folds(
    targets: NDArray[Any], n_folds: int, seed: int, model: Any
) -> Iterable[tuple[NDArray[Any], NDArray[Any]]]:
    """Shuffled folds, stratified for classes."""
    from sklearn.base import is_classifier
    from sklearn.model_selection import KFold

    from retgk.paper.protocols import stratified_folds

    _check_enough_graphs(targets, n_folds)
    if not is_classifier(model):
        found: Iterable[tuple[NDArray[Any], NDArray[Any]]] = KFold(
            n_folds, shuffle=True, random_state=seed
        ).split(targets)
        return found
    _check_enough_of_every_class(targets, n_folds)
    return stratified_folds(targets, seed, n_folds)


def _check_enough_graphs(targets: NDArray[Any], n_folds: int) -> None:
    if len(targets) < n_folds:
        raise InvalidInputError(
            f"{len(targets)} graphs do not fill {n_folds} folds; give fewer --folds"
        )


def _check_enough_of_every_class(targets: NDArray[Any], n_folds: int) -> None:
    import numpy as np

    names, counts = np.unique(targets, return_counts=True)
    name, count = names[counts.argmin()], counts.min()
    if count >= n_folds:
        return
    remedies = ["fewer --folds"] if count >= MIN_FOLDS else []
    remedies.append("more graphs of it")
    if targets.dtype.kind in "iuf":
        remedies.append("--task regression if these are values")
    graphs = "graph" if count == 1 else "graphs"
    raise InvalidInputError(
        f"class {name} has {count} {graphs} for {n_folds} folds; give {', or '.join(remedies)}"
    )


# The paper's protocol


def check_paper_options(learning: Learning, n_components: int) -> None:
    """Raise if the paper's protocol cannot do what the options ask for."""
    from retgk.learning.candidates import checked_penalties

    unused = {
        "--balanced": learning.balanced,
        "--approximate yes": learning.approximate == "yes",
        "--n-components": n_components != DEFAULT_COMPONENTS,
    }
    for option, is_given in unused.items():
        if is_given:
            raise InvalidInputError(
                f"the paper's protocol is exact and weights all graphs alike: {option} is for "
                "--protocol nested"
            )
    for option, values in {"--p": learning.p, "--scale": learning.scale}.items():
        if values is not None and len(values) > 1:
            raise InvalidInputError(
                f"the paper's protocol takes one {option}; --protocol nested chooses among several"
            )
    checked_penalties(_penalties(learning))


def _penalties(learning: Learning) -> list[float]:
    """Rising grid of C: the options', or the paper's."""
    from retgk.paper.table_cells import read_settings

    return sorted(learning.C or read_settings("protocols")["paper"]["c"])


def paper_answers(
    graphs: GraphBatch,
    targets: NDArray[Any],
    n_folds: int,
    seeds: Sequence[int],
    learning: Learning,
    walks: Walks,
) -> list[list[FoldAnswer]]:
    """
    Answers by the authors' protocol, of one repetition for each seed.

    Medians are taken over all graphs, test graphs included; C is chosen on a validation part.
    """
    from retgk.estimators.kernel import RetGKKernel
    from retgk.kernels.graph_kernels import ExponentialGraphKernel

    _check_enough_graphs(targets, n_folds)
    kernel = ExponentialGraphKernel(p=(learning.p or [1.0])[0], scale=(learning.scale or [1.0])[0])
    model = RetGKKernel(**walks.parameters(), tol=learning.tol, graph_kernel=kernel).fit(graphs)
    rules = {"folds": n_folds, "c": _penalties(learning)}
    answers = []
    with progress_bar("cross-validation", len(seeds)) as advance:
        for seed in seeds:
            answers.append(_paper_repetition(model, targets, seed, rules, walks.n_jobs))
            advance(1)
    return answers


def _paper_repetition(
    model: Any, targets: NDArray[Any], seed: int, rules: dict[str, Any], n_jobs: int | None
) -> list[FoldAnswer]:
    """Folds and C as in `retgk paper`; machines are trained again for their predictions."""
    import numpy as np
    from sklearn.svm import SVC

    from retgk.paper.protocols import paper_folds, paper_outcome

    products, norms = model.inner_products_, model.squared_norms_
    outcome = paper_outcome(products, targets, model.graph_kernel_, seed, rules, n_jobs)
    matrix = model.graph_kernel_(products, norms, norms)
    folds = paper_folds(len(targets), seed, rules["folds"])
    answers = []
    for fold, result in zip(folds, outcome.folds, strict=True):
        known = np.concatenate([fold.train, fold.validation])
        machine = SVC(C=result.c, kernel="precomputed")
        machine.fit(matrix[np.ix_(known, known)], targets[known])
        predictions = machine.predict(matrix[np.ix_(fold.test, known)])
        answers.append(FoldAnswer(fold.test, predictions, {"C": result.c}))
    return answers
