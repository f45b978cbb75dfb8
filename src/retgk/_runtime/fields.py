"""
Objects as JSON and arrays, field by field, and back through their constructors.

`flatten` takes a registered object apart: what its constructor takes, then the attributes that its
class lists as `fitted_fields`. `unflatten` checks every field against its annotation, calls the
constructor, which checks ranges, and then `after_loading`, where a class has one, to check that
arrays fit each other. Fields in `unsaved_fields` are left to their defaults, and `for_saving` gives
the object that is stored in place of another. So a file names no code: only classes that are
registered here, and plain values.
"""

import math
import types
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import signature
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InvalidInputError

Arrays = dict[str, NDArray[Any]]
_Class = TypeVar("_Class", bound=type)

_STORED: dict[str, type] = {}
FILE_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I8": "|i1",
    "U64": "<u8",
    "U8": "|u1",
    "BOOL": "|b1",
}
"""Types of arrays that files hold, by their names in safetensors."""
_DTYPES = {"float64": np.float64, "float32": np.float32}
_MAX_TEXT_BYTES = 1 << 26


def stored(known: _Class) -> _Class:
    _STORED[stored_name(known)] = known
    return known


def stored_name(known: type) -> str:
    """Name of a class in files; classes of users have that of their module before it."""
    is_own = known.__module__.partition(".")[0] == "retgk"
    return known.__name__ if is_own else f"{known.__module__}:{known.__qualname__}"


def is_stored(known: type) -> bool:
    return _STORED.get(stored_name(known)) is known


def flatten(value: Any, name: str, arrays: Arrays | None = None) -> Any:
    """What JSON can hold of a value; arrays of numbers go to `arrays`, by the names of fields."""
    value = value.item() if isinstance(value, np.generic) else value
    if (
        value is None
        or type(value) in (bool, int, str)
        or (type(value) is float and math.isfinite(value))
    ):
        return value
    if type(value) is list:
        return [flatten(item, f"{name}.{place}", arrays) for place, item in enumerate(value)]
    if is_stored(type(value)):
        value = value.for_saving() if hasattr(value, "for_saving") else value
        known: Any = type(value)
        fitted = getattr(known, "fitted_fields", ())
        is_whole = not fitted or hasattr(value, fitted[0])
        names = _fields(known) if is_whole else stored_fields(known, fitted=False)
        own = {field: getattr(value, field) for field in names}
        return {"class": stored_name(known)} | flatten_fields(own, name, arrays)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUO":
        return _flat_array(value, name, arrays)
    for is_known, kind, parts in _CONTAINERS:
        if is_known(value):
            return {kind: flatten(parts(value), name, arrays)}
    raise InvalidInputError(
        f"{name} is {value!r:.200}, which a model file cannot hold; use plain numbers, text, "
        "tuples, or kernels of retgk instead, or set it to one of these before saving"
    )


def _flat_array(value: NDArray[Any], name: str, arrays: Arrays | None) -> Any:
    """Numbers as an array of the file; texts and objects, as names of classes are, as JSON."""
    if value.dtype.newbyteorder("<").str in FILE_DTYPES.values() and arrays is not None:
        arrays[name] = np.asarray(value)
        return {"array": name}
    if value.ndim != 1:
        raise InvalidInputError(f"{name} is an array of {value.dtype}, which a file cannot hold")
    return {"items": flatten(value.tolist(), name), "dtype": value.dtype.str}


def flatten_fields(values: Mapping[str, Any], name: str, arrays: Arrays | None) -> dict[str, Any]:
    prefix = f"{name}." if name else ""
    return {field: flatten(value, prefix + field, arrays) for field, value in values.items()}


