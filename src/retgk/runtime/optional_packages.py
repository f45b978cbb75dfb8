"""Optional packages: imported when first needed; the error for a missing one names its extra."""

from importlib import import_module
from typing import Any

__all__ = ["optional_module"]


def optional_module(name: str, extra: str) -> Any:
    """Import a module that retgk can do without; `extra` is the extra of retgk that installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"this needs {package}, which cannot be imported; pip install {package} (it is in the "
            f"extra retgk[{extra}])"
        ) from error
