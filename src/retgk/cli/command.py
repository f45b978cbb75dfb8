"""How a function becomes a command: option groups are spelled out, errors become one line."""

from __future__ import annotations

import functools
import inspect
import io
import json
import math
import os
import re
import signal
import stat
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import combinations
from pathlib import Path
from time import monotonic, perf_counter
from types import FrameType
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from retgk._runtime.files import data_home_folder
from retgk._runtime.names import near_names
from retgk._runtime.parallel import no_progress
from retgk.cli.options import Common, Debugging, FileRole, in_panel
from retgk.errors import InvalidInputError

# Inputs are kept, and outputs: no command may write over what it reads or has just written.

_STANDARD_STREAM = "-"


def check_inputs_kept(
    outputs: Iterable[str | Path],
    inputs: Iterable[str | Path],
    data_home: Path | None,
    *,
    any_format: bool = False,
) -> None:
    """Raise if a file has two uses: by path, by link, or by another name of the file."""
    sources, targets = list(inputs), list(outputs)
    _check_apart(targets)
    for output in targets:
        _check_outside(output, sources)
        there = _stat(output)
        if there is None or not _is_kept(there):
            continue
        for name, read in _stats_of_files(sources, data_home, any_format):
            if os.path.samestat(there, read):
                raise InvalidInputError(
                    f"{output} would be written over {name}, which is read; choose another name "
                    "for the output"
                )


def _check_apart(outputs: list[str | Path]) -> None:
    """Raise if two outputs are one file: the second would take the place of the first."""
    for first, second in combinations(outputs, 2):
        if _STANDARD_STREAM not in (str(first), str(second)) and _is_same_file(first, second):
            raise InvalidInputError(
                f"{first} and {second} are the same file; choose another name for one of these "
                "outputs"
            )


def _is_same_file(first: str | Path, second: str | Path) -> bool:
    found, other = _stat(first), _stat(second)
    if found is None or other is None:
        return found is other and os.path.realpath(first) == os.path.realpath(second)
    return _is_kept(found) and os.path.samestat(found, other)


def _is_kept(found: os.stat_result) -> bool:
    """Whether what is written stays; a device or a pipe may get more than one output."""
    return stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)


def _check_outside(output: str | Path, sources: list[str | Path]) -> None:
    """Raise if an output is in the folder of an index, all of whose files belong to it."""
    folders = [path for path in map(Path, sources) if is_index(path)]
    above = [] if str(output) == _STANDARD_STREAM else Path(os.path.realpath(output)).parents
    for folder in folders:
        if any(parent.exists() and parent.samefile(folder) for parent in above):
            raise InvalidInputError(
                f"{output} would be written into the index {folder}, which is read; choose another "
                "folder for the output"
            )


def is_index(path: Path) -> bool:
    """Whether a source is the folder of an index rather than of graphs."""
    if not path.is_dir():
        return False
    from retgk.search.storage import is_index_folder

    return is_index_folder(path)


def _stats_of_files(
    sources: list[str | Path], data_home: Path | None, any_format: bool
) -> Iterator[tuple[str | Path, os.stat_result]]:
    for source in sources:
        if str(source) == _STANDARD_STREAM:
            names: Iterable[tuple[str | Path, Path | int]] = [("standard input", 0)]
        else:
            names = ((path, path) for path in _paths_of(source, data_home, any_format))
        for name, file in names:
            if (found := _stat(file)) is not None:
                yield name, found


def _paths_of(source: str | Path, data_home: Path | None, any_format: bool) -> Iterator[Path]:
    """Path itself, or that of a collection in the data home, and graphs in it if it is a folder."""
    from retgk.io.formats import graph_files_in

    places = [Path(source)]
    if not places[0].exists():
        home = data_home_folder(data_home)
        places = [home / f"{source}.zip", home / f"{source}.zip.sha256", home / source]
        in_home = home.iterdir() if home.is_dir() else ()
        places += (path for path in in_home if path.name.startswith(f"{source}_"))
    for place in places:
        yield place
        if place.is_dir():
            yield from graph_files_in(place, any_format=any_format)
            yield from place.iterdir() if is_index(place) else ()


def _stat(path: str | Path | int) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


# Signals that stop the program: it ends in good order, so that unfinished files are removed.
#
# A signal raises an exception wherever Python is at that moment. In callbacks from compiled code,
# and where objects are destroyed, exceptions get lost and the program would go on, or fail for
# want of what the callback had to do. So the exception is raised again and again until one is
# under way, and in the place of any error that comes after it.

