"""GraphClassifier: values, choices, and its place in scikit-learn."""

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
from sklearn.metrics import r2_score
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from retgk import (
    GraphBatch,
    GraphClassifier,
    GraphDataset,
    GraphRegressor,
    RetGK,
    as_batch,
    load_model,
    save_model,
)
from retgk._runtime.fields import flatten
from retgk.datasets import load_tudataset, make_graph_classification
from retgk.errors import InputWarning, UnseenWarning
from retgk.estimators import fit_cost, predictor
from retgk.estimators.fit_cost import Estimate, FitSize, estimate
from retgk.io import to_networkx
from retgk.kernels import (
    ExponentialGraphKernel,
    Laplacian,
    Precomputed,
    ShortestPath,
    WeisfeilerLehman,
    mean_of,
    molecule_kernel,
)
from retgk.learning import ridge
from retgk.learning.folds import inner_folds, stratified_folds, with_groups
from retgk.learning.metrics import fold_answer
from retgk.learning.outcomes import class_probabilities, fit_calibration
from retgk.learning.selection import Selection
from retgk.walks.probabilities import Walks
from tests.errors import assert_names, fails
from tests.example_graphs import Own, of_retgk, quick, three_classes

DATA = three_classes()


@pytest.fixture(scope="module")
def data():
    return DATA


@pytest.fixture(scope="module")
def fitted(data):
    return quick().fit(data.graphs[:60], data.targets[:60])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_as_kernel_and_svc(n_classes):
    data = make_graph_classification(
        n_graphs=90, n_classes=n_classes, n_labels=3, n_nodes=(5, 15), rng=0
    )
    train, test = data.graphs[:60], data.graphs[60:]
    model = quick(C=10, p=2, scale=1, tol=0).fit(train, data.targets[:60])
    kernel = RetGK(
        walks=Walks(n_steps=10), graph_kernel=ExponentialGraphKernel(p=2), tol=0, random_state=0
    )
    machine = SVC(C=10, kernel="precomputed", break_ties=True)
    machine.fit(kernel.fit_transform(train), data.targets[:60])
    rows = kernel.transform(test)
    expected = machine.decision_function(rows)
    assert_allclose(model.decision_function(test), expected, atol=1e-6)
    assert_array_equal(model.predict(test), machine.predict(rows))
    assert_array_equal(model.support_, machine.support_)


def test_only_support_graphs_are_kept(data):
    model = quick(C=1000, p=2, scale=8).fit(data.graphs[:60], data.targets[:60])
    kept = {}
    flatten(model.kernel_.engine_, "", kept)
    assert len(model.support_) < 60
    assert model.kernel_.engine_.n_graphs == len(model.support_) == model.dual_coef_.shape[1]
    totals = np.bincount(kept["_graphs.points.entry_graphs"], kept["_graphs.points.entry_weights"])
    assert_allclose(totals, np.ones(len(model.support_)))
    assert model.kernel_.inner_products_.shape == (len(model.support_),) * 2


def test_candidates_of_everything(data):
    kernels = [Laplacian(1.0), Laplacian(5.0)]
    model = quick(n_steps=[4, 8], structure=kernels, C=[1, 10], p=[1], scale=[1, 2])
    model.fit(data.graphs[:60], data.targets[:60])
    results = model.cv_results_
    assert len(results["params"]) == 2 * 2 * 2 * 1 * 2
    assert results["params"][model.best_index_] == model.best_params_
    assert model.best_score_ == results["mean_test_score"][model.best_index_]
    assert results["rank_test_score"].min() == 1
    splits = np.stack([results[f"split{f}_test_score"] for f in range(3)])
    assert_allclose(splits.mean(axis=0), results["mean_test_score"])
    assert results["param_structure"][0] == kernels[0]
    assert model.kernel_.walks_.n_steps == model.best_params_["walks__n_steps"]
    assert model.kernel_.structure_ == model.best_params_["structure"]


def test_scores_are_those_of_cross_validation(data):
    """One candidate: the table is what cross_val_score gives, bandwidths aside."""
    graphs, y = data.graphs[:60], data.targets[:60]
    folds = list(StratifiedKFold(3).split(y, y))
    options = {"C": 10, "p": 1, "scale": 1, "structure": Laplacian(2.0), "tol": 0}
    model = quick(cv=folds, **options).fit(graphs, y)
    gamma = model.kernel_.graph_kernel_.gamma
    kernel = ExponentialGraphKernel(gamma=gamma)
    pipeline = make_pipeline(
        RetGK(walks=Walks(10), structure=Laplacian(2.0), graph_kernel=kernel, tol=0),
        SVC(C=10, kernel="precomputed", break_ties=True),
    )
    expected = cross_val_score(pipeline, graphs, y, cv=folds)
    found = [model.cv_results_[f"split{f}_test_score"][0] for f in range(3)]
    assert_allclose(found, expected)


@pytest.mark.parametrize("n_components", [None, 1024])
def test_steps_share_return_probabilities(data, n_components, monkeypatch):
    calls, compute = [], Walks.probabilities

    def counted(walks, batch, **options):
        calls.append((walks.n_steps, len(batch), options.get("nodes")))
        return compute(walks, batch, **options)

    monkeypatch.setattr(Walks, "probabilities", counted)
    options = {"C": 1, "p": 1, "scale": 1, "n_components": n_components}
    model = quick(n_steps=(3, 12, 6), **options).fit(data.graphs[:60], data.targets[:60])
    assert calls == [(12, 60, None)]
    alone = quick(n_steps=6, **options).fit(data.graphs[:60], data.targets[:60])
    assert_allclose(
        model.cv_results_["mean_test_score"][2], alone.cv_results_["mean_test_score"][0]
    )


def test_the_first_kernel_stays_unless_another_is_clearly_better(data):
    graphs, y = data.graphs[:60], data.targets[:60]
    useless = Laplacian(1e-9)
    assert quick(structure=[useless, None]).fit(graphs, y).best_params_["structure"] is None
    same = quick(structure=[Laplacian(3.0), Laplacian(3.0 + 1e-9)]).fit(graphs, y)
    assert same.best_params_["structure"] == Laplacian(3.0)


