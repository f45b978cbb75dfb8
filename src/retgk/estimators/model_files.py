"""`save_model` and `load_model`."""

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from retgk import __version__
from retgk._runtime.array_files import Arrays, read_arrays, write_arrays
from retgk._runtime.names import MAX_SEED
from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.estimators.classifier import RetGKClassifier
from retgk.estimators.embedding import RetGKEmbedding, set_fitted_embedding
from retgk.estimators.kernel import RetGKKernel, embedding_engine, kernel_engine, set_fitted_kernel
from retgk.estimators.predictor import GraphPredictor
from retgk.estimators.regressor import RetGKRegressor
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.engine import FittedState, GraphIntake, Imputation, restored_intake
from retgk.kernels.graph import ExponentialGraphKernel, PolynomialGraphKernel
from retgk.kernels.node import Bridge, Delta, NodeKernel
from retgk.kernels.others import all_kernels
from retgk.kernels.others.base import PeerKernel
from retgk.walks.probabilities import Method, Walks

# -------------------------------------------------------------------------------------------------
# The fitted state of every estimator, out of it and into it again.
# -------------------------------------------------------------------------------------------------

_MAX_CANDIDATES = 1 << 30

# Parameters that shape what is computed after `fit`, by the object that keeps them from then on.
_OF_WALKS = ("n_steps", "method", "n_walks", "self_loop", "nodes")
_OF_ENGINE = (
    "structure_kernel",
    "attribute_kernel",
    "scale_attributes",
    "depth",
    "level_weights",
    "tol",
    "feature_map",
    "n_components",
    "frequencies",
    "unknown_labels",
    "dtype",
)


def fitted_parameters(model: Any) -> dict[str, Any]:
    """Parameters of a model as it was fitted, whatever they were set to since."""
    parameters: dict[str, Any] = model.get_params(deep=False)
    if isinstance(model, RetGKKernel | RetGKEmbedding):
        for keeper, names in ((model.walks_, _OF_WALKS), (model.engine_, _OF_ENGINE)):
            parameters |= {name: getattr(keeper, name) for name in names if name in parameters}
    return parameters


def kernel_state(kernel: RetGKKernel) -> FittedState:
    """Everything that `transform` needs; inner products of the fitted graphs are found again."""
    state = _with_intake(kernel.engine_.state(), kernel.intake_)
    state.values |= {"graph_kernel": kernel.graph_kernel_, "walk_seed": kernel.walk_seed_}
    return state


def restore_kernel(kernel: RetGKKernel, stored: FittedState) -> None:
    """Make a kernel fitted with a state that is checked."""
    graph_kernel = stored.take_graph_kernel("graph_kernel")
    walks = _take_walks(kernel, stored)
    engine = kernel_engine(kernel).restore(stored, walks.n_steps)
    intake = restored_intake(stored, engine.n_attributes)
    set_fitted_kernel(kernel, engine, walks, graph_kernel, intake)


def embedding_state(embedding: RetGKEmbedding) -> FittedState:
    """Everything that `transform` needs."""
    state = _with_intake(embedding.engine_.state(), embedding.intake_)
    state.values["walk_seed"] = embedding.walk_seed_
    return state


def restore_embedding(embedding: RetGKEmbedding, stored: FittedState) -> None:
    """Make a transformer fitted with a state that is checked."""
    walks = _take_walks(embedding, stored)
    engine = embedding_engine(embedding).restore(stored, walks.n_steps)
    intake = restored_intake(stored, engine.n_attributes)
    set_fitted_embedding(embedding, engine, walks, intake)


def peer_state(kernel: PeerKernel) -> FittedState:
    """Everything that `transform` needs; the kernel matrix of the fitted graphs is not kept."""
    state = _with_intake(kernel.engine_.state(), kernel.intake_)
    state.values["n_attributes"] = kernel.n_attributes_
    return state


