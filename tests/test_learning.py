"""Folds, scorers and machines by which candidates are compared."""

import csv
import gzip
import os
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import f1_score, get_scorer, log_loss, make_scorer
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.svm import SVC

from retgk import GraphBatch, GraphClassifier, GraphDataset, GraphRegressor, as_batch
from retgk.errors import ContradictionWarning, InputWarning
from retgk.io.molecules import molecule_scaffolds
from retgk.kernels import ExponentialGraphKernel, PolynomialGraphKernel
from retgk.learning import ridge, svm
from retgk.learning.folds import group_folds, inner_folds
from retgk.learning.ridge import KernelRidge as RidgeOfAll
from retgk.learning.ridge import LandmarkRidge, least_squares
from retgk.learning.selection import fold_mean
from retgk.learning.svm import GraphProducts, SupportVectors, one_vs_rest_from_pairs, penalty_path
from retgk.model_selection import scaffold_folds, scaffold_split
from retgk.model_selection.table import corrected_t_test
from tests.errors import assert_names, fails
from tests.example_graphs import of_retgk, three_classes
from tests.programs import invoke

CODES = st.lists(st.integers(0, 4), min_size=2, max_size=40).map(
    lambda values: np.unique(values, return_inverse=True)[1]
)


@given(codes=CODES, n_folds=st.integers(2, 6), seed=st.integers(0, 9))
def test_class_folds(codes, n_folds, seed):
    folds = inner_folds(n_folds, codes, seed)
    counts = np.bincount(codes)
    assert len(folds) == (min(n_folds, counts.max()) if counts.max() > 1 else 0)
    tested = np.concatenate([test for _, test in folds]) if folds else np.empty(0, int)
    assert sorted(tested) == (np.flatnonzero(counts[codes] > 1).tolist() if folds else [])
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(len(codes)))
        assert set(codes[train]) == set(codes)
        shares = np.bincount(codes[test], minlength=len(counts)) - counts / len(folds)
        assert (np.abs(shares[counts > 1]) < 1).all()


