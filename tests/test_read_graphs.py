"""`read_graphs` reads every format that retgk writes or knows, and says what it cannot read."""

import gzip
import json
import os
import warnings
import zipfile
from functools import partial

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from retgk import GraphBatch, GraphDataset, InvalidInputError, read_graphs
from retgk.cli.options import source_names
from retgk.datasets import make_graph_classification, save_tudataset
from retgk.errors import InputWarning, LeftOutWarning
from retgk.io import from_networkx, from_smiles, graphml, write_parquet
from retgk.io.edges import write_edge_list
from retgk.io.formats import endings, format_of, formats, formats_table, readable_endings
from retgk.io.gml import write_gml
from retgk.io.graphml import write_graphml
from retgk.io.json import write_json
from tests.errors import fails
from tests.example_files import write_zip
from tests.example_graphs import dense, dense_from_edges, node_link
from tests.programs import assert_fails, invoke, printed

DATA = make_graph_classification(6, n_labels=2, n_attributes=1, rng=0)


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
    fails(lambda: read_graphs(path), about=("2 files", "NAME_A.txt"))


def test_a_data_set_without_targets_is_written_as_its_graphs_are(tmp_path):
    write_parquet(GraphDataset(DATA.graphs, None, "plain"), tmp_path / "a.parquet")
    found = read_graphs(tmp_path / "a.parquet")
    assert (found.name, found.targets, found.graphs) == ("plain", None, DATA.graphs)
    fails(
        lambda: save_tudataset(GraphDataset(DATA.graphs, None, "plain"), tmp_path),
        about="plain has no targets",
    )


def test_packed_smiles_with_names(tmp_path):
    (tmp_path / "a.smi.gz").write_bytes(gzip.compress(b"CCO ethanol\nc1ccccc1\n"))
    found = read_graphs(tmp_path / "a.smi.gz", bond_orders=True, atom_attributes="charge")
    assert found.graph_names == ["ethanol", "c1ccccc1"]
    assert found.graphs == from_smiles(["CCO", "c1ccccc1"], bond_orders=True, attributes=["charge"])
    assert (found.name, found.targets, found.rows) == ("a", None, None)


def test_molecules_that_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("smiles,y\nCCO,1\nC(C,0\nCC,2\n")
    fails(lambda: read_graphs(path, target_column="y"), about="skip_invalid=True")
    with pytest.warns(LeftOutWarning, match="left out 1 molecule RDKit cannot read: line 3"):
        found = read_graphs(path, target_column="y", skip_invalid=True)
    assert (found.targets.tolist(), found.rows.tolist()) == ([1, 2], [0, 2])
    last = found[1:]
    assert (last.graph_names, last.rows.tolist(), last.targets.tolist()) == (["CC"], [2], [2])


def test_rows_without_molecule_or_target_are_left_out_with_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("smiles,y\nCCO,1.5\nC(C,0\n,2\nCC,\nCN,NA\nCCC,3\n")
    fails(
        lambda: read_graphs(path, target_column="y", skip_invalid=False),
        about=("a.csv, line 4", "'smiles'", "skip_invalid=True"),
    )
    told = "1 molecule RDKit cannot read: line 3; 3 rows without SMILES or target: lines 4, 5, 6"
    with pytest.warns(LeftOutWarning, match=told):
        found = read_graphs(path, target_column="y", skip_invalid=True)
    assert (found.targets.tolist(), found.rows.tolist()) == ([1.5, 3.0], [0, 5])


@pytest.mark.parametrize(
    ("values", "line", "text"),
    [
        (("1", ">10", "3"), 3, "'>10'"),
        (("1.5", "2", "1,7"), 4, "'1,7'"),
        (("1,5", "2,5", "1,7"), 2, "decimal point"),
        (("1", "0", "NA"), 4, "'NA'"),
        (("0.1", "0.2", "unclear"), 4, "'unclear'"),
    ],
)
def test_values_that_are_no_numbers_name_their_line(tmp_path, values, line, text):
    """They would make names of classes of all values."""
    path, targets = tmp_path / "a.csv", tmp_path / "y.csv"
    rows = [f'C,"{value}"\n' for value in values]
    path.write_text("smiles,y\n" + "".join(rows))
    fails(lambda: read_graphs(path, target_column="y"), about=(f"a.csv, line {line}", text))
    targets.write_text("graph,y\n" + "".join(f'{n},"{v}"\n' for n, v in enumerate(values)))
    fails(lambda: read_graphs(path, targets=targets), about=(f"y.csv, line {line}", text))
    targets = tmp_path / "y.txt"
    targets.write_text("".join(f"{value}\n" for value in values))
    fails(lambda: read_graphs(path, targets=targets), about=(f"y.txt, line {line - 1}", text))


@pytest.mark.parametrize(
    "classes", [("<10", "10-20", ">20"), ("1", "2", "other"), ("na", "b", "c")]
)
def test_names_of_classes_may_look_like_numbers(tmp_path, classes):
    path = tmp_path / "a.csv"
    path.write_text("smiles,y\n" + "".join(f"C,{each}\n" for each in classes))
    assert read_graphs(path, target_column="y").targets.tolist() == list(classes)


