"""
Collections of graphs by name, bundled and random.

- `load_tudataset` fetches and keeps a benchmark of the TUDataset collection.
- `load_digit_graphs` makes graphs of scikit-learn's images of digits.
- `make_graph_classification` draws random graphs of several classes.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.files import HOME_VARIABLE, atomic_path, cache_folder, data_home_folder
from retgk._runtime.names import Rng, generator_from
from retgk._runtime.parallel import progress_bar
from retgk._runtime.parameters import Whole, check_parameters
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, warn_of_distinct_labels
from retgk.graphs.edges import Negative, Symmetrize
from retgk.graphs.flat import offsets
from retgk.io.cache import (
    ReadOptions,
    cache_path,
    fingerprint,
    load_cached,
    store_cached,
    with_options,
)
from retgk.io.dataset import GraphDataset
from retgk.io.tudataset import (
    TU,
    check_name,
    keep_checksum,
    read_tudataset,
    save_archive,
    verify_checksum,
)

__all__ = ["load_digit_graphs", "load_tudataset", "make_graph_classification"]


def __dir__() -> list[str]:
    return __all__


# TUDataset benchmarks: found or fetched, read, and kept as a parsed copy

MIRRORS = (
    "https://www.chrsmrrs.com/graphkerneldatasets/{name}.zip",
    "https://ls11-www.cs.tu-dortmund.de/people/morris/graphkerneldatasets/{name}.zip",
)
_TIMEOUT_SECONDS = 30
_CHUNK_BYTES = 1 << 16

_BY_SUBJECT = {
    "molecules": """
        AIDS alchemy_full aspirin benzene BZR BZR_MD COX2 COX2_MD DHFR DHFR_MD ER_MD ethanol
        FRANKENSTEIN malonaldehyde MCF-7 MCF-7H MOLT-4 MOLT-4H MUTAG Mutagenicity naphthalene NCI1
        NCI109 NCI-H23 NCI-H23H OVCAR-8 OVCAR-8H P388 P388H PC-3 PC-3H PTC_FM PTC_FR PTC_MM PTC_MR
        QM9 salicylic_acid SF-295 SF-295H SN12C SN12CH SW-620 SW-620H toluene UACC257 UACC257H
        uracil Yeast YeastH ZINC_full ZINC_test ZINC_train ZINC_val
    """,
    "bioinformatics": "DD ENZYMES KKI OHSU Peking_1 PROTEINS PROTEINS_full",
    "computer vision": """
        COIL-DEL COIL-RAG Cuneiform Fingerprint FIRSTMM_DB Letter-high Letter-low Letter-med MSRC_9
        MSRC_21 MSRC_21C
    """,
    "social networks": """
        COLLAB dblp_ct1 dblp_ct2 DBLP_v1 deezer_ego_nets facebook_ct1 facebook_ct2 github_stargazers
        highschool_ct1 highschool_ct2 IMDB-BINARY IMDB-MULTI infectious_ct1 infectious_ct2 mit_ct1
        mit_ct2 REDDIT-BINARY REDDIT-MULTI-5K REDDIT-MULTI-12K reddit_threads tumblr_ct1 tumblr_ct2
        twitch_egos TWITTER-Real-Graph-Partial
    """,
    "synthetic": "COLORS-3 SYNTHETIC SYNTHETICnew Synthie TRIANGLES",
}

SUBJECT_OF = {name: subject for subject, names in _BY_SUBJECT.items() for name in names.split()}
"""Subject of every collection, by its name."""

TUDATASETS = tuple(sorted(SUBJECT_OF, key=str.lower))
"""Names of the collections (chrsmrrs.github.io/datasets)."""


def load_tudataset(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    *,
    symmetrize: Symmetrize = False,
    weight_column: int | None = None,
    negative: Negative = "error",
    skip_invalid: bool = False,
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
    negative : {"error", "absolute", "positive", "split"}, default="error"
        What becomes of negative weights, as in `from_scipy`.
    skip_invalid : bool, default=False
        Whether to leave out graphs without nodes, with their targets and a warning that names
        them; `rows` has the numbers of the others. Otherwise they are an error.
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
    >>> from retgk.datasets import load_tudataset
    >>> mutag = load_tudataset("MUTAG")  # doctest: +SKIP
    >>> mutag.graphs  # doctest: +SKIP
    GraphBatch(188 graphs, 3,371 nodes, 3,721 edges, 7 labels, 4 edge labels)
    """
    check_name(name)
    home = data_home_folder(data_home)
    source = _source(name, home, download)
    options = ReadOptions(symmetrize, weight_column, negative, skip_invalid)
    if not cache:
        return with_options(_read(source, name, options, max_bytes)[0], options)
    folder = Path(cache) if isinstance(cache, str | os.PathLike) else cache_folder()
    path = cache_path(folder, name, source, options)
    mark = fingerprint(source, options)
    dataset = load_cached(path, mark)
    if dataset is None:
        dataset, notes = _read(source, name, options, max_bytes)
        store_cached(path, dataset, mark, notes)
    warn_of_distinct_labels(dataset.graphs)
    return with_options(dataset, options)


