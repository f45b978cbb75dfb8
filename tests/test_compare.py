"""Comparisons of methods: the same folds, the formulas of the table, and its forms."""

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from retgk import (
    Comparison,
    InvalidInputError,
    RetGKClassifier,
    WeisfeilerLehmanKernel,
    compare,
    make_graph_classification,
)
from retgk.comparison import runs as method_runs
from retgk.comparison.methods import (
    DEFAULT_METHODS,
    METHODS,
    KernelClassifier,
    KernelRegressor,
    estimator_key,
    new_estimators,
)
from retgk.comparison.runs import new_plan
from retgk.comparison.table import comparison_of, corrected_t_test
from retgk.learning.folds import repeated_folds
from retgk.learning.metrics import FoldAnswer

DATA = make_graph_classification(40, n_labels=3, n_nodes=(6, 12), random_state=0)


# The machine on a kernel


def test_a_kernel_has_the_machine_of_scikit_learn() -> None:
    train, test = DATA.graphs[:30], DATA.graphs[30:]
    kernel = WeisfeilerLehmanKernel(n_iter=2)
    model = KernelClassifier(kernel, C=[10.0], random_state=0).fit(train, DATA.targets[:30])
    own = SVC(C=10.0, kernel="precomputed").fit(kernel.fit_transform(train), DATA.targets[:30])
    rows = kernel.transform(test)
    np.testing.assert_allclose(model.decision_function(test), own.decision_function(rows))
    np.testing.assert_array_equal(model.predict(test), own.predict(rows))


def test_kernel_and_penalty_are_chosen_on_inner_folds() -> None:
    """The mean accuracy over the inner folds is that of scikit-learn, candidate by candidate."""
    from sklearn.model_selection import cross_val_score

    codes = np.unique(DATA.targets, return_inverse=True)[1]
    cv = [(np.flatnonzero(codes >= 0)[i::4], np.arange(40)[(i + 1) % 4 :: 4]) for i in range(4)]
    rounds, penalties = (1, 3), (0.1, 1.0, 100.0)
    model = KernelClassifier(
        WeisfeilerLehmanKernel(), {"n_iter": rounds}, C=penalties, cv=cv, random_state=0
    ).fit(DATA.graphs, DATA.targets)
    means = {
        (n, C): cross_val_score(
            SVC(C=C, kernel="precomputed"),
            WeisfeilerLehmanKernel(n).fit_transform(DATA.graphs),
            DATA.targets,
            cv=cv,
        ).mean()
        for n in rounds
        for C in penalties
    }
    assert model.best_score_ == pytest.approx(max(means.values()))
    chosen = model.best_params_["n_iter"], model.best_params_["C"]
    assert means[chosen] == pytest.approx(max(means.values()))


def test_values_are_regressed_on() -> None:
    sizes = DATA.graphs.node_counts.astype(float)
    model = KernelRegressor(WeisfeilerLehmanKernel(2, normalize=False), random_state=0)
    found = model.fit(DATA.graphs[:30], sizes[:30]).predict(DATA.graphs[30:])
    assert np.corrcoef(found, sizes[30:])[0, 1] > 0.9


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_made_and_has_the_same_key_again(name: str, regression: bool) -> None:
    made, again = (new_estimators([name], regression)[name] for _ in range(2))
    assert estimator_key(made) == estimator_key(again)
    assert hasattr(made, "predict")


def test_the_page_names_every_method() -> None:
    page = (Path(__file__).parent.parent / "docs" / "comparing.md").read_text()
    assert [name for name in METHODS if f"`{name}`" not in page] == []


def test_keys_of_methods_depend_on_parameters_but_not_on_threads() -> None:
    model = RetGKClassifier()
    assert estimator_key(model) == estimator_key(RetGKClassifier(n_jobs=2))
    assert estimator_key(model) != estimator_key(RetGKClassifier(C=3))
    deep = [KernelClassifier(WeisfeilerLehmanKernel(n)) for n in (1, 2)]
    assert estimator_key(deep[0]) != estimator_key(deep[1])


@pytest.mark.parametrize("change", [1.0, 1e-12])
def test_all_of_an_array_is_in_the_key_of_a_method(change: float) -> None:
    values = np.ones(2000)
    values[1000] += change
    one, other = (KernelClassifier(WeisfeilerLehmanKernel(), C=C) for C in (np.ones(2000), values))
    assert estimator_key(one) != estimator_key(other)


def test_predictions_that_are_no_class_are_an_error() -> None:
    """They would count as the class whose place they fall on."""
    answer = FoldAnswer(np.arange(2), np.array([-1, 1]), {})
    with pytest.raises(InvalidInputError, match=r"predicts .*-1.*, which is no class here"):
        answer.outcome(np.array([0, 1]), np.array([0, 1]))


# The table, without processes


def folds_of(seed: int = 0, n_folds: int = 4) -> Any:
    return repeated_folds(DATA.targets, n_folds, [seed, seed + 1], regression=False)


def record_of(score: float, place: tuple[int, int]) -> dict[str, Any]:
    scores = {"accuracy": score, "balanced_accuracy": score, "roc_auc": score}
    own = {"repetition": place[0], "fold": place[1], "failure": None, "scores": scores}
    return {**own, "chosen": {"C": 1}, "seconds": 1.0 + place[1], "peak_mb": 100.0 + place[0]}