def choice_between(first, second, smallest_gain=0.0):
    """Number of the kernel that is chosen, from the scores of both in every fold."""
    scores = iter([np.array(first), np.array(second)])
    products = SimpleNamespace(fit_kernels=lambda kernels: kernels)
    solver = SimpleNamespace(out_of_fold=lambda *_: [[[None] for _ in first]])
    folds, score = [(None, None)] * len(first), lambda _: next(scores)
    selection = Selection(solver, [1.0], folds, score, None)
    for kernel in (0, 1):
        selection.consider({}, kernel, products, [({}, ExponentialGraphKernel())])
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
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


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
    first = np.unique(y, return_index=True)[1]
    model = quick(cv=5).fit(graphs[: first[2] + 2], y[: first[2] + 2])
    assert model.n_splits_ == 5
    assert model.predict_proba(graphs).shape == (90, 3)
    model = quick(cv=5).fit(graphs[: first[2] + 1], y[: first[2] + 1])
    assert set(model.classes_) == {0, 1, 2}
    fails(lambda: model.predict_proba(graphs), "two graphs of each class")
    model = quick(C=(7, 70)).fit(graphs[first], y[first])  # no fold at all
    assert model.n_splits_ == 0
    assert np.isnan(model.best_score_)
    assert (model.best_params_["C"], model.best_params_["graph_kernel__p"]) == (7, 1)
    assert_array_equal(model.predict(graphs[first]), y[first])


def test_graphs_that_are_all_alike_have_a_bandwidth():
    graphs = GraphBatch.concatenate([make_graph_classification(n_graphs=2, rng=0).graphs[:1]] * 9)
    odd = make_graph_classification(n_graphs=2, rng=5).graphs[1:]
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
    assert_array_equal(model.predict(graphs), same.predict(list(batch)))
    own = quick().fit(data)
    assert_array_equal(own.support_, quick().fit(data.graphs, data.targets).support_)
    assert own.score(data) == own.score(data.graphs, data.targets)


def test_clone_pickle_and_repr(fitted, data):
    copy = clone(fitted)
    assert repr(copy.get_params()) == repr(fitted.get_params())
    assert not hasattr(copy, "dual_coef_")
    again = pickle.loads(pickle.dumps(fitted))
    expected = fitted.decision_function(data.graphs)
    assert_array_equal(again.decision_function(data.graphs), expected)
    assert "GraphClassifier" in fitted._repr_html_()
    with config_context(transform_output="pandas"):
        names = np.array(["b", "a", "c"], object)[data.targets[:60]]  # objects, in another order
        found = clone(fitted).fit(data.graphs[:60], names)
    assert found.classes_.tolist() == ["a", "b", "c"]
    assert_array_equal(
        found.predict(data.graphs), np.array(["b", "a", "c"])[fitted.predict(data.graphs)]
    )


def test_the_way_is_that_of_counted_work(data, monkeypatch):
    """Pairs of nodes choose the kernel, pairs of graphs and machines the machine."""
    graphs, y = data.graphs[:60], data.targets[:60]
    n_pairs = int((np.bincount(graphs.labels) ** 2).sum())
    model = GraphClassifier(cv=2, random_state=0)
    assert not model.fit(graphs, y).approximate_
    assert model.best_params_.keys() == {"C", *RetGK().usual_candidates}
    assert model.method_ == "exact kernel, support vectors: 60 graphs, 3 classes"
    monkeypatch.setattr(predictor, "MOST_PAIRS", n_pairs)
    assert not model.fit(graphs, y).approximate_
    monkeypatch.setattr(predictor, "MOST_PAIRS", n_pairs - 1)
    assert model.fit(graphs, y).approximate_
    assert model.method_.startswith("random features, support vectors")
    assert not quick().fit(graphs, y).approximate_
    monkeypatch.setattr(predictor, "MOST_PAIRS_OF_GRAPHS", 59**2)
    assert model.fit(graphs, y).solver_ == "ridge"
    assert "ridge with leave-one-out: 60 graphs, 3 classes" in model.method_
    assert model.set_params(solver="svm").fit(graphs, y).solver_ == "support vectors"
    monkeypatch.setattr(predictor, "MOST_GRAM_BYTES", 8 * 59**2)
    monkeypatch.setattr(predictor, "FEW_LANDMARKS", 20)
    monkeypatch.setattr(predictor, "MOST_PAIRS", n_pairs * 20 / 60)
    model.set_params(solver="auto").fit(graphs, y)
    assert not model.approximate_  # rows against landmarks are fewer pairs
    monkeypatch.setattr(ridge, "_MAX_PRODUCTS", 60 * 30)
    assert "ridge on 30 landmarks" in model.fit(graphs, y).method_


def test_many_classes_are_left_to_the_ridge():
    data = make_graph_classification(n_graphs=66, n_classes=11, n_labels=4, n_nodes=(5, 9), rng=0)
    model = quick().fit(data)
    assert model.solver_ == "ridge"
    assert "55 machines" in model.method_
    assert model.dual_coef_.shape == (11, 66)
    assert quick(solver="svm").fit(data).solver_ == "support vectors"
    assert isinstance(model.kernel_, RetGK)  # candidates of a user are those of one kernel


def test_labels_alone_may_tell_many_classes_apart():
    """Graphs of random structure whose label names the class: nothing may be in its way."""
    rng = np.random.default_rng(0)
    y = np.arange(180) % 12
    graphs = make_graph_classification(n_graphs=180, n_nodes=(5, 11), rng=0).graphs
    own = np.repeat(y, graphs.node_counts)
    strange = rng.integers(0, 12, len(own))
    graphs = graphs.with_labels(np.where(rng.random(len(own)) < 0.5, own, strange))
    model = GraphClassifier(C=10, cv=2, random_state=0).fit(graphs[:120], y[:120])
    assert "exact kernel and counts of labels, ridge" in model.method_
    counts = np.stack([np.bincount(g.labels, minlength=12) / g.n_nodes for g in graphs])
    assert (
        model.score(graphs[120:], y[120:]) >= np.mean(counts[120:].argmax(axis=1) == y[120:]) - 0.1
    )
    bare = GraphClassifier(C=10, cv=2, random_state=0).fit(graphs[:120].without_labels(), y[:120])
    assert isinstance(bare.kernel_, RetGK)


