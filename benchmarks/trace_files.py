"""
Files and functions of retgk that one job enters: how far a reader has to walk to follow it.

    python -m benchmarks.trace_files FOLDER [--list]

Every job runs once before it is counted, so that imports and compiled functions are ready. Only
Python functions that are called count: not the bodies of modules and classes, not comprehensions,
and not what runs as compiled code. Threads are counted too, processes of their own are not. Only
public names are used, so that the script can count another version: run it from a third folder with
PYTHONPATH=ITS/src:THIS/REPOSITORY.
"""

import argparse
import inspect
import shutil
import sys
import tempfile
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import retgk

PACKAGE = Path(retgk.__file__).parent
COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}

Job = Callable[[], Any]


class Trace(NamedTuple):
    """What a job enters."""

    functions: set[tuple[str, str]]
    """File and name of every function of retgk."""
    depth: int
    """Most frames of retgk at a time, in one thread."""


def traced(job: Job) -> Trace:
    """Note the functions of retgk that are called while a job runs, and how deep calls go."""
    codes: set[CodeType] = set()
    depths: dict[int, int] = defaultdict(int)
    deepest = 0

    def note(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal deepest
        if event not in ("call", "return") or not is_ours(frame.f_code):
            return
        thread = threading.get_ident()
        depths[thread] += 1 if event == "call" else -1
        deepest = max(deepest, depths[thread])
        codes.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    found = {
        (str(Path(code.co_filename).relative_to(PACKAGE)), f"{code.co_name}:{code.co_firstlineno}")
        for code in codes
    }
    return Trace(found, deepest)


@cache
def is_ours(code: CodeType) -> bool:
    """Whether code is a function of retgk; bodies of modules and classes are not."""
    is_function = bool(code.co_flags & inspect.CO_NEWLOCALS) and code.co_name not in COMPREHENSIONS
    return is_function and Path(code.co_filename).is_relative_to(PACKAGE)


def jobs_on(folder: str, scratch: Path) -> dict[str, Job]:
    """What is counted; the command gets a copy of the archive, beside which it may write."""
    from typer.testing import CliRunner

    from retgk.cli.main import app

    mutag = retgk.datasets.load_tudataset("MUTAG", folder, cache=False)
    graphs = retgk.io.to_networkx(mutag.graphs)
    fitted = retgk.GraphClassifier(random_state=0).fit(graphs, mutag.targets)
    embedding = retgk.kernels.RetGKEmbedding(random_state=0)
    archive = shutil.copy(Path(folder) / "MUTAG.zip", scratch)

    def cv() -> None:
        result = CliRunner().invoke(app, ["cv", str(archive)])
        if result.exit_code:
            raise RuntimeError(result.output)

    return {
        "fit": lambda: retgk.GraphClassifier(random_state=0).fit(graphs, mutag.targets),
        "predict": lambda: fitted.predict(graphs),
        "embed": lambda: embedding.fit_transform(graphs),
        "retgk cv MUTAG.zip": cv,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="holds MUTAG.zip")
    parser.add_argument("--list", action="store_true", help="show the files and their functions")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # that the labels of networkx graphs are not used
    print(f"{'job':20} {'files':>6} {'functions':>10} {'depth':>6}")
    with tempfile.TemporaryDirectory() as scratch:
        for name, job in jobs_on(options.folder, Path(scratch)).items():
            job()
            found, depth = traced(job)
            files = sorted({file for file, _ in found})
            print(f"{name:20} {len(files):6} {len(found):10} {depth:6}", flush=True)
            if options.list:
                for file in files:
                    own = sorted(name.partition(":")[0] for at, name in found if at == file)
                    print(f"    {file}: {', '.join(own)}")


if __name__ == "__main__":
    main()