@given(n=st.integers(1, 40), n_folds=st.integers(2, 6))
def test_real_folds(n, n_folds):
    folds = inner_folds(n_folds, np.zeros(n), 0)
    assert len(folds) == (min(n_folds, n // 2) if n >= 4 else 0)
    if folds:
        assert sorted(np.concatenate([test for _, test in folds])) == list(range(n))
        assert min(len(test) for _, test in folds) >= 2


def test_the_seed_shuffles():
    codes = np.arange(40) % 2
    first, same, other = (inner_folds(None, codes, seed)[0][1].tolist() for seed in (0, 0, 1))
    assert first == same
    assert first != other
    assert len(first) == 8  # of five folds


def test_splitters_and_lists():
    codes = np.arange(12) % 3
    found = inner_folds(StratifiedKFold(2), codes, 0)
    for (train, test), (a, b) in zip(found, StratifiedKFold(2).split(codes, codes), strict=True):
        np.testing.assert_array_equal(train, a)
        np.testing.assert_array_equal(test, b)
    pairs = [(np.arange(6), np.arange(6, 12))]
    assert inner_folds(pairs, codes, 0)[0][1].tolist() == list(range(6, 12))
    assert len(inner_folds(KFold(3), np.zeros(12), 0)) == 3


@pytest.mark.parametrize(
    ("call", "about"),
    [
        *((lambda cv=cv: inner_folds(cv, np.arange(6) % 2, 0), f"cv={cv}") for cv in (1, True)),
        (lambda: inner_folds(2.5, np.arange(6) % 2, 0), ("cv", "2.5")),
        (lambda: inner_folds([([0, 1], [2]), ([0, 2], [1])], np.array([0, 1, 0]), 0), "fold 1"),
        (lambda: group_folds([1, 1, 2], 3), ("2 groups", "3 folds")),
        (lambda: group_folds([1, 2], 1), "n_splits=1"),
    ],
)
def test_bad_folds(call, about):
    fails(call, about)


# Folds that keep groups and scaffolds together


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


def test_scaffolds_of_molecules():
    pytest.importorskip("rdkit")
    found = molecule_scaffolds(["CCO", "Cc1ccccc1", "C[C@H](N)c1ccccc1", "C1CCC(CC1)c1ccccc1"])
    assert found == ["", "c1ccccc1", "c1ccccc1", "c1ccc(C2CCCCC2)cc1"]
    fails(lambda: scaffold_folds(["C", "C(C", "CC"], 2), "graph 1")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sizes"), [("bbbp", (1631, 204, 204)), ("esol", (902, 113, 113))])
def test_the_split_of_the_open_graph_benchmark(data_folder, name, sizes):
    """Their own row numbers."""
    home = os.environ.get("RETGK_MOLECULES", data_folder.parent / "molecules")
    folder = Path(home) / "ogb"
    if not folder.exists():
        pytest.skip(f"put the splits of the Open Graph Benchmark into {folder} to run this test")
    with gzip.open(folder / f"{name}_mol.csv.gz", "rt") as file:
        found = scaffold_split([row["smiles"] for row in csv.DictReader(file)])
    for own, part, size in zip(found, ("train", "valid", "test"), sizes, strict=True):
        with gzip.open(folder / f"{name}_{part}.csv.gz", "rt") as file:
            assert own.tolist() == sorted(map(int, file))
        assert len(own) == size


def test_rare_scaffolds_are_tested():
    chains, one = ["C" * n for n in range(1, 9)], ["C1CC1", "CC1CC1"]
    rings = ["c1ccccc1", "C1CCCC1"]
    train, validation, test = scaffold_split([*rings, *chains, *one], (0.7, 0.2))
    assert (train.tolist(), validation.tolist(), test.tolist()) == (
        [2, 3, 4, 5, 6, 7, 8, 9], [10, 11], [0, 1],
    )  # fmt: skip
    chiral = ["C[C@H]1CCCCN1C(=O)[C@@H]1CCCN1", "C[C@H]1CCCCN1C(=O)[C@H]1CCCN1"]
    assert len(set(molecule_scaffolds(chiral))) == 1
    assert len(set(molecule_scaffolds(chiral, chirality=True))) == 2
    fails(lambda: scaffold_split(["C", "CC", "CCC"]), ("3 molecules", "train on"))


def test_large_molecules_have_no_scaffold(monkeypatch):
    murcko = pytest.importorskip("rdkit.Chem.Scaffolds.MurckoScaffold")
    assert molecule_scaffolds(["C" * 600, "C1CC1" + "C" * 497]) == ["", "C1CC1"]
    monkeypatch.setattr(murcko, "MurckoScaffoldSmiles", lambda **_: pytest.fail("takes minutes"))
    fails(lambda: scaffold_folds(["C", "C1CC1" * 1500, "CC"], 2), ("graph 1", "4500 atoms"))


def test_scaffold_folds_are_taken_as_cv():
    pytest.importorskip("rdkit")
    molecules = ["CCO", "CCN", "Cc1ccccc1", "Oc1ccccc1", "C1CCNCC1", "CC1CCNCC1", "CCC", "CCF"]
    model = of_retgk(
        GraphClassifier, cv=scaffold_folds(molecules, 2), C=1, p=1, scale=1, random_state=0
    )
    from retgk.io import from_smiles

    assert model.fit(from_smiles(molecules), [0, 1] * 4).n_splits_ == 2


# Candidates are chosen by any scorer of scikit-learn, from out-of-fold decision values

DATA = three_classes()
GRAPHS = DATA.graphs[:60]
CLASSES = DATA.targets[:60]
IS_RARE = (CLASSES == 2) & (np.arange(60) % 2 == 0)
OPTIONS = {"n_steps": 8, "C": (0.01, 1, 100), "p": 1, "scale": 1, "depth": 0, "random_state": 0}
FOLDS = list(StratifiedKFold(3).split(np.zeros(60), CLASSES))


def fitted(scoring, y=CLASSES, **options):
    return of_retgk(GraphClassifier, **{**OPTIONS, "cv": FOLDS, **options, "scoring": scoring}).fit(
        GRAPHS, y
    )


@pytest.mark.parametrize("n_components", [None, 1024])
def test_accuracy_by_name_is_the_default(n_components):
    default, named = (fitted(scoring, n_components=n_components) for scoring in (None, "accuracy"))
    for key in ("mean_test_score", "split0_test_score", "rank_test_score"):
        np.testing.assert_array_equal(default.cv_results_[key], named.cv_results_[key])
    np.testing.assert_array_equal(default.dual_coef_, named.dual_coef_)


def test_the_number_is_that_of_scikit_learn():
    """Decision values of one fold are those of a machine that is fitted on its training part."""
    seen = []

    def scorer(estimator, X, y):
        seen.append((estimator.decision_function(X), estimator.predict_proba(X), y, len(X)))
        return f1_score(y, estimator.predict(X), average="macro")

    model = fitted(scorer, C=1)
    named = fitted("f1_macro", C=1)
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"]
    )
    decisions, probabilities, y, n = seen[-1]
    assert decisions.shape == probabilities.shape == (20, 3)
    np.testing.assert_array_equal(y, CLASSES[FOLDS[2][1]])
    assert n == 20
    assert -log_loss(y, probabilities) == pytest.approx(
        fitted("neg_log_loss", C=1).cv_results_["split2_test_score"][0]
    )


def test_rare_classes_are_not_chosen_by_accuracy():
    table = fitted(None, IS_RARE, cv=3).cv_results_
    assert table["mean_test_score"][0] == pytest.approx(1 - IS_RARE.mean(), abs=1e-9)
    assert fitted("balanced_accuracy", IS_RARE, cv=3).cv_results_["mean_test_score"][0] == 0.5


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2", "neg_max_error"])
def test_regressors(scoring):
    model = of_retgk(GraphRegressor, **OPTIONS, cv=3, scoring=scoring).fit(
        GRAPHS, GRAPHS.node_counts
    )
    assert model.best_score_ == model.cv_results_["mean_test_score"][model.best_index_]
    if scoring == "r2":
        default = of_retgk(GraphRegressor, **OPTIONS, cv=3).fit(GRAPHS, GRAPHS.node_counts)
        assert default.best_score_ == model.best_score_


@pytest.mark.parametrize(
    ("scoring", "about"),
    [
        ("roc-auc", ("scoring='roc-auc'", "roc_auc")),
        ("Acuracy", "accuracy"),
        ("f1", ("scoring='f1'", "binary")),
        ("roc_auc", ("scoring='roc_auc'", "multi_class")),
        (["f1_macro"], ("scoring", "f1_macro")),
        (f1_score, "metric function"),
        (lambda *_: "good", "'good'"),
        (lambda model, X, _: model.predict(X[:2]).sum(), "2 graphs"),
        (lambda *_: np.nan, "any fold"),
    ],
)
def test_errors_come_before_any_work(scoring, about, monkeypatch):
    monkeypatch.setattr("retgk.estimators.predictor.Fitting.fit", lambda *_: pytest.fail("works"))
    fails(lambda: fitted(scoring), about)
    fails(lambda: fitted("neg_log_loss", cv=FOLDS[:1]), ("probabilities", "folds"))


@pytest.mark.parametrize(
    ("scoring", "y"),
    [
        *((name, CLASSES) for name in ("balanced_accuracy", "matthews_corrcoef", "roc_auc_ovr")),
        *((name, IS_RARE) for name in ("roc_auc", "average_precision", "f1", "neg_brier_score")),
        ("roc_auc", np.stack([CLASSES == 0, CLASSES == 1], axis=1)),
        ("f1_macro", np.stack([CLASSES == 0, CLASSES == 1, IS_RARE], axis=1)),
    ],
)
def test_names_of_scorers(scoring, y):
    model = fitted(scoring, y, cv=3)
    results = model.cv_results_
    assert model.best_score_ == results["mean_test_score"][model.best_index_]
    assert np.isfinite(results["mean_test_score"]).all()
    assert results["mean_test_score"].max() <= 1
    assert get_scorer(scoring)(model, GRAPHS, y) <= 1


def test_a_scorer_gets_the_graphs_of_the_test_part():
    sizes = []

    def scorer(estimator, X, y):  # noqa: ARG001
        assert isinstance(X, GraphBatch)
        sizes.append(X.n_nodes)
        return float(estimator.classes_[0] == 0)

    fitted(scorer)
    assert sizes[:3] == [GRAPHS[test].n_nodes for _, test in FOLDS]


def test_folds_without_a_class_are_left_out_with_a_warning():
    ones, zeros = np.flatnonzero(IS_RARE), np.flatnonzero(~IS_RARE)
    tests = [zeros[:9], np.r_[zeros[9:18], ones[:2]], np.r_[zeros[18:27], ones[2:4]]]
    folds = [(np.setdiff1d(np.arange(60), test), test) for test in tests]
    with pytest.warns(InputWarning, match="fold 0"):
        model = fitted("roc_auc", IS_RARE, cv=folds)
    assert np.isnan(model.cv_results_["split0_test_score"]).all()
    table = model.cv_results_
    means = [table[f"split{fold}_test_score"][model.best_index_] for fold in (1, 2)]
    assert model.best_score_ == np.mean(means)
    fails(lambda: fitted("roc_auc", IS_RARE, cv=folds[:1]), ("scoring='roc_auc'", "any fold"))


def test_weights_reach_the_scorers_that_take_them():
    weights = np.where(CLASSES == 0, 5.0, 1.0)
    model = of_retgk(GraphClassifier, **OPTIONS, cv=FOLDS, scoring="accuracy")
    default = of_retgk(GraphClassifier, **OPTIONS, cv=FOLDS)
    found = [each.fit(GRAPHS, CLASSES, weights).cv_results_ for each in (model, default)]
    np.testing.assert_allclose(*(table["mean_test_score"] for table in found), rtol=1e-12)
    knows_none = of_retgk(GraphClassifier, **OPTIONS, cv=FOLDS, scoring="adjusted_rand_score")
    assert knows_none.fit(GRAPHS, CLASSES, weights).best_score_ <= 1
    own = make_scorer(lambda _, found: float(len(found)))
    assert own is not None
    assert of_retgk(GraphClassifier, **OPTIONS, cv=FOLDS, scoring=own).fit(
        GRAPHS, CLASSES, weights
    ).best_score_ == pytest.approx(20)


def test_class_weights_weigh_the_default_score_alone():
    weighted = fitted(None, IS_RARE, class_weight="balanced", cv=3).cv_results_
    balanced = fitted("balanced_accuracy", IS_RARE, class_weight="balanced", cv=3).cv_results_
    plain = fitted("accuracy", IS_RARE, class_weight="balanced", cv=3).cv_results_
    np.testing.assert_allclose(weighted["mean_test_score"], balanced["mean_test_score"], atol=0.05)
    assert plain["mean_test_score"].tolist() != weighted["mean_test_score"].tolist()


def test_means_over_defined_folds():
    assert fold_mean(np.array([1.0, np.nan, 0.0])) == 0.5
    assert np.isnan(fold_mean(np.full(3, np.nan)))
    assert np.isnan(fold_mean(np.empty(0)))


# Machines as plain arrays, against scikit-learn's own

KERNEL = ExponentialGraphKernel(gamma=0.5, p=2)


def products_of(points, columns=None):
    columns = np.arange(len(points)) if columns is None else columns
    return GraphProducts(points @ points[columns].T, (points**2).sum(axis=1), columns)


def blobs(n_classes, n=90, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    return rng.normal(size=(n, 3)) + 2 * rng.normal(size=(n_classes, 3))[codes], codes


def gram_between(x, y):
    return KERNEL(x @ y.T, (x**2).sum(axis=1), (y**2).sum(axis=1))


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7])
@pytest.mark.parametrize("weight", [None, 3.0])
def test_decisions_and_predictions_are_those_of_svc(n_classes, weight):
    points, codes = blobs(n_classes)
    new = np.random.default_rng(1).normal(size=(40, 3)) * 2
    weights = np.ones(n_classes)
    weights[0] = weight or 1.0
    machine = SupportVectors(codes, weights).train(products_of(points), KERNEL, 10.0)
    reference = SVC(
        C=10, kernel="precomputed", class_weight=dict(enumerate(weights)), break_ties=True
    ).fit(gram_between(points, points), codes)
    rows = gram_between(new, points)
    found = one_vs_rest_from_pairs(machine.decisions(rows[:, machine.support]), n_classes)
    expected = reference.decision_function(rows).reshape(len(new), -1)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    largest = found.argmax(axis=1) if n_classes > 2 else (found[:, 0] > 0).astype(int)
    np.testing.assert_array_equal(largest, reference.predict(rows))
    np.testing.assert_array_equal(machine.support, reference.support_)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weight", [1.0, 4.0])
