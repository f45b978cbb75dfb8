"""RetGKClassifier: values, choices, and its place in scikit-learn."""

import logging
import pickle
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
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
    RetGKRegressor,
    as_batch,
    load_model,
    load_tudataset,
    make_graph_classification,
    save_model,
    to_networkx,
)
from retgk._runtime.fields import flatten
from retgk.errors import InputWarning
from retgk.estimators import classifier, predictor
from retgk.estimators import predictor as fit_estimate
from retgk.estimators.predictor import Estimate, FitSize, estimate
from retgk.kernels.exact import ExactEngine
from retgk.learning.folds import inner_folds
from retgk.learning.outcomes import class_probabilities, fit_calibration
from retgk.learning.selection import NodeCandidate, Selection
from retgk.walks.probabilities import Walks
from tests.example_graphs import quick, three_classes


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


# RetGKClassifier: what it says of targets, parameters and new graphs that it cannot use


@pytest.fixture(scope="module")
def data_classifier_errors():
    return three_classes()


@pytest.fixture(scope="module")
def fitted_classifier_errors(data_classifier_errors):
    return quick().fit(data_classifier_errors.graphs[:60], data_classifier_errors.targets[:60])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1] * 60, "all 60 graphs are of one class, 1; a classifier needs graphs of two"),
        ([0, 1] * 29, "there are 60 graphs but 58 targets; give one target for each graph"),
        (1, "there are 60 graphs but one value; give one target"),
        ([0.0, np.nan] * 30, "the target of graph 1 is nan .*; drop the graph together with"),
        (["a", "b", None] * 20, "the target of graph 2 is None .*; drop the graph together with"),
        (None, "requires y to be passed, but the target y is None"),
        (np.linspace(0, 1, 60), "Unknown label type: continuous"),
    ],
)
def test_bad_targets(data_classifier_errors, y, message):
    y = np.array(y, object) if isinstance(y, list) and None in y else y
    with pytest.raises(ValueError, match=message):
        quick().fit(data_classifier_errors.graphs[:60], y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": ()}, "C has no candidates; give one value or several"),
        ({"C": (1, -1)}, "C must be positive and finite, got -1"),
        ({"p": 3}, r"p must be in \(0, 2\], got 3"),
        ({"scale": 0}, "scale must be positive and finite, got 0"),
        ({"approximate": "yes"}, "approximate must be one of 'auto', True, False, got 'yes'"),
        ({"cv": 1}, "cv=1 must be at least 2 folds, or a splitter"),
        ({"attribute_kernel": Laplacian(1.0)}, "the graphs have no attributes for attribute_ker"),
    ],
)
def test_bad_parameters(data_classifier_errors, options, message):
    with pytest.raises(InvalidInputError, match=message):
        quick(**options).fit(
            data_classifier_errors.graphs[:60], data_classifier_errors.targets[:60]
        )


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("n_steps", [(10, -5), (10, 0), (10, 4.0), (10, True), (10, "20")])
def test_bad_numbers_of_steps_are_found_before_any_work(
    data_classifier_errors, n_steps, approximate, monkeypatch
):
    monkeypatch.setattr(Walks, "probabilities", _no_work)
    model = quick(n_steps=n_steps, approximate=approximate)
    with pytest.raises(InvalidInputError, match="n_steps must be a whole number"):
        model.fit(data_classifier_errors.graphs[:60], data_classifier_errors.targets[:60])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure_kernel": (None, "rbf")}, "structure_kernel must be .*Laplacian"),
        ({"attribute_kernel": (None, Laplacian(1.0))}, "the graphs have no attributes for attr"),
    ],
)
def test_bad_node_kernels_are_found_before_any_work(
    data_classifier_errors, options, message, monkeypatch
):
    monkeypatch.setattr(Walks, "probabilities", _no_work)
    with pytest.raises(InvalidInputError, match=message):
        quick(approximate=True, **options).fit(
            data_classifier_errors.graphs[:60], data_classifier_errors.targets[:60]
        )


def _no_work(*_, **__):
    pytest.fail("return probabilities are computed")


