"""Kernels of other authors, by the columns of the tables that they fill."""

import json
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.graphs import Sources, load_paper_set
from reproduction.records import source_digest
from reproduction.timed_matrices import Matrix
from retgk._runtime.files import atomic_path, key_of
from retgk._runtime.processes import (
    ProcessLimits,
    end_with_parent,
    limit_memory,
    recorded_peak_megabytes,
    run_to_end,
    time_limit,
)
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.kernels import node as node_kernels
from retgk.learning.paper_protocol import Targets

COLUMNS = {
    "WL": "weisfeiler_lehman.WeisfeilerLehman",
    "SP": "shortest_path.ShortestPath",
    "GK": "graphlets.Graphlets",
    "CSM": "subgraph_matching.SubgraphMatching",
    "DGK": "deep_graph.DeepGraph",
    "HGK(WL)": "hash_graph.HashGraph",
    "GIK": "graph_invariant.GraphInvariant",
}
"""Modules of `retgk.kernels.others` and their classes, by column."""

_NOT_OF_THE_KERNEL = {"kind", "kernel", "uses_labels", "uses_attributes", "draws", "n_nodes"}


def peer_kernel(
    settings: Mapping[str, Any], graphs: GraphBatch, seed: int = 0, n_jobs: int | None = None
) -> Any:
    """Make the kernel of a method of kind "native", not fitted."""
    column = settings["kernel"]
    module, _, name = COLUMNS[column].partition(".")
    kind = getattr(import_module(f"retgk.kernels.others.{module}"), name)
    known = signature(kind).parameters
    own = {
        name: _plain_or_kernel(value)
        for name, value in settings.items()
        if name not in _NOT_OF_THE_KERNEL
    }
    unknown = sorted(own.keys() - known.keys())
    if unknown:
        raise InvalidInputError(
            f"{kind.__name__} has no parameter {unknown[0]!r}; choose from {', '.join(known)}"
        )
    start = "labels" if graphs.has_labels else "degrees"
    given = {"start": start, "random_state": seed, "n_jobs": n_jobs}
    return kind(**{name: given[name] for name in given if name in known} | own)