@pytest.mark.parametrize("header", ["SMILES Name", "canonical_smiles"])
def test_a_list_of_smiles_may_have_a_header(tmp_path, header):
    path = tmp_path / "a.smi"
    path.write_text(f"# made by hand\n{header}\nCCO ethanol\nCC ethane\n")
    found = read_graphs(path)
    assert found.graph_names == ["ethanol", "ethane"]
    assert found.graphs == from_smiles(["CCO", "CC"])


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.csv", "x,y\nC,1\n", {}, "smiles_column="),
        ("a.smi", "C(\n", {}, "skip_invalid=True"),
        ("a.txt", "C(\n", {}, "taken for smiles by"),
        ("a.txt", "C(\n", {"format": "smiles"}, "leaves such out"),
        ("a.edges", "1,2\n", {}, "delimiter=','"),
    ],
)
def test_errors_say_what_helps(tmp_path, name, text, options, message):
    (tmp_path / name).write_text(text)
    fails(lambda: read_graphs(tmp_path / name, **options), about=message)


MOLECULES = [f"{'C' * n}{ring}" for n in range(4) for ring in ("c1ccccc1", "C1CCNCC1", "c1ccsc1")]
FAST = ("--C", 10, "--p", 1, "--scale", 1)


def sdf_record(text, name="", **properties):
    molecule = Chem.MolFromSmiles(text)
    block = Chem.MolToMolBlock(molecule).split("\n", 1)[1]
    values = "".join(f">  <{key}>  (1) \n{value}\n\n" for key, value in properties.items())
    return f"{name}\n{block}{values}$$$$\n"


def test_sdf_files_and_their_properties(tmp_path):
    path, packed = tmp_path / "a.sdf", tmp_path / "b.sdf.gz"
    records = [sdf_record("CCO", "ethanol", y=1.5, note="a\nb"), sdf_record("c1ccccc1", y="2")]
    path.write_text("".join(records))
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for each in (path, packed):
        found = read_graphs(each, target_column="Y")
        assert found.graphs == from_smiles(["CCO", "c1ccccc1"])
        assert found.targets.tolist() == [1.5, 2.0]
        assert found.graph_names == ["ethanol", "molecule 1"]
    assert found.graphs.reading == from_smiles("C").reading
    plain = tmp_path / "one.mol"
    plain.write_text(Chem.MolToMolBlock(Chem.MolFromSmiles("C[C@H](N)O")))
    assert read_graphs(plain).graphs == from_smiles("C[C@H](N)O")
    assert read_graphs(plain, stereo=True).graphs == from_smiles("C[C@H](N)O", stereo=True)
    assert format_of(plain.rename(tmp_path / "unknown")).name == "sdf"
    complete = Chem.AddHs(Chem.MolFromSmiles("CCO"))
    plain.write_text(Chem.MolToV3KMolBlock(complete))
    assert read_graphs(plain).graphs == from_smiles("CCO")
    fails(lambda: read_graphs(path, target_column="z"), about=("'z'", "target_column="))


def test_molecules_of_an_sdf_file_that_are_left_out(tmp_path):
    path = tmp_path / "a.sdf"
    damaged = sdf_record("CCN", "damaged", y=3).replace("N   0", "?   0")
    path.write_text(sdf_record("CCO", y=1) + damaged + sdf_record("C") + sdf_record("CC", y=4))
    fails(lambda: read_graphs(path), about=("a.sdf, line 15", "'damaged'", "skip_invalid=True"))
    fails(lambda: read_graphs(path, target_column="y"), about=("a.sdf, line 29", "'y'"))
    with pytest.warns(LeftOutWarning, match="cannot read: line 15; 1 row .*: line 29"):
        found = read_graphs(path, target_column="y", skip_invalid=True)
    assert (found.rows.tolist(), found.targets.tolist()) == ([0, 3], [1, 4])
    path.write_text(sdf_record("CCO", y=1) + sdf_record("CC", y=">4"))
    fails(lambda: read_graphs(path, target_column="y"), about=("line 15", "'>4'"))


def test_scaffolds_of_an_sdf_file(tmp_path):
    path = tmp_path / "a.sdf"
    path.write_text("".join(sdf_record(text, y=n % 2) for n, text in enumerate(MOLECULES)))
    result = invoke("cv", path, "--target-column", "y", "--split", "scaffold", "--folds", 3, *FAST)
    assert result.exit_code == 0, result.output


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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.smi", "a.json", "bad.smi"])
def test_reading_in_a_process_of_its_own(name, tmp_path):
    texts = {"a.smi": "CC\nC(\n", "a.json": '{"edges": [[0, 1]]}', "bad.smi": "C(\n"}
    (tmp_path / name).write_text(texts[name])
    if name == "bad.smi":
        fails(lambda: read_graphs(tmp_path / name, isolated=True), about="leaves such out")
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = read_graphs(tmp_path / name, isolated=True, skip_invalid=True)
        assert found.graphs == read_graphs(tmp_path / name, skip_invalid=True).graphs
    assert [warning.category for warning in told] == [LeftOutWarning] * 2 * name.endswith("smi")


@pytest.mark.slow
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