def restore_peer(kernel: PeerKernel, stored: FittedState) -> None:
    """Make a kernel of other authors fitted with a state that is checked."""
    n_attributes = stored.take_attribute_count()
    engine = kernel.stored_engine(stored).restore(stored)
    kernel.set_fitted(engine, restored_intake(stored, n_attributes), n_attributes)


def _with_intake(state: FittedState, intake: GraphIntake) -> FittedState:
    own = intake.state()
    return FittedState(state.values | own.values, state.arrays | own.arrays, state.parts)


def _take_walks(model: RetGKKernel | RetGKEmbedding, stored: FittedState) -> Walks:
    seed = stored.take_count("walk_seed", MAX_SEED)
    nodes = getattr(model, "nodes", None)
    return Walks(int(model.n_steps), model.method, model.n_walks, model.self_loop, seed, nodes)


def classifier_state(model: RetGKClassifier) -> FittedState:
    """Everything that predictions need, and how the parameters were chosen."""
    stored = _shared_state(model)
    stored.values["classes"] = model.classes_
    stored.values["multilabel"] = model.multilabel_
    stored.values["is_calibrated"] = model.calibration_coef_ is not None
    if model.calibration_coef_ is not None and model.calibration_intercept_ is not None:
        stored.arrays["calibration_coef"] = model.calibration_coef_
        stored.arrays["calibration_intercept"] = model.calibration_intercept_
    stored.arrays["support_codes"] = np.asarray(model.support_codes_)
    return stored


def regressor_state(model: RetGKRegressor) -> FittedState:
    """Everything that predictions need, and how the parameters were chosen."""
    stored = _shared_state(model)
    stored.values["target_ndim"] = model.target_ndim_
    return stored


def restore_classifier(model: RetGKClassifier, stored: FittedState) -> None:
    """Make a classifier fitted with a state that is checked."""
    model.classes_ = stored.take_value("classes", np.ndarray)
    n_classes = len(model.classes_)
    if n_classes < 2 or len(set(model.classes_.tolist())) < n_classes:
        raise InvalidInputError("'classes' are not two different ones or more")
    model.solver_ = stored.take_choice("solver", ("support vectors", "ridge"))
    model.multilabel_ = stored.take_value("multilabel", bool)
    n_pairs = n_classes * (n_classes - 1) // 2
    n_scores = 1 if n_classes == 2 and not model.multilabel_ else n_classes
    is_paired = model.solver_ == "support vectors" and not model.multilabel_
    _restore_shared(model, stored, n_pairs if is_paired else n_scores)
    model.support_codes_ = _take_support_codes(model, stored)
    model.calibration_coef_ = model.calibration_intercept_ = None
    if stored.take_value("is_calibrated", bool):
        shape = (n_scores, 1 if model.multilabel_ else n_scores)
        model.calibration_coef_ = stored.take_array("calibration_coef", np.float64, shape)
        model.calibration_intercept_ = stored.take_array(
            "calibration_intercept", np.float64, (n_scores,)
        )


def _take_support_codes(model: RetGKClassifier, stored: FittedState) -> Ints:
    """Classes of the support graphs, or their labels."""
    n_support, n_classes = len(model.support_), len(model.classes_)
    shape = (n_support, n_classes) if model.multilabel_ else (n_support,)
    codes = stored.take_array("support_codes", np.int64, shape)
    n_codes = 2 if model.multilabel_ else n_classes
    if len(codes) and not 0 <= codes.min() <= codes.max() < n_codes:
        raise InvalidInputError(f"'support_codes' has numbers that are not below {n_codes}")
    return codes


def restore_regressor(model: RetGKRegressor, stored: FittedState) -> None:
    """Make a regressor fitted with a state that is checked."""
    model.solver_ = stored.take_choice("solver", ("ridge",))
    model.target_ndim_ = stored.take_count("target_ndim", 2)
    _restore_shared(model, stored, 1 if model.target_ndim_ == 1 else None)


