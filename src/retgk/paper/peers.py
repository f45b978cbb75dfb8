"""Kernels of other authors, each in a process that can be stopped by time and by memory."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retgk.paper.records import key_of, source_digest
from retgk.paper.timed_matrices import Matrix
from retgk.runtime.limited_processes import ProcessLimits, run_to_end
from retgk.runtime.storage import atomic_path

__all__ = ["PROGRAM", "READY", "Limits", "PeerFailure", "peer_matrix", "peer_report"]

READY = "ready"
"""What the process says when its graphs are loaded and the time of the kernel begins."""

PROGRAM = (sys.executable, "-P", "-m", "retgk.paper.peer_process")
"""Command of the process, without modules of the current folder; gets its order as an argument."""


@dataclass(frozen=True)
class Limits(ProcessLimits):
    """
    What a peer may take for one matrix; its seconds are those of the kernel alone.

    Attributes
    ----------
    least_preparation_seconds : float
        Time for loading graphs, which is not the peer's; more for large sets.
    grace_seconds : float
        Time for imports and for writing the matrix.
    """

    least_preparation_seconds: float = 300.0
    grace_seconds: float = 120.0

    @property
    def preparation_seconds(self) -> float:
        """Seconds to load graphs and compile."""
        return max(self.seconds, self.least_preparation_seconds)


class PeerFailure(Exception):  # noqa: N818
    """A peer was stopped, by a limit or not, or failed by itself; the message says which."""

    def __init__(self, reason: str, by_limit: bool) -> None:
        super().__init__(reason)
        self.by_limit = by_limit


def peer_matrix(
    spec: Mapping[str, Any], folder: Path, limits: Limits, program: Sequence[str] = PROGRAM
) -> Matrix:
    """
    Kernel matrix of a peer, as it gives it; from a file, or into it.

    Parameters
    ----------
    spec : mapping
        `dataset`, `deduplicate`, `sources` (in text), the digest of the `graphs` that these give, a
        `seed`, the `settings` of a method of kind "native", and `n_jobs`.
    folder : Path
        Where matrices are kept; failures by a limit too, until limits are raised.
    limits : Limits
        When to stop.
    program : sequence of str
        Command to run in place of `retgk.paper.peer_process`.

    Returns
    -------
    Matrix
        With the seconds that the kernel took, without loading graphs.
    """
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
    """Have the program do its work; returns what it reports, or its failure."""
    order = {
        **spec,
        "path": str(path),
        "seconds": limits.seconds,
        "preparation_seconds": limits.preparation_seconds,
        "megabytes": limits.megabytes,
    }
    patience = limits.preparation_seconds + limits.seconds + limits.grace_seconds
    end = run_to_end([*program, json.dumps(order)], patience)
    if end.is_well:
        return {**json.loads(end.lines[-1]), "failure": None}
    reason = end.reason(limits)
    if end.is_out_of_time and READY not in end.lines:
        reason = f"its graphs were not loaded in {limits.preparation_seconds:.0f} s"
    return {
        "failure": reason,
        "by_limit": end.is_out_of_time or end.is_out_of_memory,
        "limits": [limits.seconds, limits.megabytes],
    }
