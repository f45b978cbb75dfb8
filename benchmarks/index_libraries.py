"""Libraries of neighbours on the same vectors."""

import time
from importlib.metadata import version

import numpy as np

from benchmarks.index_molecules import (
    FEW,
    N_QUERIES,
    K,
    held_out,
    index_of,
    query_vectors,
    smiles_in,
)


def libraries(arguments):
    """HNSW of usearch, faiss and voyager on the same vectors, with one thread, in its seconds."""
    from retgk.io import from_smiles

    molecules = smiles_in(arguments.molecules)[: arguments.most or FEW]
    index = index_of(from_smiles(molecules, n_jobs=1))
    rows = index.state().rows
    codec = rows.codec
    _, queries = query_vectors(index, held_out(arguments.molecules, N_QUERIES))
    vectors = codec.decode(np.concatenate([piece.vectors for piece in rows.pieces]))
    asked = codec.decode(queries)
    exact, _ = rows.scanned(queries, K)
    records = []
    for name, measure in LIBRARIES.items():
        for storage, building, searching, neighbours, n_bytes in measure(vectors, asked, codec):
            differences = vectors[neighbours.astype(np.int64)] - asked[:, None]
            squared = np.square(differences).sum(axis=2)
            records.append(
                {
                    "n_graphs": len(vectors),
                    "library": name,
                    "version": version(name),
                    "storage": storage,
                    "build_seconds": round(building, 1),
                    "queries_per_second": round(len(asked) / searching),
                    "recall": round(float((squared <= exact[:, -1:] * (1 + 1e-5)).mean()), 3),
                    "megabytes": round(n_bytes / 1e6, 1),
                }
            )
    return records


def timed(function):
    start = time.process_time()
    value = function()
    return value, time.process_time() - start


def with_usearch(vectors, asked, codec):
    from usearch.index import Index

    steps, few = (np.rint(each / codec.search_unit).astype(np.int8) for each in (vectors, asked))
    halves = vectors.astype(np.float16), asked.astype(np.float16)
    for storage, stored, queries in (("i8", steps, few), ("f16", *halves)):
        index = Index(
            ndim=vectors.shape[1],
            metric="l2sq",
            dtype=storage,
            connectivity=16,
            expansion_add=128,
            expansion_search=64,
        )
        keys = np.arange(len(stored), dtype=np.uint64)
        _, building = timed(lambda i=index, k=keys, s=stored: i.add(k, s, threads=1))
        found, searching = timed(lambda i=index, q=queries: i.search(q, K, threads=1))
        yield storage, building, searching, found.keys, index.serialized_length


def with_faiss(vectors, asked, _):
    import faiss

    faiss.omp_set_num_threads(1)
    width, quantizer = vectors.shape[1], faiss.ScalarQuantizer
    for storage, kind in (("sq8", quantizer.QT_8bit), ("fp16", quantizer.QT_fp16)):
        index = faiss.IndexHNSWSQ(width, kind, 16)
        index.hnsw.efConstruction, index.hnsw.efSearch = 128, 64
        index.train(vectors)
        _, building = timed(lambda i=index: i.add(vectors))
        (_, found), searching = timed(lambda i=index: i.search(asked, K))
        yield storage, building, searching, found, len(faiss.serialize_index(index))


def with_voyager(vectors, asked, codec):
    from voyager import Index, Space, StorageDataType

    unit = 127 * codec.search_unit
    for storage, scale in ((StorageDataType.Float8, unit), (StorageDataType.Float32, 1.0)):
        index = Index(
            Space.Euclidean,
            vectors.shape[1],
            M=16,
            ef_construction=128,
            storage_data_type=storage,
        )
        ask = {"k": K, "num_threads": 1, "query_ef": 64}
        _, building = timed(lambda i=index, s=scale: i.add_items(vectors / s, num_threads=1))
        (found, _), searching = timed(lambda i=index, s=scale, a=ask: i.query(asked / s, **a))
        yield str(storage).rpartition(".")[2], building, searching, found, len(index.as_bytes())


LIBRARIES = {"usearch": with_usearch, "faiss-cpu": with_faiss, "voyager": with_voyager}
