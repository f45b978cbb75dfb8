"""Processes that compile parts of the package side by side: in one, numba takes turns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from time import perf_counter, sleep

from retgk.cli.failures import one_line
from retgk.errors import InvalidInputError

__all__ = ["compile_parts"]

_POLL_SECONDS = 0.02


def compile_parts(parts: Sequence[str], n_jobs: int | None) -> Iterator[tuple[str, float]]:
    """Name and seconds of every part, in the order in which they are done."""
    from retgk.runtime.parallel import n_threads

    waiting = list(parts)
    running: dict[str, tuple[subprocess.Popen[str], float]] = {}
    n_processes = n_threads(n_jobs)
    try:
        while waiting or running:
            while waiting and len(running) < n_processes:
                part = waiting.pop(0)
                running[part] = (_started(part), perf_counter())
            for part in [part for part, (process, _) in running.items() if _is_done(process)]:
                _, start = running.pop(part)
                yield part, perf_counter() - start
            sleep(_POLL_SECONDS)
    finally:
        for process, _ in running.values():
            process.kill()
            process.communicate()


def _started(part: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "retgk.cli.compiled", part],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _is_done(process: subprocess.Popen[str]) -> bool:
    """Whether a process has ended; an error if it ended badly."""
    if process.poll() is None:
        return False
    _, errors = process.communicate()
    if process.returncode != 0:
        last = one_line(ValueError(errors.strip().rpartition("\n")[2]))
        raise InvalidInputError(f"compiling failed: {last}")
    return True
