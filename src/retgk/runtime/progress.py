"""What people see of long work: a progress bar on terminals, nothing in pipelines."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

__all__ = ["is_progress_wanted", "no_progress", "progress_bar"]

_QUIET_SECONDS = 2.0

# "off": the user wants none; "shown": a bar is shown, and those inside of it are not
_PROGRESS: ContextVar[Literal["on", "off", "shown"]] = ContextVar("_PROGRESS", default="on")


def is_progress_wanted() -> bool:
    """Whether somebody sits at a terminal who did not switch progress off."""
    return _PROGRESS.get() != "off" and sys.stderr.isatty()


@contextmanager
def no_progress() -> Iterator[None]:
    """Show no further progress within the block."""
    before = _PROGRESS.set("shown" if _PROGRESS.get() == "shown" else "off")
    try:
        yield
    finally:
        _PROGRESS.reset(before)


@contextmanager
def progress_bar(description: str, total: float) -> Iterator[Callable[[float], None]]:
    """
    Show how far long work has come, on terminals and after two seconds only.

    A bar inside a bar is not shown: people wait for the outermost. The function that the block
    gets takes the amount of work just done, of `total` in all; any thread may call it.
    """
    if _PROGRESS.get() != "on" or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(description, total=total)
    start = time.monotonic()

    def advance(amount: float) -> None:
        bar.advance(task, amount)
        if not bar.live.is_started and time.monotonic() - start > _QUIET_SECONDS:
            bar.start()

    before = _PROGRESS.set("shown")
    try:
        yield advance
    finally:
        _PROGRESS.reset(before)
        if bar.live.is_started:
            bar.stop()