def _shared_state(model: GraphPredictor) -> FittedState:
    values = {
        "approximate": model.approximate_,
        "best_params": model.best_params_,
        "best_score": model.best_score_,
        "best_index": model.best_index_,
        "cv_results": model.cv_results_,
        "n_splits": model.n_splits_,
        "solver": model.solver_,
        "graph_kernel": model.graph_kernel_,
    }
    arrays = {
        "support": model.support_,
        "dual_coef": model.dual_coef_,
        "intercept": model.intercept_,
    }
    if isinstance(model.engine_, EmbeddedEngine):
        arrays |= model.engine_.vector_arrays()
        return FittedState(values, arrays, {"embedding": model.embedding_})
    return FittedState(values, arrays, {"kernel": model.kernel_})


def _restore_shared(model: GraphPredictor, stored: FittedState, n_outputs: int | None) -> None:
    model.best_params_ = stored.take_value("best_params", dict)
    model.best_score_ = stored.take_value("best_score", float)
    model.best_index_ = stored.take_count("best_index", _MAX_CANDIDATES)
    model.cv_results_ = stored.take_value("cv_results", dict)
    model.n_splits_ = stored.take_count("n_splits", _MAX_CANDIDATES)
    model.graph_kernel_ = stored.take_graph_kernel("graph_kernel")
    model.support_ = stored.take_array("support", np.int64, (None,))
    if (model.support_ < 0).any():
        raise InvalidInputError("'support' has numbers of graphs below 0")
    n_support = len(model.support_)
    model.dual_coef_ = stored.take_array("dual_coef", np.float64, (n_outputs, n_support))
    model.intercept_ = stored.take_array("intercept", np.float64, (len(model.dual_coef_),))
    model.approximate_ = stored.take_value("approximate", bool)
    if model.approximate_:
        embedding = stored.take_part("embedding", RetGKEmbedding)
        model.walks_, model.intake_ = embedding.walks_, embedding.intake_
        model.engine_ = embedding.engine_.restore_vectors(stored)
        name = "support_ptr"
    else:
        kernel = stored.take_part("kernel", RetGKKernel)
        model.walks_, model.intake_ = kernel.walks_, kernel.intake_
        model.engine_, name = kernel.engine_, "kernel"
        if kernel.graph_kernel_ != model.graph_kernel_:
            raise InvalidInputError("'graph_kernel' is not that of 'kernel'")
    if model.engine_.n_graphs != n_support:
        raise InvalidInputError(
            f"{name!r} has {model.engine_.n_graphs} graphs, but 'support' names {n_support}"
        )


# -------------------------------------------------------------------------------------------------
# Parameters, labels and kernels as JSON, each with its type.
# -------------------------------------------------------------------------------------------------

_KERNELS = {
    kernel.__name__: kernel
    for kernel in (
        *NodeKernel.kinds,
        Bridge,
        Delta,
        PolynomialGraphKernel,
        ExponentialGraphKernel,
    )
}
_SPLITTERS = ("KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold")
_SPLITTER_FIELDS = ("n_splits", "shuffle", "random_state")
_DTYPE_NAMES = {"float64": np.float64, "float32": np.float32}
_MAX_DEGREE = 1000  # a degree is a loop: one of 10**18 would never end

_MAX_ARRAY_BYTES = 1 << 26


def to_json(value: Any, what: str) -> Any:
    """
    What JSON can hold of a value, so that `from_json` gives an equal one of the same type.

    Parameters
    ----------
    value : Any
        None, bool, number, str, tuple, list, dict, slice, one-dimensional array, dtype, kernel,
        or any of scikit-learn's KFold and StratifiedKFold, with groups or without.
    what : str
        What the value is, for the message if it is none of these.

    Returns
    -------
    Any
        The value itself, or an object with its "kind".

    Examples
    --------
    >>> to_json((1, "C"), "label")
    {'kind': 'tuple', 'items': [1, 'C']}
    """
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"kind": "float", "value": repr(value)}
    for is_known, encode in _ENCODERS:
        if is_known(value):
            return encode(value, what)
    raise InvalidInputError(
        f"{what} is {value!r:.200}, which a model file cannot hold; use plain numbers, text, "
        "tuples, or kernels of retgk instead, or set it to one of these before saving"
    )