def _graphs_with_gaps(form, folder):
    """Files of five graphs with targets 0 to 4, of which the second and the last have no nodes."""
    graphs = [nx.path_graph(n) for n in (2, 0, 3, 4, 0)]
    path = folder / "all"
    if form in ("plain", "node-link"):
        records = [
            {"n_nodes": len(g), "edges": [list(edge) for edge in g.edges]}
            if form == "plain"
            else node_link(g)
            for g in graphs
        ]
        path = folder / "all.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif form == "tu":
        plain = [g for g in graphs if len(g)]
        data = GraphDataset(from_networkx(plain), np.array([0, 2, 3]), "all")
        path = save_tudataset(data, folder)
        with zipfile.ZipFile(path) as packed:
            files = {name: packed.read(name).decode() for name in packed.namelist()}
        names = {"1": "1", "2": "3", "3": "4"}
        with zipfile.ZipFile(path, "w") as packed:
            for name, text in files.items():
                lines = [names[line] for line in text.split()] if "indicator" in name else []
                lines = list("01234") if name.endswith("graph_labels.txt") else lines
                packed.writestr(name, "".join(f"{line}\n" for line in lines) or text)
    else:
        path.mkdir()
        for number, graph in enumerate(graphs):
            own = path / f"{number}.{form}"
            if form == "graphml":
                nx.write_graphml(graph, own)
            elif form == "gml":
                nodes = "".join(f"node [ id {n} ] " for n in graph)
                edges = "".join(f"edge [ source {u} target {v} ] " for u, v in graph.edges)
                own.write_text(f"graph [ {nodes}{edges}]")
            else:
                own.write_text("".join(f"{u} {v}\n" for u, v in graph.edges))
    return path


@pytest.mark.parametrize("form", ["plain", "node-link", "tu", "graphml", "gml", "edges"])
def test_graphs_without_nodes_are_left_out_with_their_targets(form, tmp_path):
    path = _graphs_with_gaps(form, tmp_path)
    fails(lambda: read_graphs(path), about="skip_invalid=True")
    options = {}
    if form != "tu":
        options["targets"] = tmp_path / "y.txt"
        (tmp_path / "y.txt").write_text("0\n1\n2\n3\n4\n")
    with pytest.warns(LeftOutWarning, match="left out 2 graphs without nodes.*: graphs 1, 4"):
        data = read_graphs(path, skip_invalid=True, **options)
    assert data.graphs == from_networkx([nx.path_graph(n) for n in (2, 3, 4)])
    assert (data.targets.tolist(), data.rows.tolist()) == ([0, 2, 3], [0, 2, 3])
    given = [word for name, value in options.items() for word in (f"--{name}", value)]
    result = invoke("info", path, "--skip-invalid", *given)
    assert "left out 2 graphs without nodes" in result.stderr
    assert "3 classes" in result.stdout
    assert_fails(invoke("info", path, *given), "--skip-invalid")


def test_what_is_not_there_and_unknown_formats(tmp_path):
    fails(lambda: read_graphs(tmp_path / "nowhere"), about=("there is no file", "nowhere"))
    fails(lambda: read_graphs(tmp_path, format="nothing"), about="'nothing'")


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"PAR1....", "parquet"),
        (b"PK\x03\x04", "tu"),
        (b"<?xml?><graphml>", "graphml"),
        (b'Creator "igraph"\nVersion 1\n# x\ngraph\n[\n', "gml"),
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
    message = "format="
    fails(lambda: format_of(path), about=message)


def test_folders_without_or_with_too_many_graphs(tmp_path):
    fails(lambda: format_of(tmp_path), about=("holds no graphs; it", "edges"))
    (tmp_path / "a.edges").touch()
    (tmp_path / "a.graphml").touch()
    message = "format="
    fails(lambda: format_of(tmp_path), about=message)


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
        fails(lambda: read_graphs(pipe), about=("is no regular", "or give - for"))
        fails(lambda: read_graphs(molecules, targets=pipe), about="is no regular")
    finally:
        os.close(held)


# Files of edges, there and back, and what is wrong with them


def graphs(weights=None, **values):
    edges = [[0, 2], [1, 2], [1, 1], [3, 4]]
    return GraphBatch.from_edges([3, 2], edges, weights, symmetrize=True, **values)


def written(folder, content, name="bad.edges"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("weights", [None, [0.1, 1e-9, 3.0, 1e9]])
@pytest.mark.parametrize("write", [write_edge_list, write_graphml])
def test_weights_there_and_back(tmp_path, weights, write):
    batch = graphs(weights)
    write(batch, tmp_path / "new")
    assert read_graphs(tmp_path / "new").graphs == batch


@settings(max_examples=40, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12),
    seed=st.integers(0, 2**32),
    blank=st.sampled_from(["", "\n", "  \n# comment\n"]),
)
def test_lines_are_the_edges_of_from_edges(tmp_path_factory, edges, seed, blank):
    weights = np.random.default_rng(seed).random(len(edges)).round(3) + 0.001
    lines = [f" {a}\t{b}  {w}\n" for (a, b), w in zip(edges, weights, strict=True)]
    path = written(tmp_path_factory.mktemp("edges"), blank.join(lines), "one.edges")
    names = {
        node: rank for rank, node in enumerate(sorted({end for edge in edges for end in edge}))
    }
    numbered = [[names[a], names[b]] for a, b in edges]
    expected = dense_from_edges(len(names), numbered, weights, symmetrize=True)
    np.testing.assert_allclose(dense(read_graphs(path, symmetrize=True).graphs), expected)
    plain = dense_from_edges(len(names), numbered, symmetrize=True) > 0
    np.testing.assert_array_equal(dense(read_graphs(path, weight=None).graphs), plain)


