"""`explore`: one interactive page of a collection of graphs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.files import atomic_path
from retgk._runtime.html_page import html_page
from retgk._runtime.names import Rng, optional_module, whole_seed
from retgk._runtime.parallel import single_threaded_blas
from retgk._runtime.processes import check_room
from retgk.array_types import Flags, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.estimators.embedding import RetGKEmbedding
from retgk.estimators.explanation import is_explained
from retgk.explorer.drawings import (
    LARGEST_DRAWN,
    MOST_ATTRIBUTES,
    PageArrays,
    drawn_graphs,
    pack_drawings,
)
from retgk.explorer.map import (
    NEIGHBOURS_OF_MAP,
    PROJECTIONS,
    Projection,
    map_places,
    nearest_graphs,
)
from retgk.graphs.batch import GraphBatch
from retgk.io.convert import GraphsLike, as_batch
from retgk.io.dataset import GraphDataset
from retgk.kernels.kernel import GraphKernel
from retgk.learning.outcomes import ClassOutcomes
from retgk.plot import checked_positions
from retgk.walks.probabilities import Walks

_FRAME_HEIGHT = 760


@dataclass(frozen=True)
class CollectionPage:
    """
    One page of a collection of graphs: what `explore` gives.

    Attributes
    ----------
    text : str
        The page, as HTML.
    n_graphs : int
        Graphs on the map.
    n_drawn : int
        Graphs that have a drawing.

    Examples
    --------
    >>> from retgk import explore
    >>> from retgk.datasets import make_graph_classification
    >>> page = explore(make_graph_classification(n_graphs=6, rng=0))
    >>> page.text.startswith("<!DOCTYPE html>")
    True
    """

    text: str = field(repr=False)
    n_graphs: int
    n_drawn: int

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and give its path."""
        with atomic_path(Path(path)) as part:
            part.write_text(self.text, "utf-8")
        return Path(path)

    def __repr__(self) -> str:
        return f"CollectionPage({self.n_graphs:,} graphs, {self.n_drawn:,} drawn)"

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame that can do no more than the page itself."""
        return (
            f'<iframe srcdoc="{escape(self.text)}" width="100%" height="{_FRAME_HEIGHT}" '
            'sandbox="allow-scripts allow-downloads" title="a collection of graphs"></iframe>'
        )


def page_text(title: str, data: str) -> str:
    """Give a page that shows packed data; names and labels are in the data alone, as base64."""
    parts = [
        '<main id="app"><p>Unpacking the collection.</p></main>',
        "<noscript>This page draws its graphs with JavaScript, which is off.</noscript>",
        f'<script type="text/plain" id="data">{data}</script>',
    ]
    return html_page(title, built_file("explorer.css"), parts, built_file("explorer.js"))


def built_file(name: str) -> str:
    """Script or style, as `make explorer` built it from the sources in the folder explorer."""
    return (files("retgk.explorer") / "built" / name).read_text("utf-8")


# Columns: what is known of every graph, as classes, numbers or text

_MOST_CLASSES = 30  # different values that are shown as classes
_NUMBERS = ("size", "confidence", "error")  # roles of columns that are never classes
_WHOLE_NUMBERS = 12  # different whole numbers that are shown as classes
_TARGETS = ("class", "predicted")  # roles of columns whose whole numbers may be more classes


class Column(NamedTuple):
    name: str
    values: NDArray[Any]
    role: str = ""
    """What the page knows it as: "class", "predicted", "correct", "confidence", "error", "size"."""


def checked_column(name: str, values: Any, n_graphs: int, role: str = "") -> Column:
    found = np.asarray(values)
    if found.dtype.kind not in "biufOUS" or found.shape != (n_graphs,):
        raise InvalidInputError(
            f"column {name!r} must be one value for each of {n_graphs:,} graphs, got shape "
            f"{found.shape} of {found.dtype}"
        )
    return Column(name, found, role)


def checked_columns(columns: Mapping[str, Any] | None, n_graphs: int) -> list[Column]:
    if columns is None:
        return []
    try:
        names = [str(name) for name in columns]
        return [
            checked_column(name, columns[own], n_graphs)
            for name, own in zip(names, columns, strict=True)
        ]
    except (TypeError, KeyError, IndexError) as error:
        raise InvalidInputError(
            f"columns must be a mapping from names to values, got {columns!r:.80}"
        ) from error


def _pack(column: Column, key: str, arrays: PageArrays) -> dict[str, Any]:
    values = column.values
    header = {"key": key, "name": column.name, "role": column.role}
    is_number = values.dtype.kind in "iuf"
    most = _MOST_CLASSES if column.role in _TARGETS else _WHOLE_NUMBERS
    if is_number and (column.role in _NUMBERS or not _are_classes(values, most)):
        numbers = values.astype(np.float32)
        arrays.add(key, np.where(np.isfinite(numbers), numbers, np.nan))
        return {**header, "kind": "number"}
    texts = [text_of(value) for value in values.tolist()]
    names = _class_names(values)
    if len(names) > _MOST_CLASSES:
        return {**header, "kind": "text", "texts": texts}
    places = {name: place for place, name in enumerate(names)}
    arrays.add_codes(key, np.array([places[text] for text in texts], np.int64))
    return {**header, "kind": "class", "names": names}


def _class_names(values: NDArray[Any]) -> list[str]:
    distinct = {text_of(value): value for value in values.tolist()}  # 1 and True have two texts
    try:
        return sorted(distinct, key=lambda text: distinct[text])
    except TypeError:
        return sorted(distinct)


def _are_classes(values: NDArray[Any], most: int) -> bool:
    finite: Flags = np.isfinite(values)
    if not finite.all() or not np.array_equal(values, np.round(values)):
        return False
    return len(np.unique(values)) <= most


def text_of(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


# What a page shows of a model: predictions of all graphs, shares of the nodes of drawn ones


class Predictions(NamedTuple):
    values: NDArray[Any]
    by: str
    """Whose predictions they are."""
    are_classes: bool = False
    """Whether they are known to be classes, which may be floating-point numbers too."""
    confidence: Floats | None = None
    """Probability of the class that is predicted, where there is one."""


def check_model(model: Any, target: Any) -> None:
    if not (hasattr(model, "predict") and hasattr(model, "explain")):
        raise InvalidInputError(
            f"model must be a fitted GraphClassifier or GraphRegressor, got {type(model).__name__}"
        )
    check_is_fitted(model, "dual_coef_")
    if target is None and _has_several_targets(model):
        raise InvalidInputError(
            "the model predicts several targets for each graph, of which a page can show one; "
            "name it by target="
        )


def _has_several_targets(model: Any) -> bool:
    return getattr(model, "multilabel_", False) or getattr(model, "target_ndim_", 1) > 1


def predictions_of(model: Any, batch: GraphBatch | GraphDataset, target: Any = None) -> Predictions:
    by = f"a {type(model).__name__}"
    is_classifier = hasattr(model, "classes_")
    if _has_several_targets(model):
        place = model.classes_.tolist().index(target) if is_classifier else int(target)
        return Predictions(model.predict(batch)[:, place], by, is_classifier)
    if not is_classifier:
        return Predictions(model.predict(batch), by)
    outcomes = ClassOutcomes(model.classes_)
    scores = model.decision_function(batch).reshape(len(batch), -1)
    # the class that predict gives, which need not be the most probable one
    codes = outcomes.codes(scores)
    predicted = model.classes_[codes]
    if model.calibration_coef_ is None:
        return Predictions(predicted, by, are_classes=True)
    calibration = (model.calibration_coef_, model.calibration_intercept_)
    probabilities = outcomes.probabilities(scores, calibration)
    return Predictions(predicted, by, True, probabilities[np.arange(len(codes)), codes])


def prediction_columns(predictions: Predictions, truth: NDArray[Any] | None) -> list[Column]:
    values = predictions.values
    columns = [Column("predicted", values, "predicted")]
    if predictions.confidence is not None:
        columns.append(Column("probability", predictions.confidence, "confidence"))
    if truth is None:
        return columns
    if not predictions.are_classes and values.dtype.kind == "f" and truth.dtype.kind in "iuf":
        return [*columns, Column("error", np.asarray(values - truth, np.float64), "error")]
    pairs = zip(values.tolist(), truth.tolist(), strict=True)
    right = [text_of(one) == text_of(other) for one, other in pairs]
    names = np.array(["wrong", "right"], dtype=object)
    return [*columns, Column("prediction is", names[np.array(right, int)], "correct")]


def pack_shares(model: Any, target: Any, chosen: GraphBatch, arrays: PageArrays) -> dict[str, Any]:
    """Shares of nodes in a decision value, in 127ths of the largest of its graph."""
    found = model.explain(chosen, target, n_training=0)
    starts: Ints = chosen.node_ptr[:-1]
    largest = np.maximum.reduceat(np.abs(found.shares), starts) if len(starts) else np.empty(0)
    unit = np.where(largest > 0, largest, 1.0) / 127
    rows = np.repeat(np.arange(len(chosen)), chosen.node_counts)
    arrays.add("shares", np.rint(found.shares / unit[rows]).astype(np.int8))
    arrays.add("shareUnits", unit.astype(np.float32))
    arrays.add("decisions", found.decisions.astype(np.float32))
    arrays.add("baselines", found.baseline.astype(np.float32))
    return {"limit": float(largest.max(initial=0.0)), "of": [text_of(x) for x in found.targets]}


_NEIGHBOURS = 10
_N_STEPS = 50
_WIDE, _NARROW = 4096, 1024  # widths of vectors, of few graphs and of many
_FEW = 10_000
_MOST_COLUMNS = 512  # of the vectors of a kernel


def explore(
    graphs: GraphsLike,
    y: ArrayLike | None = None,
    *,
    model: Any = None,
    target: Any = None,
    predicted: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    columns: Mapping[str, Any] | None = None,
    smiles: Sequence[str] | None = None,
    positions: ArrayLike | None = None,
    kernel: GraphKernel | None = None,
    vectors: ArrayLike | None = None,
    title: str | None = None,
    projection: Projection = "auto",
    max_drawn_nodes: int = 500_000,
    n_jobs: int | None = None,
    rng: Rng = 0,
) -> CollectionPage:
    """
    Make one interactive page of a collection: a map, drawings, nearest graphs, and a model.

    The page is one file that needs no server and no network. Graphs are placed by vectors of
    `RetGKEmbedding`, so that those near each other are alike as `similarity` sees them, or by the
    distances of another kernel.

    Parameters
    ----------
    graphs : GraphDataset, GraphBatch or anything that `as_batch` takes
        The collection; a list of SMILES strings is drawn as structural formulas.
    y : array-like, shape (n_graphs,), optional
        Class or value of every graph; by default the targets of a `GraphDataset`.
    model : GraphClassifier or GraphRegressor, optional
        A fitted model, whose predictions and shares of nodes are shown. It is asked about all
        graphs: those that it was fitted on look better than new ones.
    target : object, optional
        Class whose decision values the shares of nodes are of (of several outputs: the number of
        one); by default that which is predicted for each graph.
    predicted : array-like, shape (n_graphs,), optional
        Predictions to show, such as those of `cross_val_predict`, in place of the model's own.
    names : sequence of str, optional
        Name of every graph.
    columns : mapping from str to array-like, optional
        More that is known of every graph; a DataFrame too.
    smiles : sequence of str, optional
        SMILES of every graph, for structural formulas.
    positions : array-like, shape (n_nodes, 2), optional
        Places of all nodes, with y downwards, in place of those that are computed.
    kernel : GraphKernel, optional
        Kernel to place graphs and find neighbours by, such as ``WeisfeilerLehman()``.
    vectors : array-like, shape (n_graphs, width), optional
        Vectors to place graphs and find neighbours by, in place of those of `RetGKEmbedding`.
    title : str, optional
        What stands above.
    projection : {"auto", "tsne", "pca"}, default="auto"
        How vectors become places. t-SNE keeps neighbours together, and is quickest with openTSNE
        (``pip install retgk[explore]``); "pca" is quick, and shows the largest differences.
    max_drawn_nodes : int, default=500_000
        Nodes of all drawings together; beyond that the page has drawings of a random sample.
    n_jobs : int, optional
        Threads; they change no result.
    rng : int, Generator or None, default=0
        Seed of vectors, map and sample.

    Returns
    -------
    CollectionPage
        The page; ``page.save("collection.html")`` writes it, and a notebook shows it.

    Examples
    --------
    >>> from retgk import explore
    >>> from retgk.datasets import make_graph_classification
    >>> data = make_graph_classification(n_graphs=20, rng=0)
    >>> explore(data, projection="pca")
    CollectionPage(20 graphs, 20 drawn)
    """
    _check_settings(model, target, projection, max_drawn_nodes)
    if kernel is not None and (vectors is not None or not isinstance(kernel, GraphKernel)):
        raise InvalidInputError(
            "kernel must be a kernel such as WeisfeilerLehman(), without vectors, got "
            f"{kernel!r:.80}"
        )
    batch = as_batch(graphs)
    n_graphs = len(batch)
    if n_graphs == 0:
        raise InvalidInputError("there are no graphs to explore")
    own_title = graphs.name if isinstance(graphs, GraphDataset) else f"{n_graphs:,} graphs"
    own_names, own_smiles = _checked_names(graphs, batch, names, smiles)
    targets = _target_columns(graphs, y, n_graphs)
    more = checked_columns(columns, n_graphs)
    places = None if positions is None else checked_positions(positions, batch.n_nodes)
    rows = None if vectors is None else _checked_vectors(vectors, n_graphs)
    given = None if predicted is None else checked_column("predicted", predicted, n_graphs)
    if own_smiles is not None:
        optional_module("rdkit.Chem", "rdkit")
    # all is checked; from here on it is work
    asked = graphs if isinstance(graphs, GraphDataset) else batch  # with names, for warnings
    predictions = _predictions(model, target, given, asked)
    if predictions is not None:
        truth = next((column.values for column in targets if column.role == "class"), None)
        targets += prediction_columns(predictions, truth)
    seed = whole_seed(rng, name="rng")
    arrays = PageArrays()
    by = " of vectors that were given"
    if kernel is not None:
        rows, by = kernel_vectors(kernel, batch, seed, n_jobs), f" by {kernel!r:.80}"
    header = _pack_map(batch, rows, by, projection, seed, n_jobs, arrays)
    header["title"] = title or own_title
    header["names"] = own_names
    nodes, edges = batch.node_counts.astype(np.float64), batch.edge_counts.astype(np.float64)
    counts = {"nodes": nodes, "edges": edges, "mean degree": 2.0 * edges / np.maximum(nodes, 1)}
    sizes = [Column(name, values, "size") for name, values in counts.items()]
    header["columns"] = [
        _pack(column, f"column{place}", arrays)
        for place, column in enumerate([*targets, *more, *sizes])
    ]
    drawn = drawn_graphs(batch, int(max_drawn_nodes), seed)
    header["drawings"] = pack_drawings(
        batch, drawn, arrays, smiles=own_smiles, positions=places, n_jobs=n_jobs
    )
    header["model"] = None
    if predictions is not None:
        header["model"] = {"by": predictions.by, "shares": None}
        if model is not None and len(drawn) and is_explained(model.kernel_):
            header["model"]["shares"] = pack_shares(model, target, batch[drawn], arrays)
    header["notes"] = _notes(batch, len(drawn), model if given is None else None)
    text = page_text(header["title"], arrays.packed(header))
    return CollectionPage(text, n_graphs, len(drawn))


def _checked_names(
    graphs: Any, batch: GraphBatch, names: Sequence[str] | None, smiles: Sequence[str] | None
) -> tuple[list[str] | None, Sequence[str] | None]:
    n_graphs = len(batch)
    if isinstance(graphs, GraphDataset) and names is None:
        names = graphs.graph_names
    if smiles is None and batch.smiles is not None:
        smiles = list(batch.smiles)
    if smiles is not None and len(smiles) != n_graphs:
        raise InvalidInputError(f"{len(smiles)} smiles were given for {n_graphs} graphs")
    names = smiles if names is None else names
    if names is not None and len(names) != n_graphs:
        raise InvalidInputError(f"{len(names)} names were given for {n_graphs} graphs")
    return None if names is None else [str(name) for name in names], smiles


def _target_columns(graphs: Any, y: ArrayLike | None, n_graphs: int) -> list[Column]:
    if y is None:
        y = graphs.targets if isinstance(graphs, GraphDataset) else None
    if y is None:
        return []
    targets = np.asarray(y)
    if targets.ndim != 2:
        return [checked_column("target", targets, n_graphs, "class")]
    columns = enumerate(targets.T)
    return [checked_column(f"target {place}", column, n_graphs) for place, column in columns]


def _predictions(
    model: Any, target: Any, predicted: Column | None, graphs: GraphBatch | GraphDataset
) -> Predictions | None:
    if predicted is not None:
        return Predictions(predicted.values, "the predictions that were given")
    return None if model is None else predictions_of(model, graphs, target)


def _check_settings(model: Any, target: Any, projection: Any, max_drawn_nodes: Any) -> None:
    if model is not None:
        check_model(model, target)
    if projection not in PROJECTIONS:
        raise InvalidInputError(f"projection must be one of {PROJECTIONS}, got {projection!r}")
    is_whole = isinstance(max_drawn_nodes, Integral) and not isinstance(max_drawn_nodes, bool)
    if not is_whole or max_drawn_nodes < 0:
        raise InvalidInputError(
            f"max_drawn_nodes must be a whole number of at least 0, got {max_drawn_nodes!r}"
        )


def _pack_map(
    batch: GraphBatch,
    vectors: NDArray[np.float32] | None,
    by: str,
    projection: Projection,
    seed: int,
    n_jobs: int | None,
    arrays: PageArrays,
) -> dict[str, Any]:
    """Places and nearest graphs, and the kernel by which the page compares two graphs."""
    width = _WIDE if len(batch) <= _FEW else _NARROW
    embedding = RetGKEmbedding(
        width,
        walks=Walks(_N_STEPS),
        dtype=np.float32,
        n_jobs=n_jobs,
        random_state=seed,
    )
    if vectors is None:
        remedy = "make a page of some of the graphs"
        n_bytes = 8 * len(batch) * width  # with what is made of them
        check_room(n_bytes, f"vectors of {len(batch):,} graphs", remedy)
        found = np.asarray(embedding.fit_transform(batch), np.float32)
    else:
        found = vectors
        embedding.fit(batch[:1])
    wanted = _NEIGHBOURS if projection == "pca" else NEIGHBOURS_OF_MAP
    known = nearest_graphs(found, wanted, n_jobs)
    places = map_places(found, projection, seed, n_jobs, known)
    near = known.first(_NEIGHBOURS)
    low, spread = places.places.min(axis=0), np.ptp(places.places, axis=0).max() or 1.0
    middle = (1 - np.ptp(places.places, axis=0) / spread) / 2
    scaled = ((places.places - low) / spread + middle) * 65535
    arrays.add("map", np.rint(scaled).astype(np.uint16))
    arrays.add_codes("near", near.indices)
    scale = arrays.add_scaled("nearDistances", near.distances.astype(np.float64))
    # with some of its attributes missing from the page, a comparison leaves all of them out
    is_held = batch.n_attributes <= MOST_ATTRIBUTES
    of_attributes = embedding.attributes_ if is_held else None
    return {
        "n": len(batch),
        "method": places.method + (by if vectors is not None else ""),
        "near": {"count": near.indices.shape[1], **scale},
        "kernel": {
            "steps": _N_STEPS,
            "gamma": float(embedding.structure_.gamma),
            "attributeGamma": None if of_attributes is None else float(of_attributes.gamma),
        },
    }


def kernel_vectors(
    kernel: GraphKernel, batch: GraphBatch, seed: int, n_jobs: int | None
) -> NDArray[np.float32]:
    """Vectors whose distances are those of a kernel, up to what few columns can hold."""
    own = kernel.with_common(n_jobs, seed).fit(batch)
    try:
        rows, power = own.batch_vectors(batch), 1.0
    except InvalidInputError:  # it has none of finite length
        check_room(2 * 8 * len(batch) ** 2, "the kernel matrix", "give fewer graphs")
        rows, power = own.gram(), 0.5
    with single_threaded_blas():
        axes, values, _ = randomized_svd(rows, min(*rows.shape, _MOST_COLUMNS), random_state=0)
    return np.asarray(axes * values**power, np.float32)


def _checked_vectors(vectors: ArrayLike, n_graphs: int) -> NDArray[np.float32]:
    found = np.asarray(vectors, dtype=np.float32)
    if found.ndim != 2 or len(found) != n_graphs or not np.isfinite(found).all():
        raise InvalidInputError(
            f"vectors must be finite numbers, one row for each of {n_graphs} graphs, got shape "
            f"{found.shape}"
        )
    return found


def _notes(batch: GraphBatch, n_drawn: int, model: Any) -> list[str]:
    notes = []
    if n_drawn < len(batch):
        n_large = int((batch.node_counts > LARGEST_DRAWN).sum())
        large = f"; {n_large:,} graphs have more than {LARGEST_DRAWN:,} nodes" if n_large else ""
        notes.append(
            f"The map shows all {len(batch):,} graphs; the page holds drawings of {n_drawn:,} of "
            f"them{large}."
        )
    if model is not None:
        notes.append(
            f"Predictions are those of a {type(model).__name__}, for all graphs here. Graphs that "
            "it was fitted on look better than new ones."
        )
    return notes
