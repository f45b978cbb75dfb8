"""
An index of all molecules of a file: how long it takes, how large it is, what it finds.

    python -m benchmarks.bench_index build molecules.csv.gz --folder index
    python -m benchmarks.bench_index search molecules.csv.gz --folder index
    python -m benchmarks.bench_index add molecules.csv.gz --folder index
    python -m benchmarks.bench_index meaning molecules.csv.gz --folder index
    python -m benchmarks.bench_index columns molecules.csv.gz
    python -m benchmarks.bench_index libraries molecules.csv.gz

The last thousand molecules of the file are not part of the index: half of them are queries, and all
of them are added by `add`. `build` is the command `retgk index build` in a process of its own; it
goes on after a stop, and then gives no time. Times are of a machine that others use too: the load
stands beside them, and processor seconds.
"""

import argparse
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.records import add_record

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


def run_retgk(*arguments):
    """What a command prints as JSON, its seconds, and what its processes used."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "retgk", "index", *map(str, arguments), "--json"]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(found.stdout), {
        "seconds": round(seconds, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_megabytes": round(used.ru_maxrss / 1024),  # of the largest process
        "load": load(),
    }


# The whole collection


def build(arguments):
    """Time, processor time, peak memory and size of `retgk index build`."""
    folder = arguments.folder
    listed = folder.with_suffix(".smi")
    if not listed.exists():
        texts = smiles_in(arguments.molecules)[:-HELD_OUT][: arguments.most]
        listed.write_text("\n".join(texts) + "\n")
    is_new = not (folder / "unfinished.json").exists()
    facts, used = run_retgk("build", listed, "-o", folder)
    return {
        "n_graphs": facts["graphs"],
        "n_linked": facts["linked"],
        "columns": facts["columns"],
        "storage": facts["storage"],
        **(used if is_new else {"peak_megabytes": used["peak_megabytes"], "seconds": None}),
        "megabytes": round(facts["bytes"] / 1e6),
    }


def query_vectors(index, molecules):
    """Queries, and their vectors as the index stores them, so that searching alone is timed."""
    from retgk import from_smiles
    from retgk.search.embedded_queries import coded_vectors

    graphs = from_smiles(molecules, n_jobs=1)
    return graphs, coded_vectors(index.embedding_, index.state().rows.codec, graphs, None)


def search(arguments):
    """Queries a second on all cores, and recall against the scan of the same vectors."""
    from retgk import GraphIndex
    from retgk.runtime.memory import peak_megabytes

    start = time.perf_counter()
    index = GraphIndex.load(arguments.folder)
    loading = time.perf_counter() - start
    rows = index.state().rows
    graphs, queries = query_vectors(index, held_out(arguments.molecules, N_QUERIES))
    start = time.perf_counter()
    exact, _ = rows.scanned(queries, K)
    scanning = time.perf_counter() - start
    common = {"n_graphs": len(index), "n_queries": len(queries), "k": K}
    records = []
    for expansion in (16, 32, 64, 128):
        rows.approximated(queries, K, expansion, None)  # pages of the files are read once
        times, used = [], []
        for _ in range(5):
            start, cpu = time.perf_counter(), time.process_time()
            squared, _ = rows.approximated(queries, K, expansion, None)
            times.append(time.perf_counter() - start)
            used.append(time.process_time() - cpu)
        # neighbours that are no farther than the tenth of the scan: equal ones count
        found = float((squared <= exact[:, -1:] * (1 + 1e-9)).mean())
        records.append(
            {
                **common,
                "method": "approximate",
                "expansion": expansion,
                "recall": round(found, 4),
                "queries_per_second": round(len(queries) / min(times)),
                "queries_per_processor_second": round(len(queries) / min(used)),
                "load": load(),
            }
        )
    start = time.perf_counter()
    index.query(graphs, K)
    whole = time.perf_counter() - start
    one = {
        **common,
        "method": "scan",
        "recall": 1.0,
        "queries_per_second": round(len(queries) / scanning, 1),
        "load_seconds": round(loading, 1),
        "peak_megabytes": round(peak_megabytes()),
        "queries_per_second_with_vectors": round(len(queries) / whole),
    }
    return [one, *records]


def add(arguments):
    """Time of `retgk index add` for a thousand molecules, on a copy of the index."""
    folder = arguments.folder.with_name(arguments.folder.name + "-copy")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(arguments.folder, folder)
    listed = folder.with_suffix(".smi")
    listed.write_text("\n".join(held_out(arguments.molecules, HELD_OUT)) + "\n")
    files = {path.name for path in folder.iterdir()}
    facts, used = run_retgk("add", folder, listed)
    new = [path.stat().st_size for path in folder.iterdir() if path.name not in files]
    shutil.rmtree(folder)
    listed.unlink()
    return {
        "n_graphs": facts["graphs"],
        "n_added": HELD_OUT,
        **used,
        "seconds_of_parts": facts["seconds"],
        "megabytes_written": round(sum(new) / 1e6, 1),
    }


# What neighbours mean


def fingerprints(molecules):
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in molecules]


def tanimoto(queries, neighbours):
    """Mean similarity of queries to neighbours of their own, and its standard error."""
    from rdkit.DataStructs import BulkTanimotoSimilarity

    each = [
        np.mean(BulkTanimotoSimilarity(one, others))
        for one, others in zip(queries, neighbours, strict=True)
    ]
    return {
        "n_queries": len(each),
        "tanimoto": round(float(np.mean(each)), 3),
        "tanimoto_error": round(float(np.std(each) / len(each) ** 0.5), 3),
    }


def index_of(graphs, n_components=2048, depth=0, **options):
    from retgk import GraphIndex, RetGKEmbedding

    embedding = RetGKEmbedding(
        feature_map="phases",
        n_components=n_components,
        depth=depth,
        dtype=np.float32,
        random_state=0,
    )
    return GraphIndex(embedding, scan_below=1 << 20, **options).fit(graphs)


def share_of_nearest(exact, rows):
    """Share of rows that are no farther, by exact distances, than the tenth nearest."""
    limit = np.sort(exact, axis=1)[:, K - 1 : K] * (1 + 1e-6) + 1e-9
    return round(float((np.take_along_axis(exact, rows, axis=1) <= limit).mean()), 3)


def meaning(arguments):
    """
    Mean Tanimoto similarity (Morgan, radius 2, 2048 bits) of ten neighbours, for 200 queries.

    In one collection of 50,000 (`--most`), because the exact kernel compares with all: ours, those
    of the exact kernel, random ones, and those by fingerprints, the most there can be. Ours in the
    whole index stand beside them.
    """
    from rdkit.DataStructs import BulkTanimotoSimilarity

    from retgk import GraphIndex, from_smiles, pairwise_distances

    queries = held_out(arguments.molecules, 200)
    molecules = smiles_in(arguments.molecules)[: arguments.most or FEW]
    asked, graphs = from_smiles(queries, n_jobs=1), from_smiles(molecules, n_jobs=1)
    of_queries, of_all = fingerprints(queries), fingerprints(molecules)
    exact = pairwise_distances(asked, graphs)
    best = [np.argsort(BulkTanimotoSimilarity(one, of_all))[::-1][:K] for one in of_queries]
    index = index_of(graphs, keep_graphs=True)
    chosen = {
        "random": np.random.default_rng(0).integers(len(molecules), size=(len(queries), K)),
        "exact kernel": np.argsort(exact, axis=1, kind="stable")[:, :K],
        "index": index.query(asked, K).ids,
        "index, rerank=100": index.query(asked, K, rerank=100).ids,
        "index, depth=2": index_of(graphs, depth=2).query(asked, K).ids,
        "fingerprints": np.array(best),
    }
    records = [
        {
            "n_graphs": len(molecules),
            "method": name,
            **tanimoto(of_queries, [[of_all[row] for row in found] for found in rows]),
            "share_of_nearest": share_of_nearest(exact, rows),
        }
        for name, rows in chosen.items()
    ]
    if arguments.folder.is_dir():
        whole = GraphIndex.load(arguments.folder)
        found = [fingerprints(row) for row in whole.query(asked, K).ids]
        records.append({"n_graphs": len(whole), "method": "index", **tanimoto(of_queries, found)})
    return records


def columns(arguments):
    """What fewer columns and bytes cost: share of the exact kernel's ten nearest."""
    from retgk import from_smiles, pairwise_distances

    molecules = smiles_in(arguments.molecules)[: arguments.most or FEW]
    graphs = from_smiles(molecules, n_jobs=1)
    asked = from_smiles(held_out(arguments.molecules, 100), n_jobs=1)
    exact = pairwise_distances(asked, graphs)
    records = []
    for n_components, n_columns, storage in (
        (256, 256, "float16"),
        (2048, 2048, "float16"),
        (1024, 256, "int8"),
        (2048, 64, "int8"),
        (2048, 128, "int8"),
        (2048, 256, "float16"),
        (2048, 256, "int8"),
        (2048, 512, "int8"),
    ):
        index = index_of(graphs, n_components, n_columns=n_columns, storage=storage)
        found = index.query(asked, K)
        near = np.take_along_axis(exact, found.ids, axis=1)
        records.append(
            {
                "n_graphs": len(molecules),
                "n_components": n_components,
                "columns": n_columns,
                "storage": storage,
                "bytes_per_graph": n_columns * np.dtype(storage).itemsize,
                "share_of_nearest": share_of_nearest(exact, found.ids),
                "distance_over_exact": round(float((found.distances / near).mean()), 3),
            }
        )
    return records


# Libraries


def libraries(arguments):
    """HNSW of usearch, faiss and voyager on the same vectors, with one thread, in its seconds."""
    from retgk import from_smiles

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
STEPS = {
    "build": build,
    "search": search,
    "add": add,
    "meaning": meaning,
    "columns": columns,
    "libraries": libraries,
}
KEYS = ("library", "storage", "n_components", "columns", "method", "expansion")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("molecules", type=Path, help="table of SMILES, such as moses_train.csv.gz")
    parser.add_argument("--folder", type=Path, default=Path("bench-index"), help="of the index")
    parser.add_argument("--most", type=int, help="molecules that are used, the first ones")
    arguments = parser.parse_args()
    records = STEPS[arguments.step](arguments)
    for record in records if isinstance(records, list) else [records]:
        print(json.dumps({"step": arguments.step, **record}), flush=True)
        full = {"step": arguments.step, **dict.fromkeys(KEYS), **record}
        add_record("index", full, "step", "n_graphs", *KEYS)


if __name__ == "__main__":
    main()
