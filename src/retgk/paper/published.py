"""Numbers that the paper states."""

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

__all__ = [
    "N_REPETITIONS",
    "Published",
    "published_accuracies",
    "published_methods",
    "published_times",
    "published_words",
]

N_REPETITIONS = 10
"""Repetitions that every accuracy is the mean of."""
_COLUMNS = {
    1: ("WL", "GK", "DGK", "PSCN", "RetGK_I", "RetGK_II", "RetGK_II(MC)"),
    2: ("SP", "WL", "GK", "CSM", "DGCNN", "DGK", "PSCN", "RetGK_I", "RetGK_II"),
    3: ("HGK(WL)", "RetGK_I", "RetGK_II"),
    4: ("GIK", "CSM", "RetGK_I", "RetGK_II"),
}
"""As printed; few rows have a number in every column, so that rows do not tell the order."""


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
        if int(row["table"]) == table and row["std"]
    }


@cache
def published_words(table: int) -> dict[tuple[str, str], str]:
    """What stands in a table in place of an accuracy, by set and method."""
    return {
        (row["dataset"], row["method"]): row["accuracy"]
        for row in _rows("accuracies")
        if int(row["table"]) == table and not row["std"]
    }


def published_methods(table: int) -> list[str]:
    """Methods of a table, in the order of its columns."""
    return list(_COLUMNS[table])


@cache
def published_times() -> dict[tuple[int, str], str]:
    """Total time of kernel computation by table and method, as the paper writes it."""
    return {
        (int(row["table"]), row["method"]): row["total_time_of_kernel_computation"]
        for row in _rows("times")
    }