def test_a_path_of_penalties_gives_what_svc_gives_for_each(n_classes, weight):
    """Both are optimal within LIBSVM's tolerance of 1e-3, which decision values inherit."""
    points, codes = blobs(n_classes)
    weights = np.ones(n_classes)
    weights[0] = weight
    solver = SupportVectors(codes, weights)
    folds = inner_folds(3, codes, 0)
    penalties = (1e4, 0.1, 1e6, 1.0, 0.1)
    together = solver.out_of_fold(products_of(points), [KERNEL], folds, penalties, 2)[0]
    for fold, (train, test) in enumerate(folds):
        for c, penalty in enumerate(penalties):
            machine = SVC(
                C=penalty, kernel="precomputed", class_weight=dict(enumerate(weights)), tol=1e-6
            ).fit(gram_between(points[train], points[train]), codes[train])
            alone = machine.decision_function(gram_between(points[test], points[train]))
            found = together[fold][c]
            np.testing.assert_allclose(found, alone.reshape(len(test), -1), atol=5e-3)


def dual_objective(gram, signs, coefficients):
    return 0.5 * coefficients @ gram @ coefficients - signs @ coefficients


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 40), copies=st.integers(0, 8))
def test_path_is_feasible_and_optimal(seed, n, copies):
    """Also where graphs are alike, with the same class or another."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    points = np.concatenate([points, points[rng.integers(n, size=copies)]])
    signs = np.where(rng.random(len(points)) < 0.5, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    weights = np.where(signs > 0, 2.0, 1.0)
    gram = gram_between(points, points)
    penalties = np.array([0.1, 1.0, 30.0])
    coefficients, intercepts, converged = penalty_path(gram, signs, weights, penalties, 1e-3)
    assert converged.all()
    for beta, intercept, penalty in zip(coefficients, intercepts, penalties, strict=True):
        assert beta.sum() == pytest.approx(0, abs=1e-9 * penalty)
        assert (beta * signs >= 0).all()
        assert (np.abs(beta) <= penalty * weights).all()
        machine = SVC(C=penalty, kernel="precomputed", class_weight={1: 2.0}, tol=1e-6)
        machine.fit(gram, signs)
        reference = np.zeros(len(points))
        reference[machine.support_] = machine.dual_coef_[0]
        best = dual_objective(gram, signs, reference)
        assert dual_objective(gram, signs, beta) == pytest.approx(
            best, abs=2e-3 * np.abs(beta).sum()
        )
        values = signs * (gram @ beta + intercept)
        is_free = (np.abs(beta) > 0) & (np.abs(beta) < penalty * weights)
        assert np.abs(values[is_free] - 1).max(initial=0) < 2e-3


def test_path_tells_what_was_not_solved_in_time():
    points, codes = blobs(2)
    gram, signs, penalties = gram_between(points, points), 2.0 * codes - 1, np.array([0.1, 1e6])
    arguments = (gram, signs, np.ones(len(codes)), penalties, 1e-3)
    n_steps = 1
    while not penalty_path(*arguments, n_steps)[2][0]:
        n_steps *= 2
    coefficients, intercepts, converged = penalty_path(*arguments, n_steps)
    assert converged.tolist() == [True, False]
    whole, others, all_converged = penalty_path(*arguments)
    assert all_converged.all()
    np.testing.assert_array_equal(coefficients[0], whole[0])
    assert intercepts[0] == others[0]
    assert not np.array_equal(coefficients[1], whole[1])


def test_a_path_that_was_given_up_warns_once(monkeypatch):
    monkeypatch.setattr(svm, "penalty_path", partial(penalty_path, max_steps=3))
    points, codes = blobs(3)
    machine, folds = SupportVectors(codes, np.ones(3)), inner_folds(3, codes, 0)
    with pytest.warns(ConvergenceWarning, match="C=1e\\+06") as caught:
        machine.out_of_fold(products_of(points), [KERNEL], folds, [1e6], 2)
    assert len(caught) == 1


# Kernel ridge on all graphs: a solution for every graph that is left out, written down as it is


def ridge_values(gram, y, weights, penalty, train, test):
    """Values of test graphs: the equations of kernel ridge with an intercept, solved."""
    train = train[~np.isnan(y[train])]
    n = len(train)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = gram[np.ix_(train, train)] + np.diag(0.5 / (penalty * weights[train]))
    system[n, n] = 0
    solved = np.linalg.solve(system, np.append(y[train], 0))
    return gram[np.ix_(test, train)] @ solved[:n] + solved[n]


def several_targets(points, rng):
    y = np.column_stack([np.cos(points), np.sin(points[:, 0]) + 5, points[:, 1]])
    y[rng.integers(0, len(y), 9), 1] = np.nan
    y[rng.integers(0, len(y), 9), 4] = np.nan
    return y


@pytest.mark.parametrize(("few_graphs", "error"), [(5000, 1e-10), (10, 2e-4)])
def test_leave_one_out_is_training_on_the_others(few_graphs, error, monkeypatch):
    """In float64 for few graphs, in float32 for many; targets that are missing count for nobody."""
    monkeypatch.setattr(ridge, "_FEW_GRAPHS", few_graphs)
    points, _ = blobs(2, n=50)
    rng = np.random.default_rng(0)
    y, weights = several_targets(points, rng), rng.uniform(0.5, 2, 50)
    folds = list(KFold(3).split(points))
    machine = RidgeOfAll(y, weights, leaves_one_out=True)
    found = machine.out_of_fold(products_of(points), [KERNEL], folds, [1.0, 100.0], 2)[0]
    gram, everything = gram_between(points, points), np.arange(50)
    for values, (_, test) in zip(found, folds, strict=True):
        for own, penalty in zip(values, (1.0, 100.0), strict=True):
            for row, graph in zip(own, test, strict=True):
                others = np.delete(everything, graph)
                expected = [
                    ridge_values(gram, column, weights, penalty, others, [graph])[0]
                    for column in y.T
                ]
                np.testing.assert_allclose(row, expected, atol=error)


@pytest.mark.parametrize("few_graphs", [5000, 10])
@pytest.mark.parametrize("kind", ["partition", "small parts", "graphs twice", "tested on trained"])
def test_folds_of_kernel_ridge_are_training_on_them(kind, few_graphs, monkeypatch):
    monkeypatch.setattr(ridge, "_FEW_GRAPHS", few_graphs)
    points, _ = blobs(2, n=60)
    rng = np.random.default_rng(0)
    y, weights = several_targets(points, rng), rng.uniform(0.5, 2, 60)
    folds = {
        "partition": list(KFold(4).split(points)),
        "small parts": [(np.arange(20), np.arange(30, 60))],
        "graphs twice": [(rng.integers(0, 40, 50), np.arange(40, 60)) for _ in range(2)],
        "tested on trained": [(np.arange(50), np.arange(40, 60))],
    }[kind]
    found = RidgeOfAll(y, weights).out_of_fold(products_of(points), [KERNEL], folds, [9.0], 1)
    gram = gram_between(points, points)
    for values, (train, test) in zip(found[0], folds, strict=True):
        counted = weights * np.bincount(train, minlength=60)
        own = (counted, 9.0, np.unique(train), test)
        expected = np.column_stack([ridge_values(gram, column, *own) for column in y.T])
        np.testing.assert_allclose(values[0], expected, atol=1e-9 if few_graphs > 60 else 1e-4)


@pytest.mark.parametrize("few_graphs", [5000, 10])
def test_what_kernel_ridge_trains_is_solved_in_float64(few_graphs, monkeypatch):
    monkeypatch.setattr(ridge, "_FEW_GRAPHS", few_graphs)
    points, _ = blobs(2, n=60)
    rng = np.random.default_rng(0)
    y, weights = several_targets(points, rng), rng.uniform(0.5, 2, 60)
    machine = RidgeOfAll(y, weights).train(products_of(points), KERNEL, 1000.0)
    gram, everything = gram_between(points, points), np.arange(60)
    for output, column in enumerate(y.T):
        expected = ridge_values(gram, column, weights, 1000.0, everything, everything)
        np.testing.assert_allclose(machine.decisions(gram)[:, output], expected, atol=1e-7)
        assert (machine.dual_coef[output, np.isnan(column)] == 0).all()
    np.testing.assert_allclose(machine.dual_coef.sum(axis=1), 0, atol=1e-9)


def test_missing_targets_on_landmarks_count_for_nobody():
    points, _ = blobs(2, n=60)
    y = several_targets(points, np.random.default_rng(0))
    machine = least_squares(False, False)(y, np.ones(60)).train(products_of(points), KERNEL, 10.0)
    gram = gram_between(points, points)
    for output, column in enumerate(y.T):
        expected = ridge_values(gram, column, np.ones(60), 10.0, np.arange(60), np.arange(60))
        np.testing.assert_allclose(machine.decisions(gram)[:, output], expected, atol=1e-3)


def test_a_kernel_that_is_none_is_made_one():
    """Negative eigenvalues, of kernels that are not positive semidefinite, are set to zero."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 30))
    products = GraphProducts(values + values.T, np.zeros(30), np.arange(30))
    machine = RidgeOfAll(rng.normal(size=(30, 1)), np.ones(30))
    found = machine.train(products, PolynomialGraphKernel(), 10.0)
    assert np.isfinite(found.dual_coef).all()


