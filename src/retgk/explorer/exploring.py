"""`explore`: from graphs to one page on which they can be looked at."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.array_types import Floats
from retgk.errors import InvalidInputError, Remedy
from retgk.estimators.embedding import RetGKEmbedding
from retgk.explorer.collection_page import CollectionPage, page_text
from retgk.explorer.model_views import (
    Predictions,
    check_model,
    pack_shares,
    prediction_columns,
    predictions_of,
)
from retgk.explorer.page_arrays import PageArrays
from retgk.explorer.page_columns import (
    Column,
    checked_column,
    checked_columns,
    mean_degrees,
    pack_columns,
)
from retgk.explorer.page_drawings import (
    LARGEST_DRAWN,
    MOST_ATTRIBUTES,
    drawn_graphs,
    pack_drawings,
)
from retgk.explorer.projection import (
    NEIGHBOURS_OF_MAP,
    PROJECTIONS,
    Projection,
    map_places,
    nearest_graphs,
)
from retgk.graphs.batch import GraphBatch
from retgk.io.converters import GraphsLike, as_batch
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.memory import check_room
from retgk.runtime.optional_packages import optional_module
from retgk.runtime.seeds import RandomState, whole_seed

__all__ = ["explore"]

_NEIGHBOURS = 10
_N_STEPS = 50
_WIDE, _NARROW = 4096, 1024  # widths of vectors, of few graphs and of many
_FEW = 10_000


def explore(
    graphs: GraphsLike,
    y: ArrayLike | None = None,
    *,
    model: Any = None,
    predicted: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    columns: Mapping[str, Any] | None = None,
    smiles: Sequence[str] | None = None,
    positions: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    title: str | None = None,
    projection: Projection = "auto",
    max_drawn_nodes: int = 500_000,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
) -> CollectionPage:
    """
    Make one interactive page of a collection: a map, drawings, nearest graphs, and a model.

    The page is one file that needs no server and no network. Graphs are placed by vectors of
    `RetGKEmbedding`, so that those near each other are alike as `similarity` sees them.

    Parameters
    ----------
    graphs : GraphDataset, GraphBatch or anything that `as_batch` takes
        The collection; a list of SMILES strings is drawn as structural formulas.
    y : array-like, shape (n_graphs,), optional
        Class or value of every graph; by default the targets of a `GraphDataset`.
    model : RetGKClassifier or RetGKRegressor, optional
        A fitted model, whose predictions and shares of nodes are shown. It is asked about all
        graphs: those that it was fitted on look better than new ones.
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
    random_state : int, Generator, RandomState or None, default=0
        Seed of vectors, map and sample.

    Returns
    -------
    CollectionPage
        The page; ``page.save("collection.html")`` writes it, and a notebook shows it.

    Examples
    --------
    >>> from retgk import explore, make_graph_classification
    >>> data = make_graph_classification(n_graphs=20, random_state=0)
    >>> explore(data, projection="pca")
    CollectionPage(20 graphs, 20 drawn)
    """
    _check_settings(model, projection, max_drawn_nodes)
    batch = as_batch(graphs)
    n_graphs = len(batch)
    if n_graphs == 0:
        raise InvalidInputError("there are no graphs to explore")
    own_names, own_smiles = _checked_names(graphs, n_graphs, names, smiles)
    targets = _target_columns(graphs, y, n_graphs)
    more = checked_columns(columns, n_graphs)
    places = None if positions is None else _checked_positions(positions, batch.n_nodes)
    rows = None if vectors is None else _checked_vectors(vectors, n_graphs)
    given = None if predicted is None else checked_column("predicted", predicted, n_graphs)
    if own_smiles is not None:
        optional_module("rdkit.Chem", "rdkit")
    # all is checked; from here on it is work
    predictions = _predictions(model, given, batch)
    if predictions is not None:
        truth = next((column.values for column in targets if column.role == "class"), None)
        targets += prediction_columns(predictions, truth)
    seed = whole_seed(random_state)
    arrays = PageArrays()
    header = _pack_map(batch, rows, projection, seed, n_jobs, arrays)
    header["title"] = title or _title(graphs, n_graphs)
    header["names"] = own_names
    header["columns"] = pack_columns([*targets, *more, *_sizes(batch)], arrays)
    drawn = drawn_graphs(batch, int(max_drawn_nodes), seed)
    header["drawings"] = pack_drawings(
        batch, drawn, arrays, smiles=own_smiles, positions=places, n_jobs=n_jobs
    )
    header["model"] = None
    if predictions is not None:
        header["model"] = {"by": predictions.by, "shares": None}
        if model is not None and len(drawn):
            header["model"]["shares"] = pack_shares(model, batch[drawn], arrays)
    header["notes"] = _notes(batch, len(drawn), model if given is None else None)
    text = page_text(header["title"], arrays.packed(header))
    return CollectionPage(text, n_graphs, len(drawn))


def _title(graphs: Any, n_graphs: int) -> str:
    return graphs.name if isinstance(graphs, GraphDataset) else f"{n_graphs:,} graphs"


def _checked_names(
    graphs: Any, n_graphs: int, names: Sequence[str] | None, smiles: Sequence[str] | None
) -> tuple[list[str] | None, Sequence[str] | None]:
    """Names and SMILES, where there are any: a list of SMILES is its own."""
    if isinstance(graphs, GraphDataset) and names is None:
        names = graphs.graph_names
    if smiles is None and _are_smiles(graphs):
        smiles = list(graphs)
    if smiles is not None and len(smiles) != n_graphs:
        raise InvalidInputError(f"{len(smiles)} smiles were given for {n_graphs} graphs")
    names = smiles if names is None else names
    if names is not None and len(names) != n_graphs:
        raise InvalidInputError(f"{len(names)} names were given for {n_graphs} graphs")
    return None if names is None else [str(name) for name in names], smiles


def _target_columns(graphs: Any, y: ArrayLike | None, n_graphs: int) -> list[Column]:
    """Targets, as one column or several."""
    if y is None:
        y = graphs.targets if isinstance(graphs, GraphDataset) else None
    if y is None:
        return []
    targets = np.asarray(y)
    if targets.ndim != 2:
        return [checked_column("target", targets, n_graphs, "class")]
    columns = enumerate(targets.T)
    return [checked_column(f"target {place}", column, n_graphs) for place, column in columns]


def _predictions(model: Any, predicted: Column | None, batch: GraphBatch) -> Predictions | None:
    if predicted is not None:
        return Predictions(predicted.values, "the predictions that were given")
    return None if model is None else predictions_of(model, batch)


def _check_settings(model: Any, projection: Any, max_drawn_nodes: Any) -> None:
    if model is not None:
        check_model(model)
    if projection not in PROJECTIONS:
        raise InvalidInputError(f"projection must be one of {PROJECTIONS}, got {projection!r}")
    is_whole = isinstance(max_drawn_nodes, Integral) and not isinstance(max_drawn_nodes, bool)
    if not is_whole or max_drawn_nodes < 0:
        raise InvalidInputError(
            f"max_drawn_nodes must be a whole number of at least 0, got {max_drawn_nodes!r}"
        )


def _are_smiles(graphs: Any) -> bool:
    return isinstance(graphs, list | tuple) and bool(graphs) and isinstance(graphs[0], str)


def _checked_positions(positions: ArrayLike, n_nodes: int) -> Floats:
    places = np.asarray(positions, dtype=np.float64)
    if places.shape != (n_nodes, 2) or not np.isfinite(places).all():
        raise InvalidInputError(
            f"positions must be finite and of shape ({n_nodes}, 2), got shape {places.shape}"
        )
    return places


def _pack_map(
    batch: GraphBatch,
    vectors: NDArray[np.float32] | None,
    projection: Projection,
    seed: int,
    n_jobs: int | None,
    arrays: PageArrays,
) -> dict[str, Any]:
    """Places and nearest graphs, and the kernel by which the page compares two graphs."""
    width = _WIDE if len(batch) <= _FEW else _NARROW
    embedding = RetGKEmbedding(
        _N_STEPS,
        n_components=width,
        dtype=np.float32,
        n_jobs=n_jobs,
        random_state=seed,
    )
    if vectors is None:
        remedy = Remedy("fewer_graphs", "make a page of some of the graphs")
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
    of_attributes = embedding.attribute_kernel_ if is_held else None
    return {
        "n": len(batch),
        "method": places.method + (" of vectors that were given" if vectors is not None else ""),
        "near": {"count": near.indices.shape[1], **scale},
        "kernel": {
            "steps": _N_STEPS,
            "gamma": float(embedding.structure_kernel_.gamma),
            "attributeGamma": None if of_attributes is None else float(of_attributes.gamma),
        },
    }


def _checked_vectors(vectors: ArrayLike, n_graphs: int) -> NDArray[np.float32]:
    found = np.asarray(vectors, dtype=np.float32)
    if found.ndim != 2 or len(found) != n_graphs or not np.isfinite(found).all():
        raise InvalidInputError(
            f"vectors must be finite numbers, one row for each of {n_graphs} graphs, got shape "
            f"{found.shape}"
        )
    return found


def _sizes(batch: GraphBatch) -> list[Column]:
    nodes, edges = batch.node_counts, batch.edge_counts
    return [
        Column("nodes", nodes.astype(np.float64), "size"),
        Column("edges", edges.astype(np.float64), "size"),
        Column("mean degree", mean_degrees(nodes, edges), "size"),
    ]


def _notes(batch: GraphBatch, n_drawn: int, model: Any) -> list[str]:
    """What readers have to know of the page, in sentences."""
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
