"""
Kill the program at random moments while it writes, and look at what it leaves.

``python -m benchmarks.kill_campaign --kills 200 --seed 0``

Every job is first run undisturbed. Then it is started and killed (SIGKILL) again and again: at any
moment of its life, or, every other time, just after it begins to write. After each kill an output
is absent, the older one, or whole. Every few kills the job is run to its end: then outputs have
the bits of the undisturbed run, and nothing else lies in the folder. Jobs are forked from a process
that has everything imported, so that kills meet work rather than imports.
"""

import argparse
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from retgk import GraphDataset, RetGK, read_graphs
from retgk.datasets import make_graph_classification, save_tudataset
from retgk.io import write_parquet

IMPORTED = (
    "retgk.cli.main", "retgk.estimators.classifier", "retgk.estimators.gram_file",
    "retgk.estimators.embedding", "retgk.estimators.model_files", "reproduction.__main__",
    "reproduction.runner", "retgk.io.tudataset", "pyarrow.parquet",
    "sklearn.svm", "sklearn.model_selection", "networkx", "scipy.sparse.linalg",
)  # fmt: skip
N_GRAPHS = 300
OLD = b"an older file"
KILLS_IN_A_ROW = 4
POLL_SECONDS = 0.0005
FAST = ["--C", "1", "--p", "1", "--scale", "1"]


def run_program(*arguments: str, is_reproduction: bool = False) -> None:
    """Run `retgk`, or `python -m reproduction`, in this process."""
    from reproduction.__main__ import paper_app
    from retgk.cli import main

    sys.argv = ["retgk", *arguments]
    main.run_program(paper_app if is_reproduction else main.app, "retgk")


def write_slow_gram(source: Path, target: Path) -> None:
    """Write a matrix in many blocks, with time for a kill in each."""
    from retgk.estimators import gram_file
    from retgk.kernels.exact import ExactEngine

    products = ExactEngine.inner_products

    def slow_products(*arguments: Any) -> Any:
        time.sleep(0.02)
        return products(*arguments)

    gram_file.BLOCK_BYTES = 8 * N_GRAPHS * 20
    ExactEngine.inner_products = slow_products
    graphs, kernel = read_graphs(source).graphs, RetGK(random_state=0)
    gram_file.write_mean_embedding_gram(target, graphs, kernel=kernel)


def forked(work: Callable[[], None], log: Path) -> int:
    """Do some work in a process of its own, which writes what it says to a file; its number."""
    if process := os.fork():
        return process
    code = 1
    try:
        said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        work()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def content(path: Path) -> Any:
    """What a file holds; of an archive its members, of records what does not depend on time."""
    if path.is_dir():
        return {str(each.relative_to(path)): content(each) for each in path.rglob("*.*")}
    if path.suffix == ".jsonl":
        records = [json.loads(line) for line in path.read_bytes().splitlines()]
        return {record["key"]: record["accuracies"] for record in records}
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    return path.read_bytes()


@dataclass
class Job:
    """Some work, its outputs in the folder, and what else may lie there until it is done."""

    name: str
    work: Callable[[], None]
    outputs: Sequence[str]
    resumable: Sequence[str] = ()
    may_replace: bool = True
    """Whether an older file of that name is there at first."""
    is_whole: Callable[[Any, Any], bool] = field(default=lambda found, whole: found == whole)


def are_some_records(found: Any, whole: Any) -> bool:
    """Whether records are some of those of the undisturbed run."""
    return bool(found.items() <= whole.items())


