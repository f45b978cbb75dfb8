"""Whether targets are classes or values, where users leave it to us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from retgk.errors import InputWarning, InvalidInputError, Remedy, warn_user

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TaskKind", "is_regression"]

TaskKind = Literal["auto", "classification", "regression"]

_FEW_CLASSES, _MANY_CLASSES = 5, 20  # whole numbers up to the first are classes in any case
_SAY_WHICH = Remedy(
    "task",
    "pass task='regression' if they are values, or task='classification' if they are classes",
)


def is_regression(task: TaskKind, targets: NDArray[Any]) -> bool:
    """
    Whether targets are values to predict rather than classes.

    Numbers with fractions are values, and texts are classes. Whole numbers are classes, but where
    many are different it is asked.
    """
    if task not in get_args(TaskKind):
        raise InvalidInputError(f"task must be one of {get_args(TaskKind)}, got {task!r}")
    if task == "regression" and targets.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"targets such as {targets[0]!r} are no values to regress on; leave the task out"
        )
    if task != "auto":
        return task == "regression"
    if targets.dtype.kind == "f" and bool((targets % 1 != 0).any()):
        return True
    if targets.dtype.kind in "iuf":
        _ask_if_classes(targets)
    elif len(set(targets.tolist())) > max(_FEW_CLASSES, len(targets) / 2):
        raise InvalidInputError(
            f"targets are {len(set(targets.tolist()))} different texts for {len(targets)} graphs, "
            f"such as {targets[0]!r}, so that few graphs are of one class; name another column, or "
            "say that the task is classification if they are classes"
        )
    return False


def _ask_if_classes(targets: NDArray[Any]) -> None:
    """Refuse whole numbers of which few graphs have the same; warn of many different ones."""
    import numpy as np

    n_distinct = len(np.unique(targets))
    problem = f"targets are {n_distinct} different whole numbers for {len(targets)} graphs"
    if n_distinct > max(_FEW_CLASSES, len(targets) / 3):
        raise InvalidInputError(problem, _SAY_WHICH)
    if n_distinct > _MANY_CLASSES:
        warn_user(InputWarning(f"{problem}, taken for classes", _SAY_WHICH))
