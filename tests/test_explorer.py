"""What pages of `explore` know of every graph: columns, and what a model says."""

import base64
import hashlib
import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgk import (
    GraphBatch,
    GraphClassifier,
    GraphDataset,
    GraphRegressor,
    RetGK,
    Walks,
    _core,
    explore,
    save_model,
)
from retgk.datasets import load_digit_graphs, make_graph_classification
from retgk.errors import UnseenWarning
from retgk.estimators import classifier
from retgk.explorer import map as projection
from retgk.explorer.drawings import PageArrays
from retgk.explorer.map import map_places, nearest_graphs
from retgk.explorer.page import (
    Predictions,
    built_file,
    kernel_vectors,
    page_text,
    prediction_columns,
    predictions_of,
    text_of,
)
from retgk.io.json import write_json
from retgk.io.parquet import write_parquet
from retgk.kernels import Scaled, ShortestPath, WeisfeilerLehman, WeisfeilerLehmanOA
from retgk.plot import stress_layout
from retgk.search import distances
from tests.errors import fails
from tests.explorer_pages import nearest_by_sorting, unpacked
from tests.programs import DATA, assert_fails, invoke, printed, record, rows_of


def test_columns() -> None:
    n = len(DATA)
    columns = {
        "number": np.where(np.arange(n) == 3, np.nan, np.arange(n) + 0.5),
        "few": [None, *["a"] * (n - 1)],
        "text": [f"row {i}" for i in range(n)],
        "yes": np.arange(n) % 2 == 0,
    }
    header, arrays = unpacked(explore(DATA, columns=columns).text)
    found = {column["name"]: column for column in header["columns"]}
    kinds = {name: column["kind"] for name, column in found.items()}
    assert kinds == {
        "target": "class", "number": "number", "few": "class", "text": "text", "yes": "class",
        "nodes": "number", "edges": "number", "mean degree": "number",
    }  # fmt: skip
    assert np.isnan(arrays[found["number"]["key"]][3])
    assert found["few"]["names"] == ["a", "missing"]
    targets = np.array(found["target"]["names"])[arrays[found["target"]["key"]]]
    assert targets.tolist() == [str(value) for value in DATA.targets]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1, True], ["1", "True"]),
        ([np.inf, 2.0], ["2", "inf"]),
        ([[1], [2]], ["[1]", "[2]"]),
        ([10, 9], ["9", "10"]),
    ],
)
def test_columns_of_any_objects(values: list[Any], names: list[str]) -> None:
    column = np.empty(len(DATA), object)
    column[:] = values * (len(DATA) // 2)
    header, arrays = unpacked(explore(DATA, columns={"any": column}, projection="pca").text)
    found = next(column for column in header["columns"] if column["name"] == "any")
    assert found["names"] == names
    shown = [found["names"][code] for code in arrays[found["key"]]]
    assert shown[:2] == [text_of(value) for value in values]


def test_whole_numbers_are_more_classes_as_targets_than_as_columns() -> None:
    numbers = np.arange(len(DATA)) % 20
    page = explore(DATA.graphs, numbers, columns={"twenty": numbers}, projection="pca")
    kinds = {column["name"]: column["kind"] for column in unpacked(page.text)[0]["columns"]}
    assert (kinds["target"], kinds["twenty"]) == ("class", "number")


def test_graphs_of_a_dataset_bring_their_names() -> None:
    made = make_graph_classification(4, rng=0)
    data = GraphDataset(made.graphs, None, "mine", graph_names=["a", "b", "c", "d"])
    header, _ = unpacked(explore(data).text)
    assert (header["names"], header["title"]) == (["a", "b", "c", "d"], "mine")


def test_classes_may_be_floating_point_numbers() -> None:
    given = Predictions(np.array([0.0, 1.0]), "a classifier", True, np.array([0.9, 0.8]))
    columns = prediction_columns(given, np.array([0.0, 0.0]))
    assert [column.role for column in columns] == ["predicted", "confidence", "correct"]
    assert columns[-1].values.tolist() == ["right", "wrong"]


def test_a_classifier() -> None:
    model = GraphClassifier(RetGK(walks=Walks(8)), cv=3, random_state=0).fit(DATA)
    header, arrays = unpacked(explore(DATA, model=model).text)
    found = {column["role"]: column for column in header["columns"]}
    predicted = np.array(found["predicted"]["names"])[arrays[found["predicted"]["key"]]]
    assert predicted.tolist() == [str(value) for value in model.predict(DATA.graphs)]
    known = model.predict_proba(DATA.graphs).max(axis=1)
    np.testing.assert_allclose(arrays[found["confidence"]["key"]], known, rtol=1e-6)
    explained = model.explain(DATA.graphs)
    unit = np.repeat(arrays["shareUnits"], DATA.graphs.node_counts)
    np.testing.assert_allclose(arrays["shares"] * unit, explained.shares, atol=unit.max())
    assert "GraphClassifier" in header["notes"][0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_looks_at_graphs_once(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = np.arange(len(DATA)) % n_classes
    model = GraphClassifier(RetGK(walks=Walks(4)), cv=3, random_state=0).fit(DATA.graphs, targets)
    predicted, known = model.predict(DATA.graphs), model.predict_proba(DATA.graphs)
    looks = []
    own = classifier.decision_values
    monkeypatch.setattr(
        classifier, "decision_values", lambda *given: (looks.append(1), own(*given))[1]
    )
    found = predictions_of(model, DATA.graphs)
    assert len(looks) == 1
    np.testing.assert_array_equal(found.values, predicted)
    np.testing.assert_array_equal(found.confidence, known[np.arange(len(known)), predicted])


def test_a_classifier_without_probabilities() -> None:
    graphs, targets = DATA.graphs[:2], [0.0, 1.0]
    model = GraphClassifier(RetGK(walks=Walks(4)), random_state=0).fit(graphs, targets)
    header, _ = unpacked(explore(graphs, targets, model=model).text)
    assert [column["role"] for column in header["columns"][:3]] == ["class", "predicted", "correct"]


def test_a_regressor() -> None:
    sizes = DATA.graphs.node_counts + 0.25
    model = GraphRegressor(RetGK(walks=Walks(4)), cv=2, random_state=0).fit(DATA.graphs, sizes)
    header, arrays = unpacked(explore(DATA.graphs, sizes, model=model).text)
    found = {column["role"]: column for column in header["columns"]}
    error = model.predict(DATA.graphs) - sizes
    np.testing.assert_allclose(arrays[found["error"]["key"]], error, atol=1e-5)
    assert found["class"]["kind"] == "number"


def test_predictions_of_others() -> None:
    header, arrays = unpacked(explore(DATA, predicted=DATA.targets[::-1]).text)
    found = {column["role"]: column for column in header["columns"]}
    right = np.array(found["correct"]["names"])[arrays[found["correct"]["key"]]] == "right"
    np.testing.assert_array_equal(right, DATA.targets == DATA.targets[::-1])
    assert header["model"]["shares"] is None


def test_models_of_several_targets_are_refused() -> None:
    both = np.stack([DATA.targets, 1 - DATA.targets], axis=1).astype(float)
    model = GraphRegressor(RetGK(walks=Walks(4)), cv=2, random_state=0).fit(DATA.graphs, both)
    fails(lambda: explore(DATA.graphs, model=model), about="several targets for")


# Drawings on pages of `explore`: of graphs, and structural formulas


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


# Files that `explore` writes: the same each time, small, closed; and what it refuses

ROOT = Path(__file__).parent.parent


SOURCES = ROOT / "explorer" / "src"


def test_the_same_seed_writes_the_same_page() -> None:
    first, second = (explore(DATA, n_jobs=n_jobs, rng=3).text for n_jobs in (1, 2))
    assert first == second
    assert explore(DATA, rng=4).text != first


@pytest.mark.slow
def test_two_thousand_graphs_are_small() -> None:
    rng = np.random.default_rng(0)
    n_graphs, size = 2000, 30
    starts = np.repeat(np.arange(n_graphs) * size, 45)
    edges = rng.integers(size, size=(2, n_graphs * 45)) + starts
    labels = rng.integers(5, size=n_graphs * size)
    graphs = GraphBatch.from_edges([size] * n_graphs, edges.T, labels=labels, symmetrize=True)
    page = explore(graphs, projection="pca")
    assert page.n_drawn == n_graphs
    assert len(page.text) < 3_000_000
    assert len(built_file("explorer.js")) + len(built_file("explorer.css")) < 500_000


def test_the_built_files_are_of_the_sources() -> None:
    """Without Node.js: the first line has a digest of the sources."""
    digest = hashlib.sha256()
    for file in sorted(SOURCES.iterdir(), key=lambda path: path.name):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    for name in ("explorer.js", "explorer.css"):
        head = built_file(name).splitlines()[0]
        assert digest.hexdigest() in head, "explorer/src has changed: run `make explorer`"


def test_nothing_is_asked_of_the_network() -> None:
    text = page_text("title", PageArrays().packed({}))
    assert re.findall(r"https?://[\w./-]+", text) == ["http://www.w3.org/2000/svg"] * text.count(
        "http://"
    )
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{known}'" in policy[1]


def test_a_title_that_utf8_cannot_hold(tmp_path: Path) -> None:
    page = explore(DATA[:5], title="a\udcffb")
    assert "<title>a?b</title>" in page.save(tmp_path / "page.html").read_text("utf-8")
    assert unpacked(page.text)[0]["title"] == "a\udcffb"


def test_a_notebook_shows_it() -> None:
    page = explore(DATA[:5], title='"><script>alert(1)</script>')
    assert repr(page) == "CollectionPage(5 graphs, 5 drawn)"
    frame = page._repr_html_()
    assert frame.count("<") == 2
    assert 'sandbox="allow-scripts allow-downloads"' in frame


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"projection": "umap"}, ("projection",)),
        ({"names": ["one"]}, ("1", "40")),
        ({"smiles": ["C"]}, ("1", "40")),
        ({"y": [1, 2]}, ("'target'", "40")),
        ({"columns": {"x": [1]}}, ("'x'", "40")),
        ({"columns": 3}, ("columns",)),
        ({"positions": [[0, 0]]}, ("positions",)),
        ({"vectors": [[0.0, np.nan]] * 40}, ("vectors",)),
        ({"max_drawn_nodes": -1}, ("max_drawn_nodes",)),
        ({"model": 3}, ("model", "GraphClassifier", "GraphRegressor")),
        ({"predicted": [1]}, ("'predicted'",)),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    fails(lambda: explore(DATA, **options), about=message)


# Places on the map of `explore`, and nearest graphs


@pytest.fixture(scope="module")
def vectors() -> Any:
    return np.random.default_rng(0).normal(size=(300, 20)).astype(np.float32)


@pytest.mark.parametrize("is_large", [False, True])
def test_nearest_graphs(vectors: Any, is_large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_large:  # candidates by few coordinates, ranked by all
        monkeypatch.setattr(projection, "_SEARCHED_WHOLE", 10)
        monkeypatch.setattr(projection, "_SEARCHED_DIMENSIONS", 12)
    found = nearest_graphs(vectors, 5)
    known = nearest_by_sorting(vectors, 5)
    same = np.mean(found.indices == known)
    assert same > 0.95 if is_large else same == 1
    assert (np.diff(found.distances, axis=1) >= 0).all()
    own = np.linalg.norm(vectors[0] - vectors[found.indices[0, 0]])
    assert found.distances[0, 0] == pytest.approx(own)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_find_smallest(count: int) -> None:
    values = np.random.default_rng(0).integers(30, size=(20, 500)).astype(np.float32)
    values[:, ::50] = np.inf
    values[0] = np.inf
    found = np.empty((20, count), np.int64)
    _core.find_smallest(values, found)
    np.testing.assert_array_equal(found, np.argsort(values, axis=1, kind="stable")[:, :count])


def test_equal_graphs_are_at_distance_zero_in_order() -> None:
    found = nearest_graphs(np.ones((6, 3), np.float32), 3)
    assert found.indices[4].tolist() == [0, 1, 2]
    assert not found.distances.any()


def kept(vectors: Any, places: Any, k: int = 10) -> float:
    known, found = nearest_by_sorting(vectors, k), nearest_by_sorting(places, k)
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(known, found, strict=True)]))


