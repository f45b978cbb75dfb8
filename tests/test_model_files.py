"""Model files: what comes back is what was saved, in this process and in another."""

import json
import os
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline

from retgk import GraphBatch, GraphClassifier, RetGK, load_model, save_model
from retgk._runtime import fields
from retgk._runtime.fields import flatten, unflatten
from retgk.datasets import load_tudataset
from retgk.kernels import (
    Delta,
    ExponentialGraphKernel,
    Gaussian,
    Laplacian,
    Matern,
    Polynomial,
    PolynomialGraphKernel,
    RetGKEmbedding,
)
from retgk.walks.probabilities import Walks
from tests.errors import fails
from tests.example_graphs import complete, of_retgk, star
from tests.model_file_mutations import (
    DAMAGED,
    FORGED,
    packed,
    parts_of,
    signed,
    with_array,
    with_document,
)
from tests.model_zoo import MAKERS, N_FITTED, answers, decorated_graphs, fitted_model, fitted_models


def assert_same_answers(model, other):
    for ours, theirs in zip(answers(model), answers(other), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def fitted_attributes(model):
    """What fit has set and a user may look at; inner products are found anew."""
    return {n: v for n, v in vars(model).items() if n.endswith("_") and n != "inner_products_"}


@pytest.mark.parametrize("name", MAKERS)
def test_round_trip(name, tmp_path):
    model = fitted_model(name)
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    assert type(loaded) is type(model)
    assert_same_answers(model, loaded)
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert fitted_attributes(loaded).keys() == fitted_attributes(model).keys()


OWN = """
from dataclasses import dataclass
import numpy as np
from retgk.kernels import GraphKernel, NodeKernel

class Density(GraphKernel):
    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def describe(self, graphs):
        return (graphs.edge_counts / graphs.node_counts**2)[:, None]

    def products(self, x, y):
        return np.exp(-self.gamma * (x - y.T) ** 2)

@dataclass(frozen=True)
class Cauchy(NodeKernel):
    def __call__(self, x, y):
        return 1 / (1 + self.scale * ((x[:, None] - y) ** 2).sum(axis=2))
"""


def test_kernels_of_users_come_back_from_modules_that_are_trusted(tmp_path, monkeypatch):
    (tmp_path / "their_kernels.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(fields, "_STORED", dict(fields._STORED))
    own = import_module("their_kernels")
    kernel = own.Density(9.0) + RetGK(walks=Walks(4), structure=own.Cauchy(2.0))
    graphs, targets = decorated_graphs()
    model = GraphClassifier(kernel, C=1, cv=2, random_state=0).fit(graphs, targets)
    save_model(model, tmp_path / "model.retgk")
    monkeypatch.delitem(sys.modules, "their_kernels")
    for name in ("Density", "Cauchy"):
        del fields._STORED[f"their_kernels:{name}"]
    fails(lambda: load_model(tmp_path / "model.retgk"), "trust=['their_kernels']")
    loaded = load_model(tmp_path / "model.retgk", trust=["their_kernels"])
    assert_same_answers(model, loaded)
    assert type(loaded.kernel_.k1) is not own.Density


def test_labels_of_all_types(tmp_path):
    graphs = decorated_graphs()[0][:20].without_attributes()
    names = ["2", 2, 2.5, (2, None), None]
    labels = [names[place] for place in np.random.default_rng(0).integers(5, size=graphs.n_nodes)]
    graphs = graphs.with_labels(labels, missing="label")
    for model in (
        RetGK(walks=Walks(4), random_state=0),
        RetGKEmbedding(walks=Walks(4), random_state=0),
    ):
        save_model(model.fit(graphs[:10]), tmp_path / "model.retgk")
        loaded = load_model(tmp_path / "model.retgk")
        assert repr(loaded.label_names_) == repr(model.label_names_)
        np.testing.assert_array_equal(loaded.transform(graphs), model.transform(graphs))


@pytest.mark.parametrize("name", ["classifier", "approximate classifier"])
def test_loaded_classifier_is_an_ordinary_one(name, tmp_path):
    model = fitted_model(name)
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    graphs, targets = decorated_graphs()
    targets = model.classes_[targets] if name == "classifier" else targets
    assert loaded.score(graphs, targets) == model.score(graphs, targets)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.best_params_ == model.best_params_
    assert loaded.cv_results_["params"] == model.cv_results_["params"]
    np.testing.assert_array_equal(
        loaded.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"]
    )
    refitted = clone(loaded).fit(graphs[:N_FITTED], targets[:N_FITTED])
    assert refitted.score(graphs, targets) == clone(model).fit(
        graphs[:N_FITTED], targets[:N_FITTED]
    ).score(graphs, targets)


def test_loaded_kernel_finds_inner_products_again(tmp_path):
    model = fitted_model("kernel")
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    loaded._repr_html_()
    assert "inner_products_" not in dir(loaded)
    np.testing.assert_array_equal(loaded.distances(), model.distances())
    np.testing.assert_array_equal(loaded.diagonal(), model.diagonal())
    np.testing.assert_array_equal(loaded.inner_products_, model.inner_products_)


@pytest.mark.real_data
def test_real_collection(data_folder, tmp_path):
    data = load_tudataset("MUTAG", data_home=data_folder)
    model = GraphClassifier(random_state=0).fit(data.graphs[::2], data.targets[::2])
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    np.testing.assert_array_equal(
        loaded.predict_proba(data.graphs), model.predict_proba(data.graphs)
    )
    assert loaded.score(data.graphs[1::2], data.targets[1::2]) > 0.8


def test_saved_again_the_file_is_the_same(tmp_path):
    first, second = tmp_path / "first.retgk", tmp_path / "second.retgk"
    save_model(fitted_model("classifier"), first)
    save_model(load_model(first), second)
    assert first.read_bytes() == second.read_bytes()


PREDICTING = """
import sys
import numpy as np
from retgk import load_model
from tests.model_zoo import answers
folder = sys.argv[1]
for name in sys.argv[2:]:
    found = answers(load_model(f"{folder}/{name}.retgk"))
    np.savez(f"{folder}/{name}.npz", *found)
"""


@pytest.mark.slow
def test_another_process_answers_to_the_bit(tmp_path):
    for name, model in fitted_models().items():
        save_model(model, tmp_path / f"{name}.retgk")
    command = [sys.executable, "-c", PREDICTING, str(tmp_path), *MAKERS]
    subprocess.run(command, check=True, timeout=300)
    for name, model in fitted_models().items():
        with np.load(tmp_path / f"{name}.npz") as found:
            theirs = [found[key] for key in found.files]
        for ours, other in zip(answers(model), theirs, strict=True):
            np.testing.assert_array_equal(ours, other, err_msg=name)


def test_safetensors_can_read_the_file(tmp_path):
    """The form that docs/model_files.md describes."""
    model = fitted_model("embedding")
    save_model(model, tmp_path / "model.retgk")
    with safe_open(tmp_path / "model.retgk", "numpy") as content:
        about = json.loads(content.metadata()["retgk"].partition(" ")[2])
        phases = content.get_tensor("engine_.maps.0.phases")
    assert (about["format"], about["version"]) == ("retgk model", 1)
    assert about["document"]["model"]["class"] == "RetGKEmbedding"
    np.testing.assert_array_equal(phases, model.maps_[0].phases)


LABELS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.tuples(inner) | st.tuples(inner, inner),
    max_leaves=6,
)


@given(LABELS)
def test_labels_keep_their_types(label):
    found = unflatten(json.loads(json.dumps(flatten(label, "label"), allow_nan=False)))
    assert repr(found) == repr(label)


@pytest.mark.parametrize(
    "value",
    [
        Laplacian(),
        Gaussian(0.5),
        Matern(0.5),
        Polynomial(degree=3, coef0=0.0),
        Delta(),
        PolynomialGraphKernel(c=1.0, d=2),
        ExponentialGraphKernel(p=2, scale=8.0),
        [1, (2.0, "x")],
        {"a": ([0, 1], Laplacian()), 2: None},
        slice(0, None, 2),
        np.float32,
        float("inf"),
    ],
)
def test_values_come_back(value):
    found = unflatten(json.loads(json.dumps(flatten(value, "value"), allow_nan=False)))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a", "bcd"]),
        np.array([1.5, np.nan]),
        np.array([True, False]),
        np.array([3], np.uint8),
        np.array([3], np.int16),
        np.array(["a", 1, None, (1, 2)], dtype=object),
    ],
)
def test_arrays_come_back(array):
    found = unflatten(json.loads(json.dumps(flatten(array, "array"), allow_nan=False)))
    assert found.dtype == array.dtype
    assert repr(found.tolist()) == repr(array.tolist())


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        *(kind(4) for kind in (KFold, StratifiedKFold, GroupKFold)),
        StratifiedGroupKFold(4, shuffle=True, random_state=3),
    ],
    ids=repr,
)
def test_what_is_not_equal_to_itself_comes_back(value):
    assert repr(unflatten(flatten(value, "value"))) == repr(value)


