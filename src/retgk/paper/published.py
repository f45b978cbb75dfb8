"""Numbers that the paper states."""

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

__all__ = ["Published", "published_accuracies", "published_methods", "published_times"]


class Published(NamedTuple):
    """Accuracy in per cent, and its standard deviation over ten repetitions."""

    accuracy: float
    deviation: float


def _rows(name: str) -> list[dict[str, str]]:
    path = resources.files("retgk.paper") / "published" / f"{name}.csv"
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


@cache
def published_accuracies(table: int) -> dict[tuple[str, str], Published]:
    """Accuracies of a table, by set and method."""
    return {
        (row["dataset"], row["method"]): Published(float(row["accuracy"]), float(row["std"]))
        for row in _rows("accuracies")
        if int(row["table"]) == table
    }


def published_methods(table: int) -> list[str]:
    """Methods of a table, in the order of its columns."""
    return list(dict.fromkeys(method for _, method in published_accuracies(table)))


@cache
def published_times() -> dict[tuple[int, str], str]:
    """Total time of kernel computation by table and method, as the paper writes it."""
    return {
        (int(row["table"]), row["method"]): row["total_time_of_kernel_computation"]
        for row in _rows("times")
    }
