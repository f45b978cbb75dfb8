"""Kernels of other authors, one file each: a file with one in it is all that lists need."""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retgk.kernels.others.base import PeerKernel


def all_kernels() -> "list[type[PeerKernel]]":
    """Classes of all kernels of other authors, by name."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    from retgk.kernels.others.base import PeerKernel

    return sorted(PeerKernel.kinds, key=lambda kind: kind.__name__)
