"""All six social sets: exact return probabilities and inner products, in one resumable command.

    python -m benchmarks.social_sets FOLDER OUTPUT_FOLDER [--tol TOL]

A set whose matrix is complete is skipped; a set that was interrupted goes on behind its last
block of rows. The paper states 48 h 14 min for all six, on another machine.
"""

import argparse
import json
import time
from pathlib import Path

from benchmarks.records import peak_so_far, write_records
from benchmarks.settings import SOCIAL, load_setting
from retgk import RetGKKernel, return_probabilities, write_mean_embedding_gram


def record_of_set(folder, output, name, tol):
    _, graphs = load_setting(folder, name)
    start = time.perf_counter()
    return_probabilities(graphs)
    features = time.perf_counter() - start
    start = time.perf_counter()
    path = output / f"{name}.npy"
    write_mean_embedding_gram(path, graphs, kernel=RetGKKernel(tol=tol, random_state=0))
    return {
        "set": name,
        "graphs": len(graphs),
        "nodes": graphs.n_nodes,
        "tol": tol,
        "seconds_of_features": features,
        "seconds": time.perf_counter() - start,  # features included
        "peak_mb": peak_so_far(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("output", type=Path)
    parser.add_argument("--tol", type=float, default=RetGKKernel().tol)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    records = []
    for name in SOCIAL:
        done = options.output / f"{name}.json"
        if not done.exists():
            record = record_of_set(options.folder, options.output, name, options.tol)
            done.write_text(json.dumps(record))
        records.append(json.loads(done.read_text()))
        print(records[-1], flush=True)
    write_records("social_sets", records)
    print(f"all six: {sum(record['seconds'] for record in records) / 60:.1f} min")


if __name__ == "__main__":
    main()
