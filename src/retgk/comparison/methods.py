"""Methods that can be compared, by name. A new one is a line of `METHODS`."""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from types import CodeType, FunctionType, MethodType
from typing import Any, Protocol

import numpy as np

from retgk._runtime.files import key_of
from retgk._runtime.names import name_advice
from retgk.errors import InvalidInputError

_PEERS = "retgk.kernels.others"


class Method(Protocol):
    """Makes estimators that take graphs, when they are needed: their modules are slow to import."""

    @property
    def about(self) -> str:
        """What it is, in some words."""

    def estimator(self, regression: bool) -> Any:
        """Give one that is not fitted."""


@dataclass(frozen=True)
class ModelMethod:
    """A classifier and a regressor, or functions that make them, with some parameters."""

    about: str
    classifier: str
    regressor: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def estimator(self, regression: bool) -> Any:
        """Give the one for the task."""
        make = _imported(self.regressor if regression else self.classifier)
        return make(**self.parameters)


@dataclass(frozen=True)
class KernelMethod:
    """A kernel with the candidates of its parameters; the machine on it is that of all kernels."""

    about: str
    kernel: str
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def estimator(self, regression: bool) -> Any:
        """Give a machine on the kernel."""
        from retgk.comparison.machines import KernelClassifier, KernelRegressor

        machine = KernelRegressor if regression else KernelClassifier
        return machine(_imported(self.kernel)(**self.parameters), dict(self.grid))


def _imported(name: str) -> Any:
    """Class from ``module:name``."""
    module, _, own = name.partition(":")
    return getattr(import_module(module), own)


_RETGK = (
    "retgk.estimators.classifier:RetGKClassifier",
    "retgk.estimators.regressor:RetGKRegressor",
)
_WL = f"{_PEERS}.weisfeiler_lehman:WeisfeilerLehmanKernel"
_ROUNDS = {"n_iter": (1, 2, 3, 4, 5)}

METHODS: dict[str, Method] = {
    "retgk": ModelMethod("RetGK as it comes, exact or embedded by size", *_RETGK),
    "retgk-exact": ModelMethod("RetGK, exact (RetGK_I)", *_RETGK, {"approximate": False}),
    "retgk-embedding": ModelMethod("RetGK, embedded (RetGK_II)", *_RETGK, {"approximate": True}),
    "wl": KernelMethod("Weisfeiler-Lehman subtrees", _WL, _ROUNDS),
    "wl-oa": KernelMethod(
        "Weisfeiler-Lehman optimal assignment", _WL, _ROUNDS, {"base": "optimal-assignment"}
    ),
    "sp": KernelMethod(
        "shortest paths, by labels or degrees",
        f"{_PEERS}.shortest_path:ShortestPathKernel",
        {"start": ("labels", "degrees")},
    ),
    "graphlet": KernelMethod(
        "graphlets of 3 and 4 nodes", f"{_PEERS}.graphlets:GraphletKernel", {"k": (3, 4)}
    ),
    "csm": KernelMethod(
        "subgraph matchings of up to 5 nodes",
        f"{_PEERS}.subgraph_matching:SubgraphMatchingKernel",
        {"k": (3, 4, 5)},
    ),
    "dgk": KernelMethod(
        "deep graph kernel of Weisfeiler-Lehman subtrees",
        f"{_PEERS}.deep_graph:DeepGraphKernel",
        {"n_iter": (1, 2, 3)},
    ),
    "hgk": KernelMethod(
        "hash graph kernel, for attributes",
        f"{_PEERS}.hash_graph:HashGraphKernel",
        {"base": ("wl", "sp")},
    ),
    "gik": KernelMethod(
        "graph invariant kernel, for attributes",
        f"{_PEERS}.graph_invariant:GraphInvariantKernel",
        {"radius": (1, 2)},
    ),
    "size": ModelMethod(
        "a random forest of the numbers of nodes and edges",
        "retgk.comparison.machines:size_classifier",
        "retgk.comparison.machines:size_regressor",
    ),
    "majority": ModelMethod(
        "the most frequent class, or the mean value",
        "sklearn.dummy:DummyClassifier",
        "sklearn.dummy:DummyRegressor",
    ),
}
"""By the names that users give."""

_ALIASES = {"mean": "majority"}

DEFAULT_METHODS = ("retgk", "wl", "wl-oa", "sp", "graphlet", "size", "majority")


def checked_names(names: Sequence[str]) -> list[str]:
    """Names of methods as they are known here; one that is not is an error."""
    plain = [name.strip().lower() for name in names]
    plain = [_ALIASES.get(name, name) for name in plain]
    for given, name in zip(names, plain, strict=True):
        if name not in METHODS:
            advice = name_advice(name, list(METHODS), "choose from")
            raise InvalidInputError(f"there is no method {given!r}; {advice}")
    return plain