def test_ridge_on_all_graphs_is_kernel_ridge_regression():
    points, _ = blobs(2)
    y = np.sin(points[:, 0]) + 5.0
    new = np.random.default_rng(1).normal(size=(20, 3))
    machine = LandmarkRidge(y[:, None], np.ones(len(y))).train(products_of(points), KERNEL, 10.0)
    # an intercept is the limit of a constant feature without penalty
    constant = 1e7
    reference = KernelRidge(alpha=1 / 20, kernel="precomputed").fit(
        gram_between(points, points) + constant, y
    )
    expected = reference.predict(gram_between(new, points) + constant)
    np.testing.assert_allclose(
        machine.decisions(gram_between(new, points))[:, 0], expected, atol=1e-4
    )


def test_ridge_out_of_fold_is_ridge_without_the_fold():
    """Landmarks of the test part are places, not targets: the training part decides."""
    points, _ = blobs(2, n=40)
    y = np.cos(points)
    train, test = np.arange(0, 30), np.arange(30, 40)
    found = LandmarkRidge(y, np.ones(40)).out_of_fold(
        products_of(points), [KERNEL], [(train, test)], [3.0, 30.0], 1
    )[0][0]
    alone = LandmarkRidge(y[train], np.ones(30))
    for values, penalty in zip(found, [3.0, 30.0], strict=True):
        machine = alone.train(products_of(points[train]), KERNEL, penalty)
        expected = machine.decisions(gram_between(points[test], points[train]))
        np.testing.assert_allclose(values, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["partition", "random splits", "graphs twice"])