def test_files_of_others(tmp_path):
    plain = written(tmp_path, "\ufeff# a comment\nb,a\na, c\n", "names.edges")
    packed = tmp_path / "numbers.edges.gz"
    with gzip.open(packed, "wt") as stream:
        stream.write("10 2 {}\n2 1 {}\n")  # as networkx writes edges without data
    path = GraphBatch.from_edges([3], [[0, 1], [1, 2]], symmetrize=True)
    assert read_graphs(plain, delimiter=",").graphs == path  # b - a - c
    assert read_graphs(packed).graphs == path  # 1 - 2 - 10
    plain.unlink()
    assert read_graphs(tmp_path).graphs == path


def test_parallel_edges_add_up_and_directions_do_not(tmp_path):
    path = written(tmp_path, "1 2 0.5\n1 2 0.5\n2 1 0.25\n2 3 1\n3 2 4\n")
    fails(lambda: read_graphs(path), about=("bad.edges", "node 0", "weight 1", "weight 0.25"))
    for choice, weights in ((True, [1.0, 4.0]), ("sum", [1.25, 5.0]), ("mean", [0.625, 2.5])):
        assert read_graphs(path, symmetrize=choice).graphs == GraphBatch.from_edges(
            3, [[0, 1], [1, 2]], weights, symmetrize=True
        )
    path = written(tmp_path, "1 2 0.5\n2 1 0.5\n2 3 4\n")  # in both directions, with one weight
    assert read_graphs(path).graphs.weights.tolist() == [0.5, 0.5, 4, 4]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.edges"])
def test_edge_lists_with_names_of_columns(name, tmp_path):
    mark = {"t.csv": ",", "t.tsv": "\t", "t.edges": " "}[name]
    lines = ["id,Source,Target,weight,kind", "0,a,b,0.5,x", "1,b,c,2,y", "2,b,a,0.5,x"]
    path = written(tmp_path, "".join(line.replace(",", mark) + "\n" for line in lines), name)
    expected = GraphBatch.from_edges(3, [[0, 1], [1, 2]], [0.5, 2.0], symmetrize=True)
    with pytest.warns(InputWarning, match="edges have 'kind', which is not used"):
        assert read_graphs(path).graphs == expected
    found = read_graphs(path, edge_label="kind").graphs
    assert found.without_edge_labels() == expected
    assert found.edge_label_names == ("x", "y")
    assert not read_graphs(path, weight=None).graphs.is_weighted
    assert read_graphs(path, weight="4", edge_label=["5"]).graphs.edge_label_names == (
        ("x",),
        ("y",),
    )
    path.write_text(path.read_text().replace("a" + mark + "0.5", "a" + mark + "9"))
    fails(lambda: read_graphs(path, edge_label=[]), about=(name, "weight 0.5", "weight 9"))
    path.write_text(path.read_text().replace("9", "high"))
    fails(lambda: read_graphs(path, edge_label=[]), about=(name, "line 4", "'high'"))
    path.write_text(path.read_text() + f"3{mark}a\n")
    fails(lambda: read_graphs(path, weight=None), about=("line 5", "2 columns"))
    path.write_text(f"source{mark}target\n")
    fails(lambda: read_graphs(path), about="without nodes")


def test_comments_and_headings_of_edge_lists(tmp_path):
    path = tmp_path / "konect.edges"
    path.write_text("% asym weighted\n# 2 lines\n1 2 3\n2 3 1\n")
    assert read_graphs(path).graphs.weights.tolist() == [3, 3, 1, 1]
    path.write_text("a b weight\nx y 0.5\n")
    fails(
        partial(read_graphs, path), about="is a heading, call its first columns source and target"
    )


