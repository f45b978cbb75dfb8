"""Parameters of models, as JSON and back, within bounds that no honest model leaves."""

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np

from retgk.errors import InvalidInputError, Remedy
from retgk.estimators.attribute_imputation import Imputation
from retgk.persistence.json_values import from_json, to_json
from retgk.walks.return_probabilities import Method

__all__ = ["DEFAULT_MAX_STEPS", "model_with_parameters", "parameters_to_json"]

DEFAULT_MAX_STEPS = 1 << 12
"""Steps that a model may ask for; those of the paper have 50."""

_MANY = 1 << 20
_WALKS_PER_NODE = 1 << 12  # of the most steps; the default is 200 walks
_MAX_JOBS = 1 << 10
_MAX_SAMPLES = 1 << 26  # sets of nodes of a graph: seconds
_MAX_SEED = (1 << 64) - 1


def parameters_to_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """
    Parameters of a model as JSON.

    Parameters
    ----------
    parameters : mapping
        By name.

    Returns
    -------
    dict
        By name, what `to_json` gives.
    """
    return {name: to_json(_storable(name, value), name) for name, value in parameters.items()}


def _storable(name: str, value: Any) -> Any:
    if name == "random_state" and not isinstance(value, int | np.integer | None):
        raise InvalidInputError(
            f"random_state is {value!r}, which a model file cannot hold; use a whole number, or "
            "set_params(random_state=None) before saving"
        )
    if name == "scoring" and callable(value):
        raise InvalidInputError(
            f"scoring is {value!r:.80}, which a model file cannot hold; it has done its work: "
            "set_params(scoring=None) before saving"
        )
    return value


def model_with_parameters(
    model_class: type, stored: Any, max_steps: int | None = DEFAULT_MAX_STEPS
) -> Any:
    """
    Make an unfitted model from its parameters.

    Parameters
    ----------
    model_class : type
        Its class.
    stored : dict
        What `parameters_to_json` gave. A parameter that is missing, because it is younger than
        the file, gets its default.
    max_steps : int, optional
        Most steps of walks; None for any number.

    Returns
    -------
    estimator
        The model.
    """
    if not isinstance(stored, Mapping):
        raise InvalidInputError("the parameters are missing")
    known = model_class()
    names = known.get_params(deep=False).keys()
    if unknown := stored.keys() - names:
        raise InvalidInputError(
            f"{model_class.__name__} has no parameter {min(unknown)!r}; if a newer retgk wrote the "
            "file, upgrade retgk"
        )
    parameters = {name: from_json(value) for name, value in stored.items()}
    for name, is_good in _CHECKS.items():
        if name in parameters and not is_good(parameters[name]):
            raise InvalidInputError(f"the parameter {name} is {parameters[name]!r:.80}")
    if max_steps is not None:
        _check_work(parameters, max_steps)
    return model_class(**parameters)


def _check_work(parameters: Mapping[str, Any], max_steps: int) -> None:
    """Raise if the walks of one node would take longer than those of any honest model."""
    several = parameters.get("n_steps", 1)
    n_steps = max(several) if isinstance(several, tuple | list) else several
    n_walks = parameters.get("n_walks", 1)
    remedy = Remedy("max_steps", "pass a larger max_steps if you trust it")
    if n_steps > max_steps:
        raise InvalidInputError(
            f"the model asks for n_steps={n_steps}, more than the {max_steps} allowed", remedy
        )
    most = _WALKS_PER_NODE * max_steps
    if n_steps * n_walks > most and str(parameters.get("method", "")).startswith("monte-carlo"):
        raise InvalidInputError(
            f"the model asks for {n_walks} walks of {n_steps} steps from every node, more than the "
            f"{most} steps allowed",
            remedy,
        )


def _is_whole(value: Any, smallest: int, largest: int) -> bool:
    return type(value) is int and smallest <= value <= largest


def _are_steps(value: Any) -> bool:
    """Whether these are numbers of steps: one, or several that a model chooses from."""
    several = value if isinstance(value, tuple | list) else (value,)
    return all(_is_whole(n_steps, 1, _MANY) for n_steps in several)


def _is_share(value: Any) -> bool:
    return type(value) is float and 0 < value <= 1


def _is_not_negative(value: Any) -> bool:
    if type(value) is int:
        return 0 <= value <= sys.maxsize  # compiled code knows no larger ones
    return type(value) is float and 0 <= value < math.inf


# What predictions depend on without looking at it again, or what would take memory, threads or
# time without limit. All else is looked at by `fit`.
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "n_steps": _are_steps,
    "n_walks": lambda value: _is_whole(value, 1, _MANY),
    "nodes": lambda value: value is None or _is_whole(value, 1, sys.maxsize) or _is_share(value),
    "n_jobs": lambda value: value is None or (_is_whole(value, -_MAX_JOBS, _MAX_JOBS) and value),
    "batch_size": lambda value: value is None or _is_whole(value, 1, sys.maxsize),
    "random_state": lambda value: value is None or _is_whole(value, 0, _MAX_SEED),
    "self_loop": lambda value: value == "mean" or _is_not_negative(value),
    "scoring": lambda value: value is None or type(value) is str,
    "n_landmarks": lambda value: value is None or _is_whole(value, 1, sys.maxsize),
    "verbose": lambda value: _is_whole(value, 0, _MANY),
    "impute_attributes": lambda value: value in (None, *get_args(Imputation)),
    "tol": lambda value: _is_not_negative(value) and value < 1,
    "method": lambda value: value in get_args(Method),
    "n_samples": lambda value: value is None or _is_whole(value, 1, _MAX_SAMPLES),
    "sparse_output": lambda value: type(value) is bool,
}