def test_ridge_shares_sums_among_folds(kind):
    """Whatever the folds are, each is trained on its own training graphs."""
    points, _ = blobs(2, n=60)
    y, rng = np.cos(points), np.random.default_rng(0)
    folds = {
        "partition": list(KFold(4).split(points)),
        "random splits": list(ShuffleSplit(7, test_size=0.3, random_state=0).split(points)),
        "graphs twice": [(rng.integers(0, 40, 50), np.arange(40, 60)) for _ in range(3)],
    }[kind]
    weights = rng.uniform(0.5, 2, 60)
    found = LandmarkRidge(y, weights).out_of_fold(products_of(points), [KERNEL], folds, [9.0], 2)
    for values, (train, test) in zip(found[0], folds, strict=True):
        counted = weights * np.bincount(train, minlength=60)
        machine = LandmarkRidge(y, counted).train(products_of(points), KERNEL, 9.0)
        expected = machine.decisions(gram_between(points[test], points))
        np.testing.assert_allclose(values[0], expected, atol=1e-7)


def test_weights_of_ridge_count_graphs():
    points, _ = blobs(2, n=30)
    y = np.sin(points[:, :1])
    weights = np.where(np.arange(30) < 10, 2.0, 1.0)
    twice = np.concatenate([np.arange(30), np.arange(10)])
    new = gram_between(points[:5] + 0.1, points)
    machine = LandmarkRidge(y, weights).train(products_of(points), KERNEL, 10.0)
    columns = products_of(points[twice], np.arange(30))
    doubled = LandmarkRidge(y[twice], np.ones(40)).train(columns, KERNEL, 10.0)
    np.testing.assert_allclose(machine.decisions(new), doubled.decisions(new), atol=1e-8)


