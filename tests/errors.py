"""
Errors are tested by their type and the facts that they name; their wording may change freely.

`sentences.txt` shows all of them to a reader, as the source has them; `make sentences` writes it.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from retgk import InvalidInputError

SOURCE = Path(__file__).parent.parent / "src" / "retgk"
SNAPSHOT = Path(__file__).parent / "sentences.txt"


def fails(
    call: Callable[[], Any],
    about: str | Iterable[str] = (),
    error: type[BaseException] = InvalidInputError,
) -> str:
    """Message of the error of a call, which names all facts: a graph, a parameter, a value."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert_names(message, about)
    return message


def assert_names(message: str, about: str | Iterable[str]) -> None:
    """A fact is a word or a few; it is not found within a longer word or number."""
    for fact in [about] if isinstance(about, str) else about:
        assert re.search(rf"(?<!\w){re.escape(fact)}(?!\w)", message), f"{fact!r} not in: {message}"


def sentences() -> str:
    """Every error and warning of the source, by file; what is filled in stands in braces."""
    lines = []
    for path in sorted(SOURCE.rglob("*.py")):
        own = list(dict.fromkeys(_sentences_in(ast.parse(path.read_text("utf-8")))))
        if own:
            lines += [f"# {path.relative_to(SOURCE).as_posix()}", *own, ""]
    return "\n".join(lines)


def _sentences_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and _is_message(ast.unparse(node.func)):
            text = _text(node.args[0])
            if " " in text and not re.fullmatch(r"\{[^{}]*\}", text):
                yield " ".join(text.split())


def _is_message(name: str) -> bool:
    return name.endswith(("Error", "Warning", "warn_of"))


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) for value in values)
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case ast.List(elts=values) | ast.Tuple(elts=values):
            return " / ".join(map(_text, values))
        case _:
            return f"{{{ast.unparse(node)}}}"


if __name__ == "__main__":
    SNAPSHOT.write_text(sentences(), "utf-8")
