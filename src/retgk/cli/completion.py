"""What the shell offers after a tab. Nothing heavy is imported here."""

import os
from collections.abc import Iterator
from pathlib import Path

from retgk.comparison.methods import METHODS
from retgk.io.datasets.download import TUDATASETS
from retgk.io.formats.graph_files import READABLE

__all__ = [
    "METRIC_NAMES",
    "data_set_names",
    "method_names",
    "metric_names",
    "model_files",
    "source_names",
]

METRIC_NAMES = (
    "accuracy", "balanced_accuracy", "roc_auc", "average_precision", "f1", "matthews_corrcoef",
    "log_loss", "r2", "rmse", "mae", "spearman",
)  # fmt: skip
"""Metrics of `retgk cv` and `retgk fit`."""


def data_set_names(incomplete: str) -> list[str]:
    """Names of TUDataset collections."""
    return [name for name in TUDATASETS if name.lower().startswith(incomplete.lower())]


def source_names(incomplete: str) -> list[str]:
    """Names of collections, and files that can be read."""
    names = [name for name in ("digits",) if name.startswith(incomplete)]
    return [*names, *data_set_names(incomplete), *_paths(incomplete, READABLE)]


def metric_names(incomplete: str) -> list[str]:
    """Names of metrics."""
    return [name for name in METRIC_NAMES if name.startswith(incomplete.lower())]


def method_names(incomplete: str) -> list[str]:
    """Names of methods to compare, the last of several with commas."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in METHODS if name.startswith(last.lower())]


def model_files(incomplete: str) -> list[str]:
    """Model files."""
    return list(_paths(incomplete, (".retgk",)))


def _paths(incomplete: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Files with these endings, and folders, whose path starts with what was typed."""
    folder, start = os.path.split(incomplete)
    try:
        found = sorted(Path(folder or ".").iterdir())
    except OSError:
        return
    for path in found:
        if path.name.startswith(start) and not (path.name.startswith(".") and not start):
            name = os.path.join(folder, path.name)
            if path.is_dir():
                yield f"{name}/"
            elif path.name.endswith(suffixes):
                yield name
