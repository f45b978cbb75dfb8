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
import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.index_libraries import libraries
from benchmarks.index_meaning import columns, meaning
from benchmarks.index_molecules import (
    HELD_OUT,
    N_QUERIES,
    K,
    held_out,
    load,
    query_vectors,
    smiles_in,
)
from benchmarks.records import add_record


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


def search(arguments):
    """Queries a second on all cores, and recall against the scan of the same vectors."""
    from retgk import GraphIndex
    from retgk._runtime.processes import peak_megabytes

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
