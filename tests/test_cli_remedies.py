"""Errors advise what helps on the command line, in the names of its options."""

import inspect
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
    from_smiles,
    make_graph_classification,
    read_graphs,
    save_model,
    write_json,
    write_parquet,
)
from retgk.cli.command import one_line
from retgk.cli.data import info
from retgk.estimators.predictor import Estimate
from tests.cli_calls import DATA, assert_fails, invoke

# What is called in a folder of bad files, and what its message names: the fact, and the option.
COMMANDS = [
    ("predict model.retgk small.parquet --no-labels", "no labels", "--label"),
    ("predict model.retgk small.parquet --no-attributes", "0 attributes", "--no-attributes"),
    ("info bytes", "bytes cannot be recognised", "--format, one of edges, "),
    ("info mol.csv --smiles-column z", "no column 'z'", "smiles, y with --smiles-column"),
    ("info mol.csv --target-column z", "no column 'z'", "smiles, y with --target-column"),
    ("cv mol.csv --target-column y --groups z --folds 3", "no column 'z'", "--groups"),
    ("info bad.smi", "C(C", "--skip-invalid leaves"),
    ("info ONEWAY.zip", "has none back", "--symmetrize"),
    ("info signed.npy", "not negative", "--negative absolute"),
    ("info two.npz", "'b' has shape (2,)", "--variable"),
    ("info kinds.json --attributes kind", "--label kind", "--categorical kind"),
    ("info comma.edges", "1,2", "--delimiter , if"),
    ("kernel one.edges -o -", "no median", "distances or inner products"),
    ("convert small.parquet e --to edges", "GraphML", "--no-labels"),
    ("convert lonely.parquet e --to edges", "node 2 has no edges", "GraphML"),
    ("convert mol.csv MOL.zip --targets large.txt --no-labels", "18 digits", "write Parquet"),
    ("convert mol.csv MOL.zip --target-column y", "got 'C'", "--no-labels"),
    (
        "convert mol.csv MOL.zip --target-column y --no-labels --bond-types",
        "got 'SINGLE'",
        "--no-edge-labels",
    ),
    ("info bare.graphml --edge-label k", "no 'k'", "--missing label"),
    ("predict deep.retgk bonds.parquet --no-edge-labels", "edges", "--no-edge-labels"),
    ("predict model.retgk small.parquet --max-bytes 9", "the 9 allowed", "--max-bytes"),
    ("info bad.smi --max-bytes 5", "the 5 allowed for reading 8 bytes", "--max-bytes"),
    ("predict model.retgk small.parquet --max-steps 3", "the 3 allowed", "--max-steps"),
    ("predict molecules.retgk bonds.parquet", "--no-bond-orders", "in one way"),
    ("info gap.graphml --label k", "node", "--missing"),
    ("info gap.graphml --label k --missing nan", "label", "--missing label"),
    ("embed gap.graphml --attributes v --missing nan -o -", "is nan", "impute_attributes"),
    ("cv small.parquet --targets many.txt", "--task regression", "--task classification"),
    ("cv small.parquet --metric rmse", "rmse is for values", "--task regression"),
    (
        "cv small.parquet --protocol paper --folds 3 --C 1 --metric log_loss",
        "probabilities",
        "--protocol paper",
    ),
    (
        "compare small.parquet --methods majority --folds 3 --journal other.jsonl",
        "other.jsonl is no journal",
        "journal",
    ),
]
# The same, where next to no memory is free.
MEMORY_COMMANDS = [
    ("kernel small.parquet -o -", "--matrix products --on-disk"),
    ("cv small.parquet --folds 3", "use --approximate"),
    ("fit small.parquet -o m.retgk", "use --approximate"),
    ("embed small.parquet -o -", "smaller --n-components"),
    ("test small.parquet", "smaller --n-permutations"),
    ("kernel small.parquet --approximate -o -", "fewer graphs"),
]
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
    bonds = read_graphs(folder / "bonds.parquet").graphs.with_edge_labels(["-", "-", "=", "="])
    deep = RetGKClassifier(n_steps=3, depth=2, random_state=0).fit(bonds, [0, 1])
    save_model(deep, folder / "deep.retgk")
    return folder


@pytest.fixture
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(folder)
    before = set(folder.iterdir())
    yield
    assert set(folder.iterdir()) == before


@pytest.mark.usefixtures("with_models", "_inside")
@pytest.mark.parametrize(("line", "fact", "advice"), COMMANDS)
def test_errors_name_the_fact_and_the_option(line: str, fact: str, advice: str) -> None:
    result = invoke(*line.split())
    assert_fails(result, fact)
    assert_fails(result, advice)


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize(("line", "advice"), MEMORY_COMMANDS)
def test_little_memory(line: str, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 10)
    result = invoke(*line.split())
    assert_fails(result, "memory are free; ")
    assert_fails(result, advice)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("use bond_orders=False", "use --no-bond-orders"),
        ("set data_home or pass missing=", "set --data-home or pass --missing"),
        ("label='a b', categorical=['kind'].", "--label a b, --categorical kind."),
        ('give missing="nan", not "label"', 'give --missing nan, not "label"'),
        # of other commands, lists, and words that are no parameters here
        ("n_steps=5 and attributes=[]", "n_steps=5 and attributes=[]"),
        ("the label 'max_bytes' of /a/max_bytes.csv", "the label 'max_bytes' of /a/max_bytes.csv"),
    ],
)
def test_parameters_are_said_as_options(message: str, expected: str) -> None:
    names = inspect.signature(info.run).parameters
    assert one_line(InvalidInputError(message), list(names)) == expected
    assert one_line(InvalidInputError(message)) == message


@pytest.mark.usefixtures("_inside")
@pytest.mark.filterwarnings("always")
def test_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retgk.walks.exact._LONG_SECONDS", 0.0)
    expected = "minutes on this machine, or longer; --method monte-carlo"
    for line in ("features one.edges -o -", "embed one.edges -o -"):
        result = invoke(*line.split())
        assert result.exit_code == 0
        assert "retgk: exact return probabilities of 3 nodes take about 0 " in result.stderr
        assert expected in result.stderr


@pytest.mark.parametrize(
    ("options", "expected", "advice"),
    [
        ("", (0, 700, 1, 0), "about 12 minutes on this machine; use --approximate"),
        (
            "",
            (0, 1, 8000, 0),
            "2 hours on this machine; give fewer candidates, such as --C 10,",
        ),
        ("--approximate", (0, 700, 1, 0), "machine; use a smaller --n-components"),
        (
            "--approximate --task regression",
            (0, 1, 1, 2**60),
            " GiB are free; use a smaller --n-landmarks",
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
    result = invoke("info", "kinds.json", "--categorical", "kind")
    assert "'kind' became 2 columns" in result.stderr
    assert "['a', 'b']" in result.stderr
    assert "--categorical kind=VALUE,..." in result.stderr
    result = invoke("info", "kinds.json", "--categorical", "kind=a,b,c")
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