def unflatten(value: Any, arrays: Arrays | None = None) -> Any:
    """Give the value that was flattened; what cannot be one raises a ValueError, or the like."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [unflatten(item, arrays) for item in value]
    content = {key: unflatten(item, arrays) for key, item in value.items()}
    if "class" in content:
        return _made(content.pop("class"), content)
    if content.keys() == {"items", "dtype"}:
        return _texts(content["items"], content["dtype"])
    ((kind, parts),) = content.items()
    if kind == "array":
        return (arrays or {}).pop(parts)
    return _MAKERS[kind](parts)


def build(known: type, values: Mapping[str, Any], unchecked: Collection[str] = ()) -> Any:
    """Make an object of its fields, which must be of the types that the class declares."""
    names = _fields(known)
    fitted = getattr(known, "fitted_fields", ())
    if fitted and not values.keys() & set(fitted):  # it was not fitted
        names = stored_fields(known, fitted=False)
    if values.keys() != set(names):
        odd = min(values.keys() ^ set(names))
        raise InvalidInputError(f"{known.__name__} lacks the field {odd!r}, or should not have it")
    for name, hint in _hints(known).items():
        is_checked = name in values and name not in unchecked
        if is_checked and not is_of_type(values[name], hint):
            raise InvalidInputError(f"{name} of {known.__name__} is {_shown(values[name])}")
    taken = _taken(known)
    made = known(**{name: values[name] for name in names if name in taken})
    for name in names:
        if name not in taken:
            object.__setattr__(made, name, values[name])
    if hasattr(made, "after_loading") and len(names) == len(_fields(known)):
        made.after_loading()
    return made


def is_of_type(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says; numbers of arrays must be finite."""
    if hint is Any:
        return True
    if hint in _PLAIN:
        return type(value) in _PLAIN[hint]
    if hint is Hashable:
        return _is_label(value)
    origin = get_origin(hint)
    if origin in _GENERIC:
        return _GENERIC[origin](value, get_args(hint))
    return isinstance(value, origin or hint)


def _is_tuple(value: Any, args: tuple[Any, ...]) -> bool:
    if not isinstance(value, tuple):
        return False
    if len(args) == 2 and args[1] is Ellipsis:
        return all(is_of_type(item, args[0]) for item in value)
    return len(value) == len(args) and all(map(is_of_type, value, args))


def _is_sequence(value: Any, args: tuple[Any, ...]) -> bool:
    return isinstance(value, list | tuple) and all(is_of_type(item, args[0]) for item in value)


def _is_mapping(value: Any, args: tuple[Any, ...]) -> bool:
    return isinstance(value, dict) and all(
        is_of_type(key, args[0]) and is_of_type(item, args[1]) for key, item in value.items()
    )


def _is_any_of(value: Any, args: tuple[Any, ...]) -> bool:
    return any(is_of_type(value, one) for one in args)


_PLAIN: dict[Any, tuple[type, ...]] = {
    None: (type(None),),
    type(None): (type(None),),
    bool: (bool,),
    int: (int,),
    float: (int, float),
    str: (str,),
}
_GENERIC: dict[Any, Callable[[Any, tuple[Any, ...]], bool]] = {
    Union: _is_any_of,
    types.UnionType: _is_any_of,
    Literal: lambda value, args: any(type(value) is type(one) and value == one for one in args),
    np.ndarray: lambda value, args: _is_array_of(value, get_args(args[1])[0]),
    tuple: _is_tuple,
    list: _is_sequence,
    Sequence: _is_sequence,
    dict: _is_mapping,
    Mapping: _is_mapping,
}


def check_shape(name: str, array: NDArray[Any], *shape: int | None) -> None:
    fits = array.ndim == len(shape) and all(
        n in (None, length) for n, length in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise InvalidInputError(f"{name} is of shape {array.shape}, not {shape}")


def check_offsets(name: str, ptr: NDArray[Any], n_runs: int, total: int, least: int = 0) -> None:
    check_shape(name, ptr, n_runs + 1)
    if ptr.dtype.kind != "i" or ptr[0] != 0 or ptr[-1] != total or (np.diff(ptr) < least).any():
        raise InvalidInputError(f"{name} does not rise from 0 to {total}")


def check_codes(name: str, codes: NDArray[Any], n_codes: Any) -> None:
    if codes.dtype.kind != "i" or ((codes < 0) | (codes >= n_codes)).any():
        raise InvalidInputError(f"{name} has numbers that stand for nothing")


def check_names(name: str, names: Sequence[Hashable]) -> None:
    if len(set(names)) < len(names):
        raise InvalidInputError(f"{name} has a label twice")


def _is_array_of(array: Any, scalar: Any) -> bool:
    if not isinstance(array, np.ndarray):
        return False
    is_known = scalar is Any or array.dtype == np.dtype(scalar)
    return is_known and (array.dtype.kind != "f" or bool(np.isfinite(array).all()))


def _is_label(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_label, value))
    return value is None or type(value) in (bool, int, float, str)


