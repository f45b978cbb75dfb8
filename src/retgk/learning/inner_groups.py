"""
Groups and the folds that a model makes itself: how `fit` gets them, and whether folds keep to them.

Models of this package take groups as an argument of `fit`. Searches of scikit-learn take them among
`**params`, hand them to their splitter, and do not mind if that takes no notice of them.
"""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_keeps_groups", "folds_without_groups", "group_arguments"]

# Parameters that searches and RFECV have, and no other estimator of scikit-learn that has a cv:
# those others raise if they are given groups.
_ONLY_OF_SEARCHES = ("error_score", "min_features_to_select")
_USUAL_FOLDS = 5


def group_arguments(model: Any, groups: NDArray[Any] | None) -> dict[str, Any]:
    """Arguments of `fit` that bring groups to the folds of a model; none if it takes no groups."""
    path, part = _part_with_groups(model)
    return {} if part is None or groups is None else {f"{path}groups": groups}


def folds_without_groups(model: Any) -> list[str]:
    """Names of the parameters `cv` of a model and of its parts whose folds get no groups."""
    path, part = _part_with_groups(model)
    reached = None if part is None else f"{path}cv"
    return [
        name
        for name, cv in model.get_params(deep=True).items()
        if name.rpartition("__")[2] == "cv" and name != reached and not isinstance(cv, str)
    ]


def check_keeps_groups(model: Any, targets: NDArray[Any], groups: NDArray[Any]) -> None:
    """Raise if a splitter of a model, which gets the groups, has one on both sides of a fold."""
    path, part = _part_with_groups(model)
    cv = getattr(part, "cv", None)
    if part is None or not (_is_search(part) or hasattr(cv, "split")):
        return  # a number of folds means folds of groups to all others that take groups
    for fold in _inner_folds(part, cv, targets, groups):
        try:
            train, test = (set(groups[positions].tolist()) for positions in fold)
        except (IndexError, ValueError):  # no fold of these graphs, of which `fit` tells
            return
        both = train & test
        if both:
            n_folds = cv if isinstance(cv, int) else _USUAL_FOLDS
            raise InvalidInputError(
                f"there are groups, but {path}cv={cv!r:.80} of {type(part).__name__} takes no "
                f"notice of them: it trains on graphs of group {min(both, key=str)!r} and tests "
                f"others of it; give cv=GroupKFold({n_folds}), or leave groups out"
            )


def _inner_folds(
    part: Any, cv: Any, targets: NDArray[Any], groups: NDArray[Any]
) -> list[tuple[Any, Any]]:
    """Folds that a model will make; none if they cannot be made, of which its `fit` tells."""
    from copy import deepcopy
    from warnings import catch_warnings, simplefilter

    import numpy as np
    from sklearn.base import is_classifier
    from sklearn.model_selection import check_cv

    with catch_warnings():
        simplefilter("ignore")  # that groups are ignored, which is an error here
        try:
            # a copy: one with a generator of random numbers would give other folds to `fit`
            splitter = check_cv(deepcopy(cv), targets, classifier=is_classifier(part))
            return list(splitter.split(np.zeros(len(targets)), targets, groups))
        except (ValueError, TypeError):
            return []


def _part_with_groups(model: Any) -> tuple[str, Any]:
    """Model or last step of a pipeline that takes groups, after the beginning of its names."""
    from sklearn.pipeline import Pipeline

    if _is_search(model) or "groups" in signature(model.fit).parameters:
        return "", model
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        if hasattr(last, "fit"):
            path, part = _part_with_groups(last)
            return f"{name}__{path}", part
    return "", None


def _is_search(model: Any) -> bool:
    """Whether a model is a search in the manner of scikit-learn, whose `fit` takes any names."""
    own = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    if "cv" not in own or not any(name in own for name in _ONLY_OF_SEARCHES):
        return False
    kinds = {parameter.kind for parameter in signature(model.fit).parameters.values()}
    return Parameter.VAR_KEYWORD in kinds
