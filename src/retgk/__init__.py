"""
Graph kernels from return probabilities of random walks.

Public names are imported when they are first used, so that ``import retgk`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

_MODULE_OF = {
    "GraphBatch": "retgk.batch",
    "InvalidInputError": "retgk.errors",
}

__all__ = ["GraphBatch", "InvalidInputError"]

if TYPE_CHECKING:
    from retgk.batch import GraphBatch as GraphBatch
    from retgk.errors import InvalidInputError as InvalidInputError


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'retgk' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