def test_new_graphs_must_be_like_the_fitted(fitted_classifier_errors, data_classifier_errors):
    with pytest.raises(InvalidInputError, match="the graphs have no labels, the fitted ones have"):
        fitted_classifier_errors.predict(data_classifier_errors.graphs.without_labels())
    with pytest.raises(NotFittedError):
        RetGKClassifier().predict(data_classifier_errors.graphs)


def test_new_labels_are_no_error(fitted_classifier_errors, data_classifier_errors):
    renamed = data_classifier_errors.graphs[60:].with_labels(
        [f"new {label}" for label in data_classifier_errors.graphs[60:].labels]
    )
    with pytest.warns(UserWarning, match=r"no node label of the graphs is known: they have 'new"):
        assert len(fitted_classifier_errors.predict(renamed)) == 30


@pytest.mark.parametrize("approximate", [False, True])
def test_labels_of_another_type_are_a_warning(approximate, data_classifier_errors):
    texts = data_classifier_errors.graphs.with_labels(
        [str(label) for label in data_classifier_errors.graphs.labels]
    )
    model = quick(approximate=approximate).fit(texts, data_classifier_errors.targets)
    with pytest.warns(UserWarning, match=r"they have 0 \(int\), 1 \(int\).*ones '0' \(str\), '1'"):
        model.predict(
            data_classifier_errors.graphs.with_labels(data_classifier_errors.graphs.labels)
        )
    some = data_classifier_errors.graphs.with_labels(
        np.where(data_classifier_errors.graphs.labels == 0, "0", "new")
    )
    assert len(model.predict(some)) == len(some)


# What fitting says: lines of the logger, what it will take, and what came instead of graphs

DATA = three_classes()
OPTIONS = {"n_steps": 6, "C": (1, 10), "p": 1, "scale": 1, "cv": 3, "depth": 0, "random_state": 0}


def lines_of(caplog, **options):
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="retgk"):
        RetGKClassifier(**{**OPTIONS, **options}).fit(DATA)
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_the_logger(caplog):
    lines = lines_of(caplog, n_steps=(6, 8))
    infos = [text for level, text in lines if level == "INFO"]
    assert re.match(
        r"90 graphs of \d+ nodes, exact kernel, 2 x 2 candidates, 3 folds: abo", infos[0]
    )
    assert any(re.match(r"inner products 2 of 2: [\d.]+ s", text) for text in infos)
    assert any(re.match(r"chosen: \{'C': .*\}, score 0\.\d+", text) for text in infos)
    details = [text for level, text in lines if level == "DEBUG"]
    assert len(details) == 4
    assert re.match(r"\{'C': 1.0, 'p': 1, .*'n_steps': 6.*\}: 0\.\d{4}", details[0])


def test_the_logger_is_silent_by_itself(capsys):
    RetGKClassifier(**OPTIONS).fit(DATA)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    handlers = logging.getLogger("retgk").handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in handlers)


@pytest.mark.parametrize(("verbose", "n_details"), [(1, 0), (2, 2), (True, 0), (np.int64(2), 2)])
def test_verbose(verbose, n_details, capsys):
    for model, y in ((RetGKClassifier, DATA.targets), (RetGKRegressor, DATA.graphs.node_counts)):
        model(**OPTIONS, verbose=verbose).fit(DATA.graphs, y)
        lines = capsys.readouterr().out.splitlines()
        assert all(line.startswith("[retgk] ") for line in lines)
        assert sum("chosen: " in line for line in lines) == 1
        assert sum(line.startswith("[retgk] {'C'") for line in lines) == n_details


@pytest.mark.parametrize("verbose", [-1, "yes", 0.5, None])
def test_bad_verbose(verbose):
    with pytest.raises(InvalidInputError, match=f"verbose must be .* got {verbose!r}"):
        RetGKClassifier(**OPTIONS, verbose=verbose).fit(DATA)


