"""Sets of molecules with targets: from tables in a folder, and made ones with rare actives.

A made set is drawn from the molecules of MOSES, so that 3.5 % are active. One is active if it has a
nitrogen atom in an aromatic ring of six and a halogen atom that are seven or eight bonds apart
(`rare-pair`, what medicinal chemists call a pharmacophore), or a pyridine ring and an aromatic
nitrogen in a ring of five (`rare-rings`). Of some rules that hold for a few per cent, these two
were taken because a forest on fingerprints neither solves nor fails them; graph kernels had no say.
`BBBP-rare` has real targets: all molecules that pass into the brain, and so many of those that do
not that they are 3.5 %.
"""

import csv
import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np

SEED = 0
RARE = 0.035
TOX21 = [
    *("NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma"),
    *("SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53"),
]
TABLES = {  # file, column of SMILES, column of targets, is it a regression
    "BBBP": ("BBBP.csv", "smiles", "p_np", False),
    "BACE": ("bace.csv", "mol", "Class", False),
    "ESOL": (
        "ESOL_delaney-processed.csv",
        "smiles",
        "measured log solubility in mols per litre",
        True,
    ),
    "Lipophilicity": ("Lipophilicity.csv", "smiles", "exp", True),
    **{f"Tox21 {task}": ("tox21.csv", "smiles", task, False) for task in TOX21},
}
MOSES = "moses_train.csv.gz"
MADE = {  # molecules to train on, molecules to test, what makes one active
    "rare-pair-4000": (4_000, 4_000, "pair"),
    "rare-rings-4000": (4_000, 4_000, "rings"),
    "rare-pair-20000": (20_000, 5_000, "pair"),
}


SETS = [*TABLES, "BBBP-rare", *MADE]


class MoleculeSet(NamedTuple):
    """SMILES with a target each, and how they are split: by folds, or once."""

    smiles: list[str]
    targets: np.ndarray
    is_regression: bool
    n_train: int | None = None


def sets_in(folder):
    """Names of the sets whose files are there."""
    folder = Path(folder)
    files = {name: file for name, (file, *_) in TABLES.items()}
    files |= {"BBBP-rare": files["BBBP"], **dict.fromkeys(MADE, MOSES)}
    return [name for name in SETS if (folder / files[name]).exists()]


def load_set(name, folder, limit=None):
    """Read or make a set; with a limit, so many of its molecules, as a trial."""
    folder = Path(folder)
    if name in MADE:
        found = made_set(folder / MOSES, *MADE[name])
        return found if limit is None else found._replace(n_train=limit)
    if name == "BBBP-rare":
        found = with_rare_class(table_set(folder, *TABLES["BBBP"]))
    else:
        found = table_set(folder, *TABLES[name])
    return found if limit is None else shuffled(found, limit)


def shuffled(data, limit):
    order = np.random.default_rng(SEED).permutation(len(data.smiles))[:limit]
    return data._replace(smiles=[data.smiles[i] for i in order], targets=data.targets[order])


def table_set(folder, file, smiles_column, target_column, is_regression):
    """Rows that RDKit can read, eleven of BBBP it cannot, and that have a target."""
    from rdkit import Chem
    from rdkit.rdBase import BlockLogs

    with (folder / file).open(newline="") as stream, BlockLogs():
        rows = [
            row
            for row in csv.DictReader(stream)
            if row[target_column] and Chem.MolFromSmiles(row[smiles_column])
        ]
    values = [float(row[target_column]) for row in rows]
    targets = np.array(values) if is_regression else np.array(values).astype(int)
    return MoleculeSet([row[smiles_column].strip() for row in rows], targets, is_regression)


def with_rare_class(data):
    """All of the common class, and 3.5 % of the other, which counts as active."""
    actives, others = np.flatnonzero(data.targets == 0), np.flatnonzero(data.targets == 1)
    n_actives = round(RARE / (1 - RARE) * len(others))
    drawn = np.random.default_rng(SEED).choice(actives, n_actives, replace=False)
    kept = np.sort(np.concatenate([drawn, others]))
    targets = (data.targets[kept] == 0).astype(int)
    return MoleculeSet([data.smiles[i] for i in kept], targets, False)


def made_set(path, n_train, n_test, kind):
    """Molecules from all over the file, in random order; 3.5 % of each part are active."""
    from rdkit import Chem

    with gzip.open(path, "rt") as stream:
        lines = stream.read().split()[1:]
    lines = lines[:: len(lines) // (2 * (n_train + n_test))]  # twice as many, to draw from
    is_active = {"pair": has_pair, "rings": has_rings}[kind]
    active = np.array([is_active(Chem, Chem.MolFromSmiles(text)) for text in lines])
    rng = np.random.default_rng(SEED)
    waiting = [rng.permutation(np.flatnonzero(active == value)) for value in (False, True)]
    chosen = []
    for count in (n_train, n_test):
        n_actives = round(RARE * count)
        parts = [waiting[0][: count - n_actives], waiting[1][:n_actives]]
        assert len(parts[1]) == n_actives, "too few actives in the file"
        waiting = [waiting[0][count - n_actives :], waiting[1][n_actives:]]
        chosen.append(rng.permutation(np.concatenate(parts)))
    kept = np.concatenate(chosen)
    return MoleculeSet([lines[i] for i in kept], active[kept].astype(int), False, n_train)


def has_pair(chem, molecule):
    nitrogens = molecule.GetSubstructMatches(chem.MolFromSmarts("[n;r6]"))
    halogens = molecule.GetSubstructMatches(chem.MolFromSmarts("[F,Cl,Br]"))
    if not nitrogens or not halogens:
        return False
    bonds = chem.GetDistanceMatrix(molecule)
    return bool(np.isin(bonds[np.ix_(np.ravel(nitrogens), np.ravel(halogens))], (7, 8)).any())


def has_rings(chem, molecule):
    patterns = ("n1ccccc1", "[nr5]")
    return all(molecule.HasSubstructMatch(chem.MolFromSmarts(text)) for text in patterns)
