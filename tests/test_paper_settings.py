"""The files of settings hold what the paper and the authors' code state."""

import gzip
import math
from functools import partial

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC
from typer.testing import CliRunner

from reproduction.__main__ import paper_app
from reproduction.frankenstein import ATOMS, REBUILT, digit_images, rebuilt_frankenstein
from reproduction.graphs import Sources, find_copies, load_paper_set
from reproduction.protocols import Option, SplitFold, chosen_outcome, nested_outcome
from reproduction.runner import Runner
from reproduction.tables import (
    chosen_cells,
    figure_cells,
    published_accuracies,
    published_methods,
    published_times,
    read_settings,
    table_cells,
)
from retgk import GraphBatch, GraphDataset, InvalidInputError, as_batch
from retgk.datasets import load_tudataset, save_tudataset
from retgk.kernels import ExponentialGraphKernel, PolynomialGraphKernel
from retgk.kernels.graph import fit_graph_kernel
from retgk.learning.folds import stratified_folds
from retgk.learning.paper_protocol import (
    accuracies_over_c,
    paper_folds,
    paper_outcome,
)
from tests.errors import fails
from tests.paper_samples import cell_of


def settings_of(table, method):
    return {cell.dataset: cell.settings for cell in table_cells(table) if cell.method == method}


def test_every_published_cell_is_there():
    for table in (1, 2, 3, 4):
        cells = {(cell.dataset, cell.method) for cell in table_cells(table)}
        assert set(published_accuracies(table)) <= cells


def test_every_column_has_settings():
    for table in (1, 2, 3, 4):
        assert set(published_methods(table)) <= read_settings(f"table_{table}")["methods"].keys()


@pytest.mark.parametrize("table", [1, 2, 3, 4])
def test_what_all_sets_share(table):
    for settings in settings_of(table, "RetGK_I").values():
        assert settings["structure_gamma"] == "median"
    for name, settings in settings_of(table, "RetGK_II").items():
        assert settings["n_steps"] == 50
        assert settings["p"] == settings["median_scale"] == 1
        widths = [100, 100] if table == 4 else [200, 500 if name == REBUILT else 200]
        assert settings["n_components"] == widths, name
        assert (settings["feature_map"], settings["frequencies"]) == ("tensor", "plain")
    uses = {
        (cell.settings["uses_labels"], cell.settings["uses_attributes"])
        for cell in table_cells(table)
        if cell.method not in ("WL", "SP")
    }
    assert uses == {(table in (2, 4), table in (3, 4))}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (3, {"ENZYMES": (1, 0.1), "SYNTHETICnew": (100, 1), "PROTEINS": (10, 1),
             "Synthie": (10, 0.1), REBUILT: (10, 0.1)}),
        (4, {"ENZYMES": (1, 0.1), "PROTEINS": (10, 1), "BZR": (10, 1), "COX2": (10, 0.1),
             "DHFR": (10, 0.1)}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["RetGK_II", "RetGK_II joint"])
def test_scales_of_frequencies_with_attributes(table, expected, method):
    found = settings_of(table, method)
    assert {
        name: (s["structure_scale"], s["attribute_scale"]) for name, s in found.items()
    } == expected


def test_published_times():
    assert published_times()[1, "RetGK_I"] == "48h14m"
    assert published_times()[2, "SP"] == ">24h"


def test_records_of_the_incomplete_synthie_are_of_no_cell():
    for method in ("RetGK_I", "RetGK_II"):
        settings = settings_of(3, method)
        assert settings["Synthie"]["n_nodes"] == 38_000
        assert "n_nodes" not in settings["ENZYMES"]
    points = [cell for cell in figure_cells() if cell.dataset == "Synthie"]
    assert {cell.settings["n_nodes"] for cell in points} == {38_000}


def test_figure_shares_cells_with_the_tables():
    """The point of a curve at the value of the table is not computed twice."""
    of_tables = {cell.key(0) for table in (1, 2, 3, 4) for cell in table_cells(table)}
    shared = {cell.place for cell in figure_cells() if cell.key(0) in of_tables}
    assert shared == {f"figure 2: {name}" for name in ("S=50", "D0=100", "D0=200", "Dc=100",
                                                       "Dc=200")}  # fmt: skip
    with_widths = {cell.dataset for cell in figure_cells() if "Dc" in cell.place}
    assert with_widths == {"SYNTHETICnew", "Synthie", "ENZYMES", "PROTEINS"}