def stored_fields(known: type, *, fitted: bool) -> tuple[str, ...]:
    """Fields that are set after the constructor, or those that it takes."""
    taken = _taken(known)
    return tuple(name for name in _fields(known) if (name not in taken) == fitted)


@cache
def _taken(known: type) -> tuple[str, ...]:
    """What the constructor takes; a class without one takes nothing."""
    found = signature(known).parameters.values()
    return tuple(own.name for own in found if own.kind not in (own.VAR_POSITIONAL, own.VAR_KEYWORD))


@cache
def _fields(known: type) -> tuple[str, ...]:
    """What the constructor takes, and what is set after it."""
    names = [*_taken(known), *getattr(known, "fitted_fields", ())]
    if is_dataclass(known):
        names = [field.name for field in fields(known)]
    return tuple(name for name in names if name not in getattr(known, "unsaved_fields", ()))


@cache
def _hints(known: type) -> dict[str, Any]:
    return get_type_hints(known.__init__) | get_type_hints(known)  # type: ignore[misc]


def _made(name: Any, values: dict[str, Any]) -> Any:
    return build(stored_class(name), values)


def stored_class(name: Any) -> type:
    """Class of a name in a file, among those that are registered."""
    known = _STORED.get(name) if isinstance(name, str) else None
    if known is None:
        module, _, own = str(name).partition(":")
        advice = (
            f"it is a class of yours: load_model(path, trust=[{module!r}]) imports its module"
            if own
            else "if a newer retgk wrote the file, upgrade retgk"
        )
        raise InvalidInputError(f"there is no class {name!r:.80}; {advice}")
    return known


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        is_finite = value.dtype.kind != "f" or np.isfinite(value).all()
        return f"{value.dtype} of shape {value.shape}" + ("" if is_finite else ", not all finite")
    return f"{value!r:.80}"


def _texts(items: list[Any], dtype: str) -> NDArray[Any]:
    known = np.dtype(dtype if isinstance(dtype, str) else "V1")
    if known.kind not in "biufUO" or known.itemsize * len(items) > _MAX_TEXT_BYTES:
        raise ValueError(f"no array of {len(items)} values has the type {dtype!r:.20}")
    array = np.empty(len(items), known)
    for position, item in enumerate(items):
        array[position] = item
    return array


def _blocks(parts: Any) -> Any:
    """Vectors in blocks, as `EmbeddedEngine` keeps them; whoever takes them checks the codes."""
    from scipy.sparse import bsr_array  # the help of commands does without it

    shape, blocksize, data, indices, indptr = parts
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
        raise ValueError("offsets of blocks do not rise from 0 to their number")
    n_columns = shape[1] // blocksize[1]
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_columns:
        raise ValueError(f"blocks are not among {n_columns}")
    return bsr_array((data, indices, indptr), shape=shape, blocksize=blocksize)


def _parts_of_blocks(vectors: Any) -> list[Any]:
    indices, indptr = (a.astype(np.int64) for a in (vectors.indices, vectors.indptr))
    return [vectors.shape, vectors.blocksize, vectors.data, indices, indptr]


def _is_dtype(value: Any) -> bool:
    is_named = isinstance(value, type) and value in (float, *_DTYPES.values())
    return isinstance(value, np.dtype) or is_named


_CONTAINERS: tuple[tuple[Callable[[Any], bool], str, Callable[[Any], Any]], ...] = (
    (lambda value: type(value) is tuple, "tuple", list),
    (lambda value: isinstance(value, Mapping), "dict", lambda own: [list(p) for p in own.items()]),
    (lambda value: isinstance(value, slice), "slice", lambda own: [own.start, own.stop, own.step]),
    (lambda value: type(value).__name__ == "bsr_array", "blocks", _parts_of_blocks),
    (_is_dtype, "dtype", lambda own: np.dtype(own).name),
    (lambda value: type(value) is float, "float", repr),
)
_MAKERS: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "dict": dict,
    "slice": lambda parts: slice(*parts),
    "blocks": _blocks,
    "dtype": lambda name: _DTYPES[name],
    "float": lambda text: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[text],
}
