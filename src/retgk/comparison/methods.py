"""Methods that can be compared, by name. A new one is a line of `METHODS`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from retgk.errors import InvalidInputError
from retgk.runtime.near_names import name_advice

__all__ = ["DEFAULT_METHODS", "METHODS", "Method", "checked_names", "new_estimators"]

_PEERS = "retgk.peer_kernels"


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
        from retgk.comparison.kernel_machines import KernelClassifier, KernelRegressor

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
        "retgk.comparison.size_baseline:size_classifier",
        "retgk.comparison.size_baseline:size_regressor",
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
    from sklearn.base import clone

    missing = [need for need in ("fit", "predict", "get_params") if not hasattr(method, need)]
    if missing or isinstance(method, type):
        raise InvalidInputError(
            f"the method {name!r} is {method!r:.80}, which is no estimator; give an object with "
            "fit and predict in the manner of scikit-learn, or one of the names "
            f"{', '.join(METHODS)}"
        )
    return clone(method)
