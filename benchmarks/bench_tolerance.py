"""What `tol` costs: largest error, and cross-validated predictions that change, against tol=0.

    python -m benchmarks.bench_tolerance FOLDER [SETTING ...]

Predictions are those of a support vector machine on exp(-MMD / median), 10 folds, for each C.
"""

import argparse
import time

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC

from benchmarks.records import read_records, write_records
from benchmarks.settings import load_setting
from retgk import RetGKKernel

SETTINGS = [
    "MUTAG/labels", "ENZYMES/labels", "ENZYMES/attributes", "ENZYMES/both",
    "SYNTHETICnew/attributes", "BZR/both", "PROTEINS/labels", "IMDB-BINARY", "NCI1/labels",
    "COLLAB", "REDDIT-BINARY",
]  # fmt: skip
TOLERANCES = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
CS = [1.0, 10.0, 100.0, 1000.0]


def predictions(matrix, targets):
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    return np.stack(
        [cross_val_predict(SVC(C=c, kernel="precomputed"), matrix, targets, cv=folds) for c in CS]
    )


def records_of_setting(folder, setting):
    data, graphs = load_setting(folder, setting)
    reference = predicted = None
    for tol in [0.0, *TOLERANCES]:
        start = time.perf_counter()
        kernel = RetGKKernel(tol=tol, random_state=0)
        found = predictions(kernel.fit_transform(graphs), data.targets)
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
            "seconds": time.perf_counter() - start,
        }
        print(record, flush=True)
        yield record


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("settings", nargs="*", default=SETTINGS)
    options = parser.parse_args()
    try:
        records = [r for r in read_records("tolerance") if r["setting"] not in options.settings]
    except FileNotFoundError:
        records = []
    for setting in options.settings:
        records += records_of_setting(options.folder, setting)
        write_records("tolerance", records)


if __name__ == "__main__":
    main()
