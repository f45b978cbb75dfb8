"""
Pictures of graphs, their return probabilities, kernels between them and tests of them.

- One graph: `return_probability_curves`, `graph_by_return_probability`, `explained_graph`,
  `explained_molecule`, `node_positions`.
- A collection: `collection_map`, `gram_heat_map`.
- A result: `confusion_matrix`, `permutation_distribution`.

Every function draws into the `ax` that it is given, or into a new figure, and returns the axes.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from retgk import _core
from retgk._runtime.files import atomic_path
from retgk._runtime.names import optional_module
from retgk._runtime.parallel import run_tasks
from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.estimators.kernel import RetGK
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import graph_of
from retgk.io.convert import as_batch
from retgk.stats.results import PopulationTest
from retgk.walks.probabilities import return_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "collection_map",
    "confusion_matrix",
    "explained_graph",
    "explained_molecule",
    "gram_heat_map",
    "graph_by_return_probability",
    "node_positions",
    "permutation_distribution",
    "return_probability_curves",
]


def __dir__() -> list[str]:
    return __all__


# Axes to draw into, and colours that readers with any kind of sight tell apart

# Okabe and Ito's palette without yellow, which is too light for lines on white.
FEW_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
# Paul Tol's muted palette, with a grey.
MANY_COLOURS = (
    *("#332288", "#CC6677", "#117733", "#88CCEE", "#882255"),
    *("#44AA99", "#DDCC77", "#AA4499", "#999933", "#888888"),
)


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is not None:
        return ax
    plt = optional_module("matplotlib.pyplot", "plot")
    engines = optional_module("matplotlib.layout_engine", "plot")
    layout = engines.ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    axes: Axes = plt.subplots(figsize=size, layout=layout)[1]
    return axes


# Return probabilities of nodes against the number of steps

_MARKERS = "osD^vPX"
_DEFAULT_NODES = 5


def return_probability_curves(
    graph: Any,
    nodes: ArrayLike | None = None,
    *,
    n_steps: int = 50,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """
    Draw the return probabilities of some nodes against the number of steps.

    Parameters
    ----------
    graph : GraphBatch or anything that `as_batch` takes
        One graph or several.
    nodes : int or array-like of int, optional
        Nodes, numbered over all graphs from 0. By default five, from the least to the largest
        degree.
    n_steps : int, default=50
        Number of steps.
    labels : sequence of str, optional
        Names of the nodes in the legend; their numbers by default.
    ax : Axes, optional
        Where to draw; a new figure by default.
    **options
        Passed to `return_probabilities`.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> path = np.diag([1, 1, 1], 1) + np.diag([1, 1, 1], -1)
    >>> return_probability_curves(path, [0, 1], n_steps=10).get_xlabel()
    'steps $s$'
    """
    batch = as_batch(graph)
    if nodes is None:  # a few, from the least to the largest degree
        order = np.argsort(np.diff(batch.indptr), kind="stable")
        n_shown = min(_DEFAULT_NODES, len(order))
        nodes = order[np.linspace(0, len(order) - 1, n_shown).round().astype(int)]
    chosen = np.atleast_1d(np.asarray(nodes))
    if chosen.size and chosen.dtype.kind not in "iu":
        raise InvalidInputError(
            f"nodes are numbers from 0 on, in the order of the graph, got {chosen.ravel()[:1]}; "
            "list(graph).index(name) is the number of a node of networkx"
        )
    names = [_node_name(batch, int(node)) for node in chosen] if labels is None else list(labels)
    if len(names) != len(chosen):
        raise InvalidInputError(
            f"got {len(names)} labels for {len(chosen)} nodes; pass one for each"
        )
    curves = return_probabilities(batch, n_steps, nodes=chosen, **options)
    ax = axes_or_new(ax, (5.5, 3.4))
    every = max(1, n_steps // 25)
    for position, (values, name) in enumerate(zip(curves, names, strict=True)):
        ax.plot(
            np.arange(1, n_steps + 1),
            values,
            color=FEW_COLOURS[position % len(FEW_COLOURS)],
            marker=_MARKERS[position % len(_MARKERS)],
            markevery=(position % every, every),
            markersize=3.5,
            linewidth=1.2,
            label=name,
        )
    ax.set(xlabel="steps $s$", ylabel="return probability $P^s(i, i)$")
    ax.set_ylim(bottom=0)
    ax.margins(x=0.02)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _node_name(batch: GraphBatch, node: int) -> str:
    if not 0 <= node < batch.n_nodes:
        raise InvalidInputError(
            f"there is no node {node}: nodes are numbered to {batch.n_nodes - 1}"
        )
    degree = int(batch.indptr[node + 1] - batch.indptr[node])
    if len(batch) == 1:
        return f"node {node} (degree {degree})"
    graph = graph_of(batch.node_ptr, node)
    return f"graph {graph}, node {node - batch.node_ptr[graph]} (degree {degree})"


# Figures as files that are the same to the bit whenever they are made, and inline in pages


class Picture(NamedTuple):
    name: str
    caption: str
    png: bytes
    svg: bytes

    def save(self, folder: Path) -> Path:
        path = folder / f"{self.name}.png"
        with atomic_path(path) as unfinished:
            unfinished.write_bytes(self.png)
        return path

    def markdown(self) -> str:
        return f"![{self.caption}]({self.name}.png)\n\n{self.caption}\n"

    def html(self) -> str:
        data = base64.b64encode(self.svg).decode()
        return (
            f'<figure><img alt="{escape(self.caption)}" src="data:image/svg+xml;base64,{data}">'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )


def save_figure(name: str, caption: str, figure: Any) -> Picture:
    """Picture with both files of a figure, the same to the bit whenever they are made."""
    from matplotlib import rc_context

    files = []
    for form, options in (("png", {"dpi": 150}), ("svg", {"metadata": {"Date": None}})):
        buffer = io.BytesIO()
        with rc_context({"svg.hashsalt": name}):  # or else names inside the file are random
            figure.savefig(buffer, format=form, **options)
        files.append(buffer.getvalue())
    return Picture(name, caption, *files)


def new_figure(size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure apart from pyplot, whose backend and state belong to the user."""
    figures = optional_module("matplotlib.figure", "plot")
    figure = figures.Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()


