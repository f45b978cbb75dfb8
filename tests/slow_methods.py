"""Methods that sleep, eat memory, are killed or fail: what a comparison has to live with."""

import os
import signal
import time

import numpy as np
from sklearn.dummy import DummyClassifier

from retgk import GraphDataset, compare
from retgk.datasets import make_graph_classification

_MADE = make_graph_classification(30, n_labels=3, n_nodes=(6, 12), rng=0)
DATA = GraphDataset(_MADE.graphs, _MADE.targets, "toy")


class Sleeping(DummyClassifier):
    """Takes its time in every fold."""

    def __init__(self, seconds=0.0, strategy="prior", random_state=None):
        super().__init__(strategy=strategy, random_state=random_state)
        self.seconds = seconds

    def fit(self, X, y, sample_weight=None):
        time.sleep(self.seconds)
        return super().fit(X, y, sample_weight)


class Eating(DummyClassifier):
    """Wants more memory than there is."""

    def fit(self, X, y, sample_weight=None):
        self.eaten = [np.empty(1 << 27) for _ in range(1 << 10)]
        return super().fit(X, y, sample_weight)


class Killed(DummyClassifier):
    """Is killed in its second fold, as by a system that runs out of memory."""

    def fit(self, X, y, sample_weight=None):
        if np.asarray(y).sum() and _is_second_call():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y, sample_weight)


class Failing(DummyClassifier):
    """Prints where it should not, and fails."""

    def fit(self, X, y, sample_weight=None):  # noqa: ARG002
        print('{"failure": null, "fold": 0}')
        raise ValueError("these graphs\nare <odd>")


_CALLS = []


def _is_second_call():
    _CALLS.append(1)
    return len(_CALLS) > 1


N_SLOW_FOLDS = 6


def slow_comparison(journal):
    """Six folds of chance, slow enough for a kill between any two of them."""
    methods = {"chance": Sleeping(0.3, strategy="stratified")}
    return compare(DATA, methods=methods, folds=3, repetitions=2, journal=journal, random_state=3)