def test_columns_of_edge_lists(tmp_path):
    path = written(tmp_path, "0 1 0.9 a\n1 2 0.1 b\n2 0 0.5 a\n")
    fails(lambda: read_graphs(path), about=("line 1", "4 columns", "weight=3", "--no-weights"))
    found = read_graphs(path, weight=3, edge_label=4).graphs
    assert found.weights[:2].tolist() == [0.9, 0.5]
    assert found.edge_label_names == ("a", "b")
    assert read_graphs(path, weight="3", edge_label=["4"]).graphs.edge_label_names == (
        ("a",),
        ("b",),
    )
    with pytest.warns(InputWarning, match="edges have 'column 4', which is not used"):
        assert read_graphs(path, weight=3).graphs.is_weighted
    with pytest.warns(InputWarning, match="edges have 'column 3', which is not used"):
        assert not read_graphs(path, edge_label=4).graphs.is_weighted
    plain = read_graphs(path, weight=None).graphs
    assert not plain.is_weighted
    assert not plain.has_edge_labels
    path.write_text("0 1 friend\n")
    fails(lambda: read_graphs(path), about=("line 1", "'friend'", "edge_label=3"))
    path.write_text("0 1 {'weight': 2}\n")
    fails(lambda: read_graphs(path), about="write_weighted_edgelist")
    path.write_text("0 1\n1 2 5\n")
    fails(lambda: read_graphs(path), about=("line 2", "3 columns"))
    assert "weighted" in printed("info", written(tmp_path, "0 1 0.9\n1 2 0.1\n", "w.edges"))


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("1 2\n2\n3 4\n", {}, ("bad.edges", "line 2", "'2'")),
        ("1 2\n# no\n1,2\n", {}, ("line 3", "'1,2'", "delimiter=','")),
        ("1, 2\n", {}, ("line 1", "delimiter=','")),
        ("1;2\n", {}, ("line 1", "delimiter=';'")),
        ("1,2\n1\n", {"delimiter": ","}, ("line 2", "'1'", "','")),
        ("1,,2\n", {"delimiter": ","}, ("line 1", "','")),
        ("1 2 1\n1 2 x\n", {}, ("line 2", "'x'")),
        ("1 2 1\n1 2\n", {}, ("line 2", "column 3")),
        ("1 2 1_0\n", {"weight": 3}, "line 1"),
        ("1 2 nan\n", {"weight": 3}, "line 1"),
        ("1 2 inf\n", {"weight": 3}, "line 1"),
        ("1 2 1\n1 2 -1\n", {}, ("line 2", "negative='absolute'")),
        ("0 1\n", {"weight": 3}, ("line 1", "column 3")),
        ("0 1 2 3\n", {"weight": "w"}, ("the number of a column", "'w'")),
        ("", {}, "bad.edges"),
        ("# only\n\n", {}, "bad.edges"),
        (b"1 2\n\xff\xfe 1\n", {}, ("bad.edges", "line 2")),
        ("1 2\n3 4\n", {"max_bytes": 7}, "7 allowed"),
        ("one,other\n1,2\n2,3\n", {"delimiter": ","}, ("bad.edges", "'one'", "'other'")),
        ("1 2\n", {"delimiter": ""}, "delimiter must be text"),
    ],
)
def test_bad_files(tmp_path, content, options, message):
    path = written(tmp_path, content)
    fails(lambda: read_graphs(path, **options), about=message)


def test_packed_files_that_are_damaged_or_too_large(tmp_path):
    path = tmp_path / "bomb.edges.gz"
    path.write_bytes(gzip.compress(b"1 2\n" * 100_000))
    assert path.stat().st_size < 2_000
    fails(lambda: read_graphs(path, max_bytes=2_000), about=("bomb.edges", "2000 allowed"))
    path.write_bytes(path.read_bytes()[:-20])
    fails(lambda: read_graphs(path), about="bomb.edges")
    path.write_text("1 2\n")
    fails(lambda: read_graphs(path), about="bomb.edges")


def test_what_edge_lists_would_lose(tmp_path):
    fails(
        lambda: write_edge_list(graphs(labels=list("abcab")), tmp_path),
        about="hold neither labels nor",
    )
    lonely = GraphBatch.from_edges([2, 3], [[0, 1], [2, 3]], symmetrize=True)
    fails(lambda: write_edge_list(lonely, tmp_path), about=("graph 1", "node 2"))
    assert list(tmp_path.iterdir()) == []


# GraphML files


def test_files_sort_in_the_order_of_the_graphs(tmp_path):
    batch = GraphBatch.concatenate(
        GraphBatch.from_edges([n], [[n - 2, n - 1]], symmetrize=True) for n in range(2, 14)
    )
    write_graphml(batch, tmp_path)
    assert read_graphs(tmp_path).graphs == batch


def test_directed_graphml(tmp_path):
    nx.write_graphml(nx.DiGraph([(0, 1)]), tmp_path / "arrow.graphml")
    fails(lambda: read_graphs(tmp_path), about=("graph 0", "symmetrize=True"))
    assert read_graphs(tmp_path, symmetrize=True).graphs.n_edges == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<graphml><node", "bad.graphml"),
        ("no xml at all", "bad.graphml"),
        (
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph '
            'edgedefault="undirected"/></graphml>',
            "bad.graphml",
        ),
    ],
)
def test_bad_graphml(tmp_path, content, message):
    path = tmp_path / "bad.graphml"
    path.write_text(content)
    fails(lambda: read_graphs(path), about=message)


def test_labels_that_graphml_cannot_hold(tmp_path):
    batch = graphs(labels=[(0, 1)] * 5)
    fails(lambda: write_graphml(batch, tmp_path), about="(0, 1)")
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_longer_series_is_not_mixed_in(tmp_path):
    write_graphml(graphs(), tmp_path, stem="other")
    paths = write_graphml(graphs(), tmp_path)
    fails(lambda: write_graphml(graphs()[1], tmp_path), about="graph-1.graphml")
    assert read_graphs(tmp_path).graphs[:2] == graphs()
    assert write_graphml(graphs()[::-1], tmp_path) == paths  # the same names: replaced
    assert read_graphs(tmp_path).graphs[:2] == graphs()[::-1]