# The statistic of a test among those of permuted labels

_MOST_BINS = 60


def permutation_distribution(result: PopulationTest, *, ax: Axes | None = None) -> Axes:
    """
    Draw the statistic of a test beside its distribution under permuted labels.

    Parameters
    ----------
    result : PopulationTest
        What `two_sample_test`, `k_sample_test` or `association_test` gave.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> from retgk import two_sample_test
    >>> from retgk.datasets import make_graph_classification
    >>> data = make_graph_classification(n_graphs=12, n_classes=2, rng=0)
    >>> result = two_sample_test(data, n_permutations=99, rng=0)
    >>> permutation_distribution(result).get_ylabel()
    'permutations'
    """
    ax = axes_or_new(ax, (5.5, 3.4))
    n_bins = int(np.clip(np.sqrt(len(result.permuted)), 5, _MOST_BINS))
    ax.hist(result.permuted, bins=n_bins, color=FEW_COLOURS[5], label="permuted labels")
    ax.axvline(result.statistic, color=FEW_COLOURS[1], linewidth=2, label="these labels")
    ax.set(
        xlabel="largest standardised statistic",
        ylabel="permutations",
        title=f"p = {result.p_value:.4g}, {result.n_permutations:,} permutations",
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


# Colours of shares: blue against, white for zero, orange for; the same scale on both sides

# Okabe and Ito's blue and vermilion, which all kinds of colour vision tell apart
AGAINST_AND_FOR = ("#0072B2", "#FFFFFF", "#D55E00")


def checked_shares(shares: ArrayLike, n_nodes: int) -> Floats:
    try:
        values = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"shares must be numbers, got {shares!r:.80}") from error
    if values.shape != (n_nodes,) or not np.isfinite(values).all():
        raise InvalidInputError(
            f"shares must be finite and of shape ({n_nodes},), one for each node, got shape "
            f"{values.shape}"
        )
    return values


def colour_limit(values: Floats, limit: Any = None) -> float:
    if limit is None:
        return float(np.abs(values).max(initial=0.0)) or 1.0
    if isinstance(limit, bool) or not isinstance(limit, Real) or not 0 < float(limit) < np.inf:
        raise InvalidInputError(f"limit must be a positive number, got {limit!r}")
    return float(limit)


