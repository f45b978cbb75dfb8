"""Drawings on pages of `explore`: of graphs, and structural formulas."""

from typing import Any

import numpy as np
import pytest

from retgk import explore, load_digit_graphs
from retgk.plot import stress_layout
from tests.cli_calls import DATA
from tests.unpacked_pages import unpacked


def test_a_drawing_does_not_depend_on_others() -> None:
    places = stress_layout(DATA.graphs, n_jobs=2)
    ptr = DATA.graphs.node_ptr
    np.testing.assert_array_equal(places[ptr[7] : ptr[8]], stress_layout(DATA.graphs[7]))


def test_packed_drawings() -> None:
    header, arrays = unpacked(explore(DATA).text)
    graphs = DATA.graphs
    assert arrays["nodeCounts"].tolist() == graphs.node_counts.tolist()
    assert arrays["edgeCounts"].tolist() == graphs.edge_counts.tolist()
    assert "drawn" not in arrays
    names = np.array(header["drawings"]["labels"])
    assert names[arrays["labels"]].tolist() == [str(graphs.label_names[c]) for c in graphs.labels]
    first = header["drawings"]["attributes"][0]
    values = first["low"] + (first["high"] - first["low"]) * arrays["attribute0"] / 65534
    np.testing.assert_allclose(values, graphs.attributes[:, 0], atol=1e-4)
    ends = arrays["ends"].reshape(-1, 2)[: graphs.edge_counts[0]]
    rows = np.repeat(np.arange(graphs.node_counts[0]), np.diff(graphs[0].indptr))
    wanted = [pair for pair in zip(rows, graphs[0].indices, strict=True) if pair[0] <= pair[1]]
    assert [tuple(pair) for pair in ends] == wanted


def test_given_positions_are_kept() -> None:
    digits = load_digit_graphs()[:20]
    places = digits.graphs.attributes[:, [2, 1]]
    _, arrays = unpacked(explore(digits, positions=places, max_drawn_nodes=200).text)
    graph = int(arrays["drawn"][0])
    own = places[digits.graphs.node_ptr[graph] : digits.graphs.node_ptr[graph + 1]]
    found = arrays["places"].reshape(-1, 2)[: len(own)].astype(int)
    scale = np.ptp(own, axis=0).max() / 255
    np.testing.assert_allclose((found - found[0]) * scale, own - own[0], atol=1.01 * scale)


def test_formulas() -> None:
    pytest.importorskip("rdkit")
    header, arrays = unpacked(explore(["CC(=O)[O-]", "C[NH3+]", "c1ccccc1", "C#N"]).text)
    texts = [header["drawings"]["texts"][code] for code in arrays["texts"]]
    minus = "\N{MINUS SIGN}"
    assert texts == ["", "", "O", f"O{minus}", "", "NH3+", *[""] * 6, "", "N"]
    assert sorted(arrays["orders"][4:10]) == [1, 1, 1, 2, 2, 2]
    assert arrays["orders"][-1] == 3
    assert arrays["formulas"].tolist() == [1] * 4
    assert header["names"] == ["CC(=O)[O-]", "C[NH3+]", "c1ccccc1", "C#N"]


def test_large_molecules_are_drawn_as_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    depictor = pytest.importorskip("rdkit.Chem.rdDepictor")
    find, found = depictor.Compute2DCoords, []

    def counted(molecule: Any) -> None:
        found.append(molecule.GetNumAtoms())
        find(molecule)

    monkeypatch.setattr(depictor, "Compute2DCoords", counted)
    _, arrays = unpacked(explore(["C1CC1" * 200, "CCO", "C" * 250, "C" * 251]).text)
    assert found == [3, 250], "others take RDKit minutes"
    assert arrays["formulas"].tolist() == [0, 1, 1, 0]
    assert len(np.unique(arrays["places"].reshape(-1, 2)[:600], axis=0)) > 300


def test_graphs_that_are_not_their_smiles_are_drawn_as_graphs() -> None:
    pytest.importorskip("rdkit")
    header, _ = unpacked(explore(DATA[:3], smiles=["CCO", "none", "C"]).text)
    assert header["drawings"]["texts"] is None


def test_many_attributes_are_left_out_of_comparisons() -> None:
    graphs = DATA.graphs.with_attributes(np.ones((DATA.graphs.n_nodes, 9)))
    header, _ = unpacked(explore(graphs, projection="pca").text)
    assert len(header["drawings"]["attributes"]) == 8
    assert header["kernel"]["attributeGamma"] is None
