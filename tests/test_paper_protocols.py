"""Folds and choices of both protocols, against plain statements of their rules."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from reproduction.protocols import Option, SplitFold, chosen_outcome, nested_outcome
from retgk import ExponentialGraphKernel, InvalidInputError, PolynomialGraphKernel
from retgk.learning.folds import stratified_folds
from retgk.learning.paper_protocol import (
    accuracies_over_c,
    accuracy_at_c,
    fit_graph_kernel,
    paper_folds,
    paper_outcome,
)

RULES = {"folds": 10, "inner_folds": 3, "c": [0.1, 1.0, 10.0, 100.0, 1000.0]}


def points_and_targets(n_points=60, n_classes=3, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    targets = np.arange(n_points) % n_classes
    points = rng.standard_normal((n_points, 4)) * noise
    points[np.arange(n_points), targets] += 1
    return points, targets


def naive_paper_fold(order, fold):
    """The rule in words: turn the order by one fold size for each fold, cut at 80 % and 90 %."""
    n = len(order)
    fold_size = n - math.ceil(n * 9 / 10)
    turned = list(order)
    for _ in range(fold):
        turned = turned[fold_size:] + turned[:fold_size]
    first, second = math.ceil(n * 8 / 10), math.ceil(n * 9 / 10)
    return turned[:first], turned[first:second], turned[second:]


@given(st.integers(10, 300), st.integers(0, 100))
def test_paper_folds_follow_the_rule(n_graphs, seed):
    order = np.random.default_rng(seed).permutation(n_graphs).tolist()
    folds = paper_folds(n_graphs, seed)
    assert len(folds) == 10
    for number, fold in enumerate(folds):
        assert tuple(part.tolist() for part in fold) == naive_paper_fold(order, number)
        assert sorted(np.concatenate(fold)) == list(range(n_graphs))
    tested = np.concatenate([fold.test for fold in folds])
    assert len(tested) == len(set(tested)) == 10 * (n_graphs - math.ceil(0.9 * n_graphs))


def test_too_few_graphs_for_the_folds():
    with pytest.raises(InvalidInputError, match="9 graphs do not fill 10 folds"):
        paper_folds(9, 0)


def test_nested_folds_are_stratified_and_cover_everything():
    targets = np.repeat([0, 1], [80, 20])
    folds = stratified_folds(targets, 0, 10)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(100))
    assert all(np.bincount(targets[test]).tolist() == [8, 2] for _, test in folds)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([0.2, 0.5, 1.0]))
def test_solutions_that_are_not_at_their_bound_are_not_computed_again(seed, noise):
    points, targets = points_and_targets(seed=seed, noise=noise)
    kernel = np.exp(-np.linalg.norm(points[:, None] - points, axis=2))
    train, test = np.arange(40), np.arange(40, 60)
    grid = RULES["c"]
    found = accuracies_over_c(
        (kernel[np.ix_(train, train)], targets[train]),
        (kernel[np.ix_(test, train)], targets[test]),
        grid,
    )
    plain = [
        SVC(C=c, kernel="precomputed")
        .fit(kernel[np.ix_(train, train)], targets[train])
        .score(kernel[np.ix_(test, train)], targets[test])
        for c in grid
    ]
    assert found.accuracies == pytest.approx(plain)
    assert found.n_unfinished == 0


def test_accuracy_at_one_c():
    points, targets = points_and_targets(noise=0.01)
    kernel = points @ points.T
    assert accuracy_at_c((kernel, targets), (kernel, targets), 1000.0).accuracies == [1.0]


def naive_paper_accuracy(kernel, targets, seed):
    accuracies, chosen = [], []
    for fold in paper_folds(len(targets), seed):
        best = None
        for c in RULES["c"]:
            machine = SVC(C=c, kernel="precomputed")
            machine.fit(kernel[np.ix_(fold.train, fold.train)], targets[fold.train])
            score = machine.score(
                kernel[np.ix_(fold.validation, fold.train)], targets[fold.validation]
            )
            if best is None or score >= best[0]:  # ties go to the larger C
                best = (score, c)
        both = np.concatenate([fold.train, fold.validation])
        machine = SVC(C=best[1], kernel="precomputed")
        machine.fit(kernel[np.ix_(both, both)], targets[both])
        accuracies.append(machine.score(kernel[np.ix_(fold.test, both)], targets[fold.test]))
        chosen.append(best[1])
    return accuracies, chosen


def test_paper_outcome_is_the_plain_statement():
    points, targets = points_and_targets(n_points=83)
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    kernel = np.exp(-distances / np.median(distances))  # the zeros of the diagonal included
    outcome = paper_outcome(points @ points.T, targets, ExponentialGraphKernel(), 5, RULES)
    accuracies, chosen = naive_paper_accuracy(kernel, targets, 5)
    assert [fold.accuracy for fold in outcome.folds] == pytest.approx(accuracies)
    assert [fold.c for fold in outcome.folds] == chosen
    assert len(set(chosen)) > 1
    record = outcome.as_record()
    assert record["n_test"] == [8] * 10
    assert record["choices"] == []


def test_paper_outcome_with_a_choice():
    """The validation part chooses; with nothing to choose from, it is the protocol as it was."""
    points, targets = points_and_targets(n_points=83)
    products, kernel = points @ points.T, PolynomialGraphKernel()
    folds = [SplitFold.of(fold) for fold in paper_folds(len(targets), 5)]
    noise = np.random.default_rng(0).standard_normal((83, 4))
    options = [Option({"n_iter": 0}, noise @ noise.T), Option({"n_iter": 1}, products)]

    def accuracies(own):
        found = chosen_outcome(lambda _: own, targets, [kernel], folds, RULES["c"]).folds
        return [fold.accuracy for fold in found], [fold.choice for fold in found]

    plain = paper_outcome(products, targets, kernel, 5, RULES)
    assert accuracies(options[1:])[0] == [fold.accuracy for fold in plain.folds]
    both, choices = accuracies(options)
    assert {"n_iter": 1} in choices
    assert np.mean(both) > np.mean(accuracies(options[:1])[0])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_change_nothing(n_jobs):
    points, targets = points_and_targets()
    arguments = (points @ points.T, targets, ExponentialGraphKernel(), 0, RULES)
    assert paper_outcome(*arguments, n_jobs).folds == paper_outcome(*arguments, 2).folds


def nested(points, targets, kernels, options=1):
    products = points @ points.T
    choices = [Option({"scale": k}, products * (1.0 if k == 0 else 0.0)) for k in range(options)]
    return nested_outcome(lambda _: choices, targets, kernels, 0, RULES, 1)


@pytest.mark.parametrize("fold", [0, 4])
def test_nested_choices_do_not_see_the_test_graphs(monkeypatch, fold):
    """With the same folds, test graphs are put elsewhere and get other targets."""
    points, targets = points_and_targets(noise=0.8)
    folds = stratified_folds(targets, 0, 10)
    changed, others = points.copy(), targets.copy()
    train, test = folds[fold]
    changed[test] = 100 * changed[test][::-1]
    others[test] = (others[test] + 1) % 3
    seen, gammas = [], []

    def fixed_folds(some, seed, n_folds):
        return folds if len(some) == len(targets) else stratified_folds(some, seed, n_folds)

    def watched(kernel, products):
        fitted = fit_graph_kernel(kernel, products)
        gammas.append(fitted.gamma)
        return fitted

    def results(points, targets):
        options = [Option({"power": k}, (points @ points.T) ** k) for k in (1, 3)]
        kernels = [ExponentialGraphKernel(p=p) for p in (1, 2)]
        gammas.clear()
        folds = nested_outcome(
            lambda known: seen.append(known) or options, targets, kernels, 0, RULES, 1
        ).folds
        return [(fold.c, fold.choice) for fold in folds], np.reshape(gammas, (len(folds), -1))

    monkeypatch.setattr("reproduction.protocols.stratified_folds", fixed_folds)
    monkeypatch.setattr("reproduction.protocols.fit_graph_kernel", watched)
    chosen, fitted = results(points, targets)
    chosen_after, fitted_after = results(changed, others)
    assert chosen[fold] == chosen_after[fold]
    assert np.array_equal(fitted[fold], fitted_after[fold])
    assert np.array_equal(seen[fold], train)
    assert chosen != chosen_after  # where the changed graphs train, they matter
    assert not np.isclose(np.delete(fitted, fold, 0), np.delete(fitted_after, fold, 0)).any()


def test_nested_takes_the_option_that_separates():
    points, targets = points_and_targets(noise=0.3)
    outcome = nested(points, targets, [PolynomialGraphKernel()], options=2)
    assert {fold.choice["scale"] for fold in outcome.folds} == {0}
    assert np.mean(outcome.as_record()["accuracies"]) > 0.9


def test_median_is_over_the_graphs_that_are_given():
    products = np.diag([1.0, 1.0, 9.0])
    fitted = fit_graph_kernel(ExponentialGraphKernel(), products[:2, :2])
    assert fitted.gamma == pytest.approx(1 / np.sqrt(np.median([0, 2, 2, 0])))
