"""
How large the house is: the numbers that keep it one that a person can own.

    python -m benchmarks.house_numbers [FOLDER]   # FOLDER holds MUTAG.zip, for what a fit enters

`tests/test_architecture.py` keeps them below CEILINGS. A change that must grow raises a ceiling by
what it adds, and says so.
"""

import argparse
import ast
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks.trace_files import jobs_on, traced

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "retgk"
REGISTRIES = {"io", "kernels/others"}  # one file an entry

CEILINGS = {
    "Python files in src": 134,
    "lines of Python in src": 47_166,
    "lines of Python and C++ with reproduction": 58_554,
    "folders below src/retgk": 13,
    "files in the largest package": 15,
    "files with a single customer under 150 lines": 3,
    "test files": 85,
    "lines of tests": 34_652,
}
TRACED = {"fit": (33, 16), "predict": (23, 17), "embed": (22, 16), "retgk cv MUTAG.zip": (45, 24)}
"""Files that a job enters, and how deep its calls go."""


def python_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "_core" not in path.parts)


def lines_of(paths: list[Path]) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def sizes() -> dict[str, int]:
    """What can be counted without running anything."""
    own, reproduction = python_files(PACKAGE), python_files(ROOT / "reproduction")
    compiled = [path for path in (PACKAGE / "_core").iterdir() if path.suffix != ".pyc"]
    compiled = [path for path in compiled if path.is_file()]
    tests = python_files(ROOT / "tests")
    folders = {path.parent.relative_to(PACKAGE).as_posix() for path in own} - {"."}
    counts = {
        folder: sum(path.parent == PACKAGE / folder for path in own)
        for folder in folders - REGISTRIES
    }
    return {
        "Python files in src": len(own),
        "lines of Python in src": lines_of(own),
        "lines of Python and C++ with reproduction": lines_of([*own, *reproduction, *compiled]),
        "folders below src/retgk": len(folders),
        "files in the largest package": max(counts.values()),
        "files with a single customer under 150 lines": len(list(small_with_one_customer(own))),
        "test files": len(tests),
        "lines of tests": lines_of(tests),
    }


def small_with_one_customer(paths: list[Path]) -> Iterator[Path]:
    """Short modules that one other module imports: they may belong into it."""
    customers = defaultdict(set)
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("retgk"):
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    customers[name].add(path)
    for path in paths:
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        is_short = lines_of([path]) < 150 and path.name not in ("__init__.py", "__main__.py")
        if is_short and len(customers[module] - {path}) == 1:
            yield path


def functions() -> int:
    trees = [ast.parse(path.read_text("utf-8")) for path in python_files(PACKAGE)]
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return sum(isinstance(node, kinds) for tree in trees for node in ast.walk(tree))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", help="holds MUTAG.zip")
    options = parser.parse_args()
    for name, number in sizes().items():
        print(f"{name:48} {number:7,}   ceiling {CEILINGS[name]:7,}")
    print(f"{'functions':48} {functions():7,}")
    if options.folder:
        warnings.simplefilter("ignore")  # that the labels of networkx graphs are not used
        with tempfile.TemporaryDirectory() as scratch:
            for name, job in jobs_on(options.folder, Path(scratch)).items():
                job()
                trace = traced(job)
                files = len({file for file, _ in trace.functions})
                what = f"files entered, depth of calls: {name}"
                print(f"{what:48} {files:4} {trace.depth:3}  ceilings {TRACED[name]}", flush=True)


if __name__ == "__main__":
    main()
