"""The benchmark sets load, and have the sizes that their README gives."""

import os
import re
import shutil
from itertools import repeat
from pathlib import Path

import numpy as np
import pytest

from retgk import GraphBatch
from retgk.datasets import load_tudataset
from retgk.io.tables import integer_blocks, read_integers
from retgk.io.tudataset import open_members
from tests.conftest import DATA_VARIABLE

pytestmark = [pytest.mark.real_data, pytest.mark.slow]

ROW = re.compile(r"^\|(.+)\|$", flags=re.MULTILINE)


def readme_rows(text: str) -> dict[str, dict[str, str]]:
    """Rows of the README's table; a row of several sets, split by slashes, becomes several."""
    header, _, *rows = [[cell.strip() for cell in row.split("|")] for row in ROW.findall(text)]
    table = {}
    for row in rows:
        names = [cell.strip() for cell in row[0].split("/")]
        names = [name if name[0] != "_" else names[0].rsplit("_", 1)[0] + name for name in names]
        columns = [
            cell.split(" / ") if " / " in cell else repeat(cell, len(names)) for cell in row[1:]
        ]
        for name, *cells in zip(names, *columns, strict=True):
            table[name] = dict(zip(header[1:], cells, strict=True))
    return table


def data_set_names() -> list[str]:
    """Sets in the folder, so that one that the README lacks fails its test."""
    folder = os.environ.get(DATA_VARIABLE)
    return sorted(path.stem for path in Path(folder).glob("*.zip")) if folder else ["(no data)"]


@pytest.fixture(scope="module")
def table(data_folder):
    return readme_rows((data_folder / "README.md").read_text())


def test_readme_and_folder_name_the_same_sets(table):
    assert sorted(table) == data_set_names()
    assert len(table) >= 21


@pytest.mark.parametrize("name", data_set_names())
def test_sizes_are_those_of_the_readme(name, table, data_folder):
    dataset = load_tudataset(name, data_folder, download=False, cache=False)
    expected, graphs = table[name], dataset.graphs
    assert len(graphs) == int(expected["graphs"])
    assert len(np.unique(dataset.targets)) == int(expected["classes"])
    for column, count in (("mean nodes", graphs.n_nodes), ("mean edges", graphs.n_edges)):
        number = expected[column]
        digits = len(number.partition(".")[2])
        assert f"{count / len(graphs):.{digits}f}" == number, column
    assert graphs.has_labels == (expected["labels"] == "yes")
    width = expected["attributes"]
    assert graphs.n_attributes == (int(width) if width.isdigit() else 0)


def test_synthie_has_its_isolated_nodes(data_folder):
    graphs = load_tudataset("Synthie", data_folder, download=False, cache=False).graphs
    assert int((np.diff(graphs.indptr) == 0).sum()) == 1361


def test_collab_keeps_its_self_loops(data_folder):
    graphs = load_tudataset("COLLAB", data_folder, download=False, cache=False).graphs
    assert 2 * graphs.n_edges - len(graphs.indices) == 2837


@pytest.mark.parametrize("name", ["MUTAG", "NCI1", "PROTEINS", "REDDIT-BINARY", "Synthie"])
def test_adjacency_is_that_of_the_plain_way(name, data_folder):
    """The streamed adjacency against GraphBatch.from_edges on all lines at once."""
    if not data_folder.joinpath(f"{name}.zip").exists():
        pytest.fail(f"{name}.zip is missing")
    with open_members(data_folder / f"{name}.zip") as members:
        sizes = np.bincount(read_integers(members[f"{name}_graph_indicator.txt"])[0])[1:]
        blocks = list(integer_blocks(members[f"{name}_A.txt"], 2, np.int64))
    edges = np.unique(np.concatenate(blocks, axis=1), axis=1)
    plain = GraphBatch.from_edges(sizes, edges.T - 1)
    found = load_tudataset(name, data_folder, download=False, cache=False).graphs
    assert found.without_labels().without_edge_labels().without_attributes() == plain


def test_the_second_load_comes_from_the_cache(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("RETGK_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copy(data_folder / "ENZYMES.zip", tmp_path)
    first = load_tudataset("ENZYMES", tmp_path, download=False)
    assert len(list((tmp_path / "cache").iterdir())) == 1
    second = load_tudataset("ENZYMES", tmp_path, download=False)
    assert first.graphs == second.graphs
    assert np.array_equal(first.targets, second.targets)
