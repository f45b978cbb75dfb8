"""What came in place of graphs like the fitted ones, in words."""

from collections.abc import Callable
from typing import Any

import numpy as np

from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.io.graph_dataset import GraphDataset

__all__ = ["kind_in_words", "new_graphs"]


def kind_in_words(X: Any) -> str:
    """
    Say what holds graphs, without looking further than the first.

    Examples
    --------
    >>> kind_in_words(["CCO", "CC"])
    'a list of SMILES strings'
    >>> kind_in_words(np.zeros((20, 3)))
    'an array of numbers of shape (20, 3)'
    """
    if isinstance(X, GraphBatch | GraphDataset):
        return f"a {type(X).__name__}"
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return f"a table of {len(X.columns)} columns"
    if _is_numbers(X):
        return f"an array of numbers of shape {X.shape}"
    if isinstance(X, np.ndarray) and X.shape[1:] == (1,):
        X = X[:, 0]
    if isinstance(X, list | tuple | np.ndarray) and len(X):
        return f"{_with_article(type(X).__name__)} of {_one_in_words(X[0])}"
    return _with_article(type(X).__name__)


def _is_numbers(X: Any) -> bool:
    """Whether this is one array of numbers."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "biufc"


def _with_article(name: str) -> str:
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _one_in_words(graph: Any) -> str:
    """Plural of what one item is."""
    if isinstance(graph, str):
        return "SMILES strings"
    if _is_numbers(graph):
        return f"arrays of {graph.ndim} dimensions"
    package = type(graph).__module__.partition(".")[0]
    name = type(graph).__name__
    return f"{name} objects" if package in ("builtins", "retgk") else f"{name} objects of {package}"


def new_graphs(X: Any, fitted: str | None, read: Callable[[Any], GraphBatch]) -> GraphBatch:
    """
    Graphs to predict for; what cannot be read is told beside what the model was fitted on.

    Parameters
    ----------
    X : GraphBatch or anything that `as_batch` takes
        Graphs.
    fitted : str or None
        What `kind_in_words` said of the fitted graphs, if it is known.
    read : callable
        Converts them.

    Returns
    -------
    GraphBatch
        The graphs.
    """
    came = kind_in_words(X)
    if fitted is None or came == fitted:
        return read(X)
    context = f"the model was fitted on {fitted}, but this is {came}"
    is_one_matrix = _is_numbers(X) and X.ndim == 2
    if is_one_matrix and not fitted.startswith(("an array", "a Graph")) and "arrays" not in fitted:
        raise InvalidInputError(
            f"{context}; give graphs like the fitted ones, or a list [matrix] if it is the "
            "adjacency matrix of one graph"
        )
    try:
        return read(X)
    except InvalidInputError as error:
        raise InvalidInputError(f"{context}: {error.problem}", error.remedy) from error