INTERRUPTED = 130  # 128 + SIGINT, as shells have it
TERMINATED = 143

_AGAIN_SECONDS = 0.1
_PATIENCE_SECONDS = 1.0  # some programs send a signal twice where one is meant
_HAS_TIMER = hasattr(signal, "setitimer")  # not on Windows: a second signal ends it there
_UNDER_WAY = (KeyboardInterrupt, SystemExit, GeneratorExit)


class _Stop:
    """The first signal that asked the program to stop, and what it raises."""

    def __init__(self) -> None:
        self.first = 0.0
        self.number: int | None = None

    def ask(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Begin to end; who asks a second time does not want to wait for good order."""
        if self.number is None:
            self.first, self.number = monotonic(), number
            if _HAS_TIMER:
                signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS, _AGAIN_SECONDS)
            self.end()
        if monotonic() - self.first > _PATIENCE_SECONDS:
            os._exit(INTERRUPTED if number == signal.SIGINT else TERMINATED)

    def ask_again(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Begin to end anew, unless the program is about it."""
        error = sys.exception()
        while error is not None:
            if isinstance(error, _UNDER_WAY):
                return
            error = error.__context__
        self.end()

    def end(self) -> None:
        if self.number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.number is not None:
            sys.exit(TERMINATED)

    def hear_of_lost(self, lost: Any) -> None:
        """Be silent about exceptions of our own that got lost: others will follow."""
        if self.number is None or not issubclass(lost.exc_type, _UNDER_WAY):
            sys.__unraisablehook__(lost)


_STOP = _Stop()


def end_if_asked() -> None:
    """Raise KeyboardInterrupt or SystemExit if a signal asked for it, also if that got lost."""
    _STOP.end()


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """End the block by KeyboardInterrupt on SIGINT, and by SystemExit on SIGTERM, without fail."""
    handlers = {signal.SIGTERM: _STOP.ask, signal.SIGINT: _STOP.ask}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's way with background jobs
        del handlers[signal.SIGINT]
    if _HAS_TIMER:
        handlers[signal.SIGALRM] = _STOP.ask_again
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    sys.unraisablehook = _STOP.hear_of_lost
    try:
        yield
        end_if_asked()
    finally:
        if _HAS_TIMER:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = sys.__unraisablehook__


# What people and machines read: results on standard output, notes and errors on standard error.

FAILED = 1
USAGE = 2

_FILE_WIDTH = 10_000  # a file has no edge at which columns would have to be folded

# click's, whose place in typer has changed: options and arguments that cannot be understood
_UsageError: Any = typer.BadParameter.__bases__[0]


_CHOICES = re.compile(r"'([^']*)' is not one of (.*)")  # how typer says it

# Characters that would move the cursor, change colours or turn the order of others round: names
# in files may come from strangers. Halves of characters, as in names that are no text, cannot be
# printed at all.
_HIDDEN = (
    *range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F),
    *range(0x2066, 0x206A), *range(0xD800, 0xE000),
)  # fmt: skip
_ESCAPES = {code: chr(code).encode("unicode_escape", "surrogatepass").decode() for code in _HIDDEN}


# Results and notes


