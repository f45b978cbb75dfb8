"""Methods that can be compared, by name: models, and what kernels of others say of themselves."""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from types import CodeType, FunctionType, MethodType
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from retgk._runtime.files import key_of
from retgk._runtime.names import name_advice
from retgk._runtime.parallel import n_threads
from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.estimators.classifier import GraphClassifier
from retgk.estimators.kernel import RetGK
from retgk.estimators.regressor import GraphRegressor
from retgk.graphs.batch import GraphBatch
from retgk.io.convert import GraphsLike, as_batch
from retgk.kernels.others import all_kernels
from retgk.kernels.others.base import Compared, PeerKernel
from retgk.kernels.others.fingerprints import Morgan, folded_fragments, molecule_texts
from retgk.kernels.others.min_max import MinMax

Trees = Literal["boosting", "forest"]

_RADIUS, _COLUMNS = 2, 2048  # of fragments, as in most tables of the literature
_ROUNDS = 200  # of boosting


class Method(NamedTuple):
    about: str
    estimator: Callable[[bool], Any]
    is_of_molecules: bool = False


_PENALTIES = (0.1, 1, 10, 100, 1000)


def _retgk(**parameters: Any) -> Callable[[bool], Any]:
    return lambda regression: (GraphRegressor if regression else GraphClassifier)(**parameters)


def _kernel_machine(kernel: type[PeerKernel], own: Compared) -> Callable[[bool], Any]:
    return _retgk(kernel=kernel(**own.parameters), C=_PENALTIES, candidates=dict(own.grid))


def _size_model(regression: bool) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    forest = RandomForestRegressor if regression else RandomForestClassifier
    # leaves of single graphs would be learnt by heart
    return make_pipeline(GraphSizes(), forest(min_samples_leaf=5))


def _fragment_trees(kind: Trees) -> Callable[[bool], Any]:
    return lambda regression: FragmentTrees(kind, regression)


METHODS: dict[str, Method] = {
    "retgk": Method("RetGK as it comes, exact or embedded by size", _retgk()),
    "retgk-exact": Method("RetGK, exact (RetGK_I)", _retgk(kernel=RetGK())),
    "retgk-embedding": Method(
        "RetGK, embedded (RetGK_II)", _retgk(kernel=RetGK(n_components=1024))
    ),
    **{
        own.name: Method(own.about, _kernel_machine(kind, own))
        for kind in all_kernels()
        for own in kind.methods
    },
    "size": Method("a random forest of the numbers of nodes and edges", _size_model),
    "majority": Method(
        "the most frequent class, or the mean value",
        lambda regression: DummyRegressor() if regression else DummyClassifier(),
    ),
    "morgan": Method(
        "molecules: counts of Morgan fragments with boosted trees, LightGBM's if it is installed",
        _fragment_trees("boosting"),
        is_of_molecules=True,
    ),
    "morgan-minmax": Method(
        "molecules: the min-max kernel of those counts",
        _retgk(kernel=MinMax(Morgan()), C=_PENALTIES),
        is_of_molecules=True,
    ),
    "morgan-forest": Method(
        "molecules: a random forest on those counts",
        _fragment_trees("forest"),
        is_of_molecules=True,
    ),
}
"""By the names that users give."""

_ALIASES = {"mean": "majority"}

DEFAULT_METHODS = ("retgk", "wl", "wl-oa", "sp", "graphlet", "size", "majority")
MOLECULE_METHODS = ("retgk", "morgan", "morgan-minmax", "morgan-forest", "size", "majority")


def default_methods(graphs: GraphBatch) -> tuple[str, ...]:
    return DEFAULT_METHODS if graphs.smiles is None else MOLECULE_METHODS


def checked_names(names: Sequence[str]) -> list[str]:
    plain = [name.strip().lower() for name in names]
    plain = [_ALIASES.get(name, name) for name in plain]
    for given, name in zip(names, plain, strict=True):
        if name not in METHODS:
            advice = name_advice(name, list(METHODS), "choose from")
            raise InvalidInputError(f"there is no method {given!r}; {advice}")
    return plain


def new_estimators(
    methods: Sequence[Any] | Mapping[str, Any] | None, regression: bool, graphs: GraphBatch
) -> dict[str, Any]:
    given = _by_name(default_methods(graphs) if methods is None else methods)
    if not given:
        raise InvalidInputError(
            f"there are no methods to compare; choose from {', '.join(METHODS)}"
        )
    for method in given.values():
        if isinstance(method, str):
            (plain,) = checked_names([method])
            if METHODS[plain].is_of_molecules:
                molecule_texts(graphs, f"the method {plain!r}")
    return {name: _estimator(name, method, regression) for name, method in given.items()}


