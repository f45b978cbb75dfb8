"""Matrices of inner products, timed; those that are worth it are kept between runs."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.graphs import PaperSet
from reproduction.records import source_digest
from retgk._runtime.files import atomic_path, key_of
from retgk._runtime.processes import recorded_peak_megabytes
from retgk.array_types import Floats, Ints
from retgk.estimators.embedding import RetGKEmbedding
from retgk.estimators.gram_file import check_new_gram, write_gram
from retgk.estimators.kernel import RetGK, new_engine, new_features
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import offsets
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.embedded_vectors import joined_vectors
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.node import Gaussian, Laplacian
from retgk.walks.monte_carlo import graph_hashes
from retgk.walks.probabilities import Walks

Settings = Mapping[str, Any]

_EXACT_SETTINGS = (
    "uses_labels", "uses_attributes", "n_steps", "structure_kernel", "structure_gamma",
    "attribute_gamma", "tol",
)  # fmt: skip
_STRUCTURE_KERNELS: dict[str, type[Laplacian | Gaussian]] = {
    "laplacian": Laplacian,
    "gaussian": Gaussian,
}


@dataclass(frozen=True)
class Matrix:
    products: Floats
    seconds: Mapping[str, float]
    facts: Mapping[str, Any]


def default_cache() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("retgk", appauthor=False) / "paper"


def matrix_path(folder: Path, dataset: str, source: PaperSet, settings: Settings) -> Path:
    """File of the matrix of an exact kernel."""
    own = {name: settings[name] for name in _EXACT_SETTINGS if name in settings}
    key = key_of({"graphs": source.digest, "code": source_digest(), **own})
    return folder / f"{dataset}-{key}.npy"


def exact_matrix(
    graphs: GraphBatch, settings: Settings, path: Path, n_jobs: int | None = None
) -> Matrix:
    """Inner products of exact mean embeddings, from a file, or into it."""
    facts_path = path.with_suffix(".json")
    if not (path.exists() and facts_path.exists()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # made, but killed before its facts were
        facts = _write_exact_matrix(graphs, settings, path, n_jobs)
        with atomic_path(facts_path, follow_links=False) as unfinished:
            unfinished.write_text(json.dumps(facts))
    facts = json.loads(facts_path.read_text())
    return Matrix(np.load(path, mmap_mode="r"), facts.pop("seconds"), facts)


def _write_exact_matrix(
    graphs: GraphBatch, settings: Settings, path: Path, n_jobs: int | None
) -> dict[str, Any]:
    resumed = path.with_name(path.name + ".partial").exists()
    kernel = _exact_kernel(settings, n_jobs)
    check_new_gram(path, len(graphs))
    engine = new_engine(kernel)
    features = new_features(kernel, engine, graphs)
    rpf_seconds = _seconds_of(lambda: features.probabilities)
    gram_seconds = _seconds_of(lambda: write_gram(path, engine.fit(features), seed=0))
    structure, *attribute_kernels = engine.kernels
    return {
        "seconds": {"rpf": rpf_seconds, "gram": gram_seconds},
        "structure_gamma": structure.scale,
        "attribute_gammas": [each.scale for each in attribute_kernels],
        "n_graphs": len(graphs),
        "n_nodes": graphs.n_nodes,
        "peak_mb": recorded_peak_megabytes(),
        "resumed": resumed,
    }


def median_gamma(features: NodeFeatures, train: Ints) -> float:
    sizes = features.batch.node_counts
    is_chosen = np.zeros(len(sizes), bool)
    is_chosen[train] = True
    points = features.probabilities[np.repeat(is_chosen, sizes)]
    return Laplacian("median").fitted(points, offsets(sizes[is_chosen]), 0).scale


def _seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _exact_kernel(settings: Settings, n_jobs: int | None) -> RetGK:
    return RetGK(
        walks=Walks(settings["n_steps"]),
        structure=_structure_kernel(settings),
        attributes=(
            Laplacian(settings["attribute_gamma"]) if settings["uses_attributes"] else None
        ),
        tol=settings["tol"],
        n_jobs=n_jobs,
        random_state=0,
    )


def _structure_kernel(settings: Settings) -> Laplacian | Gaussian:
    kind = _STRUCTURE_KERNELS[settings.get("structure_kernel", "laplacian")]
    return kind(settings["structure_gamma"])


def embedding_matrix(
    graphs: GraphBatch, settings: Settings, seed: int, n_jobs: int | None = None
) -> Matrix:
    start = time.perf_counter()
    engine, order, rpf_seconds = _embed(graphs, settings, seed, n_jobs)
    products = engine.inner_products()
    if order is not None:
        products = products[np.ix_(order, order)]
    rest = time.perf_counter() - start - rpf_seconds
    facts = {"n_features": engine.n_features, "peak_mb": recorded_peak_megabytes()}
    return Matrix(products, {"rpf": rpf_seconds, "gram": rest}, facts)


def _embed(
    graphs: GraphBatch, settings: Settings, seed: int, n_jobs: int | None
) -> tuple[EmbeddedEngine, Ints | None, float]:
    """
    Fit an engine that keeps the vectors of all graphs; say how long return probabilities took.

    An embedding draws the same walks for equal graphs, so that a graph has the same vector
    wherever it stands. In the paper every graph walks for itself: each further copy of a graph
    is embedded with another seed, and the vectors come in another order. The second result is
    the place of every graph among them, if it is not its own.
    """
    embedding = _embedding(settings, seed, n_jobs)
    engine = new_engine(embedding)
    features = new_features(embedding, engine, graphs)
    if settings["walks"] == "exact" or settings.get("copies_share_walks", False):
        rpf_seconds = _seconds_of(lambda: features.probabilities)
        return engine.fit(features), None, rpf_seconds
    engine.fit(features, keep=np.empty(0, np.int64))
    ranks = _ranks_among_copies(graphs)
    parts, rpf_seconds = [], 0.0
    for rank in range(ranks.max() + 1):
        walks = replace(features.walks, seed=features.walks.seed ^ rank)
        own = NodeFeatures(graphs[ranks == rank], walks, n_jobs)
        rpf_seconds += _seconds_of(lambda own=own: own.probabilities)  # type: ignore[misc]
        parts.append(engine.embed(own))
    shape = (len(graphs), engine.n_features)
    vectors = joined_vectors(parts, shape, engine.block_width, engine.dtype)
    places = np.argsort(np.argsort(ranks, kind="stable")) if len(parts) > 1 else None
    return engine.with_vectors(vectors), places, rpf_seconds


def _ranks_among_copies(graphs: GraphBatch) -> Ints:
    hashes = graph_hashes(graphs)
    order = np.argsort(hashes, kind="stable")
    _, first = np.unique(hashes[order], return_index=True)
    ranks = np.empty(len(graphs), np.int64)
    ranks[order] = np.arange(len(graphs)) - np.repeat(first, np.diff([*first, len(graphs)]))
    return ranks


def _embedding(settings: Settings, seed: int, n_jobs: int | None) -> RetGKEmbedding:
    widths = tuple(settings["n_components"])
    return RetGKEmbedding(
        widths if len(widths) > 1 else widths[0],
        walks=Walks(settings["n_steps"], settings["walks"], settings.get("n_walks", 200)),
        feature_map=settings["feature_map"],
        structure=_gaussian(settings["structure_scale"]),
        attributes=(
            _gaussian(settings["attribute_scale"]) if settings["uses_attributes"] else None
        ),
        frequencies=settings["frequencies"],
        sparse_output=True,
        n_jobs=n_jobs,
        random_state=seed,
    )


def _gaussian(scale: float) -> Gaussian:
    return Gaussian(gamma=scale**2 / 2)
