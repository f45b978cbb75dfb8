"""`retgk cv`: how good models are on graphs that they have not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retgk._runtime.cluster import results_in_order
from retgk._runtime.parallel import no_progress, progress_bar
from retgk._runtime.processes import ProcessLimits
from retgk.cli.command import (
    ClusterOptions,
    Stopwatch,
    command,
    note,
    print_line,
    print_record,
    print_table,
    print_warning,
)
from retgk.cli.inputs import key_columns, read_collection, required_targets
from retgk.cli.options import (
    Common,
    FileRole,
    Learning,
    Metrics,
    OptionalOutput,
    Reading,
    Source,
    Task,
    Walks,
    check_of_retgk,
    in_panel,
    method_names,
)
from retgk.cli.outputs import Table, check_new_file, check_output, write_table
from retgk.cli.splits import Splitting, outer_folds
from retgk.errors import InvalidInputError
from retgk.learning.folds import OuterFold, check_enough_graphs
from retgk.learning.metrics import (
    FoldAnswer,
    Metric,
    Outcome,
    check_metric_names,
    chosen_metrics,
    fold_answer,
    selecting_model,
)
from retgk.learning.targets import is_regression, training_set, warn_of_contradictions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.graphs.batch import GraphBatch
    from retgk.io.dataset import GraphDataset
    from retgk.model_selection.runs import ComparisonPlan
    from retgk.model_selection.table import Comparison

# Models as the options describe them, their scores, and `retgk cv` by either protocol.


# Models


def new_model(learning: Learning, walks: Walks, graphs: GraphBatch, regression: bool) -> Any:
    """Model that chooses among the usual candidates of a kernel, and those of the options."""
    from retgk.estimators.predictor import GraphPredictor
    from retgk.kernels.others.base import PeerKernel
    from retgk.model_selection.methods import METHODS, checked_names

    (name,) = checked_names([learning.kernel or "retgk"])
    model = METHODS[name].estimator(regression)
    if GraphPredictor not in type(model).__mro__:
        raise InvalidInputError(f"--kernel {name} is no kernel; `retgk compare` has such methods")
    if regression and learning.balanced:
        raise InvalidInputError("--balanced weights classes, but these targets are values")
    parameters = {**walks.common, "n_landmarks": learning.n_landmarks}
    if learning.C:
        parameters["C"] = tuple(learning.C)
    if learning.balanced:
        parameters["class_weight"] = "balanced"
    model.set_params(**parameters)
    candidates, own = _retgk_options(learning, walks)
    if name == "retgk-exact" and "n_components" in own:
        raise InvalidInputError(
            f"--kernel {name} is exact, and --n-components {own['n_components']} asks for random "
            "features; leave out one of them"
        )
    if isinstance(model.kernel, PeerKernel):
        check_of_retgk(name, walks, dict.fromkeys([*learning.candidates, *own], True))
    elif own or candidates:
        _set_retgk(model, own, candidates, graphs)
    return model


def _retgk_options(learning: Learning, walks: Walks) -> tuple[dict[str, Any], dict[str, Any]]:
    """Candidates by parameter of `RetGK`, and its parameters that differ from their defaults."""
    places = {"p": "graph_kernel__p", "scale": "graph_kernel__scale"}
    candidates = {places.get(name, name): own for name, own in learning.candidates.items()}
    own: dict[str, Any] = {"walks": walks.walks()} if walks.how else {}
    for name, default in (("tol", 1e-4), ("impute_attributes", None), ("n_components", None)):
        if getattr(learning, name) != default:
            own[name] = getattr(learning, name)
    return candidates, own


def _set_retgk(
    model: Any, own: dict[str, Any], candidates: dict[str, Any], graphs: GraphBatch
) -> None:
    from sklearn.base import clone

    from retgk.estimators.predictor import kernel_to_fit, usual_candidates

    kernel = clone(kernel_to_fit(model, graphs)).set_params(**own)
    if candidates:
        model.set_params(candidates={**usual_candidates(kernel), **candidates})
    model.set_params(kernel=kernel)


def scores(targets: NDArray[Any], predictions: NDArray[Any], regression: bool) -> dict[str, float]:
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
    """Answers of models that fit and choose everything on the training part of each fold."""
    tasks = [(fold, number) for each in folds for number, fold in enumerate(each)]
    answers = iter(_results(_fold_answer, tasks, (graphs, targets, model), client))
    return [[next(answers) for _ in each] for each in folds]


def _results(work: Callable[..., Any], tasks: list[Any], shared: Any, client: Any) -> list[Any]:
    with (
        progress_bar("cross-validation", len(tasks)) as advance,
        closing(results_in_order(work, tasks, shared, client)) as found,
    ):
        answers = []
        for answer in found:
            answers.append(answer)
            advance(1)
    return answers


def _fold_answer(
    shared: tuple[GraphBatch, NDArray[Any], Any], fold: OuterFold, number: int
) -> FoldAnswer:
    from sklearn.base import clone

    graphs, targets, model = shared
    with no_progress():
        return fold_answer(clone(model), graphs, targets, fold, number)


# The paper's protocol


def check_paper_options(learning: Learning, splitting: Splitting) -> None:
    """Raise if the paper's protocol cannot do what the options ask for."""
    from retgk.learning.selection import checked_penalties

    unused = {
        "--balanced": learning.balanced,
        "--kernel": learning.kernel not in (None, "retgk", "retgk-exact"),
        "--n-components": learning.n_components is not None,
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
    from retgk.learning.paper_protocol import PAPER_PENALTIES

    return sorted(learning.C or PAPER_PENALTIES)


def paper_answers(
    graphs: GraphBatch,
    targets: NDArray[Any],
    seeds: Sequence[int],
    rules: dict[str, Any],
    learning: Learning,
    walks: Walks,
    client: Any = None,
) -> list[list[FoldAnswer]]:
    """Answers by the authors' protocol, of one repetition for each seed."""
    from retgk.estimators.kernel import RetGK
    from retgk.kernels.graph import ExponentialGraphKernel

    check_enough_graphs(targets, rules["folds"])
    kernel = ExponentialGraphKernel(p=(learning.p or [1.0])[0], scale=(learning.scale or [1.0])[0])
    model = RetGK(
        **walks.common,
        walks=walks.walks(),
        tol=learning.tol,
        graph_kernel=kernel,
        scale_attributes=(learning.scale_attributes or ["raw"])[0],
        depth=(learning.depth or [0])[0],
    ).fit(graphs)
    shared = (model, targets, rules, walks.n_jobs)
    return _results(_paper_repetition, [(seed,) for seed in seeds], shared, client)


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


_COMMON_SHARE = 0.9  # of the largest class, from which on accuracy says little

Protocol = Annotated[
    Literal["nested", "paper"],
    typer.Option(
        help="nested: all is chosen inside the training folds. paper: the authors' way, with "
        "medians over all graphs."
    ),
]
Answers = list[list[FoldAnswer]]
"""Of every repetition, those of its folds."""


@command(
    examples=[
        "retgk cv MUTAG",
        "retgk cv MUTAG --kernel wl",
        "retgk cv ENZYMES --protocol paper --p 2 --scale 8 --repetitions 10",
        "retgk cv molecules.csv --target-column y --split scaffold --metric roc_auc --metric ap",
        "retgk cv molecules.csv --target-column active -o predictions.csv",
        "retgk cv NCI1 --repetitions 10 --scheduler tcp://192.168.0.7:8786",
    ],
)
def cv(
    source: Source,
    reading: Reading,
    walks: Walks,
    learning: Learning,
    splitting: Splitting,
    cluster: ClusterOptions,
    common: Common,
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
        check_paper_options(learning, splitting)
    if output is not None:
        check_output(output, has_matrix=False)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common, n_jobs=walks.n_jobs)
        targets = required_targets(collection)
        regression = is_regression(learning.task, targets)
        metrics = chosen_metrics(learning.metric, regression)
        warn_of_contradictions(training_set(collection), regression, walks.n_jobs)
    graphs = collection.graphs
    seeds = range(walks.seed, walks.seed + splitting.repetitions)
    with cluster.client(common) as client, watch.timing("cross-validation"):
        if protocol == "paper":
            if regression:
                raise InvalidInputError("the paper's protocol is for classes; use nested")
            rules = {"folds": splitting.n_folds, "c": _penalties(learning)}
            answers = paper_answers(graphs, targets, seeds, rules, learning, walks, client)
        else:
            model = new_model(learning, walks, graphs, regression)
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
    import numpy as np

    counts = np.zeros((len(classes), len(classes)), np.int64)
    for fold in (fold for repetition in answers for fold in repetition):
        rows = np.searchsorted(classes, targets[fold.test])
        np.add.at(counts, (rows, np.searchsorted(classes, fold.predictions)), 1)
    return counts


def _prediction_table(collection: GraphDataset, answers: Answers, regression: bool) -> Table:
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


# `retgk compare`: several methods on the same folds of one collection.

_compare = in_panel("Comparison")
_JOURNAL_ENDING = ".journal.jsonl"


@dataclass(frozen=True)
class Methods:
    methods: Annotated[
        list[str] | None,
        _compare(
            "--methods",
            "--method",
            "-m",
            metavar="NAME,...",
            help="{methods}. Repeatable, or names with commas. Default: {default_methods}; of "
            "molecules {molecule_methods}.",
            autocompletion=method_names,
        ),
    ] = None
    metric: Metrics = None
    task: Task = "auto"
    time_limit: Annotated[float, _compare(min=0.001, help="Seconds of one fold of a method.")] = (
        ProcessLimits.seconds
    )
    memory_limit: Annotated[
        float | None,
        _compare(
            min=1,
            help="Megabytes of address space of the process of a method.",
            show_default="those of the machine",
        ),
    ] = None
    journal: Annotated[
        Path | None,
        FileRole.WRITTEN,
        _compare(
            metavar="FILE",
            help="Where finished folds are kept, so that the same command goes on after a stop; "
            "with more methods, it adds them.",
            show_default=f"the first output, ending in {_JOURNAL_ENDING}",
        ),
    ] = None
    n_jobs: Annotated[
        int | None, _compare("--n-jobs", "-j", help="Threads of a method; all cores by default.")
    ] = None
    seed: Annotated[int, _compare(min=0, help="Seed of everything random.")] = 0

    @property
    def names(self) -> list[str] | None:
        """Those that are named; None for the usual ones."""
        from retgk.model_selection.methods import checked_names

        given = self.methods or ()
        names = [name.strip() for text in given for name in text.split(",") if name.strip()]
        return checked_names(list(dict.fromkeys(names))) or None


Outputs = Annotated[
    list[Path] | None,
    FileRole.WRITTEN,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="File to write, by its ending: a table (.csv, .tex), a page (.html), or the figure of "
        "time and quality (.png, .svg, .pdf); repeatable.",
    ),
]


