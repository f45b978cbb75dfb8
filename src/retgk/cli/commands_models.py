"""`retgk fit`, `retgk predict` and `retgk cv`: models in files, and how good they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retgk.cli.command import command
from retgk.cli.cross_validation import (
    FoldAnswer,
    check_paper_options,
    chosen_parameters,
    is_regression,
    nested_answers,
    new_model,
    paper_answers,
    scores,
)
from retgk.cli.model_reading import as_fitted
from retgk.cli.options import (
    DEFAULT_COMPONENTS,
    MIN_FOLDS,
    Common,
    Components,
    FileRole,
    Learning,
    ModelFile,
    OptionalOutput,
    Output,
    Reading,
    Source,
    Walks,
)
from retgk.cli.outputs import Table, check_new_file, check_output, report_output, write_table
from retgk.cli.sources import key_columns, read_collection, required_targets
from retgk.cli.terminal import (
    Stopwatch,
    note,
    print_line,
    print_pairs,
    print_record,
    print_table,
    print_warning,
)
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from retgk.io.graph_dataset import GraphDataset

__all__ = ["cv", "fit", "predict"]


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
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common)
        targets = required_targets(collection)
        regression = is_regression(learning, targets)
    with watch.timing("fit"):
        model = new_model(learning, walks, n_components, regression)
        model.fit(collection.graphs, targets)
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
        "score": model.best_score_,
        "seconds": watch.seconds,
    }
    if common.json:
        print_record(record)
    elif not common.quiet:
        _print_fit(record)
    _warn_of_size(output, n_bytes)


def _print_fit(record: dict[str, Any]) -> None:
    chosen = ", ".join(f"{name} = {value}" for name, value in record["chosen"].items())
    print_pairs(
        {
            "model": f"{record['model']} of {record['graphs']:,} graphs, written to "
            f"{record['output']}",
            "chosen": chosen,
            "score": f"{record['score']:.4f} (mean over the folds that chose it)",
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
MaxSteps = Annotated[
    int,
    typer.Option("--max-steps", min=1, help="Most steps of walks that the model file may ask for."),
]


@command(
    examples=[
        "retgk predict mutag.retgk new.smi",
        "retgk predict mutag.retgk new.parquet --probabilities -o predictions.csv",
    ],
    remedies={
        "model_bytes": "give a larger --max-bytes if you trust it",
        "max_steps": "give a larger --max-steps if you trust it",
        "model_file": "give a file as `retgk fit` wrote it",
    },
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
        if not model_file.is_file():
            raise InvalidInputError(
                f"there is no model file {model_file}; make it with `retgk fit`"
            )
        limits = (reading.max_bytes, max_steps)
        model = _load_predictor(model_file, probabilities, limits)
        reading = as_fitted(reading, model.reading_, source)
        reading = replace(reading, max_bytes=_limit_for_graphs(source, reading.max_bytes))
        collection = read_collection(source, reading, common)
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


def _limit_for_graphs(source: str, max_bytes: int | None) -> int | None:
    """Give the limit that was meant for the model, unless graphs may have more by their size."""
    from retgk.runtime.parse_budget import ParseBudget

    if max_bytes is None:
        return None
    path = Path(source)
    return max(max_bytes, ParseBudget(source, path.stat().st_size if path.is_file() else 0).allowed)


def _load_predictor(path: Path, probabilities: bool, limits: tuple[int | None, int]) -> Any:
    from retgk.persistence.model_files import DEFAULT_MAX_BYTES, load_model

    max_bytes, max_steps = limits
    model = load_model(path, max_bytes=max_bytes or DEFAULT_MAX_BYTES, max_steps=max_steps)
    if not hasattr(model, "predict"):
        raise InvalidInputError(
            f"{path} holds a {type(model).__name__}, which does not predict; make a model with "
            "`retgk fit`"
        )
    if probabilities and not hasattr(model, "predict_proba"):
        raise InvalidInputError(f"{path} predicts values, which have no probabilities")
    return model


def _prediction_scores(model: Any, collection: GraphDataset, predictions: Any) -> dict[str, float]:
    """Scores if all graphs have targets of the kind that is predicted; none otherwise."""
    targets = collection.targets
    if targets is None or targets.ndim != 1 or collection.first_without_target() is not None:
        return {}
    if (targets.dtype.kind in "US") != (predictions.dtype.kind in "US"):
        return {}
    return scores(targets, predictions, regression=not hasattr(model, "classes_"))


# retgk cv

Protocol = Annotated[
    Literal["nested", "paper"],
    typer.Option(
        "--protocol",
        help="nested: all is chosen inside the training folds. paper: the authors' way, with "
        "medians over all graphs.",
    ),
]
Folds = Annotated[int, typer.Option("--folds", min=MIN_FOLDS, help="Number of folds.")]
Repetitions = Annotated[
    int, typer.Option("--repetitions", min=1, help="Times to do it, each with other folds.")
]


@command(
    examples=[
        "retgk cv MUTAG",
        "retgk cv ENZYMES --protocol paper --p 2 --scale 8 --repetitions 10",
        "retgk cv molecules.csv --target-column active -o predictions.csv",
    ],
    remedies={"gram_file": "use --protocol nested --approximate yes"},
)
def cv(
    source: Source,
    reading: Reading,
    walks: Walks,
    learning: Learning,
    common: Common,
    n_components: Components = DEFAULT_COMPONENTS,
    protocol: Protocol = "nested",
    folds: Folds = 10,
    repetitions: Repetitions = 1,
    output: OptionalOutput = None,
) -> None:
    """
    Show the accuracy of cross-validation, and which classes are taken for which.

    With -o, the prediction for every graph when it was a test graph is written too.
    """
    if protocol == "paper":
        check_paper_options(learning, n_components)
    if output is not None:
        check_output(output, has_matrix=False)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common)
        targets = required_targets(collection)
        regression = is_regression(learning, targets)
    graphs, seeds = collection.graphs, range(walks.seed, walks.seed + repetitions)
    with watch.timing("cross-validation"):
        if protocol == "paper":
            if regression:
                raise InvalidInputError("the paper's protocol is for classes; use nested")
            answers = paper_answers(graphs, targets, folds, seeds, learning, walks)
        else:

            def model_of() -> Any:
                return new_model(learning, walks, n_components, regression)

            answers = [nested_answers(graphs, targets, folds, seed, model_of) for seed in seeds]
    record = _cv_record(collection, answers, regression)
    record = {"name": collection.name, "protocol": protocol, **record, "seconds": watch.seconds}
    if output is not None:
        write_table(_prediction_table(collection, answers), output, json=common.json)
    if output == "-":
        return
    if common.json:
        print_record(record)
    else:
        _print_cv(record)


def _cv_record(
    collection: GraphDataset, answers: list[list[FoldAnswer]], regression: bool
) -> dict[str, Any]:
    """Scores of the folds, their means, and how often classes are confused."""
    import numpy as np

    targets = required_targets(collection)
    of_folds = [
        [scores(targets[fold.test], fold.predictions, regression) for fold in repetition]
        for repetition in answers
    ]
    task = "regression" if regression else "classification"
    record: dict[str, Any] = {"graphs": len(collection), "task": task}
    for metric in of_folds[0][0]:
        values = [[fold[metric] for fold in folds] for folds in of_folds]
        means = np.array([np.mean(of_repetition) for of_repetition in values])
        record[metric] = {
            "mean": float(means.mean()),
            "std_folds": float(np.std([value for each in values for value in each])),
            "std_repetitions": float(means.std()) if len(means) > 1 else None,
            "folds": values,
        }
    record["chosen"] = [[fold.chosen for fold in repetition] for repetition in answers]
    if not regression:
        record["classes"], record["confusion"] = _confusion(targets, answers)
    return record


def _confusion(targets: Any, answers: list[list[FoldAnswer]]) -> tuple[Any, Any]:
    """Classes, and how often each (row) was taken for each (column)."""
    import numpy as np

    classes = np.unique(targets)
    counts = np.zeros((len(classes), len(classes)), np.int64)
    for fold in (fold for repetition in answers for fold in repetition):
        rows = np.searchsorted(classes, targets[fold.test])
        np.add.at(counts, (rows, np.searchsorted(classes, fold.predictions)), 1)
    return classes, counts


def _prediction_table(collection: GraphDataset, answers: list[list[FoldAnswer]]) -> Table:
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
    order = np.lexsort([keys["graph"], keys["repetition"]])
    return Table({name: column[order] for name, column in keys.items()})


def _print_cv(record: dict[str, Any]) -> None:
    n_folds = len(record["chosen"][0])
    print_line(
        f"{record['name']}: {record['graphs']:,} graphs, {n_folds} folds, {record['protocol']}"
    )
    if record["task"] == "regression":
        for metric in ("r2", "rmse", "mae"):
            print_line(f"{metric:8}  {record[metric]['mean']:.4f}")
    else:
        accuracy = record["accuracy"]
        spread = accuracy["std_repetitions"]
        over = "folds" if spread is None else "repetitions"
        spread = accuracy["std_folds"] if spread is None else spread
        print_line(
            f"accuracy  {100 * accuracy['mean']:.1f} % (deviation over {over} {100 * spread:.1f})"
        )
        rows = [
            [name, *counts]
            for name, counts in zip(record["classes"], record["confusion"], strict=True)
        ]
        print_table(["true \\ predicted", *map(str, record["classes"])], rows)
    print_line(f"seconds   {sum(record['seconds'].values()):.1f}")
