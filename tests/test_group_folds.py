"""Folds that keep groups and scaffolds together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retgk import InvalidInputError, RetGKClassifier, scaffold_folds
from retgk.io.molecules import molecule_scaffolds
from retgk.learning.folds import group_folds


@given(
    groups=st.lists(st.integers(0, 30), min_size=40, max_size=80),
    seed=st.none() | st.integers(0, 9),
)
def test_no_group_is_in_two_folds(groups, seed):
    groups = np.array([*range(4), *groups])
    folds = group_folds(groups, 4, seed)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([t for _, t in folds])), range(len(groups))
    )
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])
        np.testing.assert_array_equal(np.union1d(train, test), np.arange(len(groups)))
    sizes = [len(test) for _, test in folds]
    assert max(sizes) - min(sizes) <= np.bincount(groups).max()


def test_the_largest_groups_are_dealt_first():
    folds = group_folds(list("abbcccdddd"), 3)
    assert [test.tolist() for _, test in folds] == [[6, 7, 8, 9], [3, 4, 5], [0, 1, 2]]


def test_a_seed_deals_groups_of_the_same_size_anew():
    first, again, other = (group_folds(np.arange(20), 2, seed) for seed in (1, 1, 2))
    assert [t.tolist() for _, t in first] == [t.tolist() for _, t in again]
    assert [t.tolist() for _, t in first] != [t.tolist() for _, t in other]
    assert [t.tolist() for _, t in group_folds(np.arange(4), 2)] == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    ("groups", "n_splits", "message"),
    [
        ([1, 1, 2], 3, "2 groups do not fill 3 folds; give fewer folds"),
        ([1, 2], 1, "n_splits=1 must be at least 2 folds"),
    ],
)
def test_errors(groups, n_splits, message):
    with pytest.raises(InvalidInputError, match=message):
        group_folds(groups, n_splits)


def test_scaffolds_of_molecules():
    pytest.importorskip("rdkit")
    found = molecule_scaffolds(["CCO", "Cc1ccccc1", "C[C@H](N)c1ccccc1", "C1CCC(CC1)c1ccccc1"])
    assert found == ["", "c1ccccc1", "c1ccccc1", "c1ccc(C2CCCCC2)cc1"]
    with pytest.raises(InvalidInputError, match="graph 1: RDKit cannot read"):
        scaffold_folds(["C", "C(C", "CC"], 2)


def test_large_molecules_have_no_scaffold(monkeypatch):
    murcko = pytest.importorskip("rdkit.Chem.Scaffolds.MurckoScaffold")
    found = molecule_scaffolds(["C" * 600, "C1CC1" + "C" * 497])
    assert found == ["", "C1CC1"]

    def never(**_):
        raise AssertionError("this takes minutes")

    monkeypatch.setattr(murcko, "MurckoScaffoldSmiles", never)
    with pytest.raises(InvalidInputError, match=r"graph 1: a molecule of 4500 atoms; .*drop it"):
        scaffold_folds(["C", "C1CC1" * 1500, "CC"], 2)


def test_scaffold_folds_are_taken_as_cv():
    pytest.importorskip("rdkit")
    molecules = ["CCO", "CCN", "Cc1ccccc1", "Oc1ccccc1", "C1CCNCC1", "CC1CCNCC1", "CCC", "CCF"]
    model = RetGKClassifier(cv=scaffold_folds(molecules, 2), C=1, p=1, scale=1, random_state=0)
    from retgk import from_smiles

    assert model.fit(from_smiles(molecules), [0, 1] * 4).n_splits_ == 2
