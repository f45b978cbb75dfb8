"""Small made-up sets under the names of real ones, for the tests of `retgk paper`."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from retgk import GraphDataset, make_graph_classification, save_tudataset

PROGRAM = [sys.executable, "-c", "from reproduction.__main__ import paper_app; paper_app()"]


def write_set(folder: Path, name: str, n_graphs: int = 40, seed: int = 0, **changes: Any) -> Path:
    """Write a set of two classes with labels and two attributes."""
    data = make_graph_classification(n_graphs=n_graphs, n_classes=2, random_state=seed)
    rng = np.random.default_rng(seed)
    graphs = data.graphs.with_labels(rng.integers(3, size=data.graphs.n_nodes).tolist())
    graphs = graphs.with_attributes(rng.standard_normal((graphs.n_nodes, 2)))
    targets = changes.get("targets", data.targets)
    return save_tudataset(GraphDataset(graphs, targets, name), folder)
