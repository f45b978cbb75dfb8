"""Errors advise what helps on the command line: every remedy is reached by a command."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from retgk import (
    GraphBatch,
    GraphDataset,
    InvalidInputError,
    RetGKClassifier,
    as_batch,
    from_smiles,
    load_tudataset,
    make_graph_classification,
    read_parquet,
    save_model,
    write_json,
    write_parquet,
)
from retgk.cli.command import one_line
from retgk.cli.data import convert, info
from retgk.cli.evaluate import compare, cv
from retgk.cli.matrices import embed, kernel
from retgk.cli.models import fit, predict
from retgk.cli.options import DATA_HOME_REMEDY
from retgk.cli.stats import population_test
from retgk.estimators.predictor import Estimate
from tests.cli_calls import DATA, assert_fails, invoke

# By the key of the remedy: what is called in a folder of bad files, and how its message ends.
COMMANDS = {
    "label": ("predict model.retgk small.parquet --no-labels", "with --label-name or --no-labels"),
    "attributes": (
        "predict model.retgk small.parquet --no-attributes",
        "; give all the same with --attribute-name, --atom-attribute or --no-attributes",
    ),
    "format": ("info bytes", "; say what it is with --format, one of edges, "),
    "smiles_column": ("info mol.csv --smiles-column z", "name one of smiles, y with --smiles-colu"),
    "target_column": ("info mol.csv --target-column z", "name one of smiles, y with --target-colu"),
    "groups": (
        "cv mol.csv --target-column y --groups z --folds 3",
        "has no column 'z'; name one of smiles, y with --groups",
    ),
    "skip_invalid": ("info bad.smi", "; --skip-invalid leaves such out"),
    "symmetrize": (
        "info ONEWAY.zip",
        "has none back; give --symmetrize to drop the directions, or if each edge is listed once",
    ),
    "negative": (
        "info signed.npy",
        "weights must be finite and not negative; say with --negative absolute, positive or split",
    ),
    "variable": (
        "info two.npz",
        "'b' has shape (2,); choose one of 'a' (2, 2), 'b' (2,) with --variable",
    ),
    "categorical": (
        "info kinds.json --attribute-name kind",
        "of numbers; read it with --label-name kind, or as one column for each value with "
        "--categorical-name kind",
    ),
    "delimiter": (
        "info comma.edges",
        "got '1,2'; give --delimiter ',' if they are separated by it",
    ),
    "graph_gamma": (
        "kernel one.edges -o -",
        "have no median; give more graphs, or use --matrix products or distances",
    ),
    "plain_graphs": (
        "convert small.parquet e --to edges",
        "; write GraphML, or --no-labels, --no-edge-labels and --no-attributes",
    ),
    "graphml": ("convert lonely.parquet e --to edges", "would lose it; write GraphML"),
    "integers": (
        "convert mol.csv MOL.zip --targets large.txt --no-labels",
        "18 digits at most; number them anew, or write Parquet",
    ),
    "integer_labels": (
        "convert mol.csv MOL.zip --target-column y",
        "got 'C'; leave labels out with --no-labels, or write Parquet",
    ),
    "integer_edge_labels": (
        "convert mol.csv MOL.zip --target-column y --no-labels --bond-types",
        "got 'SINGLE'; leave labels of edges out with --no-edge-labels, or write Parquet",
    ),
    "missing_edge_label": (
        "info bare.graphml --edge-label-name k",
        "; set it on all edges, or give edges without a label of their own with --missing label",
    ),
    "edge_labels": (
        "predict deep.retgk bonds.parquet --no-edge-labels",
        "; give all the same with --edge-label-name, --bond-types or --no-edge-labels",
    ),
    "model_bytes": (
        "predict model.retgk small.parquet --max-bytes 9",
        "more than the 9 allowed; give a larger --max-bytes if you trust it",
    ),
    "max_bytes": (
        "info bad.smi --max-bytes 5",
        "more than the 5 allowed for reading 8 bytes; give a larger --max-bytes if you trust it",
    ),
    "max_steps": (
        "predict model.retgk small.parquet --max-steps 3",
        "more than the 3 allowed; give a larger --max-steps if you trust it",
    ),
    "reading": (
        "predict molecules.retgk bonds.parquet",
        "with bond_orders=False; read all in one way, such as with bond_orders=False",
    ),
    "missing_value": (
        "info gap.graphml --label-name k",
        "; set it on all nodes, or say with --missing what becomes of nodes without",
    ),
    "missing_label": (
        "info gap.graphml --label-name k --missing nan",
        "; --missing label makes a label of its own of missing ones",
    ),
    "missing_attribute": (
        "embed gap.graphml --attribute-name v --missing nan -o -",
        "; fill it in, or give --missing nan and --impute-attributes mean or median to fit",
    ),
    "task": (
        "cv small.parquet --targets many.txt",
        "; give --task regression if they are values, or --task classification if they are classes",
    ),
    "metric": (
        "cv small.parquet --metric rmse",
        "matthews_corrcoef, log_loss; or give --task regression if they are values",
    ),
    "probabilities": (
        "cv small.parquet --protocol paper --folds 3 --C 1 --metric log_loss",
        "; leave it out, or use --protocol nested and at least two graphs of every class in every",
    ),
    "journal": (
        "compare small.parquet --methods majority --folds 3 --journal other.jsonl",
        "is no journal of a comparison; give another file with --journal, or remove this one",
    ),
    "model_file": (
        "predict packed.retgk small.parquet",
        "is compressed; give a file as `retgk fit` wrote it",
    ),
}
# The same, where next to no memory is free.
MEMORY_COMMANDS = [
    ("gram_file", "kernel small.parquet -o -", "use --matrix products --on-disk"),
    ("gram_file", "cv small.parquet --protocol paper", "use --protocol nested --approximate yes"),
    ("approximate", "cv small.parquet --folds 3", "use --approximate yes"),
    ("approximate", "fit small.parquet -o m.retgk", "use --approximate yes"),
    ("sparse_output", "embed small.parquet -o -", "give a smaller --n-components"),
    ("fewer_permutations", "test small.parquet", "give a smaller --permutations"),
    ("fewer_graphs", "kernel small.parquet --approximate -o -", "give fewer graphs at a time"),
]
# Remedies with tests of their own below.
OTHERS = {
    "bond_orders",
    "categories",
    "class_or_folds_or_size",  # these and "folds": tests/test_cli_models.py
    "class_or_folds_or_size_or_values",
    "class_or_size_or_values",
    "data_home",
    "edge_values",
    "fewer_candidates",
    "fewer_kernels",
    "folds",
    "monte_carlo",
    "n_components",
    "n_landmarks",
    "node_values",
    "nodes",  # tests/test_drawn_nodes.py
    "pairs",  # and columns of "groups": tests/test_cli_populations.py
    "scale_attributes",
    "weights",
}
KINDS = '{"nodes": [{"id": 1, "kind": "a"}, {"id": 2, "kind": "b"}], "links": []}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that commands stumble over, each in another way."""
    folder = tmp_path_factory.mktemp("remedies")
    write_parquet(GraphDataset(DATA.graphs, DATA.targets, "small"), folder / "small.parquet")
    lonely = GraphBatch.from_edges(3, [[0, 1]], symmetrize=True)
    write_parquet(lonely, folder / "lonely.parquet")
    texts = {
        "mol.csv": "smiles,y\nCCO,1\nCCN,0\n",
        "many.txt": "".join(f"{number}\n" for number in range(len(DATA.targets))),
        "other.jsonl": '{"format": 1}\n',
        "large.txt": f"1\n{10**18}\n",
        "bad.smi": "CCO\nC(C\n",
        "bad.txt": "CCO\nC(C\n",
        "one.edges": "1 2\n2 3\n",
        "comma.edges": "1,2\n2,3\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "kinds.json").write_text(KINDS)
    far = make_graph_classification(30, n_nodes=(5, 6), n_attributes=1, random_state=0)
    values = far.graphs.with_attributes(1e6 * far.graphs.attributes)
    write_json(GraphDataset(values, far.targets, "far"), folder / "far.json")
    np.save(folder / "signed.npy", np.array([[0.0, -1.0], [-1.0, 0.0]]))
    np.savez(folder / "two.npz", a=np.ones((2, 2)), b=np.ones(2))
    (folder / "bytes").write_bytes(b"\xff\xfe\x00\x01")
    graph = nx.path_graph(2)
    graph.nodes[0].update(k="a", v=1.0)
    nx.write_graphml(graph, folder / "gap.graphml")
    nx.write_graphml(nx.path_graph(2), folder / "bare.graphml")
    write_parquet(from_smiles(["CC", "C=C"], bond_orders=True), folder / "bonds.parquet")
    with zipfile.ZipFile(folder / "ONEWAY.zip", "w") as archive:
        archive.writestr("ONEWAY_A.txt", "1, 2\n2, 3\n")
        archive.writestr("ONEWAY_graph_indicator.txt", "1\n1\n1\n")
        archive.writestr("ONEWAY_graph_labels.txt", "1\n")
    return folder


@pytest.fixture(scope="module")
def with_models(folder: Path) -> Path:
    model = folder / "model.retgk"
    options = ["--C", 10, "--scale", 1, "--p", 1, "-o", model]
    assert invoke("fit", folder / "small.parquet", *options).exit_code == 0
    smiles = RetGKClassifier(n_steps=3, random_state=0).fit(from_smiles(["CC", "C=C"]), [0, 1])
    save_model(smiles, folder / "molecules.retgk")
    bonds = read_parquet(folder / "bonds.parquet").graphs.with_edge_labels(["-", "-", "=", "="])
    deep = RetGKClassifier(n_steps=3, depth=2, random_state=0).fit(bonds, [0, 1])
    save_model(deep, folder / "deep.retgk")
    packed = zipfile.ZipFile(folder / "packed.retgk", "w", zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(model) as archive, packed:
        for name in archive.namelist():
            packed.writestr(name, archive.read(name))
    return folder


@pytest.fixture
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(folder)
    before = set(folder.iterdir())
    yield
    assert set(folder.iterdir()) == before


@pytest.mark.usefixtures("with_models", "_inside")
@pytest.mark.parametrize("key", COMMANDS)
def test_remedy_is_an_option(key: str) -> None:
    line, message = COMMANDS[key]
    assert_fails(invoke(*line.split()), message)


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize(("key", "line", "message"), MEMORY_COMMANDS)
def test_remedy_for_little_memory(
    key: str, line: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert key
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 10)
    result = invoke(*line.split())
    assert_fails(result, f"memory are free; {message}")
    assert result.stderr.endswith(f"{message}\n")


def test_every_remedy_of_every_command_is_tested() -> None:
    tested = {*COMMANDS, *(key for key, *_ in MEMORY_COMMANDS), *OTHERS}
    commands = (info, convert, embed, kernel, cv, compare, fit, predict, population_test)
    words = [each.remedies for each in commands]
    assert set().union(*words, DATA_HOME_REMEDY) <= tested


def test_data_home(tmp_path: Path) -> None:
    """No command refuses to download, so the library is asked instead."""
    with pytest.raises(InvalidInputError, match="set data_home or RETGK_DATA_HOME, or pass") as no:
        load_tudataset("MUTAG", tmp_path, download=False)
    advice = "; place one there, or give --data-home or set RETGK_DATA_HOME"
    assert one_line(no.value, info.remedies).endswith(advice)
    assert one_line(no.value, DATA_HOME_REMEDY).endswith(advice)


@pytest.mark.usefixtures("_inside")
@pytest.mark.filterwarnings("always")
def test_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retgk.walks.exact._LONG_SECONDS", 0.0)
    expected = "minutes on this machine, or longer; --method monte-carlo estimates them in a frac"
    for line in ("features one.edges -o -", "embed one.edges -o -"):
        result = invoke(*line.split())
        assert result.exit_code == 0
        assert "retgk: exact return probabilities of 3 nodes take about 0 " in result.stderr
        assert expected in result.stderr


@pytest.mark.parametrize(
    ("options", "expected", "advice"),
    [
        ("", (0, 700, 1, 0), "about 12 minutes on this machine; use --approximate yes"),
        ("", (0, 1, 8000, 0), "2 hours on this machine; give fewer candidates, such as --C 10"),
        ("--approximate yes", (0, 700, 1, 0), "machine; give a smaller --n-components"),
        (
            "--approximate yes --task regression",
            (0, 1, 1, 2**60),
            " GiB are free; give a smaller --n-landmarks",
        ),
    ],
)
@pytest.mark.usefixtures("_inside")
@pytest.mark.filterwarnings("always")
def test_long_fits(options: str, expected: tuple[float, ...], advice: str, monkeypatch) -> None:
    monkeypatch.setattr("retgk.estimators.predictor.estimate", lambda *_: Estimate(*expected))
    result = invoke(*f"cv small.parquet --folds 3 {options}".split())
    assert result.exit_code == 0
    assert advice in result.stderr


@pytest.mark.usefixtures("_inside")
@pytest.mark.filterwarnings("always")
def test_categories_that_were_found() -> None:
    result = invoke("info", "kinds.json", "--categorical-name", "kind")
    expected = (
        "became 2 columns of zeros and ones, for the values found: ['a', 'b']; graphs that are "
        "read apart need the same columns: --categorical-name kind=VALUE,VALUE,... lists them"
    )
    assert expected in result.stderr
    result = invoke("info", "kinds.json", "--categorical-name", "kind=a,b,c")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "3 a node" in result.stdout


@pytest.mark.usefixtures("_inside")
@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(
    "line",
    ["kernel far.json -o -", "kernel far.json --approximate -o -", "embed far.json -o -",
     "cv far.json --protocol paper --folds 3"],
)  # fmt: skip
def test_attributes_of_uneven_size(line: str) -> None:
    result = invoke(*line.split())
    expected = "apart that hardly any two count as alike; use --scale-attributes standard to give"
    assert expected in result.stderr
    result = invoke(*line.split(), "--scale-attributes", "standard")
    assert (result.exit_code, "scale-attributes" in result.stderr) == (0, False), result.stderr


def test_bonds_without_an_order() -> None:
    pytest.importorskip("rdkit")
    with pytest.raises(InvalidInputError, match=r"use bond_orders=False$") as no_order:
        from_smiles(["C~C"], bond_orders=True)
    expected = "which has no order; leave out --bond-orders"
    assert one_line(no_order.value, info.remedies).endswith(expected)


def test_matrices_that_are_not_symmetric() -> None:
    with pytest.raises(InvalidInputError, match="with as_batch") as unequal:
        as_batch([np.array([[0.0, 1.0], [2.0, 0.0]])])
    assert "the one back has weight 2; give --symmetrize" in one_line(unequal.value, info.remedies)
    assert one_line(unequal.value) == str(unequal.value)
