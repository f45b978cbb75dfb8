"""Comparisons of methods: the same folds, the formulas of the table, and its forms."""

import csv
import json
import re
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from retgk import GraphClassifier, GraphRegressor, InvalidInputError, as_batch, compare
from retgk.datasets import make_graph_classification
from retgk.errors import InputWarning
from retgk.kernels import WeisfeilerLehman
from retgk.learning import metrics as fold_answers
from retgk.learning.folds import OuterFold, check_keeps_groups, folds_without_groups, repeated_folds
from retgk.learning.metrics import FoldAnswer, fold_answer, metrics_of
from retgk.model_selection import Comparison
from retgk.model_selection import methods as methods_module
from retgk.model_selection import runs as method_runs
from retgk.model_selection.methods import (
    METHODS,
    GraphSizes,
    check_can_resume,
    estimator_key,
    new_estimators,
)
from retgk.model_selection.runs import new_plan
from retgk.model_selection.table import caption, comparison_of, corrected_t_test, header
from tests.errors import fails
from tests.slow_methods import DATA

MADE = make_graph_classification(40, n_labels=3, n_nodes=(6, 12), rng=0)


# The machine on a kernel


def test_a_kernel_has_the_machine_of_scikit_learn() -> None:
    train, test = MADE.graphs[:30], MADE.graphs[30:]
    kernel = WeisfeilerLehman(n_iter=2)
    model = GraphClassifier(kernel, C=[10.0], candidates={}, random_state=0).fit(
        train, MADE.targets[:30]
    )
    own = SVC(C=10.0, kernel="precomputed").fit(kernel.fit_transform(train), MADE.targets[:30])
    rows = kernel.transform(test)
    np.testing.assert_allclose(model.decision_function(test), own.decision_function(rows))
    np.testing.assert_array_equal(model.predict(test), own.predict(rows))


def test_kernel_and_penalty_are_chosen_on_inner_folds() -> None:
    """The mean accuracy over the inner folds is that of scikit-learn, candidate by candidate."""
    from sklearn.model_selection import cross_val_score

    codes = np.unique(MADE.targets, return_inverse=True)[1]
    cv = [(np.flatnonzero(codes >= 0)[i::4], np.arange(40)[(i + 1) % 4 :: 4]) for i in range(4)]
    rounds, penalties = (1, 3), (0.1, 1.0, 100.0)
    model = GraphClassifier(
        WeisfeilerLehman(),
        candidates={"n_iter": rounds},
        C=penalties,
        cv=cv,
        random_state=0,
    ).fit(MADE.graphs, MADE.targets)
    means = {
        (n, C): cross_val_score(
            SVC(C=C, kernel="precomputed"),
            WeisfeilerLehman(n).fit_transform(MADE.graphs),
            MADE.targets,
            cv=cv,
        ).mean()
        for n in rounds
        for C in penalties
    }
    assert model.best_score_ == pytest.approx(max(means.values()))
    chosen = model.best_params_["n_iter"], model.best_params_["C"]
    assert means[chosen] == pytest.approx(max(means.values()))


def test_values_are_regressed_on() -> None:
    sizes = MADE.graphs.node_counts.astype(float)
    model = GraphRegressor(WeisfeilerLehman(2, normalize=False), candidates={}, random_state=0)
    found = model.fit(MADE.graphs[:30], sizes[:30]).predict(MADE.graphs[30:])
    assert np.corrcoef(found, sizes[30:])[0, 1] > 0.9


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_made_and_has_the_same_key_again(name: str, regression: bool) -> None:
    graphs = as_batch(["CCO"])
    made, again = (new_estimators([name], regression, graphs)[name] for _ in range(2))
    assert estimator_key(made) == estimator_key(again)
    assert hasattr(made, "predict")


def test_the_page_names_every_method() -> None:
    page = (Path(__file__).parent.parent / "docs" / "comparing.md").read_text()
    assert [name for name in METHODS if f"`{name}`" not in page] == []


