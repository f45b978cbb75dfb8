"""`retgk features` and `embed`: numbers of nodes, and of graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retgk.cli.cluster_options import ClusterOptions
from retgk.cli.command import command
from retgk.cli.model_options import (
    SCALING_REMEDY,
    Depth,
    EmbeddingOptions,
    ScaleAttributes,
    Walks,
)
from retgk.cli.model_reading import as_fitted
from retgk.cli.options import Common, FileRole, Output, Reading, Source
from retgk.cli.outputs import (
    Table,
    check_new_file,
    check_output,
    report_output,
    report_written,
    write_table,
)
from retgk.cli.sources import (
    key_columns,
    left_out_as_note,
    molecule_stream,
    read_collection,
    reading_options,
    used_graphs,
)
from retgk.cli.terminal import Stopwatch, note
from retgk.errors import InvalidInputError
from retgk.runtime.progress import progress_bar
from retgk.runtime.storage import atomic_path

if TYPE_CHECKING:
    from retgk.estimators.embedding import RetGKEmbedding
    from retgk.graphs.batch import GraphBatch
    from retgk.io.formats.smiles_files import MoleculeStream
    from retgk.io.graph_dataset import GraphDataset

__all__ = ["embed", "features"]


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
        from retgk.walks.return_probabilities import return_probabilities

        probabilities = return_probabilities(collection.graphs, **walks.parameters())
    with watch.timing("write"):
        table = _node_table(collection, probabilities)
        write_table(table, output, json=common.json)
    report_output(table, output, common, watch, graphs=len(collection))


def _node_table(collection: GraphDataset, probabilities: object) -> Table:
    import numpy as np

    values = np.asarray(probabilities)
    graphs = collection.graphs
    of_graphs = key_columns(collection)
    keys = {name: np.repeat(column, graphs.node_counts) for name, column in of_graphs.items()}
    graph = keys.pop("graph")
    node = np.arange(graphs.n_nodes) - np.repeat(graphs.node_ptr[:-1], graphs.node_counts)
    columns = [f"p{step}" for step in range(1, values.shape[1] + 1)]
    more = {"node_ptr": graphs.node_ptr}
    if "name" in of_graphs:
        more["name"] = of_graphs["name"]  # as text of one width for all, so not for every node
    return Table(
        {"graph": graph, "node": node, **keys}, values, columns, "return_probabilities", more
    )


# retgk embed

_GRAPHS_PER_TASK = 1_000

Precision = Annotated[
    Literal["float64", "float32"], typer.Option("--dtype", help="Type of the numbers.")
]
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
    remedies={"sparse_output": "give a smaller --n-components", **SCALING_REMEDY},
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
        **walks.parameters(),
        **embedding.parameters(),
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
    report_output(table, output, common, watch, graphs=len(collection), **facts)


def _vectors_and_error(
    model: RetGKEmbedding, graphs: GraphBatch, client: Any
) -> tuple[Any, dict[str, float]]:
    """Vectors, and what drawing nodes costs, where they are drawn."""
    if model.nodes is None:
        return _vectors(model.fit(graphs), graphs, client), {}
    import numpy as np

    vectors, errors = model.fit(graphs).transform_with_error(graphs)
    rows = {"standard_error": errors, "norm": vectors}
    return vectors, {
        name: float(np.sqrt(np.square(values, dtype=np.float64).sum(axis=1).mean()))
        for name, values in rows.items()
    }


def _vectors(model: Any, graphs: GraphBatch, client: Any) -> Any:
    """Vectors of graphs that are in memory, which every worker gets once."""
    if client is None:
        return model.transform(graphs)
    import numpy as np

    from retgk.runtime.cluster_tasks import results_in_order
    from retgk.runtime.progress import progress_bar

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
    """Write vectors while molecules are read: neither all of them nor all graphs are in memory."""
    from retgk.estimators.embedding_stream import write_vectors

    graphs = (used_graphs(batch, reading) for batch in stream)
    with (
        watch.timing("read and embed"),
        left_out_as_note(common),
        progress_bar("embedding molecules", stream.n_molecules) as advance,
        atomic_path(Path(output)) as part,
    ):
        shape = write_vectors(part, model, graphs, advance)
    report_written(shape, output, common, watch, graphs=shape[0])


def _embed_pieces(
    source: str,
    output: str,
    reading: Reading,
    context: tuple[ClusterOptions, Common, Stopwatch],
    model_file: Path,
) -> None:
    """Embed files with a fitted model; no machine holds all graphs or vectors."""
    import numpy as np

    from retgk.cluster.embedded_files import embed_files

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
    report_written(shape, output, common, watch, graphs=n_rows)


def _fitted_embedding(path: Path) -> Any:
    from retgk.estimators.embedding import RetGKEmbedding
    from retgk.persistence.model_files import load_model

    if not path.is_file():
        raise InvalidInputError(f"there is no model file {path}")
    model = load_model(path)
    found = model if isinstance(model, RetGKEmbedding) else getattr(model, "embedding_", None)
    if found is None:
        raise InvalidInputError(
            f"{path} holds a {type(model).__name__} without an embedding; make it with "
            "`retgk fit --approximate yes`, or save a fitted RetGKEmbedding"
        )
    return found