# The corrected resampled t-test: its formula, and what it says where it cannot say anything


@given(
    st.lists(st.floats(-1, 1).filter(lambda x: abs(x) > 1e-6), min_size=2, max_size=30),
    st.integers(2, 1000),
    st.integers(1, 1000),
)
def test_the_t_test_is_that_of_nadeau_and_bengio(d: list[float], train: int, test: int) -> None:
    found = corrected_t_test(d, train, test)
    if max(d) - min(d) <= 1e-9 * max(map(abs, d)):
        assert np.isnan(found).all()
        return
    n, mean = len(d), sum(d) / len(d)
    variance = sum((x - mean) ** 2 for x in d) / (n - 1)
    t = mean / ((1 / n + test / train) * variance) ** 0.5
    assert found.statistic == pytest.approx(t, rel=1e-6, abs=1e-9)
    assert found.p_value == pytest.approx(2 * (1 - stats.t(n - 1).cdf(abs(t))), abs=1e-9)


def test_differences_that_are_alike() -> None:
    assert corrected_t_test([0.0, 0.0], 9, 1).p_value == 1
    assert np.isnan(corrected_t_test([0.1, 0.1], 9, 1)).all()
    assert np.isnan(corrected_t_test([0.9 - 0.85, 0.8 - 0.75], 9, 1)).all()  # but for rounding
    assert np.isnan(corrected_t_test([0.1], 9, 1).p_value)