def test_large_vocabularies_are_embedded_label_by_label(monkeypatch):
    """Phases of a thousand features mix forty thousand labels: blocks of labels do not."""
    labels = [f"label {number}" for number in range(1100)]
    graphs = make_graph_classification(n_graphs=220, n_nodes=(5, 6), rng=0).graphs
    graphs = graphs.with_labels([labels[i % 1100] for i in range(graphs.n_nodes)])
    monkeypatch.setattr(predictor, "MOST_PAIRS", 0)
    found = predictor.kernel_to_fit(GraphClassifier(), graphs)
    assert found.feature_map == "joint"
    assert predictor.kernel_to_fit(GraphClassifier(), graphs.without_labels()).n_components == 1024


@pytest.mark.parametrize("kernel", [RetGK(), RetGK() + WeisfeilerLehman(), WeisfeilerLehman()])
def test_kernels_compared_on_landmarks_are_trained_on_all(kernel, data, monkeypatch):
    graphs, y = data.graphs[:60], data.targets[:60]
    monkeypatch.setattr(predictor, "FEW_LANDMARKS", 20)
    monkeypatch.setattr(predictor, "MOST_TO_SOLVE", 0)
    model = GraphClassifier(kernel, solver="ridge", random_state=0, n_jobs=1).fit(graphs, y)
    assert model.kernel_.n_graphs_ == 60
    table = model.cv_results_
    assert table["params"][model.best_index_] == model.best_params_
    assert table["mean_test_score"][model.best_index_] == model.best_score_
    alone = clone(model).set_params(n_landmarks=25).fit(graphs, y)
    assert alone.kernel_.n_graphs_ == 25
    assert "ridge on 25 landmarks" in alone.method_
    for one in (model, alone):
        assert one.score(data.graphs[60:], data.targets[60:]) > 0.6
        assert one.predict_proba(graphs).shape == (60, 3)


def test_a_grid_that_is_left_at_an_end_is_extended():
    data = make_graph_classification(n_graphs=60, rng=0)
    values = data.graphs.node_counts * 1.0
    found = GraphRegressor(RetGK(), candidates={}, random_state=0).fit(data.graphs, values)
    tried = sorted(found.cv_results_["param_C"])
    assert found.best_params_["C"] > 1000
    assert tried[-1] <= 1e6
    own = GraphRegressor(RetGK(), C=(1, 10), candidates={}, random_state=0)
    assert sorted(own.fit(data.graphs, values).cv_results_["param_C"]) == [1, 10]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ridge_takes_over_for_many_graphs(n_classes, monkeypatch):
    data = make_graph_classification(
        n_graphs=120, n_classes=n_classes, n_labels=3, n_nodes=(5, 15), rng=0
    )
    monkeypatch.setattr(predictor, "MOST_PAIRS_OF_GRAPHS", 50**2)
    model = quick(n_components=1024, n_landmarks=40, class_weight="balanced")
    model.fit(data.graphs[:90], data.targets[:90])
    assert model.solver_ == "ridge"
    assert len(model.support_) == model.kernel_.n_graphs_ == 40
    assert model.dual_coef_.shape == (1 if n_classes == 2 else 3, 40)
    assert model.score(data.graphs[90:], data.targets[90:]) > 0.6
    assert model.predict_proba(data.graphs[:3]).shape == (3, n_classes)


def test_many_new_graphs_are_done_in_parts(fitted, data, monkeypatch):
    whole = fitted.decision_function(data.graphs)
    monkeypatch.setattr(predictor, "GRAPHS_AT_A_TIME", 7)
    assert_allclose(fitted.decision_function(data.graphs), whole, atol=1e-3)
    assert fitted.decision_function(data.graphs[:0]).shape == (0, 3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_never_the_reverse_of_predictions(n_classes):
    codes = np.array([0, 1, 1, 1, *range(n_classes)] * 3)
    away = -(codes[:, None] == np.arange(n_classes)).astype(float)
    scores = away[:, 1:] if n_classes == 2 else away
    coef, intercept = fit_calibration(scores, codes)
    expected = np.bincount(codes) / len(codes)
    assert_allclose(class_probabilities(scores, coef, intercept), [expected] * len(codes))
    coef, intercept = fit_calibration(-scores, codes)
    assert (class_probabilities(-scores, coef, intercept).argmax(axis=1) == codes).all()


def test_probabilities_of_a_few_molecules_that_folds_get_wrong():
    pytest.importorskip("rdkit")
    molecules = ["CCO", "CCCO", "CCCCO", "CO", "CCN", "CCCN", "CCCCN", "CN"]
    model = GraphClassifier(RetGK(), random_state=0)
    model.fit(as_batch(molecules, chemistry="elements"), [0] * 4 + [1] * 4)
    assert_allclose(model.predict_proba(molecules), 0.5)


def test_probabilities_are_calibrated():
    """Where classes overlap, graphs called 0.7 are right in about 70 % of cases."""
    data = make_graph_classification(n_graphs=400, n_classes=2, n_nodes=(5, 8), rng=3)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.25, 1 - data.targets, data.targets)
    model = quick(C=1, p=1, scale=1).fit(data.graphs[:200], y[:200])
    probabilities = model.predict_proba(data.graphs[200:])
    confidence = probabilities.max(axis=1).mean()
    hits = (model.classes_[probabilities.argmax(axis=1)] == y[200:]).mean()
    assert abs(confidence - hits) < 0.1


@pytest.mark.slow
@pytest.mark.real_data
def test_grid_search_over_steps_power_and_penalty_on_mutag(data_folder):
    data = load_tudataset("MUTAG", data_home=data_folder, download=False)
    grid = {
        "kernel__walks__n_steps": [10, 50],
        "kernel__graph_kernel__p": [1, 2],
        "C": [1, 10, 100],
    }
    search = GridSearchCV(
        GraphClassifier(RetGK(), candidates=None, cv=2, random_state=0),
        grid,
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ).fit(data.graphs, data.targets)
    assert len(search.cv_results_["params"]) == 12
    assert search.best_score_ > 0.85
    own = of_retgk(GraphClassifier, n_steps=(10, 50), C=(1, 10, 100), random_state=0)
    assert own.fit(data.graphs, data.targets).best_score_ > 0.86


# What it says of targets, parameters and new graphs that it cannot use


