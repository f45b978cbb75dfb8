"""Matrices that are kept are only found by those they fit."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import reproduction
import retgk
from reproduction.graphs import PaperSet, Sources
from reproduction.records import code_digest, provenance, source_digest
from reproduction.runner import Runner
from reproduction.tables import table_cells, variation_cells
from reproduction.timed_matrices import embedding_matrix, matrix_path
from retgk import GraphBatch

from .paper_records import MUTAG, cell_of
from .paper_sets import write_set

TRIANGLE = GraphBatch.from_edges(
    3, [[0, 1], [1, 2], [2, 0]], symmetrize=True, labels=[1, 1, 2], attributes=np.eye(3)
)


def digest(graphs):
    return PaperSet(graphs, np.zeros(len(graphs))).digest


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


def test_another_edition_of_a_set_has_a_matrix_of_its_own(tmp_path):
    cell, found = MUTAG, []
    for edition, n_graphs in (("one", 40), ("two", 30)):
        folder = tmp_path / edition
        folder.mkdir()
        write_set(folder, "MUTAG", n_graphs=n_graphs)
        runner = Runner(Sources(folder), tmp_path / "cache")
        found.append(len(runner.matrix(cell, runner.load(cell)).products))
    assert found == [40, 30]


def test_other_code_has_a_matrix_of_its_own(tmp_path, monkeypatch):
    source = PaperSet(TRIANGLE, np.zeros(1))
    before = matrix_path(tmp_path, "TOY", source, MUTAG.settings)
    monkeypatch.setattr("reproduction.timed_matrices.source_digest", lambda: "other")
    assert matrix_path(tmp_path, "TOY", source, MUTAG.settings) != before


def test_records_name_their_code():
    found = provenance(1)["versions"]["source"]
    assert found == source_digest()
    assert len(found) == 12


PRESENTING = {"cli", "comparison", "explorer", "plot.py"}  # files and packages of retgk
REPORTING = {"figures.py", "report.py", "report_tables.py"}  # of the reproduction


def test_code_that_accuracies_come_from_is_in_the_digest(tmp_path):
    """All modules of the reproduction, and one of every package of retgk."""
    ignored = shutil.ignore_patterns("__pycache__")
    package, own = tmp_path / "retgk", tmp_path / "reproduction"
    shutil.copytree(Path(retgk.__file__).parent, package, ignore=ignored)
    shutil.copytree(Path(reproduction.__file__).parent, own, ignore=ignored)
    names = [path.relative_to(package) for path in sorted(package.rglob("*.py"))]
    names = [name for name in names if name.parts[0] != "_core"]  # digested when it is built
    changed = {package / name: name.parts[0] not in PRESENTING for name in names}
    one_of_each = {path.parent: path for path in changed}.values()
    changed = {path: changed[path] for path in one_of_each}
    changed |= {path: path.name not in REPORTING for path in own.rglob("*.py")}
    last = code_digest(package, own)
    assert last == source_digest()
    for path, counts in changed.items():
        with path.open("a") as file:
            file.write("# changed\n")
        now = code_digest(package, own)
        assert (now != last) == counts, path
        last = now


@pytest.mark.parametrize("cell", variation_cells(), ids=lambda cell: f"{cell.dataset} {cell.place}")
def test_variations_change_settings_that_count(cell):
    table = int(cell.place.removeprefix("variation of table ").partition(":")[0])
    base = cell_of(table, cell.dataset, cell.method)
    of_peers = {"connected", "size_weights", "similarity", "choose", "n_samples", "start"}
    known = {*base.settings, "structure_kernel", "copies_share_walks", "kernel", *of_peers}
    assert cell.settings.keys() <= known
    assert cell.key(0) != base.key(0)


def monte_carlo_products(graphs, **changes):
    cell = next(cell for cell in table_cells(1) if cell.method == "RetGK_II(MC)")
    return embedding_matrix(graphs, {**cell.settings, **changes}, seed=0).products


def test_copies_of_a_graph_take_walks_of_their_own():
    star, triangle = (
        GraphBatch.from_edges(n, edges, symmetrize=True)
        for n, edges in ((4, [[0, 1], [0, 2], [0, 3]]), (3, [[0, 1], [1, 2], [2, 0]]))
    )
    graphs = GraphBatch.concatenate([triangle, star, triangle, triangle, star])
    shared = monte_carlo_products(graphs, copies_share_walks=True)
    own = monte_carlo_products(graphs)
    assert np.array_equal(shared[0], shared[2])
    assert len(np.unique(own.diagonal())) == 5
    assert np.array_equal(own[:2, :2], shared[:2, :2])
    assert np.array_equal(
        own[np.ix_([0, 2, 3], [0, 2, 3])], monte_carlo_products(graphs[[0, 2, 3]])
    )
