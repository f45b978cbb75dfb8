"""Matrices that are kept are only found by those they fit."""

import numpy as np
import pytest

from retgk import GraphBatch
from retgk.paper import circumstances, matrices
from retgk.paper.cells import table_cells, variation_cells
from retgk.paper.matrices import matrix_path
from retgk.paper.runner import Runner
from retgk.paper.sources import Source

from .paper_sets import write_set

TRIANGLE = GraphBatch.from_edges(
    3, [[0, 1], [1, 2], [2, 0]], symmetrize=True, labels=[1, 1, 2], attributes=np.eye(3)
)


def digest(graphs):
    return Source(graphs, np.zeros(len(graphs))).digest


def test_digest_sees_every_part_of_a_set():
    others = [
        TRIANGLE.without_labels(),
        TRIANGLE.without_attributes(),
        GraphBatch.concatenate([TRIANGLE, TRIANGLE]),
        GraphBatch.from_edges(
            3, [[0, 1], [1, 2]], symmetrize=True, labels=[1, 1, 2], attributes=np.eye(3)
        ),
        GraphBatch.from_edges(
            3,
            [[0, 1], [1, 2], [2, 0]],
            [1.0, 1.0, 2.0],
            symmetrize=True,
            labels=[1, 1, 2],
            attributes=np.eye(3),
        ),
    ]
    digests = [digest(graphs) for graphs in [TRIANGLE, *others]]
    assert len(set(digests)) == len(digests)
    assert digest(TRIANGLE[:1]) == digests[0]


def exact_cell():
    return next(
        cell for cell in table_cells(2) if (cell.dataset, cell.method) == ("MUTAG", "RetGK_I")
    )


def test_another_edition_of_a_set_has_a_matrix_of_its_own(tmp_path):
    cell, found = exact_cell(), []
    for edition, n_graphs in (("one", 40), ("two", 30)):
        folder = tmp_path / edition
        folder.mkdir()
        write_set(folder, "MUTAG", n_graphs=n_graphs)
        runner = Runner(folder, tmp_path / "cache")
        found.append(len(runner.matrix(cell, runner.source(cell)).products))
    assert found == [40, 30]


def test_other_code_has_a_matrix_of_its_own(tmp_path, monkeypatch):
    source = Source(TRIANGLE, np.zeros(1))
    before = matrix_path(tmp_path, "TOY", source, exact_cell().settings)
    monkeypatch.setattr(matrices, "source_digest", lambda: "other")
    assert matrix_path(tmp_path, "TOY", source, exact_cell().settings) != before


def test_records_name_their_code():
    found = circumstances.circumstances(1)["versions"]["source"]
    assert found == circumstances.source_digest()
    assert len(found) == 12


@pytest.mark.parametrize("cell", variation_cells(), ids=lambda cell: f"{cell.dataset} {cell.place}")
def test_variations_change_settings_that_count(cell):
    table = int(cell.place.removeprefix("variation of table ").partition(":")[0])
    base = next(
        each
        for each in table_cells(table)
        if (each.dataset, each.method) == (cell.dataset, cell.method)
    )
    known = {*base.settings, "structure_kernel"}
    assert cell.settings.keys() <= known
    assert cell.key(0) != base.key(0)