def _plain_or_kernel(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    ((name, argument),) = value.items()
    return getattr(node_kernels, name)(argument)


# Kernels of other authors, each in a process that can be stopped by time and by memory.

READY = "ready"
"""What the process says when its graphs are loaded and the time of the kernel begins."""

_START = (
    f"import runpy, sys; sys.path.append({str(Path(__file__).parents[1])!r}); "
    f"runpy.run_module('reproduction.peers', run_name='__main__')"
)
PROGRAM = (sys.executable, "-P", "-c", _START)
"""Command of the process, without modules of the current folder; gets its order as an argument."""


@dataclass(frozen=True)
class Limits(ProcessLimits):
    """What a peer may take for one matrix; its seconds are those of the kernel alone."""

    least_preparation_seconds: float = 300.0
    """For loading graphs, which is not the peer's work; more for large sets."""
    grace_seconds: float = 120.0
    """For imports, and for writing the matrix."""

    @property
    def preparation_seconds(self) -> float:
        return max(self.seconds, self.least_preparation_seconds)


class PeerFailure(Exception):  # noqa: N818
    """A peer was stopped, by a limit or not, or failed by itself; the message says which."""

    def __init__(self, reason: str, by_limit: bool) -> None:
        super().__init__(reason)
        self.by_limit = by_limit


def peer_matrix(
    spec: Mapping[str, Any], folder: Path, limits: Limits, program: Sequence[str] = PROGRAM
) -> Matrix:
    facts, path = peer_report(spec, folder, limits, program)
    return Matrix(np.load(path, mmap_mode="r"), facts["seconds"], {"peak_mb": facts["peak_mb"]})


def peer_report(
    spec: Mapping[str, Any], folder: Path, limits: Limits, program: Sequence[str] = PROGRAM
) -> tuple[dict[str, Any], Path]:
    """What the process of a peer reports, and the path that it may write a matrix to; kept."""
    own = {name: value for name, value in spec.items() if name not in _OF_NO_EFFECT}
    key = key_of({**own, "code": source_digest()})
    path = folder / f"{spec['dataset']}-{spec['settings']['kernel']}-{key}.npy"
    facts_path = path.with_suffix(".json")
    facts = json.loads(facts_path.read_text()) if facts_path.exists() else None
    if facts is None or _is_worth_trying(facts, limits) or _lacks_matrix(facts, path):
        folder.mkdir(parents=True, exist_ok=True)
        facts = _new_report(spec, path, limits, program)
        with atomic_path(facts_path, follow_links=False) as unfinished:
            unfinished.write_text(json.dumps(facts))
    if facts["failure"]:
        raise PeerFailure(facts["failure"], facts["by_limit"])
    return facts, path


def _is_worth_trying(facts: Mapping[str, Any], limits: Limits) -> bool:
    """Whether it failed, and limits are higher now or it was bad luck, such as a kill."""
    if not facts["failure"]:
        return False
    return not facts.get("by_limit", False) or limits.are_raised(facts["limits"])


def _lacks_matrix(facts: Mapping[str, Any], path: Path) -> bool:
    """Whether a matrix was made and is gone; networks, which report folds, have none."""
    return not facts["failure"] and "folds" not in facts and not path.exists()


_OF_NO_EFFECT = ("dataset", "deduplicate", "sources", "n_jobs")
"""Parts of a spec that the digest of its graphs stands for, and threads."""


def _new_report(
    spec: Mapping[str, Any], path: Path, limits: Limits, program: Sequence[str]
) -> dict[str, Any]:
    order = {
        **spec,
        "path": str(path),
        "seconds": limits.seconds,
        "preparation_seconds": limits.preparation_seconds,
        "megabytes": limits.megabytes,
    }
    patience = limits.preparation_seconds + limits.seconds + limits.grace_seconds
    end = run_to_end([*program, json.dumps(order)], patience)
    if end.succeeded:
        return {**json.loads(end.lines[-1]), "failure": None}
    reason = end.reason(limits)
    if end.is_out_of_time and READY not in end.lines:
        reason = f"its graphs were not loaded in {limits.preparation_seconds:.0f} s"
    return {
        "failure": reason,
        "by_limit": end.is_out_of_time or end.is_out_of_memory,
        "limits": [limits.seconds, limits.megabytes],
    }


# One method of other authors on one set: ``python -m reproduction.peers ORDER``.
#
# A process of its own, so that it can be stopped. The order is JSON, see `reproduction.peers`. A
# line of the output says when the kernel begins; the last is JSON with the seconds that it took.


def load_graphs(order: Mapping[str, Any]) -> tuple[GraphBatch, Targets]:
    """Load the graphs that are ordered, and their classes; labels of edges have no part."""
    settings = order["settings"]
    data = load_paper_set(
        order["dataset"],
        Sources.from_text(order["sources"]),
        uses_labels=settings["uses_labels"],
        uses_attributes=settings["uses_attributes"],
        deduplicate=order["deduplicate"],
        seed=order["seed"],
    )
    return data.graphs.without_edge_labels(), data.targets


def main(text: str) -> None:
    """Do what is ordered, and print what it took."""
    warnings.simplefilter("ignore")  # of attributes, which are the paper's
    order = json.loads(text)
    end_with_parent()
    limit_memory(order["megabytes"])
    is_network = order["settings"]["kind"] == "network"
    report = _network_report(order) if is_network else _matrix_report(order)
    print(json.dumps({**report, "peak_mb": recorded_peak_megabytes()}))


def _matrix_report(order: Mapping[str, Any]) -> dict[str, Any]:
    with time_limit(order["preparation_seconds"]):
        graphs, _ = load_graphs(order)
        kernel = peer_kernel(order["settings"], graphs, order["seed"], order["n_jobs"])
    print(READY, flush=True)
    with time_limit(order["seconds"]):
        start = time.perf_counter()
        matrix = np.asarray(kernel.fit_transform(graphs), dtype=np.float64)
        seconds = time.perf_counter() - start
    path = Path(order["path"])
    with atomic_path(path, follow_links=False) as unfinished, unfinished.open("wb") as file:
        np.save(file, matrix)
    return {"seconds": {"rpf": 0.0, "gram": seconds}}


def _network_report(order: Mapping[str, Any]) -> dict[str, Any]:
    from reproduction.networks.training import network_results

    with time_limit(order["preparation_seconds"]):
        graphs, targets = load_graphs(order)
    print(READY, flush=True)
    with time_limit(order["seconds"]):
        start = time.perf_counter()
        settings, seed = order["settings"], order["seed"]
        folds = network_results(graphs, targets, settings, seed, order["n_jobs"])
        seconds = time.perf_counter() - start
    return {"folds": [asdict(fold) for fold in folds], "seconds": {"training": seconds}}


if __name__ == "__main__":
    main(sys.argv[1])
