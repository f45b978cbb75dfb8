"""Benchmark sets in TUDataset form: find or fetch them, read them, keep a parsed copy, write."""

import os
import re
from pathlib import Path

from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.edge_checks import Symmetrize
from retgk.io.datasets.download import (
    download_archive,
    forget_checksum,
    keep_checksum,
    verify_checksum,
)
from retgk.io.formats.parsed_copies import (
    ReadOptions,
    cache_path,
    fingerprint,
    load_cached,
    store_cached,
    with_options,
)
from retgk.io.formats.tudataset_writer import write_archive
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.storage import HOME_VARIABLE, atomic_path, cache_folder, data_home_folder

__all__ = ["load_tudataset", "save_tudataset"]


def load_tudataset(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    *,
    symmetrize: Symmetrize = False,
    weight_column: int | None = None,
    max_bytes: int | None = None,
    cache: bool | str | os.PathLike[str] = True,
) -> GraphDataset:
    """
    Load a collection of graphs in the text form of the TUDataset benchmarks.

    The files are a set of edges: an edge that is listed more than once counts once. A
    parsed copy is kept in the folder that the environment variable ``RETGK_CACHE_HOME`` names,
    else in the cache folder of the platform (``~/.cache/retgk/parsed`` on Linux): one for each
    path and way to read it, which may be removed at any time. It is used only as long as the
    source has the content, by its digest, that was parsed.

    Parameters
    ----------
    name : str
        Name of the collection, such as ``"MUTAG"``.
    data_home : path-like, optional
        Folder with ``NAME.zip`` or a folder ``NAME``, or that folder itself. By default
        the environment variable ``RETGK_DATA_HOME``, else the platform's cache folder.
    download : bool, default=True
        Whether to fetch the collection into `data_home` if it is not there.
    symmetrize : bool or {"max", "mean", "sum"}, default=False
        Whether each listed edge stands for both of its directions. Otherwise both must be
        listed. With `weight_column`, the words say what becomes of the weights of both.
    weight_column : int, optional
        Column of ``NAME_edge_attributes.txt`` that holds the edge weights; edges listed
        more than once then add up. By default edges have no weights.
    max_bytes : int, optional
        Limit on the unpacked size, and on the memory that reading takes: archives may come from
        strangers. By default 4 GiB of text, and as much memory as honest archives of that size
        need, see `read_graphs`.
    cache : bool or path-like, default=True
        Whether to use and keep a parsed copy; or the folder to keep it in.

    Returns
    -------
    GraphDataset
        Graphs with node labels and attributes, targets (classes; values to regress on
        where there are no classes, in several columns where the files have them), and
        edge labels, as far as the collection has them.

    Raises
    ------
    InvalidInputError
        If the collection is not to be had, or its files are damaged or contradict each
        other; the message names the file and the line.

    Examples
    --------
    >>> from retgk import load_tudataset
    >>> mutag = load_tudataset("MUTAG")  # doctest: +SKIP
    >>> mutag.graphs  # doctest: +SKIP
    GraphBatch(188 graphs, 3,371 nodes, 3,721 edges, 7 labels, 4 edge labels)
    """
    _check_name(name)
    home = data_home_folder(data_home)
    source = _source(name, home, download)
    options = ReadOptions(symmetrize, weight_column)
    if not cache:
        return with_options(_read(source, name, options, max_bytes)[0], options)
    folder = Path(cache) if isinstance(cache, str | os.PathLike) else cache_folder()
    path = cache_path(folder, name, source, options)
    mark = fingerprint(source, options)
    dataset = load_cached(path, mark)
    if dataset is None:
        dataset, notes = _read(source, name, options, max_bytes)
        store_cached(path, dataset, mark, notes)
    return with_options(dataset, options)


def save_tudataset(dataset: GraphDataset, data_home: str | os.PathLike[str] | None = None) -> Path:
    """
    Write a collection of graphs as an archive in TUDataset form.

    Weights go to ``NAME_edge_attributes.txt``; read them with ``weight_column=0``.

    Parameters
    ----------
    dataset : GraphDataset
        What to write. The form has integers only for labels, or tuples of them; for other
        labels there is :func:`retgk.write_parquet`.
    data_home : path-like, optional
        Folder to put ``NAME.zip`` in, by default the one that :func:`load_tudataset` looks
        in. A file that is there is replaced.

    Returns
    -------
    Path
        The archive.

    Examples
    --------
    >>> import tempfile
    >>> from retgk import GraphBatch, GraphDataset, load_tudataset, save_tudataset
    >>> triangle = GraphBatch.from_edges(3, [[0, 1], [1, 2], [2, 0]], symmetrize=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save_tudataset(GraphDataset(triangle, [1], "TRIANGLE"), folder)
    ...     load_tudataset("TRIANGLE", folder, cache=False).graphs == triangle
    True
    """
    _check_name(dataset.name)
    target = data_home_folder(data_home) / f"{dataset.name}.zip"
    with atomic_path(target) as part:
        write_archive(dataset, part)
        forget_checksum(target)  # of what is replaced: a kill must not leave two that differ
    keep_checksum(target, target)
    return target


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.+-]*", name, flags=re.ASCII):
        raise InvalidInputError(
            f"{name!r} is not the name of a data set: letters, digits and any of _ . + - only; "
            "the folder it is in goes to data_home"
        )


def _source(name: str, home: Path, download: bool) -> Path:
    """Find the archive or folder of a data set; fetch it if need be."""
    archive, inner = home / f"{name}.zip", home / name
    if archive.is_file():
        return archive
    for folder in (inner, home):
        if (folder / f"{name}_A.txt").is_file():
            return folder
    if download:
        return download_archive(name, home)
    raise InvalidInputError(
        f"there is neither {archive} nor {inner}",
        Remedy(
            "data_home",
            f"place one there, set data_home or {HOME_VARIABLE}, or pass download=True",
        ),
    )


def _read(
    source: Path, name: str, options: ReadOptions, max_bytes: int | None
) -> tuple[GraphDataset, list[str]]:
    from retgk.io.formats.tudataset_reader import read_tudataset  # compiles; copies need it not

    if source.is_file():
        verify_checksum(source)
    return read_tudataset(source, name, options, max_bytes)