@pytest.mark.parametrize(
    ("options", "found", "message"),
    [
        ({}, (1.0, 700.0, 5.0, 0.0), "about 12 minutes on this machine; use approximate=True"),
        (
            {"approximate": True},
            (1.0, 700.0, 5.0, 0.0),
            "about 12 minutes on this machine; use a smaller n_components",
        ),
        (
            {"n_steps": tuple(range(1, 14))},
            (1.0, 7500.0, 5.0, 0.0),
            "about 2 hours on this machine; give fewer candidates of n_steps, scale_attributes",
        ),
        ({}, (1.0, 5.0, 700.0, 0.0), "give fewer candidates, such as C=10, p=1, scale=1, or"),
        ({}, (500.0, 5.0, 200.0, 0.0), 'method="monte-carlo" estimates return probabilities in'),
        ({}, (1.0, 1.0, 1.0, 1e18), r"takes about [\d.]+ GiB of memory, but only .* approximate=T"),
        ({"approximate": True}, (1.0, 1.0, 1.0, 1e18), "GiB are free; give fewer graphs"),
    ],
)
def test_warnings_name_what_makes_it_smaller(options, found, message, monkeypatch):
    monkeypatch.setattr(fit_estimate, "estimate", lambda *_: Estimate(*found))
    with pytest.warns(InputWarning, match=message):
        RetGKClassifier(**{**OPTIONS, **options}).fit(DATA)


def test_no_warning_of_short_work_nor_twice_of_walks(monkeypatch):
    for found in ((1.0, 1.0, 1.0, 1.0), (700.0, 1.0, 1.0, 1.0)):
        monkeypatch.setattr(fit_estimate, "estimate", lambda *_, found=found: Estimate(*found))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            RetGKClassifier(**OPTIONS).fit(DATA)


def of_sizes(n_graphs, **options):
    graphs = make_graph_classification(n_graphs, n_nodes=(5, 9), random_state=0).graphs
    nodes = [NodeCandidate(n, None, None, "raw", 0) for n in options.pop("n_steps", (50,))]
    size = FitSize(False, n_graphs, 4, 4, 5, 1, False)._replace(**options)
    return estimate(RetGKClassifier(n_jobs=1, n_components=200), graphs, nodes, size)


def test_more_work_takes_longer():
    base = of_sizes(200)
    assert of_sizes(400).seconds > 2 * base.seconds
    assert of_sizes(200, n_steps=(50, 49)).kernel == 2 * base.kernel
    assert of_sizes(200, n_folds=10).choosing > base.choosing
    assert of_sizes(200, n_outputs=3).choosing == 3 * base.choosing
    assert of_sizes(200, is_embedded=True).seconds < base.seconds
    assert of_sizes(400).n_bytes > 2 * base.n_bytes
    assert of_sizes(200, is_embedded=True, is_ridge=True, n_columns=20).n_bytes > 0


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "approximate", "seconds"),
    [("NCI1", False, 15.0), ("NCI1", True, 14.0), ("DD", True, 7.0)],
)
def test_estimates_beside_measured_times(name, approximate, seconds, data_folder):
    """Of two cores, in seconds that were measured once; no time is taken here."""
    graphs = load_tudataset(name, data_folder).graphs
    size = FitSize(approximate, len(graphs), 4, 4, 5, 1, False)
    model = RetGKClassifier(n_jobs=1)
    found = estimate(model, graphs, [NodeCandidate(50, None, None, "raw", 0)], size).seconds / 2
    assert seconds / 3 < found < 3 * seconds


def test_numbers_are_no_graphs_where_others_were_fitted():
    """Two columns of numbers are edges, and a square one graph, to all who are not told."""
    model = RetGKClassifier(**OPTIONS).fit(to_networkx(DATA.graphs.without_labels()), DATA.targets)
    for X in (np.zeros((5, 2), int), np.eye(4)):
        with pytest.raises(InvalidInputError, match=r"or a list \[matrix\] if it is the adjacency"):
            model.predict(X)
        assert len(model.predict([np.ones((3, 3))])) == 1


# Several labels or values for each graph, from one kernel

