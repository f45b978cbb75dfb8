"""Molecules of an index and its queries, shared by the steps of `bench_index`."""

import gzip
import os

import numpy as np

HELD_OUT = 1000
N_QUERIES = 500
K = 10
FEW = 50_000  # molecules that the exact kernel is compared on


def smiles_in(path):
    with gzip.open(path, "rt") as stream:
        next(stream)
        return [line.split(",")[0].strip() for line in stream]


def held_out(path, count):
    """Molecules that the index does not have."""
    return smiles_in(path)[-HELD_OUT:][:count]


def load():
    return round(os.getloadavg()[0], 1)


def query_vectors(index, molecules):
    """Queries, and their vectors as the index stores them, so that searching alone is timed."""
    from retgk.io import from_smiles
    from retgk.search.index import coded_vectors

    graphs = from_smiles(molecules, n_jobs=1)
    return graphs, coded_vectors(index.embedding_, index.state().rows.codec, graphs, None)


def index_of(graphs, n_components=2048, depth=0, **options):
    from retgk import GraphIndex
    from retgk.kernels import RetGKEmbedding

    embedding = RetGKEmbedding(
        feature_map="phases",
        n_components=n_components,
        depth=depth,
        dtype=np.float32,
        random_state=0,
    )
    return GraphIndex(embedding, scan_below=1 << 20, **options).fit(graphs)
