"""The classifier and the regressor as they come, beside Morgan fragments, on sets of molecules.

    python -m benchmarks.bench_molecules FOLDER [SET ...] [-o FILE.jsonl] [--only TEXT] [--limit N]

FOLDER holds the files that `benchmarks/molecule_sets.py` names; sets without them are left out.
What `retgk compare` does: all methods get the same five folds, random ones (stratified for classes)
and folds by scaffold, the split of the Open Graph Benchmark for two sets, and made sets are split
once. Each task of Tox21 is a set of its own, of the molecules that have a target. Seeds are
0, methods have one thread, and all choose by the first metric of the set. One record a set, split
and method, so that a stopped run goes on where it was; another file of records begins anew, to
compare two versions.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.molecule_sets import load_set, sets_in
from benchmarks.records import FOLDER, add_record, read_records
from retgk import compare
from retgk.io import from_smiles
from retgk.model_selection import scaffold_folds, scaffold_split

N_FOLDS = 5
METHODS = ["retgk", "morgan", "morgan-minmax", "morgan-forest"]
CLASS_METRICS = ["roc_auc", "average_precision"]
VALUE_METRICS = ["rmse", "r2"]
OGB = ("BBBP", "ESOL")
SECONDS = 3600.0  # that a fold may take
RARE = 0.1


def splits_of(name, data):
    if data.n_train is not None:
        return ["once"]
    if name.endswith("-rare"):
        return ["random"]
    return ["random", "scaffold", *["ogb-scaffold"] * (name in OGB)]


def folds_of(data, split):
    """Folds as `compare` takes them."""
    if split == "random":
        return N_FOLDS
    if split == "once":
        every = np.arange(len(data.smiles))
        return [(every[: data.n_train], every[data.n_train :])]
    if split == "ogb-scaffold":
        train, validation, test = scaffold_split(data.smiles)
        return [(np.union1d(train, validation), test)]
    return scaffold_folds(data.smiles, N_FOLDS)


def metrics_of(data):
    if data.is_regression:
        return VALUE_METRICS
    is_rare = min(data.targets.mean(), 1 - data.targets.mean()) < RARE
    return CLASS_METRICS[::-1] if is_rare and data.n_train is not None else CLASS_METRICS


def record_of(name, data, split, method):
    folds = folds_of(data, split)
    table = compare(
        from_smiles(data.smiles),
        data.targets,
        [method],
        task="regression" if data.is_regression else "classification",
        metrics=metrics_of(data),
        folds=folds,
        time_limit=SECONDS,
        n_jobs=1,
    )
    (row,) = table.rows
    keys = [*metrics_of(data), "seconds", "processor", "chosen"]
    return {
        "key": f"{name}/{split}/{method}",
        "set": name,
        "split": split,
        "method": method,
        "status": row["status"],
        "molecules": len(data.targets),
        "actives": None if data.is_regression else float(data.targets.mean()),
        "metrics": metrics_of(data),
        "peak_mb": row["peak_mb"],
        "folds": [{key: fold[key] for key in keys} for fold in table.folds],
    }


def mean_and_error(values):
    """Mean over folds with its standard error, which one fold has not."""
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else None
    return float(np.mean(values)), error


def report_line(record, base):
    """Means, standard errors, processor seconds of all folds, and their ratio to `morgan`."""
    if record["status"] != "done":
        return f"{record['key']:46} {record['status']}"
    texts = []
    for metric in record["metrics"]:
        mean, error = mean_and_error([fold[metric] for fold in record["folds"]])
        texts.append(f"{metric} {mean:.4f}" + ("" if error is None else f" ± {error:.4f}"))
    own = processor_total(record)
    ratio = "" if base is None else f"  {own / processor_total(base):.2f} times morgan"
    return f"{record['key']:46} {'  '.join(texts)}  {own:.1f} CPU s{ratio}"


def processor_total(record):
    return sum(fold["processor"] for fold in record["folds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("sets", nargs="*", help="all whose files are there by default")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER / "molecules.jsonl")
    parser.add_argument("--only", default="", help="part of SET/SPLIT/METHOD/")
    parser.add_argument("--limit", type=int, help="molecules of each set, for a trial")
    options = parser.parse_args()
    records = str(options.output.absolute().with_suffix(""))
    known = {r["key"]: r for r in read_records(records)} if options.output.exists() else {}
    for name in options.sets or sets_in(options.folder):
        data = load_set(name, options.folder, options.limit)
        for split in splits_of(name, data):
            for method in sorted(METHODS, key="morgan".__ne__):  # first, for the ratios
                key = f"{name}/{split}/{method}"
                if key in known or options.only not in f"{key}/":
                    continue
                known[key] = record_of(name, data, split, method)
                add_record(records, known[key], "key")
                base = known.get(f"{name}/{split}/morgan")
                print(report_line(known[key], base), flush=True)


if __name__ == "__main__":
    main()
