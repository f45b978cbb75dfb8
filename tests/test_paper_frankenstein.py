"""FRANKENSTEIN rebuilt by its recipe, from a few molecules and a few images."""

import gzip

import numpy as np
import pytest
from typer.testing import CliRunner

from reproduction.__main__ import paper_app
from reproduction.frankenstein import ATOMS, REBUILT, digit_images, rebuilt_frankenstein
from reproduction.graphs import Sources, load_paper_set
from reproduction.runner import Runner
from retgk import GraphBatch, GraphDataset, InvalidInputError, load_tudataset, save_tudataset

from .paper_records import cell_of

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


def test_every_image_of_a_digit_is_drawn(sources):
    atoms, symbols = made_atoms()
    rows = rebuilt_frankenstein(atoms, digit_images(sources.mnist), 0).graphs.attributes
    drawn = np.rint(255 * rows[symbols == 6, 779]).astype(int)  # carbon is the digit 0
    counts = np.bincount(drawn, minlength=4)
    assert len(counts) == 4
    assert counts.min() > 10


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
    "mark": (lambda head, body: (head + 1, body), "is not a file of MNIST"),
    "shape": (lambda head, body: (head * [1, 1, 2, 1], body), "is not a file of MNIST"),
    "count": (lambda head, body: (head * np.array([1, 2**20, 1, 1]), body), "states .* items"),
    "short": (lambda head, body: (head, body[:-1]), "does not have the 40 items"),
    "long": (lambda head, body: (head, body + b"0"), "does not have the 40 items"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_images(tmp_path, case):
    change, message = BAD[case]
    pixels, digits = made_images()
    write_mnist(tmp_path, pixels, digits)
    head, body = change(np.array([2051, *pixels.shape]), pixels.tobytes())
    content = np.asarray(head, ">i4").tobytes() + body
    (tmp_path / IMAGES).write_bytes(gzip.compress(content))
    with pytest.raises(InvalidInputError, match=message):
        digit_images(tmp_path)


def test_damaged_and_missing_images(tmp_path):
    with pytest.raises(InvalidInputError, match=f"there is no .*{IMAGES}; give the folder"):
        digit_images(tmp_path)
    pixels, digits = made_images()
    write_mnist(tmp_path, pixels, digits)
    whole = (tmp_path / IMAGES).read_bytes()
    for content in (whole[:-50], b"not packed", whole[:50] + b"0" * 50 + whole[100:]):
        (tmp_path / IMAGES).write_bytes(content)
        with pytest.raises(InvalidInputError, match="is damaged"):
            digit_images(tmp_path)
    write_mnist(tmp_path, pixels, digits[:-1])
    with pytest.raises(InvalidInputError, match=r"has 40 images, but .* has 39 labels"):
        digit_images(tmp_path)
    write_mnist(tmp_path, pixels, np.where(digits == 3, 4, digits).astype(np.uint8))
    with pytest.raises(InvalidInputError, match="every digit from 0 to 9"):
        digit_images(tmp_path)


def test_molecules_without_symbols(sources):
    atoms = made_atoms()[0]
    plain = GraphDataset(atoms.graphs.without_labels(), atoms.targets, ATOMS)
    with pytest.raises(InvalidInputError, match="FRANKENSTEIN_atoms has no labels"):
        rebuilt_frankenstein(plain, digit_images(sources.mnist), 0)


@pytest.mark.real_data
def test_real_molecules_have_the_ranks_of_the_recipe(data_folder):
    graphs = load_tudataset(ATOMS, data_folder, download=False).graphs
    assert graphs.n_nodes == 73_283
    counts = np.sort(np.bincount(graphs.labels))[::-1]
    assert len(np.unique(counts[:11])) == 11  # no ties, so that the rule for them does not matter
