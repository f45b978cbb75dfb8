"""Molecules: RetGK with bond types and refined labels beside Morgan fingerprints, on equal folds.

    python -m examples.molecules FILE.csv --smiles smiles --target p_np
    python -m examples.molecules FILE.csv --smiles smiles --target "measured log ..." --regression

Fingerprints of radius 2 and 2,048 bits go to a forest of 500 trees, and to a support vector machine
with Tanimoto's kernel, whose penalty is chosen on the training molecules. RetGK has its defaults.
"""

import argparse
import csv

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score, root_mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.svm import SVC, SVR

from retgk import GraphClassifier, GraphRegressor
from retgk.io import from_smiles

ATTRIBUTES = ("aromatic", "charge", "hydrogens", "in_ring")
PENALTIES = [0.1, 1.0, 10.0, 100.0, 1000.0]
NEGATIVE_RMSE = "neg_root_mean_squared_error"


def fingerprints(smiles):
    from rdkit import Chem
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
    from rdkit.rdBase import BlockLogs

    generator = GetMorganGenerator(radius=2, fpSize=2048)
    with BlockLogs():
        rows = [generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles]
    return np.array(rows)


def tanimoto(A, B):
    """Bits that two fingerprints share, over bits that one of them has."""
    A, B = np.asarray(A, np.float64), np.asarray(B, np.float64)
    shared = A @ B.T
    return shared / (A.sum(axis=1)[:, None] + B.sum(axis=1) - shared)


def forest(is_regression, n_jobs=-1):
    kind = RandomForestRegressor if is_regression else RandomForestClassifier
    return kind(500, n_jobs=n_jobs, random_state=0)


def tanimoto_machine(is_regression, scoring):
    machine = SVR(kernel=tanimoto) if is_regression else SVC(kernel=tanimoto)
    return GridSearchCV(machine, {"C": PENALTIES}, scoring=scoring, cv=5)


def retgk_model(is_regression, scoring, n_jobs=None):
    kind = GraphRegressor if is_regression else GraphClassifier
    return kind(scoring=scoring, n_jobs=n_jobs, random_state=0)


def decisions(model, X, is_regression):
    """Values, or numbers that are larger the more a molecule is of the second class."""
    if is_regression:
        return model.predict(X)
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("--smiles", default="smiles", help="column of the molecules")
    parser.add_argument("--target", required=True, help="column of what is learnt")
    parser.add_argument("--regression", action="store_true")
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()
    with open(options.table, newline="") as file:
        rows = list(csv.DictReader(file))
    smiles = [row[options.smiles].strip() for row in rows]
    targets = np.array([float(row[options.target]) for row in rows])
    compare(smiles, targets, options.regression, options.folds)


def compare(smiles, targets, is_regression, n_folds):
    smiles, targets = readable(smiles, targets)
    scoring = NEGATIVE_RMSE if is_regression else "roc_auc"
    metric = root_mean_squared_error if is_regression else roc_auc_score
    bits = fingerprints(smiles)
    methods = {
        "Morgan, forest": (bits, lambda: forest(is_regression)),
        "Morgan, Tanimoto machine": (bits, lambda: tanimoto_machine(is_regression, scoring)),
        "RetGK": (
            from_smiles(smiles),
            lambda: retgk_model(is_regression, scoring),
        ),
        "RetGK, attributes of atoms": (
            from_smiles(smiles, attributes=ATTRIBUTES),
            lambda: retgk_model(is_regression, scoring),
        ),
    }
    kind = KFold if is_regression else StratifiedKFold
    folds = list(kind(n_folds, shuffle=True, random_state=0).split(smiles, targets))
    print(f"{len(smiles)} molecules, {n_folds} folds: {metric.__name__}")
    for name, (X, new) in methods.items():
        found = [
            metric(
                targets[test],
                decisions(new().fit(X[train], targets[train]), X[test], is_regression),
            )
            for train, test in folds
        ]
        print(f"  {name:28} {np.mean(found):.3f} ({np.std(found):.3f})", flush=True)


def readable(smiles, targets):
    """Molecules that RDKit can read, with their targets; says how many it cannot."""
    from rdkit import Chem
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        kept = [i for i, text in enumerate(smiles) if Chem.MolFromSmiles(text) is not None]
    if len(kept) < len(smiles):
        print(f"left out: {len(smiles) - len(kept)} SMILES that RDKit cannot read")
    return [smiles[i] for i in kept], targets[kept]


if __name__ == "__main__":
    main()
