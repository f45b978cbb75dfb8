"""Damaged or hostile model files: a clear error or the same predictions, and nothing is run."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from retgk import (
    GraphBatch,
    InvalidInputError,
    Laplacian,
    RetGKEmbedding,
    RetGKKernel,
    load_model,
    save_model,
)
from tests.model_file_mutations import (
    DAMAGED,
    FORGED,
    packed,
    parts_of,
    signed,
    with_array,
    with_document,
)
from tests.model_zoo import decorated_graphs, fitted_models
from tests.walk_graphs import complete, star


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does")
def test_mutated_files(tmp_path):
    """500 damaged files, and 400 by somebody who makes the digests fit."""
    for name, model in fitted_models().items():
        save_model(model, tmp_path / f"{name}.retgk")
    command = [sys.executable, "-m", "tests.model_file_worker", str(tmp_path), "0"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=550)
    report = json.loads(done.stdout)
    assert sum(DAMAGED.values()) >= 500
    for mutate, n_files in (DAMAGED | FORGED).items():
        found = report["outcomes"][mutate.__name__]
        allowed = {"refused", "as before"}
        if mutate in FORGED:
            allowed |= {"another model", "refused by the model"}
        assert found.keys() <= allowed, mutate.__name__
        assert sum(found.values()) == n_files
        assert found["refused"] > 0.4 * n_files
    assert report["events"] == []
    assert report["growth"] < 1 << 30


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Bytes of a good file."""
    path = tmp_path_factory.mktemp("models") / "model.retgk"
    save_model(RetGKKernel(4, random_state=0).fit(decorated_graphs()[0][:6]), path)
    return path.read_bytes()


def assert_refused(data, message, tmp_path, **options):
    path = tmp_path / "stranger.retgk"
    path.write_bytes(data)
    with pytest.raises(InvalidInputError, match=message) as caught:
        load_model(path, **options)
    assert str(path) in str(caught.value)


def with_about(saved, **changes):
    about, arrays = parts_of(saved)
    return packed(about | changes, arrays)


def test_newer_version(saved, tmp_path):
    message = "written by a newer retgk, in version 4 .* upgrade retgk"
    assert_refused(with_about(saved, version=4), message, tmp_path)


@pytest.mark.parametrize("version", [0, "1", None, True, 1.5])
def test_wrong_version(version, saved, tmp_path):
    assert_refused(with_about(saved, version=version), "damaged: its version is", tmp_path)


