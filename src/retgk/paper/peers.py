"""Kernels of GraKeL, each in a process that can be stopped by time and by memory."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retgk.datasets.storage import atomic_path
from retgk.paper.matrices import Matrix
from retgk.paper.records import key_of

__all__ = ["Limits", "PeerFailure", "peer_matrix"]

_GRACE_SECONDS = 120  # for loading and converting, which are not the peer's


@dataclass(frozen=True)
class Limits:
    """Seconds and megabytes that a peer may take for one matrix."""

    seconds: float = 600.0
    megabytes: float = 8000.0


class PeerFailure(Exception):  # noqa: N818
    """A peer was stopped, or failed by itself; the message says which."""


def peer_matrix(spec: Mapping[str, Any], folder: Path, limits: Limits) -> Matrix:
    """
    Kernel matrix of a peer, scaled to a diagonal of ones; from a file, or into it.

    Parameters
    ----------
    spec : mapping
        `dataset`, `deduplicate`, `data_home` (None or a path in text) and the `settings` of a
        method of kind "grakel".
    folder : Path
        Where matrices are kept; failures too, until limits are raised.
    limits : Limits
        When to stop.

    Returns
    -------
    Matrix
        With the seconds that GraKeL took, without loading and converting.
    """
    own = {name: spec[name] for name in ("dataset", "deduplicate", "settings")}
    path = folder / f"{spec['dataset']}-{spec['settings']['kernel']}-{key_of(own)}.npy"
    facts_path = path.with_suffix(".json")
    facts = json.loads(facts_path.read_text()) if facts_path.exists() else None
    if facts is None or _is_worth_a_second_try(facts, limits):
        folder.mkdir(parents=True, exist_ok=True)
        facts = _run(spec, path, limits)
        with atomic_path(facts_path) as unfinished:
            unfinished.write_text(json.dumps(facts))
    if facts["failure"]:
        raise PeerFailure(facts["failure"])
    return Matrix(np.load(path, mmap_mode="r"), facts["seconds"], {"peak_mb": facts["peak_mb"]})


def _is_worth_a_second_try(facts: Mapping[str, Any], limits: Limits) -> bool:
    if not facts["failure"]:
        return False
    return bool(facts["limits"][0] < limits.seconds or facts["limits"][1] < limits.megabytes)


def _run(spec: Mapping[str, Any], path: Path, limits: Limits) -> dict[str, Any]:
    order = {**spec, "path": str(path), "seconds": limits.seconds, "megabytes": limits.megabytes}
    process = subprocess.Popen(
        [sys.executable, "-m", "retgk.paper.peer_process", json.dumps(order)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that it can be stopped with all that it has started
    )
    try:
        output, errors = process.communicate(timeout=limits.seconds + _GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        return _failed(f"did not finish in {limits.seconds:.0f} s", limits)
    finally:
        _stop(process)
    lines = output.strip().splitlines()
    if process.returncode == 0 and lines:
        return {**json.loads(lines[-1]), "failure": None}
    return _failed(_reason(process.returncode, errors, limits), limits)


def _stop(process: "subprocess.Popen[str]") -> None:
    """Kill a process and its children, and wait for it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _failed(reason: str, limits: Limits) -> dict[str, Any]:
    return {"failure": reason, "limits": [limits.seconds, limits.megabytes]}


def _reason(code: int, errors: str, limits: Limits) -> str:
    if code in (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGALRM):
        return f"did not finish in {limits.seconds:.0f} s"
    last = errors.strip().splitlines()[-1] if errors.strip() else f"ended with code {code}"
    if "memory" in errors.lower() or code == -signal.SIGSEGV:
        return f"did not fit into {limits.megabytes:.0f} MB"
    return last[:200]
