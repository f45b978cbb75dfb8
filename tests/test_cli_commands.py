"""What every command but those of models gives, on graphs that need no download."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from retgk import (
    GraphDataset,
    RetGKEmbedding,
    RetGKKernel,
    embedding_gram,
    make_graph_classification,
    most_similar,
    read_graphs,
    return_probabilities,
    save_tudataset,
    write_parquet,
)
from tests.cli_calls import DATA, N_GRAPHS, assert_fails, invoke, printed, record


def test_info(graphs_file: Path) -> None:
    found = record("info", graphs_file)
    assert (found["graphs"], found["attributes"], found["labels"]) == (N_GRAPHS, 2, [0, 1, 2])
    assert found["targets"] == {"kind": "classes", "sizes": {"0": 20, "1": 20}}
    assert found["graph_size"]["max"] == DATA.graphs.node_counts.max()
    text = printed("info", graphs_file)
    assert "2 classes: 0 (20), 1 (20)" in text


def test_convert_there_and_back(graphs_file: Path, tmp_path: Path) -> None:
    assert invoke("convert", graphs_file, tmp_path / "A.zip").exit_code == 0
    assert invoke("convert", tmp_path / "A.zip", tmp_path / "gml", "--to", "graphml").exit_code == 0
    back = tmp_path / "back.parquet"
    names = ["--label", "label", "--attributes", "attribute_0"]
    names += ["--attributes", "attribute_1", "--targets", tmp_path / "gml" / "targets.txt"]
    found = record("convert", tmp_path / "gml", back, *names)
    assert (found["format"], found["graphs"]) == ("parquet", N_GRAPHS)
    dataset = read_graphs(back)
    assert dataset.graphs == DATA.graphs
    np.testing.assert_array_equal(dataset.targets, DATA.targets)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "A.zip",
        "A.zip.sha256",
        "back.parquet",
        "gml",
    ]


def test_convert_to_edge_lists(graphs_file: Path, tmp_path: Path) -> None:
    plain = ["--no-labels", "--no-attributes"]
    assert_fails(
        invoke("convert", graphs_file, tmp_path / "e", "--to", "edges"),
        "edge lists hold neither labels nor attributes; write GraphML",
    )
    assert list(tmp_path.iterdir()) == []
    rings = make_graph_classification(
        5, families=["watts_strogatz"], n_labels=2, n_nodes=(9, 12), random_state=0
    )
    write_parquet(rings, tmp_path / "rings.parquet")
    source = tmp_path / "rings.parquet"
    assert invoke("convert", source, tmp_path / "e", "--to", "edges", *plain).exit_code == 0
    assert record("info", tmp_path / "e")["edges"] == rings.graphs.n_edges
    assert (tmp_path / "e" / "targets.txt").read_text().split() == [*map(str, rings.targets)]
    assert_fails(
        invoke("convert", graphs_file, tmp_path / "e", "--to", "edges"), "exists; remove it"
    )


@pytest.mark.parametrize(
    ("output", "message"),
    [("a.xyz", "end the name in one of .json, .jsonl, .parquet, .zip"), (".", "what to write")],
)
def test_convert_to_nothing_known(graphs_file: Path, output: str, message: str) -> None:
    assert_fails(invoke("convert", graphs_file, output), message)


def test_features_have_a_row_per_node(graphs_file: Path, tmp_path: Path) -> None:
    expected = return_probabilities(DATA.graphs, 4)
    found = record("features", graphs_file, "--n-steps", 4, "-o", tmp_path / "f.npz")
    assert found["shape"] == list(expected.shape)
    with np.load(tmp_path / "f.npz") as arrays:
        np.testing.assert_array_equal(arrays["return_probabilities"], expected)
        np.testing.assert_array_equal(arrays["node_ptr"], DATA.graphs.node_ptr)
        of_graph = np.repeat(np.arange(N_GRAPHS), DATA.graphs.node_counts)
        np.testing.assert_array_equal(arrays["graph"], of_graph)
        np.testing.assert_array_equal(arrays["target"], DATA.targets[of_graph])
    rows = csv.DictReader(io.StringIO(printed("features", graphs_file, "--n-steps", 4, "-o", "-")))
    first = next(rows)
    assert list(first) == ["graph", "node", "target", "p1", "p2", "p3", "p4"]
    assert float(first["p4"]) == expected[0, 3]


def test_embedding_in_parquet_has_keys_and_names(graphs_file: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    model = RetGKEmbedding(n_components=5, random_state=7)
    expected = model.fit_transform(DATA.graphs)
    path = tmp_path / "v.parquet"
    assert invoke("embed", graphs_file, "-D", 5, "--seed", 7, "-o", path).exit_code == 0
    table = parquet.read_table(path)
    names = list(model.get_feature_names_out())
    assert table.column_names == ["graph", "target", *names]
    np.testing.assert_array_equal(np.stack([table[name] for name in names], axis=1), expected)
    np.testing.assert_array_equal(table["target"], DATA.targets)


def test_kernel_is_that_of_the_estimator(graphs_file: Path, tmp_path: Path) -> None:
    model = RetGKKernel(random_state=0)
    expected = model.fit_transform(DATA.graphs)
    found = record("kernel", graphs_file, "-o", tmp_path / "k.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "k.npy"), expected)
    assert found["graph_kernel"] == repr(model.graph_kernel_)
    assert (
        invoke("kernel", graphs_file, "--matrix", "distances", "-o", tmp_path / "d.json").exit_code
        == 0
    )
    written = json.loads((tmp_path / "d.json").read_text())
    np.testing.assert_array_equal(written["distances"], model.distances())
    assert written["target"] == DATA.targets.tolist()


@pytest.mark.parametrize("scaling", ["raw", "standard", "drop"])
def test_scaling_of_attributes(graphs_file: Path, tmp_path: Path, scaling: str) -> None:
    option, path = ["--scale-attributes", scaling], tmp_path / "found.npy"
    parameters = {"scale_attributes": scaling, "random_state": 0}
    printed("kernel", graphs_file, *option, "-o", path)
    np.testing.assert_array_equal(
        np.load(path), RetGKKernel(**parameters).fit_transform(DATA.graphs)
    )
    printed("embed", graphs_file, *option, "-D", 5, "-o", path)
    np.testing.assert_array_equal(
        np.load(path), RetGKEmbedding(n_components=5, **parameters).fit_transform(DATA.graphs)
    )
    found = record("similar", graphs_file, "--index", 3, "-k", 4, *option)
    expected = most_similar(DATA.graphs[3], DATA.graphs, 5, **parameters)
    assert found["similarity"] == expected.similarities[1:].tolist()


def test_depth(graphs_file: Path, tmp_path: Path) -> None:
    path, parameters = tmp_path / "found.npy", {"depth": 2, "random_state": 0}
    printed("kernel", graphs_file, "--depth", 2, "-o", path)
    expected = RetGKKernel(**parameters).fit_transform(DATA.graphs)
    assert not np.array_equal(expected, RetGKKernel(random_state=0).fit_transform(DATA.graphs))
    np.testing.assert_array_equal(np.load(path), expected)
    printed("embed", graphs_file, "--depth", 2, "-D", 5, "-o", path)
    np.testing.assert_array_equal(
        np.load(path), RetGKEmbedding(n_components=5, **parameters).fit_transform(DATA.graphs)
    )
    products = tmp_path / "products.npy"
    printed(
        "kernel", graphs_file, "--depth", 2, "--matrix", "products", "--on-disk", "-o", products
    )
    fitted = RetGKKernel(**parameters).fit(DATA.graphs)
    np.testing.assert_allclose(np.load(products), fitted.inner_products_, atol=1e-4)


def test_kernel_of_two_small_molecules(tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_text("CCO\nCCN\n")
    for options in ((), ("--gamma", 2, "--matrix", "products")):
        text = printed("kernel", path, *options, "-o", "-")
        assert text.splitlines()[0] == "graph,name,graph_0,graph_1"
        assert 0 < [float(cell) for cell in text.splitlines()[1].split(",")[2:]][1] < 1


def test_products_on_disk(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.npy"
    options = ["--matrix", "products", "--on-disk", "-o", path]
    assert record("kernel", graphs_file, *options)["shape"] == [N_GRAPHS, N_GRAPHS]
    expected = RetGKKernel(random_state=0).fit(DATA.graphs).inner_products_
    np.testing.assert_allclose(np.load(path), expected, atol=1e-4)
    scaled, own = tmp_path / "scaled.npy", {"scale_attributes": "standard", "random_state": 0}
    printed("kernel", graphs_file, *options[:-1], scaled, "--scale-attributes", "standard")
    expected = RetGKKernel(**own).fit(DATA.graphs).inner_products_
    np.testing.assert_allclose(np.load(scaled), expected, atol=1e-4)
    assert_fails(invoke("kernel", graphs_file, *options), "p.npy exists; remove it or choose")
    assert_fails(invoke("kernel", graphs_file, "--on-disk", "-o", path), "give --matrix products")


def test_exact_kernel_refuses_options_of_vectors(graphs_file: Path, tmp_path: Path) -> None:
    done = invoke("kernel", graphs_file, "--n-components", 50, "-o", tmp_path / "k.npy")
    assert_fails(done, "are for --approximate; add it")
    assert not (tmp_path / "k.npy").exists()


def test_approximate_kernel_and_its_distances(graphs_file: Path, tmp_path: Path) -> None:
    vectors = RetGKEmbedding(random_state=0).fit_transform(DATA.graphs)
    products = embedding_gram(vectors)
    norms = products.diagonal()
    path = tmp_path / "d.npy"
    options = ["--approximate", "--matrix", "distances", "-o", path]
    assert invoke("kernel", graphs_file, *options).exit_code == 0
    squared = norms[:, None] + norms - 2 * products
    np.testing.assert_allclose(np.load(path) ** 2, squared, atol=1e-12)


def test_results_that_cannot_go_to_standard_output(graphs_file: Path) -> None:
    message = "writes a file, and nothing to standard output; give a name instead of -"
    assert_fails(invoke("fit", graphs_file, "-o", "-"), message)
    for form in ("parquet", "graphml"):
        assert_fails(invoke("convert", graphs_file, "-", "--to", form), message)


@pytest.mark.parametrize(
    "command",
    [
        ["convert", "{}", "{folder}/a.parquet"],
        ["convert", "{}", "{folder}/a", "--to", "graphml"],
        ["features", "{}", "-o", "{folder}/a.csv"],
        ["embed", "{}", "-o", "{folder}/new/a.csv"],
        ["kernel", "{}", "-o", "{folder}/a.npy"],
        ["cv", "{}", "-o", "{folder}/a.csv"],
        ["fit", "{}", "-o", "{folder}/a.retgk"],
        ["predict", "model.retgk", "{}", "-o", "{folder}/a.csv"],
        ["similar", "{}", "--index", "0", "-o", "{folder}/a.csv"],
    ],
)
def test_folders_that_may_not_be_written_to(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root, who may write everywhere, there is no such folder: the system is asked for one."""
    monkeypatch.setattr("os.access", lambda *_: False)
    words = [word.format("missing.parquet", folder=tmp_path) for word in command]
    assert_fails(invoke(*words), f"{tmp_path} may not be written to; choose another folder")