def test_keys_of_methods_depend_on_parameters_but_not_on_threads() -> None:
    model = GraphClassifier()
    assert estimator_key(model) == estimator_key(GraphClassifier(n_jobs=2))
    assert estimator_key(model) != estimator_key(GraphClassifier(C=3))
    deep = [GraphClassifier(WeisfeilerLehman(n)) for n in (1, 2)]
    assert estimator_key(deep[0]) != estimator_key(deep[1])
    threads = [GraphClassifier(WeisfeilerLehman(n_jobs=n)) for n in (1, 2)]
    assert estimator_key(threads[0]) == estimator_key(threads[1])


@pytest.mark.parametrize("change", [1.0, 1e-12])
def test_all_of_an_array_is_in_the_key_of_a_method(change: float) -> None:
    values = np.ones(2000)
    values[1000] += change
    one, other = (GraphClassifier(WeisfeilerLehman(), C=C) for C in (np.ones(2000), values))
    assert estimator_key(one) != estimator_key(other)


def test_predictions_that_are_no_class_are_an_error() -> None:
    """They would count as the class whose place they fall on."""
    answer = FoldAnswer(np.arange(2), np.array([-1, 1]), {})
    fails(lambda: answer.outcome(np.array([0, 1]), np.array([0, 1])), about="-1")


# The table, without processes


def folds_of(seed: int = 0, n_folds: int = 4) -> Any:
    return repeated_folds(MADE.targets, n_folds, [seed, seed + 1], regression=False)


def record_of(score: float, place: tuple[int, int]) -> dict[str, Any]:
    scores = {"accuracy": score, "balanced_accuracy": score, "roc_auc": score}
    own = {"repetition": place[0], "fold": place[1], "failure": None, "scores": scores}
    took = {"seconds": 1.0 + place[1], "processor": 2.0 + 2.0 * place[1]}
    return {**own, "chosen": {"C": 1}, **took, "peak_mb": 100.0 + place[0]}


def table_of(values: dict[str, Any], name: str = "toy") -> Comparison:
    """Table of methods with these scores on eight folds; a text is what stopped one."""
    plan = new_plan(name, MADE.graphs, MADE.targets, folds_of(), False, None, 0)
    finished: dict[str, Any] = {}
    failures: dict[str, Any] = {}
    for method, own in values.items():
        is_failed = isinstance(own, str)
        scores = [0.9] if is_failed else own
        places = plan.places[: len(scores)]
        pairs = zip(scores, places, strict=True)
        finished[method] = {place: record_of(score, place) for score, place in pairs}
        failures[method] = {"failure": own} if is_failed else None
    return comparison_of(plan, finished, failures)


GOOD, BAD = [0.9, 0.8, 0.9, 0.8, 1.0, 0.9, 0.7, 0.9], [0.5, 0.6, 0.5, 0.6, 0.5, 0.4, 0.5, 0.6]


def test_rows_are_ranked_and_tested_against_the_best() -> None:
    table = table_of({"bad": BAD, "stopped": "did not finish in 5 s", "good": GOOD})
    assert [row["method"] for row in table.rows] == ["good", "bad", "stopped"]
    good, bad, stopped = table.rows
    assert good["accuracy"] == pytest.approx(np.mean(GOOD))
    assert good["accuracy_se"] == pytest.approx(np.std(GOOD, ddof=1) / np.sqrt(8))
    assert [row["ratio"] for row in table.rows] == [1.0, 1.0, pytest.approx(2 / 5)]
    assert (good["p_value"], good["seconds"], good["peak_mb"]) == (None, 2.5, 101.0)
    expected = corrected_t_test(np.subtract(GOOD, BAD), 30, 10).p_value
    assert bad["p_value"] == pytest.approx(expected)
    assert (stopped["status"], stopped["folds"]) == ("did not finish in 5 s", 1)
    assert stopped["accuracy"] is None
    assert len(table.folds) == 17


def test_scores_that_are_not_defined_do_not_count() -> None:
    table = table_of({"a": GOOD, "b": [None, *BAD[1:]], "c": [None] * 8})
    a, b, c = table.rows
    assert b["accuracy"] == pytest.approx(np.mean(BAD[1:]))
    assert b["p_value"] == pytest.approx(
        corrected_t_test(np.subtract(GOOD[1:], BAD[1:]), 30, 10).p_value
    )
    assert (c["method"], c["accuracy"]) == ("c", None)
    assert np.isnan(c["p_value"])
    assert (a["method"], a["p_value"]) == ("a", None)