@pytest.mark.parametrize(
    ("make", "y", "about"),
    [
        (quick, [1] * 60, ("60 graphs", "one class", "1")),
        (quick, [0, 1] * 29, ("60 graphs", "58 targets")),
        (quick, 1, ("60 graphs", "one value")),
        (quick, [0.0, np.nan] * 30, ("graph 1", "nan")),
        (quick, np.array(["a", "b", None] * 20, object), ("graph 2", "None")),
        (quick, None, ("y", "None")),
        (quick, np.linspace(0, 1, 60), ("continuous", "GraphRegressor")),
        (quick, 2 * np.eye(60, 3), ("(60, 3)", "zeros and ones")),
        (quick, np.eye(60, 3).astype(str), "zeros and ones"),
        (quick, np.zeros((60, 3, 2)), "(60, 3, 2)"),
        (quick, np.ones((60, 2)), "2 labels"),
        (quick, np.ones((59, 2)), ("60 graphs", "59 targets")),
    ],
)
def test_bad_targets(make, y, about):
    fails(lambda: make().fit(DATA.graphs[:60], y), about, ValueError)


@pytest.mark.parametrize("n_components", [None, 1024])
@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"C": ()}, "C"),
        ({"C": (1, -1)}, ("C", "-1")),
        ({"p": (1, 3)}, ("p", "3")),
        ({"scale": (1, 0)}, ("scale", "0")),
        ({"cv": 1}, "cv=1"),
        ({"verbose": -1}, ("verbose", "-1")),
        ({"n_steps": (10, 4.0)}, ("n_steps", "4.0")),
        ({"n_steps": (10, True)}, ("n_steps", "True")),
        ({"structure": (None, "rbf")}, ("structure", "Laplacian")),
        ({"attributes": (None, Laplacian(1.0))}, ("no attributes", "attributes")),
        ({"n_components": "yes"}, ("n_components", "yes")),
    ],
)
def test_bad_parameters_are_found_before_any_work(options, about, n_components, monkeypatch):
    monkeypatch.setattr(Walks, "probabilities", lambda *_, **__: pytest.fail("works"))
    model = quick(**{"n_components": n_components, **options})
    fails(lambda: model.fit(DATA.graphs[:60], DATA.targets[:60]), about)


def test_new_graphs_must_be_like_the_fitted(fitted, data):
    fails(lambda: fitted.predict(data.graphs.without_labels()), "no labels")
    with pytest.raises(NotFittedError):
        GraphClassifier().predict(data.graphs)
    plain = of_retgk(GraphClassifier, **OPTIONS).fit(
        to_networkx(data.graphs.without_labels()), data.targets
    )
    for X in (np.zeros((5, 2), int), np.eye(4)):  # edges, or one graph, to all who are not told
        fails(lambda X=X: plain.predict(X), "[matrix]")
    assert len(plain.predict([np.ones((3, 3))])) == 1


def test_new_labels_are_no_error(fitted, data):
    renamed = data.graphs[60:].with_labels([f"new {label}" for label in data.graphs[60:].labels])
    with pytest.warns(UserWarning, match=r"no node label of the graphs is known: they have 'new"):
        assert len(fitted.predict(renamed)) == 30


@pytest.mark.parametrize("n_components", [None, 1024])
def test_labels_of_another_type_are_a_warning(n_components, data):
    texts = data.graphs.with_labels([str(label) for label in data.graphs.labels])
    model = quick(n_components=n_components).fit(texts, data.targets)
    with pytest.warns(UserWarning, match=r"they have 0 \(int\), 1 \(int\).*ones '0' \(str\), '1'"):
        model.predict(data.graphs.with_labels(data.graphs.labels))
    some = data.graphs.with_labels(np.where(data.graphs.labels == 0, "0", "new"))
    assert len(model.predict(some)) == len(some)


# What fitting says: lines of the logger, what it will take, and what came instead of graphs

OPTIONS = {"n_steps": 6, "C": (1, 10), "p": 1, "scale": 1, "cv": 3, "depth": 0, "random_state": 0}


def lines_of(caplog, **options):
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="retgk"):
        of_retgk(GraphClassifier, **{**OPTIONS, **options}).fit(DATA)
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_the_logger(caplog):
    lines = lines_of(caplog, n_steps=(6, 8))
    infos = [text for level, text in lines if level == "INFO"]
    assert infos[0] == "exact kernel, support vectors: 90 graphs, 3 classes"
    assert re.match(
        r"90 graphs of \d+ nodes, exact kernel, 2 x 2 candidates, 3 folds: abo", infos[1]
    )
    assert any(re.match(r"inner products 2 of 2: [\d.]+ s", text) for text in infos)
    assert any(re.match(r"chosen: \{'C': .*\}, score 0\.\d+", text) for text in infos)
    details = [text for level, text in lines if level == "DEBUG"]
    assert len(details) == 4
    assert re.match(r"\{'C': 1.0, .*'walks__n_steps': 6.*\}: 0\.\d{4}", details[0])


def test_the_logger_is_silent_by_itself(capsys):
    of_retgk(GraphClassifier, **OPTIONS).fit(DATA)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    handlers = logging.getLogger("retgk").handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in handlers)


@pytest.mark.parametrize(("verbose", "n_details"), [(1, 0), (2, 2), (True, 0), (np.int64(2), 2)])
def test_verbose(verbose, n_details, capsys):
    for model, y in ((GraphClassifier, DATA.targets), (GraphRegressor, DATA.graphs.node_counts)):
        of_retgk(model, **OPTIONS, verbose=verbose).fit(DATA.graphs, y)
        lines = capsys.readouterr().out.splitlines()
        assert all(line.startswith("[retgk] ") for line in lines)
        assert sum("chosen: " in line for line in lines) == 1
        assert sum(line.startswith("[retgk] {'C'") for line in lines) == n_details


MANY = {"n_steps": tuple(range(1, 14))}