def save_tudataset(dataset: GraphDataset, data_home: str | os.PathLike[str] | None = None) -> Path:
    """Write a collection as ``NAME.zip`` into the folder that `load_tudataset` looks in."""
    check_name(dataset.name)
    target = data_home_folder(data_home) / f"{dataset.name}.zip"
    save_archive(dataset, target)
    return target


def _source(name: str, home: Path, download: bool) -> Path:
    archive, inner = home / f"{name}.zip", home / name
    if archive.is_file():
        return archive
    for folder in (inner, home):
        if (folder / f"{name}_A.txt").is_file():
            return folder
    if download:
        return download_archive(name, home)
    raise InvalidInputError(
        f"there is neither {archive} nor {inner}; place one there, set data_home or "
        f"{HOME_VARIABLE}, or pass download=True"
    )


def _read(
    source: Path, name: str, options: ReadOptions, max_bytes: int | None
) -> tuple[GraphDataset, list[str]]:
    if source.is_file():
        verify_checksum(source)
    TU.files(source, max_bytes)
    return read_tudataset(source, name, options)


def download_archive(name: str, data_home: Path) -> Path:
    """Fetch an archive from the first mirror that has it; its checksum is written beside it."""
    target = data_home / f"{name}.zip"
    failures = []
    for mirror in MIRRORS:
        url = mirror.format(name=name)
        try:
            with atomic_path(target, follow_links=False) as part:
                _fetch(url, part, name)
                keep_checksum(target, part)  # first, so that no archive is without one
            return target
        except OSError as error:  # what requests raises derives from it
            failures.append(f"  {url}: {error}")
    raise InvalidInputError(
        f"{name} could not be downloaded:\n" + "\n".join(failures) + "\n"
        f"Check the name and the connection, or place the archive by hand as {target}"
    )


def _fetch(url: str, part: Path, name: str) -> None:
    from pooch import HTTPDownloader

    bar = _DownloadBar(name)
    fetch = HTTPDownloader(progressbar=bar, chunk_size=_CHUNK_BYTES, timeout=_TIMEOUT_SECONDS)
    try:
        fetch(url, str(part), None)
    finally:
        bar.close()


