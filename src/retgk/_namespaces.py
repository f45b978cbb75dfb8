"""Public names of packages, imported when they are first used (SPEC 1)."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """
    Give ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    The names stand in the file ``__init__.pyi`` beside ``__init__.py``, as imports; that is also
    what type checkers and editors read.
    """
    tree = ast.parse(Path(file).with_suffix(".pyi").read_text("utf-8"))
    module_of = {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if module_of[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(str(module_of[name])), name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    return get, lambda: sorted(module_of), list(module_of)
