"""What `tol` costs: largest error, and cross-validated predictions that change, against tol=0.

    python -m benchmarks.bench_tolerance FOLDER [SETTING ...] [--tol TOL ...]

Predictions are those of a support vector machine on exp(-MMD / median), 10 folds, for each C.
"""

import argparse
import time

import numpy as np
from joblib import parallel_backend
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC

from benchmarks.records import read_records, write_records
from benchmarks.settings import load_setting
from retgk import RetGK

SETTINGS = [
    "MUTAG/labels", "ENZYMES/labels", "ENZYMES/attributes", "ENZYMES/both",
    "SYNTHETICnew/attributes", "BZR/both", "PROTEINS/labels", "IMDB-BINARY", "NCI1/labels",
    "COLLAB", "REDDIT-BINARY",
]  # fmt: skip
TOLERANCES = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
CS = [1.0, 10.0, 100.0, 1000.0]


def predictions(matrix, targets):
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    machines = [SVC(C=c, kernel="precomputed", cache_size=500) for c in CS]
    with parallel_backend("threading", n_jobs=-1):
        found = [cross_val_predict(machine, matrix, targets, cv=folds) for machine in machines]
    return np.stack(found)


def records_of_setting(folder, setting, tolerances):
    data, graphs = load_setting(folder, setting)
    reference = predicted = None
    for tol in [0.0, *tolerances]:
        start = time.perf_counter()
        kernel = RetGK(tol=tol, random_state=0)
        matrix = kernel.fit_transform(graphs)
        seconds = time.perf_counter() - start
        found = predictions(matrix, data.targets)
        if tol == 0:
            reference, predicted = kernel.inner_products_, found
            smallest = float(np.linalg.eigvalsh(reference).min())
            continue
        record = {
            "setting": setting,
            "tol": tol,
            "largest_error": float(np.abs(kernel.inner_products_ - reference).max()),
            "changed_predictions": int((found != predicted).sum()),
            "predictions": int(found.size),
            "smallest_eigenvalue": float(np.linalg.eigvalsh(kernel.inner_products_).min()),
            "smallest_eigenvalue_at_0": smallest,
            "seconds_of_matrix": seconds,
        }
        print(record, flush=True)
        yield record


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("settings", nargs="*", default=SETTINGS)
    parser.add_argument("--tol", type=float, nargs="+", default=TOLERANCES)
    options = parser.parse_args()
    try:
        records = [r for r in read_records("tolerance") if r["setting"] not in options.settings]
    except FileNotFoundError:
        records = []
    for setting in options.settings:
        records += records_of_setting(options.folder, setting, options.tol)
        write_records("tolerance", records)


if __name__ == "__main__":
    main()