class _DownloadBar:
    """The progress bar in the form that pooch calls: it sets `total`, then updates."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.total = 0
        self._bar: AbstractContextManager[Callable[[float], None]] | None = None
        self._advance: Callable[[float], None] = lambda _: None

    def update(self, n_bytes: int) -> None:
        if self._bar is None:
            self._bar = progress_bar(f"downloading {self.name}", self.total)
            self._advance = self._bar.__enter__()
        self._advance(n_bytes)

    def reset(self) -> None:
        """Stop counting: pooch winds its bar back and fills it up when all is done."""
        self._advance = lambda _: None

    def close(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None


# scikit-learn's bundled images of digits, as graphs

_BRIGHTEST = 16.0
# One of each pair of opposite neighbours; the other direction follows by symmetry.
_NEIGHBOURS = ((0, 1), (1, -1), (1, 0), (1, 1))

_DESCRIPTION = """\
1,797 images of handwritten digits, 8 x 8 pixels, bundled with scikit-learn. Nodes are the
pixels of intensity {threshold:g} or more, edges join pixels that touch, also at a corner.
Attributes: intensity, row and column, each scaled to [0, 1]. The target is the digit."""


def load_digit_graphs(threshold: float = 0.25) -> GraphDataset:
    """
    Graphs of scikit-learn's digit images: bright pixels, joined where they touch.

    Needs no download. Every node has three attributes, each scaled to [0, 1]: the
    intensity of its pixel, its row and its column.

    Parameters
    ----------
    threshold : float, default=0.25
        Least intensity of a pixel that becomes a node, above 0 and at most 1.

    Returns
    -------
    GraphDataset
        1,797 graphs in ten classes; the targets are the digits.

    Examples
    --------
    >>> load_digit_graphs()
    GraphDataset('digits', GraphBatch(1,797 graphs, 48,401 nodes, 119,041 edges, 3 attributes), \
10 distinct targets)
    """
    from sklearn.datasets import load_digits

    if not 0 < threshold <= 1:
        raise InvalidInputError(f"threshold must be above 0 and at most 1, got {threshold}")
    digits = load_digits()
    images = digits.images / _BRIGHTEST
    bright = images >= threshold
    sizes = bright.sum(axis=(1, 2))
    if not sizes.all():
        raise InvalidInputError(
            f"image {int(np.argmin(sizes))} has no pixel of intensity {threshold:g} or more; lower "
            "the threshold"
        )
    _, rows, columns = np.nonzero(bright)
    last_row, last_column = np.subtract(bright.shape[1:], 1)
    attributes = np.stack([images[bright], rows / last_row, columns / last_column], axis=1)
    graphs = GraphBatch.from_edges(
        sizes, _touching_pixels(bright), attributes=attributes, symmetrize=True
    )
    description = _DESCRIPTION.format(threshold=threshold)
    return GraphDataset(graphs, digits.target, "digits", description)


def _touching_pixels(bright: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Pairs of bright pixels that touch; pixels are numbered as np.nonzero lists them."""
    images, rows, columns = np.nonzero(bright)
    # a dark frame of one pixel, so that every pixel has eight neighbours
    number = np.full(np.add(bright.shape, (0, 2, 2)), -1)
    number[images, rows + 1, columns + 1] = np.arange(len(images))
    pairs = []
    for down, right in _NEIGHBOURS:
        other = number[images, rows + 1 + down, columns + 1 + right]
        pairs.append(np.stack([np.flatnonzero(other >= 0), other[other >= 0]], axis=1))
    return np.concatenate(pairs)


# Random graphs of several families, and sets of them like scikit-learn's make_classification

Edges = Ints
"""Shape (n_edges, 2): distinct edges, each once, no loops."""

_DEGREE = 4.0
_CLASS_SPREAD = 0.5
_REWIRED = 0.1
_WITHIN_BLOCK = 0.9


def distinct_edges(n_nodes: int, edges: Edges) -> Edges:
    low, high = edges.min(axis=1), edges.max(axis=1)
    codes = np.unique((low * n_nodes + high)[low < high])
    return np.stack(np.divmod(codes, n_nodes), axis=1)


