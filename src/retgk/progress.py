"""A progress bar for people; nothing for pipelines."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]

_QUIET_SECONDS = 2.0


@contextmanager
def progress_bar(description: str, total: float) -> Iterator[Callable[[float], None]]:
    """
    Show how far long work has come, on terminals and after two seconds only.

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
    if not sys.stderr.isatty():
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
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()