def _by_name(methods: Any) -> dict[str, Any]:
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
    return clone(method)


class GraphSizes(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, X: GraphsLike, y: object = None) -> Self:  # noqa: ARG002
        """Do nothing: there is nothing to learn."""
        return self

    def transform(self, X: GraphsLike) -> Floats:
        graphs = as_batch(X)
        return np.stack([graphs.node_counts, graphs.edge_counts], axis=1).astype(np.float64)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class FragmentTrees(BaseEstimator):  # type: ignore[misc]
    """
    Trees on counts of Morgan's fragments of molecules, as chemists start with.

    Boosted ones are LightGBM's, or scikit-learn's where that is not installed; `best_params_` says
    which. Classes keep their shares.
    """

    def __init__(
        self,
        kind: Trees = "boosting",
        regression: bool = False,
        *,
        n_jobs: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.kind = kind
        self.regression = regression
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: GraphsLike, y: Any) -> Self:
        if not self.regression:
            self.classes_ = np.unique(y)
        counts = self._counts(X)
        shared = np.flatnonzero(counts.getnnz(axis=0) > 1)  # nothing is learnt from one molecule
        self.columns_ = shared if len(shared) else np.arange(_COLUMNS)
        if self.regression or len(self.classes_) > 1:
            self.machine_ = self._machine(len(y))
        else:  # boosting refuses one class
            self.machine_ = DummyClassifier()
        self.best_params_ = {"trees": type(self.machine_).__module__.partition(".")[0]}
        # boosting of scikit-learn has no number of threads of its own
        with threadpool_limits(n_threads(self.n_jobs), user_api="openmp"):
            self.machine_.fit(self._used(counts), y)
        return self

    def predict(self, X: GraphsLike) -> Any:
        return self.machine_.predict(self._used(self._counts(X)))

    def predict_proba(self, X: GraphsLike) -> Any:
        return self.machine_.predict_proba(self._used(self._counts(X)))

    def _counts(self, X: GraphsLike) -> Any:
        smiles = molecule_texts(as_batch(X), f"morgan with {self.kind}")
        return folded_fragments(smiles, _RADIUS, _COLUMNS)

    def _used(self, counts: Any) -> Any:
        own = counts[:, self.columns_]
        return own if self._is_lightgbm else own.toarray()

    @property
    def _is_lightgbm(self) -> bool:
        return self.kind == "boosting" and find_spec("lightgbm") is not None

    def _machine(self, n_molecules: int) -> Any:
        from sklearn import ensemble

        threads, word = n_threads(self.n_jobs), "Regressor" if self.regression else "Classifier"
        if self.kind == "forest":
            forest = getattr(ensemble, f"RandomForest{word}")
            shown = 1 / 3 if self.regression else "sqrt"  # what is usual for each
            return forest(500, max_features=shown, n_jobs=threads, random_state=self.random_state)
        leaf = int(np.clip(n_molecules // 100, 5, 20))  # 20 of a few hundred would hide all
        if not self._is_lightgbm:
            boosting = getattr(ensemble, f"HistGradientBoosting{word}")
            return boosting(max_iter=_ROUNDS, min_samples_leaf=leaf, random_state=self.random_state)
        import lightgbm

        return getattr(lightgbm, f"LGBM{word}")(
            n_estimators=_ROUNDS,
            min_child_samples=leaf,
            n_jobs=threads,
            random_state=self.random_state,
            deterministic=True,  # the same trees with any number of threads
            force_row_wise=True,
            verbose=-1,
        )


# Keys of methods, by which a journal knows in another session which folds are theirs.

_SET_BY_RUNS = ("n_jobs", "verbose")
"""Parameters that change no answer."""

_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
"""Place in memory, by which Python tells objects that do not tell what they are."""


def estimator_key(estimator: Any) -> str:
    """Digest of a class and its parameters: a method that was changed is another one."""
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
    params: Mapping[str, Any] = estimator.get_params(deep=True)
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):  # arrays in full
        return {
            name: _text_of(value)
            for name, value in params.items()
            if name.rpartition("__")[2] not in _SET_BY_RUNS
        }


def _text_of(value: Any) -> str:
    """Text of a value that is the same in all sessions, where there is one."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{type(value).__qualname__} with {_parameters(value)}"
    text = repr(value)
    if not _ADDRESS.search(text):
        return text
    if isinstance(value, Mapping):
        return str({_text_of(key): _text_of(each) for key, each in value.items()})
    if isinstance(value, list | tuple):
        return str([_text_of(each) for each in value])
    return _text_of_callable(value) or text


def _text_of_callable(value: Any) -> str | None:
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