@pytest.mark.parametrize(
    ("options", "found", "about"),
    [
        ({}, (1.0, 700.0, 5.0, 0.0), ("12 minutes", "n_components=1024")),
        ({"n_components": 1024}, (1.0, 700.0, 5.0, 0.0), ("12 minutes", "n_components")),
        (MANY, (1.0, 7500.0, 5.0, 0.0), ("2 hours", "candidates")),
        ({}, (1.0, 5.0, 700.0, 0.0), "C=10"),
        ({}, (500.0, 5.0, 200.0, 0.0), 'method="monte-carlo"'),
        ({}, (1.0, 1.0, 1.0, 1e18), ("GiB", "n_components=1024")),
        ({"n_components": 1024}, (1.0, 1.0, 1.0, 1e18), ("GiB", "fewer graphs")),
    ],
)
def test_warnings_name_what_makes_it_smaller(options, found, about, monkeypatch):
    monkeypatch.setattr(fit_cost, "estimate", lambda *_: Estimate(*found))
    with pytest.warns(InputWarning) as caught:
        of_retgk(GraphClassifier, **{**OPTIONS, **options}).fit(DATA)
    assert_names(str(caught[0].message), about)


def test_no_warning_of_short_work_nor_twice_of_walks(monkeypatch):
    for found in ((1.0, 1.0, 1.0, 1.0), (700.0, 1.0, 1.0, 1.0)):
        monkeypatch.setattr(fit_cost, "estimate", lambda *_, found=found: Estimate(*found))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            of_retgk(GraphClassifier, **OPTIONS).fit(DATA)


def of_sizes(n_graphs, **options):
    graphs = make_graph_classification(n_graphs, n_nodes=(5, 9), rng=0).graphs
    own = [RetGK(walks=Walks(n), n_components=200) for n in options.pop("n_steps", (50,))]
    size = FitSize(False, n_graphs, 4, 4, 5, 1, False)._replace(**options)
    return estimate(GraphClassifier(n_jobs=1), graphs, own, size)


def test_more_work_takes_longer():
    base = of_sizes(200)
    assert of_sizes(400).seconds > 2 * base.seconds
    assert of_sizes(200, n_steps=(50, 49)).kernel == 2 * base.kernel
    assert of_sizes(200, n_folds=10).choosing > base.choosing
    assert of_sizes(200, n_outputs=3).choosing == 3 * base.choosing
    assert of_sizes(200, is_embedded=True).seconds < base.seconds
    assert of_sizes(400).n_bytes > 2 * base.n_bytes
    assert of_sizes(200, is_embedded=True, is_ridge=True, n_columns=20).n_bytes > 0


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "is_embedded", "seconds"),
    [("NCI1", False, 15.0), ("NCI1", True, 14.0), ("DD", True, 7.0)],
)
def test_estimates_beside_measured_times(name, is_embedded, seconds, data_folder):
    """Of two cores, in seconds that were measured once; no time is taken here."""
    graphs = load_tudataset(name, data_folder).graphs
    size = FitSize(is_embedded, len(graphs), 4, 4, 5, 1, False)
    model = GraphClassifier(n_jobs=1)
    found = estimate(model, graphs, [RetGK(n_components=1024)], size).seconds / 2
    assert seconds / 3 < found < 3 * seconds


# Several labels or values for each graph, from one kernel

GRAPHS, TEST = DATA.graphs[:60], DATA.graphs[60:]
LARGE = DATA.graphs.node_counts > np.median(DATA.graphs.node_counts)
ALL_LABELS = np.stack([DATA.targets == 0, DATA.targets == 1, LARGE], axis=1).astype(int)
LABELS, TEST_LABELS = ALL_LABELS[:60], ALL_LABELS[60:]
SEVERAL = {
    "n_steps": 8,
    "C": (1, 100),
    "p": 1,
    "scale": 1,
    "cv": 3,
    "depth": 0,
    "random_state": 0,
}
FOLDS = [(np.flatnonzero(np.arange(60) % 3 != f), np.arange(f, 60, 3)) for f in range(3)]


@pytest.mark.parametrize(
    ("n_components", "dtype"), [(None, int), (None, float), (64, bool), (64, object)]
)
def test_several_labels(n_components, dtype, tmp_path):
    model = of_retgk(GraphClassifier, **SEVERAL, n_components=n_components).fit(
        GRAPHS, LABELS.astype(dtype)
    )
    assert model.multilabel_
    assert model.classes_.tolist() == [0, 1, 2]
    found, probabilities = model.predict(TEST), model.predict_proba(TEST)
    assert_array_equal(found, (model.decision_function(TEST) > 0).astype(int))
    assert probabilities.shape == found.shape == (30, 3)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert model.score(TEST, TEST_LABELS) == (found == TEST_LABELS).all(axis=1).mean()
    assert (found == TEST_LABELS).mean() > 0.75
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    assert loaded.multilabel_
    assert_array_equal(loaded.predict_proba(TEST), probabilities)
    model.set_params(scoring=lambda *_: 0.0)
    fails(lambda: save_model(model, tmp_path / "model.retgk"), "set_params(scoring=None)")


@pytest.mark.parametrize("is_ridge", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1, 1: 3}])
def test_labels_are_as_alone(is_ridge, class_weight):
    """With one candidate, each label has the machine that it has without the others."""
    changes = {
        "C": 10,
        "cv": FOLDS,
        "n_components": 1024 if is_ridge else None,
        "solver": "ridge" if is_ridge else "auto",
        "class_weight": class_weight,
    }
    model = of_retgk(GraphClassifier, **{**SEVERAL, **changes})
    together = clone(model).fit(GRAPHS, LABELS)
    assert together.solver_ == ("ridge" if is_ridge else "support vectors")
    for label in range(3):
        model.fit(GRAPHS, LABELS[:, label])
        decisions, probabilities = model.decision_function(TEST), model.predict_proba(TEST)[:, 1]
        assert_allclose(together.decision_function(TEST)[:, label], decisions, atol=1e-6)
        assert_allclose(together.predict_proba(TEST)[:, label], probabilities, atol=1e-6)


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_labels_in_cross_validation(scoring):
    model = of_retgk(GraphClassifier, **SEVERAL)
    assert (cross_val_score(model, DATA.graphs, ALL_LABELS, cv=2, scoring=scoring) > 0.4).all()


@pytest.mark.parametrize("n_components", [None, 1024])
def test_a_label_that_all_graphs_have(n_components):
    labels = np.column_stack([LABELS, np.ones(60, int), np.zeros(60, int)])
    model = of_retgk(GraphClassifier, **SEVERAL, n_components=n_components)
    with pytest.warns(InputWarning, match="label 3, 4 is the same for all 60 graphs, and so is"):
        model.fit(GRAPHS, labels)
    assert_array_equal(model.predict(TEST)[:, 3:], np.tile([1, 0], (30, 1)))
    assert (model.predict_proba(TEST)[:, 3] > 0.9).all()
    assert (model.predict_proba(TEST)[:, 4] < 0.1).all()
    expected = of_retgk(GraphClassifier, **SEVERAL, n_components=n_components).fit(GRAPHS, LABELS)
    assert_allclose(model.decision_function(TEST)[:, :3], expected.decision_function(TEST))


