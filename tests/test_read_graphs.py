"""`read_graphs` reads every format that retgk writes or knows, and says what it cannot read."""

import gzip
import os
import warnings
import zipfile

import numpy as np
import pytest

from retgk import (
    GraphBatch,
    GraphDataset,
    InvalidInputError,
    from_smiles,
    make_graph_classification,
    read_graphs,
    save_tudataset,
    write_edge_list,
    write_graphml,
    write_parquet,
)
from retgk.cli.options import source_names
from retgk.io.formats import endings, format_of, formats, formats_table, readable_endings
from retgk.io.molecules import LeftOutWarning
from retgk.io.tables import typed_targets
from tests.cli_calls import invoke
from tests.tu_files import write_zip

DATA = make_graph_classification(6, n_labels=2, n_attributes=1, random_state=0)


@pytest.fixture
def archive(tmp_path):
    return save_tudataset(GraphDataset(DATA.graphs, DATA.targets, "TINY"), tmp_path)


def test_tu_archive_by_any_name_and_folder(archive):
    renamed = archive.rename(archive.with_name("other.zip"))
    with zipfile.ZipFile(renamed) as opened:
        opened.extractall(archive.parent / "unpacked")
    for path in (renamed, str(renamed), archive.parent / "unpacked" / "TINY"):
        found = read_graphs(path)
        assert (found.name, found.graphs) == ("TINY", DATA.graphs)
        np.testing.assert_array_equal(found.targets, DATA.targets)


def test_two_tu_collections_in_one_archive(tmp_path):
    path = write_zip(tmp_path)
    with zipfile.ZipFile(path, "a") as opened:
        opened.writestr("TOY/OTHER_A.txt", "1, 1\n")
    with pytest.raises(InvalidInputError, match=r"holds 2 files NAME_A.txt; a TU collection has"):
        read_graphs(path)


def test_parquet_without_targets(tmp_path):
    assert read_graphs(write_parquet(DATA.graphs, tmp_path / "a.parquet")).targets is None
    found = read_graphs(write_parquet(DATA, tmp_path / "a.parquet"))
    np.testing.assert_array_equal(found.targets, DATA.targets)


def test_a_data_set_without_targets_is_written_as_its_graphs_are(tmp_path):
    write_parquet(GraphDataset(DATA.graphs, None, "plain"), tmp_path / "a.parquet")
    found = read_graphs(tmp_path / "a.parquet")
    assert (found.name, found.targets, found.graphs) == ("plain", None, DATA.graphs)
    with pytest.raises(InvalidInputError, match="plain has no targets, which TUDataset files need"):
        save_tudataset(GraphDataset(DATA.graphs, None, "plain"), tmp_path)


def test_graphml_and_edge_lists(tmp_path):
    pytest.importorskip("networkx")
    write_graphml(DATA.graphs, tmp_path / "gml", stem="g")
    found = read_graphs(tmp_path / "gml", label="label", attributes=["attribute_0"])
    assert found.graphs == DATA.graphs
    assert found.graph_names == [f"g-{number}" for number in range(6)]
    plain = read_graphs(write_parquet(DATA.graphs[:2], tmp_path / "a.parquet")).graphs
    plain = plain.without_labels().without_attributes()
    connected = [graph for graph in plain if np.diff(graph.indptr).all()]
    for graph in connected:
        (path,) = write_edge_list(graph, tmp_path / "edges")
        assert read_graphs(path).graphs == graph
    (tmp_path / "table.csv").write_text("1,2,0.5\n2,3,1\n")
    assert read_graphs(tmp_path / "table.csv", weighted=True).graphs.is_weighted
    (tmp_path / "bars.txt").write_text("1|2\n2|3\n")
    assert read_graphs(tmp_path / "bars.txt", format="edges", delimiter="|").graphs.n_nodes == 3


def test_packed_smiles_with_names(tmp_path):
    (tmp_path / "a.smi.gz").write_bytes(gzip.compress(b"CCO ethanol\nc1ccccc1\n"))
    found = read_graphs(tmp_path / "a.smi.gz", bond_orders=True, atom_attributes="charge")
    assert found.graph_names == ["ethanol", "c1ccccc1"]
    assert found.graphs == from_smiles(["CCO", "c1ccccc1"], bond_orders=True, attributes=["charge"])
    assert (found.name, found.targets, found.rows) == ("a", None, None)


