"""`retgk compare`: several methods on the same folds of one collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from retgk.cli.cluster_options import ClusterOptions
from retgk.cli.command import command
from retgk.cli.completion import method_names
from retgk.cli.model_options import TASK_REMEDIES, Metrics, Task
from retgk.cli.options import Common, FileRole, Reading, Source, in_panel
from retgk.cli.outputs import check_new_file
from retgk.cli.sources import read_collection, required_targets
from retgk.cli.splits import Splitting, outer_folds
from retgk.cli.terminal import Stopwatch, note, print_line, print_record, print_table
from retgk.comparison.methods import DEFAULT_METHODS, METHODS, checked_names
from retgk.learning.metrics import check_metric_names
from retgk.learning.task_kinds import is_regression
from retgk.runtime.limited_processes import ProcessLimits

if TYPE_CHECKING:
    from retgk.comparison.comparison_plan import ComparisonPlan
    from retgk.comparison.comparison_table import Comparison
    from retgk.io.graph_dataset import GraphDataset

__all__ = ["compare"]

_compare = in_panel("Comparison")
_JOURNAL_ENDING = ".journal.jsonl"


@dataclass(frozen=True)
class Methods:
    """What is compared, and what a method may take."""

    remedies: ClassVar[Mapping[str, str]] = {
        **TASK_REMEDIES,
        "probabilities": "leave it out",
        "journal": "give another file with --journal, or remove this one",
    }

    methods: Annotated[
        list[str] | None,
        _compare(
            "--methods",
            "--method",
            "-m",
            metavar="NAME,...",
            help="; ".join(f"{name}: {method.about}" for name, method in METHODS.items())
            + ". Repeatable, or names with commas.",
            show_default=", ".join(DEFAULT_METHODS),
            autocompletion=method_names,
        ),
    ] = None
    metric: Metrics = None
    task: Task = "auto"
    time_limit: Annotated[
        float, _compare("--time-limit", min=0.001, help="Seconds of one fold of a method.")
    ] = ProcessLimits.seconds
    memory_limit: Annotated[
        float | None,
        _compare(
            "--memory-limit",
            min=1,
            help="Megabytes of address space of the process of a method.",
            show_default="those of the machine",
        ),
    ] = None
    journal: Annotated[
        Path | None,
        FileRole.WRITTEN,
        _compare(
            "--journal",
            metavar="FILE",
            help="Where finished folds are kept, so that the same command goes on after a stop; "
            "with more methods, it adds them.",
            show_default=f"the first output, ending in {_JOURNAL_ENDING}",
        ),
    ] = None
    n_jobs: Annotated[
        int | None, _compare("--n-jobs", "-j", help="Threads of a method; all cores by default.")
    ] = None
    seed: Annotated[int, _compare("--seed", min=0, help="Seed of everything random.")] = 0

    @property
    def names(self) -> list[str]:
        """Methods in the order given, each once."""
        given = self.methods or DEFAULT_METHODS
        names = [name.strip() for text in given for name in text.split(",") if name.strip()]
        return list(dict.fromkeys(names))


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
    names = checked_names(methods.names)
    splitting.check()
    cluster.check()
    _check_files(output or ())
    if methods.journal is not None:
        check_new_file(methods.journal)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common, n_jobs=methods.n_jobs)
        plan = _plan(collection, source, reading, methods, splitting)
    journal = _journal_path(methods, output)
    if journal is not None:
        note(common, f"journal: {journal}; after a stop, the same command goes on from there")
    from retgk.comparison.compare_methods import comparison_on_folds, limits_of
    from retgk.comparison.comparison_rows import DONE

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


def _check_files(paths: Sequence[Path]) -> None:
    """Raise if an output cannot be written, or its name does not say in which form."""
    from retgk.comparison.comparison_table import checked_ending

    for path in paths:
        checked_ending(path)
        check_new_file(path)


def _journal_path(methods: Methods, output: list[Path] | None) -> Path | None:
    """File that was named, or one beside the first output; without either, none."""
    if methods.journal is not None or not output:
        return methods.journal
    return output[0].with_suffix(_JOURNAL_ENDING)


def _plan(
    collection: GraphDataset,
    source: str,
    reading: Reading,
    methods: Methods,
    splitting: Splitting,
) -> ComparisonPlan:
    """Graphs, targets and folds, as `retgk cv` has them."""
    from retgk.comparison.comparison_plan import new_plan

    targets = required_targets(collection)
    regression = is_regression(methods.task, targets)
    seeds = range(methods.seed, methods.seed + splitting.repetitions)
    folds = outer_folds(
        collection, source, reading, splitting, targets, regression=regression, seeds=seeds
    )
    chosen = regression, methods.metric, methods.seed
    return new_plan(collection.name, collection.graphs, targets, folds, *chosen)


def _print_comparison(table: Comparison) -> None:
    """Print rows; what stopped a method comes below, as it may be long."""
    from retgk.comparison.comparison_rows import DONE
    from retgk.comparison.table_texts import caption, cells, header

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
