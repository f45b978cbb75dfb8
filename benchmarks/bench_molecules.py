"""GraphClassifier and GraphRegressor on molecules, beside Morgan fingerprints.

    python -m benchmarks.bench_molecules FOLDER [SET ...] [-o FILE.jsonl] [--only TEXT] [--limit N]

FOLDER holds the files that `benchmarks/molecule_sets.py` names; sets without them are left out.
All methods get the same molecules in the same five folds, random ones (stratified for classes) and
folds by scaffold; made sets are split once. Seeds are 0. Fingerprints of radius 2 and 2,048 bits go
to a forest of 500 trees, and to a machine with Tanimoto's kernel where molecules are not too many
for a full matrix; RetGK's estimators have their defaults, but all choose by the first metric of the
set. One record a set, split and method, so that a stopped run goes on where it
was; another file of records begins anew, to compare two versions.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.molecule_sets import SEED, load_set, sets_in
from benchmarks.records import FOLDER, add_record, read_records
from examples.molecules import (
    ATTRIBUTES,
    NEGATIVE_RMSE,
    decisions,
    fingerprints,
    forest,
    retgk_model,
    tanimoto_machine,
)
from retgk.io import from_smiles
from retgk.model_selection import scaffold_folds

N_FOLDS = 5
CLASS_METRICS = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}
VALUE_METRICS = {"rmse": root_mean_squared_error, "r2": r2_score}
READING = {
    "RetGK": {},
    "RetGK, bond orders": {"bond_orders": True},
    "RetGK, atom attributes": {"attributes": ATTRIBUTES},
    "RetGK, both": {"attributes": ATTRIBUTES, "bond_orders": True},
    "RetGK, bond types": {"bond_types": True},
    "RetGK, bond types and attributes": {"attributes": ATTRIBUTES, "bond_types": True},
}
FOREST = "Morgan, forest"
TANIMOTO = "Morgan, Tanimoto machine"
BALANCED = "RetGK, balanced"
METHODS = [*READING, BALANCED, FOREST, TANIMOTO]
MOST_FOR_TANIMOTO = 10_000


def features_of(data, method):
    """Graphs, or fingerprints."""
    if method in (FOREST, TANIMOTO):
        return fingerprints(data.smiles)
    return from_smiles(data.smiles, **READING.get(method, {}))


def model_of(method, is_regression, scoring, n_jobs):
    if method == FOREST:
        return forest(is_regression, n_jobs)
    if method == TANIMOTO:
        return tanimoto_machine(is_regression, scoring)
    model = retgk_model(is_regression, scoring, n_jobs)
    return model.set_params(class_weight="balanced") if method == BALANCED else model


def folds_of(data, split):
    """Pairs of training and test molecules: five folds, or one where the set is split once."""
    if split == "once":
        return [
            (np.arange(data.n_train), np.arange(len(data.smiles) - data.n_train) + data.n_train)
        ]
    if split == "scaffold":
        return scaffold_folds(data.smiles, N_FOLDS)
    kind = KFold if data.is_regression else StratifiedKFold
    return list(kind(N_FOLDS, shuffle=True, random_state=SEED).split(data.smiles, data.targets))


def splits_of(name, data):
    if data.n_train is not None:
        return ["once"]
    return ["random"] if name.endswith("-rare") else ["random", "scaffold"]


def fold_result(model, features, targets, fold, is_regression):
    """Metrics of the test molecules, and seconds of fitting and predicting."""
    train, test = fold
    start = time.perf_counter()
    model.fit(features[train], targets[train])
    fitted = time.perf_counter()
    scores = decisions(model, features[test], is_regression)
    metrics = VALUE_METRICS if is_regression else CLASS_METRICS
    ended = time.perf_counter()
    values = {name: float(metric(targets[test], scores)) for name, metric in metrics.items()}
    chosen = {k: str(v) for k, v in getattr(model, "best_params_", {}).items() if v is not None}
    seconds = {"fit_seconds": fitted - start, "predict_seconds": ended - fitted}
    return {**values, **seconds, "chosen": chosen, "solver": getattr(model, "solver_", None)}


def record_of(name, data, split, method, n_jobs):
    features, targets = features_of(data, method), data.targets
    is_rare = not data.is_regression and min(targets.mean(), 1 - targets.mean()) < 0.1
    rare = "average_precision" if is_rare else "roc_auc"
    scoring = NEGATIVE_RMSE if data.is_regression else rare
    results = [
        fold_result(
            model_of(method, data.is_regression, scoring, n_jobs),
            features,
            targets,
            fold,
            data.is_regression,
        )
        for fold in folds_of(data, split)
    ]
    return {
        "key": f"{name}/{split}/{method}",
        "set": name,
        "split": split,
        "method": method,
        "molecules": len(targets),
        "actives": None if data.is_regression else float(targets.mean()),
        "metrics": list(VALUE_METRICS if data.is_regression else CLASS_METRICS),
        "folds": results,
    }


def report_line(record):
    values = [
        f"{metric} {np.mean([fold[metric] for fold in record['folds']]):.4f}"
        for metric in record["metrics"]
    ]
    seconds = sum(fold["fit_seconds"] + fold["predict_seconds"] for fold in record["folds"])
    return f"{record['key']:48} {'  '.join(values)}  {seconds:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("sets", nargs="*", help="all whose files are there by default")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER / "molecules.jsonl")
    parser.add_argument("--only", default="", help="part of a key, SET/SPLIT/METHOD")
    parser.add_argument("--limit", type=int, help="molecules of each set, for a trial")
    parser.add_argument("--n-jobs", type=int)
    options = parser.parse_args()
    records = str(options.output.absolute().with_suffix(""))
    known = {r["key"] for r in read_records(records)} if options.output.exists() else set()
    for name in options.sets or sets_in(options.folder):
        data = load_set(name, options.folder, options.limit)
        for split in splits_of(name, data):
            for method in METHODS:
                key = f"{name}/{split}/{method}"
                is_idle = (method == BALANCED and data.is_regression) or (
                    method == TANIMOTO and len(data.smiles) > MOST_FOR_TANIMOTO
                )
                if key in known or options.only not in key or is_idle:
                    continue
                record = record_of(name, data, split, method, options.n_jobs)
                add_record(records, record, "key")
                print(report_line(record), flush=True)


if __name__ == "__main__":
    main()