def share_rgb(share: float, limit: float) -> tuple[float, float, float]:
    against, zero, in_favour = (
        np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        for colour in AGAINST_AND_FOR
    )
    part = float(np.clip(share / limit, -1.0, 1.0))
    red, green, blue = zero + abs(part) * ((in_favour if part > 0 else against) - zero)
    return float(red), float(green), float(blue)


# Drawings of single graphs: where their nodes stand, and how they are coloured

_MAX_NODES = 2000
_GRAPHS_AT_A_TIME = 64


def graph_by_return_probability(
    graph: Any,
    step: int = 4,
    *,
    positions: ArrayLike | None = None,
    node_size: float | None = None,
    cmap: str = "viridis",
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """
    Draw a graph with its nodes coloured by the return probability of a step.

    Parameters
    ----------
    graph : GraphBatch or anything that `as_batch` takes
        One graph.
    step : int, default=4
        Number of steps after which walks return.
    positions : array-like, shape (n_nodes, 2), optional
        Places of the nodes; by default those of `node_positions`.
    node_size : float, optional
        Area of a node in square points; by default smaller for larger graphs.
    cmap : str, default="viridis"
        Colour map of Matplotlib.
    ax : Axes, optional
        Where to draw; a new figure by default.
    **options
        Passed to `return_probabilities`.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> len(graph_by_return_probability(triangle, step=2).collections)
    2
    """
    batch = _one_graph(graph)
    values = return_probabilities(batch, step, **options)[:, -1]
    label = f"return probability after {step} step{'s' * (step != 1)}"
    return _drawn_graph(batch, values, label, positions, node_size, ax, cmap=cmap)


def explained_graph(
    graph: Any,
    shares: ArrayLike,
    *,
    limit: float | None = None,
    positions: ArrayLike | None = None,
    node_size: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """
    Draw a graph with its nodes coloured by their shares in a decision value.

    Nodes that speak for the target are orange, those that speak against it blue, and the scale is
    symmetric: white is zero. Readers with the common kinds of colour blindness tell the two apart.

    Parameters
    ----------
    graph : GraphBatch or anything that `as_batch` takes
        One graph.
    shares : array-like, shape (n_nodes,)
        Shares of its nodes, as `Explanation.of` gives them.
    limit : float, optional
        Share of the darkest colours; by default the largest there is. Give the same for pictures
        that are compared.
    positions : array-like, shape (n_nodes, 2), optional
        Places of the nodes; by default those of `node_positions`.
    node_size : float, optional
        Area of a node in square points; by default smaller for larger graphs.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> explained_graph(triangle, [0.5, -0.2, 0.1]).collections[1].get_clim()
    (-0.5, 0.5)
    """
    from matplotlib.colors import LinearSegmentedColormap

    batch = _one_graph(graph)
    values = checked_shares(shares, batch.n_nodes)
    most = colour_limit(values, limit)
    cmap = LinearSegmentedColormap.from_list("shares", AGAINST_AND_FOR)
    scale = {"cmap": cmap, "vmin": -most, "vmax": most}
    label = "share of the decision value"
    return _drawn_graph(batch, values, label, positions, node_size, ax, **scale)


_MOST_NAMED = 60  # nodes whose names can be read in a picture


def _drawn_graph(
    batch: GraphBatch,
    values: Floats,
    label: str,
    positions: ArrayLike | None,
    node_size: float | None,
    ax: Axes | None,
    **colours: Any,
) -> Axes:
    places = (
        node_positions(batch) if positions is None else checked_positions(positions, batch.n_nodes)
    )
    ax = axes_or_new(ax, (5.0, 4.2))
    _draw_edges(ax, batch, places)
    size = node_size or float(np.clip(9000 / max(1, batch.n_nodes), 12, 160))
    is_light = "vmin" in colours  # nodes may be white: they need an edge
    nodes = ax.scatter(
        places[:, 0],
        places[:, 1],
        s=size,
        c=values,
        edgecolors="0.35" if is_light else "white",
        linewidths=0.8,
        zorder=2,
        **colours,
    )
    if batch.node_names is not None and batch.n_nodes <= _MOST_NAMED:
        for name, place in zip(map(str, batch.node_names), places.tolist(), strict=True):
            near: dict[str, Any] = {"xytext": (3, 3), "textcoords": "offset points"}
            ax.annotate(name, place, fontsize=7, zorder=3, parse_math=False, **near)
    ax.figure.colorbar(nodes, ax=ax, label=label, shrink=0.85)
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.set_axis_off()
    return ax


def checked_positions(positions: ArrayLike, n_nodes: int) -> Floats:
    places = np.asarray(positions, dtype=np.float64)
    if places.shape != (n_nodes, 2) or not np.isfinite(places).all():
        raise InvalidInputError(
            f"positions must be finite and of shape ({n_nodes}, 2), got shape {places.shape}"
        )
    return places


def _draw_edges(ax: Axes, batch: GraphBatch, places: Floats) -> None:
    from matplotlib.collections import LineCollection

    sources = batch.edge_rows
    once = sources < batch.indices
    ends = np.stack([places[sources[once]], places[batch.indices[once]]], axis=1)
    width = float(np.clip(900 / max(1, len(ends)), 0.3, 1.2))
    ax.add_collection(LineCollection(list(ends), colors="0.65", linewidths=width, zorder=1))


def _one_graph(graph: Any) -> GraphBatch:
    batch = as_batch(graph)
    if len(batch) != 1:
        raise InvalidInputError(f"one graph can be drawn at a time, got {len(batch)}; pass one")
    return batch


def node_positions(graph: Any) -> Floats:
    r"""
    Positions in the plane whose distances are close to the numbers of steps between nodes.

    Minimises the stress :math:`\sum_{i<j} d_{ij}^{-2} (\|x_i - x_j\| - d_{ij})^2` over the
    positions. The same graph always has the same drawing.

    Parameters
    ----------
    graph : GraphBatch or anything that `as_batch` takes
        One graph, of up to 2,000 nodes.

    Returns
    -------
    ndarray of float64, shape (n_nodes, 2)
        The positions.

    Examples
    --------
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> places = node_positions(triangle)
    >>> float(np.linalg.norm(places[0] - places[1]).round(3))
    1.0
    """
    batch = _one_graph(graph)
    if batch.n_nodes > _MAX_NODES:
        raise InvalidInputError(
            f"the graph has {batch.n_nodes} nodes, too many to lay out; pass positions"
        )
    return stress_layout(batch)


def stress_layout(batch: GraphBatch, n_jobs: int | None = None) -> Floats:
    """
    Positions of all nodes of a batch, graph after graph, each turned so that it is widest across.

    Pairs of nodes are moved one after the other, in random order with falling steps (Zheng, Pawar
    and Goodman, 2018). A graph has the same drawing whatever stands beside it.
    """
    places = np.zeros((batch.n_nodes, 2))
    shared = (batch.node_ptr, batch.indptr, batch.indices, places)
    starts = range(0, len(batch), _GRAPHS_AT_A_TIME)
    tasks = [(first, min(len(batch), first + _GRAPHS_AT_A_TIME), *shared) for first in starts]
    sizes = batch.node_counts.astype(float)
    costs = [float((sizes[task[0] : task[1]] ** 2).sum()) for task in tasks]
    run_tasks(_core.place_nodes, tasks, costs, n_jobs, "drawings")
    return places


# Structural formulas of molecules with their atoms coloured by shares, as RDKit draws them


def explained_molecule(
    molecule: Any,
    shares: ArrayLike,
    *,
    limit: float | None = None,
    size: tuple[int, int] = (360, 280),
) -> str:
    """
    Draw the structural formula of a molecule, its atoms coloured by shares of a decision value.

    Colours are those of `explained_graph`: orange for the target, blue against it.

    Parameters
    ----------
    molecule : rdkit.Chem.Mol or str
        The molecule, or its SMILES string; with its hydrogens, if these have shares too.
    shares : array-like, shape (n_atoms,)
        Shares of its atoms, as `Explanation.of` gives them.
    limit : float, optional
        Share of the darkest colours; by default the largest there is.
    size : tuple of int, default=(360, 280)
        Width and height in pixels.

    Returns
    -------
    str
        The drawing as SVG.

    Examples
    --------
    >>> explained_molecule("CCO", [0.1, 0.0, -0.3]).count("<ellipse")
    2
    """
    chem = optional_module("rdkit.Chem", "rdkit")
    drawer_module = optional_module("rdkit.Chem.Draw.rdMolDraw2D", "rdkit")
    found = chem.MolFromSmiles(molecule) if isinstance(molecule, str) else molecule
    if found is None:
        raise InvalidInputError(f"RDKit cannot read {molecule!r:.80} as a molecule")
    n_atoms = found.GetNumAtoms()
    with_hydrogens = chem.AddHs(found)
    if isinstance(molecule, str) and len(shares) == with_hydrogens.GetNumAtoms() != n_atoms:  # type: ignore[arg-type]
        found, n_atoms = with_hydrogens, len(shares)  # type: ignore[arg-type]
    values = checked_shares(shares, n_atoms)
    most = colour_limit(values, limit)
    coloured = [atom for atom in range(n_atoms) if abs(values[atom]) > 0.02 * most]
    drawer = drawer_module.MolDraw2DSVG(*size)
    options = drawer.drawOptions()
    options.useBWAtomPalette()
    options.highlightRadius = 0.38
    options.fillHighlights = True
    options.prepareMolsBeforeDrawing = True
    drawer_module.PrepareAndDrawMolecule(
        drawer,
        found,
        highlightAtoms=coloured,
        highlightAtomColors={atom: share_rgb(values[atom], most) for atom in coloured},
        highlightBonds=[],
    )
    drawer.FinishDrawing()
    return str(drawer.GetDrawingText())


# Pictures of kernels: a map of the graphs, the kernel matrix, and the confusion of classes

_MAP_MARKERS = "osD^vPX*<>"
_MAX_CLASSES = 30
_OUTLIERS = 1.0  # per cent of the values at each end that share the last colour


def collection_map(
    graphs: Any,
    y: ArrayLike | None = None,
    *,
    size: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """
    Draw graphs as points by the first two components of kernel PCA, or of PCA of their vectors.

    Parameters
    ----------
    graphs : array of float, sparse matrix, or anything that `as_batch` takes
        A kernel matrix, which is what a symmetric array of floats is taken for; vectors of
        graphs, such as `RetGKEmbedding` gives, which are the rows of any other array of floats
        and of a sparse matrix; or graphs, whose kernel is that of
        ``RetGK(random_state=0)``.
    y : array-like, shape (n,), optional
        Classes, or numbers: more than 30 different numbers are shown as a range of colours.
    size : float, optional
        Area of a point in square points; by default smaller for more graphs.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> collection_map(np.eye(4) + 1.0, ["a", "a", "b", "b"]).get_xlabel()
    'first component (33 % of the variance)'
    """
    known = graphs if _is_matrix(graphs) else as_batch(graphs)
    n_graphs = known.shape[0] if _is_matrix(known) else len(known)
    if n_graphs < 3:
        raise InvalidInputError(f"a map needs at least 3 graphs, got {n_graphs}")
    targets = None if y is None else _checked_targets(y, n_graphs)
    are_numbers = targets is not None and _are_numbers(targets)
    places, shares = _map_coordinates(known)
    ax = axes_or_new(ax, (5.4, 4.4))
    size = size or float(np.clip(9000 / n_graphs, 7, 36))
    if targets is None:
        ax.scatter(places[:, 0], places[:, 1], s=size, color=MANY_COLOURS[0], linewidths=0)
    elif are_numbers:
        points = ax.scatter(
            places[:, 0], places[:, 1], s=size, c=targets.astype(float), cmap="viridis"
        )
        ax.figure.colorbar(points, ax=ax, label="target")
    else:
        _draw_classes(ax, places, targets, size)
    first, second = (f"component ({100 * share:.0f} % of the variance)" for share in shares)
    ax.set(xlabel=f"first {first}", ylabel=f"second {second}")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _is_sparse(values: Any) -> bool:
    return bool(issparse(values))


def _is_matrix(graphs: Any) -> bool:
    if _is_sparse(graphs):
        return len(graphs.shape) == 2
    return isinstance(graphs, np.ndarray) and graphs.ndim == 2 and graphs.dtype.kind == "f"


def _map_coordinates(known: Any) -> tuple[Floats, Floats]:
    if isinstance(known, GraphBatch):
        return _kernel_coordinates(RetGK(random_state=0).fit_transform(known))
    if _is_sparse(known) or not _is_symmetric(known):
        return _vector_coordinates(known)
    return _kernel_coordinates(known)


def _is_symmetric(matrix: Floats) -> bool:
    """Whether it can be a kernel; rounding, and values that are not finite, do not count here."""
    if matrix.shape[0] != matrix.shape[1]:
        return False
    return np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-8, equal_nan=True)


def _kernel_coordinates(kernel: Floats) -> tuple[Floats, Floats]:
    from sklearn.decomposition import KernelPCA
    from sklearn.preprocessing import KernelCenterer

    matrix = _checked_kernel(kernel)
    pca = KernelPCA(2, kernel="precomputed", random_state=0)
    places = pca.fit_transform(matrix)
    total = np.trace(KernelCenterer().fit_transform(matrix))
    if places.shape[1] < 2 or not total > 0:
        raise InvalidInputError("the graphs are all alike to this kernel: there is no map of them")
    return places, pca.eigenvalues_ / total


def _vector_coordinates(vectors: Any) -> tuple[Floats, Floats]:
    """Coordinates and shares by PCA, which is kernel PCA with inner products of the vectors."""
    from sklearn.decomposition import PCA

    if min(vectors.shape) < 2:
        raise InvalidInputError(f"a map needs vectors of at least 2 values, got {vectors.shape[1]}")
    if _is_sparse(vectors):
        is_small = min(vectors.shape) == 2  # too small for ARPACK
        vectors = vectors.toarray() if is_small else vectors.tocsr().astype(np.float64)
    if not np.isfinite(vectors.data if _is_sparse(vectors) else vectors).all():
        raise InvalidInputError("the vectors have values that are not finite")
    if abs(vectors - vectors[[0] * vectors.shape[0]]).max() == 0:
        raise InvalidInputError("the vectors are all alike: there is no map of them")
    pca = PCA(2, svd_solver="arpack" if _is_sparse(vectors) else "auto", random_state=0)
    return pca.fit_transform(vectors), pca.explained_variance_ratio_


def _are_numbers(targets: NDArray[Any]) -> bool:
    n_distinct = len(np.unique(targets))
    if n_distinct <= _MAX_CLASSES:
        return False
    if targets.dtype.kind not in "iuf":
        raise InvalidInputError(f"{n_distinct} classes cannot be told apart by colours; merge some")
    return True


def _draw_classes(ax: Axes, places: Floats, targets: NDArray[Any], size: float) -> None:
    names = np.unique(targets)
    colours = FEW_COLOURS if len(names) <= len(FEW_COLOURS) else MANY_COLOURS
    for position, name in enumerate(names):
        own = targets == name
        ax.scatter(
            places[own, 0],
            places[own, 1],
            s=size,
            color=colours[position % len(colours)],
            marker=_MAP_MARKERS[(position + position // len(colours)) % len(_MAP_MARKERS)],
            linewidths=0,
            alpha=0.8,
            label=str(name),
        )
    ax.legend(
        frameon=False, title="class", loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=1.6
    )


def gram_heat_map(
    kernel: ArrayLike,
    y: ArrayLike | None = None,
    *,
    cmap: str = "viridis",
    ax: Axes | None = None,
) -> Axes:
    """
    Draw a kernel matrix, its graphs ordered by class.

    Within a class graphs are in the order of the first component of kernel PCA, so that similar
    ones are next to each other.
    Colours range over all but the outermost per cent of the values outside of the diagonal: a
    graph is so similar to itself that nothing else would be seen.

    Parameters
    ----------
    kernel : array-like, shape (n, n)
        Kernel values.
    y : array-like, shape (n,), optional
        Classes of the graphs; without them graphs are in their order.
    cmap : str, default="viridis"
        Colour map of Matplotlib.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> ax = gram_heat_map([[1, 0.2, 0.7], [0.2, 1, 0.1], [0.7, 0.1, 1]], ["a", "b", "a"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b']
    """
    matrix = _checked_kernel(kernel)
    targets = None if y is None else _checked_targets(y, len(matrix))
    if targets is not None:
        order = np.lexsort([_first_coordinate(matrix), np.unique(targets, return_inverse=True)[1]])
        matrix, targets = matrix[np.ix_(order, order)], targets[order]
    others = matrix[~np.eye(len(matrix), dtype=bool)] if len(matrix) > 1 else matrix
    low, high = np.percentile(others, [_OUTLIERS, 100 - _OUTLIERS])
    ax = axes_or_new(ax, (5.2, 4.4))
    image = ax.imshow(matrix, cmap=cmap, vmin=low, vmax=high)
    ax.figure.colorbar(image, ax=ax, label="kernel", extend="both", shrink=0.9)
    ax.set(xlabel="graphs", ylabel="graphs")
    if targets is not None:
        _mark_classes(ax, targets)
    return ax


def _first_coordinate(matrix: Floats) -> Floats:
    from sklearn.decomposition import KernelPCA

    if len(matrix) < 3:
        return np.zeros(len(matrix))
    places = KernelPCA(1, kernel="precomputed", random_state=0).fit_transform(matrix)
    return places[:, 0] if places.shape[1] else np.zeros(len(matrix))


def _mark_classes(ax: Axes, targets: NDArray[Any]) -> None:
    names, starts = np.unique(targets, return_index=True)
    ends = np.append(starts[1:], len(targets))
    for border in starts[1:] - 0.5:
        ax.axhline(border, color="white", linewidth=0.9)
        ax.axvline(border, color="white", linewidth=0.9)
    middles = (starts + ends - 1) / 2
    ax.set_xticks(middles, [str(name) for name in names])
    ax.set_yticks(middles, [str(name) for name in names])
    ax.tick_params(length=0)
    ax.set(xlabel="graphs, by class", ylabel="graphs, by class")


def confusion_matrix(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    normalize: Literal["true", "pred", "all"] | None = None,
    cmap: str = "Blues",
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """
    Draw how often each class was predicted for each.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        Classes of the graphs.
    y_pred : array-like, shape (n,)
        Predictions, of `cross_val_predict` for example.
    normalize : {"true", "pred", "all"}, optional
        Whether to show shares of a row, of a column or of all; counts by default.
    cmap : str, default="Blues"
        Colour map of Matplotlib.
    ax : Axes, optional
        Where to draw; a new figure by default.
    **options
        Passed to `sklearn.metrics.ConfusionMatrixDisplay.from_predictions`.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> confusion_matrix(["a", "b", "b"], ["a", "b", "a"]).get_xlabel()
    'predicted class'
    """
    from sklearn.metrics import ConfusionMatrixDisplay

    if len(np.asarray(y_true)) != len(np.asarray(y_pred)):
        raise InvalidInputError(
            f"there are {len(np.asarray(y_true))} classes but {len(np.asarray(y_pred))} predictions"
        )
    ax = axes_or_new(ax, (4.8, 4.4))
    defaults = {"colorbar": False, "values_format": None if normalize is None else ".2f"}
    ConfusionMatrixDisplay.from_predictions(
        y_true, y_pred, normalize=normalize, cmap=cmap, ax=ax, **(defaults | options)
    )
    ax.set(xlabel="predicted class", ylabel="true class")
    return ax


def _checked_kernel(kernel: ArrayLike) -> Floats:
    matrix = np.asarray(kernel, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InvalidInputError(
            f"the kernel matrix must be square, got shape {matrix.shape}; pass what "
            "RetGK().fit_transform(graphs) gives"
        )
    if not np.isfinite(matrix).all():
        raise InvalidInputError("the kernel matrix has values that are not finite")
    return matrix


def _checked_targets(y: ArrayLike, n_graphs: int) -> NDArray[Any]:
    targets = np.asarray(y)
    if targets.shape != (n_graphs,):
        raise InvalidInputError(
            f"y must be one target for each of the {n_graphs} graphs, got shape {targets.shape}"
        )
    return targets