def test_keys_differ_by_everything_that_matters():
    cells = table_cells(2) + table_cells(2, deduplicate=True) + table_cells(2, "nested")
    keys = {cell.key(repetition) for cell in cells for repetition in range(3)}
    assert len(keys) == 3 * len(cells)


def test_choosing_cells():
    assert {cell.place for cell in chosen_cells(tables=[2], sets=["MUTAG"])} == {"table 2"}
    assert {cell.protocol for cell in chosen_cells(protocols=["nested"])} == {"nested"}
    both = chosen_cells()
    assert any(cell.place.startswith("figure") for cell in both)
    fails(lambda: chosen_cells(sets=["MUTTAG"]), about="'MUTTAG'")
    fails(lambda: chosen_cells(methods=["GIN"]), about=("method 'GIN'", "RetGK_I"))
    fails(lambda: chosen_cells(tables=[5]), about=("5", "1", "2", "3"))
    fails(lambda: chosen_cells(figures=[3]), about=("3", "1", "2"))
    assert chosen_cells(figures=[1]) == []


@pytest.mark.parametrize("options", [{"protocols": ["nested"]}, {"deduplicate": True}])
def test_figures_are_not_dropped_silently(options):
    for figure in (1, 2):
        fails(partial(chosen_cells, figures=[figure], tables=[2], **options), about="figures")
    both = chosen_cells(figures=[2], tables=[2], protocols=["paper", "nested"])
    assert {cell.protocol for cell in both if cell.place.startswith("figure")} == {"paper"}


# Folds and choices of both protocols, against plain statements of their rules

RULES = {"folds": 10, "inner_folds": 3, "c": [0.1, 1.0, 10.0, 100.0, 1000.0]}


def points_and_targets(n_points=60, n_classes=3, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    targets = np.arange(n_points) % n_classes
    points = rng.standard_normal((n_points, 4)) * noise
    points[np.arange(n_points), targets] += 1
    return points, targets


def naive_paper_fold(order, fold):
    """The rule in words: turn the order by one fold size for each fold, cut at 80 % and 90 %."""
    n = len(order)
    fold_size = n - math.ceil(n * 9 / 10)
    turned = list(order)
    for _ in range(fold):
        turned = turned[fold_size:] + turned[:fold_size]
    first, second = math.ceil(n * 8 / 10), math.ceil(n * 9 / 10)
    return turned[:first], turned[first:second], turned[second:]


@given(st.integers(10, 300), st.integers(0, 100))
def test_paper_folds_follow_the_rule(n_graphs, seed):
    order = np.random.default_rng(seed).permutation(n_graphs).tolist()
    folds = paper_folds(n_graphs, seed)
    assert len(folds) == 10
    for number, fold in enumerate(folds):
        assert tuple(part.tolist() for part in fold) == naive_paper_fold(order, number)
        assert sorted(np.concatenate(fold)) == list(range(n_graphs))
    tested = np.concatenate([fold.test for fold in folds])
    assert len(tested) == len(set(tested)) == 10 * (n_graphs - math.ceil(0.9 * n_graphs))


@hypothesis.settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([0.2, 0.5, 1.0]))
def test_solutions_that_are_not_at_their_bound_are_not_computed_again(seed, noise):
    points, targets = points_and_targets(seed=seed, noise=noise)
    kernel = np.exp(-np.linalg.norm(points[:, None] - points, axis=2))
    train, test = np.arange(40), np.arange(40, 60)
    grid = RULES["c"]
    found = accuracies_over_c(
        (kernel[np.ix_(train, train)], targets[train]),
        (kernel[np.ix_(test, train)], targets[test]),
        grid,
    )
    plain = [
        SVC(C=c, kernel="precomputed")
        .fit(kernel[np.ix_(train, train)], targets[train])
        .score(kernel[np.ix_(test, train)], targets[test])
        for c in grid
    ]
    assert found.accuracies == pytest.approx(plain)
    assert found.n_unfinished == 0