def test_a_p_value_that_cannot_be_estimated_is_a_dash() -> None:
    """All folds differ by the same: the variance is zero, which says nothing of chance."""
    table = table_of({"good": GOOD, "shifted": [value - 0.05 for value in GOOD], "same": GOOD})
    good, same, shifted = table.rows
    assert (good["p_value"], same["p_value"]) == (None, 1.0)
    assert np.isnan(shifted["p_value"])
    assert [row["p_value"] for row in csv.DictReader(table.to_csv().splitlines())] == [
        "", "1.0", "nan",
    ]  # fmt: skip
    for text in (repr(table), table.to_latex()):
        line = next(line for line in text.splitlines() if line.startswith("shifted"))
        assert " - " in line
        assert "textbf" not in line
    page = table._repr_html_()
    assert "<td>-</td>" in page
    assert page.count('class="best"') == 2
    assert "<td>-</td>" in table.to_html()
    assert "(-: the differences do not vary" in table.to_html()
    assert "(-: " not in table_of({"good": GOOD, "bad": BAD}).to_html()


HOSTILE = '<script>alert("x")</script> & \\input{/etc/passwd} $x_1$ ~^#%\n\x1b[31m\u202e</style>'


class Tags(HTMLParser):
    """Names of all tags, and all text outside of the style."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_names_are_text_in_pages() -> None:
    page = table_of({HOSTILE: GOOD, "b": HOSTILE}, HOSTILE).to_html()
    found = Tags()
    found.feed(page)
    assert not found.tags & {"script", "iframe", "object", "a"}
    assert '<script>alert("x")</script>' in found.text
    assert page.count("</style>") == 1
    assert "default-src 'none'" in page
    sources = re.findall(r'src="([^"]{0,30})', page)
    assert sources
    assert all(each.startswith("data:image/svg+xml;base64,") for each in sources)
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_hostile_names_are_text_in_latex() -> None:
    text = table_of({HOSTILE: GOOD, "b": HOSTILE}, HOSTILE).to_latex()
    rows = [line for line in text.splitlines() if "alert" in line and not line.startswith("%")]
    assert len(rows) == 2
    for row in rows:
        assert r"\textbackslash{}input\{/etc/passwd\}" in row
        assert r"\$x\_1\$" in row
        assert row.endswith(r"\\")
        assert not re.search(r"(?<!\\)[#%$^~_]", row.replace(r"$\pm$", ""))
    assert all(line.startswith(("%", "\\", "method", "b &")) or "alert" in line
               for line in text.splitlines())  # fmt: skip


def test_forms_of_a_table(tmp_path: Path) -> None:
    table = table_of({"good": GOOD, "bad": BAD, "odd": "was ended by SIGTERM"})
    text = repr(table)
    assert "86.2 ± 3.2" in text
    assert "odd   " in text
    assert "was ended by SIGTERM" in text
    for name in ("t.csv", "t.tex", "t.html", "t.png", "t.svg", "t.pdf"):
        table.save(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "t.csv", "t.html", "t.pdf", "t.png", "t.svg", "t.tex",
    ]  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert [row["method"] for row in rows] == ["good", "bad", "odd"]
    assert float(rows[0]["accuracy"]) == table.rows[0]["accuracy"]
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    assert r"\textbf{86.2 $\pm$ 3.2}" in (tmp_path / "t.tex").read_text()
    assert "<td" in table._repr_html_()
    assert json.dumps(table.rows)
    fails(lambda: table.save(tmp_path / "t.doc"), about=("t.doc", ".csv"))


def test_a_peak_that_the_system_does_not_tell() -> None:
    plan = new_plan("toy", MADE.graphs, MADE.targets, folds_of(), False, None, 0)
    records = {place: record_of(0.5, place) | {"peak_mb": None} for place in plan.places}
    table = comparison_of(plan, {"mine": records}, {"mine": None})
    assert table.rows[0]["peak_mb"] is None
    assert table.to_csv().endswith(",\n")
    assert "mine" in repr(table)
    assert "mine" in table.to_html()


def test_rows_as_a_data_frame() -> None:
    pytest.importorskip("pandas")
    frame = table_of({"good": GOOD, "bad": BAD}).to_pandas()
    assert list(frame["method"]) == ["good", "bad"]


def test_the_figure_has_every_finished_method() -> None:
    ax = table_of({"good": GOOD, "$\\frac{1}$_": BAD, "odd": "late"}).plot()
    ax.figure.canvas.draw()
    assert len(ax.get_legend().get_texts()) == 2
    assert ax.get_xscale() == "log"


@pytest.mark.slow
def test_numbers_of_numpy_are_numbers() -> None:
    given = {"methods": ["size"], "groups": np.arange(40) // 4}
    plain = compare(MADE, folds=2, repetitions=2, random_state=1, **given)
    numpy = compare(
        MADE, folds=np.int64(2), repetitions=np.int8(2), random_state=np.uint32(1), **given
    )
    assert numpy.facts == plain.facts
    assert [fold["accuracy"] for fold in numpy.folds] == [fold["accuracy"] for fold in plain.folds]


# Errors come before any work


@pytest.fixture
def _no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("work began")

    monkeypatch.setattr(method_runs, "run_to_end", fail)


@pytest.mark.usefixtures("_no_work")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["wll"]}, ("method 'wll'",)),
        ({"methods": []}, ("there are no",)),
        ({"methods": {}}, ("there are no",)),
        ({"methods": 3}, ("methods", "3", "'retgk'", "'wl'")),
        ({"methods": b"wl"}, ("methods", "'wl'")),
        ({"methods": GraphClassifier}, ("methods",)),
        ({"methods": GraphClassifier()}, ("methods", "GraphClassifier")),
        ({"methods": make_pipeline(SVC())}, ("methods", "'mine'")),
        ({"methods": {3: "wl"}}, ("methods", "3")),
        ({"methods": [None]}, ("method 'None'",)),
        ({"methods": {"mine": GraphClassifier}}, ("method 'mine'",)),
        ({"methods": {"mine": 3}}, ("method 'mine'", "3")),
        ({"metrics": ["rmse"]}, ("task='regression'",)),
        ({"metrics": ["acuracy"]}, ("'acuracy'",)),
        ({"folds": 1}, ("folds", "1")),
        ({"folds": []}, ("folds",)),
        ({"folds": 30}, ("0", "20", "30")),
        ({"folds": [([0, 1, 2], [2, 3])]}, ("fold 0", "graph 2")),
        ({"folds": [([0, 1], [99])]}, ("fold 0", "graph 99")),
        ({"folds": [([0, 1], [2])], "repetitions": 2}, ("folds",)),
        ({"repetitions": 0}, ("repetitions", "0")),
        ({"time_limit": 0}, ("time_limit", "0")),
        ({"memory_limit": -1}, ("memory_limit", "-1")),
        ({"random_state": "x"}, ("random_state", "'x'")),
        ({"task": "values"}, ("task",)),
        ({"y": MADE.targets[:5]}, ("40", "5")),
        ({"y": np.arange(40)}, ("task='regression'",)),
        ({"y": np.zeros((40, 2))}, ("y", "2")),
        ({"client": 3}, ("client",)),
        ({"n_jobs": 0}, ("n_jobs=0",)),
    ],
)
def test_errors(options: dict[str, Any], message: str) -> None:
    fails(lambda: compare(MADE, **options), about=message)


@pytest.mark.usefixtures("_no_work")
def test_a_journal_of_others_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"format": 1, "key": 3}\n')
    fails(lambda: compare(MADE, methods=["majority"], journal=path), about="is no journal")
    path.write_text("graphs\n")
    fails(lambda: compare(MADE, methods=["majority"], journal=path), about="line 1")


def test_every_part_of_a_plan_is_in_its_key() -> None:
    def key(**changes: Any) -> str:
        parts = {"name": "n", "graphs": MADE.graphs, "targets": MADE.targets, "folds": folds_of(),
                 "regression": False, "metrics": None, "seed": 0, **changes}  # fmt: skip
        return new_plan(**parts).key

    others = [
        {"graphs": MADE.graphs[::-1]},
        {"graphs": MADE.graphs.without_labels()},
        {"targets": MADE.targets[::-1]},
        {"folds": folds_of(1)},
        {"folds": folds_of(n_folds=5)},
        {"folds": [[fold for each in folds_of() for fold in each]]},
        {"metrics": ["roc_auc"]},
        {"seed": 1},
    ]
    keys = [key(), *(key(**other) for other in others)]
    assert len(set(keys)) == len(keys)
    assert key(name="m") == key()
    grouped = [[fold._replace(groups=fold.train % 7) for fold in each] for each in folds_of()]
    assert key(folds=grouped) != key()


@pytest.mark.parametrize("targets", [np.zeros(30, int), np.full(30, 1.5), np.full(30, "a")])
def test_targets_that_are_all_the_same(targets: Any) -> None:
    graphs = make_graph_classification(n_graphs=30, rng=0).graphs
    fails(lambda: compare(graphs, targets, ["majority"], folds=3), about="30")


def test_one_metric_may_be_a_text() -> None:
    data = make_graph_classification(n_graphs=30, rng=0)
    table = compare(data, methods=["majority"], folds=3, metrics="f1")
    assert [metric.name for metric in table.metrics] == ["f1"]


# Models of others on a fold: which arguments they get, and what is taken of their answers

GROUPS = np.arange(30) // 3
TARGETS = np.arange(30) % 2
SEEN: list[Any] = []
TRAIN, TEST = np.arange(24), np.arange(24, 30)


# Groups


class GroupSpy(GroupKFold):
    """Splitter that keeps the groups that it got."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        SEEN.append(groups)
        return super().split(X, y, groups)


