"""Damaged, misspelt and odd files: an error or a warning that names the file, never less data."""

import io
import json
import re
import subprocess
import sys
import time
import zipfile
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from retgk import InvalidInputError, Walks, load_model, read_graphs, save_model
from retgk._runtime.files import check_size, memory_limit
from retgk.cli.inputs import read_collection
from retgk.cli.options import Common, Reading
from retgk.errors import InputWarning
from retgk.io import iter_parquet, write_parquet
from retgk.io.formats import format_of, formats
from retgk.kernels import RetGKEmbedding
from tests.errors import fails
from tests.example_files import HOSTILE, TOY, write_folder, write_zip
from tests.fuzz.__main__ import is_good, reports_of_batch
from tests.fuzz.seed_files import data_set
from tests.fuzz.targets import TARGETS
from tests.model_file_mutations import with_document
from tests.model_zoo import tiny_graphs

GRAPH = '<graph edgedefault="undirected"><node id="1"/><node id="2"/></graph>'


def assert_refused(path, message, **options):
    about = (message,) if isinstance(message, str) else message
    fails(lambda: read_graphs(path, **options), about=(str(path), *about))


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
    fails(lambda: read_graphs(path), about="2 graphs")


def test_graphs_in_entities_and_other_encodings_count(tmp_path):
    path = tmp_path / "two.graphml"
    name = "http://graphml.graphdrawing.org/xmlns"
    hidden = GRAPH.replace("<", "&#60;").replace('"', "'")
    path.write_text(
        f'<!DOCTYPE graphml [<!ENTITY x "{hidden}">]><graphml xmlns="{name}">{GRAPH}&x;</graphml>'
    )
    fails(lambda: read_graphs(path), about="2 graphs")
    path.write_text(f'<graphml xmlns="{name}">{GRAPH * 2}</graphml>', encoding="utf-16")
    fails(lambda: read_graphs(path), about="2 graphs")


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
    fails(lambda: read_graphs(path), about="line 4")


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
    from retgk.datasets import load_tudataset

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
    assert_refused(path, ("would take", "bytes of memory"))
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
    assert_refused(labelled(tmp_path / "x.parquet", label), ())


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


def test_other_lists_of_parquet_are_named(tmp_path):
    path = tmp_path / "x.parquet"
    columns = {"degrees": [[1, 1]], "neighbours": [[1, 0]], "times": [[3, 4]], "split": ["train"]}
    parquet.write_table(pa.table(columns), path)
    with pytest.warns(InputWarning, match="lists in 'times' are not used"):
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
    assert_refused(path, ("is damaged", "CRC checksum verification failed"))


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
    assert_refused(path, ())


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
    model = RetGKEmbedding(6, walks=Walks(4, method="monte-carlo"), random_state=0)
    save_model(model.fit(tiny_graphs()), path)
    change = lambda document: document["model"]["fitted"]["walks_"].update(parameters)  # noqa: E731
    path.write_bytes(with_document(path.read_bytes(), change))
    return path


def test_absurd_work_is_refused(tmp_path):
    path = forged_model(tmp_path / "m.retgk", n_steps=1 << 20)
    fails(lambda: load_model(path), about=(str(path), "1048576"))  # frequencies do not fit it
    path = forged_model(tmp_path / "m.retgk")
    about = ("n_steps=4", "3 allowed", "max_steps")
    fails(lambda: load_model(path, max_steps=3), about)
    path = forged_model(tmp_path / "m.retgk", n_walks=1 << 23)
    fails(lambda: load_model(path), about=("8388608 walks", "4 steps"))


def test_the_bound_on_work_can_be_raised(tmp_path):
    path = forged_model(tmp_path / "m.retgk", n_walks=100_000)
    assert load_model(path).walks_.n_walks == 100_000
    fails(lambda: load_model(path, max_steps=4), about="16384 steps")
    assert load_model(path, max_steps=1000).walks_.n_walks == 100_000


# What reading takes is checked before anything is parsed; honest files pass

