"""Test graphs have no part in what the nested protocol chooses, from files to records."""

import numpy as np
import pytest

from reproduction.graphs import Sources
from reproduction.runner import Runner
from reproduction.tables import protocol_settings
from retgk import GraphBatch, GraphDataset, load_tudataset, save_tudataset
from retgk.learning.folds import stratified_folds

from .paper_records import cell_of
from .paper_sets import write_set

FOLD = 3

# Bandwidths that are hardly rounded, so that nothing hides a change of a median; small grids.
RULES = {
    **protocol_settings("nested"),
    "gamma_ratio": 1.0001,
    "inner_folds": 3,
    "c": [0.1, 1.0, 10.0, 100.0],
}


def complete_graph(n_nodes):
    """All pairs of nodes and one label, unlike any graph of the set."""
    edges = np.column_stack(np.triu_indices(n_nodes, 1))
    return GraphBatch.from_edges(n_nodes, edges, symmetrize=True).with_labels([0] * n_nodes)


def write_changed_set(original, folder):
    """Write the set with complete graphs in the place of the test graphs of a fold."""
    data = load_tudataset("MUTAG", original, download=False, cache=False)
    _, test = stratified_folds(data.targets, 0, RULES["folds"])[FOLD]
    plain = data.graphs.without_attributes()
    graphs = [complete_graph(30 + i) if i in test else plain[[i]] for i in range(len(plain))]
    save_tudataset(GraphDataset(GraphBatch.concatenate(graphs), data.targets, "MUTAG"), folder)


def choices_of(record):
    return [
        {"C": c, **choice} for c, choice in zip(record["chosen_c"], record["choices"], strict=True)
    ]


@pytest.mark.parametrize(
    ("method", "chosen"),
    [("RetGK_I", {"C", "p", "structure_gamma"}), ("RetGK_II", {"C", "p", "structure_scale"})],
)
def test_other_test_graphs_do_not_change_what_is_chosen(tmp_path, monkeypatch, method, chosen):
    monkeypatch.setattr("reproduction.runner.protocol_settings", lambda _: RULES)
    original, changed = tmp_path / "original", tmp_path / "changed"
    write_set(original, "MUTAG", 40)
    write_changed_set(original, changed)
    cell = cell_of(2, "MUTAG", method, "nested")
    before, after = (
        choices_of(Runner(Sources(folder), folder / "cache").record(cell, 0))
        for folder in (original, changed)
    )
    assert before[FOLD] == after[FOLD]
    assert set(before[FOLD]) == chosen
    others = [fold for fold in range(RULES["folds"]) if fold != FOLD]
    assert any(before[fold] != after[fold] for fold in others)  # where the new graphs train
