"""What the numbers of a record depend on besides its settings."""

import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from retgk.parallel import n_threads

__all__ = ["circumstances"]

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


@cache
def _machine() -> dict[str, Any]:
    """What the seconds of a record depend on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return {"cpu": model, "cores": n_threads(None)}


@cache
def _versions() -> dict[str, str]:
    from retgk import __version__

    found = {package: version(package) for package in _PACKAGES}
    if find_spec("grakel"):
        found["grakel"] = version("grakel")
    return {"retgk": __version__, "python": platform.python_version(), **found}


def circumstances(n_jobs: int | None) -> dict[str, Any]:
    """Versions, machine, threads and time."""
    return {
        "n_jobs": n_threads(n_jobs),
        "versions": _versions(),
        "machine": _machine(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
