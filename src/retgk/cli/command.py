"""How a function becomes a command: option groups are spelled out, errors become one line."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, get_args, get_type_hints

import typer

from retgk.cli.kept_inputs import check_inputs_kept
from retgk.cli.options import Common, Debugging, FileRole
from retgk.cli.terminal import one_line_errors, one_line_warnings
from retgk.runtime.progress import no_progress

__all__ = ["Command", "command"]

Function = Callable[..., None]


@dataclass(frozen=True)
class Command:
    """A function with plain options, its name and help, and its words for remedies."""

    run: Function
    name: str
    help: str | None
    epilog: str
    remedies: Mapping[str, str]

    def add_to(self, app: typer.Typer) -> None:
        """Make it a command of a program."""
        app.command(self.name, help=self.help, epilog=self.epilog)(self.run)


def command(
    *, examples: Sequence[str], name: str | None = None, remedies: Mapping[str, str] | None = None
) -> Callable[[Function], Command]:
    """
    Make a command of a function, with command lines that its help shows as examples.

    A parameter that is annotated with a dataclass stands for one option per field, so that groups
    of options are written once. One of them, `common`, is `Common` or `Debugging`. What errors
    advise is said in the words of the groups' class variables `remedies`, by the key of the
    remedy; `remedies` of the command itself come before those. An option that is annotated as a
    file to write may not name a file that another one reads or writes.
    """
    epilog = "\n\n".join(["Examples:", *(f"  $ {example}" for example in examples)])

    def as_command(function: Function) -> Command:
        hints = get_type_hints(function, include_extras=True)
        groups = {each: hint for each, hint in hints.items() if is_dataclass(hint)}
        words: dict[str, str] = {}
        for group in groups.values():
            words |= getattr(group, "remedies", {})
        words |= remedies or {}
        run = _with_plain_options(function, hints, groups, words)
        return Command(run, name or function.__name__, inspect.getdoc(function), epilog, words)

    return as_command


def _with_plain_options(
    function: Function, hints: Mapping[str, Any], groups: Mapping[str, Any], words: dict[str, str]
) -> Function:
    """Give a function one parameter per option, which it gathers into their groups again."""

    @functools.wraps(function)
    def run(**options: Any) -> None:
        given = dict(options)
        arguments: dict[str, Any] = {
            name: group(**{field.name: options.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        common: Common | Debugging = arguments["common"]
        with ExitStack() as stack:
            stack.enter_context(one_line_errors(common.debug, words))
            stack.enter_context(one_line_warnings(words))
            if isinstance(common, Common) and common.quiet:
                stack.enter_context(no_progress())
            read, written = (_files(given, parameters, role) for role in FileRole)
            any_format = given.get("format") is not None
            check_inputs_kept(written, read, given.get("data_home"), any_format=any_format)
            function(**arguments, **options)

    parameters = [
        option
        for parameter in inspect.signature(function).parameters.values()
        for option in _options_of(parameter, hints[parameter.name])
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _files(
    given: Mapping[str, Any], parameters: Sequence[inspect.Parameter], role: FileRole
) -> list[Any]:
    """Files that options with a role name."""
    names = [option.name for option in parameters if role in get_args(option.annotation)]
    values = [given[name] for name in names if given[name] is not None]
    return [file for value in values for file in (value if isinstance(value, list) else [value])]


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
