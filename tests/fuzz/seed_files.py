"""Small honest files of every format, from which all mutations start; made by code."""

import gzip
import io
import json
import zipfile
from contextlib import suppress
from unittest import mock

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy import sparse
from scipy.io import savemat

from retgk import GraphBatch, GraphDataset, RetGK, Walks, save_model
from retgk.estimators import gram_file
from retgk.io import write_parquet
from retgk.io.cache import ReadOptions, store_cached
from retgk.io.formats import formats
from retgk.io.graphml import write_graphml
from retgk.io.json import write_json
from retgk.io.tudataset import read_tudataset
from retgk.kernels import write_mean_embedding_gram
from retgk.kernels.exact import ExactEngine
from tests.model_zoo import tiny_model

TU_FILES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n3, 1\n1, 3\n4, 5\n5, 4\n6, 7\n7, 6\n",
    "graph_indicator": "1\n1\n1\n2\n2\n3\n3\n",
    "graph_labels": "1\n-1\n1\n",
    "node_labels": "0\n1\n0\n2\n0\n1\n1\n",
    "node_attributes": "0.5, 1\n1.5, -2\n0, 3e-2\n1, 1\n2, 2\n-1, 0\n7, 8\n",
    "edge_labels": "0\n0\n1\n1\n0\n0\n2\n2\n1\n1\n",
}
SMILES_LIST = b"CCO ethanol\nc1ccccc1 benzene\n# a comment\nCC(=O)O\n[Na+].[Cl-] salt\nC1CC1\n"
SMILES_TABLE = b'smiles,name,y\nCCO,"ethanol, pure",1\nc1ccccc1,benzene,0\nCC(=O)O,,2\nC#N,x,1\n'
EDGES = b"# edges\n1 2 0.5\n2 3 1\n3 1 2e1\n3 4 1\n4 5 0.25\n"
TARGETS = b"1\n0\n1\n2\n"
TARGET_TABLE = b"file,y,age\nb.npy,1,30\na.npy,2,40\nc.npy,1,50\n"
NODE_LINKS = (
    b'{"nodes": [{"id": "a", "kind": "x", "age": 1}, {"id": "b", "kind": "y", "age": 2.5}], '
    b'"links": [{"source": "a", "target": "b", "weight": 0.5, "bond": "="}], '
    b'"graph": {"target": 1}}\n'
    b'{"directed": false, "nodes": [{"id": 0, "kind": "y", "age": 1}], "edges": [], "target": 2}\n'
)
MATRICES = np.array([[[0, 0.5, 1], [0.5, 0, 2], [1, 2, 0]], [[0, 1, 0], [1, 0, 0], [0, 0, 3]]])
MATRIX_TEXT = b"0,0.5,1e0,0\n0.5,0,2,0\n1,2,0,7\n0,0,7,1\n"
GRAMS = 12
CACHE_MARK = "mark"


def data_set():
    """Graphs with labels, attributes, weights, edge labels and targets."""
    rng = np.random.default_rng(0)
    edges = [[0, 1], [1, 2], [2, 0], [3, 4], [5, 6], [6, 7], [7, 8]]
    graphs = GraphBatch.from_edges(
        [3, 2, 4, 1],
        edges,
        rng.uniform(1, 2, len(edges)),
        labels=list("CNOCCNOSCC"),
        attributes=rng.normal(size=(10, 2)),
        edge_labels=["-", "=", "-", "#", "=", "-", "-"],
        symmetrize=True,
    )
    return GraphDataset(graphs, np.array([1, 2, 1, 3]), "seed", "a seed")


