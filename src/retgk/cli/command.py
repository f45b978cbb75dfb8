"""How a function becomes a command: option groups are spelled out, errors become one line."""

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

import typer

from retgk.cli.failures import Advice, one_line_errors, one_line_warnings
from retgk.cli.options import Common, Debugging
from retgk.runtime.progress import no_progress

__all__ = ["command"]

Function = Callable[..., None]


def command(
    app: typer.Typer, *, examples: Sequence[str], name: str | None = None, advice: Advice = ()
) -> Callable[[Function], Function]:
    """
    Register a function as a command of an app.

    A parameter that is annotated with a dataclass stands for one option per field, so that
    groups of options are written down once. One of them, `common`, is `Common` or `Debugging`.

    Messages of the library advise what to do in Python. A group that has an option for it says so
    in its class variable `advice`; a command may go before its groups with `advice` of its own.

    Parameters
    ----------
    app : typer.Typer
        Where to register it.
    examples : sequence of str
        Command lines that the help shows.
    name : str, optional
        Name of the command; that of the function by default.
    advice : sequence of (str, str), optional
        Phrases of messages, and what to say instead.

    Returns
    -------
    callable
        The decorator; it gives the function back as it is.
    """
    epilog = "\n\n".join(["Examples:", *(f"  $ {example}" for example in examples)])

    def register(function: Function) -> Function:
        shown = name or function.__name__.strip("_")
        run = _spelled_out(function, advice)
        app.command(shown, help=inspect.getdoc(function), epilog=epilog)(run)
        return function

    return register


def _spelled_out(function: Function, advice: Advice) -> Function:
    """Function of plain options that gathers them into groups again."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    own = [*advice, *(pair for group in groups.values() for pair in getattr(group, "advice", ()))]

    @functools.wraps(function)
    def run(**options: Any) -> None:
        arguments: dict[str, Any] = {
            name: group(**{field.name: options.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        common: Common | Debugging = arguments["common"]
        with ExitStack() as stack:
            stack.enter_context(one_line_errors(common.debug, own))
            stack.enter_context(one_line_warnings(own))
            if isinstance(common, Common) and common.quiet:
                stack.enter_context(no_progress())
            function(**arguments, **options)

    parameters = [
        option
        for parameter in inspect.signature(function).parameters.values()
        for option in _options_of(parameter, hints[parameter.name])
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _options_of(parameter: inspect.Parameter, hint: Any) -> Iterator[inspect.Parameter]:
    """Parameter itself, or one for each field of a group; typer passes all by name."""
    if not is_dataclass(hint):
        yield parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(hint, include_extras=True)
    for field in fields(hint):
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