@command(
    examples=[
        "retgk compare MUTAG",
        "retgk compare molecules.csv --target-column active -o comparison.html -o table.tex",
        "retgk compare graphs/ --targets targets.csv --methods retgk,wl,sp --repetitions 3",
        "retgk compare molecules.csv --target-column y --split scaffold --metric roc_auc",
        "retgk compare NCI1 --time-limit 3600 --memory-limit 8000 -o nci1.html --cluster local:2",
    ],
)
def compare(
    source: Source,
    reading: Reading,
    methods: Methods,
    splitting: Splitting,
    cluster: ClusterOptions,
    common: Common,
    output: Outputs = None,
) -> None:
    """
    Compare methods on the same folds: scores, p-values, time and memory of each.

    Each runs in a process of its own; one that is stopped by a limit, or fails, is said so in the
    table and does not stop the rest.
    """
    check_metric_names(methods.metric)
    from retgk.model_selection.table import DONE, checked_ending

    names = methods.names
    splitting.check()
    cluster.check()
    for path in output or ():
        checked_ending(path)
        check_new_file(path)
    if methods.journal is not None:
        check_new_file(methods.journal)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common, n_jobs=methods.n_jobs)
        plan = _plan(collection, source, reading, methods, splitting)
    journal = methods.journal
    if journal is None and output:
        journal = output[0].with_suffix(_JOURNAL_ENDING)
    if journal is not None:
        note(common, f"journal: {journal}; after a stop, the same command goes on from there")
    from retgk.model_selection.comparison import comparison_on_folds, limits_of

    limits = limits_of(methods.time_limit, methods.memory_limit)
    with cluster.client(common) as client, watch.timing("compare"):
        table = comparison_on_folds(plan, names, limits, journal, methods.n_jobs, client)
    for path in output or ():
        table.save(path)
        note(common, f"wrote {path}")
    if common.json:
        print_record({**table.facts, "rows": table.rows, "seconds": watch.seconds})
    else:
        _print_comparison(table)
    if table.rows[0]["status"] != DONE:  # those that finished come first
        raise typer.Exit(1)  # so that scripts notice


def _plan(
    collection: GraphDataset,
    source: str,
    reading: Reading,
    methods: Methods,
    splitting: Splitting,
) -> ComparisonPlan:
    from retgk.model_selection.runs import new_plan

    targets = required_targets(collection)
    regression = is_regression(methods.task, targets)
    warn_of_contradictions(training_set(collection), regression, methods.n_jobs)
    seeds = range(methods.seed, methods.seed + splitting.repetitions)
    folds = outer_folds(
        collection, source, reading, splitting, targets, regression=regression, seeds=seeds
    )
    chosen = regression, methods.metric, methods.seed
    return new_plan(collection.name, collection.graphs, targets, folds, *chosen)


def _print_comparison(table: Comparison) -> None:
    from retgk.model_selection.table import DONE, caption, cells, header

    print_line(table.name)
    rows: list[list[Any]] = []
    stopped = []
    for row in table.rows:
        texts = cells(row, table.metrics)
        if row["status"] != DONE:
            total = sum(table.facts["folds"])
            stopped.append(f"{row['method']}: {row['status']} ({row['folds']} of {total} folds)")
            texts[1] = "see below"
        rows.append(texts)
    print_table(header(table), rows)
    for line in stopped:
        print_line(line)
    print_line(caption(table))
