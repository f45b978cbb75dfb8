"""`retgk fit` and `retgk predict`: models in files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retgk.cli.command import Stopwatch, command, note, print_pairs, print_record, print_warning
from retgk.cli.evaluate import new_model, scores
from retgk.cli.inputs import (
    MaxSteps,
    as_fitted,
    column_values,
    key_columns,
    load_predictor,
    molecule_file,
    node_columns,
    read_collection,
    read_for_model,
    required_targets,
    target_names,
)
from retgk.cli.options import (
    Common,
    FileRole,
    KernelOption,
    Learning,
    ModelFile,
    Output,
    Reading,
    Seed,
    Source,
    Threads,
    Walks,
    model_files,
    named_kernel,
)
from retgk.cli.outputs import Table, check_new_file, check_output, report_output, write_table
from retgk.errors import InvalidInputError
from retgk.learning.metrics import (
    check_metric_names,
    chosen_parameters,
    selecting_model,
    selection_metric,
)
from retgk.learning.targets import is_regression

if TYPE_CHECKING:
    from retgk.array_types import Floats
    from retgk.estimators.explanation import Explanation
    from retgk.explorer.page import CollectionPage
    from retgk.io.dataset import GraphDataset

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
        "retgk fit MUTAG --kernel wl -o wl.retgk",
    ]
)
def fit(
    source: Source,
    output: NewModel,
    reading: Reading,
    walks: Walks,
    learning: Learning,
    common: Common,
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
    from retgk.io.dataset import graph_numbers

    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common, n_jobs=walks.n_jobs)
        targets = required_targets(collection, several=True)
        regression = is_regression(learning.task, targets)
    with watch.timing("fit"):
        model = new_model(learning, walks, collection.graphs, regression)
        model = selecting_model(model, learning.metric, targets)
        model.fit(collection, targets)
        if targets.ndim == 2:
            model.target_names_ = tuple(target_names(collection))
        # explanations name training graphs as the file does, of which some may be left out
        model.support_ = graph_numbers(collection)[model.support_]
    with watch.timing("write"):
        from retgk.estimators.model_files import save_model

        save_model(model, output)
    n_bytes = output.stat().st_size
    record = {
        "output": str(output),
        "bytes": n_bytes,
        "model": type(model).__name__,
        "graphs": len(collection),
        "approximate": model.approximate_,
        "method": model.method_,
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
            "method": record["method"],
            "chosen": chosen,
            "score": f"{record['metric']} {record['score']:.4f} (mean over the folds that chose it"
            f"{spread})",
            "seconds": f"{sum(record['seconds'].values()):.1f}",
        }
    )


def _warn_of_size(path: Path, n_bytes: int) -> None:
    from retgk.estimators.model_files import DEFAULT_MAX_BYTES

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
        predictions = model.predict(collection)  # with names, for warnings
        columns = {"prediction": predictions}
        several = _names_of_targets(model, predictions)
        if several is not None:
            columns = {
                f"prediction_{n}": own for n, own in zip(several, predictions.T, strict=True)
            }
        if probabilities:
            rows = model.predict_proba(collection)
            names = [f"probability_{name}" for name in several or model.classes_]
            columns.update(zip(names, rows.T, strict=True))
    table = Table({**key_columns(collection), **columns})
    with watch.timing("write"):
        write_table(table, output, json=common.json)
    facts = _prediction_scores(model, collection, predictions)
    report_output(table.shape, output, common, watch, graphs=len(collection), **facts)
    if facts and not common.json:
        note(common, ", ".join(f"{name} {value:.4f}" for name, value in facts.items()))


def _names_of_targets(model: Any, predictions: Any) -> list[str] | None:
    """Names of several targets, or their numbers; None where there is one."""
    if predictions.ndim == 1:
        return None
    return list(model.target_names_ or map(str, range(predictions.shape[1])))


def _prediction_scores(model: Any, collection: GraphDataset, predictions: Any) -> dict[str, float]:
    """Scores if all graphs have targets of the kind that is predicted; none otherwise."""
    targets = collection.targets
    if targets is None or targets.ndim != 1 or collection.first_without_target() is not None:
        return {}
    if (targets.dtype.kind in "US") != (predictions.dtype.kind in "US"):
        return {}
    return scores(targets, predictions, regression=not hasattr(model, "classes_"))


# `retgk explain`: what every node of a graph contributes to a prediction.

PAGE = ".html"
PageOrTable = Annotated[
    str,
    FileRole.WRITTEN,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="File to write, by its ending: .html is a page as of `retgk explore`; .parquet, "
        ".csv, .npz or .json a table with one row per node; - for standard output.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="CLASS",
        help="Explain the decision value of this class (of several targets: the name of one, or "
        "its number); by default that of the class that is predicted.",
    ),
]


@command(
    examples=[
        "retgk explain mutag.retgk new.smi -o page.html",
        "retgk explain mutag.retgk new.smi --target 1 -o shares.csv",
    ],
)
def explain(
    model_file: ModelFile,
    source: Source,
    reading: Reading,
    common: Common,
    output: PageOrTable = "-",
    target: Target = None,
    max_steps: MaxSteps = 4096,
) -> None:
    """
    Say what every node of a graph contributes to what a model predicts.

    Shares of nodes add up, with a baseline, to the decision value; they are in its units, not in
    those of probabilities. A page is that of `retgk explore` with the model: graphs with their
    nodes coloured by shares (molecules as structural formulas), and for each the training graphs
    that pushed most and the nearest of another class.
    """
    from retgk.explorer.page import explore as explore_page

    is_page = Path(output).suffix.lower() == PAGE
    check_output(output, has_matrix=False, page=PAGE)
    watch = Stopwatch()
    with watch.timing("read"):
        model = load_predictor(model_file, (reading.max_bytes, max_steps))
        wanted = _target_of(model, target)
        collection = read_for_model(model, source, reading, common)
    with watch.timing("explain"):
        found = model.explain(collection.graphs, wanted)
    if not is_page:
        table = _node_table(collection, found)
        with watch.timing("write"):
            write_table(table, output, json=common.json)
        report_output(table.shape, output, common, watch, graphs=len(collection))
        return
    with watch.timing("write"):
        page = explore_page(
            collection,
            model=model,
            target=wanted,
            names=_page_names(collection),
            columns=_training_columns(model, found),
            title=f"What decides about {collection.name}",
        )
        page.save(output)
    _report_page(page, Path(output), common, watch)


def _target_of(model: Any, text: str | None) -> Any:
    if text is None:
        return None
    names = model.classes_.tolist() if hasattr(model, "classes_") else None
    names = list(range(len(model.intercept_))) if names is None else names
    for name in names:
        if str(name) == text:
            return name
    columns = model.target_names_ or ()
    if text in columns:
        return names[columns.index(text)]
    names = columns or names
    known = ", ".join(map(str, names[:10])) + ", .." * (len(names) > 10)
    raise InvalidInputError(f"--target {text} is none of those of the model, which are {known}")


def _node_table(collection: GraphDataset, found: Explanation) -> Table:
    import numpy as np

    graphs = collection.graphs
    rows = np.repeat(np.arange(len(graphs)), graphs.node_counts)
    keys = {name: column[rows] for name, column in key_columns(collection).items()}
    keys |= node_columns(graphs)
    for column in graphs.label_columns or ("label",) * graphs.has_labels:
        own = graphs.with_label_columns(column) if graphs.label_columns else graphs
        names = np.array([str(name) for name in own.label_names], dtype=object)
        name = f"label_{column}" if graphs.label_columns else column
        keys[name] = names[own.labels]
    keys["share"] = found.shares
    keys["explained"] = found.targets[rows]
    if found.predictions.ndim == 1:
        keys["prediction"] = found.predictions[rows]
    keys["decision"], keys["baseline"] = found.decisions[rows], found.baseline[rows]
    return Table(keys)


def _page_names(collection: GraphDataset) -> list[str]:
    keys = key_columns(collection)
    names = [f"graph {number}" for number in keys["graph"].tolist()]
    more = keys.get("name")
    return names if more is None else [f"{a}: {b}" for a, b in zip(names, more, strict=True)]


def _training_columns(model: Any, found: Explanation) -> dict[str, list[str]]:
    """Texts about each graph: training graphs that pushed most, the nearest of another class."""
    classes, called = _training_classes(model), _training_names(model)

    def name(number: int) -> str:
        named = f"{number} {called.get(number, '')}".rstrip()
        return f"{named} ({classes[number]})" if number in classes else named

    pairs = zip(found.training.tolist(), found.training_shares.tolist(), strict=True)
    columns = {
        "training graphs that pushed most": [
            ", ".join(f"{name(one)} {share:+.3g}" for one, share in zip(*row, strict=True))
            for row in pairs
        ]
    }
    if found.contrast is not None and found.contrast_distances is not None:
        nearest = zip(found.contrast.tolist(), found.contrast_distances.tolist(), strict=True)
        columns["nearest training graph of another class"] = [
            f"{name(one)} at {distance:.3g}" if one >= 0 else "" for one, distance in nearest
        ]
    return columns


def _training_names(model: Any) -> dict[int, str]:
    """Names of training graphs, with their SMILES where these say more."""
    names, smiles = model.support_names_, model.support_smiles_
    names = smiles if names is None else names
    if names is None:
        return {}
    texts = names if smiles is None else smiles
    said = [
        name if name == text else f"{name} {text}" for name, text in zip(names, texts, strict=True)
    ]
    return dict(zip(model.support_.tolist(), said, strict=True))


def _training_classes(model: Any) -> dict[int, Any]:
    codes = getattr(model, "support_codes_", None)
    if codes is None or codes.ndim > 1:
        return {}
    classes = model.classes_[codes].tolist()
    return dict(zip(model.support_.tolist(), classes, strict=True))


# `retgk explore`: one interactive page of a collection of graphs.

PageFile = Annotated[
    Path,
    FileRole.WRITTEN,
    typer.Option("--output", "-o", metavar="FILE", help="Page to write; its name ends in .html."),
]
OptionalModel = Annotated[
    Path | None,
    FileRole.READ,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="File that `retgk fit` wrote: show its predictions, and shares of nodes in them.",
        autocompletion=model_files,
    ),
]
Predicted = Annotated[
    str | None,
    FileRole.READ,
    typer.Option(
        metavar="COLUMN|FILE",
        help="Predictions made elsewhere, shown in place of the model's: a CSV that `retgk cv` or "
        "`retgk predict` wrote, a text file of one line per graph, or a column of the table.",
    ),
]
MoreColumns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="CSV: a further column to show and to colour by; repeatable."
    ),
]
PositionAttributes = Annotated[
    str | None,
    typer.Option(
        metavar="X,Y",
        help="Numbers, from 0, of two attributes of nodes that are their places in drawings, with "
        "y downwards; 2,1 for digits.",
    ),
]
Title = Annotated[str | None, typer.Option(help="What stands above the page.")]
MapKind = Annotated[
    Literal["auto", "tsne", "pca"],
    typer.Option(
        help="How graphs are placed: t-SNE keeps neighbours together, pca (kernel PCA) is quick."
    ),
]
MostNodes = Annotated[
    int,
    typer.Option(
        min=0, help="Nodes of all drawings together; beyond that, a random sample is drawn."
    ),
]


@command(
    examples=[
        "retgk explore MUTAG -o mutag.html",
        "retgk explore digits --position-attributes 2,1 -o digits.html",
        "retgk explore new.csv --model model.retgk --target-column active -o collection.html",
        "retgk cv MUTAG -o out.csv && retgk explore MUTAG --predicted out.csv -o mutag.html",
    ],
)
def explore(
    source: Source,
    reading: Reading,
    common: Common,
    output: PageFile,
    model_file: OptionalModel = None,
    predicted: Predicted = None,
    column: MoreColumns = None,
    position_attributes: PositionAttributes = None,
    title: Title = None,
    projection: MapKind = "auto",
    kernel_name: KernelOption = None,
    max_drawn_nodes: MostNodes = 500_000,
    max_steps: MaxSteps = 4096,
    n_jobs: Threads = None,
    seed: Seed = 0,
) -> None:
    """
    Write one interactive page of a collection, for a browser, without a network.

    A map of all graphs, drawings of each (structural formulas of molecules) with its nearest
    graphs, two graphs side by side, and what a model says of them.
    """
    from retgk.explorer.page import explore as page_of

    if output.suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(f"the page is written as HTML; end the name {output} in .html")
    check_new_file(output)
    kernel = named_kernel(kernel_name, Walks(), {})
    name_column, watch, model = None, Stopwatch(), None
    if molecule_file(source, reading) is None:  # a column of the table of targets
        name_column, reading = reading.name_column, replace(reading, name_column=None)
    with watch.timing("read"):
        if model_file is None:
            collection = read_collection(source, reading, common, n_jobs=n_jobs)
        else:
            model = load_predictor(model_file, (reading.max_bytes, max_steps))
            collection = read_for_model(model, source, reading, common)
            reading = as_fitted(reading, model.reading_, source)
        known = (source, collection, reading)
        columns = {name: _typed(column_values(*known, name, "column")) for name in column or ()}
        given = None if predicted is None else _predictions(*known, predicted)
        names = column_values(*known, name_column, "name_column") if name_column else None
        positions = _positions(position_attributes, collection)
    with watch.timing("explore"):
        page = page_of(
            collection,
            model=model,
            predicted=given,
            names=names,
            columns=columns,
            positions=positions,
            title=title,
            projection=projection,
            kernel=kernel,
            max_drawn_nodes=max_drawn_nodes,
            n_jobs=n_jobs,
            rng=seed,
        )
    with watch.timing("write"):
        page.save(output)
    _report_page(page, output, common, watch)


def _report_page(page: CollectionPage, output: Path, common: Common, watch: Stopwatch) -> None:
    n_bytes = output.stat().st_size
    if common.json:
        facts = {"output": str(output), "graphs": page.n_graphs, "drawn": page.n_drawn}
        print_record({**facts, "bytes": n_bytes, "seconds": watch.seconds})
        return
    drawn = "" if page.n_drawn == page.n_graphs else f", {page.n_drawn:,} of them drawn"
    size = f"{n_bytes / 1e6:.1f} MB"
    note(common, f"wrote {output}: {page.n_graphs:,} graphs{drawn}, {size}; open it in a browser")


def _typed(texts: list[str]) -> Any:
    """Numbers where all texts are such, with gaps unless all are whole, else the texts."""
    import numpy as np

    from retgk.io.tables import numbers_in

    numbers = numbers_in(texts, gaps=True)
    return np.array(texts, dtype=object) if numbers is None else numbers


def _predictions(source: str, collection: GraphDataset, reading: Reading, given: str) -> Any:
    from retgk.io.tables import What, is_table, texts_of_graphs

    path, what = Path(given), What("prediction", "prediction")
    if path.is_file() and is_table(path):
        texts = texts_of_graphs(collection, path, what.heading, what, reading.max_bytes)
        return _typed(texts)
    return _typed(column_values(source, collection, reading, given, "predicted"))


def _positions(text: str | None, collection: GraphDataset) -> Floats | None:
    if text is None:
        return None
    graphs = collection.graphs
    parts = [part.strip() for part in text.split(",")]
    numbers = [int(part) if part.isdecimal() else -1 for part in parts]
    if len(numbers) != 2 or not all(0 <= number < graphs.n_attributes for number in numbers):
        raise InvalidInputError(
            f"--position-attributes must be two numbers of attributes, such as 2,1; got {text!r}, "
            f"and nodes of {collection.name} have {graphs.n_attributes} attributes"
        )
    return graphs.attributes[:, numbers]