def naive_paper_accuracy(kernel, targets, seed):
    accuracies, chosen = [], []
    for fold in paper_folds(len(targets), seed):
        best = None
        for c in RULES["c"]:
            machine = SVC(C=c, kernel="precomputed")
            machine.fit(kernel[np.ix_(fold.train, fold.train)], targets[fold.train])
            score = machine.score(
                kernel[np.ix_(fold.validation, fold.train)], targets[fold.validation]
            )
            if best is None or score >= best[0]:  # ties go to the larger C
                best = (score, c)
        both = np.concatenate([fold.train, fold.validation])
        machine = SVC(C=best[1], kernel="precomputed")
        machine.fit(kernel[np.ix_(both, both)], targets[both])
        accuracies.append(machine.score(kernel[np.ix_(fold.test, both)], targets[fold.test]))
        chosen.append(best[1])
    return accuracies, chosen


def test_paper_outcome_is_the_plain_statement():
    points, targets = points_and_targets(n_points=83)
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    kernel = np.exp(-distances / np.median(distances))  # the zeros of the diagonal included
    outcome = paper_outcome(points @ points.T, targets, ExponentialGraphKernel(), 5, RULES)
    accuracies, chosen = naive_paper_accuracy(kernel, targets, 5)
    assert [fold.accuracy for fold in outcome.folds] == pytest.approx(accuracies)
    assert [fold.c for fold in outcome.folds] == chosen
    assert len(set(chosen)) > 1
    record = outcome.as_record()
    assert record["n_test"] == [8] * 10
    assert record["choices"] == []


@pytest.mark.slow
def test_paper_outcome_with_a_choice():
    """The validation part chooses; with nothing to choose from, it is the protocol as it was."""
    points, targets = points_and_targets(n_points=83)
    products, kernel = points @ points.T, PolynomialGraphKernel()
    folds = [SplitFold.of(fold) for fold in paper_folds(len(targets), 5)]
    noise = np.random.default_rng(0).standard_normal((83, 4))
    options = [Option({"n_iter": 0}, noise @ noise.T), Option({"n_iter": 1}, products)]

    def accuracies(own):
        found = chosen_outcome(lambda _: own, targets, [kernel], folds, RULES["c"]).folds
        return [fold.accuracy for fold in found], [fold.choice for fold in found]

    plain = paper_outcome(products, targets, kernel, 5, RULES)
    assert accuracies(options[1:])[0] == [fold.accuracy for fold in plain.folds]
    both, choices = accuracies(options)
    assert {"n_iter": 1} in choices
    assert np.mean(both) > np.mean(accuracies(options[:1])[0])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_change_nothing(n_jobs):
    points, targets = points_and_targets()
    arguments = (points @ points.T, targets, ExponentialGraphKernel(), 0, RULES)
    assert paper_outcome(*arguments, n_jobs).folds == paper_outcome(*arguments, 2).folds


def nested(points, targets, kernels, options=1):
    products = points @ points.T
    choices = [Option({"scale": k}, products * (1.0 if k == 0 else 0.0)) for k in range(options)]
    return nested_outcome(lambda _: choices, targets, kernels, 0, RULES, 1)