def told_of(graphs: Any, targets: Any, model: Any = None) -> str:
    """What `fit` says of equal graphs with different targets."""
    model = GraphClassifier(candidates=None, C=1) if model is None else model
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(graphs, targets)
    return " ".join(str(one.message) for one in caught if one.category is ContradictionWarning)


def test_equal_graphs_with_different_targets_are_told():
    triangle, square = (
        nx.cycle_graph(3),
        nx.relabel_nodes(nx.cycle_graph(4), dict(enumerate("dbca"))),
    )
    graphs = as_batch([triangle, nx.cycle_graph(4), square, triangle, nx.path_graph(2), triangle])
    message = told_of(graphs, ["b", "a", "b", "a", "b", "b"])
    facts = "2 groups", "5 of 6 graphs", "graph 0 with b", "graph 3 with a", "duplicate_groups"
    assert_names(message, facts)
    named = GraphDataset(graphs, np.array([1, 0, 1, 1, 0, 1]), "x", graph_names=list("uvwxyz"))
    assert_names(told_of(named, None), ("1 group", "2 of 6 graphs", "'v' with 0", "'w' with 1"))
    assert told_of(graphs, [1, 0, 0, 1, 0, 1]) == ""
    assert "graph 3" not in told_of(graphs, [1, 0, 1, 0, 0, 1], weighted(zero_for=3))