def test_molecules_that_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("smiles,y\nCCO,1\nC(C,0\nCC,2\n")
    with pytest.raises(InvalidInputError, match=r"skip_invalid=True leaves such out$"):
        read_graphs(path, target_column="y")
    with pytest.warns(LeftOutWarning, match="left out 1 molecule RDKit cannot read: line 3"):
        found = read_graphs(path, target_column="y", skip_invalid=True)
    assert (found.targets.tolist(), found.rows.tolist()) == ([1, 2], [0, 2])
    last = found[1:]
    assert (last.graph_names, last.rows.tolist(), last.targets.tolist()) == (["CC"], [2], [2])


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.csv", "x,y\nC,1\n", {}, "name one of x, y with smiles_column=$"),
        ("a.smi", "C(\n", {}, "skip_invalid=True leaves such out$"),
        ("a.txt", "C(\n", {}, "taken for smiles by its content; say so"),
        ("a.txt", "C(\n", {"format": "smiles"}, "leaves such out$"),
        ("a.edges", "1,2\n", {}, "pass delimiter=',' if they are separated by it"),
    ],
)
def test_errors_say_what_helps(tmp_path, name, text, options, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        read_graphs(tmp_path / name, **options)


def test_every_ending_is_told(tmp_path):
    """Lists are made from the registry: completion, help, and the table of the docs."""
    for ending in readable_endings():
        (tmp_path / f"file{ending}").touch()
    offered = source_names(f"{tmp_path}/file")
    assert sorted(offered) == sorted(f"{tmp_path}/file{ending}" for ending in readable_endings())
    text = "".join(invoke("info", "--help").stdout.replace("│", " ").split())
    for name in formats():
        assert f"| `{name}` |" in formats_table()
        assert name in text
    assert all(f"{ending}," in text or f"{ending};" in text for ending in endings())


@pytest.mark.parametrize("form", formats().values(), ids=lambda form: form.name)
def test_packed_text_is_read_in_folders_too(form, tmp_path):
    texts = [ending for rank in form.in_folder or (form.endings,) for ending in rank]
    texts = [ending for ending in texts if ending not in form.binary]
    if not texts or not form.writes_folder:
        pytest.skip("no folder of text files")
    graphs = GraphBatch.from_edges([2, 3], [[0, 1], [2, 3], [3, 4]], symmetrize=True)
    form.write(GraphDataset(graphs, None, "x"), tmp_path)
    for path in list(tmp_path.iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert format_of(tmp_path) is form
    assert read_graphs(tmp_path).graphs == graphs


@pytest.mark.parametrize("name", ["a.smi", "a.json", "bad.smi"])
def test_reading_in_a_process_of_its_own(name, tmp_path):
    texts = {"a.smi": "CC\nC(\n", "a.json": '{"edges": [[0, 1]]}', "bad.smi": "C(\n"}
    (tmp_path / name).write_text(texts[name])
    if name == "bad.smi":
        with pytest.raises(InvalidInputError, match="leaves such out"):
            read_graphs(tmp_path / name, isolated=True)
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = read_graphs(tmp_path / name, isolated=True, skip_invalid=True)
        assert found.graphs == read_graphs(tmp_path / name, skip_invalid=True).graphs
    assert [warning.category for warning in told] == [LeftOutWarning] * 2 * name.endswith("smi")


def test_what_ends_the_process_is_an_error(tmp_path, monkeypatch):
    """A reader that crashes, and one that takes more memory than it may."""
    (tmp_path / "retgk_crash.py").write_text(
        "import ctypes\nfrom retgk.io.formats import Format\n"
        "Format(name='crash', endings=('.crash',), read=lambda files: ctypes.string_at(0))\n"
        "Format(name='greedy', endings=('.greedy',), read=lambda files: bytearray(1 << 40))\n"
    )
    (tmp_path / "sitecustomize.py").write_text("import retgk_crash\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name, message in (("crash", "SIGSEGV|did not fit"), ("greedy", "did not fit|Memory")):
        (tmp_path / f"x.{name}").touch()
        with pytest.raises(InvalidInputError, match=rf"x.{name}: .*({message})"):
            read_graphs(tmp_path / f"x.{name}", isolated=True)


def test_what_is_not_there_and_unknown_formats(tmp_path):
    with pytest.raises(InvalidInputError, match=r"there is no file or folder .*nowhere; load_tuda"):
        read_graphs(tmp_path / "nowhere")
    with pytest.raises(InvalidInputError, match=r"format must be one of edges, .*, got 'nothing'"):
        read_graphs(tmp_path, format="nothing")


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "-2"], [1, -2]),
        (["1", "2.5"], [1.0, 2.5]),
        (["1", "b"], ["1", "b"]),
        (["inf", "b"], ["inf", "b"]),
        (["1" * 30, "2"], ["1" * 30, "2"]),
    ],
)
def test_targets_get_the_narrowest_type(texts, values):
    assert typed_targets(texts).tolist() == values


def test_targets_that_are_no_numbers_among_numbers():
    with pytest.raises(InvalidInputError, match="the target 'nan' of graph 1 is not finite"):
        typed_targets(["1", "nan"])


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"PAR1....", "parquet"),
        (b"PK\x03\x04", "tu"),
        (b"<?xml?><graphml>", "graphml"),
        (b"# comment\n0 1\n", "edges"),
        (b"CCO\n", "smiles"),
        (b"name,smiles\n", "smiles"),
    ],
)
def test_content_tells_where_the_name_does_not(tmp_path, content, form):
    path = tmp_path / "unknown"
    path.write_bytes(content)
    assert format_of(path).name == form


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x01"])
def test_unknown_content(tmp_path, content):
    path = tmp_path / "unknown"
    path.write_bytes(content)
    message = "cannot be recognised; say what it is with format=, one of edges, "
    with pytest.raises(InvalidInputError, match=message):
        format_of(path)


def test_folders_without_or_with_too_many_graphs(tmp_path):
    with pytest.raises(InvalidInputError, match=r"holds no graphs; it should hold .*: edges"):
        format_of(tmp_path)
    (tmp_path / "a.edges").touch()
    (tmp_path / "a.graphml").touch()
    message = "holds edges and graphml graphs; .*; say what it is with format="
    with pytest.raises(InvalidInputError, match=message):
        format_of(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
@pytest.mark.parametrize("ending", ["csv", "smi", "json", "parquet", "npy", "graphml", "zip", ""])
def test_pipes_are_refused(tmp_path, ending):
    """They would give their content to the first look at it, or never."""
    pipe = tmp_path / f"graphs.{ending}"
    os.mkfifo(pipe)
    molecules = tmp_path / "molecules.smi"
    molecules.write_text("CCO\nCCN\n")
    held = os.open(pipe, os.O_RDWR)  # with somebody at the other end, opening does not wait
    os.write(held, b"1\n2\n" * 4)
    try:
        with pytest.raises(InvalidInputError, match=r"is no regular file.*or give - for standard"):
            read_graphs(pipe)
        with pytest.raises(InvalidInputError, match="is no regular file"):
            read_graphs(molecules, targets=pipe)
    finally:
        os.close(held)
