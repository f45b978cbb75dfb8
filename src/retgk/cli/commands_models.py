"""`retgk fit` and `retgk predict`: models in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retgk.cli.command import command
from retgk.cli.cross_validation import new_model, scores
from retgk.cli.model_options import DEFAULT_COMPONENTS, Components, Learning, Walks
from retgk.cli.model_reading import (
    MODEL_REMEDIES,
    MaxSteps,
    load_predictor,
    read_for_model,
)
from retgk.cli.options import Common, FileRole, ModelFile, Output, Reading, Source
from retgk.cli.outputs import Table, check_new_file, check_output, report_output, write_table
from retgk.cli.sources import key_columns, read_collection, required_targets
from retgk.cli.terminal import (
    Stopwatch,
    note,
    print_pairs,
    print_record,
    print_warning,
)
from retgk.errors import InvalidInputError
from retgk.learning.fold_answers import chosen_parameters
from retgk.learning.metrics import check_metric_names, selecting_model, selection_metric
from retgk.learning.task_kinds import is_regression

if TYPE_CHECKING:
    from retgk.io.graph_dataset import GraphDataset

__all__ = ["fit", "predict"]


# retgk fit

NewModel = Annotated[
    Path,
    FileRole.WRITTEN,
    typer.Option("--output", "-o", metavar="FILE", help="Model file, such as model.retgk."),
]


@command(
    examples=[
        "retgk fit MUTAG -o mutag.retgk",
        "retgk fit molecules.csv --target-column active --balanced -o active.retgk",
        "retgk fit molecules.csv --target-column active --metric roc_auc -o active.retgk",
        "retgk fit graphs/ --targets targets.txt --C 1 --C 100 -o model.retgk",
    ]
)
def fit(
    source: Source,
    output: NewModel,
    reading: Reading,
    walks: Walks,
    learning: Learning,
    common: Common,
    n_components: Components = DEFAULT_COMPONENTS,
) -> None:
    """
    Train a classifier, or a regressor where targets are values, and write it to a file.

    Its parameters are chosen by cross-validation among the candidates.
    """
    check_new_file(output)
    check_metric_names(learning.metric)
    if len(learning.metric or ()) > 1:
        raise InvalidInputError(
            "a model chooses by one metric; give one --metric, and see several with `retgk cv`"
        )
    from retgk.io.graph_dataset import graph_numbers

    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common, n_jobs=walks.n_jobs)
        targets = required_targets(collection)
        regression = is_regression(learning.task, targets)
    with watch.timing("fit"):
        model = new_model(learning, walks, n_components, regression)
        model = selecting_model(model, learning.metric, targets)
        model.fit(collection.graphs, targets)
        # explanations name training graphs as the file does, of which some may be left out
        model.support_ = graph_numbers(collection)[model.support_]
    with watch.timing("write"):
        from retgk.persistence.model_files import save_model

        save_model(model, output)
    n_bytes = output.stat().st_size
    record = {
        "output": str(output),
        "bytes": n_bytes,
        "model": type(model).__name__,
        "graphs": len(collection),
        "approximate": model.approximate_,
        "chosen": chosen_parameters(model),
        **_fit_score(model),
        "seconds": watch.seconds,
    }
    if common.json:
        print_record(record)
    elif not common.quiet:
        _print_fit(record)
    _warn_of_size(output, n_bytes)


def _fit_score(model: Any) -> dict[str, Any]:
    """Metric by which a model has chosen, its mean over the folds, and its deviation."""
    metric = selection_metric(model)
    spread = model.cv_results_.get("std_test_score")
    return {
        "metric": metric.name,
        "score": metric.sign * model.best_score_,
        "score_std": None if spread is None else float(spread[model.best_index_]),
    }


def _print_fit(record: dict[str, Any]) -> None:
    chosen = ", ".join(f"{name} = {value}" for name, value in record["chosen"].items())
    std = record["score_std"]
    spread = "" if std is None else f", deviation {std:.4f}"
    print_pairs(
        {
            "model": f"{record['model']} of {record['graphs']:,} graphs, written to "
            f"{record['output']}",
            "chosen": chosen,
            "score": f"{record['metric']} {record['score']:.4f} (mean over the folds that chose it"
            f"{spread})",
            "seconds": f"{sum(record['seconds'].values()):.1f}",
        }
    )


def _warn_of_size(path: Path, n_bytes: int) -> None:
    """Say, even where all else is quiet, that predict needs an option for this file."""
    from retgk.persistence.model_files import DEFAULT_MAX_BYTES

    if n_bytes > DEFAULT_MAX_BYTES:
        print_warning(
            f"{path} has {n_bytes} bytes: `retgk predict` reads it with --max-bytes {n_bytes} only"
        )


# retgk predict

Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Write the probability of every class too.")
]


@command(
    examples=[
        "retgk predict mutag.retgk new.smi",
        "retgk predict mutag.retgk new.parquet --probabilities -o predictions.csv",
    ],
    remedies=MODEL_REMEDIES,
)
def predict(
    model_file: ModelFile,
    source: Source,
    reading: Reading,
    common: Common,
    output: Output = "-",
    probabilities: Probabilities = False,
    max_steps: MaxSteps = 4096,
) -> None:
    """
    Predict the targets of graphs with a model from a file.

    Graphs are read as those of the model were: bond orders, names of labels and so on need not be
    said again. One row per graph, with its number, its name and its own target where it has them;
    the score is shown if all have targets.
    """
    check_output(output, has_matrix=False)
    watch = Stopwatch()
    with watch.timing("read"):
        limits = (reading.max_bytes, max_steps)
        model = load_predictor(model_file, limits)
        if probabilities and not hasattr(model, "predict_proba"):
            raise InvalidInputError(f"{model_file} predicts values, which have no probabilities")
        collection = read_for_model(model, source, reading, common)
    with watch.timing("predict"):
        predictions = model.predict(collection.graphs)
        columns = {"prediction": predictions}
        if probabilities:
            rows = model.predict_proba(collection.graphs)
            names = [f"probability_{name}" for name in model.classes_]
            columns.update(zip(names, rows.T, strict=True))
    table = Table({**key_columns(collection), **columns})
    with watch.timing("write"):
        write_table(table, output, json=common.json)
    facts = _prediction_scores(model, collection, predictions)
    report_output(table, output, common, watch, graphs=len(collection), **facts)
    if facts and not common.json:
        note(common, ", ".join(f"{name} {value:.4f}" for name, value in facts.items()))


def _prediction_scores(model: Any, collection: GraphDataset, predictions: Any) -> dict[str, float]:
    """Scores if all graphs have targets of the kind that is predicted; none otherwise."""
    targets = collection.targets
    if targets is None or targets.ndim != 1 or collection.first_without_target() is not None:
        return {}
    if (targets.dtype.kind in "US") != (predictions.dtype.kind in "US"):
        return {}
    return scores(targets, predictions, regression=not hasattr(model, "classes_"))
