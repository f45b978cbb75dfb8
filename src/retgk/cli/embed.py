"""`retgk embed`: vectors of graphs."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from retgk.cli.command import command
from retgk.cli.options import Common, EmbeddingOptions, Output, Reading, Source, Walks
from retgk.cli.sources import read_collection
from retgk.cli.tables import Table, check_output, finish, write_table
from retgk.cli.terminal import Stopwatch

__all__ = ["register"]

ADVICE = (("set sparse_output, or pass an iterator of batches", "give a smaller --n-components"),)

Precision = Annotated[
    Literal["float64", "float32"], typer.Option("--dtype", help="Type of the numbers.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    command(
        app,
        examples=[
            "retgk embed MUTAG -o vectors.parquet",
            "retgk embed molecules.smi --n-components 100 --dtype float32 -o vectors.npy",
            "cat molecules.smi | retgk embed - -o - | head",
        ],
        advice=ADVICE,
    )(embed)


def embed(
    source: Source,
    output: Output,
    reading: Reading,
    walks: Walks,
    embedding: EmbeddingOptions,
    common: Common,
    dtype: Precision = "float64",
) -> None:
    """
    Write vectors of graphs whose inner products approximate the kernel (RetGK_II).

    One row per graph, with its number, its name where it has one, and its target.
    """
    check_output(output)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common)
    with watch.timing("embed"):
        from retgk.estimators.embedding import RetGKEmbedding

        model = RetGKEmbedding(**walks.parameters(), **embedding.parameters(), dtype=dtype)
        vectors = model.fit_transform(collection.graphs)
        names = model.get_feature_names_out().astype(str)
    with watch.timing("write"):
        table = Table(collection.keys(), vectors, names.tolist(), "vectors", {"features": names})
        write_table(table, output, json=common.json)
    finish(table, output, common, watch, graphs=len(collection))
