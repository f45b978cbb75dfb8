"""The files of settings hold what the paper and the authors' code state."""

import pytest

from reproduction.frankenstein import REBUILT
from reproduction.peers import COLUMNS
from reproduction.runner import METHOD_KINDS
from reproduction.tables import (
    chosen_cells,
    figure_cells,
    protocol_settings,
    published_accuracies,
    published_methods,
    published_times,
    read_settings,
    set_sizes,
    table_cells,
)
from retgk import InvalidInputError
from retgk.learning.paper_protocol import PAPER_PENALTIES


def settings_of(table, method):
    return {cell.dataset: cell.settings for cell in table_cells(table) if cell.method == method}


def test_every_published_cell_is_there():
    for table in (1, 2, 3, 4):
        cells = {(cell.dataset, cell.method) for cell in table_cells(table)}
        assert set(published_accuracies(table)) <= cells


def test_every_column_has_settings():
    for table in (1, 2, 3, 4):
        assert set(published_methods(table)) <= read_settings(f"table_{table}")["methods"].keys()


@pytest.mark.parametrize("table", [1, 2, 3, 4])
def test_what_all_sets_share(table):
    for settings in settings_of(table, "RetGK_I").values():
        assert settings["structure_gamma"] == "median"
    for name, settings in settings_of(table, "RetGK_II").items():
        assert settings["n_steps"] == 50
        assert settings["p"] == settings["median_scale"] == 1
        widths = [100, 100] if table == 4 else [200, 500 if name == REBUILT else 200]
        assert settings["n_components"] == widths, name
        assert (settings["feature_map"], settings["frequencies"]) == ("tensor", "plain")
    uses = {
        (cell.settings["uses_labels"], cell.settings["uses_attributes"])
        for cell in table_cells(table)
        if cell.method not in ("WL", "SP")
    }
    assert uses == {(table in (2, 4), table in (3, 4))}


def test_scales_of_frequencies_without_attributes():
    assert {s["structure_scale"] for s in settings_of(1, "RetGK_II").values()} == {10}
    scales = {name: s["structure_scale"] for name, s in settings_of(2, "RetGK_II").items()}
    assert {name for name, scale in scales.items() if scale == 100} == {
        "PTC_FM", "PTC_FR", "PTC_MM",
    }  # fmt: skip
    assert set(scales.values()) == {10, 100}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (3, {"ENZYMES": (1, 0.1), "SYNTHETICnew": (100, 1), "PROTEINS": (10, 1),
             "Synthie": (10, 0.1), REBUILT: (10, 0.1)}),
        (4, {"ENZYMES": (1, 0.1), "PROTEINS": (10, 1), "BZR": (10, 1), "COX2": (10, 0.1),
             "DHFR": (10, 0.1)}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["RetGK_II", "RetGK_II joint"])
def test_scales_of_frequencies_with_attributes(table, expected, method):
    found = settings_of(table, method)
    assert {
        name: (s["structure_scale"], s["attribute_scale"]) for name, s in found.items()
    } == expected


def test_final_kernels_of_retgk_1():
    assert {s["p"] for table in (1, 2) for s in settings_of(table, "RetGK_I").values()} == {1}
    third = settings_of(3, "RetGK_I")
    assert {name: s["p"] for name, s in third.items()} == {
        "ENZYMES": 2, "PROTEINS": 1, "SYNTHETICnew": 2, "Synthie": 2, REBUILT: 1,
    }  # fmt: skip
    assert {name: s["n_steps"] for name, s in third.items() if s["n_steps"] != 50} == {
        "ENZYMES": 20
    }
    fourth = settings_of(4, "RetGK_I")
    assert (fourth["ENZYMES"]["p"], fourth["ENZYMES"]["median_scale"]) == (2, 8)
    assert {s["p"] for name, s in fourth.items() if name != "ENZYMES"} == {1}
    assert {s["median_scale"] for name, s in fourth.items() if name != "ENZYMES"} == {1}


def test_monte_carlo_is_the_papers():
    for settings in settings_of(1, "RetGK_II(MC)").values():
        assert (settings["walks"], settings["n_walks"]) == ("monte-carlo-returns", 200)


def test_frankenstein_has_its_own_bandwidth():
    gammas = {name: s["attribute_gamma"] for name, s in settings_of(3, "RetGK_I").items()}
    assert gammas.pop(REBUILT) == pytest.approx(0.0073**0.5)
    assert set(gammas.values()) == {"dimension"}


