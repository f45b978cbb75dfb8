"""`retgk index`: an index of graphs in a folder; `retgk similar` asks one too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retgk.cli.command import Stopwatch, command, note, print_pairs, print_record, print_table
from retgk.cli.inputs import (
    IdChoice,
    as_fitted,
    graph_pieces,
    key_columns,
    left_out_as_note,
    query_graph,
    read_collection,
)
from retgk.cli.options import (
    Common,
    Depth,
    FileRole,
    KernelOption,
    Output,
    Reading,
    ScaleAttributes,
    Source,
    Threads,
    Walks,
    in_panel,
    named_kernel,
)
from retgk.cli.outputs import Table, check_output, report_output, write_table
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from retgk.search.index import GraphIndex

index_app = typer.Typer(
    help="Keep a collection of graphs in a folder, and find the nearest ones to others.",
    no_args_is_help=True,
)

_index = in_panel("Index")
IndexFolder = Annotated[
    Path,
    FileRole.READ,
    typer.Argument(metavar="INDEX", help="Folder that `retgk index build` wrote."),
]
NewIndex = Annotated[
    Path,
    FileRole.WRITTEN,
    typer.Option("--output", "-o", metavar="FOLDER", help="Folder of the index."),
]
IdsOption = Annotated[
    IdChoice | None,
    _index(help="What graphs are called: their names (by default) or their numbers."),
]
Count = Annotated[int, typer.Option("--count", "-k", min=1, help="How many neighbours to give.")]
Rerank = Annotated[
    int | None,
    _index(
        min=1, help="Compare so many candidates by the exact kernel; needs build --keep-graphs."
    ),
]
_MOST_COMPONENTS = 1 << 16  # columns of vectors that an index can store


@command(
    examples=[
        "retgk index build molecules.csv.gz -o index/",
        "retgk index build library.smi --depth 2 --ids numbers -o index/",
        "retgk index build graphs/ --keep-graphs -o index/",
        "retgk index build library.smi --kernel wl -o index/",
    ],
)
def build(
    source: Source,
    output: NewIndex,
    reading: Reading,
    walks: Walks,
    common: Common,
    ids: IdsOption = None,
    n_components: Annotated[
        int,
        _index(
            "--n-components",
            "-D",
            min=1,
            max=_MOST_COMPONENTS,
            help="Random features of the embedding.",
        ),
    ] = 2048,
    n_columns: Annotated[
        int, _index(min=1, help="Columns that are stored, of its principal axes.")
    ] = 256,
    storage: Annotated[
        Literal["int8", "float16"] | None,
        _index(help="Type of stored numbers; int8, and float16 for small indexes."),
    ] = None,
    depth: Depth = 0,
    keep_graphs: Annotated[
        bool, _index("--keep-graphs", help="Store the graphs too, for query --rerank.")
    ] = False,
    scale_attributes: ScaleAttributes = "raw",
    kernel_name: KernelOption = None,
) -> None:
    """
    Make an index of a collection, in a folder.

    Files of molecules are read piece by piece, whatever their size. The same command goes on where
    a stopped one was.
    """
    given = {"n_components": n_components != 2048, "depth": depth != 0}
    given["scale_attributes"] = scale_attributes != "raw"
    kernel = named_kernel(kernel_name, walks, given)
    parameters = {
        "walks": walks.walks(),
        **walks.common,
        "n_components": n_components,
        "depth": depth,
        "scale_attributes": scale_attributes,
    }
    kept = {"n_columns": n_columns, "storage": storage, "keep_graphs": keep_graphs}
    settings = {**parameters, **kept, **({} if kernel is None else {"kernel": kernel_name})}
    del settings["n_jobs"]
    watch = Stopwatch()
    with watch.timing("read"):
        known = str(sorted(settings.items()))
        graphs = graph_pieces(source, reading, common, ids, known, walks.n_jobs)
    with watch.timing("build"):
        import numpy as np

        from retgk.estimators.embedding import RetGKEmbedding
        from retgk.search.index import GraphIndex, build_index

        if kernel is None:
            kernel = RetGKEmbedding(feature_map="phases", dtype=np.float32, **parameters)
        index = GraphIndex(
            kernel,
            n_columns=n_columns,
            storage=storage,
            keep_graphs=keep_graphs,
            n_jobs=walks.n_jobs,
        )
        with left_out_as_note(common):
            index = build_index(output, graphs, index)
    _report(index, output, common, watch)


@command(examples=["retgk index add index/ more.smi"])
def add(
    folder: IndexFolder,
    source: Source,
    reading: Reading,
    common: Common,
    ids: IdsOption = None,
    n_jobs: Threads = None,
) -> None:
    """
    Add graphs to an index; they are read as those of the index were.

    All of them are added, or none if the command is stopped; the same command then goes on.
    """
    from retgk.search.index import extend_index
    from retgk.search.storage import read_intake

    watch = Stopwatch()
    with watch.timing("read"):
        embedding, kind = read_intake(folder)
        reading = as_fitted(reading, embedding.reading_, source)
        if ids is None and kind is not None:
            ids = "numbers" if kind == "int" else "names"
        graphs = graph_pieces(source, reading, common, ids, n_jobs=n_jobs)
    with watch.timing("add"), left_out_as_note(common):
        index = extend_index(folder, graphs, n_jobs)
    _report(index, folder, common, watch)


@command(
    examples=[
        "retgk index query index/ new.smi -k 10 -o neighbours.csv",
        "retgk index query index/ new.smi --rerank 100 -o - | head",
    ],
)
def query(
    folder: IndexFolder,
    source: Source,
    reading: Reading,
    common: Common,
    output: Output = "-",
    count: Count = 10,
    method: Annotated[
        Literal["auto", "scan", "approximate"],
        _index(help="Scan all vectors, or search in graphs of neighbours."),
    ] = "auto",
    expansion: Annotated[
        int, _index(min=1, help="Rows a search keeps in view: more find more.")
    ] = 32,
    rerank: Rerank = None,
) -> None:
    """
    Find the nearest graphs of an index, for every graph of a source.

    One row per neighbour: number and name of the query, rank, id and distance of the neighbour.
    """
    check_output(output, has_matrix=False)
    import numpy as np

    from retgk.search.index import GraphIndex

    watch = Stopwatch()
    with watch.timing("read"):
        index = GraphIndex.load(folder)
        reading = as_fitted(reading, index.embedding_.reading_, source)
    options: dict[str, Any] = {"method": method, "expansion": expansion, "rerank": rerank}
    columns: list[dict[str, Any]] = []
    with watch.timing("query"):
        for numbers, names, graphs in _queries(source, reading, common):
            found = index.query(graphs, count, **options)
            n_given = found.ids.shape[1]
            columns.append(
                {
                    "query": np.repeat(numbers, n_given),
                    **({} if names is None else {"query_name": np.repeat(names, n_given)}),
                    "rank": np.tile(np.arange(1, n_given + 1), len(graphs)),
                    "id": found.ids.reshape(-1),
                    "distance": found.distances.reshape(-1),
                }
            )
    table = Table({name: np.concatenate([part[name] for part in columns]) for name in columns[0]})
    with watch.timing("write"):
        write_table(table, output, json=common.json)
    report_output(table.shape, output, common, watch, graphs=len(index))


def _queries(source: str, reading: Reading, common: Common) -> Any:
    import numpy as np

    collection = read_collection(source, reading, common)
    keys = key_columns(collection)
    for start in range(0, len(collection), 20_000):
        part = slice(start, start + 20_000)
        names = keys["name"][part] if "name" in keys else None
        yield np.asarray(keys["graph"][part]), names, collection.graphs[part]


@command(examples=["retgk index info index/", "retgk index info index/ --json"])
def info(folder: IndexFolder, common: Common) -> None:
    """Show how many graphs an index holds, and in which form."""
    from retgk.search.index import GraphIndex

    record = _facts(GraphIndex.load(folder), folder)
    if common.json:
        print_record(record)
    else:
        print_pairs(record)


def _facts(index: GraphIndex, folder: Path) -> dict[str, Any]:
    n_bytes = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    return {"index": str(folder), **index.facts(), "bytes": n_bytes}


def _report(index: GraphIndex, folder: Path, common: Common, watch: Stopwatch) -> None:
    facts = _facts(index, folder)
    if common.json:
        print_record({**facts, "seconds": watch.seconds})
    else:
        spent = ", ".join(f"{part} {seconds:.1f} s" for part, seconds in watch.seconds.items())
        note(common, f"{folder}: {facts['graphs']:,} graphs, {facts['bytes']:,} bytes ({spent})")


for _each in (build, add, query, info):
    _each.add_to(index_app)


# retgk similar, with an index


def similar_in_index(
    folder: Path,
    asked: tuple[str | None, str | None],
    count: int,
    output: str | None,
    reading: Reading,
    common: Common,
) -> None:
    """Show the nearest graphs of an index; `asked` are the values of --query and --smiles."""
    from retgk.search.index import GraphIndex

    if asked == (None, None):
        raise InvalidInputError("an index is asked with --query or --smiles, not with --index")
    index = GraphIndex.load(folder)
    reading = as_fitted(reading, index.embedding_.reading_, asked[0] or "")
    found = index.query(query_graph(reading, common, *asked), count)
    table = Table({"id": found.ids[0], "distance": found.distances[0]})
    if output is not None:
        write_table(table, output, json=common.json)
    elif common.json:
        print_record(table.keys)
    else:
        rows = zip(found.ids[0].tolist(), found.distances[0].tolist(), strict=True)
        print_table(list(table.keys), [(name, f"{distance:.4f}") for name, distance in rows])