def test_similar(graphs_file: Path) -> None:
    found = record("similar", graphs_file, "--index", 3, "-k", 4)
    expected = most_similar(DATA.graphs[3], DATA.graphs, 5, random_state=0)
    assert expected.indices[0] == 3
    assert found["graph"] == expected.indices[1:].tolist()
    assert found["similarity"] == expected.similarities[1:].tolist()
    assert found["target"] == DATA.targets[expected.indices[1:]].tolist()


def test_similar_molecules(tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_text("CCO ethanol\nc1ccccc1 benzene\nCCCO propanol\n")
    text = printed("similar", path, "--smiles", "OCC", "-k", 1)
    assert "ethanol" in text
    assert "1.0000" in text
    (tmp_path / "query.smi").write_text("c1ccccc1\n")
    found = record("similar", path, "--query", tmp_path / "query.smi", "-k", 1)
    assert found["name"] == ["benzene"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give one query: --index, --query or --smiles"),
        (["--index", 40], "there is no graph 40: small has 40, from 0 on"),
        (["--query", "digits"], "digits holds 1797 graphs; a query is one"),
    ],
)
def test_similar_errors(graphs_file: Path, options: list[object], message: str) -> None:
    assert_fails(invoke("similar", graphs_file, *options), message)


def test_datasets(tmp_path: Path) -> None:
    save_tudataset(GraphDataset(DATA.graphs, DATA.targets, "TINY"), tmp_path)
    home = ["--data-home", tmp_path]
    found = record("datasets", "list", "--here", *home)
    names = [entry["name"] for entry in found["datasets"]]
    assert names == ["digits", "TINY"]
    everything = {
        entry["name"]: entry["here"] for entry in record("datasets", "list", *home)["datasets"]
    }
    assert everything["MUTAG"] is False
    assert everything["TINY"] is True
    assert record("datasets", "fetch", "TINY", *home)["graphs"] == N_GRAPHS
    assert_fails(invoke("datasets", "fetch", "a/b", *home), "is not the name of a data set")


@pytest.mark.parametrize("command", ["features", "embed", "kernel"])
def test_outputs_are_checked_before_any_work(command: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing.parquet"
    endings = "end the name in one of .parquet, .csv, .npz, .npy, .json, or give -"
    assert_fails(invoke(command, missing, "-o", tmp_path / "a.txt"), endings)
    (tmp_path / "folder.csv").mkdir()
    assert_fails(invoke(command, missing, "-o", tmp_path / "folder.csv"), "is a folder")
    (tmp_path / "file").touch()
    assert_fails(invoke(command, missing, "-o", tmp_path / "file" / "a.csv"), "is not a folder")
    assert_fails(invoke(command, missing, "-o", tmp_path / "a.csv"), "there is no file")


def test_quiet_says_nothing(graphs_file: Path, tmp_path: Path) -> None:
    result = invoke("kernel", graphs_file, "-o", tmp_path / "k.npy", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