@pytest.mark.slow
def test_processes_read_the_same(tmp_path, monkeypatch):
    """Graphs come in the order of the files, and errors name theirs, whoever parses."""
    monkeypatch.setattr(graphml, "_PIECE_BYTES", 1)  # every file is a piece
    many = make_graph_classification(n_graphs=9, n_labels=3, n_nodes=(5, 9), rng=0).graphs
    files = write_graphml(many, tmp_path)
    assert read_graphs(tmp_path, label="label", n_jobs=2).graphs == many
    files[7].write_text("<graphml><graph/></graphml>")
    fails(lambda: read_graphs(tmp_path, label="label", n_jobs=2), about="graph-7.graphml")
    fails(lambda: read_graphs(tmp_path, label="label", n_jobs=2, max_bytes=2000), about="max_bytes")


# GML files

GML_FILE = b"""
# a comment
Creator "somebody [ who"
graph [ directed 0 name "first" target 3
  node [ id 7 label "H&#228;&amp;&#1;" graphics [ x 1.5 y -2 ] size 1.0 size -.5E+1 ]
  node [ id 3 label "" size 2. size 3 ]
  edge [ source 7 target 3 value 2.5 kind "-" ] edge [ source 3 target 3 kind "=" ] ]
graph [ directed 1 name "second" node [ id 0 label "b" size 1 size 1 ] ]
"""


def test_gml(tmp_path):
    path = tmp_path / "two.gml"
    path.write_bytes(GML_FILE)
    options = {"label": "label", "attributes": "size", "weight": "value", "edge_label": "kind"}
    found = read_graphs(path, **options, symmetrize=True, target_column="target", missing="keep")
    expected = GraphBatch.from_edges(
        [2, 1],
        [[0, 1], [1, 0], [1, 1]],
        [2.5, 2.5, 1.0],
        labels=["H\xe4&\x01", "", "b"],
        attributes=[[1.0, -5.0], [2.0, 3.0], [1.0, 1.0]],
        edge_labels=["-", "-", "="],
    )
    assert found.graphs == expected
    assert found.graph_names == ["first", "second"]
    np.testing.assert_array_equal(found.targets, [3, np.nan])
    fails(lambda: read_graphs(path, **options), about=("two.gml, graph 1", "symmetrize=True"))


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_gml_of_networkx(tmp_path, kind):
    graph = kind()
    graph.add_node('a\n"', kind="x", place=[0.5, 1e-7])
    graph.add_node("b", kind="y", place=[1e20, 2.0])
    graph.add_edge('a\n"', "b", weight=1e-5)
    graph.add_edge("b", "b")
    nx.write_gml(graph, tmp_path / "a.gml.gz")
    nx.write_gml(graph, tmp_path / "b.gml")
    options = {"label": "kind", "attributes": ["place"], "edge_label": []}
    found = read_graphs(tmp_path, **options)
    assert found.graphs == from_networkx([graph] * 2, **options)
    assert found.graph_names == ["a", "b"]


def test_networkx_reads_written_gml(tmp_path):
    graph = GraphBatch.from_edges(
        3,
        [[0, 1], [1, 2]],
        [0.5, 1e-5],
        labels=["a", "\xe4", "a"],
        edge_labels=[1, 2],
        symmetrize=True,
    )
    path = write_gml(graph, tmp_path)[0]
    found = nx.read_gml(path, label="id")
    assert from_networkx(found, label="label", edge_label="label") == graph


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no graphs"),
        ("graph [ ]", "has no nodes"),
        ("graph 1", "not a list in square"),
        ("graph [ node [ id 0 ]", ("line 1", "left open")),
        ("graph [\nnode [ id 0 ] ] ]", ("line 2", "]")),
        ("graph [\n\nnode [ id label 0 ] ]", ("line 3", "label")),
        ("graph [ node [ id 0 0 ] ]", "line 1"),
        ('graph [ node [ id "0 ] ]', "line 1"),
        ("graph [ node 0 ]", "node 0"),
        ("graph [ node [ id [ a 0 ] ] ]", "node 0"),
        ("graph [ node [ id 0 ] node [ id 0 ] ]", "same id"),
        ("graph [ node [ id 0 ] edge [ source 0 ] ]", ("link 0", "target")),
        ("graph [ node [ id 0 ] edge [ source 0 target [ ] ] ]", "edge 0"),
        ("a [ " * 10**5, "line 1"),
        (f"graph [ node [ id {'9' * 10**4} ] ]", "line 1"),
    ],
)
def test_bad_gml(tmp_path, content, message):
    path = tmp_path / "bad.gml"
    path.write_text(content)
    about = (message,) if isinstance(message, str) else message
    fails(lambda: read_graphs(path), about=("bad.gml", *about))


@pytest.mark.parametrize("label", [True, (0, 1), np.inf])
def test_labels_that_gml_cannot_hold(tmp_path, label):
    fails(lambda: write_gml(graphs(labels=[label] * 5), tmp_path), about=repr(label))
    assert list(tmp_path.iterdir()) == []


# Graphs as JSON: what networkx writes, plain edges, many in a file, and back without loss


def molecule():
    graph = nx.Graph(target=3, name="water")
    graph.add_node("H1", kind="H", charge=0.5, place="left")
    graph.add_node("O", kind="O", charge=-1.0, place="middle")
    graph.add_node("H2", kind="H", charge=0.5, place="right")
    graph.add_edge("H1", "O", weight=2.0)
    graph.add_edge("O", "H2")
    graph.add_node(("lonely", 1), kind="X", charge=0.0, place="left")
    graph.add_edge("O", "O", weight=0.5)
    return graph