def search_of(cv: Any) -> GridSearchCV:
    return GridSearchCV(DummyClassifier(), {"strategy": ["prior", "stratified"]}, cv=cv)


@pytest.mark.parametrize("make", [search_of, lambda cv: make_pipeline(GraphSizes(), search_of(cv))])
def test_searches_get_the_groups_of_their_training_graphs(make: Any) -> None:
    SEEN.clear()
    fold = OuterFold(TRAIN, TEST, None, GROUPS[TRAIN])
    answer = fold_answer(make(GroupSpy(3)), DATA.graphs, TARGETS, fold, 0)
    assert len(answer.predictions) == len(TEST)
    np.testing.assert_array_equal(SEEN[-1], GROUPS[TRAIN])


@pytest.mark.usefixtures("_no_work")
@pytest.mark.parametrize(
    ("cv", "remedy"),
    [(4, r"give cv=GroupKFold\(4\)"), (None, r"GroupKFold\(5\)"), (KFold(3, shuffle=True), "give")],
)
@pytest.mark.parametrize("make", [search_of, lambda cv: make_pipeline(GraphSizes(), search_of(cv))])
def test_a_search_that_splits_groups_is_an_error_before_the_work(
    make: Any, cv: Any, remedy: str
) -> None:
    with pytest.raises(InvalidInputError, match=rf"the method 'mine': .* no notice.*{remedy}"):
        compare(DATA, methods={"mine": make(cv)}, folds=3, groups=GROUPS)


