"""What the tree of the package must keep to, checked on its syntax trees; all take plain texts."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

Sources = dict[str, str]

# Underscore names that other packages made part of their public face.
PUBLIC_UNDERSCORES = {
    "_asdict",  # of named tuples
    "_replace",
    "_fields",
    "_make",
    "_exit",  # of os: end without cleaning up
    "_parameter_constraints",  # scikit-learn's name for the table of a class
    "_core",  # our own compiled module: private to retgk, not to a part of it
    "_runtime",  # likewise
    "_namespaces",  # likewise
    "_get_param_names",  # of scikit-learn's estimators
    *("_init_callback_context", "_callback_fit_ctx"),  # of scikit-learn's callbacks
    "_sklearn_output_config",  # of scikit-learn: what set_output was told; nothing else holds it
}
ATTRIBUTE_SETTERS = {"setattr", "__setattr__"}
ATTRIBUTE_CALLS = {"getattr", "hasattr", "delattr", "attrgetter", *ATTRIBUTE_SETTERS}
MAX_LINES = 1000


def sources_under(package: Path) -> Sources:
    """Text of every module, by its dotted name; a package's name stands for its __init__."""
    texts = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        texts[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text("utf-8")
    return texts


# imports -----------------------------------------------------------------------------------------


def imported_names(module: str, text: str, is_package: bool) -> Iterator[str]:
    """Dotted names that a module imports anywhere, in functions and for types too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            here = module.split(".")
            base = here[: len(here) - node.level + is_package] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{source}.{alias.name}" for alias in node.names)


def imports_of(module: str, sources: Sources) -> set[str]:
    """Modules of the package that a module imports, itself left out."""
    is_package = any(name.startswith(f"{module}.") for name in sources)
    found = set()
    for name in imported_names(module, sources[module], is_package):
        if name in ("retgk.__version__", "retgk._core"):  # a constant, and what imports nothing
            continue
        parts = name.split(".")
        prefixes = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
        found.update([prefix for prefix in prefixes if prefix in sources][:1])
    return found - {module}


def layer_of(module: str) -> str:
    return module.split(".")[1]


def wrong_imports(sources: Sources, layers: tuple[str, ...]) -> list[str]:
    """Imports that point up the list of layers or round in a circle."""
    modules = sorted(sources.keys() - {"retgk"})
    unlisted = {layer_of(module) for module in modules} - set(layers)
    if unlisted:
        return [f"{name} is not in LAYERS; give it a place there" for name in sorted(unlisted)]
    imports = {module: imports_of(module, sources) for module in modules}
    wrong = []
    for module, targets in imports.items():
        for target in sorted(targets):
            if target == "retgk":
                wrong.append(f"{module} imports retgk itself, which stands above everything")
            elif layers.index(layer_of(target)) > layers.index(layer_of(module)):
                wrong.append(f"{module} imports {target}, which stands above it")
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        wrong.append(f"cycle: {' <- '.join(error.args[1])}")
    return wrong


# private names -----------------------------------------------------------------------------------


def is_private(name: str) -> bool:
    """Whether a name starts with an underscore; `_` alone and `__dunders__` do not count."""
    return name.startswith("_") and name != "_" and not name.endswith("__")


def named_in_call(node: ast.AST) -> tuple[str, list[str]]:
    """Function that looks up attributes by name, and the private names that a call gives it."""
    if not isinstance(node, ast.Call):
        return "", []
    function = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if function not in ATTRIBUTE_CALLS:
        return "", []
    texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    return function, [text for text in texts if isinstance(text, str) and is_private(text)]


def members_of(node: ast.ClassDef) -> set[str]:
    """Names in the body of a class, the slots and the attributes that its methods set."""
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(part.name)
        elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            names.add(part.attr)
        elif named_in_call(part)[0] in ATTRIBUTE_SETTERS:
            names.update(named_in_call(part)[1])
    for part in node.body:
        targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
        written = {target.id for target in targets if isinstance(target, ast.Name)}
        names |= written
        if "__slots__" in written:
            strings = [part for part in ast.walk(part) if isinstance(part, ast.Constant)]
            names.update(part.value for part in strings if isinstance(part.value, str))
    return names


def defined_names(tree: ast.Module) -> set[str]:
    """Functions, classes, variables and attributes that a module itself makes."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= members_of(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def names_from_imports(tree: ast.Module) -> set[str]:
    """Names in a module that stand for something from another one."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    aliases = [alias for node in nodes for alias in node.names]
    return {alias.asname or alias.name.split(".")[0] for alias in aliases}


def private_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of every private name that a module takes from another one."""
    own, foreign = defined_names(tree), names_from_imports(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from ((node.lineno, part) for part in parts if is_private(part))
        elif isinstance(node, ast.Import):
            parts = [part for alias in node.names for part in alias.name.split(".")]
            yield from ((node.lineno, part) for part in parts if is_private(part))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            of_import = isinstance(node.value, ast.Name) and node.value.id in foreign
            if of_import or node.attr not in own:
                yield node.lineno, node.attr
        else:
            names = named_in_call(node)[1]
            yield from ((node.lineno, name) for name in names if name not in own)


def package_of(module: str) -> str:
    """Package that a module shares its private names with; a module right under retgk has none."""
    parent = module.rpartition(".")[0]
    return parent if "." in parent else module


def private_names_across_packages(sources: Sources) -> list[str]:
    """Uses of underscore names that belong to another package, as module:line."""
    own = defaultdict(set)
    for module, text in sources.items():
        own[package_of(module)] |= defined_names(ast.parse(text))
    wrong = []
    for module, text in sorted(sources.items()):
        used = sorted(set(private_uses(ast.parse(text))))
        wrong += [
            f"{module}:{line} uses {name}, which belongs to another package"
            for line, name in used
            if name not in PUBLIC_UNDERSCORES
            and not (package_of(module) != module and name in own[package_of(module)])
        ]
    return wrong + overridden_private_names(sources)


def overridden_private_names(sources: Sources) -> list[str]:
    """Classes that replace an underscore name of a class of another package."""
    trees = {module: ast.parse(text) for module, text in sources.items()}
    homes = {
        node.name: (module, node)
        for module, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    wrong = []
    for name, (module, node) in homes.items():
        for base in ancestors(name, homes):
            home, other = homes[base]
            shared = sorted(filter(is_private, members_of(node) & members_of(other)))
            shared = [each for each in shared if each not in PUBLIC_UNDERSCORES]
            if package_of(home) != package_of(module):
                wrong += [f"{module}:{node.lineno} {name} replaces {base}.{s}" for s in shared]
    return sorted(wrong)


def ancestors(name: str, homes: Mapping[str, tuple[str, ast.ClassDef]]) -> Iterator[str]:
    """Classes of the package that a class inherits from, by name, the far ones too."""
    for base in homes[name][1].bases:
        of_base = getattr(base, "id", getattr(base, "attr", ""))
        if of_base in homes and of_base != name:
            yield of_base
            yield from ancestors(of_base, homes)


# sizes, examples, aliases -----------------------------------------------------------------


def long_files(sources: Sources) -> list[str]:
    """Modules of more than MAX_LINES lines: does a reader look for two things there?"""
    counts = {module: len(text.splitlines()) for module, text in sorted(sources.items())}
    return [f"{module} has {n} lines" for module, n in counts.items() if n > MAX_LINES]


def names_without_example(docstrings: Mapping[str, str | None]) -> list[str]:
    """Public names whose docstring shows no example."""
    return sorted(name for name, text in docstrings.items() if ">>>" not in (text or ""))


def assigned_values(text: str) -> dict[str, str]:
    """Names that a module gives a value at its top level, and the expression."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        elif isinstance(node, getattr(ast, "TypeAlias", ())):  # the type statement of Python 3.12
            names = [node.name.id]
        else:
            continue
        value = "" if node.value is None else ast.unparse(node.value)
        found |= dict.fromkeys(names, value)
    return found


def redefined_aliases(sources: Sources) -> list[str]:
    """Aliases that array_types has, made again under its own or another name."""
    aliases = assigned_values(sources["retgk.array_types"])
    aliases = {name: value for name, value in aliases.items() if not name.startswith("_")}
    of_value = {value: name for name, value in aliases.items()}
    wrong = []
    for module, text in sorted(sources.items()):
        if module == "retgk.array_types":
            continue
        for name, value in assigned_values(text).items():
            alias = name if name in aliases else of_value.get(value)
            if alias is not None:
                wrong.append(f"{module}: {name} is {alias} of array_types; import that")
    return wrong


# pages and packages ------------------------------------------------------------------------------


def missing_paths(page: str, folders: Sequence[Path]) -> list[str]:
    """Files and folders that a page names in backquotes and that none of the folders has."""
    named = re.findall(r"`([\w./]+(?:/|\.py|\.toml|\.csv))`", page)
    return [path for path in named if not any((folder / path).exists() for folder in folders)]


def left_out_of_sdist(imported: Iterable[str], root: Path, included: Sequence[str]) -> list[str]:
    """Folders of the repository that are imported although the source distribution lacks them."""
    tops = sorted({name.split(".")[0] for name in imported})
    return [top for top in tops if (root / top).is_dir() and f"/{top}" not in included]
