"""What the numbers of a record depend on besides its settings."""

import hashlib
import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from retgk.parallel import n_threads

__all__ = ["circumstances", "source_digest"]

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
_COMPUTING = ("walks", "kernels", "embeddings", "estimators")
_PROTOCOLS = ("matrices", "nested", "protocols", "sources", "svm")


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


@cache
def source_digest() -> str:
    """Digest of the code that accuracies come from: a version number stands for many of them."""
    package = Path(str(files("retgk")))
    paths = [path for name in _COMPUTING for path in sorted((package / name).glob("*.py"))]
    paths += [package / "paper" / f"{name}.py" for name in _PROTOCOLS]
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def circumstances(n_jobs: int | None) -> dict[str, Any]:
    """Versions, machine, threads and time."""
    return {
        "n_jobs": n_threads(n_jobs),
        "versions": {**_versions(), "source": source_digest()},
        "machine": _machine(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
