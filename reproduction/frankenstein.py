"""
FRANKENSTEIN, rebuilt by its recipe: molecules whose atoms are images of handwritten digits.

The set of Orsini et al. (2015) has 780 attributes of nodes, whose file is not to be had. Its recipe
is: molecules without hydrogen; the most frequent symbol of an atom is the digit 0, the next one the
digit 1, and so on; an atom has the pixels of a random image of its digit from MNIST. A rebuilt set
has other images than the original, which is why it is called so wherever it stands.
"""

import gzip
import os
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.files import atomic_folder
from retgk.array_types import Codes, Floats, Ints
from retgk.datasets import load_tudataset
from retgk.errors import InvalidInputError
from retgk.io.dataset import GraphDataset
from retgk.io.tudataset import write_folder

ATOMS = "FRANKENSTEIN_atoms"
"""Name of the molecules, whose labels are symbols of atoms."""

REBUILT = "FRANKENSTEIN_rebuilt"
"""Name of the set in tables and records; a file of it has its seed in the name too."""

_N_DIGITS = 10
_SIDE = 28
_N_PIXELS = 780
"""Of the 784 of an image, as many as the original has attributes."""
_BRIGHTEST = 255.0
_MAX_IMAGES = 100_000  # MNIST has 60,000
_IMAGES_MARK, _LABELS_MARK = 2051, 2049  # first number of a file, which says what it holds
_IMAGES_FILE, _LABELS_FILE = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"


class DigitImages(NamedTuple):
    pixels: NDArray[np.uint8]
    digits: NDArray[np.uint8]


def digit_images(folder: str | os.PathLike[str]) -> DigitImages:
    """Training images of MNIST, from the two files of its distribution."""
    path = Path(folder) / _IMAGES_FILE
    labels_path = Path(folder) / _LABELS_FILE
    pixels = _read_bytes(path, _IMAGES_MARK, (_SIDE, _SIDE)).reshape(-1, _SIDE * _SIDE)
    digits = _read_bytes(labels_path, _LABELS_MARK, ())
    if len(digits) != len(pixels):
        raise InvalidInputError(
            f"{path} has {len(pixels)} images, but {labels_path} has {len(digits)} labels; take "
            "both from one distribution"
        )
    counts = np.bincount(digits, minlength=_N_DIGITS)
    if len(counts) > _N_DIGITS or not counts.all():
        raise InvalidInputError(
            f"{labels_path} must have every digit from 0 to 9 and nothing else; take MNIST's"
        )
    return DigitImages(pixels, digits)


def _read_bytes(path: Path, mark: int, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Bytes of a packed file of MNIST: a mark, the number of items, their shape, all of them."""
    n_head = 2 + len(shape)
    n_item = int(np.prod(shape, dtype=np.int64))
    try:
        with gzip.open(path) as file:
            head = np.frombuffer(file.read(4 * n_head), ">i4")
            if len(head) < n_head or head[0] != mark or tuple(head[2:]) != shape:
                raise InvalidInputError(f"{path} is not a file of MNIST; get it anew")
            n_items = int(head[1])
            if not 0 < n_items <= _MAX_IMAGES:
                raise InvalidInputError(
                    f"{path} states {n_items} items, between 1 and {_MAX_IMAGES} are read"
                )
            content = file.read(n_items * n_item + 1)
    except FileNotFoundError as error:
        raise InvalidInputError(
            f"there is no {path}; give the folder that has {_IMAGES_FILE} and {_LABELS_FILE}"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInputError(f"{path} is damaged: {error}; get it anew") from error
    if len(content) != n_items * n_item:
        raise InvalidInputError(f"{path} does not have the {n_items} items it states; get it anew")
    return np.frombuffer(content, np.uint8)


def rebuilt_frankenstein(atoms: GraphDataset, images: DigitImages, seed: int) -> GraphDataset:
    """Give every atom of molecules a random image of the digit that stands for its symbol."""
    graphs = atoms.graphs
    if not graphs.has_labels:
        raise InvalidInputError(
            f"{atoms.name} has no labels; FRANKENSTEIN is rebuilt from molecules whose labels are "
            "symbols of atoms"
        )
    chosen = _drawn_images(_digits_of_symbols(graphs.labels), images.digits, seed)
    attributes: Floats = np.zeros((graphs.n_nodes, _N_PIXELS))
    has_image = chosen >= 0
    attributes[has_image] = images.pixels[chosen[has_image], :_N_PIXELS]
    attributes /= _BRIGHTEST
    plain = graphs.without_labels().without_edge_labels().with_attributes(attributes)
    about = (
        "FRANKENSTEIN (Orsini et al. 2015) rebuilt by its recipe: attributes of an atom are pixels "
        f"of a random image of MNIST, drawn with seed {seed}. They are not those of the original."
    )
    return GraphDataset(plain, atoms.targets, f"{REBUILT}_{seed}", about)


def _digits_of_symbols(symbols: Codes) -> Ints:
    """Digit of every atom: the rank of its symbol by frequency; -1 from the tenth on."""
    ranks = np.argsort(np.argsort(-np.bincount(symbols), kind="stable"), kind="stable")
    digits = ranks[symbols]
    return np.where(digits < _N_DIGITS, digits, -1)


def _drawn_images(digits_of_atoms: Ints, digits_of_images: NDArray[np.uint8], seed: int) -> Ints:
    shares = np.random.default_rng(seed).random(len(digits_of_atoms))
    chosen = np.full(len(digits_of_atoms), -1)
    for digit in range(_N_DIGITS):
        own = np.flatnonzero(digits_of_images == digit)
        atoms = digits_of_atoms == digit
        chosen[atoms] = own[(shares[atoms] * len(own)).astype(np.int64)]
    return chosen


def write_rebuilt(
    data_home: str | os.PathLike[str] | None,
    mnist: str | os.PathLike[str],
    seed: int,
    output: str | os.PathLike[str],
) -> Path:
    """Write a rebuilt set as a folder in TUDataset form; it appears whole or not at all."""
    path = Path(output) / f"{REBUILT}_{seed}"
    if path.exists():
        raise InvalidInputError(f"{path} is there already; remove it, or choose another seed")
    atoms = load_tudataset(ATOMS, data_home, download=False)
    rebuilt = rebuilt_frankenstein(atoms, digit_images(mnist), seed)
    with atomic_folder(path) as unfinished:
        write_folder(rebuilt, unfinished)
    return path