HAS_OPENTSNE = find_spec("openTSNE") is not None


@pytest.mark.parametrize("package", ["openTSNE", "scikit-learn"])
def test_the_map_keeps_neighbours(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if package == "scikit-learn":
        monkeypatch.setattr(projection, "find_spec", lambda _: None)
    elif not HAS_OPENTSNE:
        pytest.skip("openTSNE is not installed: pip install openTSNE")
    points = np.random.default_rng(1).normal(size=(6, 30)).repeat(40, axis=0)
    points = (points + np.random.default_rng(2).normal(size=points.shape)).astype(np.float32)
    near = map_places(points, "tsne", 0, n_jobs=1)
    flat = map_places(points, "pca")
    assert kept(points, near.places) > 1.5 * kept(points, flat.places)
    assert near.method == "t-SNE"
    assert flat.method.startswith("kernel PCA (")
    again = map_places(points, "tsne", 0, n_jobs=2)
    np.testing.assert_array_equal(near.places, again.places)


def test_few_graphs_have_a_map_too() -> None:
    for n_graphs in (1, 2, 3, 13):
        page = explore(DATA.graphs[:n_graphs])
        header, arrays = unpacked(page.text)
        assert arrays["map"].shape == (2 * n_graphs,)
        assert header["near"]["count"] == min(10, n_graphs - 1)


def test_a_lone_graph_leaves_room_for_the_rest(
    vectors: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    thrown_out = vectors[:, :2].astype(float)
    thrown_out[0] = 500.0
    for name in ("_open_tsne", "_sklearn_tsne"):
        monkeypatch.setattr(projection, name, lambda *_: thrown_out)
    places = map_places(vectors, "tsne").places
    radii = np.linalg.norm(places, axis=1)
    assert radii[0] == radii.max() < 3 * np.quantile(radii, 0.9)
    np.testing.assert_allclose(places[1] - places[2], thrown_out[1] - thrown_out[2])


def test_vectors_of_others() -> None:
    rng = np.random.default_rng(0)
    own = rng.normal(size=(len(DATA), 3)).astype(np.float32)
    _, arrays = unpacked(explore(DATA, vectors=own).text)
    np.testing.assert_array_equal(arrays["near"].reshape(-1, 10), nearest_by_sorting(own, 10))


# `retgk explore`


def test_command(graphs_file: Path, tmp_path: Path) -> None:
    model = GraphClassifier(RetGK(walks=Walks(8)), cv=3, random_state=0).fit(DATA)
    save_model(model, tmp_path / "model.retgk")
    page = tmp_path / "page.html"
    command = ("explore", graphs_file, "--model", tmp_path / "model.retgk", "-o", page)
    found = record(*command, "--title", "Mine", "--position-attributes", "0,1")
    assert (found["graphs"], found["drawn"]) == (40, 40)
    header, _ = unpacked(page.read_text("utf-8"))
    assert header["title"] == "Mine"
    assert header["model"]["by"] == "a GraphClassifier"
    assert "wrote" in invoke(*command, "--projection", "pca").stderr


def test_command_on_molecules(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    rows = ["smiles,who,weight,active", "CCO,ethanol,46.1,0", "CCN,ethylamine,45.1,1", "CC,x,30,1"]
    (tmp_path / "m.csv").write_text("\n".join(rows) + "\n")
    options = ("--name-column", "who", "--column", "weight", "--target-column", "active")
    invoke("explore", tmp_path / "m.csv", *options, "-o", tmp_path / "m.html")
    header, arrays = unpacked((tmp_path / "m.html").read_text("utf-8"))
    assert header["names"] == ["ethanol", "ethylamine", "x"]
    kinds = {column["name"]: column["kind"] for column in header["columns"]}
    assert kinds["weight"] == "number"
    assert kinds["target"] == "class"
    assert header["drawings"]["texts"] == ["", "OH", "NH2"]
    assert len(arrays["orders"]) == 5


def test_predictions_made_elsewhere(graphs_file: Path, tmp_path: Path) -> None:
    """Of a table by the numbers of graphs, or one line after the other; classes, not values."""
    wrong = 1 - DATA.targets
    rows = [f"{graph},{wrong[graph]}" for graph in range(len(DATA))]
    (tmp_path / "table.csv").write_text("\n".join(["graph,prediction", *rows[::-1]]) + "\n")
    (tmp_path / "lines.txt").write_text("".join(f"{value}\n" for value in wrong))
    page = tmp_path / "page.html"
    for given in ("table.csv", "lines.txt"):
        printed("explore", graphs_file, "--predicted", tmp_path / given, "-o", page)
        header, arrays = unpacked(page.read_text("utf-8"))
        found = {column["role"]: column for column in header["columns"]}
        predicted = np.array(found["predicted"]["names"])[arrays[found["predicted"]["key"]]]
        assert predicted.tolist() == [str(value) for value in wrong]
        assert found["correct"]["names"] == ["wrong"]
        page.unlink()


def test_predictions_of_cross_validation(graphs_file: Path, tmp_path: Path) -> None:
    table, page = tmp_path / "cv.csv", tmp_path / "page.html"
    printed("cv", graphs_file, "--n-steps", "4", "--folds", "3", "-o", table)
    printed("explore", graphs_file, "--predicted", table, "--projection", "pca", "-o", page)
    header, _ = unpacked(page.read_text("utf-8"))
    assert header["model"]["by"] == "the predictions that were given"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ["graph,prediction", "0,1", "0,1"],
            ("line 3", "'0'"),
        ),
        (["graph,prediction", "0,1"], ("39", "'1'", "'2'")),
        (["graph,guess", "0,1"], ("'prediction'",)),
        (
            ["graph,prediction", *(f"{graph},1" for graph in range(41))],
            ("1", "'40'"),
        ),
    ],
)
def test_wrong_predictions(
    rows: list[str], message: str, graphs_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    command = ("explore", graphs_file, "--predicted", tmp_path / "table.csv")
    assert_fails(invoke(*command, "-o", tmp_path / "page.html"), *message)


def test_nodes_have_their_names() -> None:
    graphs = DATA.graphs[:2]
    header, _ = unpacked(explore(graphs, projection="pca").text)
    assert header["drawings"]["names"] is None
    named = graphs.with_node_names([f"n{node % 3}" for node in range(graphs.n_nodes)])
    header, arrays = unpacked(explore(named, projection="pca").text)
    assert header["drawings"]["names"] == ["n0", "n1", "n2"]
    assert arrays["nodeNames"].tolist() == [node % 3 for node in range(graphs.n_nodes)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "page.pdf"), ("end the name",)),
        (("-o", "p.html", "--position-attributes", "0,9"), ("2",)),
        (("-o", "p.html", "--model", "none.retgk"), ("none.retgk",)),
        (("-o", "/dev/null/p.html"), ("cannot be made",)),
    ],
)
def test_wrong_options(options: tuple[str, ...], message: str, graphs_file: Path) -> None:
    assert_fails(invoke("explore", graphs_file, *options), *message)