DATA_SEVERAL_TARGETS = three_classes()
GRAPHS, TEST = DATA_SEVERAL_TARGETS.graphs[:60], DATA_SEVERAL_TARGETS.graphs[60:]
LARGE = DATA_SEVERAL_TARGETS.graphs.node_counts > np.median(DATA_SEVERAL_TARGETS.graphs.node_counts)
ALL_LABELS = np.stack(
    [DATA_SEVERAL_TARGETS.targets == 0, DATA_SEVERAL_TARGETS.targets == 1, LARGE], axis=1
).astype(int)
LABELS, TEST_LABELS = ALL_LABELS[:60], ALL_LABELS[60:]
OPTIONS_SEVERAL_TARGETS = {
    "n_steps": 8,
    "C": (1, 100),
    "p": 1,
    "scale": 1,
    "cv": 3,
    "depth": 0,
    "random_state": 0,
}
FOLDS = [(np.flatnonzero(np.arange(60) % 3 != f), np.arange(f, 60, 3)) for f in range(3)]


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("dtype", [int, float, bool, object])
def test_shapes(approximate, dtype):
    model = RetGKClassifier(**OPTIONS_SEVERAL_TARGETS, approximate=approximate).fit(
        GRAPHS, LABELS.astype(dtype)
    )
    assert model.multilabel_
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict(TEST).shape == (30, 3)
    assert set(np.unique(model.predict(TEST))) <= {0, 1}
    assert_array_equal(model.predict(TEST), model.decision_function(TEST) > 0)
    probabilities = model.predict_proba(TEST)
    assert probabilities.shape == (30, 3)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    right = (model.predict(TEST) == TEST_LABELS).all(axis=1).mean()
    assert model.score(TEST, TEST_LABELS) == right
    assert (model.predict(TEST) == TEST_LABELS).mean() > 0.75


@pytest.mark.parametrize("is_ridge", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1, 1: 3}])
def test_labels_are_as_alone(is_ridge, class_weight, monkeypatch):
    """With one candidate, each label has the machine that it has without the others."""
    if is_ridge:
        monkeypatch.setattr("retgk.estimators.classifier.MAX_EXACT_GRAPHS", 10)
    options = {
        **OPTIONS_SEVERAL_TARGETS,
        "C": 10,
        "approximate": is_ridge,
        "class_weight": class_weight,
    }
    together = RetGKClassifier(**{**options, "cv": FOLDS}).fit(GRAPHS, LABELS)
    assert together.solver_ == ("ridge" if is_ridge else "support vectors")
    for label in range(3):
        alone = RetGKClassifier(**{**options, "cv": FOLDS}).fit(GRAPHS, LABELS[:, label])
        assert_allclose(
            together.decision_function(TEST)[:, label], alone.decision_function(TEST), atol=1e-6
        )
        assert_allclose(
            together.predict_proba(TEST)[:, label], alone.predict_proba(TEST)[:, 1], atol=1e-6
        )


def test_the_kernel_is_computed_once(monkeypatch):
    calls = []
    inner_products = ExactEngine.inner_products
    monkeypatch.setattr(
        ExactEngine, "inner_products", lambda *a: (calls.append(1), inner_products(*a))[1]
    )
    RetGKClassifier(**OPTIONS_SEVERAL_TARGETS).fit(GRAPHS, LABELS)
    assert len(calls) == 1


@pytest.mark.parametrize("scoring", [None, "roc_auc", "f1_macro"])
def test_in_scikit_learn(scoring):
    model = RetGKClassifier(**OPTIONS_SEVERAL_TARGETS)
    scores = cross_val_score(model, DATA_SEVERAL_TARGETS.graphs, ALL_LABELS, cv=2, scoring=scoring)
    assert (scores > 0.4).all()
    found = cross_val_predict(
        model, DATA_SEVERAL_TARGETS.graphs, ALL_LABELS, cv=2, method="predict_proba"
    )
    assert found.shape == (90, 3)


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_model_files(tmp_path, scoring):
    for n_labels in (2, 3):
        model = RetGKClassifier(**OPTIONS_SEVERAL_TARGETS, scoring=scoring).fit(
            GRAPHS, LABELS[:, :n_labels]
        )
        save_model(model, tmp_path / "model.retgk")
        loaded = load_model(tmp_path / "model.retgk")
        assert loaded.multilabel_
        for name in ("predict", "decision_function", "predict_proba"):
            assert_array_equal(getattr(loaded, name)(TEST), getattr(model, name)(TEST))


