"""A progress bar for people; nothing for pipelines."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["no_progress", "progress_bar"]

_QUIET_SECONDS = 2.0
_HIDDEN = ContextVar("_HIDDEN", default=False)


@contextmanager
def no_progress() -> Iterator[None]:
    """Show no progress bar within the block, terminal or not."""
    before = _HIDDEN.set(True)
    try:
        yield
    finally:
        _HIDDEN.reset(before)


@contextmanager
def progress_bar(description: str, total: float) -> Iterator[Callable[[float], None]]:
    """
    Show how far long work has come, on terminals and after two seconds only.

    Work within work shows nothing: the outermost bar is the one that people wait for.

    Parameters
    ----------
    description : str
        What is being done.
    total : float
        Amount of work.

    Yields
    ------
    callable
        To be called, from any thread, with the amount of work just done.
    """
    if _HIDDEN.get() or not sys.stderr.isatty():
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

    try:
        with no_progress():
            yield advance
    finally:
        if bar.live.is_started:
            bar.stop()