def show_anything() -> None:
    """Print the codes of characters that a terminal or pipe does not have, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def visible(text: str) -> str:
    """Text on one line in which control characters are spelled out, as in Python."""
    return text.translate(_ESCAPES)


def print_line(text: str) -> None:
    print(visible(text))


def print_lines(text: str) -> None:
    for line in text.split("\n"):
        print_line(line)


def print_warning(text: str) -> None:
    print(visible(text), file=sys.stderr, flush=True)


def note(common: Common, text: str) -> None:
    if not common.quiet:
        print_warning(text)


def as_json(value: Any) -> str:
    """JSON of plain values, arrays and NumPy numbers; NaN and infinity become null."""
    return json.dumps(_plain(value))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def print_record(record: Mapping[str, Any]) -> None:
    """Print a result for machines: one line of JSON, which spells out all but one control code."""
    print(as_json(record).replace("\x7f", "\\u007f"))


def print_pairs(pairs: Mapping[str, Any]) -> None:
    width = max(map(len, pairs))
    for name, value in pairs.items():
        print_line(f"{name.ljust(width)}  {value}")


def print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in header:
        table.add_column(visible(name), overflow="fold")
    for row in rows:
        table.add_row(*(visible(str(cell)) for cell in row))
    width = None if sys.stdout.isatty() else _FILE_WIDTH
    Console(markup=False, highlight=False, width=width).print(table)


class Stopwatch:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        start = perf_counter()
        yield
        passed = perf_counter() - start
        self.seconds[part] = round(self.seconds.get(part, 0.0) + passed, 4)


# Errors and warnings


@contextmanager
def one_line_errors(debug: bool, options: Sequence[str] = ()) -> Iterator[None]:
    """Turn any exception into a line and an exit code, with the traceback before it if `debug`."""
    try:
        with _interrupted_rather_than_failed():
            yield
    except KeyboardInterrupt:
        _print_error("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise  # typer ends quietly when the reader of a pipe has gone
    except (InvalidInputError, ImportError, OSError, MemoryError) as error:
        if debug:
            _print_traceback()
        _print_error(one_line(error, options))
        raise typer.Exit(FAILED) from None
    except typer.Exit:
        raise
    except _UsageError as error:
        if error.format_message():  # empty where the help itself was the answer
            _print_error(_usage_line(error))
        raise typer.Exit(USAGE) from None
    except Exception as error:  # a bug: still one line, and how to see more
        if debug:
            _print_traceback()
        _print_error(f"{type(error).__name__}: {one_line(error, options)} (--debug shows where)")
        raise typer.Exit(FAILED) from None


@contextmanager
def _interrupted_rather_than_failed() -> Iterator[None]:
    """Let a signal that came before an error have its way: the error may well come of it."""
    try:
        yield
    except typer.Exit:
        raise
    except Exception:
        end_if_asked()
        raise


@contextmanager
def one_line_warnings(options: Sequence[str] = ()) -> Iterator[None]:
    """Show warnings as errors are shown, without the place in the library."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        warning = message if isinstance(message, Warning) else UserWarning(message)
        _print_error(one_line(warning, options))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def one_line(error: BaseException, options: Sequence[str] = ()) -> str:
    """Message of an error without line breaks, in which parameters are options of the command."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    text = lines[0]
    for line in lines[1:]:
        text += (" " if text.endswith((":", ",", ";")) else "; ") + line
    return _with_options(text, options) if options else text


def _with_options(message: str, names: Sequence[str]) -> str:
    """Say `missing="label"` as `--missing label`, and `n_steps` as `--n-steps`."""

    def option(found: re.Match[str]) -> str:
        name, equals, value = found.groups(default="")
        if value[:1] in ("'", '"') and f"{name}_by" in names:
            name += "_by"  # --symmetrize has no value, --symmetrize-by has one
        if not equals and "_" not in name:
            return found[0]  # a word of English
        no = "no-" if value == "False" else ""
        value = "" if value in ("True", "False") else value.strip("[]").strip("'\"")
        return f"--{no}{name.replace('_', '-')} {value}".rstrip()

    message = re.sub(r"(?:kernel=)?\b(?:RetGK|Walks)\(([^()]*=[^()]*)\)", r"\1", message)
    values = r"True|False|\d[\w.]*|\['[^']*'\]|'[^']*'|\"[^\"]*\""
    pattern = rf"(?<![\w'\"/.-])({'|'.join(names)})(=?)({values})?(?!\.[\w.]|[\w'\"\[{{])"
    return re.sub(pattern, option, message)


def _usage_line(error: Any) -> str:
    path = error.ctx.command_path if error.ctx is not None else "retgk"
    message = one_line(typer.BadParameter(error.format_message())).removesuffix(".")
    return f"{message}{_meant_choice(message)} (see {path} --help)"


def _meant_choice(message: str) -> str:
    """Ask if a choice is meant that is nearly what was given; typer only lists them."""
    found = _CHOICES.search(message)
    near = near_names(found[1], re.findall(r"'([^']*)'", found[2])) if found else []
    return f"; did you mean {near[0]}?" if near else ""


def _print_error(message: str) -> None:
    print_warning(f"retgk: {message}")


def _print_traceback() -> None:
    for line in traceback.format_exc().rstrip("\n").split("\n"):
        print_warning(line)


Function = Callable[..., None]


@dataclass(frozen=True)
class Command:
    run: Function
    name: str
    help: str | None
    epilog: str

    def add_to(self, app: typer.Typer) -> None:
        app.command(self.name, cls=_OwnCommand, help=self.help, epilog=self.epilog)(self.run)


class _OwnCommand(TyperCommand):
    """A command that takes an option once, unless it is one of several values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:  # of completion
            _, _, given = self.make_parser(ctx).parse_args(list(args))
            for option, count in Counter(given).items():
                if count > 1 and not option.multiple and option.param_type_name == "option":
                    name = max([*option.opts, *option.secondary_opts], key=len)
                    problem = f"{name} is given {count} times, and has one value; give it once"
                    raise _UsageError(problem, ctx)
        return super().parse_args(ctx, args)

    # lists of formats and methods are imported only when the help is shown
    def format_help(self, ctx: Any, formatter: Any) -> None:
        from retgk.io.formats import endings, formats

        written = [form for form in formats().values() if form.write is not None]
        in_files = [end for form in written if not form.writes_folder for end in form.endings]
        lists: dict[str, Iterable[str]] = {
            "{endings}": endings(),
            "{formats}": formats(),
            "{written}": in_files,
            "{written_folders}": [form.name for form in written if form.writes_folder],
        }
        if "methods" in {parameter.name for parameter in self.params}:
            from retgk.model_selection.methods import DEFAULT_METHODS, METHODS, MOLECULE_METHODS

            lists["{methods}"] = [f"{name} ({each.about})" for name, each in METHODS.items()]
            lists["{default_methods}"] = DEFAULT_METHODS
            lists["{molecule_methods}"] = MOLECULE_METHODS
        for parameter in self.params:
            for mark, names in lists.items():
                if mark in (text := getattr(parameter, "help", None) or ""):
                    parameter.help = text.replace(mark, ", ".join(names))  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def command(*, examples: Sequence[str], name: str | None = None) -> Callable[[Function], Command]:
    """
    Make a command of a function, with command lines that its help shows as examples.

    A parameter that is annotated with a dataclass stands for one option per field, so that groups
    of options are written once. One of them, `common`, is `Common` or `Debugging`. An option that
    is annotated as a file to write may not name a file that another one reads or writes.
    """
    epilog = "\n\n".join(["Examples:", *(f"  $ {example}" for example in examples)])

    def as_command(function: Function) -> Command:
        hints = get_type_hints(function, include_extras=True)
        groups = {each: hint for each, hint in hints.items() if is_dataclass(hint)}
        run = _with_plain_options(function, hints, groups)
        return Command(run, name or function.__name__, inspect.getdoc(function), epilog)

    return as_command