def write(path, value):
    text = value if isinstance(value, str) else json.dumps(value)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("key", ["links", "edges"])
@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "list.json", "a.jsonl", "a.jsonl.gz", "a"])
def test_node_link_data(key, name, tmp_path):
    one = node_link(molecule(), key)
    line = json.dumps(one) + "\n"
    path = write(
        tmp_path / name, [one, one] if "list" in name else line * 2 if "jsonl" in name else one
    )
    options = {"label": "kind", "attributes": ["charge"]}
    data = read_graphs(path, **options)
    graphs = [molecule()] * len(data)
    assert len(data) == (2 if "l" in name.replace(".json", "") else 1)
    assert data.graphs == from_networkx(graphs, **options)
    assert data.targets.tolist() == [3] * len(data)
    assert data.graph_names == ["water"] * len(data)
    assert not read_graphs(path, weight=None, **options).graphs.is_weighted


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.DiGraph, nx.MultiDiGraph, nx.Graph])
def test_parallel_and_directed_edges_are_those_of_networkx(kind, tmp_path):
    edges = [(0, 1, 2.0), (1, 0, 0.5), (1, 2, 1.0), (1, 2, 3.0), (2, 2, 4.0)]
    graph = kind()
    graph.add_weighted_edges_from(edges)
    path = write(tmp_path / "g.json", nx.node_link_data(graph))
    for weight in ("weight", None):
        expected = from_networkx(graph, weight=weight, symmetrize=True)
        assert read_graphs(path, weight=weight, symmetrize=True).graphs == expected
    if graph.is_directed():
        fails(lambda: read_graphs(path), about=("g.json", "symmetrize=True"))


def test_data_of_d3_has_neither_flags_nor_ids(tmp_path):
    value = {"nodes": [{"group": 1}, {"group": 2}], "links": [{"source": 0, "target": 1}]}
    graphs = read_graphs(write(tmp_path / "d3.json", value), label="group").graphs
    assert graphs == GraphBatch.from_edges(2, [[0, 1]], labels=[1, 2], symmetrize=True)


def test_plain_edges(tmp_path):
    value = {
        "graphs": [
            {
                "edges": [[0, 1], [1, 2]],
                "n_nodes": 4,
                "labels": ["a", ["b", 1], 2, None],
                "attributes": [[0.5], [1], [2], [3]],
                "weights": [1, 2],
                "target": "x",
                "name": "first",
            },
            {"edges": [[1, 0, 0.5]], "labels": [1, 1], "attributes": [0, 1], "target": "y"},
        ]
    }
    path = write(tmp_path / "g.json", value)
    fails(lambda: read_graphs(path), about=("graph 0", "node 3"))
    data = read_graphs(path, missing="label")
    assert data.graphs.node_counts.tolist() == [4, 2]
    assert data.graphs.attributes.ravel().tolist() == [0.5, 1, 2, 3, 0, 1]
    assert ("b", 1) in data.graphs.label_names
    assert data.targets.tolist() == ["x", "y"]
    assert data.graph_names is None
    assert dense(data.graphs)[5, 4] == 0.5
    unweighted = read_graphs(tmp_path / "g.json", weight=None, missing="label")
    assert not unweighted.graphs.is_weighted


def test_targets(tmp_path):
    def read(*targets, **options):
        lines = [json.dumps({"edges": [[0, 1]], **target}) for target in targets]
        return read_graphs(write(tmp_path / "t.jsonl", "\n".join(lines)), **options).targets

    assert read({"target": 1}, {"target": 2}).dtype.kind == "i"
    assert read({"target": [1, 2]}, {"target": [3, 4.5]}).shape == (2, 2)
    np.testing.assert_array_equal(read({"target": 1}, {"target": None}), [1, np.nan])
    assert read({"y": "a"}, {"y": "b"}, target_column="y").tolist() == ["a", "b"]
    assert read({}, {}) is None
    fails(lambda: read({"target": "a"}, {}), about=("t.jsonl", "line 2"))
    fails(lambda: read({"target": "a"}, {"target": 1}), about="targets must all be")
    fails(lambda: read({"target": "a"}, target_column="z"), about=("line 1", "'z'"))


def test_json_holds_columns_of_labels(tmp_path):
    labels = [("C", 0), ("O", -1)]
    options = {"labels": labels, "label_columns": ("element", "charge"), "symmetrize": True}
    graphs = GraphBatch.from_edges(2, [[0, 1]], **options)
    path = write_json(GraphBatch.concatenate([graphs, graphs]), tmp_path / "a.jsonl")
    assert read_graphs(path).graphs.label_columns == ("element", "charge")
    path.write_text(path.read_text().replace("charge", "sign", 1))
    fails(lambda: read_graphs(path), about=("line 2", "['element', 'sign']"))