def jobs(inputs: Path, out: Path) -> list[Job]:
    source, sets = inputs / "many.parquet", inputs / "sets"

    def command(name: str, *arguments: str) -> Callable[[], None]:
        return partial(run_program, name, str(source), *arguments)

    def table(name: str, file: str, *options: str) -> Job:
        return Job(name, command(name, *options, "-o", str(out / file)), [file])

    new = {"may_replace": False}
    gram = ["g.npy.partial", "g.npy.partial.json"]
    paper = ["run", "--table", "2", "--dataset", "MUTAG", "--method", "RetGK_I,RetGK_II"]
    paper += ["--repetitions", "2", "--data", str(sets)]
    paper += ["--records", str(out / "r.jsonl"), "--cache", str(out / "cache")]
    return [
        table("fit", "m.retgk", *FAST),
        *[table("kernel", f"k.{ending}") for ending in ("npy", "csv", "parquet")],
        table("embed", "e.npz", "-D", "50"),
        table("embed", "e.json", "-D", "50"),
        table("features", "f.csv"),
        Job("convert parquet", command("convert", str(out / "c.parquet")), ["c.parquet"]),
        Job("convert tu", command("convert", str(out / "C.zip")), ["C.zip"], ["C.zip.sha256"]),
        Job("convert graphml", command("convert", str(out / "c"), "--to", "graphml"), ["c"], **new),
        Job(
            "gram",
            partial(write_slow_gram, source, out / "g.npy"),
            ["g.npy"],
            gram,
            **new,
        ),
        Job(
            "paper",
            partial(run_program, *paper, is_reproduction=True),
            ["r.jsonl"],
            ["cache"],
            may_replace=False,
            is_whole=are_some_records,
        ),
    ]


def make_inputs(folder: Path) -> None:
    data = make_graph_classification(N_GRAPHS, n_attributes=3, n_nodes=(6, 20), rng=0)
    write_parquet(GraphDataset(data.graphs, data.targets, "many"), folder / "many.parquet")
    (folder / "sets").mkdir()
    few = make_graph_classification(60, n_labels=3, n_nodes=(6, 12), rng=0)
    save_tudataset(GraphDataset(few.graphs, few.targets, "MUTAG"), folder / "sets")


