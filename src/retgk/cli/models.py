"""`retgk fit` and `retgk predict`: models in files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from retgk.cli.collection import Collection
from retgk.cli.command import command
from retgk.cli.learning import chosen_parameters, is_regression, new_model, scores
from retgk.cli.options import (
    DEFAULT_COMPONENTS,
    Common,
    Components,
    Learning,
    ModelFile,
    Output,
    Reading,
    Source,
    Walks,
)
from retgk.cli.places import check_new_file
from retgk.cli.sources import read_collection
from retgk.cli.tables import Table, check_output, finish, write_table
from retgk.cli.terminal import Stopwatch, note, print_pairs, print_record
from retgk.errors import InvalidInputError

__all__ = ["register"]

ADVICE = (
    ("pass a larger max_bytes", "give a larger --max-bytes"),
    ("what save_model wrote", "what `retgk fit` wrote"),
)

NewModel = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Model file, such as model.retgk.")
]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Write the probability of every class too.")
]
MaxBytes = Annotated[
    int | None,
    typer.Option("--max-bytes", min=1, help="Largest model file to read; 1 GiB by default."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    command(
        app,
        examples=[
            "retgk fit MUTAG -o mutag.retgk",
            "retgk fit molecules.csv --target-column active --balanced -o active.retgk",
            "retgk fit graphs/ --targets targets.txt --C 1 --C 100 -o model.retgk",
        ],
    )(fit)
    command(
        app,
        examples=[
            "retgk predict mutag.retgk new.smi",
            "retgk predict mutag.retgk new.parquet --probabilities -o predictions.csv",
        ],
        advice=ADVICE,
    )(predict)


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
        targets = collection.required_targets()
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


def _warn_of_size(path: Path, n_bytes: int) -> None:
    """Say, even if all else is quiet, that the file cannot be used as other files are."""
    from retgk.persistence.model_files import DEFAULT_MAX_BYTES

    if n_bytes > DEFAULT_MAX_BYTES:
        print(
            f"{path} has {n_bytes} bytes: `retgk predict` reads it with --max-bytes {n_bytes} only",
            file=sys.stderr,
        )


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


def predict(
    model_file: ModelFile,
    source: Source,
    reading: Reading,
    common: Common,
    output: Output = "-",
    probabilities: Probabilities = False,
    max_bytes: MaxBytes = None,
) -> None:
    """
    Predict the targets of graphs with a model from a file.

    One row per graph, with its number, its name and its own target where it has them; the score is
    shown if all have targets.
    """
    check_output(output, has_matrix=False)
    watch = Stopwatch()
    with watch.timing("read"):
        if not model_file.is_file():
            raise InvalidInputError(
                f"there is no model file {model_file}; make it with `retgk fit`"
            )
        collection = read_collection(source, reading, common)
        model = _loaded(model_file, probabilities, max_bytes)
    with watch.timing("predict"):
        predictions = model.predict(collection.graphs)
        columns = {"prediction": predictions}
        if probabilities:
            rows = model.predict_proba(collection.graphs)
            names = [f"probability_{name}" for name in model.classes_]
            columns.update(zip(names, rows.T, strict=True))
    table = Table({**collection.keys(), **columns})
    with watch.timing("write"):
        write_table(table, output, json=common.json)
    facts = _score(model, collection, predictions)
    finish(table, output, common, watch, graphs=len(collection), **facts)
    if facts and not common.json:
        note(common, ", ".join(f"{name} {value:.4f}" for name, value in facts.items()))


def _loaded(path: Path, probabilities: bool, max_bytes: int | None) -> Any:
    from retgk.persistence.model_files import DEFAULT_MAX_BYTES, load_model

    model = load_model(path, max_bytes=max_bytes or DEFAULT_MAX_BYTES)
    if not hasattr(model, "predict"):
        raise InvalidInputError(
            f"{path} holds a {type(model).__name__}, which does not predict; make a model with "
            "`retgk fit`"
        )
    if probabilities and not hasattr(model, "predict_proba"):
        raise InvalidInputError(f"{path} predicts values, which have no probabilities")
    return model


def _score(model: Any, collection: Collection, predictions: Any) -> dict[str, float]:
    """Scores where all graphs have targets, and of the same kind."""
    targets = collection.targets
    if targets is None or targets.ndim != 1 or collection.first_without_target() is not None:
        return {}
    regression = not hasattr(model, "classes_")
    if (targets.dtype.kind in "US") != (predictions.dtype.kind in "US"):
        return {}
    return scores(targets, predictions, regression)
