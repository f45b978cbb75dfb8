"""
Signals that stop the program: it ends in good order, so that unfinished files are removed.

A signal raises an exception wherever Python is at that moment. In callbacks from compiled code,
and where objects are destroyed, exceptions get lost and the program would go on, or fail for want
of what the callback had to do. So the exception is raised
again and again until one is under way, and in the place of any error that comes after it.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import Any

__all__ = ["INTERRUPTED", "TERMINATED", "end_if_asked", "ending_on_signals"]

INTERRUPTED = 130  # 128 + SIGINT, as shells have it
TERMINATED = 143

_AGAIN_SECONDS = 0.1
_PATIENCE_SECONDS = 1.0  # some programs send a signal twice where one is meant
_HAS_TIMER = hasattr(signal, "setitimer")  # not on Windows: a second signal ends it there
_UNDER_WAY = (KeyboardInterrupt, SystemExit, GeneratorExit)


class _Stop:
    """The first signal that asked the program to stop, and what it raises."""

    def __init__(self) -> None:
        self.first = 0.0
        self.number: int | None = None

    def ask(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Begin to end; who asks a second time does not want to wait for good order."""
        if self.number is None:
            self.first, self.number = monotonic(), number
            if _HAS_TIMER:
                signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS, _AGAIN_SECONDS)
            self.end()
        if monotonic() - self.first > _PATIENCE_SECONDS:
            os._exit(INTERRUPTED if number == signal.SIGINT else TERMINATED)

    def ask_again(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Begin to end anew, unless the program is about it."""
        error = sys.exception()
        while error is not None:
            if isinstance(error, _UNDER_WAY):
                return
            error = error.__context__
        self.end()

    def end(self) -> None:
        """Raise what the signal stands for, if there was one."""
        if self.number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.number is not None:
            sys.exit(TERMINATED)

    def hear_of_lost(self, lost: Any) -> None:
        """Be silent about exceptions of our own that got lost: others will follow."""
        if self.number is None or not issubclass(lost.exc_type, _UNDER_WAY):
            sys.__unraisablehook__(lost)


_STOP = _Stop()


def end_if_asked() -> None:
    """Raise KeyboardInterrupt or SystemExit if a signal asked for it, also if that got lost."""
    _STOP.end()


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """End the block by KeyboardInterrupt on SIGINT, and by SystemExit on SIGTERM, without fail."""
    handlers = {signal.SIGTERM: _STOP.ask, signal.SIGINT: _STOP.ask}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's way with background jobs
        del handlers[signal.SIGINT]
    if _HAS_TIMER:
        handlers[signal.SIGALRM] = _STOP.ask_again
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    sys.unraisablehook = _STOP.hear_of_lost
    try:
        yield
        end_if_asked()
    finally:
        if _HAS_TIMER:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = sys.__unraisablehook__
