"""Predictions of graphs that had no part in training, by either protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from retgk.cli.options import DEFAULT_COMPONENTS, MIN_FOLDS, Learning, Walks
from retgk.errors import InvalidInputError
from retgk.runtime.progress import no_progress, progress_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.graphs.batch import GraphBatch

__all__ = ["FoldAnswer", "check_paper_options", "nested_answers", "paper_answers"]

PAPER_C = (1.0, 10.0, 100.0, 1000.0)


class FoldAnswer(NamedTuple):
    """Test graphs of a fold, what was predicted for them, and the parameters chosen."""

    test: NDArray[Any]
    predictions: NDArray[Any]
    chosen: dict[str, Any]


def nested_answers(
    graphs: GraphBatch, targets: NDArray[Any], n_folds: int, seed: int, model_of: Callable[[], Any]
) -> list[FoldAnswer]:
    """Everything is fitted and chosen inside the training part of each fold."""
    from retgk.cli.learning import chosen_parameters

    answers = []
    with progress_bar("cross-validation", n_folds) as advance:
        for train, test in _splits(targets, n_folds, seed, model_of()):
            with no_progress():
                model = model_of().fit(graphs[train], targets[train])
                answers.append(
                    FoldAnswer(test, model.predict(graphs[test]), chosen_parameters(model))
                )
            advance(1)
    return answers


def _splits(targets: NDArray[Any], n_folds: int, seed: int, model: Any) -> Any:
    """Shuffled folds, stratified for classes."""
    import numpy as np
    from sklearn.base import is_classifier
    from sklearn.model_selection import KFold, StratifiedKFold

    _check_enough(targets, n_folds)
    if not is_classifier(model):
        return KFold(n_folds, shuffle=True, random_state=seed).split(targets)
    names, counts = np.unique(targets, return_counts=True)
    if counts.min() < n_folds:
        rarest = counts.argmin()
        raise _too_rare(names[rarest], counts[rarest], n_folds, targets.dtype.kind in "iuf")
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return splitter.split(targets, targets)


def _too_rare(name: Any, count: int, n_folds: int, is_number: bool) -> InvalidInputError:
    """Error for a class of fewer graphs than folds, with what helps."""
    advice = ["fewer --folds"] if count >= MIN_FOLDS else []
    advice.append("more graphs of it")
    if is_number:
        advice.append("--task regression if these are values")
    graphs = "graph" if count == 1 else "graphs"
    return InvalidInputError(
        f"class {name} has {count} {graphs} for {n_folds} folds; give {', or '.join(advice)}"
    )


def _check_enough(targets: NDArray[Any], n_folds: int) -> None:
    if len(targets) < n_folds:
        raise InvalidInputError(
            f"{len(targets)} graphs do not fill {n_folds} folds; give fewer --folds"
        )


def check_paper_options(learning: Learning, n_components: int) -> None:
    """Raise, before any work is done, if the paper's protocol cannot do what the options ask."""
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
    checked_penalties(learning.C or PAPER_C)


def paper_answers(
    graphs: GraphBatch,
    targets: NDArray[Any],
    n_folds: int,
    seeds: list[int],
    learning: Learning,
    walks: Walks,
) -> list[list[FoldAnswer]]:
    """
    Answers by the authors' protocol, of one repetition for each seed.

    Medians are taken over all graphs, test graphs included; C is chosen on a validation part.
    """
    from retgk.estimators.kernel import RetGKKernel
    from retgk.kernels.graph_kernels import ExponentialGraphKernel

    _check_enough(targets, n_folds)
    kernel = ExponentialGraphKernel(p=(learning.p or [1.0])[0], scale=(learning.scale or [1.0])[0])
    model = RetGKKernel(**walks.parameters(), tol=learning.tol, graph_kernel=kernel).fit(graphs)
    grid = sorted(learning.C or PAPER_C)
    with progress_bar("cross-validation", len(seeds)) as advance:
        answers = []
        for seed in seeds:
            answers.append(_paper_repetition(model, targets, n_folds, seed, grid, walks.n_jobs))
            advance(1)
    return answers


def _paper_repetition(
    model: Any,
    targets: NDArray[Any],
    n_folds: int,
    seed: int,
    grid: list[float],
    n_jobs: int | None,
) -> list[FoldAnswer]:
    """Folds and C as `retgk paper` has them; machines are trained again for their predictions."""
    import numpy as np
    from sklearn.svm import SVC

    from retgk.paper.protocols import paper_folds, paper_outcome

    products, norms = model.inner_products_, model.squared_norms_
    settings = {"folds": n_folds, "c": grid}
    outcome = paper_outcome(products, targets, model.graph_kernel_, seed, settings, n_jobs)
    matrix = model.graph_kernel_(products, norms, norms)
    answers = []
    for fold, result in zip(paper_folds(len(targets), seed, n_folds), outcome.folds, strict=True):
        known = np.concatenate([fold.train, fold.validation])
        machine = SVC(C=result.c, kernel="precomputed")
        machine.fit(matrix[np.ix_(known, known)], targets[known])
        predictions = machine.predict(matrix[np.ix_(fold.test, known)])
        answers.append(FoldAnswer(fold.test, predictions, {"C": result.c}))
    return answers
