"""Room for large results: an error before the work rather than after it."""

import os
from pathlib import Path

from retgk.errors import InvalidInputError

__all__ = ["available_bytes", "check_room", "peak_megabytes"]


def available_bytes() -> int | None:
    """Bytes of memory that can be had without swapping; None where the system does not tell."""
    table = Path("/proc/meminfo")
    if table.exists():
        for line in table.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def check_room(n_bytes: int, what: str, advice: str) -> None:
    """
    Raise if a result cannot fit into memory.

    Parameters
    ----------
    n_bytes : int
        Size of the result.
    what : str
        What it is.
    advice : str
        What to do instead.
    """
    available = available_bytes()
    if available is not None and n_bytes > available:
        raise InvalidInputError(
            f"{what} takes {n_bytes / 2**30:.1f} GiB, but only {available / 2**30:.1f} GiB of "
            f"memory are free; {advice}"
        )


def peak_megabytes() -> float:
    """Peak memory of this process so far."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would start from that of the parent
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
