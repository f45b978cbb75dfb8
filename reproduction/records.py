"""
Records of the tables, which are lines of files of records (`retgk/_runtime/files.py`).

A record holds what was computed, and `provenance`: what its numbers depend on besides its settings.
"""

import hashlib
import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import retgk
from retgk._runtime.files import (
    modules_digest,
)
from retgk._runtime.parallel import n_threads

_PACKAGES = ("numpy", "scipy", "scikit-learn")
_PRESENTING = ("cli/*", "comparison/*", "explorer/*", "estimators/model_files.py", "plot.py")
_REPORTING = ("figures.py", "report*.py")  # fmt: skip
"""Modules that no accuracy depends on."""


def provenance(n_jobs: int | None) -> dict[str, Any]:
    return {
        "n_jobs": n_threads(n_jobs),
        "versions": {**package_versions(), "source": source_digest()},
        "machine": {"cpu": cpu_name(), "cores": n_threads(None)},
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@cache
def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers come from; PyTorch's if it is there."""
    from retgk import __version__

    versions = {package: version(package) for package in _PACKAGES}
    if find_spec("torch"):
        versions["torch"] = version("torch")
    return {"retgk": __version__, "python": platform.python_version(), **versions}


@cache
def source_digest() -> str:
    """Digest of the code that accuracies come from; many of them share one version number."""
    return code_digest(Path(retgk.__file__).parent, Path(__file__).parent)


def code_digest(package: Path, reproduction: Path) -> str:
    """Digest of the names and texts of all modules that compute, here and in the package."""
    parts = [modules_digest(package, _PRESENTING), modules_digest(reproduction, _REPORTING)]
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:12]