def labelled(graphs):
    return RetGKEmbedding(walks=Walks(3), random_state=0).fit(
        graphs.with_labels([frozenset([1])] * graphs.n_nodes)
    )


def searched(_):
    search = GridSearchCV(GraphClassifier(), {"C": [5]})
    search.best_estimator_ = GraphClassifier()  # as fit sets it
    return search


def with_parameters(**parameters):
    return lambda graphs: RetGK(walks=Walks(3), random_state=0).fit(graphs).set_params(**parameters)


@pytest.mark.parametrize(
    ("make", "about"),
    [
        (with_parameters(random_state=np.random.default_rng(0)), ("random_state", "set_params")),
        (with_parameters(n_jobs=0), ("n_jobs", "0")),
        (
            lambda _: of_retgk(GraphClassifier, n_steps=3, C=1, cv=ShuffleSplit()).fit(
                *decorated_graphs()
            ),
            "cv",
        ),
        (labelled, "frozenset"),
        (lambda _: make_pipeline(RetGKEmbedding()), ("GraphClassifier", "Pipeline")),
        (lambda _: type("Mine", (RetGK,), {})(), "Mine"),
        (lambda _: 3, "int"),
        (searched, ("GridSearchCV", "best_estimator_")),
        (lambda _: GraphClassifier(), "fitted"),
    ],
)
def test_models_that_no_file_can_hold(make, about, tmp_path):
    model = make(decorated_graphs()[0][:5])
    fails(lambda: save_model(model, tmp_path / "model.retgk"), about, ValueError)
    assert list(tmp_path.iterdir()) == []


