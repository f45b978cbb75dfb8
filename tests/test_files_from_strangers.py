"""Damaged, misspelt and odd files: an error or a warning that names the file, never less data."""

import io
import re
import zipfile
from contextlib import suppress

import pyarrow as pa
import pytest
from pyarrow import parquet

from retgk import (
    InvalidInputError,
    RetGKEmbedding,
    load_model,
    read_graphs,
    save_model,
    write_parquet,
)
from retgk.errors import InputWarning
from tests.fuzz.seed_files import data_set
from tests.model_file_mutations import with_document
from tests.model_zoo import tiny_graphs
from tests.tu_files import TOY, write_folder, write_zip

GRAPH = '<graph edgedefault="undirected"><node id="1"/><node id="2"/></graph>'


def assert_refused(path, message, **options):
    with pytest.raises(InvalidInputError, match=message) as error:
        read_graphs(path, **options)
    assert str(path) in str(error.value)


# nothing is lost in silence ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        GRAPH * 2,
        GRAPH.replace('"2"/>', f'"2">{GRAPH}</node>'),
        GRAPH.replace("graph", "y:graph") * 2,
    ],
)
def test_several_graphs_in_a_graphml_file(tmp_path, body):
    path = tmp_path / "two.graphml"
    name = "http://graphml.graphdrawing.org/xmlns"
    path.write_text(f'<graphml xmlns="{name}" xmlns:y="{name}">{body}</graphml>')
    with pytest.raises(InvalidInputError, match="holds 2 graphs; a GraphML file has one"):
        read_graphs(path)


def test_graphs_in_entities_and_other_encodings_count(tmp_path):
    path = tmp_path / "two.graphml"
    name = "http://graphml.graphdrawing.org/xmlns"
    hidden = GRAPH.replace("<", "&#60;").replace('"', "'")
    path.write_text(
        f'<!DOCTYPE graphml [<!ENTITY x "{hidden}">]><graphml xmlns="{name}">{GRAPH}&x;</graphml>'
    )
    with pytest.raises(InvalidInputError, match="holds 2 graphs"):
        read_graphs(path)
    path.write_text(f'<graphml xmlns="{name}">{GRAPH * 2}</graphml>', encoding="utf-16")
    with pytest.raises(InvalidInputError, match="holds 2 graphs"):
        read_graphs(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path, end, last):
    n_edges = 40_000  # several pieces, so that CR and LF come apart
    lines = [f"{n} {n + 1}" for n in range(n_edges)]
    path = tmp_path / "path.edges"
    path.write_bytes((end.join(lines) + end * last).encode())
    graphs = read_graphs(path).graphs
    assert (graphs.n_nodes, len(graphs.indices)) == (n_edges + 1, 2 * n_edges)
    smiles = tmp_path / "x.smi"
    smiles.write_bytes(end.join(["CC", "CCC"]).encode())
    assert read_graphs(smiles).graphs.node_counts.tolist() == [2, 3]


def test_lines_keep_their_numbers_whatever_ends_them(tmp_path):
    path = tmp_path / "x.edges"
    path.write_bytes(b"1 2\r\n\r\n2 3\r3\n")
    with pytest.raises(InvalidInputError, match=r"line 4, .*: expected two nodes"):
        read_graphs(path)


@pytest.mark.parametrize(
    ("kind", "nearest"),
    [
        ("node_label", "TOY_node_labels.txt"),
        ("nodelabels", "TOY_node_labels.txt"),
        ("NODE_LABELS", "TOY_node_labels.txt"),
        ("node_attribute", "TOY_node_attributes.txt"),
        ("edge_lables", "TOY_edge_labels.txt"),
    ],
)
@pytest.mark.parametrize("write", [write_zip, write_folder])
def test_misspelt_members(tmp_path, kind, nearest, write):
    write(tmp_path, **{kind: "1\n" * 6})
    source = tmp_path / ("TOY.zip" if write is write_zip else "TOY")
    message = rf"TOY_{kind}.txt was not read; if it is meant as {nearest}, rename it"
    with pytest.warns(InputWarning, match=message) as found:
        read_graphs(source)
    assert str(source) in str(found[0].message)
    assert found[0].filename == __file__


def test_documents_and_other_collections_are_no_misspelt_members(tmp_path):
    folder = write_folder(tmp_path) / "TOY"
    for name in ("README.txt", "TOY_label_readme.txt", "SOURCE.txt", ".x.txt", "LICENSE.txt"):
        (folder / name).write_text("text")
    write_folder(tmp_path, "OTHER", node_labels="1\n" * 6)
    for path in (tmp_path / "OTHER").iterdir():
        path.rename(folder / path.name)
    from retgk import load_tudataset

    assert len(load_tudataset("TOY", tmp_path, cache=False)) == 3


# raw exceptions ----------------------------------------------------------------------------------


def with_flags(path, flags):
    content = bytearray(path.read_bytes())
    for signature, field in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.index(signature) + field
        content[at : at + 2] = flags.to_bytes(2, "little")
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (1 << 0, "is encrypted"),
        (1 << 5, "holds patches of another file"),
        (1 << 6, "is encrypted"),
        (1 << 13, "is encrypted"),
    ],
)
def test_flags_of_zip_members(tmp_path, flags, problem):
    path = write_zip(tmp_path)
    with_flags(path, flags)
    assert_refused(path, problem)


