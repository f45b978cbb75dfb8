"""Kernels of other authors, each in a process that can be stopped by time and by memory."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import numpy as np

from retgk.paper.records import key_of, source_digest
from retgk.paper.timed_matrices import Matrix
from retgk.runtime.storage import atomic_path

__all__ = ["PROGRAM", "READY", "Limits", "PeerFailure", "peer_matrix", "peer_report"]

READY = "ready"
"""What the process says when its graphs are loaded and the time of the kernel begins."""

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
    least_preparation_seconds : float
        Time for loading graphs and compiling, which is not the peer's; more for large sets.
    grace_seconds : float
        Time for imports and for writing the matrix.
    """

    seconds: float = 600.0
    megabytes: float = 8000.0
    least_preparation_seconds: float = 300.0
    grace_seconds: float = 120.0

    def are_raised(self, earlier: Sequence[float]) -> bool:
        """Whether what failed within earlier limits is worth a try: one is higher, none lower."""
        seconds, megabytes = earlier
        if self.seconds < seconds or self.megabytes < megabytes:
            return False
        return self.seconds > seconds or self.megabytes > megabytes

    @property
    def preparation_seconds(self) -> float:
        """Seconds to load graphs and compile."""
        return max(self.seconds, self.least_preparation_seconds)


class PeerFailure(Exception):  # noqa: N818
    """A peer was stopped, or failed by itself; the message says which."""


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
        Where matrices are kept; failures too, until limits are raised.
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
    if facts is None or (facts["failure"] and limits.are_raised(facts["limits"])):
        folder.mkdir(parents=True, exist_ok=True)
        facts = _new_report(spec, path, limits, program)
        with atomic_path(facts_path) as unfinished:
            unfinished.write_text(json.dumps(facts))
    if facts["failure"]:
        raise PeerFailure(facts["failure"])
    return facts, path


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
    seconds = limits.preparation_seconds + limits.seconds + limits.grace_seconds
    is_late = False
    read_end, write_end = (
        os.pipe()
    )  # nothing is written; its end tells the process that we are gone
    with (
        os.fdopen(read_end, "rb") as lifeline,
        os.fdopen(write_end, "wb"),
        # files, not pipes: those would be open for as long as any child of the process lives
        TemporaryFile("w+", errors="replace") as output,
        TemporaryFile("w+", errors="replace") as errors,
    ):
        process = subprocess.Popen(
            command,
            stdin=lifeline,
            stdout=output,
            stderr=errors,
            start_new_session=True,  # so that it can be stopped with all that it has started
        )
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            is_late = True
        finally:
            _stop(process)
        return _ProcessEnd(process.returncode, _content(output), _content(errors), is_late)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and its children, and wait for it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _content(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _failure_text(end: _ProcessEnd, limits: Limits) -> str:
    if end.is_late or end.code == -signal.SIGALRM:
        if READY in end.output.splitlines():
            return f"did not finish in {limits.seconds:.0f} s"
        return f"its graphs were not loaded in {limits.preparation_seconds:.0f} s"
    if end.code == -signal.SIGKILL:
        return "was killed from outside, probably because the machine ran out of memory"
    *_, error = ["", *end.errors.strip().splitlines()]  # lines above it name files, as memory.py
    if any(sign in error.lower() for sign in _SIGNS_OF_MEMORY) or end.code == -signal.SIGSEGV:
        return f"did not fit into {limits.megabytes:.0f} MB"
    if end.code < 0:
        return f"was ended by {signal.Signals(-end.code).name}"
    return error[:200] or f"ended with code {end.code}"
