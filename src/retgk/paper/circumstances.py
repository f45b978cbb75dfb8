"""What the numbers of a record depend on besides its settings."""

import hashlib
import platform
from datetime import UTC, datetime
from fnmatch import fnmatch
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from retgk.runtime.parallel import n_threads

__all__ = ["circumstances", "digest_of_code", "source_digest", "versions"]

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
_NOT_COMPUTING = (
    "cli/*", "models/*", "plot/*",
    "paper/curves.py", "paper/figure_1.py", "paper/published.py", "paper/report*.py",
    "paper/summaries.py",
)  # fmt: skip


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
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers come from; GraKeL's if it is there."""
    from retgk import __version__

    found = {package: version(package) for package in _PACKAGES}
    if find_spec("grakel"):
        found["grakel"] = version("grakel")
    return {"retgk": __version__, "python": platform.python_version(), **found}


@cache
def source_digest() -> str:
    """Digest of the code that accuracies come from: a version number stands for many of them."""
    return digest_of_code(Path(str(files("retgk"))))


def digest_of_code(package: Path) -> str:
    """Digest of all modules of a package but those that read records, or have no part in them."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not any(fnmatch(name, pattern) for pattern in _NOT_COMPUTING):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def circumstances(n_jobs: int | None) -> dict[str, Any]:
    """Versions, machine, threads and time."""
    return {
        "n_jobs": n_threads(n_jobs),
        "versions": {**versions(), "source": source_digest()},
        "machine": _machine(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