def test_a_size_that_no_packing_reaches(tmp_path):
    """It would be allocated before the first byte is read."""
    path = write_zip(tmp_path)
    size = len(TOY["A"]).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, (4 << 29).to_bytes(4, "little")))
    assert_refused(path, "would take .* bytes of memory")
    assert_refused(path, "declares more bytes than it can hold", max_bytes=1 << 40)


def labelled(path, label, metadata=None):
    table = pa.table({"degrees": [[0]], "neighbours": [[]], "labels": [[label]]})
    table = table.set_column(1, "neighbours", pa.array([[]], pa.list_(pa.int32())))
    field = pa.field("labels", pa.list_(pa.string()), metadata={b"retgk": b"json"})
    table = table.set_column(2, field, table.column("labels").cast(field.type))
    parquet.write_table(table.replace_schema_metadata(metadata), path)
    return path


@pytest.mark.parametrize("label", ["[" * 100_000, '{"a": 1}', "nope", "[1, {}]"])
def test_labels_that_are_odd_json(tmp_path, label):
    assert_refused(labelled(tmp_path / "x.parquet", label), "label")


def test_deep_labels_are_read_or_refused(tmp_path):
    path = labelled(tmp_path / "x.parquet", "[" * 900 + "]" * 900)
    with suppress(InvalidInputError):
        assert read_graphs(path).graphs.has_labels


def test_deep_metadata_is_ignored(tmp_path):
    path = labelled(tmp_path / "x.parquet", "1", {b"retgk": b"[" * 100_000})
    assert read_graphs(path).name == "x"


@pytest.mark.parametrize("name", ["label", "attribute", "weight", "targets"])
def test_misspelt_columns_of_parquet(tmp_path, name):
    path = tmp_path / "x.parquet"
    table = pa.table({"degrees": [[1, 1]], "neighbours": [[1, 0]], name: [["C", "N"]]})
    parquet.write_table(table, path)
    with pytest.warns(InputWarning, match=f"the column '{name}' was not read; if it is meant as"):
        read_graphs(path)


def test_own_files_that_others_wrote_again_are_theirs(tmp_path):
    path = tmp_path / "x.parquet"
    table = parquet.read_table(write_parquet(data_set(), path))
    parquet.write_table(table.drop_columns(["labels"]).slice(0, 3), path)
    found = read_graphs(path)
    assert found.name == "seed"
    assert found.graphs == data_set().graphs[:3].without_labels()


def test_written_pages_have_checksums(tmp_path):
    path = write_parquet(data_set(), tmp_path / "x.parquet")
    content, chunk = path.read_bytes(), parquet.ParquetFile(path).metadata.row_group(0).column(0)
    at = chunk.data_page_offset + chunk.total_compressed_size - 2
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    assert_refused(path, "is damaged: .*CRC checksum verification failed")


def test_parquet_of_others_has_none(tmp_path):
    path = tmp_path / "x.parquet"
    table = pa.table({"degrees": [[1, 1]], "neighbours": [[1, 0]], "id": ["x"]})
    parquet.write_table(table, path)
    assert read_graphs(path).graphs.n_nodes == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.smi", b""),
        ("x.smi", b"# only\n"),
        ("x.csv", b""),
        ("x.csv", b"smiles\n"),
        ("x.edges", b""),
        ("x.graphml", b""),
        ("x.graphml", b"<graphml/>"),
        ("x.parquet", b""),
        ("x", b""),
        ("x.zip", b""),
    ],
)
def test_no_graphs_at_all(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    assert_refused(path, None)


def test_parquet_without_rows(tmp_path):
    path = tmp_path / "x.parquet"
    table = pa.table({"degrees": [[1, 1]], "neighbours": [[1, 0]]})
    parquet.write_table(table.slice(0, 0), path)
    assert_refused(path, "has no rows")


def test_archive_without_graphs(tmp_path):
    path = write_zip(tmp_path, A="", graph_indicator="", graph_labels="")
    assert_refused(path, "starts with nothing")
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    path.write_bytes(buffer.getvalue())
    assert_refused(path, "holds 0 files NAME_A.txt")


# models that ask for absurd work -----------------------------------------------------------------


def forged_model(path, **parameters):
    model = RetGKEmbedding(4, method="monte-carlo", n_components=6, random_state=0)
    save_model(model.fit(tiny_graphs()), path)
    change = lambda document: document["model"]["fitted"]["walks_"].update(parameters)  # noqa: E731
    path.write_bytes(with_document(path.read_bytes(), change))
    return path


def test_absurd_work_is_refused(tmp_path):
    path = forged_model(tmp_path / "m.retgk", n_walks=1 << 20, n_steps=1 << 20)
    message = "asks for n_steps=1048576, more than the 4096 allowed; pass a larger max_steps if"
    with pytest.raises(InvalidInputError, match=re.escape(message)) as error:
        load_model(path)
    assert str(path) in str(error.value)
    path = forged_model(tmp_path / "m.retgk", n_walks=1 << 20, n_steps=4096)
    with pytest.raises(InvalidInputError, match="asks for 1048576 walks of 4096 steps from every"):
        load_model(path)


def test_the_bound_on_work_can_be_raised(tmp_path):
    path = forged_model(tmp_path / "m.retgk", n_walks=100_000)
    assert load_model(path).walks_.n_walks == 100_000
    with pytest.raises(InvalidInputError, match="more than the 16384 steps allowed"):
        load_model(path, max_steps=4)
    assert load_model(path, max_steps=1000).walks_.n_walks == 100_000