def table_of(values: dict[str, Any], name: str = "toy") -> Comparison:
    """Table of methods with these scores on eight folds; a text is what stopped one."""
    plan = new_plan(name, DATA.graphs, DATA.targets, folds_of(), False, None, 0)
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
    assert good["accuracy_std"] == pytest.approx(np.std(GOOD))
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
    assert "86.2 ± 8.6" in text
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
    assert r"\textbf{86.2 $\pm$ 8.6}" in (tmp_path / "t.tex").read_text()
    assert "<td" in table._repr_html_()
    assert json.dumps(table.rows)
    with pytest.raises(InvalidInputError, match=r"end the name in one of \.csv, \.tex"):
        table.save(tmp_path / "t.doc")


def test_a_peak_that_the_system_does_not_tell() -> None:
    plan = new_plan("toy", DATA.graphs, DATA.targets, folds_of(), False, None, 0)
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


def test_numbers_of_numpy_are_numbers() -> None:
    given = {"methods": ["size"], "groups": np.arange(40) // 4}
    plain = compare(DATA, folds=2, repetitions=2, random_state=1, **given)
    numpy = compare(
        DATA, folds=np.int64(2), repetitions=np.int8(2), random_state=np.uint32(1), **given
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
        ({"methods": ["wll"]}, "there is no method 'wll'; did you mean wl"),
        ({"methods": []}, "there are no methods to compare; choose from retgk, "),
        ({"methods": {}}, "there are no methods to compare"),
        ({"methods": 3}, r"methods is 3; give a list of names, .*'retgk', 'wl'"),
        ({"methods": b"wl"}, r"methods is b'wl'; give a list of names"),
        ({"methods": RetGKClassifier}, "methods is <class .*; give a list of names"),
        ({"methods": RetGKClassifier()}, r"methods is RetGK.*, or a dictionary of estimators"),
        ({"methods": make_pipeline(SVC())}, r"methods is Pipe.*, such as {'mine': estimator}"),
        ({"methods": {3: "wl"}}, "methods has the name 3; names are texts"),
        ({"methods": [None]}, "the method 'None' is None, which is no estimator"),
        ({"methods": {"mine": RetGKClassifier}}, "the method 'mine' is .* no estimator"),
        ({"methods": {"mine": 3}}, "the method 'mine' is 3, which is no estimator"),
        ({"metrics": ["rmse"]}, "the metric rmse is for values.*pass task='regression'"),
        ({"metrics": ["acuracy"]}, "there is no metric 'acuracy'; did you mean accuracy"),
        ({"folds": 1}, "folds must be a whole number from 2 on, got 1"),
        ({"folds": []}, "folds has none"),
        ({"folds": 30}, "class 0 has 20 graphs for 30 folds; give fewer folds"),
        ({"folds": [([0, 1, 2], [2, 3])]}, "fold 0 trains on graph 2 and tests it"),
        ({"folds": [([0, 1], [99])]}, "the test part of fold 0 of cv names graph 99"),
        ({"folds": [([0, 1], [2])], "repetitions": 2}, "folds are given; leave out repetitions"),
        ({"repetitions": 0}, "repetitions must be a whole number from 1 on, got 0"),
        ({"time_limit": 0}, "time_limit must be positive and finite, got 0"),
        ({"memory_limit": -1}, "memory_limit must be positive and finite, got -1"),
        ({"random_state": "x"}, "random_state must be a whole number from 0 on, got 'x'"),
        ({"task": "values"}, "task must be one of"),
        ({"y": DATA.targets[:5]}, "there are 40 graphs but 5 targets"),
        ({"y": np.arange(40)}, "pass task='regression' if they are values"),
        ({"y": np.zeros((40, 2))}, "y has 2 targets for each graph"),
        ({"client": 3}, "client must be a dask.distributed.Client or None"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        compare(DATA, **options)


def test_no_methods_are_the_default_ones() -> None:
    assert list(new_estimators(None, regression=False)) == list(DEFAULT_METHODS)
    assert list(new_estimators("wl", regression=False)) == ["wl"]


@pytest.mark.usefixtures("_no_work")
def test_a_journal_of_others_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"format": 1, "key": 3}\n')
    with pytest.raises(InvalidInputError, match="is no journal of a comparison; give another"):
        compare(DATA, methods=["majority"], journal=path)
    path.write_text("graphs\n")
    with pytest.raises(InvalidInputError, match="line 1: not a record"):
        compare(DATA, methods=["majority"], journal=path)


def test_every_part_of_a_plan_is_in_its_key() -> None:
    def key(**changes: Any) -> str:
        parts = {"name": "n", "graphs": DATA.graphs, "targets": DATA.targets, "folds": folds_of(),
                 "regression": False, "metrics": None, "seed": 0, **changes}  # fmt: skip
        return new_plan(**parts).key

    others = [
        {"graphs": DATA.graphs[::-1]},
        {"graphs": DATA.graphs.without_labels()},
        {"targets": DATA.targets[::-1]},
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
    graphs = make_graph_classification(n_graphs=30, random_state=0).graphs
    with pytest.raises(InvalidInputError, match=r"all 30 graphs have the same target, \S+; there"):
        compare(graphs, targets, ["majority"], folds=3)


def test_one_metric_may_be_a_text() -> None:
    data = make_graph_classification(n_graphs=30, random_state=0)
    table = compare(data, methods=["majority"], folds=3, metrics="f1")
    assert [metric.name for metric in table.metrics] == ["f1"]