def test_other_formats(saved, tmp_path):
    assert_refused(with_about(saved, format="retgk data set"), "says that it is", tmp_path)
    pickled = b"cposix\nsystem\n(S'touch /tmp/x'\ntR."
    for content in (b"", b"x" * 1000, pickled, bytes(8), b"\2" + bytes(7) + b"{}", saved[:-1]):
        assert_refused(content, "no model of retgk, or is damaged.*copy it again", tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_missing_file_folder_and_pipe(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nothing.retgk")
    with pytest.raises(InvalidInputError, match="is not a file; pass"):
        load_model(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInputError, match="is not a file"):
        load_model(tmp_path / "pipe")


def test_changed_document(saved, tmp_path):
    changed = saved.replace(b'\\"n_steps\\": 4', b'\\"n_steps\\": 5')
    assert changed != saved
    assert_refused(changed, "document does not match its checksum", tmp_path)


def test_changed_array(saved, tmp_path):
    about, arrays = parts_of(saved)
    arrays["engine_._norms"][0] += 1
    assert_refused(packed(about, arrays), "'engine_._norms' does not match its checksum", tmp_path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("_norms", lambda a: a * np.nan, "_norms of ExactEngine is float64.*not all finite"),
        ("_norms", lambda a: a[:-1], "norms is of shape"),
        ("_norms", lambda a: a.astype("f4"), "_norms of ExactEngine is float32 of shape"),
        ("_graphs.frame.factors.0.mean", lambda a: a[:-1], "mean is of shape"),
        ("_graphs.points.coordinates", lambda a: a[:, :-1], "coordinates is of shape"),
        ("_graphs.points.coordinates", lambda a: a[:-1], "coordinates is of shape"),
        ("_graphs.points.entry_points", lambda a: a[::-1], "entry_points does not rise"),
        ("_graphs.points.entry_points", lambda a: a * 2**40, "entry_points does not rise"),
        ("_graphs.points.entry_points", lambda a: a[:0], "entry_graphs is of shape"),
        ("_graphs.points.entry_graphs", lambda a: a - 1, "entry_graphs has numbers that stand"),
        ("_graphs.points.entry_graphs", lambda a: a * 0, "entry_weights are not shares"),
        ("_graphs.points.entry_weights", lambda a: -a, "entry_weights are not shares"),
        ("_graphs.points.entry_weights", lambda a: 2 * a, "entry_weights are not shares"),
        ("_graphs.points.labels", lambda a: a + 1, "labels has numbers that stand for nothing"),
        ("_graphs.points.labels", lambda a: a[::-1], "labels are not rising codes"),
        ("_graphs.points.labels", lambda a: a.astype("?"), "labels of DistinctPoints is bool"),
    ],
)
def test_forged_arrays(name, change, message, saved, tmp_path):
    assert_refused(with_array(saved, f"engine_.{name}", change), message, tmp_path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("points.entry_graphs", lambda a: a * 0, "entry_graphs does not rise within each point"),
        ("frame.factors.0.basis", lambda a: a[:, :0], "0 directions of 8"),
        ("frame.factors.0.basis", lambda a: np.hstack([a] * 8), "directions of 8"),
    ],
)
def test_forged_arrays_of_shared_points(name, change, message, tmp_path):
    graphs = GraphBatch.concatenate([kind(n) for n in (5, 5, 9, 14) for kind in (complete, star)])
    kernel = RetGKKernel(8, structure_kernel=Laplacian(1.0), tol=1e-2).fit(graphs)
    save_model(kernel, tmp_path / "model.retgk")
    good = (tmp_path / "model.retgk").read_bytes()
    assert_refused(with_array(good, f"engine_._graphs.{name}", change), message, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("model"), "is damaged"),
        (lambda d: d["model"].update({"class": "os.system"}), "there is no model 'os.system'"),
        (lambda d: d["model"]["parameters"].update(new=1), "RetGKKernel lacks 'new', or should"),
        (lambda d: d["model"]["parameters"].update(n_jobs=10**6), "n_jobs must be .* got 1000000"),
        (lambda d: d["model"]["fitted"].pop("graph_kernel_"), "lacks 'graph_kernel_'"),
        (lambda d: d["model"]["fitted"].update(more=1), "lacks 'more', or should not have it"),
        (lambda d: engine_of(d).update(n_attributes=10**9), "n_attributes"),
        (lambda d: engine_of(d).update({"class": "Laplacian"}), "Laplacian lacks the field"),
        (lambda d: engine_of(d).update(more=1), "ExactEngine lacks the field 'more', or should"),
        (lambda d: d["model"].update(output="evil"), "there is no output 'evil'"),
    ],
)
def test_forged_documents(change, message, saved, tmp_path):
    assert_refused(with_document(saved, change), message, tmp_path)


def engine_of(document):
    return document["model"]["fitted"]["engine_"]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ({"class": "Laplacian", "gamma": "median"}, "a number for gamma"),
        ({"class": "Laplacian", "gamma": -1.0}, "gamma must be positive"),
        ({"class": "Polynomial", "gamma": 1.0, "degree": 10**9, "coef0": 1.0}, "degree must be"),
        ({"class": "Delta"}, "kernels of ExactEngine is"),
    ],
)
def test_kernels_in_a_document_are_checked(kernel, message, saved, tmp_path):
    change = lambda document: engine_of(document)["kernels"].__setitem__(0, kernel)  # noqa: E731
    assert_refused(with_document(saved, change), message, tmp_path)


def test_arrays_that_belong_to_nothing(saved, tmp_path):
    about, arrays = parts_of(saved)
    data = signed(about, arrays | {"more": np.zeros(2)})
    assert_refused(data, "the array 'more' belongs to nothing", tmp_path)


def test_arrays_that_are_not_listed(saved, tmp_path):
    about, arrays = parts_of(saved)
    data = packed(about, arrays | {"more": np.zeros(2)})
    assert_refused(data, "not those that the document lists", tmp_path)