def test_a_later_fold_in_which_a_search_splits_groups_names_itself() -> None:
    fold = OuterFold(TRAIN, TEST, None, GROUPS[TRAIN])
    fails(
        lambda: fold_answer(search_of(5), DATA.graphs, TARGETS, fold, 7), about=("fold 7", "cv=5")
    )


def test_folds_that_happen_to_keep_groups_are_taken() -> None:
    check_keeps_groups(search_of(4), TARGETS, np.arange(30))
    check_keeps_groups(GraphClassifier(cv=4), TARGETS, GROUPS)  # makes folds of groups of a number
    check_keeps_groups(search_of([([0, 1], [99])]), TARGETS, GROUPS)  # `fit` will say it


def test_a_splitter_of_our_own_models_may_not_split_groups_either() -> None:
    fails(
        lambda: check_keeps_groups(GraphClassifier(cv=KFold(4, shuffle=True)), TARGETS, GROUPS),
        about="GraphClassifier",
    )


@pytest.mark.usefixtures("_no_work")
def test_a_warning_names_folds_that_cannot_be_given_groups() -> None:
    assert folds_without_groups(GraphClassifier()) == []
    assert folds_without_groups(search_of(GroupKFold(3))) == []
    nested = GridSearchCV(GraphClassifier(), {"p": [1, 2]}, cv=GroupKFold(3))
    assert folds_without_groups(nested) == ["estimator__cv"]
    methods = {"lr": make_pipeline(GraphSizes(), LogisticRegressionCV())}
    with (
        pytest.warns(InputWarning, match="'lr' cannot be given groups for logisticregressioncv__"),
        pytest.raises(AssertionError, match="work began"),
    ):
        compare(DATA, methods=methods, folds=3, groups=GROUPS)