def test_numbers_of_frankenstein_stand_beside_the_rebuilt_set():
    assert published_accuracies(3)[REBUILT, "RetGK_I"] == (76.4, 0.3)
    assert "FRANKENSTEIN" not in {name for name, _ in published_accuracies(3)}


def test_records_of_the_incomplete_synthie_are_of_no_cell():
    for method in ("RetGK_I", "RetGK_II"):
        settings = settings_of(3, method)
        assert settings["Synthie"]["n_nodes"] == 38_000
        assert "n_nodes" not in settings["ENZYMES"]
    points = [cell for cell in figure_cells(2) if cell.dataset == "Synthie"]
    assert {cell.settings["n_nodes"] for cell in points} == {38_000}


def test_protocol_of_the_authors():
    assert protocol_settings("paper") == {"folds": 10, "c": list(PAPER_PENALTIES)}


def test_every_method_is_of_a_kind_that_can_be_computed():
    for table in (1, 2, 3, 4):
        for name, method in read_settings(f"table_{table}")["methods"].items():
            assert method["kind"] in METHOD_KINDS
            assert method["kind"] != "native" or name in COLUMNS


def test_nested_protocol_is_for_sets_of_up_to_5000_graphs():
    sets = {cell.dataset for cell in table_cells(1, "nested")}
    assert "REDDIT-MULTI-12K" not in sets
    assert "COLLAB" in sets
    assert max(set_sizes(name)[0] for name in sets) == 5000


def test_peers_without_attributes_share_the_cells_of_table_2():
    of_table_2 = {cell.key(0) for cell in table_cells(2)}
    for method in ("WL", "SP"):
        for cell in table_cells(4):
            if cell.method == method:
                is_there = cell.dataset in ("ENZYMES", "PROTEINS")
                assert (cell.key(0) in of_table_2) == is_there


def test_published_times():
    assert published_times()[1, "RetGK_I"] == "48h14m"
    assert published_times()[2, "SP"] == ">24h"


def test_figure_shares_cells_with_the_tables():
    """The point of a curve at the value of the table is not computed twice."""
    of_tables = {cell.key(0) for table in (1, 2, 3, 4) for cell in table_cells(table)}
    shared = {cell.place for cell in figure_cells(2) if cell.key(0) in of_tables}
    assert shared == {f"figure 2: {name}" for name in ("S=50", "D0=100", "D0=200", "Dc=100",
                                                       "Dc=200")}  # fmt: skip
    with_widths = {cell.dataset for cell in figure_cells(2) if "Dc" in cell.place}
    assert with_widths == {"SYNTHETICnew", "Synthie", "ENZYMES", "PROTEINS"}


def test_keys_differ_by_everything_that_matters():
    cells = table_cells(2) + table_cells(2, deduplicate=True) + table_cells(2, "nested")
    keys = {cell.key(repetition) for cell in cells for repetition in range(3)}
    assert len(keys) == 3 * len(cells)


def test_choosing_cells():
    assert {cell.place for cell in chosen_cells(tables=[2], sets=["MUTAG"])} == {"table 2"}
    assert {cell.protocol for cell in chosen_cells(protocols=["nested"])} == {"nested"}
    both = chosen_cells()
    assert any(cell.place.startswith("figure") for cell in both)
    with pytest.raises(InvalidInputError, match="has the set 'MUTTAG'; choose from BZR, COLLAB"):
        chosen_cells(sets=["MUTTAG"])
    with pytest.raises(
        InvalidInputError, match=r"has the method 'GIN'; choose from .*GK, .*RetGK_I"
    ):
        chosen_cells(methods=["GIN"])
    with pytest.raises(InvalidInputError, match=r"there is no table 5; choose from \(1, 2, 3, 4"):
        chosen_cells(tables=[5])
    with pytest.raises(InvalidInputError, match=r"there is no figure 3; choose from \(1, 2\)"):
        chosen_cells(figures=[3])
    assert chosen_cells(figures=[1]) == []


@pytest.mark.parametrize("options", [{"protocols": ["nested"]}, {"deduplicate": True}])
def test_figures_are_not_dropped_silently(options):
    for figure in (1, 2):
        with pytest.raises(
            InvalidInputError, match="figures and variations are made by the paper's protocol"
        ):
            chosen_cells(figures=[figure], tables=[2], **options)
    both = chosen_cells(figures=[2], tables=[2], protocols=["paper", "nested"])
    assert {cell.protocol for cell in both if cell.place.startswith("figure")} == {"paper"}