def test_labels_that_json_cannot_hold(tmp_path):
    for label in (frozenset("a"), (1, b"x"), float("inf")):
        graph = GraphBatch.from_edges(1, [], labels=[label])
        fails(partial(write_json, graph, tmp_path / "a.json"), about=("JSON", repr(label)))
    fails(lambda: write_json(graph, tmp_path / "a.txt"), about="should end in .json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{", ("x.json", "column 2")),
        ('[{"edges": [[0, 1]]},\n nothing]', ("x.json", "line 2", "column 2")),
        ([1], ("x.json", "graph 0", "1 instead")),
        ([], "holds no graphs"),
        ({"edges": {}}, "edges must be a"),
        ({"n_nodes": 3}, "has no edges; a"),
        ({"edges": [[0]]}, ("edge 0", "[0]")),
        ({"edges": [["a", "b"]]}, ("edge 0", "'a'", "'b'")),
        ({"edges": [[0, -1]]}, ("x.json", "edge 0", "-1")),
        ({"edges": [[0, 5]], "n_nodes": 3}, ("edge 0", "5", "3 nodes")),
        ({"edges": []}, "has no nodes"),
        ({"edges": [[0, 1]], "n_nodes": True}, "n_nodes must be a"),
        ({"edges": [[0, 1]], "labels": [1]}, ("x.json", "1 labels", "2 nodes")),
        ({"edges": [[0, 1]], "weights": [1, 2]}, "(1,)"),
        ({"edges": [[0, 1, "a"]]}, "weights must be"),
        ({"edges": [[0, 1], [1, 2]], "weights": [1, [2]]}, "weights must be"),
        ({"edges": [[0, 1]], "weights": [10**400]}, "weights must be numbers"),
        ({"edges": [[0, 1]], "weights": [-1]}, ("x.json", "node 0", "node 1")),
        ({"edges": [[0, 1]], "attributes": [[1], ["a"]]}, "attributes must be"),
        ({"edges": [[0, 1]], "directed": True}, ("x.json", "symmetrize=True")),
        ({"nodes": 3, "links": []}, "nodes must be a"),
        ({"nodes": [{}]}, "links must be a"),
        ({"nodes": [{"id": 1}, {"id": 1}], "links": []}, "two nodes have the"),
        ({"nodes": [{"id": 1}], "links": [{"source": 1}]}, "link 0"),
        ({"nodes": [{"id": 1}], "links": [{"source": {}, "target": 1}]}, "link 0"),
        (
            {"nodes": [{"id": 1}], "links": [{"source": 1, "target": 1, "weight": "a"}]},
            ("link 0", "'weight'", "'a'"),
        ),
        ([{"edges": [[0, 1]]}, {"nodes": [{"id": 1}], "links": []}], "graph 1"),
        ([{"edges": [[0, 1]], "labels": [0, 1]}, {"edges": [[0, 1]]}], ("graph 1")),
        ("[" * 100_000, "nested too deeply"),
        (
            {"edges": [[0, 1]], "labels": [json.loads("[" * 900 + "]" * 900), 1]},
            "nested too deeply",
        ),
        ('{"edges": [[0, ' + "9" * 5000 + "]]}", "cannot be read"),
    ],
)
def test_bad_files_json_graphs(value, message, tmp_path):
    path = write(tmp_path / "x.json", value)
    fails(lambda: read_graphs(path), about=message)


def test_missing_node_values(tmp_path):
    path = write(tmp_path / "x.json", nx.node_link_data(molecule()))
    fails(lambda: read_graphs(path, label="z"), about=("'H1'", "'z'"))
    fails(lambda: read_graphs(path, attributes="kind"), about=("x.json", "'H1'", "'kind'", "'H'"))
    with pytest.warns(InputWarning, match="nodes have 'kind', 'charge', 'place', which are not us"):
        read_graphs(path)
    plain = write(tmp_path / "plain.json", {"edges": [[0, 1]]})
    fails(lambda: read_graphs(plain, label="kind"), about="have their labels and")


def test_text_that_grows_is_refused(tmp_path):
    text = "[" + ",".join(['{"edges":[[0,1]]}'] * 400_000) + "]"
    path = write(tmp_path / "many.json.gz", text)
    assert path.stat().st_size < 100_000
    fails(lambda: read_graphs(path), about=("more than the", "allowed"))
    fails(
        lambda: read_graphs(write(tmp_path / "a.json", {"edges": [[0, 1]]}), max_bytes=10),
        about="10 allowed",
    )


def test_folders_and_content(tmp_path):
    for name in ("b.json", "a.json"):
        write(tmp_path / name, {"edges": [[0, 1]], "name": name})
    assert read_graphs(tmp_path).graph_names == ["a.json", "b.json"]
    write(tmp_path / "graph", ' \n[ {"edges": [[0, 1]]} ]')
    assert format_of(tmp_path / "graph").name == "json"
    write(tmp_path / "salt", "[Na+].[Cl-]\n")
    assert format_of(tmp_path / "salt").name == "smiles"


def test_commands(tmp_path):
    path = write(tmp_path / "x.json", nx.node_link_data(molecule()))
    options = ["--label", "kind", "--label", "place", "--attributes", "charge"]
    result = invoke("info", path, *options, "--json")
    assert '["H", "left"]' in result.stdout
    result = invoke("convert", path, tmp_path / "y.json", *options)
    assert result.exit_code == 0
    expected = from_networkx(molecule(), label=["kind", "place"], attributes="charge")
    assert read_graphs(tmp_path / "y.json").graphs == expected
