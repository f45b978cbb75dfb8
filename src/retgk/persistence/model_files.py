"""`save_model` and `load_model`."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from retgk import __version__
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError
from retgk.estimators.classifier import RetGKClassifier
from retgk.estimators.embedding import RetGKEmbedding
from retgk.estimators.kernel import RetGKKernel
from retgk.estimators.regressor import RetGKRegressor
from retgk.peer_kernels.deep_graph import DeepGraphKernel
from retgk.peer_kernels.graph_invariant import GraphInvariantKernel
from retgk.peer_kernels.graphlets import GraphletKernel
from retgk.peer_kernels.hash_graph import HashGraphKernel
from retgk.peer_kernels.shortest_path import ShortestPathKernel
from retgk.peer_kernels.subgraph_matching import SubgraphMatchingKernel
from retgk.peer_kernels.weisfeiler_lehman import WeisfeilerLehmanKernel
from retgk.persistence.container import read_container, write_container
from retgk.persistence.json_values import from_json, to_json
from retgk.persistence.model_states import (
    classifier_state,
    embedding_state,
    fitted_parameters,
    kernel_state,
    peer_state,
    regressor_state,
    restore_classifier,
    restore_embedding,
    restore_kernel,
    restore_peer,
    restore_regressor,
)
from retgk.persistence.stored_parameters import (
    DEFAULT_MAX_STEPS,
    model_with_parameters,
    parameters_to_json,
)

__all__ = ["DEFAULT_MAX_BYTES", "load_model", "save_model"]

DEFAULT_MAX_BYTES = 1 << 30

Arrays = dict[str, NDArray[Any]]

_KEYS_BY_VALUE = 3  # the first version whose vectors depend on no `repr` of labels
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
        *(
            _SavableModel(kernel, peer_state, restore_peer)
            for kernel in (
                WeisfeilerLehmanKernel,
                ShortestPathKernel,
                GraphletKernel,
                SubgraphMatchingKernel,
                HashGraphKernel,
                GraphInvariantKernel,
                DeepGraphKernel,
            )
        ),
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
    write_container(Path(path), {"retgk": __version__, "model": description}, arrays)


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
    version, document, arrays = read_container(path, max_bytes)
    writer = document.get("retgk")
    with _context(f"{path} is damaged", f"save it again (it is of retgk {writer!s:.20})"):
        model = _restore(document.get("model"), arrays, max_steps)
    if version < _KEYS_BY_VALUE and getattr(model.engine_, "feature_map", None) == "phases":
        raise InvalidInputError(
            f"{path} is of an earlier retgk ({writer!s:.20}), whose vectors could tell equal "
            "labels apart; fit the model again and save it"
        )
    return model


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
        remedy = e.remedy if isinstance(e, InvalidInputError) else None
        if isinstance(e, InvalidInputError) and remedy is not None:
            raise InvalidInputError(f"{problem}: {e.problem}", remedy) from e
        reason = str(e) if isinstance(e, InvalidInputError) else f"{type(e).__name__}: {e}"
        raise InvalidInputError(f"{problem}: {reason}; {advice}") from e