def test_of_several_targets_the_one_that_differs_is_told():
    ring = as_batch([nx.cycle_graph(3)] * 2 + [nx.path_graph(3)] * 2)
    targets = np.array([[0, 1, np.nan], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    message = told_of(ring, targets)
    assert_names(message, ("2 groups", "graph 0 with 1.0 and graph 1 with 0.0 in target 1:"))


def test_stereoisomers_with_different_targets_are_told_how_to_be_read():
    pytest.importorskip("rdkit")
    pair = ["C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "CCO", "CCN"]
    assert_names(
        told_of(pair, [0, 1, 0, 1]), ("1 group", "stereoisomers, read them with stereo=True")
    )
    assert told_of(as_batch(pair, stereo=True), [0, 1, 0, 1]) == ""
    assert "stereo" not in told_of(["OCC", "CCO", "CCN"], [0, 1, 1])


def weighted(zero_for: int) -> Any:
    """Classifier whose `fit` leaves one graph out by its weight."""

    class Weighted(GraphClassifier):
        def fit(self, X: Any, y: Any) -> Any:
            weights = np.ones(len(X))
            weights[zero_for] = 0
            return super().fit(X, y, sample_weight=weights)

    return Weighted(candidates=None, C=1)


def test_values_of_equal_graphs_may_differ_a_little():
    graphs = as_batch([nx.cycle_graph(3), nx.cycle_graph(3), *map(nx.path_graph, range(2, 8))])
    model = GraphRegressor(candidates=None, C=1)
    assert told_of(graphs, [1, 1.5, 1, 2, 3, 4, 5, 6.0], model) == ""
    assert_names(told_of(graphs, [1, 5.5, 1, 2, 3, 4, 5, 6.0], model), ("1 group", "5.5"))
    # the first differs a little from each of the others, which differ from each other
    three = as_batch([nx.cycle_graph(3)] * 3 + [nx.path_graph(n) for n in range(2, 7)])
    said = told_of(three, [3, 1.8, 4.2, 1, 2, 3, 4, 5.0], model)
    assert_names(said, ("graph 1 with 1.8", "graph 2 with 4.2"))


def test_what_tells_graphs_apart_is_no_contradiction():
    ring = [[0, 1], [1, 2], [2, 0]]
    six, threes = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    differ = [
        as_batch([six, threes]),  # the same to refinement, not to walks
        GraphBatch.from_edges(
            [3, 3], [*ring, *np.add(ring, 3)], symmetrize=True, labels=[0] * 5 + [1]
        ),
        GraphBatch.from_edges(
            [3, 3], [*ring, *np.add(ring, 3)], symmetrize=True, attributes=np.eye(6)[:, 4:]
        ),
        GraphBatch.from_edges([3, 3], [*ring, *np.add(ring, 3)], [1] * 5 + [2], symmetrize=True),
        GraphBatch.from_edges(
            [3, 3], [*ring, *np.add(ring, 3)], symmetrize=True, edge_labels=[0] * 5 + [1]
        ),
    ]
    for pair in differ:
        assert told_of(pair[[0, 1, 0, 1]], [0, 1, 0, 1]) == ""
        assert_names(told_of(pair[[0, 1, 0, 1]], [0, 1, 1, 0]), "2 groups")


def test_a_cross_validation_tells_of_equal_graphs_once(tmp_path):
    path = tmp_path / "few.csv"
    rows = [f"m{n},{smiles},{n % 2}" for n, smiles in enumerate(["CCO", "OCC", "CCC", "CCN"] * 3)]
    path.write_text("\n".join(["name,smiles,y", *rows]))
    for command in ("cv", "compare"):
        more = ["--methods", "size"] if command == "compare" else []
        with warnings.catch_warnings():
            warnings.simplefilter("always", ContradictionWarning)
            result = invoke(command, path, "--target-column", "y", "--folds", "3", *more)
        assert result.exit_code == 0, result.output
        assert result.stderr.count("different targets") == 1
        assert "'m0' with 0" in result.stderr
