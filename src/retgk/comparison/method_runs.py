"""Methods in processes of their own, here or on the workers of a cluster."""

import json
import pickle
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from retgk.comparison.comparison_plan import ComparisonPlan, Place
from retgk.comparison.fold_journal import FoldJournal
from retgk.comparison.method_keys import estimator_key
from retgk.graphs.batch import GraphBatch
from retgk.learning.outer_folds import OuterFold
from retgk.runtime.cluster_tasks import results_in_order
from retgk.runtime.limited_processes import ProcessLimits, run_to_end
from retgk.runtime.parallel import n_threads
from retgk.runtime.progress import progress_bar
from retgk.runtime.record_files import Record

__all__ = ["PROGRAM", "Order", "run_methods"]

PROGRAM = (sys.executable, "-P", "-m", "retgk.comparison.method_process")
"""
Command of the process, which gets its order and its memory as two more arguments.

With -P it takes no modules from the folder that it is started in: that may hold files of strangers.
"""

_GRACE_SECONDS = 300.0  # to start, import, compile and read the graphs, beside the work itself


class Order(NamedTuple):
    """What a process is to do."""

    graphs: GraphBatch
    targets: NDArray[Any]
    regression: bool
    folds: list[tuple[int, int, OuterFold]]
    """Numbers of repetition and fold, and the graphs to train on and to test."""
    seconds: float
    """That a fold may take."""
    n_threads: int
    estimator: bytes
    """Pickled apart: it is read when modules are found, and one that is not is its own failure."""
    module_path: list[str]
    """Where modules are found, as in the process that gives the order."""


def run_methods(
    plan: ComparisonPlan,
    estimators: Mapping[str, Any],
    journal: FoldJournal,
    limits: ProcessLimits,
    n_jobs: int | None = None,
    client: Any = None,
) -> None:
    """
    Run all folds that are not in the journal yet, and write them there.

    Parameters
    ----------
    plan : ComparisonPlan
        Graphs, targets and folds.
    estimators : mapping of str to estimator
        Methods by name.
    journal : FoldJournal
        What is done, and where more goes.
    limits : ProcessLimits
        Seconds of one fold, and memory of a process.
    n_jobs : int or None
        Threads of a method.
    client : dask.distributed.Client, optional
        The cluster; every repetition of every method is a task. Without it, methods run one after
        the other.
    """
    waiting = {
        name: [place for place in plan.places if place not in done]
        for name, estimator in estimators.items()
        for done in [journal.scores(estimator_key(estimator))]
        if journal.is_worth_trying(estimator_key(estimator), limits)
    }
    n_all, n_waiting = len(plan.places) * len(estimators), sum(map(len, waiting.values()))
    with progress_bar("comparing", n_all) as advance:
        advance(n_all - n_waiting)  # what an earlier run did

        def note(name: str, record: Record) -> None:
            journal.add({"method": name, "method_key": estimator_key(estimators[name]), **record})
            advance(1)

        if client is None:
            for name, places in waiting.items():
                if places:
                    run = _MethodRun(plan, estimators[name], limits, n_jobs)
                    run.to_end(places, partial(note, name))
        else:
            _run_on_cluster(plan, estimators, waiting, limits, n_jobs, client, note)


def _run_on_cluster(
    plan: ComparisonPlan,
    estimators: Mapping[str, Any],
    waiting: Mapping[str, Sequence[Place]],
    limits: ProcessLimits,
    n_jobs: int | None,
    client: Any,
    note: Callable[[str, Record], None],
) -> None:
    """Do each repetition of each method in a task."""
    parts = [
        (name, [place for place in places if place[0] == repetition])
        for name, places in waiting.items()
        for repetition in range(len(plan.folds))
    ]
    tasks = [part for part in parts if part[1]]
    # pickled here: workers may not have the module of an estimator, but the process will say so
    pickled = {name: _pickled(estimator) for name, estimator in estimators.items()}
    shared = (plan, pickled, limits, n_jobs)
    with closing(results_in_order(_method_part, tasks, shared, client)) as found:
        for (name, _), records in zip(tasks, found, strict=True):
            for record in records:
                note(name, record)


def _method_part(
    shared: tuple[ComparisonPlan, Mapping[str, bytes], ProcessLimits, int | None],
    name: str,
    places: Sequence[Place],
) -> list[Record]:
    """Records of some folds of a method, from a process beside this worker."""
    plan, pickled, limits, n_jobs = shared
    records: list[Record] = []
    _MethodRun(plan, pickled[name], limits, n_jobs).to_end(places, records.append)
    return records


class _MethodRun:
    """
    A process that works on folds of one method.

    Parameters
    ----------
    plan, limits, n_jobs
        As in `run_methods`.
    estimator : estimator or bytes
        The method, or what it is pickled to.
    """

    def __init__(
        self, plan: ComparisonPlan, estimator: Any, limits: ProcessLimits, n_jobs: int | None
    ) -> None:
        self.plan, self.limits, self.n_threads = plan, limits, n_threads(n_jobs)
        self.estimator = estimator if isinstance(estimator, bytes) else _pickled(estimator)

    def to_end(self, places: Sequence[Place], on_record: Callable[[Record], None]) -> None:
        """Work on folds in order until one fails; `on_record` gets each as it is done."""
        failures: list[Record] = []
        n_done = 0

        def take(line: str) -> None:
            nonlocal n_done
            record = json.loads(line)
            n_done += 1
            if record["failure"] is not None:
                failures.append(record)
                record["limits"] = [self.limits.seconds, self.limits.megabytes]
            on_record(record)

        with tempfile.TemporaryDirectory(prefix="retgk-compare-") as folder:
            path = Path(folder) / "order"
            path.write_bytes(pickle.dumps(self._order(places), pickle.HIGHEST_PROTOCOL))
            command = [*PROGRAM, str(path), str(self.limits.megabytes)]
            end = run_to_end(command, self.limits.seconds + _GRACE_SECONDS, take)
        if failures or n_done == len(places):
            return
        repetition, fold = places[n_done]
        on_record(
            {
                "repetition": repetition,
                "fold": fold,
                "failure": end.reason(self.limits),
                "by_limit": end.is_out_of_time or end.is_out_of_memory,
                "limits": [self.limits.seconds, self.limits.megabytes],
            }
        )

    def _order(self, places: Sequence[Place]) -> Order:
        """What the process is to do."""
        plan = self.plan
        folds = [(*place, plan.fold(place)) for place in places]
        return Order(
            plan.graphs,
            plan.targets,
            plan.regression,
            folds,
            self.limits.seconds,
            self.n_threads,
            self.estimator,
            sys.path,
        )


def _pickled(estimator: Any) -> bytes:
    """Pickle with what is defined in a script or notebook, as joblib does."""
    from joblib.externals.loky.backend.reduction import dumps

    return bytes(dumps(estimator))