def _wait_for(condition: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(POLL_SECONDS)


class Campaign:
    """Kills of one job after the other, and what was wrong after them."""

    def __init__(self, job: Job, out: Path, dice: random.Random) -> None:
        self.job, self._out, self._dice = job, out, dice
        self.wrong: list[str] = []
        self.states: Counter[str] = Counter()
        start = time.perf_counter()
        self._run_to_end()
        self._seconds = time.perf_counter() - start
        self._whole = {name: content(out / name) for name in job.outputs}
        self._begin_anew()

    def kill(self, n_kills: int) -> None:
        """Kill the job some times, and look after each; then let it come to its end."""
        while n_kills:
            n_kills -= self._is_killed()
            self._look(after="a kill")
            if self._is_finished() and not self.job.may_replace:
                self._run_to_end()
                self._look(after="the next run", is_done=True)
                self._begin_anew()
        self._run_to_end()
        self._look(after="the next run", is_done=True)
        self._begin_anew()

    def _begin_anew(self) -> None:
        shutil.rmtree(self._out)
        self._out.mkdir()
        if self.job.may_replace:
            for name in self.job.outputs:
                (self._out / name).write_bytes(OLD)

    def _run_to_end(self) -> None:
        is_there = not self.job.may_replace and self._is_finished()
        log = self._out.with_name("log")
        _, status = os.waitpid(forked(self.job.work, log), 0)
        said = log.read_text(errors="replace")
        if status and not (is_there and "exists; remove it" in said):
            self.wrong.append(f"{self.job.name} cannot go on: {said[-500:]}")

    def _is_finished(self) -> bool:
        """Whether the job has nothing left to do; records may still lack some."""
        if self.job.is_whole is are_some_records:
            return self._state(self._out / self.job.outputs[0]) == "whole"
        return all((self._out / name).exists() for name in self.job.outputs)

    def _is_killed(self) -> bool:
        """Start the job and kill it, unless it comes to its end before."""
        before = set(self._paths())
        process = forked(self.job.work, self._out.with_name("log"))

        def has_ended() -> bool:
            return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

        if self._dice.random() < 0.5:
            _wait_for(has_ended, self._dice.uniform(0, self._seconds))
        else:
            _wait_for(lambda: self._is_writing(before) or has_ended(), 60)
            time.sleep(self._dice.choice([0, 0, 0.001, 0.005, 0.02, 0.1]))
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        is_killed = os.WIFSIGNALED(status)
        self.states["killed" if is_killed else "ended first"] += 1
        return is_killed

    def _is_writing(self, before: set[Path]) -> bool:
        return any(path not in before for path in self._paths())

    def _paths(self) -> list[Path]:
        """What lies in the folder; a folder may go while it is looked at."""
        found = os.walk(self._out)
        return [Path(own, name) for own, dirs, files in found for name in (*dirs, *files)]

    def _look(self, after: str, is_done: bool = False) -> None:
        """Note outputs that are neither absent, old nor whole, and files that are no outputs."""
        for name in self.job.outputs:
            state = self._state(self._out / name)
            if state == "broken" or (is_done and state != "whole"):
                self.wrong.append(f"{self.job.name}: {name} is {state} after {after}")
            self.states[state] += not is_done
        names = {path.name for path in self._out.iterdir()} - {*self.job.outputs}
        parts = {name for name in names if name.endswith(".retgk.part")}
        known = {name for name in self.job.resumable if not (is_done and name.startswith("g.npy"))}
        strays = names - known - (set() if is_done else parts)
        if strays:
            self.wrong.append(f"{self.job.name}: {sorted(strays)} lie there after {after}")
        self.states["with parts"] += bool(parts) and not is_done
        if is_done:
            self.wrong += [f"{self.job.name}: {path} stays" for path in self._deep_parts()]

    def _deep_parts(self) -> list[Path]:
        endings = (".retgk.part", ".partial", ".partial.json")
        return [path for path in self._out.rglob("*") if path.name.endswith(endings)]

    def _state(self, path: Path) -> str:
        if not path.exists():
            return "absent"
        if path.suffix == ".jsonl":
            return self._state_of_records(path)
        found = content(path)
        if found == OLD:
            return "old"
        return "whole" if self.job.is_whole(found, self._whole[path.name]) else "broken"

    def _state_of_records(self, path: Path) -> str:
        """Lines before the last are whole records; the last may be cut short by a kill."""
        lines = path.read_bytes().split(b"\n")[:-1]
        records = {each["key"]: each["accuracies"] for each in map(json.loads, lines)}
        whole = self._whole[path.name]
        if records == whole:
            return "whole"
        return "absent" if self.job.is_whole(records, whole) else "broken"


def run(n_kills: int, seed: int, only: Sequence[str] = ()) -> list[str]:
    """Kill jobs in turn, so many times in all; print what was seen, return what is wrong."""
    for name in IMPORTED:
        importlib.import_module(name)
    dice = random.Random(seed)
    wrong: list[str] = []
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="retgk-kills-") as folder:
        inputs, out = Path(folder) / "inputs", Path(folder) / "out"
        inputs.mkdir()
        out.mkdir()
        make_inputs(inputs)
        chosen = [job for job in jobs(inputs, out) if not only or job.name in only]
        shares = [n_kills // len(chosen) + (i < n_kills % len(chosen)) for i in range(len(chosen))]
        for job, share in zip(chosen, shares, strict=True):
            campaign = Campaign(job, out, dice)
            for first in range(0, share, KILLS_IN_A_ROW):
                campaign.kill(min(KILLS_IN_A_ROW, share - first))
            shutil.rmtree(out)
            out.mkdir()
            states = ", ".join(f"{state} {n}" for state, n in sorted(campaign.states.items()) if n)
            print(f"{job.name} {job.outputs[0]}: {states}; wrong {len(campaign.wrong)}", flush=True)
            wrong += campaign.wrong
            seen += campaign.states
    print(
        f"{seen['killed']} kills, {seen['ended first']} ended before; wrong: {len(wrong)}",
        *wrong,
        sep="\n",
    )
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", default=[], help="Name of a job.")
    options = parser.parse_args()
    sys.exit(bool(run(options.kills, options.seed, options.only)))


if __name__ == "__main__":
    main()
