"""Optional packages: imported when first needed, named with their extra when missing."""

from importlib import import_module
from typing import Any

__all__ = ["optional_module"]


def optional_module(name: str, extra: str) -> Any:
    """
    Import a package that retgk can do without.

    Parameters
    ----------
    name : str
        Name of the module to import.
    extra : str
        Extra of retgk that installs it.

    Returns
    -------
    module
        The module.

    Raises
    ------
    ImportError
        If it is not installed; the message says how to install it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"this needs {package}, which cannot be imported; pip install {package} (it is in the "
            f"extra retgk[{extra}])"
        ) from error