@pytest.mark.parametrize("fold", [0, 4])
def test_nested_choices_do_not_see_the_test_graphs(monkeypatch, fold):
    """With the same folds, test graphs are put elsewhere and get other targets."""
    points, targets = points_and_targets(noise=0.8)
    folds = stratified_folds(targets, 0, 10)
    changed, others = points.copy(), targets.copy()
    train, test = folds[fold]
    changed[test] = 100 * changed[test][::-1]
    others[test] = (others[test] + 1) % 3
    seen, gammas = [], []

    def fixed_folds(some, seed, n_folds):
        return folds if len(some) == len(targets) else stratified_folds(some, seed, n_folds)

    def watched(kernel, products):
        fitted = fit_graph_kernel(kernel, products)
        gammas.append(fitted.gamma)
        return fitted

    def results(points, targets):
        options = [Option({"power": k}, (points @ points.T) ** k) for k in (1, 3)]
        kernels = [ExponentialGraphKernel(p=p) for p in (1, 2)]
        gammas.clear()
        folds = nested_outcome(
            lambda known: seen.append(known) or options, targets, kernels, 0, RULES, 1
        ).folds
        return [(fold.c, fold.choice) for fold in folds], np.reshape(gammas, (len(folds), -1))

    monkeypatch.setattr("reproduction.protocols.stratified_folds", fixed_folds)
    monkeypatch.setattr("reproduction.protocols.fit_graph_kernel", watched)
    chosen, fitted = results(points, targets)
    chosen_after, fitted_after = results(changed, others)
    assert chosen[fold] == chosen_after[fold]
    assert np.array_equal(fitted[fold], fitted_after[fold])
    assert np.array_equal(seen[fold], train)
    assert chosen != chosen_after  # where the changed graphs train, they matter
    assert not np.isclose(np.delete(fitted, fold, 0), np.delete(fitted_after, fold, 0)).any()


def test_nested_takes_the_option_that_separates():
    points, targets = points_and_targets(noise=0.3)
    outcome = nested(points, targets, [PolynomialGraphKernel()], options=2)
    assert {fold.choice["scale"] for fold in outcome.folds} == {0}
    assert np.mean(outcome.as_record()["accuracies"]) > 0.9


def test_median_is_over_the_graphs_that_are_given():
    products = np.diag([1.0, 1.0, 9.0])
    fitted = fit_graph_kernel(ExponentialGraphKernel(), products[:2, :2])
    assert fitted.gamma == pytest.approx(1 / np.sqrt(np.median([0, 2, 2, 0])))


# Copies of graphs are found, whatever the order of their nodes; other graphs stay


def random_graph(rng, n_nodes, n_labels=2, n_attributes=0):
    adjacency = np.triu(rng.random((n_nodes, n_nodes)) < 0.4, 1)
    edges = np.argwhere(adjacency)
    labels = rng.integers(n_labels, size=n_nodes).tolist()
    attributes = rng.standard_normal((n_nodes, n_attributes))
    return edges, labels, attributes


def batch_of(graph, order=None):
    edges, labels, attributes = graph
    n_nodes = len(labels)
    order = np.arange(n_nodes) if order is None else order
    place = np.argsort(order)
    return GraphBatch.from_edges(
        n_nodes,
        place[edges],
        labels=[labels[node] for node in order],
        attributes=attributes[order],
        symmetrize=True,
    )


@hypothesis.settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 12), st.sampled_from([0, 3]))
def test_renumbered_copies_are_found(seed, n_nodes, n_attributes):
    rng = np.random.default_rng(seed)
    graphs = [random_graph(rng, n_nodes, n_attributes=n_attributes) for _ in range(3)]
    firsts = [batch_of(graph) for graph in graphs]
    copies = [batch_of(graph, rng.permutation(n_nodes)) for graph in graphs]
    first = find_copies(GraphBatch.concatenate([*firsts, *copies])).first
    assert np.array_equal(first[3:], first[:3])
    assert first[0] == 0


def test_labels_and_attributes_tell_graphs_apart():
    rng = np.random.default_rng(0)
    edges, labels, attributes = random_graph(rng, 8, n_attributes=1)
    other_labels = [1 - label for label in labels]
    moved = attributes.copy()
    moved[0] += 1e-4
    batch = GraphBatch.concatenate(
        [
            batch_of((edges, labels, attributes)),
            batch_of((edges, other_labels, attributes)),
            batch_of((edges, labels, moved)),
        ]
    )
    assert find_copies(batch).first.tolist() == [0, 1, 2]
    plain = find_copies(batch.without_labels().without_attributes())
    assert plain.first.tolist() == [0, 0, 0]
    assert plain.kept.tolist() == [0]


