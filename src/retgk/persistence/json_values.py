"""Parameters, labels and kernels as JSON, each with its type."""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from retgk.errors import InvalidInputError
from retgk.kernels.graph_kernels import ExponentialGraphKernel, PolynomialGraphKernel
from retgk.kernels.node_kernels import Bridge, Delta, Gaussian, Laplacian, Polynomial

__all__ = ["from_json", "to_json"]

_KERNELS = {
    kernel.__name__: kernel
    for kernel in (
        Laplacian,
        Gaussian,
        Polynomial,
        Bridge,
        Delta,
        PolynomialGraphKernel,
        ExponentialGraphKernel,
    )
}
_SPLITTERS = ("KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold")
_SPLITTER_FIELDS = ("n_splits", "shuffle", "random_state")
_DTYPES = {"float64": np.float64, "float32": np.float32}
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
    >>> to_json(Laplacian(gamma=2.0), "structure_kernel")
    {'kind': 'Laplacian', 'gamma': 2.0}
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
    return _DTYPES[name]


_DECODERS: dict[str, Callable[..., Any]] = {
    "tuple": lambda items: tuple(map(from_json, items)),
    "list": lambda items: list(map(from_json, items)),
    "dict": lambda items: {from_json(key): from_json(value) for key, value in items},
    "slice": lambda items: slice(*map(from_json, items)),
    "array": _array,
    "float": _not_finite,
    "dtype": _dtype,
}