def new_estimators(
    methods: Sequence[Any] | Mapping[str, Any] | None, regression: bool
) -> dict[str, Any]:
    """
    Estimators by name, not fitted.

    Parameters
    ----------
    methods : sequence of str, or mapping of str to str or estimator, or None
        Names of `METHODS`; in a mapping, the names under which methods or estimators are shown.
        None for `DEFAULT_METHODS`.
    regression : bool
        Whether targets are values.

    Returns
    -------
    dict of str to estimator
        In the order given.
    """
    given = _by_name(DEFAULT_METHODS if methods is None else methods)
    if not given:
        raise InvalidInputError(
            f"there are no methods to compare; choose from {', '.join(METHODS)}"
        )
    return {name: _estimator(name, method, regression) for name, method in given.items()}


def _by_name(methods: Any) -> dict[str, Any]:
    """Methods by the names under which they are shown; what cannot be methods is an error."""
    if isinstance(methods, Mapping):
        wrong = [name for name in methods if not isinstance(name, str)]
        if wrong:
            raise InvalidInputError(
                f"methods has the name {wrong[0]!r:.80}; names are texts, such as 'mine'"
            )
        return dict(methods)
    if isinstance(methods, str):
        return {methods: methods}
    # an estimator alone has no name; a pipeline would be taken for the list of its steps
    is_list = isinstance(methods, Iterable) and not isinstance(methods, bytes | type)
    if not is_list or hasattr(methods, "fit"):
        raise InvalidInputError(
            f"methods is {methods!r:.80}; give a list of names, such as ['retgk', 'wl'], or a "
            "dictionary of estimators by name, such as {'mine': estimator}"
        )
    return {str(method): method for method in methods}


def _estimator(name: str, method: Any, regression: bool) -> Any:
    if isinstance(method, str):
        (plain,) = checked_names([method])
        return METHODS[plain].estimator(regression)

    missing = [need for need in ("fit", "predict", "get_params") if not hasattr(method, need)]
    if missing or isinstance(method, type):
        raise InvalidInputError(
            f"the method {name!r} is {method!r:.80}, which is no estimator; give an object with "
            "fit and predict in the manner of scikit-learn, or one of the names "
            f"{', '.join(METHODS)}"
        )
    from sklearn.base import clone

    return clone(method)


# -------------------------------------------------------------------------------------------------
# Keys of methods, by which a journal knows in another session which folds are theirs.
# -------------------------------------------------------------------------------------------------

_SET_BY_RUNS = ("n_jobs", "verbose")
"""Parameters that change no answer."""

_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
"""Place in memory, by which Python tells objects that do not tell what they are."""


def estimator_key(estimator: Any) -> str:
    """
    Digest of a class and its parameters: a method that was changed is another one.

    Functions count by their names and their source.
    """
    kind = type(estimator)
    return key_of({"class": f"{kind.__module__}.{kind.__qualname__}", **_parameters(estimator)})


def check_can_resume(name: str, estimator: Any) -> None:
    """Raise if a key would be another one in the next session, and all folds done again."""
    untold = [item for item in _parameters(estimator).items() if _ADDRESS.search(item[1])]
    if untold:
        parameter, text = max(untold, key=lambda item: item[0].count("__"))  # not what holds it
        raise InvalidInputError(
            f"the parameter {parameter} of method {name!r} is {text:.100}: nothing tells it again "
            "in another session, so a journal would never resume; give its class a __repr__ that "
            "says what it is, or leave out the journal"
        )


def _parameters(estimator: Any) -> dict[str, str]:
    """Texts of all parameters that change answers, also of estimators inside."""
    params: Mapping[str, Any] = estimator.get_params(deep=True)
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):  # arrays in full
        return {
            name: _text_of(value)
            for name, value in params.items()
            if name.rpartition("__")[2] not in _SET_BY_RUNS
        }


def _text_of(value: Any) -> str:
    """Text of a value that is the same in all sessions, where there is one."""
    text = repr(value)
    if not _ADDRESS.search(text):
        return text
    if isinstance(value, Mapping):
        return str({_text_of(key): _text_of(each) for key, each in value.items()})
    if isinstance(value, list | tuple):
        return str([_text_of(each) for each in value])
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{type(value).__qualname__} with {_parameters(value)}"
    return _text_of_callable(value) or text


def _text_of_callable(value: Any) -> str | None:
    """What a function does, in words of its source; None of an object that tells nothing."""
    if isinstance(value, partial):
        return f"partial of {_text_of([value.func, value.args, value.keywords])}"
    if isinstance(value, MethodType):
        return f"{_text_of(value.__func__)} of {_text_of(value.__self__)}"
    if isinstance(value, FunctionType):
        return _text_of_function(value)
    name = getattr(value, "__qualname__", None)  # classes, and functions of compiled packages
    return None if name is None else f"{value.__module__}.{name}"


def _text_of_function(function: FunctionType) -> str:
    """Name, digest of the source, and what a function carries with it."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):  # made by exec
        source = _text_of_code(function.__code__)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    carried = _text_of([function.__defaults__, function.__kwdefaults__, cells])
    digest = hashlib.sha256(source.encode()).hexdigest()
    return f"{function.__module__}.{function.__qualname__} {digest} {carried}"


def _text_of_code(code: CodeType) -> str:
    constants = [_text_of_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return str([code.co_code, code.co_names, code.co_varnames, constants])