def test_output_container_is_kept(tmp_path):
    model = (
        RetGKEmbedding(walks=Walks(3), random_state=0)
        .fit(decorated_graphs()[0])
        .set_output(transform="polars")
    )
    save_model(model, tmp_path / "model.retgk")
    assert load_model(tmp_path / "model.retgk")._sklearn_output_config == {"transform": "polars"}


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.retgk"
    save_model(fitted_model("embedding"), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="disk full"):
        save_model(fitted_model("kernel"), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# Damaged or hostile model files: a clear error or the same predictions, and nothing is run


@pytest.mark.slow
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
    save_model(RetGK(walks=Walks(4), random_state=0).fit(decorated_graphs()[0][:6]), path)
    return path.read_bytes()


def assert_refused(data, about, tmp_path, **options):
    """The error names the file and all facts, parts of words among them."""
    path = tmp_path / "stranger.retgk"
    path.write_bytes(data)
    message = fails(lambda: load_model(path, **options), str(path))
    assert [
        fact for fact in ([about] if isinstance(about, str) else about) if fact not in message
    ] == []


def with_about(saved, **changes):
    about, arrays = parts_of(saved)
    return packed(about | changes, arrays)


@pytest.mark.parametrize(
    ("version", "about"),
    [(4, ("version 4", "upgrade")), *((odd, "version") for odd in (0, "1", None, True, 1.5))],
)
def test_wrong_version(version, about, saved, tmp_path):
    assert_refused(with_about(saved, version=version), about, tmp_path)


def test_other_formats(saved, tmp_path):
    assert_refused(with_about(saved, format="retgk data set"), "retgk data set", tmp_path)
    pickled = b"cposix\nsystem\n(S'touch /tmp/x'\ntR."
    for content in (b"", b"x" * 1000, pickled, bytes(8), b"\2" + bytes(7) + b"{}", saved[:-1]):
        assert_refused(content, "damaged", tmp_path)
    assert_refused(saved, ("1000", "max_bytes"), tmp_path, max_bytes=1000)


def test_contents_that_do_not_fit_together(saved, tmp_path):
    changed = saved.replace(b'\\"n_steps\\": 4', b'\\"n_steps\\": 5')
    assert changed != saved
    assert_refused(changed, ("document", "checksum"), tmp_path)
    about, arrays = parts_of(saved)
    more = arrays | {"more": np.zeros(2)}
    assert_refused(signed(about, more), "'more'", tmp_path)
    assert_refused(packed(about, more), "document", tmp_path)
    arrays["engine_._norms"][0] += 1
    assert_refused(packed(about, arrays), ("'engine_._norms'", "checksum"), tmp_path)
    end = 8 + int.from_bytes(saved[:8], "little")
    name = b'"engine_._norms":'
    header = saved[8:end].replace(name, name + b"1," + name, 1)
    twice = len(header).to_bytes(8, "little") + header + saved[end:]
    assert_refused(twice, "twice", tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_missing_file_folder_and_pipe(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nothing.retgk")
    fails(lambda: load_model(tmp_path), "file")
    os.mkfifo(tmp_path / "pipe")
    fails(lambda: load_model(tmp_path / "pipe"), "file")


POINTS = "_graphs.points"
FORGED_ARRAYS = [
    ("_norms", lambda a: a * np.nan, "_norms"),
    ("_norms", lambda a: a[:-1], "norms"),
    ("_norms", lambda a: a.astype("f4"), ("_norms", "float32")),
    ("_graphs.frame.factors.0.mean", lambda a: a[:-1], "mean"),
    (f"{POINTS}.coordinates", lambda a: a[:, :-1], "coordinates"),
    (f"{POINTS}.coordinates", lambda a: a[:-1], "coordinates"),
    (f"{POINTS}.entry_points", lambda a: a[::-1], "entry_points"),
    (f"{POINTS}.entry_points", lambda a: a * 2**40, "entry_points"),
    (f"{POINTS}.entry_points", lambda a: a[:0], "entry_graphs"),
    (f"{POINTS}.entry_graphs", lambda a: a - 1, "entry_graphs"),
    (f"{POINTS}.entry_graphs", lambda a: a * 0, "entry_weights"),
    (f"{POINTS}.entry_weights", lambda a: -a, "entry_weights"),
    (f"{POINTS}.entry_weights", lambda a: 2 * a, "entry_weights"),
    (f"{POINTS}.labels", lambda a: a + 1, "labels"),
    (f"{POINTS}.labels", lambda a: a[::-1], "labels"),
    (f"{POINTS}.labels", lambda a: a.astype("?"), ("labels", "bool")),
]
FORGED_SHARED = [
    (f"{POINTS}.entry_graphs", lambda a: a * 0, "entry_graphs"),
    ("_graphs.frame.factors.0.basis", lambda a: a[:, :0], "0 directions of 8"),
    ("_graphs.frame.factors.0.basis", lambda a: np.hstack([a] * 8), "directions of 8"),
]


@pytest.fixture(scope="module")
def saved_shared(tmp_path_factory):
    """A model of graphs that share points."""
    graphs = GraphBatch.concatenate([kind(n) for n in (5, 5, 9, 14) for kind in (complete, star)])
    path = tmp_path_factory.mktemp("models") / "model.retgk"
    save_model(RetGK(walks=Walks(8), structure=Laplacian(1.0), tol=1e-2).fit(graphs), path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("fixture", "name", "change", "about"),
    [
        *(("saved", *case) for case in FORGED_ARRAYS),
        *(("saved_shared", *case) for case in FORGED_SHARED),
    ],
)
def test_forged_arrays(fixture, name, change, about, request, tmp_path):
    data = request.getfixturevalue(fixture)
    assert_refused(with_array(data, f"engine_.{name}", change), about, tmp_path)


def kernel_in(document, **kernel):
    engine_of(document)["kernels"][0] = kernel


def loop_in(document):
    document["model"]["fitted"]["walks_"]["self_loop"] = 10**300


@pytest.mark.parametrize(
    ("change", "about"),
    [
        (lambda d: d.pop("model"), "damaged"),
        (lambda d: d["model"].update({"class": "os.system"}), "'os.system'"),
        (lambda d: d["model"]["parameters"].update(new=1), "'new'"),
        (lambda d: d["model"]["parameters"].update(n_jobs=10**6), ("n_jobs", "1000000")),
        (lambda d: d["model"]["fitted"].pop("graph_kernel_"), "'graph_kernel_'"),
        (lambda d: d["model"]["fitted"].update(more=1), "'more'"),
        (lambda d: engine_of(d).update(n_attributes=10**9), "n_attributes"),
        (lambda d: engine_of(d).update({"class": "Laplacian"}), "Laplacian"),
        (lambda d: engine_of(d).update(more=1), ("ExactEngine", "'more'")),
        (lambda d: d["model"].update(output="evil"), "'evil'"),
        (lambda d: kernel_in(d, **{"class": "Laplacian", "gamma": "median"}), "gamma"),
        (lambda d: kernel_in(d, **{"class": "Laplacian", "gamma": -1.0}), "gamma"),
        (
            lambda d: kernel_in(
                d, **{"class": "Polynomial", "gamma": 1.0, "degree": 10**9, "coef0": 1.0}
            ),
            "degree",
        ),
        (lambda d: kernel_in(d, **{"class": "Delta"}), "kernels"),
        (loop_in, "self_loop"),
    ],
)
def test_forged_documents(change, about, saved, tmp_path):
    assert_refused(with_document(saved, change), about, tmp_path)


def engine_of(document):
    return document["model"]["fitted"]["engine_"]


def test_huge_and_deep_json(saved, tmp_path):
    for header in (b"[" * (1 << 24) + b" ", b'{"a":' * 100_000):
        data = len(header).to_bytes(8, "little") + header + saved
        assert_refused(data, "damaged", tmp_path)


@pytest.mark.parametrize("entry", [{"shape": [2**40]}, {"data_offsets": [0, 8]}, {"dtype": "F999"}])
def test_places_that_arrays_cannot_have(entry, saved, tmp_path):
    """Arrays that share bytes would take more memory than the file has."""
    end = 8 + int.from_bytes(saved[:8], "little")
    header = json.loads(saved[8:end])
    header["engine_._norms"] |= entry
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + saved[end:]
    assert_refused(data, "damaged", tmp_path)


def test_embedding_of_other_width(tmp_path):
    path = tmp_path / "model.retgk"
    save_model(
        RetGKEmbedding(walks=Walks(4), n_components=6, random_state=0).fit(decorated_graphs()[0]),
        path,
    )
    data = with_document(path.read_bytes(), lambda d: engine_of(d).update(n_components=7))
    assert_refused(data, "frequencies is of shape (7, 3), not (7, 4)", tmp_path)


def reading_with(**changes):
    reading = {"class": "Reading", "kind": "molecules", "form": {"dict": []}, "labels": True}
    reading |= {"attributes": True, "edge_labels": True, "label_columns": {"tuple": []}}
    return reading | {"options": {"dict": [["bond_orders", True]]}} | changes


def with_reading(saved, value):
    def change(document):
        document["model"]["fitted"]["intake_"]["reading"] = value

    return with_document(saved, change)


@pytest.mark.parametrize(
    ("value", "about"),
    [
        ("molecules", "reading"),
        ({"class": "Reading"}, "Reading"),
        (reading_with(kind="pickles"), "'pickles'"),
        (reading_with(kind={"class": "Laplacian", "gamma": 1.0}), "kind"),
        (reading_with(options={"dict": [["label", "x"]]}), "options"),
        (reading_with(options={"dict": [["attributes", ["mass"] * 9]]}), "attributes"),
    ],
)
def test_forged_reading(value, about, saved, tmp_path):
    path = tmp_path / "good.retgk"
    path.write_bytes(with_reading(saved, reading_with()))
    assert load_model(path).reading_.options == {"bond_orders": True}
    assert_refused(with_reading(saved, value), about, tmp_path)


def test_forged_imputation(tmp_path):
    graphs = decorated_graphs()[0][:6]
    path = tmp_path / "model.retgk"
    save_model(RetGK(walks=Walks(4), random_state=0, impute_attributes="mean").fit(graphs), path)
    saved = path.read_bytes()
    for values in (np.zeros(2), np.zeros((3, 1)), np.array([1.0, np.nan, 2.0])):
        name = "intake_.imputation"
        data = with_array(saved, name, lambda _, forged=values: forged)
        assert_refused(data, "mputation", tmp_path)

    def change(document):
        document["model"]["fitted"]["intake_"]["is_weighted"] = 3

    assert_refused(with_document(saved, change), "is_weighted", tmp_path)