def test_folds_share_labels():
    labels = (np.random.default_rng(0).random((400, 4)) < [0.5, 0.2, 0.05, 0.3]).astype(int)
    for _, test in inner_folds(5, labels, 0):
        assert abs(len(test) - 80) <= 1
        assert (np.abs(labels[test].sum(axis=0) - labels.sum(axis=0) / 5) <= 4).all()


@pytest.mark.parametrize("n_components", [None, 1024])
def test_values_are_as_alone(n_components):
    y = np.stack([GRAPHS.node_counts, 1000.0 * GRAPHS.edge_counts], axis=1)
    options = {**SEVERAL, "C": 10, "n_components": n_components}
    together = of_retgk(GraphRegressor, **options).fit(GRAPHS, y)
    assert together.predict(TEST).shape == (30, 2)
    for column in range(2):
        alone = of_retgk(GraphRegressor, **options).fit(GRAPHS, y[:, column])
        assert_allclose(together.predict(TEST)[:, column], alone.predict(TEST), rtol=1e-7)


# Any kernel: sums, products, kernels of users, and values that were computed before

RETGK = RetGK(walks=Walks(6), structure=Laplacian(2.0), tol=0)
KERNELS = {
    "sum": RETGK + WeisfeilerLehman(2),
    "product": RETGK * WeisfeilerLehman(2),
    "own": Own(2.0),
    "mean": mean_of([RETGK, Own(), 2 * ShortestPath()]).normalized(),
}
CLASSES = DATA.targets[:60]
PLAIN = {"cv": 3, "C": 10, "random_state": 0}


@pytest.mark.parametrize("name", KERNELS)
def test_machines_of_all_kernels_are_those_of_their_matrix(name, tmp_path):
    kernel = KERNELS[name]
    model = GraphClassifier(kernel, candidates=None, **PLAIN).fit(GRAPHS, CLASSES)
    own = clone(kernel).set_params(**{"k1__random_state": 0} if name in ("sum", "product") else {})
    machine = SVC(C=10, kernel="precomputed", break_ties=True, class_weight=None)
    machine.fit(own.fit_transform(GRAPHS), CLASSES)
    assert_array_equal(model.support_, machine.support_)
    expected = machine.decision_function(own.transform(TEST))
    assert_allclose(model.decision_function(TEST), expected, atol=1e-6)
    assert model.best_params_ == {"C": 10.0}
    for again in (pickle.loads(pickle.dumps(model)), saved(model, tmp_path)):
        assert_array_equal(again.predict_proba(TEST), model.predict_proba(TEST))
    assert repr(clone(model)) == repr(model)
    assert cross_val_score(model, DATA.graphs, DATA.targets, cv=3).min() > 0.4


def saved(model, folder):
    save_model(model, folder / "model.retgk")
    return load_model(folder / "model.retgk", trust=[Own.__module__])


@pytest.mark.parametrize("name", ["sum", "product"])
def test_parts_are_chosen_as_if_they_were_alone(name):
    kernel = clone(KERNELS[name]).set_params(k2=WeisfeilerLehman())
    options = PLAIN | {"C": (1, 100)}
    model = GraphClassifier(kernel, **options).fit(GRAPHS, CLASSES)
    for part in ("k1", "k2"):
        alone = GraphClassifier(getattr(kernel, part), **options).fit(GRAPHS, CLASSES)
        chosen = {f"{part}__{key}": own for key, own in alone.best_params_.items() if key != "C"}
        assert chosen.items() <= model.best_params_.items()
        assert chosen
    assert len(model.cv_results_["params"]) == 2
    assert model.kernel_.k2.n_iter == model.best_params_["k2__n_iter"]


def test_candidates_of_parts():
    kernel, values = KERNELS["sum"], (0.01, 2.0)
    chosen = {"k1__structure__gamma": values, "k2__n_iter": (1, 2)}
    model = GraphClassifier(kernel, candidates=chosen, **PLAIN).fit(GRAPHS, CLASSES)
    assert len(model.cv_results_["params"]) == 4
    best = model.cv_results_["mean_test_score"].max()
    assert model.best_score_ == best
    assert model.kernel_.k1.structure.gamma == model.best_params_["k1__structure__gamma"]
    assert kernel.k1.structure == Laplacian(2.0)  # that of the user is as it was
    grid = {"kernel__k1__structure__gamma": values, "kernel__k2__n_iter": [1, 2]}
    search = GridSearchCV(GraphClassifier(kernel, candidates=None, **PLAIN), grid, cv=3)
    search.fit(GRAPHS, CLASSES)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.kernel_.k2.n_iter == search.best_params_["kernel__k2__n_iter"]


@pytest.mark.parametrize("make", [GraphClassifier, GraphRegressor])
@pytest.mark.parametrize(
    ("kernel", "candidates", "about"),
    [
        (KERNELS["sum"], {"k1__dept": (0, 1)}, ("k1__dept", "k1__depth")),
        (KERNELS["sum"], {"k1__structure__gamma": (1.0, -1.0)}, ("gamma", "-1.0")),
        (KERNELS["sum"], {"k2__n_iter": (1, -1)}, ("n_iter", "-1")),
        (RETGK, {"depth": ()}, "depth"),
        (RETGK, ["depth"], ("candidates", "depth")),
        ("RetGK", "auto", ("kernel", "'RetGK'")),
        (RetGK, "auto", "kernel"),
    ],
)
def test_bad_kernels_and_candidates(make, kernel, candidates, about, monkeypatch):
    monkeypatch.setattr(Walks, "probabilities", lambda *_, **__: pytest.fail("works"))
    model = make(kernel, candidates=candidates, **PLAIN)
    fails(lambda: model.fit(GRAPHS, CLASSES), about)


