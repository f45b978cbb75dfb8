"""`retgk cv`: how well graphs can be told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retgk.cli.collection import Collection
from retgk.cli.command import command
from retgk.cli.options import (
    DEFAULT_COMPONENTS,
    MIN_FOLDS,
    Common,
    Components,
    Learning,
    OptionalOutput,
    Reading,
    Source,
    Walks,
)
from retgk.cli.sources import read_collection
from retgk.cli.tables import Table, check_output, write_table
from retgk.cli.terminal import Stopwatch, print_record, print_table
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from retgk.cli.fold_answers import FoldAnswer

__all__ = ["register"]

ADVICE = (("use write_mean_embedding_gram", "use --protocol nested --approximate yes"),)

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


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    command(
        app,
        examples=[
            "retgk cv MUTAG",
            "retgk cv ENZYMES --protocol paper --p 2 --scale 8 --repetitions 10",
            "retgk cv molecules.csv --target-column active -o predictions.csv",
        ],
        advice=ADVICE,
    )(cv)


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
    from retgk.cli.fold_answers import check_paper_options, nested_answers, paper_answers
    from retgk.cli.learning import is_regression, new_model

    if protocol == "paper":
        check_paper_options(learning, n_components)
    if output is not None:
        check_output(output, has_matrix=False)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common)
        targets = collection.required_targets()
        regression = is_regression(learning, targets)
    seeds = [walks.seed + repetition for repetition in range(repetitions)]
    with watch.timing("cross-validation"):
        if protocol == "paper":
            if regression:
                raise InvalidInputError("the paper's protocol is for classes; use nested")
            answers = paper_answers(collection.graphs, targets, folds, seeds, learning, walks)
        else:
            answers = [
                nested_answers(
                    collection.graphs,
                    targets,
                    folds,
                    seed,
                    lambda: new_model(learning, walks, n_components, regression),
                )
                for seed in seeds
            ]
    record = _record(collection, answers, regression)
    record = {"name": collection.name, "protocol": protocol, **record, "seconds": watch.seconds}
    if output is not None:
        write_table(_predictions(collection, answers), output, json=common.json)
    if output == "-":
        return
    if common.json:
        print_record(record)
    else:
        _print(record)


def _record(
    collection: Collection, answers: list[list[FoldAnswer]], regression: bool
) -> dict[str, Any]:
    """Scores of the folds, means, and the confusion of classes."""
    import numpy as np

    from retgk.cli.learning import scores

    targets = collection.required_targets()
    of_folds = [
        [scores(targets[fold.test], fold.predictions, regression) for fold in repetition]
        for repetition in answers
    ]
    metrics = list(of_folds[0][0])
    means = {
        metric: np.array([np.mean([fold[metric] for fold in folds]) for folds in of_folds])
        for metric in metrics
    }
    record: dict[str, Any] = {"graphs": len(collection), "task": _task(regression)}
    for metric, values in means.items():
        within = [fold[metric] for folds in of_folds for fold in folds]
        record[metric] = {
            "mean": float(values.mean()),
            "std_folds": float(np.std(within)),
            "std_repetitions": float(values.std()) if len(values) > 1 else None,
            "folds": [[fold[metric] for fold in folds] for folds in of_folds],
        }
    record["chosen"] = [[fold.chosen for fold in repetition] for repetition in answers]
    if not regression:
        record["classes"], record["confusion"] = _confusion(targets, answers)
    return record


def _task(regression: bool) -> str:
    return "regression" if regression else "classification"


def _confusion(targets: Any, answers: list[list[FoldAnswer]]) -> tuple[Any, Any]:
    """Classes, and how often each (row) was taken for each (column)."""
    import numpy as np

    classes = np.unique(targets)
    counts = np.zeros((len(classes), len(classes)), np.int64)
    for fold in (fold for repetition in answers for fold in repetition):
        rows = np.searchsorted(classes, targets[fold.test])
        np.add.at(counts, (rows, np.searchsorted(classes, fold.predictions)), 1)
    return classes, counts


def _predictions(collection: Collection, answers: list[list[FoldAnswer]]) -> Table:
    """One row for every time that a graph was a test graph."""
    import numpy as np

    tests = [fold for repetition in answers for fold in repetition]
    sizes = [len(fold.test) for fold in tests]
    graphs = np.concatenate([fold.test for fold in tests])
    keys = {name: column[graphs] for name, column in collection.keys().items()}
    n_folds = len(answers[0])
    keys["repetition"] = np.repeat(np.arange(len(tests)) // n_folds, sizes)
    keys["fold"] = np.repeat(np.arange(len(tests)) % n_folds, sizes)
    keys["prediction"] = np.concatenate([fold.predictions for fold in tests])
    order = np.lexsort([keys["graph"], keys["repetition"]])
    return Table({name: column[order] for name, column in keys.items()})


def _print(record: dict[str, Any]) -> None:
    n_folds = len(record["chosen"][0])
    print(f"{record['name']}: {record['graphs']:,} graphs, {n_folds} folds, {record['protocol']}")
    if record["task"] == "regression":
        for metric in ("r2", "rmse", "mae"):
            print(f"{metric:8}  {record[metric]['mean']:.4f}")
    else:
        accuracy = record["accuracy"]
        spread = accuracy["std_repetitions"]
        over = "folds" if spread is None else "repetitions"
        spread = accuracy["std_folds"] if spread is None else spread
        print(
            f"accuracy  {100 * accuracy['mean']:.1f} % (deviation over {over} {100 * spread:.1f})"
        )
        rows = [
            [name, *counts]
            for name, counts in zip(record["classes"], record["confusion"], strict=True)
        ]
        print_table(["true \\ predicted", *map(str, record["classes"])], rows)
    print(f"seconds   {sum(record['seconds'].values()):.1f}")