def _is_kernel(value: Any) -> bool:
    return _KERNELS.get(type(value).__name__) is type(value)


def _kernel_to_json(kernel: Any, what: str) -> Any:
    values = {field.name: getattr(kernel, field.name) for field in fields(kernel)}
    return {"kind": type(kernel).__name__} | {
        name: to_json(value, f"{name} of {what}") for name, value in values.items()
    }


def _is_splitter(value: Any) -> bool:
    module = type(value).__module__
    return type(value).__name__ in _SPLITTERS and module == "sklearn.model_selection._split"


def _splitter_to_json(splitter: Any, what: str) -> Any:
    return {"kind": type(splitter).__name__} | {
        name: to_json(getattr(splitter, name), f"{name} of {what}") for name in _SPLITTER_FIELDS
    }


def _is_dtype(value: Any) -> bool:
    is_named = isinstance(value, type) and value in (np.float64, np.float32, float)
    return isinstance(value, np.dtype) or is_named


def _items_to_json(kind: str) -> Callable[[Any, str], Any]:
    def encode(items: Any, what: str) -> Any:
        return {"kind": kind, "items": [to_json(item, what) for item in items]}

    return encode


def _dict_to_json(mapping: Mapping[Any, Any], what: str) -> Any:
    pairs = [[to_json(key, what), to_json(value, what)] for key, value in mapping.items()]
    return {"kind": "dict", "items": pairs}


def _array_to_json(array: Any, what: str) -> Any:
    values = [to_json(value, what) for value in array.tolist()]
    return {"kind": "array", "dtype": array.dtype.str, "items": values}


def _is_small_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufUO"


_ENCODERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, str], Any]], ...] = (
    (_is_kernel, _kernel_to_json),
    (_is_splitter, _splitter_to_json),
    (_is_small_array, _array_to_json),
    (lambda value: type(value) is tuple, _items_to_json("tuple")),
    (lambda value: type(value) is list, _items_to_json("list")),
    (lambda value: isinstance(value, Mapping), _dict_to_json),
    (
        lambda value: isinstance(value, slice),
        lambda value, what: _items_to_json("slice")((value.start, value.stop, value.step), what),
    ),
    (_is_dtype, lambda value, _: {"kind": "dtype", "name": np.dtype(value).name}),
)


