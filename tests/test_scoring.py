"""Candidates are chosen by any scorer of scikit-learn, from out-of-fold decision values."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, get_scorer, log_loss, make_scorer
from sklearn.model_selection import StratifiedKFold

from retgk import GraphBatch, InvalidInputError, RetGKClassifier, RetGKRegressor
from retgk.errors import InputWarning
from retgk.learning.selection import fold_mean
from tests.classifier_graphs import three_classes

DATA = three_classes()
GRAPHS = DATA.graphs[:60]
CLASSES = DATA.targets[:60]
IS_RARE = (CLASSES == 2) & (np.arange(60) % 2 == 0)
OPTIONS = {"n_steps": 8, "C": (0.01, 1, 100), "p": 1, "scale": 1, "depth": 0, "random_state": 0}
FOLDS = list(StratifiedKFold(3).split(np.zeros(60), CLASSES))


def fitted(scoring, y=CLASSES, **options):
    return RetGKClassifier(**{**OPTIONS, "cv": FOLDS, **options, "scoring": scoring}).fit(GRAPHS, y)


@pytest.mark.parametrize("approximate", [False, True])
def test_accuracy_by_name_is_the_default(approximate):
    default, named = (fitted(scoring, approximate=approximate) for scoring in (None, "accuracy"))
    for key in ("mean_test_score", "split0_test_score", "rank_test_score"):
        np.testing.assert_array_equal(default.cv_results_[key], named.cv_results_[key])
    np.testing.assert_array_equal(default.dual_coef_, named.dual_coef_)


@pytest.mark.parametrize(
    ("scoring", "y"),
    [
        ("balanced_accuracy", CLASSES),
        ("f1_macro", CLASSES),
        ("matthews_corrcoef", CLASSES),
        ("roc_auc_ovr", CLASSES),
        ("neg_log_loss", CLASSES),
        ("roc_auc", IS_RARE),
        ("average_precision", IS_RARE),
        ("f1", IS_RARE),
        ("neg_brier_score", IS_RARE),
        ("roc_auc", np.stack([CLASSES == 0, CLASSES == 1], axis=1)),
        ("f1_macro", np.stack([CLASSES == 0, CLASSES == 1, IS_RARE], axis=1)),
    ],
)
def test_names(scoring, y):
    model = fitted(scoring, y, cv=3)
    results = model.cv_results_
    assert model.best_score_ == results["mean_test_score"][model.best_index_]
    assert np.isfinite(results["mean_test_score"]).all()
    assert results["mean_test_score"].max() <= 1
    assert get_scorer(scoring)(model, GRAPHS, y) <= 1


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
    model = RetGKRegressor(**OPTIONS, cv=3, scoring=scoring).fit(GRAPHS, GRAPHS.node_counts)
    assert model.best_score_ == model.cv_results_["mean_test_score"][model.best_index_]
    if scoring == "r2":
        default = RetGKRegressor(**OPTIONS, cv=3).fit(GRAPHS, GRAPHS.node_counts)
        assert default.best_score_ == model.best_score_


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("roc-auc", r"scoring='roc-auc' is no scorer .*did you mean 'roc_auc' or"),
        ("Acuracy", r"did you mean 'accuracy' or"),
        ("f1", r"scoring='f1' cannot be used: Target is multiclass but average='binary'"),
        ("roc_auc", r"scoring='roc_auc' cannot be used: multi_class must be in"),
        (["f1_macro"], r"scoring must be None, the name of a scorer or a callable with \(esti"),
        (f1_score, r"looks like it is a metric function rather than a scorer"),
        (lambda *_: "good", r"gave 'good', but a scorer gives one number"),
        (lambda model, X, _: model.predict(X[:2]).sum(), r"asked for predictions of 2 graphs, but"),
        (lambda *_: np.nan, r"is not defined in any fold"),
    ],
)
def test_errors_come_before_any_work(scoring, message, monkeypatch):
    monkeypatch.setattr("retgk.estimators.predictor._candidates", lambda *_: pytest.fail("works"))
    with pytest.raises(InvalidInputError, match=message):
        fitted(scoring)


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
    with pytest.warns(InputWarning, match=r"scoring='roc_auc' is not defined in fold 0 of cv, wh"):
        model = fitted("roc_auc", IS_RARE, cv=folds)
    assert np.isnan(model.cv_results_["split0_test_score"]).all()
    table = model.cv_results_
    means = [table[f"split{fold}_test_score"][model.best_index_] for fold in (1, 2)]
    assert model.best_score_ == np.mean(means)
    with pytest.raises(InvalidInputError, match="is not defined in any fold, as the test parts"):
        fitted("roc_auc", IS_RARE, cv=folds[:1])


def test_probabilities_need_other_folds():
    with pytest.raises(InvalidInputError, match="needs probabilities, which are calibrated on the"):
        fitted("neg_log_loss", cv=FOLDS[:1])


def test_weights_reach_the_scorers_that_take_them():
    weights = np.where(CLASSES == 0, 5.0, 1.0)
    model = RetGKClassifier(**OPTIONS, cv=FOLDS, scoring="accuracy")
    default = RetGKClassifier(**OPTIONS, cv=FOLDS)
    found = [each.fit(GRAPHS, CLASSES, weights).cv_results_ for each in (model, default)]
    np.testing.assert_allclose(*(table["mean_test_score"] for table in found), rtol=1e-12)
    knows_none = RetGKClassifier(**OPTIONS, cv=FOLDS, scoring="adjusted_rand_score")
    assert knows_none.fit(GRAPHS, CLASSES, weights).best_score_ <= 1
    own = make_scorer(lambda _, found: float(len(found)))
    assert own is not None
    assert RetGKClassifier(**OPTIONS, cv=FOLDS, scoring=own).fit(
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
