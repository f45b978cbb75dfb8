"""RetGKClassifier: values, choices, and its place in scikit-learn."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from retgk import (
    ExponentialGraphKernel,
    GraphBatch,
    InvalidInputError,
    Laplacian,
    RetGKClassifier,
    RetGKKernel,
    as_batch,
    load_tudataset,
    make_graph_classification,
    to_networkx,
)
from retgk._runtime.fields import flatten
from retgk.estimators import classifier, predictor
from retgk.learning.outcomes import class_probabilities, fit_calibration
from retgk.learning.selection import Selection
from retgk.walks.probabilities import Walks

from .classifier_graphs import quick, three_classes


@pytest.fixture(scope="module")
def data():
    return three_classes()


@pytest.fixture(scope="module")
def fitted(data):
    return quick().fit(data.graphs[:60], data.targets[:60])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_as_kernel_and_svc(n_classes):
    data = make_graph_classification(
        n_graphs=90, n_classes=n_classes, n_labels=3, n_nodes=(5, 15), random_state=0
    )
    train, test = data.graphs[:60], data.graphs[60:]
    model = quick(C=10, p=2, scale=1, tol=0).fit(train, data.targets[:60])
    kernel = RetGKKernel(
        n_steps=10, graph_kernel=ExponentialGraphKernel(p=2), tol=0, random_state=0
    )
    machine = SVC(C=10, kernel="precomputed", break_ties=True)
    machine.fit(kernel.fit_transform(train), data.targets[:60])
    rows = kernel.transform(test)
    expected = machine.decision_function(rows)
    np.testing.assert_allclose(model.decision_function(test), expected, atol=1e-6)
    np.testing.assert_array_equal(model.predict(test), machine.predict(rows))
    np.testing.assert_array_equal(model.support_, machine.support_)


@pytest.mark.parametrize("approximate", [False, True])
def test_learns(data, approximate):
    model = quick(approximate=approximate).fit(data.graphs[:60], data.targets[:60])
    assert model.score(data.graphs[60:], data.targets[60:]) > 0.6
    assert model.approximate_ is approximate
    assert hasattr(model, "embedding_") is approximate
    assert hasattr(model, "kernel_") is not approximate
    probabilities = model.predict_proba(data.graphs[60:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (model.classes_[probabilities.argmax(axis=1)] == data.targets[60:]).mean() > 0.6


def test_only_support_graphs_are_kept(data):
    model = quick(C=1000, p=2, scale=8).fit(data.graphs[:60], data.targets[:60])
    kept = {}
    flatten(model.engine_, "", kept)
    assert len(model.support_) < 60
    assert model.engine_.n_graphs == len(model.support_) == model.dual_coef_.shape[1]
    totals = np.bincount(kept["_graphs.points.entry_graphs"], kept["_graphs.points.entry_weights"])
    np.testing.assert_allclose(totals, np.ones(len(model.support_)))
    assert model.kernel_.inner_products_.shape == (len(model.support_),) * 2


def test_candidates_of_everything(data):
    kernels = [Laplacian(1.0), Laplacian(5.0)]
    model = quick(n_steps=[4, 8], structure_kernel=kernels, C=[1, 10], p=[1], scale=[1, 2])
    model.fit(data.graphs[:60], data.targets[:60])
    results = model.cv_results_
    assert len(results["params"]) == 2 * 2 * 2 * 1 * 2
    assert results["params"][model.best_index_] == model.best_params_
    assert model.best_score_ == results["mean_test_score"][model.best_index_]
    assert results["rank_test_score"].min() == 1
    splits = np.stack([results[f"split{f}_test_score"] for f in range(3)])
    np.testing.assert_allclose(splits.mean(axis=0), results["mean_test_score"])
    assert results["param_structure_kernel"][0] == kernels[0]
    assert model.kernel_.n_steps == model.best_params_["n_steps"]
    assert model.kernel_.structure_kernel_ == model.best_params_["structure_kernel"]


def test_scores_are_those_of_cross_validation(data):
    """One candidate: the table is what cross_val_score gives, bandwidths aside."""
    graphs, y = data.graphs[:60], data.targets[:60]
    folds = list(StratifiedKFold(3).split(y, y))
    options = {"C": 10, "p": 1, "scale": 1, "structure_kernel": Laplacian(2.0), "tol": 0}
    model = quick(cv=folds, **options).fit(graphs, y)
    gamma = model.graph_kernel_.gamma
    kernel = ExponentialGraphKernel(gamma=gamma)
    pipeline = make_pipeline(
        RetGKKernel(10, structure_kernel=Laplacian(2.0), graph_kernel=kernel, tol=0),
        SVC(C=10, kernel="precomputed", break_ties=True),
    )
    expected = cross_val_score(pipeline, graphs, y, cv=folds)
    found = [model.cv_results_[f"split{f}_test_score"][0] for f in range(3)]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("approximate", [False, True])
def test_steps_share_return_probabilities(data, approximate, monkeypatch):
    calls, compute = [], Walks.probabilities

    def counted(walks, batch, **options):
        calls.append((walks.n_steps, len(batch), options.get("nodes")))
        return compute(walks, batch, **options)

    monkeypatch.setattr(Walks, "probabilities", counted)
    options = {"C": 1, "p": 1, "scale": 1, "approximate": approximate}
    model = quick(n_steps=(3, 12, 6), **options).fit(data.graphs[:60], data.targets[:60])
    assert calls == [(12, 60, None)]
    alone = quick(n_steps=6, **options).fit(data.graphs[:60], data.targets[:60])
    np.testing.assert_allclose(
        model.cv_results_["mean_test_score"][2], alone.cv_results_["mean_test_score"][0]
    )


def test_the_first_kernel_stays_unless_another_is_clearly_better(data):
    graphs, y = data.graphs[:60], data.targets[:60]
    useless = Laplacian(1e-9)
    assert (
        quick(structure_kernel=[useless, None]).fit(graphs, y).best_params_["structure_kernel"]
        is None
    )
    same = quick(structure_kernel=[Laplacian(3.0), Laplacian(3.0 + 1e-9)]).fit(graphs, y)
    assert same.best_params_["structure_kernel"] == Laplacian(3.0)


def choice_between(first, second, smallest_gain=0.0):
    """Number of the kernel that is chosen, from the scores of both in every fold."""
    scores = iter([np.array(first), np.array(second)])
    products = SimpleNamespace(fit_kernels=lambda kernels: kernels)
    solver = SimpleNamespace(out_of_fold=lambda *_: [[[None] for _ in first]])
    folds, score = [(None, None)] * len(first), lambda _: next(scores)
    selection = Selection(solver, [({}, ExponentialGraphKernel())], [1.0], folds, score, None)
    for kernel in (0, 1):
        selection.consider({}, kernel, products)
    return selection.clearly_best(smallest_gain).kernel


@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
@pytest.mark.parametrize("n_test", [7, 19, 40])
def test_a_gain_in_one_fold_never_replaces_the_first_kernel(n_folds, n_test):
    # its mean is its standard error, so that rounding used to decide
    rng = np.random.default_rng(0)
    for _ in range(30):
        hits = rng.integers(n_test // 2, n_test, n_folds)
        better = hits.copy()
        better[rng.integers(n_folds)] += 1
        assert choice_between(hits / n_test, better / n_test) == 0
        assert choice_between(hits / n_test, (hits + 1) / n_test) == 1  # a graph in every fold


def test_one_graph_in_repeated_folds_does_not_replace_the_first_kernel(data, monkeypatch):
    graphs, y = data.graphs[:60], data.targets[:60]
    hits = np.tile([5.0, 6.0, 4.0, 5.0, 6.0], 4)
    better = hits + np.tile([1.0, 0, 0, 0, 0], 4)  # the same graph in each of four repetitions
    seen, clearly_best = [], Selection.clearly_best

    def choose(selection, smallest_gain):
        seen.append(smallest_gain)
        return clearly_best(selection, smallest_gain)

    monkeypatch.setattr(Selection, "clearly_best", choose)
    quick(cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0)).fit(graphs, y)
    assert 1 / 60 < seen[0] < 2 / 60
    assert choice_between(hits / 12, better / 12) == 1
    assert choice_between(hits / 12, better / 12, smallest_gain=seen[0]) == 0


def test_threads_change_nothing(data):
    graphs, y = data.graphs[:60], data.targets[:60]
    one, two = (quick(n_jobs=n_jobs).fit(graphs, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_string_targets(data):
    names = np.array(["inactive", "active", "unknown"])[data.targets]
    model = quick().fit(data.graphs[:60], names[:60])
    assert model.classes_.tolist() == ["active", "inactive", "unknown"]
    assert model.score(data.graphs[60:], names[60:]) > 0.6
    as_objects = quick().fit(data.graphs[:60], names[:60].astype(object))
    assert as_objects.predict(data.graphs[60:]).tolist() == model.predict(data.graphs[60:]).tolist()


def test_class_weights(data):
    is_rare = (data.targets == 0) & (np.arange(90) % 3 != 0)
    graphs, y = data.graphs[~is_rare], np.where(data.targets[~is_rare] == 0, "rare", "usual")
    shares = {}
    for name, weight in {"none": None, "balanced": "balanced", "dict": {"rare": 50.0}}.items():
        model = quick(C=0.5, p=1, scale=1, class_weight=weight).fit(graphs, y)
        shares[name] = np.mean(model.predict(graphs)[y == "rare"] == "rare")
    assert shares["none"] < shares["balanced"] <= shares["dict"] == 1


def test_few_graphs_of_a_class(data):
    order = np.argsort(data.targets, kind="stable")
    graphs, y = data.graphs[order], data.targets[order]
    counts = np.bincount(y)
    two_of_class_2 = np.arange(counts[0] + counts[1] + 2)
    model = quick(cv=5).fit(graphs[two_of_class_2], y[two_of_class_2])
    assert model.n_splits_ == 5
    assert model.predict_proba(graphs).shape == (90, 3)
    one_of_class_2 = two_of_class_2[:-1]
    model = quick(cv=5).fit(graphs[one_of_class_2], y[one_of_class_2])
    assert set(model.classes_) == {0, 1, 2}
    with pytest.raises(InvalidInputError, match="fit with at least two graphs of each class"):
        model.predict_proba(graphs)


def test_one_graph_of_each_class(data):
    chosen = [int(np.flatnonzero(data.targets == c)[0]) for c in range(3)]
    model = quick(C=(7, 70)).fit(data.graphs[chosen], data.targets[chosen])
    assert model.n_splits_ == 0
    assert np.isnan(model.best_score_)
    assert (model.best_params_["C"], model.best_params_["p"]) == (7, 1)
    np.testing.assert_array_equal(model.predict(data.graphs[chosen]), data.targets[chosen])


def test_graphs_that_are_all_alike_have_a_bandwidth():
    graphs = GraphBatch.concatenate(
        [make_graph_classification(n_graphs=2, random_state=0).graphs[:1]] * 9
    )
    odd = make_graph_classification(n_graphs=2, random_state=5).graphs[1:]
    y = np.array([0] * 9 + [1])
    model = quick().fit(GraphBatch.concatenate([graphs, odd]), y)
    assert model.predict(odd).tolist() == [1]
    alike = quick().fit(graphs, np.arange(9) % 2)
    assert len(alike.predict(odd)) == 1


def test_networkx_datasets_and_lists(data):
    pytest.importorskip("networkx")
    graphs = to_networkx(data.graphs[:60].without_labels().without_attributes())
    batch = as_batch(graphs)
    model = quick().fit(graphs, data.targets[:60])
    same = quick().fit(batch, data.targets[:60])
    np.testing.assert_array_equal(model.predict(graphs), same.predict(list(batch)))
    own = quick().fit(data)
    np.testing.assert_array_equal(own.support_, quick().fit(data.graphs, data.targets).support_)
    assert own.score(data) == own.score(data.graphs, data.targets)


def test_clone_pickle_and_repr(fitted, data):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "dual_coef_")
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        again.decision_function(data.graphs), fitted.decision_function(data.graphs)
    )
    assert "RetGKClassifier" in fitted._repr_html_()


def test_in_pipelines_and_searches(data):
    pipeline = make_pipeline(FunctionTransformer(), quick(C=10, p=1, scale=1))
    assert cross_val_score(pipeline, data.graphs, data.targets, cv=3).mean() > 0.5
    search = GridSearchCV(quick(p=1, scale=1), {"n_steps": [5, 10], "C": [1, 10]}, cv=2)
    search.fit(data.graphs, data.targets)
    assert set(search.best_params_) == {"n_steps", "C"}
    assert search.best_estimator_.predict_proba(data.graphs[:2]).shape == (2, 3)


@pytest.mark.parametrize("approximate", [False, True])
def test_output_configuration_does_not_matter(data, approximate):
    pytest.importorskip("pandas")
    model = quick(approximate=approximate)
    expected = model.fit(data.graphs[:60], data.targets[:60]).decision_function(data.graphs)
    with config_context(transform_output="pandas"):
        found = clone(model).fit(data.graphs[:60], data.targets[:60])
        np.testing.assert_array_equal(found.decision_function(data.graphs), expected)


def test_rule_for_auto(data, monkeypatch):
    graphs, y = data.graphs[:60], data.targets[:60]
    assert not quick().fit(graphs, y).approximate_
    monkeypatch.setattr(predictor, "MAX_EXACT_NODES", graphs.n_nodes)
    assert not quick().fit(graphs, y).approximate_
    assert quick(n_steps=(5, 10)).fit(graphs, y).approximate_
    monkeypatch.setattr(predictor, "MAX_EXACT_NODES", graphs.n_nodes - 1)
    assert quick().fit(graphs, y).approximate_
    assert not quick(approximate=False).fit(graphs, y).approximate_
    monkeypatch.setattr(predictor, "MAX_EXACT_NODES", 10**6)
    monkeypatch.setattr(predictor, "MAX_EXACT_GRAPHS", 59)
    assert quick().fit(graphs, y).approximate_


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ridge_takes_over_for_many_graphs(n_classes, monkeypatch):
    data = make_graph_classification(
        n_graphs=120, n_classes=n_classes, n_labels=3, n_nodes=(5, 15), random_state=0
    )
    monkeypatch.setattr(classifier, "MAX_EXACT_GRAPHS", 50)
    model = quick(approximate=True, n_landmarks=40, class_weight="balanced")
    model.fit(data.graphs[:90], data.targets[:90])
    assert model.solver_ == "ridge"
    assert len(model.support_) == model.support_vectors_.shape[0] == 40
    assert model.dual_coef_.shape == (1 if n_classes == 2 else 3, 40)
    assert model.score(data.graphs[90:], data.targets[90:]) > 0.6
    assert model.predict_proba(data.graphs[:3]).shape == (3, n_classes)


def test_many_new_graphs_are_done_in_parts(fitted, data, monkeypatch):
    whole = fitted.decision_function(data.graphs)
    monkeypatch.setattr(predictor, "GRAPHS_AT_A_TIME", 7)
    np.testing.assert_allclose(fitted.decision_function(data.graphs), whole, atol=1e-3)
    assert fitted.decision_function(data.graphs[:0]).shape == (0, 3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_never_the_reverse_of_predictions(n_classes):
    codes = np.array([0, 1, 1, 1, *range(n_classes)] * 3)
    away = -(codes[:, None] == np.arange(n_classes)).astype(float)
    scores = away[:, 1:] if n_classes == 2 else away
    coef, intercept = fit_calibration(scores, codes)
    expected = np.bincount(codes) / len(codes)
    np.testing.assert_allclose(
        class_probabilities(scores, coef, intercept), [expected] * len(codes)
    )
    coef, intercept = fit_calibration(-scores, codes)
    assert (class_probabilities(-scores, coef, intercept).argmax(axis=1) == codes).all()


def test_probabilities_of_a_few_molecules_that_folds_get_wrong():
    pytest.importorskip("rdkit")
    molecules = ["CCO", "CCCO", "CCCCO", "CO", "CCN", "CCCN", "CCCCN", "CN"]
    model = RetGKClassifier(random_state=0).fit(molecules, [0] * 4 + [1] * 4)
    np.testing.assert_allclose(model.predict_proba(molecules), 0.5)


def test_probabilities_are_calibrated():
    """Where classes overlap, graphs called 0.7 are right in about 70 % of cases."""
    data = make_graph_classification(n_graphs=400, n_classes=2, n_nodes=(5, 8), random_state=3)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.25, 1 - data.targets, data.targets)
    model = quick(C=1, p=1, scale=1).fit(data.graphs[:200], y[:200])
    probabilities = model.predict_proba(data.graphs[200:])
    confidence = probabilities.max(axis=1).mean()
    hits = (model.classes_[probabilities.argmax(axis=1)] == y[200:]).mean()
    assert abs(confidence - hits) < 0.1


@pytest.mark.real_data
def test_grid_search_over_steps_power_and_penalty_on_mutag(data_folder):
    data = load_tudataset("MUTAG", data_home=data_folder, download=False)
    grid = {"n_steps": [10, 50], "p": [1, 2], "C": [1, 10, 100]}
    search = GridSearchCV(
        RetGKClassifier(scale=1, cv=2, random_state=0),
        grid,
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ).fit(data.graphs, data.targets)
    assert len(search.cv_results_["params"]) == 12
    assert search.best_score_ > 0.85
    own = RetGKClassifier(n_steps=(10, 50), C=(1, 10, 100), random_state=0)
    assert own.fit(data.graphs, data.targets).best_score_ > 0.86
