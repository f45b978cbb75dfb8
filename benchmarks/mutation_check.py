"""
Do the tests notice a broken line? One line is broken in each of some functions of the package.

    python -m benchmarks.mutation_check choose --old TREE  # writes the list (once: it is committed)
    python -m benchmarks.mutation_check run [--limit N]

``choose`` draws the functions by SEED, as evenly over packages as it can, and breaks one expression
of each: a comparison turns round, + becomes -, `and` becomes `or`, a number grows by one; where
there is none of these, the result is None. The list holds the function's name and its line before
and after, no path, and only what stands in both trees: the same list runs on a tree whose files
have moved, with a copy of this file and of the list. ``run`` copies the tree, notes which tests
enter each function, and then runs these tests on every mutant. A mutant that no test notices has
survived.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LIST = Path(__file__).parent / "mutations.json"
SEED = 32
N_FUNCTIONS = 30
MOST_TESTS = 400  # on a command line
LEFT_OUT = {"paper", "_core"}  # the reproduction is no part of the package, and C++ no Python
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
NOTE = (
    "import os as _o; _o.write(_o.open({path!r}, _o.O_WRONLY | _o.O_APPEND), "
    "(_o.environ.get('PYTEST_CURRENT_TEST', '?').rpartition(' ')[0] + '\\n').encode())"
)
"""Appends the running test to a file; processes that a test starts do so too."""

Mutation = dict[str, Any]


def functions_in(path: Path) -> Iterator[tuple[ast.FunctionDef, list[str]]]:
    text = path.read_text("utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            yield node, lines


def broken_lines(function: ast.FunctionDef, lines: list[str]) -> list[tuple[str, str]]:
    """Lines of a function before and after each way to break it; docstrings are left alone."""
    found = []
    body = function.body[1:] if ast.get_docstring(function) else function.body
    for node in (part for statement in body for part in ast.walk(statement)):
        if not hasattr(node, "lineno") or node.lineno != node.end_lineno:
            continue
        line = lines[node.lineno - 1]
        part = line.encode()[node.col_offset : node.end_col_offset].decode()
        new = broken(node, part)
        if new is not None and line.count(part) == 1:
            found.append((line.strip(), line.replace(part, new).strip()))
    ways = sorted({pair for pair in found if pair[0] != pair[1]})
    return [way for way in ways if way[1] != "return None"] or ways


def broken(node: ast.AST, part: str) -> str | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for sign, other in COMPARISONS.items():
            if f" {sign} " in part:
                return part.replace(f" {sign} ", f" {other} ", 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and part.count(" + ") == 1:
        return part.replace(" + ", " - ")
    if isinstance(node, ast.BoolOp) and part.count(" and ") == 1:
        return part.replace(" and ", " or ")
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return str(node.value + 1)
    if isinstance(node, ast.Return) and node.value is not None:
        return "return None"
    return None


def choose(old: Path) -> list[Mutation]:
    """Functions of both trees by seed, the same number from every package as far as it goes."""
    source, of_package = ROOT / "src" / "retgk", defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        package = path.relative_to(source).parts[0]
        if package in LEFT_OUT or path.name == "__init__.py":
            continue
        for function, lines in functions_in(path):
            if len(function.body) > 1 and (ways := broken_lines(function, lines)):
                of_package[package].append((function.name, ways))
    rng = random.Random(SEED)
    for rows in of_package.values():
        rng.shuffle(rows)
    chosen: list[Mutation] = []
    while len(chosen) < N_FUNCTIONS:
        for package in sorted(of_package):
            if not of_package[package]:
                continue
            name, ways = of_package[package].pop()
            before, after = rng.choice(ways)
            mutation = {"function": name, "before": before, "after": after}
            is_in_both = all(len(places_of(mutation, tree)) == 1 for tree in (ROOT, old))
            if len(chosen) < N_FUNCTIONS and is_in_both:
                chosen.append(mutation)
    return chosen


def places_of(mutation: Mutation, root: Path) -> list[tuple[Path, int, int]]:
    """File, first line of the body and broken line, wherever the function now stands."""
    found = []
    for path in sorted((root / "src" / "retgk").rglob("*.py")):
        for function, lines in functions_in(path):
            if function.name != mutation["function"]:
                continue
            numbers = range(function.lineno - 1, function.end_lineno or 0)
            own = [n for n in numbers if lines[n].strip() == mutation["before"]]
            if len(own) == 1:
                body = function.body[1:] if ast.get_docstring(function) else function.body
                found.append((path, body[0].lineno - 1, own[0]))
    return found


def run(limit: int) -> None:
    mutations = json.loads(LIST.read_text("utf-8"))[:limit]
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        ignored = shutil.ignore_patterns(".git", ".venv*", "build", "node_modules", "__pycache__")
        shutil.copytree(ROOT, tree, ignore=ignored)
        # the editable install would import retgk from the repository itself
        (tree / "sitecustomize.py").write_text(
            "import sys\nsys.meta_path[:] = [finder for finder in sys.meta_path "
            "if type(finder).__name__ != 'ScikitBuildRedirectingFinder']\n"
        )
        for built in (Path(sys.prefix) / "lib").glob("python*/site-packages/retgk/_core*.so"):
            shutil.copy(built, tree / "src" / "retgk")
        tests = tests_that_enter(mutations, tree, Path(scratch))
        counts: dict[str, int] = defaultdict(int)
        for number, mutation in enumerate(mutations):
            verdict = verdict_on(mutation, tests[number], tree)
            counts[verdict] += 1
            print(f"{number:2} {verdict:9} {len(tests[number]):4} tests  {mutation['function']}:")
            print(f"      {mutation['before']}\n      {mutation['after']}", flush=True)
        print(", ".join(f"{verdict} {n}" for verdict, n in sorted(counts.items())))


def pytest_on(tree: Path, *arguments: str) -> int:
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    command = [sys.executable, "-m", "pytest", "-q", "--numprocesses", "auto", *arguments]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.run(command, cwd=tree, env=environment, check=False, **quiet).returncode


def tests_that_enter(mutations: list[Mutation], tree: Path, scratch: Path) -> list[list[str]]:
    """Run all tests once, each function noting the tests that call it."""
    kept = {path: path.read_text("utf-8") for path in (tree / "src").rglob("*.py")}
    inserted: dict[Path, list[tuple[int, str]]] = defaultdict(list)
    for number, mutation in enumerate(mutations):
        for path, first, _ in places_of(mutation, tree):
            inserted[path].append((first, NOTE.format(path=str(scratch / f"tests-{number}"))))
    for path, notes in inserted.items():
        lines = kept[path].splitlines()
        for at, note in sorted(notes, reverse=True):
            indent = re.match(r"\s*", lines[at]).group()  # type: ignore[union-attr]
            lines.insert(at, indent + note)
        path.write_text("\n".join(lines) + "\n", "utf-8")
    for number in range(len(mutations)):
        (scratch / f"tests-{number}").touch()
    pytest_on(tree)
    for path in inserted:
        path.write_text(kept[path], "utf-8")
    found = []
    for number in range(len(mutations)):
        lines = (scratch / f"tests-{number}").read_text("utf-8").splitlines()
        found.append(sorted({line for line in lines if "::" in line}))
    return found


def verdict_on(mutation: Mutation, tests: list[str], tree: Path) -> str:
    """Say whether the tests notice; "gone" where the function or its line is no longer there."""
    places = places_of(mutation, tree)
    if len(places) != 1:
        return "gone"
    path, _, at = places[0]
    text = path.read_text("utf-8")
    lines = text.splitlines(keepends=True)
    lines[at] = lines[at].replace(mutation["before"], mutation["after"])
    path.write_text("".join(lines), "utf-8")
    files = sorted({test.partition("::")[0] for test in tests})
    chosen = tests if len(tests) < MOST_TESTS else files
    try:
        noticed = bool(tests) and pytest_on(tree, "--exitfirst", *chosen)
    finally:
        path.write_text(text, "utf-8")
    return "noticed" if noticed else "survived"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["choose", "run"])
    parser.add_argument("--old", type=Path, help="the tree before a restructuring, for choose")
    parser.add_argument("--limit", type=int, default=N_FUNCTIONS, help="only the first so many")
    options = parser.parse_args()
    if options.what == "choose":
        LIST.write_text(json.dumps(choose(options.old), indent=1) + "\n", "utf-8")
    else:
        run(options.limit)


if __name__ == "__main__":
    main()