def test_precomputed_values_are_as_good_as_the_kernel(tmp_path):
    matrix = RetGK(walks=Walks(6), tol=0, random_state=0).fit_transform(DATA.graphs)
    model = GraphClassifier(Precomputed(), **PLAIN).fit(matrix[:60, :60], CLASSES)
    machine = SVC(C=10, kernel="precomputed", break_ties=True).fit(matrix[:60, :60], CLASSES)
    assert_array_equal(model.support_, machine.support_)
    expected = machine.decision_function(matrix[60:, :60])
    for own in (model, saved(model, tmp_path), pickle.loads(pickle.dumps(model))):
        assert_allclose(own.decision_function(matrix[60:, :60]), expected, atol=1e-6)
    found = cross_val_score(model, matrix, DATA.targets, cv=StratifiedKFold(3))
    machine = SVC(C=10, kernel="precomputed", break_ties=True)
    assert_allclose(found, cross_val_score(machine, matrix, DATA.targets, cv=StratifiedKFold(3)))
    fails(lambda: model.predict(matrix[60:]), ("90", "60"))
    fails(lambda: model.fit(matrix[:60], CLASSES), "(60, 90)")
    fails(lambda: model.explain(matrix[60:, :60]), "Precomputed")
    fails(lambda: (Precomputed() + RETGK).fit(GRAPHS), "Precomputed")


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_elements_and_charges_that_training_did_not_have_are_told(name, tmp_path):
    chem = pytest.importorskip("rdkit.Chem")
    smiles = ["CC", "CCO", "CCC", "CCCO", "CN", "CCN"] * 2
    model = GraphClassifier(KERNELS[name], **PLAIN).fit(smiles, [0, 1] * 6)
    new = ["CC", "C[Si]", "CC[NH3+]", "CC[Si]"]
    told = ("graph 1 (C[Si]) has Si", "graph 2 (CC[NH3+]) has charge +1", "graph 3 (CC[Si]) has Si")
    for own in (model, saved(model, tmp_path)):
        with pytest.warns(UnseenWarning) as found:
            own.predict(new)
        assert_names(str(found[0].message), told)
        assert "graph 0" not in str(found[0].message)
    kernel = model.kernel_
    values, norms = kernel.rows_and_norms(as_batch(new[1:2]))
    squared = norms[0] + kernel.norms() - 2 * values[0]
    place = int(np.argmin(squared))
    nearest = f"distance {np.sqrt(squared[place]):.3g} from its nearest training graph, "
    assert f"{nearest}{model.support_[place]}" in str(found[0].message)
    data = GraphDataset(as_batch(new)[1:3], None, "new", graph_names=["one", "two"], rows=[5, 8])
    with pytest.warns(UnseenWarning, match=r"graph 5 \(one\) has Si, .*graph 8 \(two\) has"):
        model.predict(data)
    with pytest.warns(UnseenWarning, match="graph 0 has H, .* fit with add_hydrogens=True"):
        model.predict(chem.AddHs(chem.MolFromSmiles("CC")))
    model.predict(["CCCCN"])
    named = GraphDataset(as_batch(smiles), None, "", graph_names=[f"no. {i}" for i in range(12)])
    model = GraphClassifier(KERNELS[name], **PLAIN).fit(named, [0, 1] * 6)
    with pytest.warns(UnseenWarning, match=r"nearest training graph, no\. "):
        model.predict(["C[Si]"])
    elements = as_batch(smiles, chemistry="elements")
    model = GraphClassifier(KERNELS[name], **PLAIN).fit(elements, [0, 1] * 6)
    model.predict(["CC[NH3+]"])  # charges were not read
    with pytest.warns(UnseenWarning, match="Si"):
        model.predict(["C[Si]"])


def test_explanations_tell_of_elements_that_training_did_not_have():
    model = GraphClassifier(**PLAIN).fit(["CC", "CCO", "CCC", "CCCO"] * 3, [0, 1] * 6)
    with pytest.warns(UnseenWarning, match="graph 0 .*has Si"):
        model.explain(["C[Si]"])


def test_folds_tell_of_no_elements():
    pytest.importorskip("rdkit")
    smiles = ["CC", "CCO", "CCC", "CCCO", "C[Si]", "CCN", "CF", "CCCl"]
    targets, model = np.array([0, 1] * 4), GraphClassifier(RETGK, C=1, random_state=0)
    for number, fold in enumerate(with_groups(stratified_folds(targets, 0, 4), None)):
        fold_answer(model, as_batch(smiles), targets, fold, number)


# Labels that are missing


def with_gaps(values, share=0.2):
    """Values of which some are not known."""
    gaps = np.random.default_rng(3).random(np.shape(values)) < share
    return np.where(gaps, np.nan, values)


@pytest.mark.parametrize("n_landmarks", [None, 60])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_missing_labels_count_for_nobody(class_weight, n_landmarks, tmp_path):
    """Each label is learnt from the graphs that have it, as if these were all."""
    labels, kernel = with_gaps(LABELS), WeisfeilerLehman(n_iter=2)
    options = {"C": 10, "class_weight": class_weight, "solver": "ridge"}
    model = GraphClassifier(kernel, candidates={}, random_state=0, **options)
    model.set_params(n_landmarks=n_landmarks).fit(GRAPHS, labels)
    for label, column in enumerate(labels.T):
        known = np.flatnonzero(~np.isnan(column))
        alone = clone(model).set_params(n_landmarks=None).fit(GRAPHS[known], column[known])
        found = model.decision_function(TEST)[:, label]
        assert_allclose(found, alone.decision_function(TEST), atol=1e-4)
    assert ((model.support_codes_ == -1) == np.isnan(labels[model.support_])).all()
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    assert loaded.method_ == model.method_
    assert_array_equal(loaded.predict_proba(TEST), model.predict_proba(TEST))


@pytest.mark.parametrize("scoring", [None, "roc_auc", "average_precision", "accuracy"])
def test_scores_of_missing_labels(scoring):
    labels = with_gaps(LABELS)
    model = of_retgk(GraphClassifier, **SEVERAL).set_params(scoring=scoring).fit(GRAPHS, labels)
    assert "some labels are missing" in model.method_
    assert 0.5 < model.best_score_ <= 1
    tested = with_gaps(TEST_LABELS)
    is_right = np.isnan(tested) | (model.predict(TEST) == tested)
    assert model.score(TEST, tested) == is_right.all(axis=1).mean()
    assert model.explain(TEST, 1).contrast.shape == (30,)