def tu_archive(compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for kind, text in TU_FILES.items():
            archive.writestr(f"SEED/SEED_{kind}.txt", text)
    return buffer.getvalue()


def seed_file(name, folder):
    """Content of the honest file of a target."""
    made = {
        "tu-zip": tu_archive,
        "tu-stored": lambda: tu_archive(zipfile.ZIP_STORED),
        "tu-folder": lambda: json.dumps(TU_FILES).encode(),
        "parquet": lambda: write_parquet(data_set(), folder / "own.parquet").read_bytes(),
        "parquet-foreign": foreign_bytes,
        "graphml": lambda: graphml_bytes(folder),
        "edges": lambda: EDGES,
        "smiles": lambda: SMILES_LIST,
        "table": lambda: SMILES_TABLE,
        "guessed": lambda: gzip.compress(SMILES_TABLE, mtime=0),
        "targets": lambda: TARGETS,
        "targets-table": lambda: TARGET_TABLE,
        "json": lambda: write_json(data_set(), folder / "own.json").read_bytes(),
        "json-lines": lambda: NODE_LINKS,
        "npy": lambda: written(np.save, MATRICES),
        "npz": lambda: written(np.savez_compressed, MATRICES),
        "npz-sparse": lambda: written(sparse.save_npz, sparse.csr_array(MATRICES[0])),
        "mat": lambda: written(savemat, {"W": MATRICES[0]}, do_compression=True),
        "mat-sparse": lambda: written(savemat, {"W": sparse.csc_array(MATRICES[0])}),
        "mat-4": lambda: written(savemat, {"W": MATRICES[0]}, format="4"),
        "matrix-text": lambda: MATRIX_TEXT,
        "model": lambda: model_bytes(folder),
        "cache": lambda: cache_bytes(folder),
        "gram": lambda: gram_bytes(folder),
    }
    if name not in made and name in formats():
        return format_bytes(formats()[name], folder)
    plain = name.removesuffix("-gz")
    return made[plain]() if plain == name else gzip.compress(made[plain](), mtime=0)


def written(write, *values, **options):
    """Give what a function writes to a stream."""
    buffer = io.BytesIO()
    write(buffer, *values, **options)
    return buffer.getvalue()


def format_bytes(form, folder):
    """A small file of a format: its example, or what it writes."""
    if form.write is None:
        return form.example
    path = folder if form.writes_folder else folder / f"own{form.endings[0]}"
    form.write(data_set()[:1], path)
    return path.read_bytes() if path.is_file() else next(path.iterdir()).read_bytes()


def graphml_bytes(folder):
    return write_graphml(data_set().graphs[0], folder / "graphml")[0].read_bytes()


def model_bytes(folder):
    save_model(tiny_model(), folder / "model.retgk")
    return (folder / "model.retgk").read_bytes()


def foreign_bytes():
    buffer = io.BytesIO()
    parquet.write_table(foreign_table(), buffer)
    return buffer.getvalue()


def foreign_table():
    """A Parquet file as other programs write it: plain lists, text labels, columns of their own."""
    return pa.table(
        {
            "id": ["a", "b"],
            "degrees": [[1, 1], [2, 2, 2]],
            "neighbours": [[1, 0], [1, 2, 0, 2, 0, 1]],
            "labels": [["C", "N"], ["C", "C", "O"]],
            "edge_labels": [[1, 1], [4, 2, 4, 1, 2, 1]],
            "attributes": [[[0.5], [1.0]], [[1.0], [2.0], [3.0]]],
            "target": ["yes", "no"],
        }
    )


def cache_bytes(folder):
    archive, path = folder / "SEED.zip", folder / "copy.safetensors"
    archive.write_bytes(tu_archive())
    dataset, notes = read_tudataset(archive, "SEED", ReadOptions())
    store_cached(path, dataset, CACHE_MARK, notes)
    return path.read_bytes()


def gram_graphs():
    graphs = data_set().graphs.without_attributes()
    return GraphBatch.concatenate([graphs] * (GRAMS // len(graphs)))


def gram_kernel():
    return RetGK(walks=Walks(4), random_state=0)


class _StoppedError(Exception):
    """Raised in place of a kill."""


def small_blocks():
    """A context in which matrices are written four rows at a time."""
    return mock.patch.object(gram_file, "BLOCK_BYTES", 8 * GRAMS * 4)


def gram_bytes(folder):
    """The files that a killed run leaves, as one JSON document of their names and bytes."""
    place = folder / "gram"
    place.mkdir(exist_ok=True)
    whole, calls = ExactEngine.inner_products, []

    def stop_at_the_third(*arguments):
        calls.append(arguments)
        if len(calls) > 2:
            raise _StoppedError
        return whole(*arguments)

    stopped = mock.patch.object(ExactEngine, "inner_products", stop_at_the_third)
    with suppress(_StoppedError), small_blocks(), stopped:
        write_mean_embedding_gram(place / "gram.npy", gram_graphs(), kernel=gram_kernel())
    files = [path for path in sorted(place.iterdir()) if path.is_file()]
    return json.dumps({path.name: path.read_bytes().hex() for path in files}).encode()