# `retgk explain`: tables of nodes, and the page of `retgk explore` with a model

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def graphs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("graphs") / "graphs.json"
    write_json(DATA, file)
    return file


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("models") / "model.retgk"
    model = GraphClassifier(RetGK(walks=Walks(8)), cv=3, random_state=0).fit(DATA)
    save_model(model, file)
    return file


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Model of molecules, and a file of others, one of which has a hostile name."""
    pytest.importorskip("rdkit")
    folder = tmp_path_factory.mktemp("molecules")
    smiles = ["C" * k for k in range(2, 10)] + ["CO" + "C" * k for k in range(8)]
    model = GraphClassifier(RetGK(1, walks=Walks(5)), cv=2, random_state=0)
    save_model(model.fit(smiles, [0] * 8 + [1] * 8), folder / "model.retgk")
    (folder / "new.smi").write_text(f"CCO ethanol\nCCCO {HOSTILE}\n")
    return folder / "model.retgk", folder / "new.smi"


def test_one_row_per_node(graphs_file: Path, model_file: Path, tmp_path: Path) -> None:
    found = record("explain", model_file, graphs_file, "-o", tmp_path / "shares.csv")
    rows = rows_of(tmp_path / "shares.csv")
    assert found["shape"] == [DATA.graphs.n_nodes] == [len(rows)]
    columns = ["graph", "target", "node", "label", "share", "explained", "prediction"]
    assert list(rows[0]) == [*columns, "decision", "baseline"]
    own = [row for row in rows if row["graph"] == "3"]
    assert [int(row["node"]) for row in own] == list(range(DATA.graphs.node_counts[3]))
    total = float(own[0]["baseline"]) + sum(float(row["share"]) for row in own)
    assert total == pytest.approx(float(own[0]["decision"]), abs=1e-9)
    assert own[0]["explained"] == own[0]["prediction"]


def test_class_and_other_forms(graphs_file: Path, model_file: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    command = ("explain", model_file, graphs_file, "--target", 1)
    invoke(*command, "-o", tmp_path / "shares.parquet")
    table = parquet.read_table(tmp_path / "shares.parquet").to_pydict()
    assert set(table["explained"]) == {1}
    assert record(*command)["share"] == pytest.approx(table["share"])
    assert printed(*command).startswith("graph,target,node,label,share")


def test_page_of_molecules(molecules: tuple[Path, Path], tmp_path: Path) -> None:
    found = record("explain", *molecules, "-o", tmp_path / "page.html")
    assert (found["graphs"], found["drawn"]) == (2, 2)
    text = (tmp_path / "page.html").read_text("utf-8")
    assert HOSTILE not in text
    header, arrays = unpacked(text)
    assert header["names"] == ["graph 0: ethanol", f"graph 1: {HOSTILE}"]
    assert arrays["formulas"].tolist() == [1, 1]


def test_page_of_graphs(graphs_file: Path, model_file: Path, tmp_path: Path) -> None:
    """The page of `retgk explore`, with shares for the class that was asked for."""
    page = tmp_path / "page.html"
    assert invoke("explain", model_file, graphs_file, "--target", 1, "-o", page).exit_code == 0
    header, arrays = unpacked(page.read_text("utf-8"))
    assert set(header["model"]["shares"]["of"]) == {"1"}
    rows = record("explain", model_file, graphs_file, "--target", 1)
    graphs = np.repeat(np.arange(40), DATA.graphs.node_counts)
    shares = arrays["shares"] * arrays["shareUnits"][graphs]
    np.testing.assert_allclose(shares, rows["share"], atol=arrays["shareUnits"].max())


def test_labels_of_several_columns(tmp_path: Path) -> None:
    """The default for molecules has shares in tables and on pages, and each column its own."""
    pytest.importorskip("pyarrow")
    labels = [("CN"[code % 2], code % 3) for code in range(DATA.graphs.n_nodes)]
    graphs = DATA.graphs.with_labels(labels, columns=("element", "charge"))
    model = GraphClassifier(random_state=0, n_jobs=1).fit(graphs, DATA.targets)
    assert isinstance(model.kernel_, Scaled)
    save_model(model, tmp_path / "model.retgk")
    write_parquet(graphs, tmp_path / "graphs.parquet")
    command = ("explain", tmp_path / "model.retgk", tmp_path / "graphs.parquet")
    found = record(*command)
    assert found["label_element"] == [element for element, _ in labels]
    assert found["label_charge"] == [str(charge) for _, charge in labels]
    assert found["share"] == pytest.approx(model.explain(graphs).shares.tolist())
    assert invoke(*command, "-o", tmp_path / "page.html").exit_code == 0
    header, _ = unpacked((tmp_path / "page.html").read_text("utf-8"))
    assert header["model"]["shares"]["limit"] > 0


def test_page_of_several_targets(graphs_file: Path, tmp_path: Path) -> None:
    counts = np.stack([DATA.graphs.node_counts, DATA.graphs.edge_counts], axis=1)
    model = GraphRegressor(RetGK(walks=Walks(4)), cv=2, random_state=0).fit(DATA.graphs, counts)
    save_model(model, tmp_path / "model.retgk")
    command = ("explain", tmp_path / "model.retgk", graphs_file, "-o", tmp_path / "page.html")
    assert_fails(invoke(*command), "2")
    assert invoke(*command, "--target", 1).exit_code == 0


def test_training_graphs_have_the_numbers_of_the_file(tmp_path: Path) -> None:
    """Also where molecules that cannot be read were left out."""
    pytest.importorskip("rdkit")
    lines = ["smiles,kind"]
    for k in range(1, 13):
        lines += ["C(,broken", f"{'C' * k},alkane", f"{'C' * k}O,alcohol"]
    table, model, page = (tmp_path / name for name in ("all.csv", "m.retgk", "page.html"))
    table.write_text("\n".join(lines))
    options = ("--skip-invalid", "--target-column", "kind")
    assert invoke("fit", table, *options, "-o", model).exit_code == 0
    assert invoke("explain", model, table, *options, "-o", page).exit_code == 0
    header, _ = unpacked(page.read_text("utf-8"))
    columns = {own["name"]: own.get("texts", own.get("names")) for own in header["columns"]}
    pushed = " ".join(columns["training graphs that pushed most"])
    nearest = " ".join(columns["nearest training graph of another class"])
    found = re.findall(r"(\d+) C+O? \((alkane|alcohol)\)", f"{pushed} {nearest}")
    assert len(found) > 24
    kinds = [line.partition(",")[2] for line in lines[1:]]
    assert all(kinds[int(number)] == kind for number, kind in found)


def test_explain_tells_new_elements_by_the_numbers_and_names_of_the_file(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    table, new, model, page = (tmp_path / n for n in ("a.csv", "b.csv", "m.retgk", "page.html"))
    rows = [f"{'C' * k},{k % 2},{k // 2 % 2}" for k in range(1, 13)]
    table.write_text("\n".join(["smiles,one,two", *rows]))
    new.write_text("id,smiles\na,CC\nb,C(\nc,C[Si]C\nd,CCC")
    options = ("--target-column", "one,two", "-o", model)
    assert invoke("fit", table, *options).exit_code == 0
    command = ("explain", model, new, "--skip-invalid", "-o", page, "--target")
    with warnings.catch_warnings():
        warnings.simplefilter("always", UnseenWarning)
        result = invoke(*command, "two")  # a name, or its number
    assert result.exit_code == 0, result.output
    assert "graph 2 (c) has Si" in result.stderr
    assert_fails(invoke(*command, "three"), "--target", "three", "one, two")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "page.pdf"), ("end the name",)),
        (("--target", "7"), ("--target", "7", "0", "1")),
        (("-o", "/dev/null/page.html"), ("cannot be made",)),
    ],
)
def test_wrong_options_of_explain(
    options: tuple[str, ...], message: str, graphs_file: Path, model_file: Path
) -> None:
    assert_fails(invoke("explain", model_file, graphs_file, *options), *message)


def test_no_such_model(graphs_file: Path) -> None:
    assert_fails(invoke("explain", "none.retgk", graphs_file), "none.retgk")


# Maps by other kernels

KERNELS = [WeisfeilerLehman(n_iter=2), WeisfeilerLehmanOA(), WeisfeilerLehman() + ShortestPath()]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_vectors_of_a_kernel_have_its_distances(kernel):
    """Graphs are so few that no column is left out."""
    found = kernel_vectors(kernel, DATA.graphs, 0, None).astype(np.float64)
    gaps = np.linalg.norm(found[:, None] - found, axis=2)
    np.testing.assert_allclose(gaps, distances(DATA.graphs, kernel=kernel), atol=1e-3)
    page = explore(DATA, kernel=kernel)
    assert page.text == explore(DATA, kernel=kernel).text
    assert page.text != explore(DATA).text


def test_a_kernel_that_is_none_or_comes_with_vectors():
    fails(lambda: explore(DATA, kernel="wl"), ("WeisfeilerLehman()", "'wl'"))
    both = {"kernel": KERNELS[0], "vectors": np.ones((len(DATA.graphs), 2))}
    fails(lambda: explore(DATA, **both), "without vectors")


def test_a_model_without_shares_of_nodes():
    model = GraphClassifier(WeisfeilerLehman(), cv=3, random_state=0).fit(DATA)
    assert explore(DATA, model=model).n_graphs == len(DATA.graphs)