def _with_plain_options(
    function: Function, hints: Mapping[str, Any], groups: Mapping[str, Any]
) -> Function:
    """Wrap a function of option groups in one with a parameter per option, as typer wants it."""

    @functools.wraps(function)
    def run(**options: Any) -> None:
        given = dict(options)
        arguments: dict[str, Any] = {
            name: group(**{field.name: options.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        common: Common | Debugging = arguments["common"]
        with ExitStack() as stack:
            stack.enter_context(one_line_errors(common.debug, list(given)))
            stack.enter_context(one_line_warnings(list(given)))
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
    names = [option.name for option in parameters if role in get_args(option.annotation)]
    values = [given[name] for name in names if given[name] is not None]
    return [file for value in values for file in (value if isinstance(value, list) else [value])]


def _options_of(parameter: inspect.Parameter, hint: Any) -> Iterator[inspect.Parameter]:
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


# Options that name the machines on which a command works.

_cluster = in_panel("Cluster")


@dataclass(frozen=True)
class ClusterOptions:
    """A dask cluster; results do not depend on it."""

    scheduler: Annotated[
        str | None,
        _cluster(
            metavar="ADDRESS",
            help="Address of a dask scheduler whose workers do the work, such as "
            "tls://192.168.0.7:8786. Without TLS, whoever reaches it can run code there.",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        _cluster(
            metavar="local:N", help="N worker processes on this machine, for this user alone."
        ),
    ] = None

    @property
    def is_given(self) -> bool:
        return self.scheduler is not None or self.cluster is not None

    def check(self) -> None:
        if self.is_given:
            from retgk._runtime.cluster import check_cluster_names

            check_cluster_names(self.scheduler, self.cluster)

    @contextmanager
    def client(self, common: Common) -> Iterator[Any]:
        """Give a client of the cluster, or None; say where its dashboard is, if it has one."""
        if not self.is_given:
            yield None
            return
        from retgk._runtime.cluster import cluster_client

        with cluster_client(self.scheduler, self.cluster) as client:
            dashboard = "" if self.scheduler is None else f", {client.dashboard_link}"
            note(common, f"cluster: {len(client.nthreads())} workers{dashboard}")
            yield client