def uniform_edges(n_nodes: int, n_edges: int, rng: np.random.Generator) -> Edges:
    """Graph G(n, m): so many edges, each set of them equally likely."""
    codes = rng.choice(n_nodes * (n_nodes - 1) // 2, n_edges, replace=False)
    # pairs (i, j) with i < j, counted by j: the first pair of j has the code j (j - 1) / 2
    high = ((1 + np.sqrt(1 + 8 * codes.astype(np.float64))) / 2).astype(np.int64)
    high -= high * (high - 1) // 2 > codes  # the root may be off by one for large codes
    high += (high + 1) * high // 2 <= codes
    return np.stack([codes - high * (high - 1) // 2, high], axis=1)


def erdos_renyi(n_nodes: int, degree: float, rng: np.random.Generator) -> Edges:
    probability = min(1.0, degree / max(1, n_nodes - 1))
    n_edges = rng.binomial(n_nodes * (n_nodes - 1) // 2, probability)
    return uniform_edges(n_nodes, int(n_edges), rng)


def barabasi_albert(n_nodes: int, degree: float, rng: np.random.Generator) -> Edges:
    """Preferential attachment: edge k ends at a random end so far (Batagelj and Brandes 2005)."""
    per_node = max(1, round(degree / 2))
    place = rng.integers(0, 2 * np.arange(n_nodes * per_node) + 1)
    while (place % 2).any():
        place = np.where(place % 2, place[place // 2], place)
    sources = np.arange(n_nodes * per_node) // per_node
    return distinct_edges(n_nodes, np.stack([sources, place // 2 // per_node], axis=1))


def watts_strogatz(n_nodes: int, degree: float, rng: np.random.Generator) -> Edges:
    """Ring of nodes joined to the nearest ones, a tenth of the edges rewired."""
    per_node = max(1, round(degree / 2))
    sources, steps = np.divmod(np.arange(n_nodes * per_node), per_node)
    targets = (sources + steps + 1) % n_nodes
    rewired = rng.random(len(targets)) < _REWIRED
    targets[rewired] = rng.integers(0, n_nodes, rewired.sum())
    return distinct_edges(n_nodes, np.stack([sources, targets], axis=1))


def stochastic_block(n_nodes: int, degree: float, rng: np.random.Generator) -> Edges:
    """Two communities of equal size; nine of ten edges stay within them."""
    half = n_nodes // 2
    first = erdos_renyi(half, _WITHIN_BLOCK * degree, rng)
    second = erdos_renyi(n_nodes - half, _WITHIN_BLOCK * degree, rng)
    n_pairs = half * (n_nodes - half)
    expected = (1 - _WITHIN_BLOCK) * degree * n_nodes / 2
    n_between = rng.binomial(n_pairs, min(1.0, expected / max(1, n_pairs)))
    left, right = np.divmod(rng.choice(n_pairs, n_between, replace=False), n_nodes - half)
    return np.concatenate([first, second + half, np.stack([left, right + half], axis=1)])


FAMILIES: dict[str, Callable[[int, float, np.random.Generator], Edges]] = {
    "erdos_renyi": erdos_renyi,
    "barabasi_albert": barabasi_albert,
    "watts_strogatz": watts_strogatz,
    "stochastic_block": stochastic_block,
}


def make_graph_classification(
    n_graphs: int = 200,
    n_classes: int = 2,
    *,
    families: Sequence[str] = tuple(FAMILIES),
    n_labels: int = 0,
    n_attributes: int = 0,
    n_nodes: tuple[int, int] = (20, 40),
    rng: Rng = None,
) -> GraphDataset:
    """
    Random graphs whose classes differ in structure, labels or attributes.

    Class c has the structure ``families[c % len(families)]``; all families have a mean
    degree of three to four. Labels are drawn from a distribution of each class, attributes
    from N(mean, I) with a mean of each class, drawn from N(0, I / 4). Pass a single family
    for classes that differ in labels and attributes alone.

    Parameters
    ----------
    n_graphs : int, default=200
        Number of graphs.
    n_classes : int, default=2
        Number of classes, of equal size as far as possible.
    families : sequence of str
        Some of "erdos_renyi", "barabasi_albert", "watts_strogatz" and "stochastic_block".
        All four by default.
    n_labels : int, default=0
        Number of distinct node labels, or 0 for graphs without labels.
    n_attributes : int, default=0
        Number of attributes per node.
    n_nodes : tuple of two ints, default=(20, 40)
        Least and largest number of nodes of a graph; at least 5.
    rng : int, Generator or None, default=None
        Passed to :func:`numpy.random.default_rng`; an int gives the same graphs each time.

    Returns
    -------
    GraphDataset
        The graphs; targets are 0 to ``n_classes - 1``, in random order.

    Examples
    --------
    >>> data = make_graph_classification(10, n_labels=3, rng=0)
    >>> data.graphs.label_names
    (0, 1, 2)
    """
    _check_counts(n_nodes, n_labels=n_labels, n_attributes=n_attributes)
    _check_classes(n_graphs, n_classes, families, n_labels + n_attributes)
    rng = generator_from(rng, "rng")
    targets = rng.permutation(np.arange(n_graphs) % n_classes)
    sizes = rng.integers(n_nodes[0], n_nodes[1], n_graphs, endpoint=True)
    pieces = [np.empty((0, 2), np.int64)]
    for start, size, target in zip(offsets(sizes)[:-1], sizes, targets, strict=True):
        family = FAMILIES[families[target % len(families)]]
        pieces.append(start + family(int(size), _DEGREE, rng))
    classes = np.repeat(targets, sizes)
    graphs = GraphBatch.from_edges(
        sizes,
        np.concatenate(pieces),
        labels=_labels(classes, n_classes, n_labels, rng) if n_labels else None,
        attributes=_attributes(classes, n_classes, n_attributes, rng) if n_attributes else None,
        symmetrize=True,
    )
    description = f"Random graphs of {n_classes} classes: {', '.join(families)}."
    return GraphDataset(graphs, targets, "graph_classification", description)


def _check_counts(n_nodes: tuple[int, int], **counts: int) -> None:
    check_parameters(dict.fromkeys(counts, (Whole(0),)), counts)
    is_pair = isinstance(n_nodes, Sequence | np.ndarray) and len(n_nodes) == 2
    if not is_pair or not 5 <= n_nodes[0] <= n_nodes[1]:
        raise InvalidInputError(
            f"n_nodes must be two rising numbers from 5 on, the least and the largest number of "
            f"nodes, got {n_nodes!r}"
        )


def _check_classes(
    n_graphs: int, n_classes: int, families: Sequence[str], n_node_features: int
) -> None:
    unknown = [family for family in families if family not in FAMILIES]
    if unknown or not families or isinstance(families, str):
        raise InvalidInputError(
            f"families must be a sequence of some of {', '.join(FAMILIES)}; got {families!r}"
        )
    if not 1 <= n_classes <= n_graphs:
        raise InvalidInputError(f"n_classes must be 1 to n_graphs = {n_graphs}, got {n_classes}")
    if n_classes > len(families) and n_node_features == 0:
        raise InvalidInputError(
            f"{n_classes} classes cannot be told apart by {len(families)} families; ask for "
            "labels or attributes, or for fewer classes"
        )


def _labels(classes: Ints, n_classes: int, n_labels: int, rng: np.random.Generator) -> Ints:
    distributions = rng.dirichlet(np.ones(n_labels), n_classes)
    cumulative = np.cumsum(distributions, axis=1)[:, :-1]  # rounding may leave the last below 1
    drawn = rng.random(len(classes))
    labels = np.empty(len(classes), np.int64)
    for target in range(n_classes):
        members = classes == target
        labels[members] = np.searchsorted(cumulative[target], drawn[members], side="right")
    return labels


def _attributes(
    classes: Ints, n_classes: int, n_attributes: int, rng: np.random.Generator
) -> Floats:
    means = rng.normal(0, _CLASS_SPREAD, (n_classes, n_attributes))
    return means[classes] + rng.normal(size=(len(classes), n_attributes))