def test_label_on_another_node_is_another_graph():
    """The same labels and the same structure, but the odd label in the middle or at the end."""
    edges, nothing = np.array([[0, 1], [1, 2]]), np.empty((3, 0))
    ends = batch_of((edges, [1, 0, 0], nothing))
    middle = batch_of((edges, [0, 1, 0], nothing))
    assert find_copies(GraphBatch.concatenate([ends, middle])).first.tolist() == [0, 1]


def test_counts_of_what_is_dropped():
    path = np.diag([1, 1], 1) + np.diag([1, 1], -1)
    edge = np.ones((2, 2)) - np.eye(2)
    copies = find_copies(as_batch([path, edge, path, path, edge]))
    assert copies.kept.tolist() == [0, 1]
    assert copies.n_dropped() == 3
    assert copies.n_of_other_target(np.array([0, 1, 0, 1, 1])) == 1


@pytest.mark.real_data
def test_copies_in_a_real_set(data_folder):
    data = load_paper_set(
        "MUTAG", Sources(data_folder), uses_labels=True, uses_attributes=False, deduplicate=True
    )
    assert data.as_record() == {
        "n_graphs": 175, "n_classes": 2, "n_dropped": 13, "n_dropped_of_other_target": 0,
    }  # fmt: skip


# FRANKENSTEIN rebuilt by its recipe, from a few molecules and a few images

N_IMAGES = 40
FREQUENCIES = {1: 30, 6: 100, 7: 41, 8: 42}
"""How often symbols occur; all others once or twice."""
IMAGES, LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"


def write_mnist(folder, pixels, digits):
    """Write files as MNIST has them."""
    folder.mkdir(exist_ok=True)
    for name, mark, items in ((IMAGES, 2051, pixels), (LABELS, 2049, digits)):
        head = np.array([mark, *items.shape], ">i4")
        (folder / name).write_bytes(gzip.compress(head.tobytes() + items.tobytes()))
    return folder