def test_values_that_are_missing():
    values = with_gaps(np.column_stack([GRAPHS.node_counts, GRAPHS.edge_counts]))
    options = {"candidates": {}, "C": 10.0, "random_state": 0}
    model = GraphRegressor(WeisfeilerLehman(), **options).fit(GRAPHS, values)
    for output, column in enumerate(values.T):
        known = np.flatnonzero(~np.isnan(column))
        alone = clone(model).fit(GRAPHS[known], column[known])
        assert_allclose(model.predict(TEST)[:, output], alone.predict(TEST), atol=1e-7)
    tested = with_gaps(np.column_stack([TEST.node_counts, TEST.edge_counts]))
    scores = [
        r2_score(y[~np.isnan(y)], found[~np.isnan(y)])
        for y, found in zip(tested.T, model.predict(TEST).T, strict=True)
    ]
    assert model.score(TEST, tested) == pytest.approx(np.mean(scores))
    for scoring in (None, "neg_mean_absolute_error"):
        assert np.isfinite(model.set_params(scoring=scoring).fit(GRAPHS, values).best_score_)


@pytest.mark.parametrize("gap", [4.0, np.nan])
def test_values_that_are_one_in_a_fold(gap):
    """Their mean, 0.10000000000000002, once was as good as a spread, and R^2 -1e31."""
    values = np.column_stack([GRAPHS.node_counts, np.where(np.arange(60) < 3, 0.1, 4.7)])
    values[3, 1] = gap
    folds = [(np.arange(4, 60), np.arange(3)), (np.arange(30), np.arange(30, 60))]
    model = GraphRegressor(WeisfeilerLehman(), C=1.0, candidates={}, cv=folds, random_state=0)
    assert -1e4 < model.fit(GRAPHS, values).best_score_ <= 1


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_unit_of_values_does_not_matter(unit):
    values = with_gaps(np.column_stack([GRAPHS.node_counts, GRAPHS.edge_counts]).astype(float))
    for y in (values[:, 0], values[:, 1:], values):
        known = ~np.isnan(y.reshape(60, -1)).all(axis=1)
        model = GraphRegressor(WeisfeilerLehman(), candidates={}, random_state=0)
        plain, other = (clone(model).fit(GRAPHS[known], y[known] * by) for by in (1, unit))
        assert other.best_params_ == plain.best_params_
        assert other.best_score_ == pytest.approx(plain.best_score_)
        assert_allclose(other.predict(TEST) / unit, plain.predict(TEST), rtol=1e-7)


@pytest.mark.parametrize("C", [1e15, 1e100])
def test_least_squares_that_rounding_spoils_say_so(C):
    """Equal graphs of different values, and so little penalty that float64 has no digits left."""
    features = np.random.default_rng(0).normal(size=(10, 3))
    matrix = np.tile(features @ features.T, (3, 3))
    y, model = np.arange(30.0) % 7, GraphRegressor(Precomputed(), random_state=0)
    with pytest.warns(InputWarning, match="C is too large for the values of the kernel"):
        model.set_params(C=C).fit(matrix, y)
    means = model.set_params(C=1e6).fit(matrix, y).predict(matrix)  # without a warning
    inputs = np.column_stack([np.ones(30), np.tile(features, (3, 1))])
    assert_allclose(means, inputs @ np.linalg.lstsq(inputs, y)[0], atol=1e-4)


def test_missing_labels_that_cannot_be_left_out():
    labels = with_gaps(LABELS)
    fails(lambda: quick(solver="svm").fit(GRAPHS, labels), ("solver='svm'", "missing"))
    empty = np.column_stack([labels, np.full(60, np.nan)])
    fails(lambda: quick().fit(GRAPHS, empty), ("target 3", "leave its column out"))
    fails(lambda: quick().fit(GRAPHS, np.where(labels == 1, np.inf, labels)), ("graph", "inf"))


def graphs_of_two_columns():
    data = make_graph_classification(n_graphs=40, n_classes=2, rng=0)
    labels = [(code % 3, code % 2) for code in range(data.graphs.n_nodes)]
    return data.graphs.with_labels(labels, columns=("element", "charge")), data.targets


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_labels_of_several_columns_have_a_kernel_of_their_own(task, tmp_path):
    graphs, y = graphs_of_two_columns()
    kind = GraphClassifier if task == "classification" else GraphRegressor
    model = kind(random_state=0, n_jobs=1).fit(graphs[:30], y[:30])
    assert "kernel for molecules, ridge with leave-one-out" in model.method_
    own = {} if task == "regression" else {"solver": "ridge"}
    named = kind(molecule_kernel(task), random_state=0, n_jobs=1, **own).fit(graphs[:30], y[:30])
    assert repr(clone(model.kernel_)) == repr(molecule_kernel(task).with_common(1, 0))
    np.testing.assert_array_equal(model.predict(graphs[30:]), named.predict(graphs[30:]))
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    np.testing.assert_array_equal(loaded.predict(graphs[30:]), model.predict(graphs[30:]))
    plain = kind(random_state=0, n_jobs=1).fit(graphs.with_label_columns("charge")[:30], y[:30])
    assert isinstance(plain.kernel_, RetGK)


def test_candidates_of_retgk_ask_for_it():
    graphs, y = graphs_of_two_columns()
    own = {"graph_kernel__p": (1, 2), "depth": 0}
    model = GraphClassifier(candidates=own, C=1, random_state=0).fit(graphs, y)
    assert isinstance(model.kernel_, RetGK)
    fails(lambda: GraphClassifier(candidates={"colour": 1}).fit(graphs, y), "colour")


def test_gaps_contradict_nothing():
    """Equal graphs of which one lacks a label differ in the labels that both have alone."""
    graphs = GraphBatch.concatenate([GRAPHS[:20], GRAPHS[:20]])
    labels = with_gaps(np.vstack([LABELS[:20], LABELS[:20]]), 0.3)
    model = GraphClassifier(WeisfeilerLehman(), candidates={}, C=1, random_state=0)
    model.fit(graphs, labels)
    known = np.flatnonzero(~np.isnan(labels[:20, 0]) & ~np.isnan(labels[20:, 0]))[0]
    labels[known, 0] = 1 - labels[known, 0]
    with pytest.warns(InputWarning, match="1 group has|1 group of equal graphs"):
        model.fit(graphs, labels)
