"""Made-up records of the paper's cells."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.tables import table_cells
from retgk import GraphDataset
from retgk._runtime.files import record_writer
from retgk.datasets import make_graph_classification, save_tudataset


def made_up(cell, repetition=0, accuracy=0.5, **changes):
    return {
        "key": cell.key(repetition),
        "place": cell.place,
        "method": cell.method,
        **cell.identity(),
        "repetition": repetition,
        "seed": repetition,
        "n_graphs": 100,
        "n_dropped": 3,
        "n_dropped_of_other_target": 1,
        "accuracies": [accuracy] * 10,
        "seconds": {"rpf": 1.0, "gram": 2.0, "kernel": 0.5, "svm": 4.0},
        "facts": {"peak_mb": 200.0},
        "failure": None,
        "n_jobs": 2,
        "versions": {"python": "3", "numpy": "2", "scikit-learn": "1", "retgk": "0"},
        "machine": {"cpu": "<abacus>", "cores": 2},
        "time": "2026-01-01T00:00:00+00:00",
        **changes,
    }


def cell_of(table, dataset, method, *arguments, **options):
    return next(
        cell
        for cell in table_cells(table, *arguments, **options)
        if (cell.dataset, cell.method) == (dataset, method)
    )


MUTAG = cell_of(2, "MUTAG", "RetGK_I")


def write(path, records):
    """Append records to a file."""
    with record_writer(path) as writer:
        for record in records:
            writer.append(record)
    return path


# Small made-up sets under the names of real ones, for the tests of `retgk paper`

PROGRAM = [sys.executable, "-c", "from reproduction.__main__ import paper_app; paper_app()"]


def write_set(folder: Path, name: str, n_graphs: int = 40, seed: int = 0, **changes: Any) -> Path:
    """Write a set of two classes with labels and two attributes."""
    data = make_graph_classification(n_graphs=n_graphs, n_classes=2, rng=seed)
    rng = np.random.default_rng(seed)
    graphs = data.graphs.with_labels(rng.integers(3, size=data.graphs.n_nodes).tolist())
    graphs = graphs.with_attributes(rng.standard_normal((graphs.n_nodes, 2)))
    targets = changes.get("targets", data.targets)
    return save_tudataset(GraphDataset(graphs, targets, name), folder)
