"""Machines as plain arrays, against scikit-learn's own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.svm import SVC

from retgk import ExponentialGraphKernel
from retgk.learning import svm as penalty_path_module
from retgk.learning.folds import inner_folds
from retgk.learning.ridge import LandmarkRidge
from retgk.learning.svm import GraphProducts, SupportVectors, one_vs_rest_from_pairs, penalty_path

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
    whole = penalty_path(*arguments)
    assert whole[2].all()
    np.testing.assert_array_equal(coefficients[0], whole[0][0])
    assert intercepts[0] == whole[1][0]
    assert not np.array_equal(coefficients[1], whole[0][1])


def test_a_path_that_was_given_up_warns_once(monkeypatch):
    solver = penalty_path_module.penalty_path

    def in_three_steps(*arguments):
        return solver(*arguments, max_steps=3)

    monkeypatch.setattr(penalty_path_module, "penalty_path", in_three_steps)
    points, codes = blobs(3)
    machine = SupportVectors(codes, np.ones(3))
    folds = inner_folds(3, codes, 0)
    message = "for C=1e\\+06 stopped after 10,000,000 steps; its decision values are not exact"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        machine.out_of_fold(products_of(points), [KERNEL], folds, [1e6], 2)
    assert len(caught) == 1


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


def test_few_landmarks_come_close():
    points, _ = blobs(2, n=200)
    y = np.sin(points[:, :1])
    everything = LandmarkRidge(y, np.ones(200)).train(products_of(points), KERNEL, 10.0)
    some = np.sort(np.random.default_rng(0).choice(200, 100, replace=False))
    half = LandmarkRidge(y, np.ones(200)).train(products_of(points, some), KERNEL, 10.0)
    new = points[:50] + 0.05
    found = half.decisions(gram_between(new, points[some]))
    expected = everything.decisions(gram_between(new, points))
    assert np.abs(found - expected).mean() < 0.05
    assert np.corrcoef(found[:, 0], expected[:, 0])[0, 1] > 0.99
