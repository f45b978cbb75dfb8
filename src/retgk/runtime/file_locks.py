"""Locks on open files, which the system lifts when the process that holds them ends."""

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["lock_at_once"]


def lock_at_once(descriptor: int) -> bool | None:
    """Lock an open file: whether that went well, or None where the system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True
