"""What fitting says: lines of the logger, what it will take, and what came instead of graphs."""

import logging
import re
import warnings

import numpy as np
import pytest

from retgk import (
    InvalidInputError,
    RetGKClassifier,
    RetGKRegressor,
    load_tudataset,
    make_graph_classification,
    to_networkx,
)
from retgk.errors import InputWarning
from retgk.estimators import predictor as fit_estimate
from retgk.estimators.predictor import Estimate, FitSize, estimate
from retgk.learning.selection import NodeCandidate
from tests.classifier_graphs import three_classes

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
