"""`save_model` and `load_model`: fitted models as files of arrays and JSON, which run no code."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from retgk import __version__
from retgk._runtime.array_files import read_arrays, write_arrays
from retgk._runtime.fields import (
    Arrays,
    build,
    flatten_fields,
    is_stored,
    stored,
    stored_class,
    stored_fields,
    stored_name,
    unflatten,
)
from retgk._runtime.parameters import EVERYWHERE, check_parameters
from retgk.errors import InvalidInputError
from retgk.estimators.classifier import GraphClassifier
from retgk.estimators.embedding import RetGKEmbedding, Vectors
from retgk.estimators.regressor import GraphRegressor
from retgk.kernels.kernel import GraphKernel
from retgk.kernels.others import all_kernels

DEFAULT_MAX_BYTES = 1 << 30
DEFAULT_MAX_STEPS = 1 << 12
"""Steps that a model may ask for; those of the paper have 50."""

_KIND = "model"
_WALKS_PER_NODE = 1 << 12  # of the most steps; the default is 200 walks
_MODELS = (GraphClassifier, GraphRegressor, RetGKEmbedding, Vectors)
_OUTPUTS = (None, "default", "pandas", "polars")

for _splitter in (KFold, StratifiedKFold, GroupKFold, StratifiedGroupKFold):
    stored(_splitter)
for _model in _MODELS:
    stored(_model)
all_kernels()


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """
    Write a fitted model to a file of arrays and JSON, which `load_model` reads.

    The file appears whole or not at all. It holds what predictions on new graphs need, and
    predictions of the loaded model are the same to the last bit.

    Parameters
    ----------
    model : GraphClassifier, GraphRegressor, RetGK, RetGKEmbedding or a kernel of others
        A fitted model.
    path : path-like
        The file, by custom ``something.retgk``; one that is there is replaced.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import RetGKEmbedding
    >>> graphs = make_graph_classification(n_graphs=6, rng=0).graphs
    >>> with TemporaryDirectory() as folder:
    ...     save_model(RetGKEmbedding(random_state=0).fit(graphs), f"{folder}/model.retgk")
    ...     load_model(f"{folder}/model.retgk").transform(graphs).shape[0]
    6
    """
    arrays: Arrays = {}
    description = describe_model(model, arrays)
    with _context(f"the model cannot be saved to {path}", "fit it again with its parameters"):
        _restored(description, dict(arrays), None)  # parameters may have become invalid since
    write_arrays(Path(path), _KIND, {"retgk": __version__, "model": description}, arrays)


def load_model(
    path: str | os.PathLike[str],
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_steps: int = DEFAULT_MAX_STEPS,
    trust: Sequence[str] = (),
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
    trust : sequence of str, default=()
        Modules with kernels of your own that the model may be made of, such as ``["my_kernels"]``;
        they are imported. Nothing that a file names is imported otherwise.

    Returns
    -------
    GraphClassifier, GraphRegressor, RetGK, RetGKEmbedding or a kernel of others
        The fitted model.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from retgk import GraphClassifier
    >>> from retgk.datasets import make_graph_classification
    >>> data = make_graph_classification(n_graphs=20, rng=0)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(GraphClassifier(random_state=0).fit(data), f"{folder}/model.retgk")
    ...     load_model(f"{folder}/model.retgk").predict(data.graphs).shape
    (20,)
    """
    path = Path(path)
    for module in [trust] if isinstance(trust, str) else trust:
        import_module(module)
    document, arrays = read_arrays(path, _KIND, max_bytes=max_bytes)
    with _context(f"{path} is damaged", "save it again"):
        return _restored(document["model"], arrays, max_steps)


def describe_model(model: Any, arrays: Arrays) -> dict[str, Any]:
    _check_class(model)
    check_is_fitted(model)
    parameters = (model.for_saving() if hasattr(model, "for_saving") else model).get_params(False)
    _check_storable(parameters)
    fitted = {name: getattr(model, name) for name in stored_fields(type(model), fitted=True)}
    return {
        "class": stored_name(type(model)),
        "output": getattr(model, "_sklearn_output_config", {}).get("transform"),
        "parameters": flatten_fields(parameters, "", arrays),
        "fitted": flatten_fields(fitted, "", arrays),
    }


def _check_class(model: Any) -> None:
    if not (isinstance(model, (*_MODELS, GraphKernel)) and is_stored(type(model))):
        is_search = hasattr(model, "best_estimator_")
        part = "its best_estimator_" if is_search else "that step of a pipeline alone"
        kinds = ", ".join(kind.__name__ for kind in _MODELS)
        raise InvalidInputError(
            f"a model file holds one of {kinds} or a kernel of graphs, got "
            f"{type(model).__name__}; save {part}"
        )


def _check_storable(parameters: dict[str, Any]) -> None:
    seed, scoring = parameters.get("random_state"), parameters.get("scoring")
    if not isinstance(seed, int | np.integer | None):
        raise InvalidInputError(
            f"random_state is {seed!r}, which a model file cannot hold; use a whole number, or "
            "set_params(random_state=None) before saving"
        )
    if callable(scoring):
        raise InvalidInputError(
            f"scoring is {scoring!r:.80}, which a model file cannot hold; it has done its work: "
            "set_params(scoring=None) before saving"
        )


def _restored(description: Any, arrays: Arrays, max_steps: int | None) -> Any:
    """The model; every array belongs to it."""
    known: Any = stored_class(description["class"])
    if not issubclass(known, (*_MODELS, GraphKernel)):
        raise InvalidInputError(f"{description['class']!r:.80} is no model")
    names = (("parameters", False), ("fitted", True))
    values: dict[str, Any] = {}
    for part, fitted in names:
        own = {name: unflatten(value, arrays) for name, value in description[part].items()}
        if own.keys() != set(stored_fields(known, fitted=fitted)):
            odd = min(own.keys() ^ set(stored_fields(known, fitted=fitted)))
            raise InvalidInputError(f"{known.__name__} lacks {odd!r}, or should not have it")
        values |= own
    # parameters may have been set to anything since: `fit` checks those that nothing else uses
    model = build(known, values, unchecked=description["parameters"])
    check_parameters(EVERYWHERE, model.get_params(deep=False))
    if max_steps is not None:
        _check_walks(getattr(model, "kernel_", model), max_steps)
    if arrays:
        raise InvalidInputError(f"the array {min(arrays)!r} belongs to nothing")
    if description["output"] not in _OUTPUTS:
        raise InvalidInputError(f"there is no output {description['output']!r:.80}")
    if description["output"] is not None:
        model.set_output(transform=description["output"])
    return model


def _check_walks(model: Any, max_steps: int) -> None:
    """Raise if the walks of one node would take longer than those of any honest model."""
    for part in getattr(model, "parts_", ()):
        _check_walks(part, max_steps)
    walks = getattr(model, "walks_", None)
    if walks is None:
        return
    remedy = "pass a larger max_steps if you trust it"
    if walks.n_steps > max_steps:
        raise InvalidInputError(
            f"the model asks for n_steps={walks.n_steps}, more than the {max_steps} allowed; "
            f"{remedy}"
        )
    most = _WALKS_PER_NODE * max_steps
    if walks.is_random and walks.n_steps * walks.n_walks > most:
        raise InvalidInputError(
            f"the model asks for {walks.n_walks} walks of {walks.n_steps} steps from every node, "
            f"more than the {most} steps allowed; {remedy}"
        )


@contextmanager
def _context(problem: str, advice: str) -> Iterator[None]:
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
