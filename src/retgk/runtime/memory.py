"""Memory of the machine and of this process: too little is an error before the work starts."""

import math
import os
import sys
from pathlib import Path

from retgk.errors import InvalidInputError, Remedy

__all__ = [
    "available_bytes",
    "check_room",
    "peak_megabytes",
    "physical_megabytes",
    "recorded_peak_megabytes",
]


def available_bytes() -> int | None:
    """Bytes of memory that are free without swapping; None where the system does not tell."""
    kilobytes = _kilobytes(Path("/proc/meminfo"), "MemAvailable:")
    if kilobytes is not None:
        return 1024 * kilobytes
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def check_room(n_bytes: int, what: str, remedy: Remedy) -> None:
    """Raise if a result of `n_bytes` does not fit into the free memory."""
    available = available_bytes()
    if available is not None and n_bytes > available:
        raise InvalidInputError(
            f"{what} takes {n_bytes / 2**30:.1f} GiB, but only {available / 2**30:.1f} GiB of "
            "memory are free",
            remedy,
        )


def physical_megabytes() -> float:
    """Memory that the machine has, free or not; a large number where it does not tell."""
    kilobytes = _kilobytes(Path("/proc/meminfo"), "MemTotal:")
    if kilobytes is not None:
        return kilobytes / 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (AttributeError, OSError, ValueError):
        return float(1 << 20)


def peak_megabytes() -> float:
    """Peak memory of this process so far; NaN where the system does not tell."""
    kilobytes = _kilobytes(Path("/proc/self/status"), "VmHWM:")
    if kilobytes is not None:
        return kilobytes / 1024
    try:
        import resource
    except ImportError:  # Windows
        return math.nan
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # begins with the parent's
    is_in_bytes = sys.platform == "darwin"  # in kilobytes elsewhere
    return peak / 2**20 if is_in_bytes else peak / 1024


def recorded_peak_megabytes() -> float | None:
    """Peak memory for a record, to a tenth; None where the system does not tell."""
    megabytes = peak_megabytes()
    return None if math.isnan(megabytes) else round(megabytes, 1)


def _kilobytes(table: Path, name: str) -> int | None:
    """Value of a line such as ``VmHWM:  1234 kB`` in a file of /proc; None without it."""
    if not table.exists():
        return None
    lines = table.read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), None)
