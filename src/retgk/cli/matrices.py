"""`retgk kernel` and `similar`: numbers of pairs of graphs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retgk._runtime.files import atomic_path
from retgk._runtime.parallel import progress_bar
from retgk.cli.command import (
    ClusterOptions,
    Stopwatch,
    command,
    is_index,
    note,
    print_record,
    print_table,
)
from retgk.cli.index import similar_in_index
from retgk.cli.inputs import (
    as_fitted,
    key_columns,
    left_out_as_note,
    molecule_stream,
    node_columns,
    query_graph,
    read_collection,
    reading_options,
    used_graphs,
)
from retgk.cli.options import (
    Common,
    Depth,
    EmbeddingOptions,
    FileRole,
    KernelOption,
    KernelOptions,
    OptionalOutput,
    Output,
    Reading,
    ScaleAttributes,
    Source,
    Walks,
    named_kernel,
)
from retgk.cli.outputs import (
    Table,
    check_new_file,
    check_output,
    report_output,
    write_table,
)
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from retgk.estimators.embedding import RetGKEmbedding
    from retgk.estimators.kernel import RetGK
    from retgk.graphs.batch import GraphBatch
    from retgk.io.dataset import GraphDataset
    from retgk.io.molecules import MoleculeStream

# retgk kernel


@command(
    examples=[
        "retgk kernel MUTAG -o kernel.npy",
        "retgk kernel ENZYMES --p 2 --scale 8 -o kernel.npz",
        "retgk kernel molecules.smi --matrix distances -o distances.parquet",
        "retgk kernel NCI1 --n-components 500 -o kernel.npy",
        "retgk kernel NCI1 --kernel wl -o kernel.npy",
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
    other = _other_kernel(options, walks, embedding)
    _check_kernel_options(output, options, embedding)
    cluster.check()
    if cluster.is_given and not options.on_disk:
        raise InvalidInputError("a cluster computes --matrix products --on-disk; add both")
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common, n_jobs=walks.n_jobs)
    if options.on_disk:
        with cluster.client(common) as client, watch.timing("kernel"):
            from retgk.estimators.gram_file import write_mean_embedding_gram

            model = _exact_kernel(walks, options)
            written = write_mean_embedding_gram(
                output, collection.graphs, kernel=model, client=client
            )
        report_output(written.shape, output, common, watch, graphs=len(collection))
        return
    with watch.timing("kernel"):
        if other is not None:
            matrix, chosen = _matrix_of(other, collection, options), {"kernel": repr(other)}
        else:
            build = _exact_matrix if embedding.n_components is None else _approximate_matrix
            matrix, chosen = build(collection, walks, options, embedding)
    with watch.timing("write"):
        keys = key_columns(collection)
        columns = [f"graph_{number}" for number in keys["graph"]]
        table = Table(keys, matrix, columns, options.matrix)
        write_table(table, output, json=common.json)
    report_output(table.shape, output, common, watch, graphs=len(collection), **chosen)


def _other_kernel(options: KernelOptions, walks: Walks, embedding: EmbeddingOptions) -> Any:
    """Kernel of others that is asked for, or None."""
    names = ("p", "scale", "gamma", "scale_attributes", "depth", "tol", "on_disk")
    plain = KernelOptions()
    given = {name: getattr(options, name) != getattr(plain, name) for name in names}
    return named_kernel(
        options.kernel, walks, {**given, "n_components": embedding != EmbeddingOptions()}
    )


def _matrix_of(kernel: Any, collection: GraphDataset, options: KernelOptions) -> Any:
    if options.matrix != "distances":
        return kernel.fit_transform(collection.graphs)
    from retgk.estimators.similarity import distances

    return distances(collection.graphs, kernel=kernel)


def _check_kernel_options(output: str, options: KernelOptions, embedding: EmbeddingOptions) -> None:
    if options.on_disk:
        if options.matrix != "products" or embedding.n_components is not None:
            raise InvalidInputError("--on-disk is for exact inner products: give --matrix products")
        if not output.endswith(".npy"):
            raise InvalidInputError(f"--on-disk writes a .npy file, not {output}")
        if Path(output).exists():
            raise InvalidInputError(f"{output} exists; remove it or choose another name")
    if embedding.n_components is None and embedding != EmbeddingOptions():
        raise InvalidInputError(
            "--feature-map, --frequencies and --nodes are for random features; add --n-components"
        )


def _exact_kernel(walks: Walks, options: KernelOptions, **more: Any) -> RetGK:
    from retgk.estimators.kernel import RetGK

    return RetGK(
        walks=walks.walks(),
        **walks.common,
        structure=_structure_kernel(options),
        scale_attributes=options.scale_attributes,
        depth=options.depth,
        tol=options.tol,
        **more,
    )


def _exact_matrix(
    collection: GraphDataset, walks: Walks, options: KernelOptions, _: EmbeddingOptions
) -> tuple[Any, dict[str, str]]:
    model = _exact_kernel(walks, options, graph_kernel=_graph_kernel(options))
    chosen = ["structure", "attributes"]
    if options.matrix == "distances":
        matrix = model.fit(collection.graphs).distances()
    else:
        matrix = model.fit_transform(collection.graphs)
        chosen.append("graph_kernel")
    return matrix, {name: repr(getattr(model, f"{name}_")) for name in chosen}


def _approximate_matrix(
    collection: GraphDataset, walks: Walks, options: KernelOptions, embedding: EmbeddingOptions
) -> tuple[Any, dict[str, str]]:
    import numpy as np

    from retgk.estimators.embedding import RetGKEmbedding
    from retgk.kernels.embedded_vectors import embedding_gram
    from retgk.kernels.graph import squared_mmd_from_products

    model = RetGKEmbedding(
        **embedding.parameters(walks),
        structure=_structure_kernel(options),
        scale_attributes=options.scale_attributes,
        depth=options.depth,
        sparse_output=True,
    )
    vectors = model.fit_transform(collection.graphs)
    chosen = {
        "structure": repr(model.structure_),
        "attributes": repr([model.attributes_] if model.attributes_ else []),
    }
    matrix = embedding_gram(vectors, kernel=_graph_kernel(options), n_jobs=walks.n_jobs)
    if options.matrix == "distances":
        norms = matrix.diagonal().copy()
        squared = squared_mmd_from_products(matrix, norms, norms)
        np.fill_diagonal(squared, 0.0)
        matrix = np.sqrt(squared)
    return matrix, chosen


def _structure_kernel(options: KernelOptions) -> Any:
    from retgk.kernels.node import Laplacian

    return None if options.gamma is None else Laplacian(options.gamma)


def _graph_kernel(options: KernelOptions) -> Any:
    """K_2 of the paper, or inner products, which distances are made of too."""
    from retgk.kernels.graph import ExponentialGraphKernel, PolynomialGraphKernel

    if options.matrix == "kernel":
        return ExponentialGraphKernel(p=options.p, scale=options.scale)
    return PolynomialGraphKernel()


# retgk similar

Index = Annotated[
    int | None, typer.Option("--index", "-i", min=0, help="Query: a graph of GRAPHS, from 0.")
]
Query = Annotated[
    str | None, FileRole.READ, typer.Option(help="Query: a file with one graph, or - .")
]
Smiles = Annotated[str | None, typer.Option(help="Query: a SMILES string.")]
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
    kernel_name: KernelOption = None,
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
        if replace(walks, n_jobs=None) != Walks() or scale_attributes != "raw" or kernel_name:
            raise InvalidInputError("an index has its own kernel; leave out options of kernels")
        similar_in_index(Path(source), (query, smiles), count, output, reading, common)
        return
    own = named_kernel(kernel_name, walks, {"scale_attributes": scale_attributes != "raw"})
    if own is None:
        own = _comparing_kernel(walks, scale_attributes)
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
        found, values = _most_similar(graph, collection, position, count, own)
    keys = {name: column[found] for name, column in key_columns(collection).items()}
    table = Table({**keys, "similarity": values})
    if output is not None:
        write_table(table, output, json=common.json)
        report_output(table.shape, output, common, watch, graphs=len(collection))
    elif common.json:
        print_record({**table.keys, "seconds": watch.seconds})
    else:
        columns: list[Any] = [column.tolist() for column in table.keys.values()]
        columns[-1] = [f"{value:.4f}" for value in columns[-1]]
        print_table(list(table.keys), zip(*columns, strict=True))


def _comparing_kernel(walks: Walks, scale_attributes: Any) -> RetGK:
    """The kernel by which `most_similar` compares, with options."""
    from retgk.estimators.similarity import comparison_kernel

    return comparison_kernel(walks=walks.walks(), scale_attributes=scale_attributes, **walks.common)


def _position(collection: GraphDataset, index: int) -> int:
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
    kernel: Any,
) -> tuple[Any, Any]:
    """Positions and similarities; a query from the collection itself is left out."""
    from retgk.estimators.similarity import most_similar

    n_wanted = min(count + (position is not None), len(collection))
    result = most_similar(graph, collection.graphs, n_wanted, kernel)
    found, values = (array.copy() for array in result)
    if position is not None:
        others = found != position
        found, values = found[others][:count], values[others][:count]
    return found, values


# `retgk features` and `embed`: numbers of nodes, and of graphs.

# retgk features


@command(
    examples=[
        "retgk features MUTAG -o rpf.parquet",
        "retgk features big.edges --method monte-carlo --n-steps 20 -o rpf.npy",
        "retgk features MUTAG --n-steps 5 -o - | head",
    ]
)
def features(
    source: Source, output: Output, reading: Reading, walks: Walks, common: Common
) -> None:
    """
    Write the return probabilities of all nodes, one row per node.

    Rows say which graph and node they are about, and the target of the graph. In an .npz file
    names stand once for each graph, beside the first node of each.
    """
    check_output(output)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common, n_jobs=walks.n_jobs)
    with watch.timing("features"):
        from retgk.walks.probabilities import return_probabilities

        probabilities = return_probabilities(collection.graphs, **walks.how, **walks.of_functions)
    with watch.timing("write"):
        table = _node_table(collection, probabilities)
        write_table(table, output, json=common.json)
    report_output(table.shape, output, common, watch, graphs=len(collection))


def _node_table(collection: GraphDataset, probabilities: object) -> Table:
    import numpy as np

    values = np.asarray(probabilities)
    graphs = collection.graphs
    of_graphs = key_columns(collection)
    keys = {name: np.repeat(column, graphs.node_counts) for name, column in of_graphs.items()}
    graph = keys.pop("graph")
    columns = [f"p{step}" for step in range(1, values.shape[1] + 1)]
    more = {"node_ptr": graphs.node_ptr}
    if "name" in of_graphs:
        more["name"] = of_graphs["name"]  # as text of one width for all, so not for every node
    return Table(
        {"graph": graph, **node_columns(graphs), **keys},
        values,
        columns,
        "return_probabilities",
        more,
    )


# retgk embed

_GRAPHS_PER_TASK = 1_000

Precision = Annotated[Literal["float64", "float32"], typer.Option(help="Type of the numbers.")]
FittedModel = Annotated[
    Path | None,
    FileRole.READ,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Embedding that was fitted before, or a model with one: GRAPHS, a file or a folder of "
        "files, are read and written piece by piece, to a .npy file or a folder, and the same "
        "command goes on after a stop.",
    ),
]


@command(
    examples=[
        "retgk embed MUTAG -o vectors.parquet",
        "retgk embed molecules.smi --n-components 100 --dtype float32 -o vectors.npy",
        "cat molecules.smi | retgk embed - -o - | head",
        "retgk embed big.edges --method monte-carlo --nodes 10000 -o vector.npy",
        "retgk embed parts/ --model model.retgk --cluster local:4 -o vectors.npy",
    ],
)
def embed(
    source: Source,
    output: Output,
    reading: Reading,
    walks: Walks,
    embedding: EmbeddingOptions,
    cluster: ClusterOptions,
    common: Common,
    dtype: Precision = "float64",
    scale_attributes: ScaleAttributes = "raw",
    depth: Depth = 0,
    model_file: FittedModel = None,
) -> None:
    """
    Write vectors of graphs whose inner products approximate the kernel (RetGK_II).

    One row per graph, with its number, its name where it has one, and its target.
    """
    cluster.check()
    watch = Stopwatch()
    if model_file is not None:
        if embedding != EmbeddingOptions():
            raise InvalidInputError("--model says what the vectors are; leave out other options")
        _embed_pieces(source, output, reading, (cluster, common, watch), model_file)
        return
    check_output(output)
    from retgk.estimators.embedding import RetGKEmbedding

    model = RetGKEmbedding(
        **embedding.parameters(walks),
        scale_attributes=scale_attributes,
        depth=depth,
        dtype=dtype,
    )
    is_stream = output.endswith(".npy") and scale_attributes != "standard"
    if is_stream and embedding.nodes is None and not cluster.is_given:
        with watch.timing("read"):
            stream = molecule_stream(source, reading, common, walks.n_jobs)
        if stream is not None:
            _embed_stream(stream, reading, model, output, common, watch)
            return
    with watch.timing("read"):
        collection = read_collection(source, reading, common, n_jobs=walks.n_jobs)
    with cluster.client(common) as client, watch.timing("embed"):
        vectors, facts = _vectors_and_error(model, collection.graphs, client)
        names = model.get_feature_names_out().astype(str)
    with watch.timing("write"):
        keys = key_columns(collection)
        table = Table(keys, vectors, names.tolist(), "vectors", {"features": names})
        write_table(table, output, json=common.json)
        if facts:
            error, norm = facts["standard_error"], facts["norm"]
            note(common, f"standard error of vectors {error:.2g}, their norm {norm:.2g}")
    report_output(table.shape, output, common, watch, graphs=len(collection), **facts)


def _vectors_and_error(
    model: RetGKEmbedding, graphs: GraphBatch, client: Any
) -> tuple[Any, dict[str, float]]:
    """Vectors, and what drawing nodes costs, where they are drawn."""
    if model.walks is None or model.walks.nodes is None:
        return _vectors(model.fit(graphs), graphs, client), {}
    import numpy as np

    vectors, errors = model.fit(graphs).transform_with_error(graphs)
    rows = {"standard_error": errors, "norm": vectors}
    return vectors, {
        name: float(np.sqrt(np.square(values, dtype=np.float64).sum(axis=1).mean()))
        for name, values in rows.items()
    }


def _vectors(model: Any, graphs: GraphBatch, client: Any) -> Any:
    if client is None:
        return model.transform(graphs)
    import numpy as np

    from retgk._runtime.cluster import results_in_order
    from retgk._runtime.parallel import progress_bar

    found = np.empty((len(graphs), model.n_features_out_), model.dtype)
    starts = range(0, len(graphs), _GRAPHS_PER_TASK)
    parts = results_in_order(_part_vectors, [(start,) for start in starts], (model, graphs), client)
    with progress_bar("embedding", len(starts)) as advance:
        for start, vectors in zip(starts, parts, strict=True):
            found[start : start + _GRAPHS_PER_TASK] = vectors
            advance(1)
    return found


def _part_vectors(shared: tuple[Any, GraphBatch], start: int) -> Any:
    model, graphs = shared
    return model.transform(graphs[start : start + _GRAPHS_PER_TASK])


def _embed_stream(
    stream: MoleculeStream,
    reading: Reading,
    model: RetGKEmbedding,
    output: str,
    common: Common,
    watch: Stopwatch,
) -> None:
    from retgk.estimators.embedding import write_vectors

    graphs = (used_graphs(batch, reading) for batch in stream)
    with (
        watch.timing("read and embed"),
        left_out_as_note(common),
        progress_bar("embedding molecules", stream.n_molecules) as advance,
        atomic_path(Path(output)) as part,
    ):
        shape = write_vectors(part, model, graphs, advance)
    report_output(shape, output, common, watch, graphs=shape[0])


def _embed_pieces(
    source: str,
    output: str,
    reading: Reading,
    context: tuple[ClusterOptions, Common, Stopwatch],
    model_file: Path,
) -> None:
    import numpy as np

    from retgk.cluster import embed_files

    cluster, common, watch = context
    if output.endswith(".npy"):
        check_new_file(Path(output))
    elif output == "-" or Path(output).suffix:
        raise InvalidInputError(f"--model writes a .npy file or a folder of such, not {output}")
    if not (reading.use_labels and reading.use_attributes and reading.use_edge_labels):
        raise InvalidInputError("--model says which data of nodes is used; leave out --no-...")
    model = _fitted_embedding(model_file)
    options = reading_options(as_fitted(reading, model.reading_, source))
    with cluster.client(common) as client, watch.timing("embed"):
        written = embed_files(model, source, output, client=client, **options)
    parts = [written] if written.is_file() else sorted(written.glob("*.npy"))
    n_rows = sum(len(np.load(part, mmap_mode="r")) for part in parts)
    shape = (n_rows, model.n_features_out_)
    report_output(shape, output, common, watch, graphs=n_rows)


def _fitted_embedding(path: Path) -> Any:
    from retgk.estimators.embedding import RetGKEmbedding
    from retgk.estimators.model_files import load_model

    if not path.is_file():
        raise InvalidInputError(f"there is no model file {path}")
    model = load_model(path)
    found = model if isinstance(model, RetGKEmbedding) else getattr(model, "embedding_", None)
    if found is None:
        raise InvalidInputError(
            f"{path} holds a {type(model).__name__} without an embedding; make it with "
            "`retgk fit --kernel retgk-embedding`, or save a fitted RetGKEmbedding"
        )
    return found
