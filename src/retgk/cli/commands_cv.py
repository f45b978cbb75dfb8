"""`retgk cv`: how good models are on graphs that they have not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retgk.cli.cluster_options import ClusterOptions
from retgk.cli.command import command
from retgk.cli.cross_validation import (
    check_paper_options,
    nested_answers,
    new_model,
    paper_answers,
    paper_rules,
)
from retgk.cli.model_options import DEFAULT_COMPONENTS, Components, Learning, Walks
from retgk.cli.options import Common, OptionalOutput, Reading, Source
from retgk.cli.outputs import Table, check_output, write_table
from retgk.cli.sources import key_columns, read_collection, required_targets
from retgk.cli.splits import Splitting, outer_folds
from retgk.cli.terminal import (
    Stopwatch,
    note,
    print_line,
    print_record,
    print_table,
    print_warning,
)
from retgk.errors import InvalidInputError
from retgk.learning.fold_answers import FoldAnswer
from retgk.learning.metrics import Metric, check_metric_names, chosen_metrics, selecting_model
from retgk.learning.task_kinds import is_regression

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.io.graph_dataset import GraphDataset

__all__ = ["cv"]

_COMMON_SHARE = 0.9  # of the largest class, from which on accuracy says little

Protocol = Annotated[
    Literal["nested", "paper"],
    typer.Option(
        "--protocol",
        help="nested: all is chosen inside the training folds. paper: the authors' way, with "
        "medians over all graphs.",
    ),
]
Answers = list[list[FoldAnswer]]
"""Of every repetition, those of its folds."""


@command(
    examples=[
        "retgk cv MUTAG",
        "retgk cv ENZYMES --protocol paper --p 2 --scale 8 --repetitions 10",
        "retgk cv molecules.csv --target-column y --split scaffold --metric roc_auc --metric ap",
        "retgk cv molecules.csv --target-column active -o predictions.csv",
        "retgk cv NCI1 --repetitions 10 --scheduler tcp://192.168.0.7:8786",
    ],
    remedies={"gram_file": "use --protocol nested --approximate yes"},
)
def cv(
    source: Source,
    reading: Reading,
    walks: Walks,
    learning: Learning,
    splitting: Splitting,
    cluster: ClusterOptions,
    common: Common,
    n_components: Components = DEFAULT_COMPONENTS,
    protocol: Protocol = "nested",
    output: OptionalOutput = None,
) -> None:
    """
    Show the metrics of cross-validation, and which classes are taken for which.

    With -o, what was predicted for every graph when it was a test graph is written too, with
    scores and probabilities of classes.
    """
    check_metric_names(learning.metric)
    splitting.check()
    cluster.check()
    if protocol == "paper":
        check_paper_options(learning, n_components, splitting)
    if output is not None:
        check_output(output, has_matrix=False)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common, n_jobs=walks.n_jobs)
        targets = required_targets(collection)
        regression = is_regression(learning.task, targets)
        metrics = chosen_metrics(learning.metric, regression)
    graphs = collection.graphs
    seeds = range(walks.seed, walks.seed + splitting.repetitions)
    with cluster.client(common) as client, watch.timing("cross-validation"):
        if protocol == "paper":
            if regression:
                raise InvalidInputError("the paper's protocol is for classes; use nested")
            rules = paper_rules(learning, splitting.n_folds)
            answers = paper_answers(graphs, targets, seeds, rules, learning, walks, client)
        else:
            model = new_model(learning, walks, n_components, regression)
            folds = outer_folds(
                collection, source, reading, splitting, targets, regression=regression, seeds=seeds
            )
            model = selecting_model(model, learning.metric, targets)
            answers = nested_answers(graphs, targets, list(folds), model, client)
    record = _cv_record(collection, answers, metrics, regression)
    record = {"name": collection.name, "protocol": protocol, **record, "seconds": watch.seconds}
    if output is not None:
        write_table(_prediction_table(collection, answers, regression), output, json=common.json)
    if output == "-":
        return
    if common.json:
        print_record(record)
    else:
        _print_cv(record, metrics)
        _note_common_class(targets, learning, common, regression)


def _cv_record(
    collection: GraphDataset, answers: Answers, metrics: list[Metric], regression: bool
) -> dict[str, Any]:
    """Metrics of the folds, their means, and how often classes are confused."""
    import numpy as np

    targets = required_targets(collection)
    classes = None if regression else np.unique(targets)
    task = "regression" if regression else "classification"
    record: dict[str, Any] = {"graphs": len(collection), "task": task}
    record["metrics"] = [metric.name for metric in metrics]
    for metric in metrics:
        values = [
            [metric.value(fold.outcome(targets, classes)) for fold in repetition]
            for repetition in answers
        ]
        record[metric.name] = _mean_and_deviations(metric.name, values)
    record["chosen"] = [[fold.chosen for fold in repetition] for repetition in answers]
    if classes is not None:
        record["classes"], record["confusion"] = classes, _confusion(targets, classes, answers)
    return record


def _mean_and_deviations(name: str, values: list[list[float]]) -> dict[str, Any]:
    """Summary of the values of all folds; some may be undefined, as ROC-AUC in one class is."""
    import numpy as np

    defined = [[value for value in of_folds if not np.isnan(value)] for of_folds in values]
    n_folds, n_defined = (sum(map(len, each)) for each in (values, defined))
    if n_defined < n_folds:
        print_warning(
            f"retgk: {name} is not defined in {n_folds - n_defined} of {n_folds} folds, where all "
            "test graphs have the same target or prediction; they do not count"
        )
    means = np.array([np.mean(each) for each in defined if each])
    every = [value for each in defined for value in each]
    return {
        "mean": float(means.mean()) if len(means) else float("nan"),
        "std_folds": float(np.std(every)) if every else float("nan"),
        "std_repetitions": float(means.std()) if len(means) > 1 else None,
        "folds": values,
    }


def _confusion(targets: NDArray[Any], classes: NDArray[Any], answers: Answers) -> NDArray[Any]:
    """How often each class (row) was taken for each (column)."""
    import numpy as np

    counts = np.zeros((len(classes), len(classes)), np.int64)
    for fold in (fold for repetition in answers for fold in repetition):
        rows = np.searchsorted(classes, targets[fold.test])
        np.add.at(counts, (rows, np.searchsorted(classes, fold.predictions)), 1)
    return counts


def _prediction_table(collection: GraphDataset, answers: Answers, regression: bool) -> Table:
    """One row for every time that a graph was a test graph."""
    import numpy as np

    tests = [fold for repetition in answers for fold in repetition]
    sizes = [len(fold.test) for fold in tests]
    graphs = np.concatenate([fold.test for fold in tests])
    keys = {name: column[graphs] for name, column in key_columns(collection).items()}
    n_folds = len(answers[0])
    keys["repetition"] = np.repeat(np.arange(len(tests)) // n_folds, sizes)
    keys["fold"] = np.repeat(np.arange(len(tests)) % n_folds, sizes)
    keys["prediction"] = np.concatenate([fold.predictions for fold in tests])
    if not regression:
        keys |= _class_columns(tests, np.unique(required_targets(collection)))
    order = np.lexsort([keys["graph"], keys["repetition"]])
    return Table({name: column[order] for name, column in keys.items()})


def _class_columns(tests: list[FoldAnswer], classes: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Decision values, one column for two classes, and probabilities, where all folds have them."""
    import numpy as np

    columns: dict[str, NDArray[Any]] = {}
    decisions = [fold.decisions for fold in tests if fold.decisions is not None]
    if len(decisions) == len(tests):
        joined = np.concatenate(decisions)
        if joined.ndim == 1:
            columns["score"] = joined
        else:
            columns |= {f"score_{name}": own for name, own in zip(classes, joined.T, strict=True)}
    likely = [fold.probabilities for fold in tests if fold.probabilities is not None]
    if len(likely) == len(tests):
        rows = np.concatenate(likely).T
        columns |= {f"probability_{name}": own for name, own in zip(classes, rows, strict=True)}
    return columns