def from_json(value: Any) -> Any:
    """
    The value that `to_json` was given.

    Parameters
    ----------
    value : Any
        What `to_json` gave. Anything else raises TypeError, ValueError or LookupError; nothing
        is called but the classes of the table above.

    Returns
    -------
    Any
        The value.

    Examples
    --------
    >>> from_json({"kind": "tuple", "items": [1, "C"]})
    (1, 'C')
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"a bare {type(value).__name__} stands for no value")
    content = dict(value)
    kind = content.pop("kind")
    if kind in _KERNELS:
        return _kernel(kind, content)
    if kind in _SPLITTERS:
        return _splitter(kind, content)
    if kind not in _DECODERS:
        raise ValueError(f"there is no kind of value {kind!r}")
    return _DECODERS[kind](**content)


def _kernel(kind: str, content: dict[str, Any]) -> Any:
    known = _KERNELS[kind]
    if content.keys() != {field.name for field in fields(known)}:
        raise ValueError(f"{kind} has the parameters {sorted(content)}")
    if any(type(value) not in (int, float, str) for value in content.values()):
        raise ValueError(f"a parameter of {kind} is no number")
    if any(content.get(name, 1) > _MAX_DEGREE for name in ("degree", "d")):
        raise ValueError(f"the degree of {kind} is above {_MAX_DEGREE}")
    return known(**content)


def _splitter(kind: str, content: dict[str, Any]) -> Any:
    from sklearn import model_selection

    n_splits, shuffle, seed = (content[name] for name in _SPLITTER_FIELDS)
    return getattr(model_selection, kind)(n_splits, shuffle=shuffle, random_state=seed)


def _array(dtype: str, items: list[Any]) -> Any:
    known = np.dtype(dtype if isinstance(dtype, str) else "V1")
    if known.kind not in "biufUO" or known.itemsize * len(items) > _MAX_ARRAY_BYTES:
        raise ValueError(f"no array of {len(items)} values has the type {dtype!r}")
    array = np.empty(len(items), known)
    for position, item in enumerate(items):
        array[position] = from_json(item)
    return array


def _not_finite(value: str) -> float:
    return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value]


def _dtype(name: str) -> Any:
    return _DTYPE_NAMES[name]


_DECODERS: dict[str, Callable[..., Any]] = {
    "tuple": lambda items: tuple(map(from_json, items)),
    "list": lambda items: list(map(from_json, items)),
    "dict": lambda items: {from_json(key): from_json(value) for key, value in items},
    "slice": lambda items: slice(*map(from_json, items)),
    "array": _array,
    "float": _not_finite,
    "dtype": _dtype,
}


# -------------------------------------------------------------------------------------------------
# Parameters of models, as JSON and back, within bounds that no honest model leaves.
# -------------------------------------------------------------------------------------------------

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
    remedy = "pass a larger max_steps if you trust it"
    if n_steps > max_steps:
        raise InvalidInputError(
            f"the model asks for n_steps={n_steps}, more than the {max_steps} allowed; {remedy}"
        )
    most = _WALKS_PER_NODE * max_steps
    if n_steps * n_walks > most and str(parameters.get("method", "")).startswith("monte-carlo"):
        raise InvalidInputError(
            f"the model asks for {n_walks} walks of {n_steps} steps from every node, more than "
            f"the {most} steps allowed; {remedy}"
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


DEFAULT_MAX_BYTES = 1 << 30

_KIND = "model"
_OUTPUTS = ("default", "pandas", "polars")


class _SavableModel(NamedTuple):
    """A class of models that files can hold."""

    model_class: type
    state: Callable[[Any], FittedState]
    restore: Callable[[Any, FittedState], None]


_SAVABLE = {
    known.model_class.__name__: known
    for known in (
        _SavableModel(RetGKClassifier, classifier_state, restore_classifier),
        _SavableModel(RetGKRegressor, regressor_state, restore_regressor),
        _SavableModel(RetGKKernel, kernel_state, restore_kernel),
        _SavableModel(RetGKEmbedding, embedding_state, restore_embedding),
        *(_SavableModel(kernel, peer_state, restore_peer) for kernel in all_kernels()),
    )
}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """
    Write a fitted model to a file of arrays and JSON, which `load_model` reads.

    The file appears whole or not at all. It holds what predictions on new graphs need, and
    predictions of the loaded model are the same to the last bit.

    Parameters
    ----------
    model : RetGKClassifier, RetGKRegressor, RetGKKernel, RetGKEmbedding or a kernel of others
        A fitted model.
    path : path-like
        The file, by custom ``something.retgk``; one that is there is replaced.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from retgk import RetGKEmbedding, make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, random_state=0).graphs
    >>> with TemporaryDirectory() as folder:
    ...     save_model(RetGKEmbedding(random_state=0).fit(graphs), f"{folder}/model.retgk")
    ...     load_model(f"{folder}/model.retgk").transform(graphs).shape[0]
    6
    """
    description, arrays = _describe(model, "")
    with _context(f"the model cannot be saved to {path}", "fit it again with its parameters"):
        _restore(description, dict(arrays), None)  # parameters may have become invalid since
    write_arrays(Path(path), _KIND, {"retgk": __version__, "model": description}, arrays)


def load_model(
    path: str | os.PathLike[str],
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_steps: int = DEFAULT_MAX_STEPS,
) -> Any:
    """
    Read a model that `save_model` wrote.

    No code of the file is run, whoever wrote it: it holds numbers and names, which are checked.
    Anything wrong with it is an `InvalidInputError` that names the file.

    Parameters
    ----------
    path : path-like
        The file.
    max_bytes : int, default=1 GiB
        Largest file to read; a model takes about as much memory as its file.
    max_steps : int, default=4096
        Most steps of random walks that the model may ask for, and a limit on its walks: 4096 for
        each node, of so many steps, or more of fewer. A stranger's model could otherwise ask for
        work without end.

    Returns
    -------
    RetGKClassifier, RetGKRegressor, RetGKKernel, RetGKEmbedding or a kernel of others
        The fitted model.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from retgk import RetGKClassifier, make_graph_classification
    >>> data = make_graph_classification(n_graphs=20, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(RetGKClassifier(random_state=0).fit(data), f"{folder}/model.retgk")
    ...     load_model(f"{folder}/model.retgk").predict(data.graphs).shape
    (20,)
    """
    path = Path(path)
    document, arrays = read_arrays(path, _KIND, max_bytes=max_bytes)
    with _context(f"{path} is damaged", "save it again"):
        return _restore(document["model"], arrays, max_steps)


def _describe(model: Any, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """JSON and arrays of a model and of the models inside it."""
    known = _SAVABLE.get(type(model).__name__)
    if known is None or type(model) is not known.model_class:
        is_search = hasattr(model, "best_estimator_")
        part = "its best_estimator_" if is_search else "that step of a pipeline alone"
        raise InvalidInputError(
            f"a model file holds one of {', '.join(_SAVABLE)}, got {type(model).__name__}; save "
            f"{part}"
        )
    check_is_fitted(model)
    stored = known.state(model)
    arrays = {prefix + name: array for name, array in stored.arrays.items()}
    parts = {}
    for name, part in stored.parts.items():
        parts[name], inner = _describe(part, f"{prefix}{name}.")
        arrays |= inner
    description = {
        "class": type(model).__name__,
        "parameters": parameters_to_json(fitted_parameters(model)),
        "fitted": {name: to_json(value, name) for name, value in stored.values.items()},
        "output": getattr(model, "_sklearn_output_config", {}).get("transform"),
        "parts": parts,
    }
    return description, arrays


def _restore(description: Any, arrays: Arrays, max_steps: int | None) -> Any:
    """The model; every array belongs to it or to a model inside it."""
    model = _restore_part(description, arrays, "", max_steps)
    if arrays:
        raise InvalidInputError(f"the array {min(arrays)!r} belongs to nothing")
    return model


def _restore_part(description: Any, arrays: Arrays, prefix: str, max_steps: int | None) -> Any:
    """One model, whose arrays are removed from `arrays`."""
    known = _SAVABLE.get(description["class"])
    if known is None:
        raise InvalidInputError(
            f"there is no model {description['class']!r}; if a newer retgk wrote the file, upgrade "
            "retgk"
        )
    parts = {
        name: _restore_part(part, arrays, f"{prefix}{name}.", max_steps)
        for name, part in description["parts"].items()
    }
    model = model_with_parameters(known.model_class, description["parameters"], max_steps)
    own = [name for name in arrays if name.startswith(prefix)]
    stored = FittedState(
        {name: from_json(value) for name, value in description["fitted"].items()},
        {name.removeprefix(prefix): arrays.pop(name) for name in own},
        parts,
    )
    known.restore(model, stored)
    stored.check_empty()
    if (output := description["output"]) is not None:
        if output not in _OUTPUTS:
            raise InvalidInputError(f"there is no output {output!r}")
        model.set_output(transform=output)
    return model


@contextmanager
def _context(problem: str, advice: str) -> Iterator[None]:
    """Say which file is meant, whatever is wrong with its content."""
    try:
        yield
    except (
        ArithmeticError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
        AttributeError,
    ) as e:
        reason = str(e) if isinstance(e, InvalidInputError) else f"{type(e).__name__}: {e}"
        advice = "" if isinstance(e, InvalidInputError) and "; " in reason else f"; {advice}"
        raise InvalidInputError(f"{problem}: {reason}{advice}") from e
