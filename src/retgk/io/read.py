"""`read_graphs`: graphs from a file or folder of any format that retgk knows."""

import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from retgk._runtime.files import atomic_folder, check_regular, memory_limit
from retgk._runtime.names import check_keywords
from retgk._runtime.processes import (
    ProcessLimits,
    end_with_parent,
    limit_memory_from_now,
    run_to_end,
)
from retgk.errors import InvalidInputError
from retgk.graphs.batch import warn_of_distinct_labels
from retgk.io.convert import GraphsLike, dataset_of
from retgk.io.dataset import GraphDataset, without_empty_targets
from retgk.io.formats import (
    Format,
    PathLike,
    checked_format,
    format_of,
    formats,
    reading_options,
    text_of_name,
)
from retgk.io.tables import single_column, with_targets


def read_graphs(
    path: PathLike,
    *,
    format: str | None = None,  # noqa: A002
    targets: PathLike | None = None,
    target_column: str | Sequence[str] | None = None,
    max_bytes: int | None = None,
    isolated: bool = False,
    **options: Any,
) -> GraphDataset:
    r"""
    Read graphs from a file or folder; its name, or else its content, tells the format.

    The formats and their endings are listed in the guide to graph files; text may be packed by
    gzip. Collections are loaded by name with :func:`~retgk.datasets.load_tudataset`.

    Parameters
    ----------
    path : path-like
        A file, or a folder that holds one collection.
    format : str, optional
        Name of a format, such as "edges", where name and content do not tell; an unknown one is an
        error that lists all. A table of numbers without a header is a matrix if it has as many
        lines as columns, and three or more.
    targets : path-like, optional
        File of targets: one line for each graph, or a ``.csv`` or ``.tsv`` table, matched by the
        names of files where it has them and by its order otherwise.
    target_column : str or sequence of str, optional
        Tables: name of the column of targets, in the table of `targets` if that is given. SDF: that
        of the property. JSON: what is the target of a graph, "target" by default. Tables of
        molecules: several names are several targets, and "all" is every column of numbers; empty
        cells are NaN.
    max_bytes : int, optional
        Limit on the memory that reading takes, as files may come from strangers: their unpacked
        size times a factor of the format. By default 256 MiB or, for larger files, 512 times the
        size on disk up to 4 GiB, and 64 times the size in any case.
    isolated : bool, default=False
        Whether to read in another process, with a limit on its memory: a file that crashes a
        library, or takes more, is an InvalidInputError then. It takes a second more.
    **options
        Options of the format. One of another format does nothing.

        - GraphML, GML and JSON: ``label``, ``attributes``, ``categorical``, ``weight``,
          ``edge_label`` and ``missing``, which say by name what is read, as in `from_networkx`.
        - All but SMILES and Parquet: ``symmetrize``, whether to make directed graphs undirected,
          and what the weights of two directions become, as in `from_networkx` (otherwise they
          are an error); ``negative``, what becomes of negative weights, as in `from_scipy`.
        - Edge lists: ``delimiter``, what stands between the columns, a comma in ``.csv`` files and
          white space in others by default; ``weight`` and ``edge_label``, names of columns that a
          heading gives, or numbers, 3 or more. A third column of numbers, or one called "weight",
          is the weight by default; None reads none.
        - JSON, GraphML, GML, edge lists and TUDataset text: ``skip_invalid``, whether to leave out
          graphs without nodes, with their targets and a warning that lists them.
        - TUDataset text: ``weight_column``, as in `load_tudataset`.
        - Matrices: ``fisher_z``, ``threshold`` and ``density`` for correlations, as in
          `from_numpy`; ``variable``, the name of the matrix to read of a ``.mat`` or ``.npz``
          file, of which all variables are graphs by default.
        - SMILES, SDF, MOL: ``smiles_column``, the column of a table, "smiles" by default, in any
          letter case; ``name_column``, that of the names, by default "name", "id" or the like,
          where there is one; ``skip_invalid``, whether to leave out molecules that RDKit cannot
          read, and those without a molecule or target, with a warning that lists them;
          ``chemistry``, ``stereo``, ``largest_fragment``, ``bond_orders``, ``bond_types``,
          ``add_hydrogens`` and ``atom_attributes``, as in `from_rdkit`.
        - Molecules and GraphML: ``n_jobs``, processes that read where there is much; None for one,
          -1 for all cores. It changes no result.

    Returns
    -------
    GraphDataset
        The graphs with what the files tell of them; targets are None where there are none. Where
        graphs were left out, `rows` has the numbers of the others.

    Raises
    ------
    InvalidInputError
        If the format is not known, or the files are damaged; the message says where.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from retgk import read_graphs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "molecules.csv")
    ...     _ = path.write_text("smiles,active\nCCO,1\nc1ccccc1,0\n")
    ...     read_graphs(path, target_column="active").graphs
    GraphBatch(2 graphs, 9 nodes, 8 edges, 4 labels, 2 edge labels)
    """
    source = Path(path)
    if not source.exists():
        raise InvalidInputError(
            f"there is no file or folder {source}; load_tudataset loads collections by name"
        )
    check_regular(source)
    check_keywords(options, reading_options(), "read_graphs", {})
    if isolated:
        given = {"format": format, "targets": targets, "target_column": target_column}
        return _read_isolated(source, {**given, "max_bytes": max_bytes, **options})
    own_target = None if targets is not None else target_column
    names_columns = options.get("smiles_column") is not None or own_target is not None
    form = format_of(source, names_columns) if format is None else checked_format(format)
    files = form.files(source, max_bytes, None if targets is None else Path(targets))
    given = {**options, "target_column": own_target}
    try:
        dataset = form.read(files, **{name: given[name] for name in form.options if name in given})
    except InvalidInputError as error:
        if format is not None or form.is_named(source) or source.is_dir():
            raise
        guess = f"taken for {form.name} by its content; say so if it is of another format"
        raise InvalidInputError(f"{error} ({guess})") from error
    if not dataset.name:
        dataset = replace(dataset, name=text_of_name(source.name.split(".", 1)[0]) or source.name)
    dataset = without_empty_targets(dataset)
    warn_of_distinct_labels(dataset.graphs)
    if targets is None:
        return dataset
    return with_targets(dataset, Path(targets), single_column(target_column), max_bytes)