def test_names_that_stand_twice_in_json(saved, tmp_path):
    end = 8 + int.from_bytes(saved[:8], "little")
    name = b'"engine_._norms":'
    header = saved[8:end].replace(name, name + b"1," + name, 1)
    data = len(header).to_bytes(8, "little") + header + saved[end:]
    assert_refused(data, "the same name twice", tmp_path)


def test_huge_and_deep_json(saved, tmp_path):
    for header in (b"[" * (1 << 24) + b" ", b'{"a":' * 100_000):
        data = len(header).to_bytes(8, "little") + header + saved
        assert_refused(data, "no model of retgk, or is damaged", tmp_path)


@pytest.mark.parametrize("entry", [{"shape": [2**40]}, {"data_offsets": [0, 8]}, {"dtype": "F999"}])
def test_places_that_arrays_cannot_have(entry, saved, tmp_path):
    """Arrays that share bytes would take more memory than the file has."""
    end = 8 + int.from_bytes(saved[:8], "little")
    header = json.loads(saved[8:end])
    header["engine_._norms"] |= entry
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + saved[end:]
    assert_refused(data, "no model of retgk, or is damaged", tmp_path)


def test_large_files_are_read_on_demand_only(saved, tmp_path):
    message = "bytes, more than the 1000 allowed; pass a larger max_bytes if you trust it"
    assert_refused(saved, message, tmp_path, max_bytes=1000)


def test_embedding_of_other_width(tmp_path):
    path = tmp_path / "model.retgk"
    save_model(RetGKEmbedding(4, n_components=6, random_state=0).fit(decorated_graphs()[0]), path)
    data = with_document(path.read_bytes(), lambda d: engine_of(d).update(n_components=7))
    assert_refused(data, r"frequencies is of shape \(7, 3\), not \(7, 4\)", tmp_path)


def reading_with(**changes):
    reading = {"class": "Reading", "kind": "molecules", "form": {"dict": []}, "labels": True}
    reading |= {"attributes": True, "edge_labels": True}
    return reading | {"options": {"dict": [["bond_orders", True]]}} | changes


def with_reading(saved, value):
    def change(document):
        document["model"]["fitted"]["intake_"]["reading"] = value

    return with_document(saved, change)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("molecules", "reading of GraphIntake is 'molecules'"),
        ({"class": "Reading"}, "Reading lacks the field"),
        (reading_with(kind="pickles"), "there is no kind of graphs 'pickles'"),
        (reading_with(kind={"class": "Laplacian", "gamma": 1.0}), "kind of Reading is"),
        (reading_with(options={"dict": [["label", "x"]]}), "options of reading molecules are"),
        (
            reading_with(options={"dict": [["attributes", ["mass"] * 9]]}),
            "names more attributes than the 3 there are",
        ),
    ],
)
def test_forged_reading(value, message, saved, tmp_path):
    path = tmp_path / "good.retgk"
    path.write_bytes(with_reading(saved, reading_with()))
    assert load_model(path).reading_.options == {"bond_orders": True}
    assert_refused(with_reading(saved, value), message, tmp_path)


def test_forged_imputation(tmp_path):
    graphs = decorated_graphs()[0][:6]
    path = tmp_path / "model.retgk"
    save_model(RetGKKernel(4, random_state=0, impute_attributes="mean").fit(graphs), path)
    saved = path.read_bytes()
    for values in (np.zeros(2), np.zeros((3, 1)), np.array([1.0, np.nan, 2.0])):
        name = "intake_.imputation.values"
        data = with_array(saved, name, lambda _, forged=values: forged)
        assert_refused(data, "imputation is of shape|values of AttributeImputation is", tmp_path)

    def change(document):
        document["model"]["fitted"]["intake_"]["is_weighted"] = 3

    assert_refused(with_document(saved, change), "is_weighted of GraphIntake is 3", tmp_path)


def test_a_self_loop_that_compiled_code_cannot_hold(saved, tmp_path):
    def change(document):
        document["model"]["fitted"]["walks_"]["self_loop"] = 10**300

    assert_refused(with_document(saved, change), "self_loop must be .* got 1000", tmp_path)