# Time


class Slow(DummyClassifier):
    """Takes a second of a clock of its own for everything that it is asked for."""

    clock: float = 0.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        Slow.clock += 1.0
        return super().fit(X, y, sample_weight)

    def predict(self, X: Any) -> Any:
        Slow.clock += 1.0
        return super().predict(X)

    def predict_proba(self, X: Any) -> Any:
        Slow.clock += 1.0
        return np.full((len(X), 2), 0.5)

    def decision_function(self, X: Any) -> Any:
        Slow.clock += 1.0
        return np.zeros(len(X))


def test_seconds_are_those_of_training_and_predicting(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(perf_counter=lambda: Slow.clock, process_time=lambda: 3 * Slow.clock)
    monkeypatch.setattr(fold_answers, "time", clock)
    model = Slow(strategy="constant", constant=1)  # predicts without its probabilities
    start = Slow.clock
    answer = fold_answer(model, DATA.graphs, TARGETS, OuterFold(TRAIN, TEST), 0)
    assert (answer.seconds, answer.processor) == (2.0, pytest.approx(6.0))
    assert Slow.clock - start == 4.0
    assert answer.decisions is not None
    assert answer.probabilities is not None


# Molecules

ALCOHOLS = [f"{'C' * (n % 7 + 1)}{tail}" for n, tail in enumerate(["O", "N", "Cl", "=O"] * 10)]
IS_ALCOHOL = np.array([text.endswith("CO") for text in ALCOHOLS])


@pytest.mark.parametrize("has_lightgbm", [True, False])
def test_fragments_of_molecules_are_learnt(
    monkeypatch: pytest.MonkeyPatch, has_lightgbm: bool
) -> None:
    found = object() if has_lightgbm else None
    if has_lightgbm:
        pytest.importorskip("lightgbm")
    monkeypatch.setattr(methods_module, "find_spec", lambda _: found)
    train, test = np.arange(28), np.arange(28, 40)
    graphs = as_batch(ALCOHOLS)
    boosted = "lightgbm" if has_lightgbm else "sklearn"
    for name, trees in (("morgan", boosted), ("morgan-forest", "sklearn"), ("morgan-minmax", None)):
        for regression in (False, True):
            targets = IS_ALCOHOL.astype(float if regression else str)
            model = new_estimators([name], regression, graphs)[name]
            answer = fold_answer(model, graphs, targets, OuterFold(train, test), 0)
            assert answer.chosen.get("trees") == trees
            told = answer.predictions > 0.5 if regression else answer.predictions == "True"
            np.testing.assert_array_equal(told, IS_ALCOHOL[test])
            assert regression or answer.probabilities is not None


@pytest.mark.parametrize("name", ["morgan", "morgan-forest"])
def test_trees_are_the_same_with_any_number_of_threads(name: str) -> None:
    graphs, values = as_batch(ALCOHOLS), np.array([len(text) for text in ALCOHOLS], float)
    one, two = (
        new_estimators([name], True, graphs)[name]
        .set_params(n_jobs=n_jobs, random_state=0)
        .fit(graphs, values)
        .predict(graphs)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_methods_of_molecules_are_there_for_molecules_alone() -> None:
    assert "morgan" in new_estimators(None, False, as_batch(["CCO"]))
    assert not any("morgan" in name for name in new_estimators(None, False, MADE.graphs))
    fails(lambda: compare(MADE, methods=["morgan"], folds=3), ("'morgan'", "molecules", "SMILES"))


def test_the_table_says_whose_trees_they_are_and_their_time() -> None:
    table = table_of({"retgk": GOOD, "morgan": BAD})
    for fold in table.folds:
        fold["chosen"] = {"trees": "lightgbm"} if fold["method"] == "morgan" else {}
    assert "trees of morgan are by LightGBM" in caption(table)
    assert "ratio that to the one of morgan" in caption(table)
    assert header(table)[-4:] == ["s/fold", "CPU s", "ratio", "peak MB"]


# Classes that are in no training part


@pytest.mark.parametrize("only", [0, 1])
@pytest.mark.parametrize("name", ["majority", "size", "morgan", "morgan-forest"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_training_part_of_one_class(name: str, n_classes: int, only: int) -> None:
    """A method that learns one class answers with it, and values stand for the right classes."""
    targets = np.where(np.arange(30) < 24, only, np.arange(30) % n_classes)
    classes = np.arange(n_classes)
    graphs = as_batch(ALCOHOLS[:30]) if "morgan" in name else DATA.graphs
    model = new_estimators([name], False, graphs)[name]
    answer = fold_answer(model, graphs, targets, OuterFold(TRAIN, TEST), 0)
    assert answer.predictions.tolist() == [only] * len(TEST)
    assert answer.probabilities is not None
    assert answer.probabilities.tolist() == [[float(k == only) for k in classes]] * len(TEST)
    decisions = answer.decisions
    assert decisions is not None
    if n_classes == 2:
        assert ((decisions > 0) == only).all()
    else:
        assert (decisions.argmax(axis=1) == only).all()
    outcome = answer.outcome(targets, classes)
    found = {metric.name: metric.value(outcome) for metric in metrics_of(False)}
    assert found["accuracy"] == np.mean(targets[TEST] == only)
    assert found["roc_auc"] == 0.5


@pytest.mark.slow
def test_a_comparison_with_a_training_part_of_one_class() -> None:
    """Methods that cannot learn from it say so, and the others answer."""
    targets = np.where(np.arange(30) < 24, 0, np.arange(30) % 2)
    methods = ["majority", "size", "wl"]
    table = compare(DATA.graphs, targets, methods, folds=[(TRAIN, TEST)])
    found = {row["method"]: row["status"] for row in table.rows}
    assert found.pop("wl").startswith("fold 0: all 24 graphs are of one class, 0; a classifier")
    assert found == {"majority": "done", "size": "done"}


# Keys of methods are the same in another session, also where parameters are functions

SCRIPT = """
from functools import partial
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from retgk.model_selection.methods import estimator_key

def sizes(X, scale={scale}):
    return X.node_counts[:, None] * scale

def scaled(by):
    return lambda X: sizes(X) * by

for function in (sizes, partial(sizes, scale={part}), scaled({closed}), [sizes, {{1: sizes}}]):
    print(estimator_key(make_pipeline(FunctionTransformer(function), DummyClassifier())))
"""


def keys(folder: Path, **numbers: int) -> list[str]:
    """Keys as a new process finds them."""
    script = folder / "script.py"
    script.write_text(SCRIPT.format(**{"scale": 1, "part": 2, "closed": 3, **numbers}))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.slow
def test_functions_have_the_same_key_in_another_process(tmp_path: Path) -> None:
    first, again = keys(tmp_path), keys(tmp_path)
    assert first == again
    assert len(set(first)) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "differ"),
    [
        ({"scale": 9}, [True, True, True, True]),
        ({"part": 9}, [False, True, False, False]),
        ({"closed": 9}, [False, False, True, False]),
    ],
)
def test_a_changed_function_is_another_method(
    changed: dict[str, int], differ: list[bool], tmp_path: Path
) -> None:
    before, after = keys(tmp_path), keys(tmp_path, **changed)
    found = [one != other for one, other in zip(before, after, strict=True)]
    # the lambda calls `sizes` by its name, which its own source does not tell
    expected = [*differ[:2], "closed" in changed, differ[3]]
    assert found == expected


class Untold:
    """An object of which Python tells the place in memory alone."""

    def __call__(self, X: Any) -> Any:
        return np.zeros((len(X), 1))


def untold_model() -> Any:
    return make_pipeline(FunctionTransformer(Untold()), DummyClassifier())


def test_what_cannot_be_told_again_is_not_resumed_in_silence(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    fails(
        lambda: compare(DATA, methods={"mine": untold_model()}, folds=2, journal=journal),
        about=("functiontransformer__func", "method 'mine'"),
    )
    assert not journal.exists()
    check_can_resume(
        "mine", make_pipeline(FunctionTransformer(partial(np.sum, axis=0)), DummyClassifier())
    )
    assert estimator_key(untold_model()) != estimator_key(DummyClassifier())