def made_images():
    """Four images of each digit; the last pixel that counts is 10 * digit + number."""
    rng = np.random.default_rng(0)
    digits = np.repeat(np.arange(10, dtype=np.uint8), N_IMAGES // 10)
    pixels = rng.integers(256, size=(N_IMAGES, 28, 28), dtype=np.uint8)
    pixels.reshape(N_IMAGES, -1)[:, 779] = 10 * digits + np.arange(N_IMAGES) % 4
    return pixels, digits


def made_atoms():
    """Rings of 20 atoms: four frequent symbols, six of two atoms, and three of one."""
    rare = dict.fromkeys(range(20, 26), 2) | dict.fromkeys(range(30, 33), 1)
    counts = FREQUENCIES | rare
    symbols = np.repeat(list(counts), list(counts.values()))
    more = [6] * (-len(symbols) % 20)  # fills the last ring
    symbols = np.random.default_rng(1).permutation([*symbols, *more])
    ring = np.stack([np.arange(20), (np.arange(20) + 1) % 20], axis=1)
    sizes = [20] * (len(symbols) // 20)
    edges = np.concatenate([ring + 20 * graph for graph in range(len(sizes))])
    graphs = GraphBatch.from_edges(sizes, edges, labels=symbols.tolist(), symmetrize=True)
    return GraphDataset(graphs, np.arange(len(sizes)) % 2, ATOMS), symbols


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    save_tudataset(made_atoms()[0], folder)
    return Sources(folder, write_mnist(folder / "mnist", *made_images()))


def test_recipe(sources):
    """Against the sentence of the recipe, atom by atom."""
    atoms, symbols = made_atoms()
    images = digit_images(sources.mnist)
    rebuilt = rebuilt_frankenstein(atoms, images, 3)
    by_frequency = [6, 8, 7, 1, *range(20, 26)]  # those that are equally frequent by number
    pixels = images.pixels[:, :780] / 255
    for symbol, row in zip(symbols, rebuilt.graphs.attributes, strict=True):
        if symbol not in by_frequency:
            assert not row.any()
            continue
        own = pixels[images.digits == by_frequency.index(symbol)]
        assert (own == row).all(axis=1).any()
    assert rebuilt.graphs.without_attributes() == atoms.graphs.without_labels()
    assert np.array_equal(rebuilt.targets, atoms.targets)
    assert "not those of the original" in rebuilt.description


def test_seed(sources):
    atoms, images = made_atoms()[0], digit_images(sources.mnist)
    one, same, other = (rebuilt_frankenstein(atoms, images, seed).graphs for seed in (0, 0, 1))
    assert one == same
    assert one != other


def test_folder_is_the_set_in_memory_byte_for_byte(sources, tmp_path):
    arguments = ["frankenstein", f"--data={sources.data_home}", f"--mnist={sources.mnist}"]
    contents = []
    for output in (tmp_path / "one", tmp_path / "two"):
        done = CliRunner().invoke(paper_app, [*arguments, "--seed=5", f"--output={output}"])
        assert done.exit_code == 0, done.output
        folder = output / f"{REBUILT}_5"
        assert done.stdout == f"{folder}\n"
        contents.append({path.name: path.read_bytes() for path in folder.iterdir()})
        assert [path.name for path in output.iterdir()] == [folder.name]
    assert contents[0] == contents[1]
    found = load_tudataset(f"{REBUILT}_5", tmp_path / "one", download=False, cache=False)
    loaded = load_paper_set(REBUILT, sources, uses_labels=False, uses_attributes=True, seed=5)
    assert found.graphs == loaded.graphs
    assert np.array_equal(found.targets, loaded.targets)
    again = CliRunner().invoke(paper_app, [*arguments, "--seed=5", f"--output={tmp_path / 'one'}"])
    assert again.exit_code == 1
    assert "is there already; remove it, or choose another seed" in again.stderr


def test_each_repetition_has_a_rebuild_of_its_own(sources, tmp_path):
    runner = Runner(sources, tmp_path)
    cell = cell_of(3, REBUILT, "RetGK_II")
    digests = [runner.load(cell, repetition).digest for repetition in (0, 1, 0)]
    assert digests[0] == digests[2] != digests[1]
    structure = cell_of(3, REBUILT, "WL")
    assert runner.load(structure, 0).digest == runner.load(structure, 1).digest


BAD = {
    "mark": (lambda head, body: (head + 1, body), ("is not a",)),
    "shape": (lambda head, body: (head * [1, 1, 2, 1], body), ("is not a",)),
    "count": (lambda head, body: (head * np.array([1, 2**20, 1, 1]), body), ("states",)),
    "short": (lambda head, body: (head, body[:-1]), ("40",)),
    "long": (lambda head, body: (head, body + b"0"), ("40",)),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_images(tmp_path, case):
    change, about = BAD[case]
    pixels, digits = made_images()
    write_mnist(tmp_path, pixels, digits)
    head, body = change(np.array([2051, *pixels.shape]), pixels.tobytes())
    content = np.asarray(head, ">i4").tobytes() + body
    (tmp_path / IMAGES).write_bytes(gzip.compress(content))
    fails(lambda: digit_images(tmp_path), about)


def test_damaged_and_missing_images(tmp_path):
    with pytest.raises(InvalidInputError, match=f"there is no .*{IMAGES}; give the folder"):
        digit_images(tmp_path)
    pixels, digits = made_images()
    write_mnist(tmp_path, pixels, digits)
    whole = (tmp_path / IMAGES).read_bytes()
    for content in (whole[:-50], b"not packed", whole[:50] + b"0" * 50 + whole[100:]):
        (tmp_path / IMAGES).write_bytes(content)
        fails(lambda: digit_images(tmp_path), about="is damaged")
    write_mnist(tmp_path, pixels, digits[:-1])
    fails(lambda: digit_images(tmp_path), about=("40", "39"))
    write_mnist(tmp_path, pixels, np.where(digits == 3, 4, digits).astype(np.uint8))
    fails(lambda: digit_images(tmp_path), about="9")


@pytest.mark.real_data
def test_real_molecules_have_the_ranks_of_the_recipe(data_folder):
    graphs = load_tudataset(ATOMS, data_folder, download=False).graphs
    assert graphs.n_nodes == 73_283
    counts = np.sort(np.bincount(graphs.labels))[::-1]
    assert len(np.unique(counts[:11])) == 11  # no ties, so that the rule for them does not matter