# In a process of its own

_REQUEST, _ANSWER = "request", "answer"
_SLACK = 512  # megabytes beyond the limit: libraries that are loaded, and what they set aside
_PATIENCE = 7 * 86400.0


def _read_isolated(path: Path, options: dict[str, Any]) -> GraphDataset:
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    limit = memory_limit(sum(file.stat().st_size for file in files), options["max_bytes"])
    limits = ProcessLimits(_PATIENCE, limit / 2**20 + _SLACK)
    with tempfile.TemporaryDirectory(prefix="retgk-") as folder:
        request = pickle.dumps((path, options, limits.megabytes))
        Path(folder, _REQUEST).write_bytes(request)
        code = "from retgk.io.read import answer_request; answer_request()"
        end = run_to_end([sys.executable, "-c", code, folder], _PATIENCE)
        if not end.succeeded:
            raise InvalidInputError(f"{path}: the process that read it {end.reason(limits)}")
        answer, told = pickle.loads(Path(folder, _ANSWER).read_bytes())
    for warning in told:
        warnings.warn(warning, stacklevel=3)
    if isinstance(answer, Exception):
        raise answer
    assert isinstance(answer, GraphDataset)
    return answer


def answer_request() -> None:
    end_with_parent()
    folder = Path(sys.argv[1])
    path, options, megabytes = pickle.loads((folder / _REQUEST).read_bytes())
    reading_options()  # what is imported now does not count
    limit_memory_from_now(megabytes)
    answer: Any
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            answer = read_graphs(path, **options)
        except (InvalidInputError, ImportError, OSError) as error:
            answer = error
    messages = [each.message for each in told if isinstance(each.message, Warning)]
    (folder / _ANSWER).write_bytes(pickle.dumps((answer, messages)))
    os._exit(0)  # without waiting for threads of libraries


def write_graphs(
    graphs: GraphsLike,
    path: PathLike,
    *,
    format: str | None = None,  # noqa: A002
) -> Path:
    """
    Write graphs to a file, or to a folder where the format needs one, that `read_graphs` reads.

    Targets, labels, attributes and weights are kept; where a format has no room for what the
    graphs have, that is an error. The file appears whole or not at all.

    Parameters
    ----------
    graphs : GraphBatch, GraphDataset or anything that `as_batch` takes
        The graphs.
    path : path-like
        The file, which is replaced if it is there; its ending tells the format. Or a new folder.
    format : str, optional
        Name of a format, such as "graphml", where the ending does not tell.

    Returns
    -------
    Path
        The file or folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from retgk import read_graphs, write_graphs
    >>> from retgk.datasets import make_graph_classification
    >>> data = make_graph_classification(n_graphs=6, rng=0)
    >>> with TemporaryDirectory() as folder:
    ...     read_graphs(write_graphs(data, f"{folder}/six.jsonl")).graphs == data.graphs
    True
    """
    target = Path(path)
    form = format_to_write(target, format)
    dataset = dataset_of(graphs, target.stem)
    assert form.write is not None
    if not form.writes_folder:
        form.write(dataset, target)
        return target
    with atomic_folder(target) as part:
        form.write(dataset, part)
        if dataset.targets is not None:  # in the form that `targets` reads
            lines = [f"{one}\n" for one in dataset.targets.tolist()]
            (part / "targets.txt").write_text("".join(lines), encoding="utf-8")
    return target


def format_to_write(target: Path, name: str | None) -> Format:
    """Format of a name, or by the ending of the target; raise if it cannot be written there."""
    written = [form for form in formats().values() if form.write is not None]
    in_files = [form for form in written if not form.writes_folder]
    endings = ", ".join(ending for form in in_files for ending in form.endings)
    folders = " or ".join(form.name for form in written if form.writes_folder)
    if name is None:
        form = next((form for form in in_files if form.is_named(target)), None)
        if form is None:
            raise InvalidInputError(
                f"cannot tell from {str(target)!r} what to write; end the name in one of "
                f"{endings}, or name a format, such as {folders}, which make a folder of that name"
            )
    else:
        form = checked_format(name)
        if form not in written:
            names = ", ".join(form.name for form in written)
            raise InvalidInputError(f"{name} is not written; choose from {names}")
    if form.writes_folder and os.path.lexists(target):
        raise InvalidInputError(f"{target} exists; remove it, or choose a new folder")
    if not form.writes_folder and not form.is_named(target):
        raise InvalidInputError(
            f"{form.name} is written to a file that ends in {' or '.join(form.readable)}, not to "
            f"{target}"
        )
    return form