MEGABYTES = 1000
PATIENCE = 60
# Imports of packages count as the interpreter; a limit on addresses turns a leak into an error.
CHILD = """
import resource, sys, time
import networkx, pyarrow.parquet, rdkit.Chem
import retgk, retgk.io.formats
from retgk._runtime.processes import peak_megabytes
retgk.io.formats.formats()
start, before = time.perf_counter(), peak_megabytes()
resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
try:
    print("read", retgk.read_graphs(sys.argv[1]))
except retgk.InvalidInputError as error:
    print("refused", error)
print("cost", round(peak_megabytes() - before), round(time.perf_counter() - start))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_small_files_take_little_memory(name, tmp_path):
    path = HOSTILE[name](tmp_path)
    assert path.stat().st_size < 1_100_000
    command = [sys.executable, "-c", CHILD, str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert shown.returncode == 0, shown.stderr[-1000:]
    message, cost = re.fullmatch(r"(.*)\ncost (\d+ \d+)\n", shown.stdout, re.DOTALL).groups()
    megabytes, seconds = map(int, cost.split())
    assert megabytes < MEGABYTES, message
    assert seconds < PATIENCE, message
    assert message.startswith("refused")
    assert str(path) in message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.edges", "1 2\n" * 100),
        ("x.smi", "CCO\n" * 100),
        ("x.csv", "smiles,y\n" + "CCO,1\n" * 100),
        ("x.json", '{"edges": [[0, 1]]}'),
        ("x.graphml", "<graphml><graph><node id='1'/></graph></graphml>" + " " * 300),
    ],
)
def test_every_reader_has_the_option(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    assert_refused(path, ("allowed", "max_bytes"), max_bytes=300)


def test_archives_parquet_and_targets_have_the_option(tmp_path):
    path = write_parquet(data_set(), tmp_path / "x.parquet")
    for read in (read_graphs, lambda path, **limit: list(iter_parquet(path, **limit))):
        fails(partial(read, path, max_bytes=300), about=("would take", "max_bytes"))
    fails(
        lambda: read_graphs(write_zip(tmp_path, node_attributes="1,2\n" * 60), max_bytes=1000),
        about="1000 allowed",
    )
    graphs, targets = tmp_path / "x.smi", tmp_path / "targets.txt"
    graphs.write_text("CCO\n")
    targets.write_text("1" * 3000)
    fails(
        lambda: read_collection(
            str(graphs), Reading(targets=targets, max_bytes=50_000), Common(quiet=True)
        ),
        about="targets.txt",
    )


def test_one_target_of_many_letters_for_many_graphs(tmp_path):
    graphs, targets = tmp_path / "x.smi", tmp_path / "targets.txt"
    graphs.write_text("C\n" * 2000)
    targets.write_text("a\n" * 1999 + "b" * 100_000)
    fails(lambda: read_graphs(graphs, targets=targets), about="100000 letters")


def test_the_limit_grows_with_the_file():
    allowed = [memory_limit(size) for size in (0, 10**6, 10**7, 10**8, 10**9)]
    assert allowed == [256 << 20, 512 * 10**6, 4 << 30, 64 * 10**8, 64 * 10**9]
    assert memory_limit(10**9, 7) == 7
    fails(lambda: memory_limit(1, 0), about="max_bytes must be a")


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["COLLAB", "REDDIT-MULTI-12K", "FRANKENSTEIN_atoms", "Synthie"])
def test_honest_archives_pass(name, data_folder):
    path = Path(data_folder) / f"{name}.zip"
    form = format_of(path)
    check_size([path], form.memory_factor, memory_limit(path.stat().st_size), form.size_of)


# A short run of the campaign of `make fuzz`, and the small files that long runs found

GOOD = {"read", "refused"}
INPUTS = 25


def reports_of(names, folder):
    command = [sys.executable, "-m", "tests.fuzz.worker", names, "1", "0", str(INPUTS), folder]
    shown = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=600, check=False
    )
    reports = [json.loads(line) for line in shown.stdout.splitlines()]
    return [report for report in reports if "verdict" in report], shown


@pytest.mark.slow
def test_mutated_files_are_read_or_refused(tmp_path):
    names = ",".join(target.name for target in TARGETS if not target.by_library)
    reports, shown = reports_of(names, tmp_path)
    assert shown.returncode == 0, shown.stdout[-300:] + shown.stderr[-2000:]
    failures = [report for report in reports if report["verdict"] not in GOOD]
    assert not failures, "\n".join(map(str, failures))
    counts = Counter(report["target"] for report in reports)
    assert counts == dict.fromkeys(names.split(","), INPUTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [target.name for target in TARGETS if target.by_library])
def test_what_libraries_raise_is_an_error_of_the_file(name, tmp_path):
    """A crash is contained where the file is read in a process of its own."""
    deadline = time.monotonic() + 300
    first, failures = 0, []
    while first < INPUTS:  # a crash ends a batch; the next goes on behind it
        reports = reports_of_batch(name, 1, first, INPUTS - first, tmp_path, deadline)
        failures += [report for report in reports if not is_good(name, report["verdict"])]
        first = max(report["number"] for report in reports) + 1
    assert not failures, "\n".join(map(str, failures))


def test_every_format_is_fuzzed():
    names = {target.name.partition("-")[0] for target in TARGETS}
    assert set(formats()) - {"matrices"} <= names
    assert {"npy", "npz", "mat", "matrix"} <= names