def test_callables_are_no_part_of_model_files(tmp_path):
    model = RetGKClassifier(**OPTIONS_SEVERAL_TARGETS, scoring=lambda *_: 0.0).fit(GRAPHS, LABELS)
    with pytest.raises(InvalidInputError, match=r"has done its work: set_params\(scoring=None\)"):
        save_model(model, tmp_path / "model.retgk")


@pytest.mark.parametrize("approximate", [False, True])
def test_a_label_that_all_graphs_have(approximate):
    labels = np.column_stack([LABELS, np.ones(60, int), np.zeros(60, int)])
    model = RetGKClassifier(**OPTIONS_SEVERAL_TARGETS, approximate=approximate)
    with pytest.warns(InputWarning, match="label 3, 4 is the same for all 60 graphs, and so is"):
        model.fit(GRAPHS, labels)
    assert_array_equal(model.predict(TEST)[:, 3:], np.tile([1, 0], (30, 1)))
    assert (model.predict_proba(TEST)[:, 3] > 0.9).all()
    assert (model.predict_proba(TEST)[:, 4] < 0.1).all()
    expected = RetGKClassifier(**OPTIONS_SEVERAL_TARGETS, approximate=approximate).fit(
        GRAPHS, LABELS
    )
    assert_allclose(model.decision_function(TEST)[:, :3], expected.decision_function(TEST))


def test_labels_that_are_rare_in_folds():
    labels = LABELS.copy()
    labels[:, 0] = 0
    labels[7, 0] = 1
    model = RetGKClassifier(**{**OPTIONS_SEVERAL_TARGETS, "cv": FOLDS}).fit(GRAPHS, labels)
    assert np.isfinite(model.decision_function(TEST)).all()
    assert np.isfinite(model.predict_proba(TEST)).all()


def test_folds_share_labels():
    labels = (np.random.default_rng(0).random((400, 4)) < [0.5, 0.2, 0.05, 0.3]).astype(int)
    for _, test in inner_folds(5, labels, 0):
        assert abs(len(test) - 80) <= 1
        assert (np.abs(labels[test].sum(axis=0) - labels.sum(axis=0) / 5) <= 4).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (LABELS * 2, "must be zeros and ones, which say what labels a graph has; for several"),
        (LABELS.astype(str), "must be zeros and ones"),
        (LABELS[:, :, None] * [1, 1], r"of shape \(60, 3, 2\) must be zeros and ones"),
        (np.ones((60, 2)), "none of the 2 labels tells graphs apart"),
        (np.where(LABELS, np.nan, 0.0), r"target \d of graph 0 is nan .*fit a model for each targ"),
        (np.ones((59, 2)), "there are 60 graphs but 59 targets"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(InvalidInputError, match=message):
        RetGKClassifier(**OPTIONS_SEVERAL_TARGETS).fit(GRAPHS, y)


@pytest.mark.parametrize("approximate", [False, True])
def test_values_are_as_alone(approximate):
    y = np.stack([GRAPHS.node_counts, 1000.0 * GRAPHS.edge_counts], axis=1)
    options = {**OPTIONS_SEVERAL_TARGETS, "C": 10, "approximate": approximate}
    together = RetGKRegressor(**options).fit(GRAPHS, y)
    assert together.predict(TEST).shape == (30, 2)
    for column in range(2):
        alone = RetGKRegressor(**options).fit(GRAPHS, y[:, column])
        assert_allclose(together.predict(TEST)[:, column], alone.predict(TEST), rtol=1e-7)


def test_a_missing_value_names_its_column():
    y = np.stack([GRAPHS.node_counts, GRAPHS.edge_counts], axis=1).astype(float)
    y[[4, 9], 1] = np.nan
    message = "target 1 of graph 4 is nan .*; 2 of 60 graphs have no such target: drop these, or"
    with pytest.raises(InvalidInputError, match=message):
        RetGKRegressor(**OPTIONS_SEVERAL_TARGETS).fit(GRAPHS, y)
