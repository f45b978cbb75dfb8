"""Kernels of GraKeL, each in a process that can be stopped by time and by memory."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retgk.paper.records import key_of, package_versions, source_digest
from retgk.paper.timed_matrices import Matrix
from retgk.runtime.storage import atomic_path

__all__ = ["PROGRAM", "READY", "Limits", "PeerFailure", "peer_matrix"]

READY = "ready"
"""What the process says when its graphs are converted and the time of the kernel begins."""

PROGRAM = (sys.executable, "-m", "retgk.paper.peer_process")
"""Command of the process; it gets its order as one more argument."""

_SIGNS_OF_MEMORY = ("memory", "bad_alloc", "failed to map segment", "can't start new thread")


@dataclass(frozen=True)
class Limits:
    """
    What a peer may take for one matrix.

    Attributes
    ----------
    seconds : float
        Of the kernel alone.
    megabytes : float
        Of the whole process.
    least_conversion_seconds : float
        Time for loading and converting graphs, which is not the peer's; more for large sets.
    grace_seconds : float
        Time for imports and for writing the matrix.
    """

    seconds: float = 600.0
    megabytes: float = 8000.0
    least_conversion_seconds: float = 300.0
    grace_seconds: float = 120.0

    def are_raised(self, earlier: Sequence[float]) -> bool:
        """Whether what failed within earlier limits is worth a try: one is higher, none lower."""
        seconds, megabytes = earlier
        if self.seconds < seconds or self.megabytes < megabytes:
            return False
        return self.seconds > seconds or self.megabytes > megabytes

    @property
    def conversion_seconds(self) -> float:
        """Seconds to load and convert graphs."""
        return max(self.seconds, self.least_conversion_seconds)


class PeerFailure(Exception):  # noqa: N818
    """A peer was stopped, or failed by itself; the message says which."""


def peer_matrix(
    spec: Mapping[str, Any], folder: Path, limits: Limits, program: Sequence[str] = PROGRAM
) -> Matrix:
    """
    Kernel matrix of a peer, scaled to a diagonal of ones; from a file, or into it.

    Parameters
    ----------
    spec : mapping
        `dataset`, `deduplicate`, `data_home` (None or a path in text), the digest of the `graphs`
        that these give, and the `settings` of a method of kind "grakel".
    folder : Path
        Where matrices are kept; failures too, until limits are raised.
    limits : Limits
        When to stop.
    program : sequence of str
        Command to run in place of `retgk.paper.peer_process`.

    Returns
    -------
    Matrix
        With the seconds that GraKeL took, without loading and converting, in one thread.
    """
    own = {name: spec[name] for name in ("graphs", "settings")}
    own |= {"code": source_digest(), "grakel": package_versions().get("grakel")}
    path = folder / f"{spec['dataset']}-{spec['settings']['kernel']}-{key_of(own)}.npy"
    facts_path = path.with_suffix(".json")
    facts = json.loads(facts_path.read_text()) if facts_path.exists() else None
    if facts is None or (facts["failure"] and limits.are_raised(facts["limits"])):
        folder.mkdir(parents=True, exist_ok=True)
        facts = _make_matrix(spec, path, limits, program)
        with atomic_path(facts_path) as unfinished:
            unfinished.write_text(json.dumps(facts))
    if facts["failure"]:
        raise PeerFailure(facts["failure"])
    products = np.load(path, mmap_mode="r")
    return Matrix(products, facts["seconds"], {"peak_mb": facts["peak_mb"], "n_jobs": 1})


def _make_matrix(
    spec: Mapping[str, Any], path: Path, limits: Limits, program: Sequence[str]
) -> dict[str, Any]:
    """Have the program write the matrix; returns what it reports, or its failure."""
    order = {
        **spec,
        "path": str(path),
        "seconds": limits.seconds,
        "conversion_seconds": limits.conversion_seconds,
        "megabytes": limits.megabytes,
    }
    end = _run_to_end([*program, json.dumps(order)], limits)
    if end.code == 0 and not end.is_late:
        return {**json.loads(end.output.strip().splitlines()[-1]), "failure": None}
    return {"failure": _failure_text(end, limits), "limits": [limits.seconds, limits.megabytes]}


class _ProcessEnd(NamedTuple):
    """How a process ended, and what it wrote."""

    code: int
    output: str
    errors: str
    is_late: bool


def _run_to_end(command: Sequence[str], limits: Limits) -> _ProcessEnd:
    """Run a command to its end; it stops itself in time, or else is killed a while later."""
    seconds = limits.conversion_seconds + limits.seconds + limits.grace_seconds
    is_late = False
    read_end, write_end = (
        os.pipe()
    )  # nothing is written; its end tells the process that we are gone
    with os.fdopen(read_end, "rb") as lifeline, os.fdopen(write_end, "wb"):
        process = subprocess.Popen(
            command,
            stdin=lifeline,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that it can be stopped with all that it has started
        )
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            is_late = True
        finally:
            output, errors = _stop(process)
    return _ProcessEnd(process.returncode, output, errors, is_late)


def _stop(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """Kill a process and its children, wait for it, and return all that it wrote."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()


def _failure_text(end: _ProcessEnd, limits: Limits) -> str:
    if end.is_late or end.code == -signal.SIGALRM:
        if READY in end.output.splitlines():
            return f"did not finish in {limits.seconds:.0f} s"
        return f"its graphs were not loaded and converted in {limits.conversion_seconds:.0f} s"
    if end.code == -signal.SIGKILL:
        return "was killed from outside, probably because the machine ran out of memory"
    *_, error = ["", *end.errors.strip().splitlines()]  # lines above it name files, as memory.py
    if any(sign in error.lower() for sign in _SIGNS_OF_MEMORY) or end.code == -signal.SIGSEGV:
        return f"did not fit into {limits.megabytes:.0f} MB"
    if end.code < 0:
        return f"was ended by {signal.Signals(-end.code).name}"
    return error[:200] or f"ended with code {end.code}"
