"""`retgk similar`: graphs that are most like one graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retgk.cli.collection import Collection
from retgk.cli.command import command
from retgk.cli.options import Common, OptionalOutput, Reading, Source, Walks
from retgk.cli.smiles_files import molecule_graphs
from retgk.cli.sources import read_collection, used_graphs
from retgk.cli.tables import Table, check_output, finish, write_table
from retgk.cli.terminal import Stopwatch, print_record, print_table
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from retgk.graphs.batch import GraphBatch

__all__ = ["register"]

Index = Annotated[
    int | None, typer.Option("--index", "-i", min=0, help="Query: a graph of GRAPHS, from 0.")
]
Query = Annotated[str | None, typer.Option("--query", help="Query: a file with one graph, or - .")]
Smiles = Annotated[str | None, typer.Option("--smiles", help="Query: a SMILES string.")]
Count = Annotated[int, typer.Option("--count", "-k", min=1, help="How many graphs to show.")]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    command(
        app,
        examples=[
            "retgk similar MUTAG --index 17",
            "retgk similar molecules.smi --smiles CC(=O)Oc1ccccc1C(=O)O -k 10",
            "retgk similar graphs/ --query mine.graphml -o found.csv",
        ],
    )(similar)


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
) -> None:
    """Show the graphs that are most similar to one graph, the most similar first."""
    if sum(given is not None for given in (index, query, smiles)) != 1:
        raise InvalidInputError("give one query: --index, --query or --smiles")
    if output is not None:
        check_output(output, has_matrix=False)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common)
        place = None if index is None else _place(collection, index)
        graph = _query_graph(collection, reading, common, (place, query, smiles))
    with watch.timing("search"):
        from retgk.estimators.comparisons import most_similar

        wanted = min(count + (index is not None), len(collection))
        found = most_similar(graph, collection.graphs, wanted, **walks.parameters())
        places, values = (array.copy() for array in found)
        if index is not None:
            others = places != place
            places, values = places[others][:count], values[others][:count]
    keys = {name: column[places] for name, column in collection.keys().items()}
    table = Table({**keys, "similarity": values})
    if output is not None:
        write_table(table, output, json=common.json)
        finish(table, output, common, watch, graphs=len(collection))
    elif common.json:
        print_record({**table.keys, "seconds": watch.seconds})
    else:
        _print(table)


def _place(collection: Collection, index: int) -> int:
    """Place of a graph, given its number in the input."""
    numbers = collection.keys()["graph"].tolist()
    if index not in numbers:
        raise InvalidInputError(
            f"there is no graph {index}: {collection.name} has {len(collection)}, from 0 on"
        )
    return int(numbers.index(index))


def _query_graph(
    collection: Collection,
    reading: Reading,
    common: Common,
    given: tuple[int | None, str | None, str | None],
) -> GraphBatch:
    """Graph to look for, from its place in the collection, --query or --smiles."""
    place, query, smiles = given
    if place is not None:
        return collection.graphs[place]
    if smiles is not None:
        return used_graphs(molecule_graphs([smiles], reading), reading)
    assert query is not None
    asked = read_collection(query, _reading_of_query(reading), common, announce=False)
    if len(asked) != 1:
        raise InvalidInputError(f"{asked.name} holds {len(asked)} graphs; a query is one")
    return asked.graphs


def _reading_of_query(reading: Reading) -> Reading:
    """Options of the collection, without those that are about all of its graphs."""
    return replace(reading, targets=None, target_column=None, format=None)


def _print(table: Table) -> None:
    columns: list[Any] = [column.tolist() for column in table.keys.values()]
    columns[-1] = [f"{value:.4f}" for value in columns[-1]]
    print_table(list(table.keys), zip(*columns, strict=True))