def _print_cv(record: dict[str, Any], metrics: list[Metric]) -> None:
    n_folds = len(record["chosen"][0])
    print_line(
        f"{record['name']}: {record['graphs']:,} graphs, {n_folds} folds, {record['protocol']}"
    )
    width = max(8, *(len(metric.name) for metric in metrics))
    for metric in metrics:
        found = record[metric.name]
        spread = found["std_repetitions"]
        over = "folds" if spread is None else "repetitions"
        spread = found["std_folds"] if spread is None else spread
        unit = " %" if metric.is_share else ""
        print_line(
            f"{metric.name:{width}}  {metric.text(found['mean'])}{unit} (deviation over {over} "
            f"{metric.text(spread)})"
        )
    if record["task"] == "classification":
        rows = [
            [name, *counts]
            for name, counts in zip(record["classes"], record["confusion"], strict=True)
        ]
        print_table(["true \\ predicted", *map(str, record["classes"])], rows)
    print_line(f"{'seconds':{width}}  {sum(record['seconds'].values()):.1f}")


def _note_common_class(
    targets: NDArray[Any], learning: Learning, common: Common, regression: bool
) -> None:
    """Say that guessing the largest class would have nearly the same accuracy."""
    import numpy as np

    if regression or learning.metric:
        return
    names, counts = np.unique(targets, return_counts=True)
    if counts.max() > _COMMON_SHARE * len(targets):
        note(
            common,
            f"{100 * counts.max() / len(targets):.1f} % of the graphs are of class "
            f"{names[counts.argmax()]}, so accuracy says little; --metric average_precision or "
            "balanced_accuracy says more, and the model chooses by it",
        )
