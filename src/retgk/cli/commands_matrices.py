"""`retgk kernel` and `similar`: numbers of pairs of graphs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retgk.cli.cluster_options import ClusterOptions
from retgk.cli.command import command
from retgk.cli.commands_index import is_index, similar_in_index
from retgk.cli.model_options import (
    EmbeddingOptions,
    KernelOptions,
    ScaleAttributes,
    Walks,
)
from retgk.cli.options import Common, FileRole, OptionalOutput, Output, Reading, Source
from retgk.cli.outputs import Table, check_output, report_output, write_table
from retgk.cli.sources import key_columns, query_graph, read_collection
from retgk.cli.terminal import Stopwatch, print_record, print_table
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from retgk.graphs.batch import GraphBatch
    from retgk.io.graph_dataset import GraphDataset

__all__ = ["kernel", "similar"]


# retgk kernel


@command(
    examples=[
        "retgk kernel MUTAG -o kernel.npy",
        "retgk kernel ENZYMES --p 2 --scale 8 -o kernel.npz",
        "retgk kernel molecules.smi --matrix distances -o distances.parquet",
        "retgk kernel NCI1 --approximate --n-components 500 -o kernel.npy",
        "retgk kernel REDDIT-MULTI-12K --matrix products --on-disk -o products.npy",
        "retgk kernel COLLAB --matrix products --on-disk --cluster local:4 -o products.npy",
    ]
)
def kernel(
    source: Source,
    output: Output,
    reading: Reading,
    walks: Walks,
    options: KernelOptions,
    embedding: EmbeddingOptions,
    cluster: ClusterOptions,
    common: Common,
) -> None:
    """
    Write the matrix of kernel values, inner products or distances between all graphs.

    Row i and column i are graph i. Bandwidths come from medians over the collection.
    """
    check_output(output)
    _check_kernel_options(output, options, embedding)
    cluster.check()
    if cluster.is_given and not options.on_disk:
        raise InvalidInputError("a cluster computes --matrix products --on-disk; add both")
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common, n_jobs=walks.n_jobs)
    if options.on_disk:
        with cluster.client(common) as client, watch.timing("kernel"):
            written = _write_products(collection, walks, options, output, client)
        report_output(Table({}, written), output, common, watch, graphs=len(collection))
        return
    with watch.timing("kernel"):
        build = _approximate_matrix if options.approximate else _exact_matrix
        matrix, chosen = build(collection, walks, options, embedding)
    with watch.timing("write"):
        keys = key_columns(collection)
        columns = [f"graph_{number}" for number in keys["graph"]]
        table = Table(keys, matrix, columns, options.matrix)
        write_table(table, output, json=common.json)
    report_output(table, output, common, watch, graphs=len(collection), **chosen)


def _check_kernel_options(output: str, options: KernelOptions, embedding: EmbeddingOptions) -> None:
    if options.on_disk:
        if options.matrix != "products" or options.approximate:
            raise InvalidInputError("--on-disk is for exact inner products: give --matrix products")
        if not output.endswith(".npy"):
            raise InvalidInputError(f"--on-disk writes a .npy file, not {output}")
        if Path(output).exists():
            raise InvalidInputError(f"{output} exists; remove it or choose another name")
    if not options.approximate and embedding != EmbeddingOptions():
        raise InvalidInputError(
            "--n-components, --feature-map and --frequencies are for --approximate; add it"
        )


def _write_products(
    collection: GraphDataset, walks: Walks, options: KernelOptions, output: str, client: Any
) -> Any:
    """Write inner products to a file, with one block at a time in memory."""
    from retgk.estimators.gram_file import write_mean_embedding_gram
    from retgk.estimators.kernel import RetGKKernel

    model = RetGKKernel(
        **walks.parameters(),
        structure_kernel=_structure_kernel(options),
        scale_attributes=options.scale_attributes,
        depth=options.depth,
        tol=options.tol,
    )
    return write_mean_embedding_gram(output, collection.graphs, kernel=model, client=client)


def _exact_matrix(
    collection: GraphDataset, walks: Walks, options: KernelOptions, _: EmbeddingOptions
) -> tuple[Any, dict[str, str]]:
    """Matrix of RetGK_I, and the kernels with the bandwidths that it chose."""
    from retgk.estimators.kernel import RetGKKernel

    model = RetGKKernel(
        **walks.parameters(),
        structure_kernel=_structure_kernel(options),
        scale_attributes=options.scale_attributes,
        depth=options.depth,
        graph_kernel=_graph_kernel(options),
        tol=options.tol,
    )
    chosen = ["structure_kernel", "attribute_kernels"]
    if options.matrix == "distances":
        matrix = model.fit(collection.graphs).distances()
    else:
        matrix = model.fit_transform(collection.graphs)
        chosen.append("graph_kernel")
    return matrix, {name: repr(getattr(model, f"{name}_")) for name in chosen}


def _approximate_matrix(
    collection: GraphDataset, walks: Walks, options: KernelOptions, embedding: EmbeddingOptions
) -> tuple[Any, dict[str, str]]:
    """Matrix of RetGK_II, and the node kernels with the bandwidths that it chose."""
    import numpy as np

    from retgk.engine.embedded.embedding_gram import embedding_gram
    from retgk.estimators.embedding import RetGKEmbedding
    from retgk.kernels.graph_kernels import squared_mmd_from_products

    model = RetGKEmbedding(
        **walks.parameters(),
        **embedding.parameters(),
        structure_kernel=_structure_kernel(options),
        scale_attributes=options.scale_attributes,
        depth=options.depth,
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
    """K_2 of the paper, or inner products, which distances are made of too."""
    from retgk.kernels.graph_kernels import ExponentialGraphKernel, PolynomialGraphKernel

    if options.matrix == "kernel":
        return ExponentialGraphKernel(p=options.p, scale=options.scale)
    return PolynomialGraphKernel()


# retgk similar

Index = Annotated[
    int | None, typer.Option("--index", "-i", min=0, help="Query: a graph of GRAPHS, from 0.")
]
Query = Annotated[
    str | None, FileRole.READ, typer.Option("--query", help="Query: a file with one graph, or - .")
]
Smiles = Annotated[str | None, typer.Option("--smiles", help="Query: a SMILES string.")]
Count = Annotated[int, typer.Option("--count", "-k", min=1, help="How many graphs to show.")]


@command(
    examples=[
        "retgk similar MUTAG --index 17",
        "retgk similar molecules.smi --smiles CC(=O)Oc1ccccc1C(=O)O -k 10",
        "retgk similar graphs/ --query mine.graphml -o found.csv",
        "retgk similar index/ --smiles CC(=O)Oc1ccccc1C(=O)O",
    ]
)
def similar(
    source: Source,
    reading: Reading,
    walks: Walks,
    common: Common,
    index: Index = None,
    query: Query = None,
    smiles: Smiles = None,
    count: Count = 5,
    output: OptionalOutput = None,
    scale_attributes: ScaleAttributes = "raw",
) -> None:
    """
    Show the graphs that are most similar to one graph, the most similar first.

    GRAPHS may be the folder of an index (see `retgk index build`): then the nearest graphs are
    found in it, with their distances.
    """
    if sum(given is not None for given in (index, query, smiles)) != 1:
        raise InvalidInputError("give one query: --index, --query or --smiles")
    if output is not None:
        check_output(output, has_matrix=False)
    if is_index(Path(source)):
        if replace(walks, n_jobs=None) != Walks() or scale_attributes != "raw":
            raise InvalidInputError("an index has its own walks; leave out options for nodes")
        similar_in_index(Path(source), (query, smiles), count, output, reading, common)
        return
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common, n_jobs=walks.n_jobs)
        position = None if index is None else _position(collection, index)
        graph = (
            query_graph(reading, common, query, smiles)
            if position is None
            else collection.graphs[position]
        )
    with watch.timing("search"):
        nodes = {**walks.parameters(), "scale_attributes": scale_attributes}
        found, values = _most_similar(graph, collection, position, count, nodes)
    keys = {name: column[found] for name, column in key_columns(collection).items()}
    table = Table({**keys, "similarity": values})
    if output is not None:
        write_table(table, output, json=common.json)
        report_output(table, output, common, watch, graphs=len(collection))
    elif common.json:
        print_record({**table.keys, "seconds": watch.seconds})
    else:
        _print_similar(table)


def _position(collection: GraphDataset, index: int) -> int:
    """Position of a graph in the collection, given its number in the input."""
    numbers = key_columns(collection)["graph"].tolist()
    if index not in numbers:
        raise InvalidInputError(
            f"there is no graph {index}: {collection.name} has {len(collection)}, from 0 on"
        )
    return int(numbers.index(index))


def _most_similar(
    graph: GraphBatch,
    collection: GraphDataset,
    position: int | None,
    count: int,
    nodes: dict[str, Any],
) -> tuple[Any, Any]:
    """
    Positions and similarities; a query from the collection itself is left out.

    `nodes` are the options for nodes.
    """
    from retgk.estimators.comparisons import most_similar

    n_wanted = min(count + (position is not None), len(collection))
    result = most_similar(graph, collection.graphs, n_wanted, **nodes)
    found, values = (array.copy() for array in result)
    if position is not None:
        others = found != position
        found, values = found[others][:count], values[others][:count]
    return found, values


def _print_similar(table: Table) -> None:
    columns: list[Any] = [column.tolist() for column in table.keys.values()]
    columns[-1] = [f"{value:.4f}" for value in columns[-1]]
    print_table(list(table.keys), zip(*columns, strict=True))
