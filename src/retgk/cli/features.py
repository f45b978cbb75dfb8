"""`retgk features`: return probabilities of all nodes."""

from __future__ import annotations

import typer

from retgk.cli.collection import Collection
from retgk.cli.command import command
from retgk.cli.options import Common, Output, Reading, Source, Walks
from retgk.cli.sources import read_collection
from retgk.cli.tables import Table, check_output, finish, write_table
from retgk.cli.terminal import Stopwatch

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    command(
        app,
        examples=[
            "retgk features MUTAG -o rpf.parquet",
            "retgk features big.edges --method monte-carlo --n-steps 20 -o rpf.npy",
            "retgk features MUTAG --n-steps 5 -o - | head",
        ],
    )(features)


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
        collection = read_collection(source, reading, common)
    with watch.timing("features"):
        from retgk.walks.return_probabilities import return_probabilities

        probabilities = return_probabilities(collection.graphs, **walks.parameters())
    with watch.timing("write"):
        table = _node_table(collection, probabilities)
        write_table(table, output, json=common.json)
    finish(table, output, common, watch, graphs=len(collection))


def _node_table(collection: Collection, probabilities: object) -> Table:
    import numpy as np

    values = np.asarray(probabilities)
    graphs = collection.graphs
    of_graphs = collection.keys()
    keys = {name: np.repeat(column, graphs.sizes) for name, column in of_graphs.items()}
    graph = keys.pop("graph")
    node = np.arange(graphs.n_nodes) - np.repeat(graphs.node_ptr[:-1], graphs.sizes)
    columns = [f"p{step}" for step in range(1, values.shape[1] + 1)]
    more = {"node_ptr": graphs.node_ptr}
    if "name" in of_graphs:
        more["name"] = of_graphs["name"]  # as text of one width for all, so not for every node
    return Table(
        {"graph": graph, "node": node, **keys}, values, columns, "return_probabilities", more
    )
