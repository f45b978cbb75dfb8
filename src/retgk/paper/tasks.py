"""Which cells are computed, in which order, and what a file of records has of them already."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retgk.paper.frankenstein import REBUILT
from retgk.paper.paper_graphs import Sources
from retgk.paper.peers import Limits
from retgk.paper.records import Record, key_of, read_records, record_writer
from retgk.paper.runner import Runner, method_cost
from retgk.paper.table_cells import Cell, n_repetitions, set_sizes

__all__ = ["Lack", "Task", "lacks", "ordered_tasks", "run_tasks_into"]


@dataclass(frozen=True)
class Task:
    """One repetition of a cell."""

    cell: Cell
    repetition: int

    @property
    def key(self) -> str:
        """Name of its record."""
        return self.cell.key(self.repetition)

    @property
    def cost(self) -> float:
        """Rough seconds; for the order only, in which early repetitions go first."""
        n_graphs, n_classes, n_nodes = set_sizes(self.cell.dataset)
        settings = self.cell.settings
        seconds = 2.0 * (n_graphs / 1000) ** 2 * float(np.sqrt(n_classes))
        seconds += method_cost(settings, n_graphs, n_nodes)
        if self.cell.protocol in ("nested", "fair"):
            seconds *= 10
        return float(seconds * (1 + self.repetition))

    def describe(self) -> str:
        """What is running, for people."""
        cell = self.cell
        copies = ", without copies" if cell.deduplicate else ""
        return (
            f"{cell.place}, {cell.dataset}, {cell.method}, protocol {cell.protocol}{copies}, "
            f"repetition {self.repetition + 1}"
        )


def ordered_tasks(cells: Iterable[Cell], repetitions: int) -> list[Task]:
    """All repetitions of all cells, the cheapest first; cells of equal settings count once."""
    tasks: dict[str, Task] = {}
    for cell in cells:
        for repetition in range(n_repetitions(cell, repetitions)):
            task = Task(cell, repetition)
            tasks.setdefault(task.key, task)
    return sorted(tasks.values(), key=lambda task: task.cost)


class Lack(NamedTuple):
    """Something that cells need and that is not there."""

    what: str
    """As a sentence begins."""
    remedy: str
    is_needed: Callable[[Cell], bool]


def lacks(sources: Sources) -> list[Lack]:
    """What some cells need and is not there."""
    found = []
    if sources.mnist is None:
        found.append(Lack("no images for FRANKENSTEIN", "give --mnist FOLDER", _is_rebuilt))
    if find_spec("torch") is None:
        remedy = "pip install 'retgk[networks]'"
        found.append(Lack("PyTorch is not installed", remedy, _is_network))
    return found


def _is_network(cell: Cell) -> bool:
    return bool(cell.settings["kind"] == "network")


def _is_rebuilt(cell: Cell) -> bool:
    return cell.dataset == REBUILT


def run_tasks_into(
    path: Path,
    tasks: Sequence[Task],
    runner: Runner,
    say: Callable[[str, float, float], None],
) -> int:
    """
    Compute what a file of records lacks, in the order given; returns the number of new records.

    `say` is called with a text, the cost done and the cost of everything, before each task and at
    its end; and for each kernel that failed in an earlier run and is not worth another try.
    """
    with record_writer(path) as writer:
        there = read_records(path)
        done = {record["key"] for record in there if not record["failure"]}
        # what ended without a limit may have been bad luck, and is tried once in every run
        failed = {
            kernel: record
            for kernel, record in _failed_kernels(there).items()
            if record.get("by_limit", True)
        }
        unsaid = set(failed)
        n_written, spent = 0, 0.0
        total = sum(task.cost for task in tasks)
        for number, task in enumerate(tasks, start=1):
            kernel = _kernel_key(task.cell.identity())
            is_tried = _is_worth_trying(failed.get(kernel), runner.limits)
            if task.key not in done and (is_tried or kernel in unsaid):
                unsaid.discard(kernel)
                start = time.perf_counter()
                say(f"[{number}/{len(tasks)}] {task.describe()}", spent, total)
                if is_tried:
                    record = runner.record(task.cell, task.repetition)
                    writer.append(record)
                    failed |= _failed_kernels([record])
                    n_written += 1
                    result = _result_text(record, time.perf_counter() - start)
                else:
                    result = f"    not tried again: {failed[kernel]['failure']}"
                say(result, spent, total)
            spent += task.cost
        return n_written


def _kernel_key(identity: Mapping[str, Any]) -> str:
    """Name of a kernel of a set, whatever is done with it: all protocols need its matrix."""
    return key_of({name: identity[name] for name in ("dataset", "settings", "deduplicate")})


def _failed_kernels(records: Iterable[Record]) -> dict[str, Record]:
    """Kernels whose last record, of any repetition and protocol, is a failure; with it."""
    last = {_kernel_key(record): record for record in records}
    return {kernel: record for kernel, record in last.items() if record["failure"]}


def _is_worth_trying(failure: Record | None, limits: Limits) -> bool:
    return failure is None or limits.are_raised(failure["limits"])


def _result_text(record: Record, seconds: float) -> str:
    if record["failure"]:
        return f"    {record['failure']}"
    if not record["accuracies"]:
        parts = ", ".join(f"{name} {value:.3g} s" for name, value in record["seconds"].items())
        peak = record["facts"]["peak_mb"]
        return f"    {parts}" + ("" if peak is None else f"; peak memory {peak:.0f} MB")
    accuracy = 100 * float(np.mean(record["accuracies"]))
    return f"    {accuracy:.2f} % in {seconds:.1f} s"
