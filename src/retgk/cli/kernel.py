"""`retgk kernel`: kernel matrix of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from retgk.cli.collection import Collection
from retgk.cli.command import command
from retgk.cli.options import (
    Common,
    EmbeddingOptions,
    KernelOptions,
    Output,
    Reading,
    Source,
    Walks,
)
from retgk.cli.sources import read_collection
from retgk.cli.tables import Table, check_output, finish, write_table
from retgk.cli.terminal import Stopwatch
from retgk.errors import InvalidInputError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    command(
        app,
        examples=[
            "retgk kernel MUTAG -o kernel.npy",
            "retgk kernel ENZYMES --p 2 --scale 8 -o kernel.npz",
            "retgk kernel molecules.smi --matrix distances -o distances.parquet",
            "retgk kernel NCI1 --approximate --n-components 500 -o kernel.npy",
            "retgk kernel REDDIT-MULTI-12K --matrix products --on-disk -o products.npy",
        ],
    )(kernel)


def kernel(
    source: Source,
    output: Output,
    reading: Reading,
    walks: Walks,
    options: KernelOptions,
    embedding: EmbeddingOptions,
    common: Common,
) -> None:
    """
    Write the matrix of kernel values, inner products or distances between all graphs.

    Row i and column i are graph i. Bandwidths come from medians over the collection.
    """
    check_output(output)
    _check_on_disk(output, options)
    _check_exact(options, embedding)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common)
    if options.on_disk:
        with watch.timing("kernel"):
            written = _written(collection, walks, options, output)
        finish(Table({}, written), output, common, watch, graphs=len(collection))
        return
    with watch.timing("kernel"):
        build = _approximate if options.approximate else _exact
        matrix, chosen = build(collection, walks, options, embedding)
    with watch.timing("write"):
        keys = collection.keys()
        columns = [f"graph_{number}" for number in keys["graph"]]
        table = Table(keys, matrix, columns, options.matrix)
        write_table(table, output, json=common.json)
    finish(table, output, common, watch, graphs=len(collection), **chosen)


def _check_exact(options: KernelOptions, embedding: EmbeddingOptions) -> None:
    if not options.approximate and embedding != EmbeddingOptions():
        raise InvalidInputError(
            "--n-components, --feature-map and --frequencies are for --approximate; add it"
        )


def _check_on_disk(output: str, options: KernelOptions) -> None:
    if not options.on_disk:
        return
    if options.matrix != "products" or options.approximate:
        raise InvalidInputError("--on-disk is for exact inner products: give --matrix products")
    if not output.endswith(".npy"):
        raise InvalidInputError(f"--on-disk writes a .npy file, not {output}")
    if Path(output).exists():
        raise InvalidInputError(f"{output} exists; remove it or choose another name")


def _written(collection: Collection, walks: Walks, options: KernelOptions, output: str) -> Any:
    """Inner products in a file, of which a block at a time is in memory."""
    from retgk.estimators.gram_file import write_mean_embedding_gram
    from retgk.estimators.kernel import RetGKKernel

    model = RetGKKernel(
        **walks.parameters(), structure_kernel=_structure_kernel(options), tol=options.tol
    )
    return write_mean_embedding_gram(output, collection.graphs, kernel=model)


def _exact(
    collection: Collection, walks: Walks, options: KernelOptions, _: EmbeddingOptions
) -> tuple[Any, dict[str, str]]:
    """RetGK_I."""
    from retgk.estimators.kernel import RetGKKernel

    model = RetGKKernel(
        **walks.parameters(),
        structure_kernel=_structure_kernel(options),
        graph_kernel=_graph_kernel(options),
        tol=options.tol,
    )
    chosen = {"structure_kernel": "structure_kernel_", "attribute_kernels": "attribute_kernels_"}
    if options.matrix == "distances":
        matrix = model.fit(collection.graphs).distances()
    else:
        matrix = model.fit_transform(collection.graphs)
        chosen["graph_kernel"] = "graph_kernel_"
    return matrix, {name: repr(getattr(model, place)) for name, place in chosen.items()}


def _approximate(
    collection: Collection, walks: Walks, options: KernelOptions, embedding: EmbeddingOptions
) -> tuple[Any, dict[str, str]]:
    """RetGK_II."""
    import numpy as np

    from retgk.engine.embedded.embedding_gram import embedding_gram
    from retgk.estimators.embedding import RetGKEmbedding
    from retgk.kernels.graph_kernels import squared_mmd_from_products

    model = RetGKEmbedding(
        **walks.parameters(),
        **embedding.parameters(),
        structure_kernel=_structure_kernel(options),
        sparse_output=True,
    )
    vectors = model.fit_transform(collection.graphs)
    chosen = {
        "structure_kernel": repr(model.structure_kernel_),
        "attribute_kernels": repr([model.attribute_kernel_] if model.attribute_kernel_ else []),
    }
    matrix = embedding_gram(vectors, kernel=_graph_kernel(options), n_jobs=walks.n_jobs)
    if options.matrix == "distances":
        norms = matrix.diagonal().copy()
        squared = squared_mmd_from_products(matrix, norms, norms)
        np.fill_diagonal(squared, 0.0)
        matrix = np.sqrt(squared)
    return matrix, chosen


def _structure_kernel(options: KernelOptions) -> Any:
    """Kernel of return probabilities; None is the default of the estimator."""
    from retgk.kernels.node_kernels import Laplacian

    return None if options.gamma is None else Laplacian(options.gamma)


def _graph_kernel(options: KernelOptions) -> Any:
    """K_2, or inner products, from which distances follow too."""
    from retgk.kernels.graph_kernels import ExponentialGraphKernel, PolynomialGraphKernel

    if options.matrix == "kernel":
        return ExponentialGraphKernel(p=options.p, scale=options.scale)
    return PolynomialGraphKernel()
