"""What is fuzzed: how the bytes become files, how they are read, and how they are mutated."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retgk import load_model, read_graphs, return_probabilities
from retgk.cli.inputs import read_collection
from retgk.cli.options import Common, Reading
from retgk.datasets import load_tudataset
from retgk.io import write_parquet
from retgk.io.cache import load_cached
from retgk.io.formats import formats
from retgk.kernels import refined_labels, write_mean_embedding_gram
from tests.fuzz.mutations import (
    BLIND,
    damage_cache,
    damage_grams,
    damage_model,
    forge_model,
    mutate_directory,
    mutate_files,
    mutate_gzip,
    mutate_parquet,
    mutate_plain,
    mutate_zip,
    recompressed,
)
from tests.fuzz.seed_files import CACHE_MARK, data_set, gram_graphs, gram_kernel, small_blocks
from tests.model_zoo import tiny_graphs

MOST_NODES = 2000


@dataclass(frozen=True)
class Target:
    """
    One reader of files.

    `damages` must give the honest result or an error, as the format has checksums; what `changes`
    give may be read as anything. Readers of libraries may crash, or take more time and memory, as
    SECURITY.md says; `isolated=True` makes an error of that.
    """

    name: str
    read: Callable[[bytes, Path], Any]
    changes: tuple[Callable[..., bytes], ...]
    damages: tuple[Callable[..., bytes], ...] = ()
    by_library: bool = False


def digest_of(*parts: Any) -> str:
    """Fingerprint of arrays and texts."""
    digest = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part) if isinstance(part, np.ndarray) else None
        plain = array is not None and array.dtype != object
        digest.update(array.tobytes() if plain else repr(part).encode())
    return digest.hexdigest()


def digest_of_set(dataset: Any) -> str:
    """Fingerprint of a data set, after a use that would walk out of arrays that are wrong."""
    graphs = dataset.graphs
    if graphs.n_nodes <= MOST_NODES:
        return_probabilities(graphs, 3)
        refined_labels(graphs, 2)
    return digest_of(
        graphs.node_ptr,
        graphs.indptr,
        graphs.indices,
        graphs.weights,
        graphs.labels if graphs.has_labels else None,
        graphs.label_names,
        graphs.attributes,
        dataset.targets,
        graphs.edge_labels if graphs.has_edge_labels else None,
        graphs.edge_label_names,
    )


def read_file(name: str, **options: Any) -> Callable[[bytes, Path], str]:
    """Make a reader of one file of this name."""

    def read(data: bytes, folder: Path) -> str:
        path = folder / name
        path.write_bytes(data)
        return digest_of_set(read_graphs(path, **options))

    return read


def read_tu_zip(data: bytes, folder: Path) -> str:
    (folder / "SEED.zip").write_bytes(data)
    load_tudataset("SEED", folder, download=False, cache=False)
    return digest_of_set(read_graphs(folder / "SEED.zip", symmetrize=True))


def read_tu_folder(data: bytes, folder: Path) -> str:
    inner = folder / "SEED"
    inner.mkdir()
    for kind, text in json.loads(data).items():
        content = text.encode("utf-8", "surrogateescape")
        (inner / f"SEED_{kind}.txt").write_bytes(content)
    return digest_of_set(read_graphs(inner, format="tu"))


def read_targets(data: bytes, folder: Path) -> str:
    source, targets = folder / "graphs.parquet", folder / "targets.txt"
    write_parquet(data_set(), source)
    targets.write_bytes(data)
    dataset = read_collection(str(source), Reading(targets=targets), Common(quiet=True))
    return digest_of_set(dataset)


def read_target_table(data: bytes, folder: Path) -> str:
    matrices, targets = folder / "matrices", folder / "targets.csv"
    matrices.mkdir()
    for name in "abc":
        np.save(matrices / f"{name}.npy", np.ones((2, 2)))
    targets.write_bytes(data)
    return digest_of_set(read_graphs(matrices, targets=targets, target_column="y"))


def read_model(data: bytes, folder: Path) -> str:
    path = folder / "model.retgk"
    path.write_bytes(data)
    model = load_model(path)
    names = ("predict", "decision_function", "transform")
    return digest_of(*(getattr(model, n)(tiny_graphs()) for n in names if hasattr(model, n)))


def read_cache(data: bytes, folder: Path) -> str | None:
    """Read a parsed copy; None stands for one that is refused."""
    path = folder / "copy.safetensors"
    path.write_bytes(data)
    dataset = load_cached(path, CACHE_MARK)
    return None if dataset is None else digest_of_set(dataset)


def finish_gram(data: bytes, folder: Path) -> str:
    """Go on with an unfinished matrix."""
    for name, content in json.loads(data).items():
        (folder / name).write_bytes(bytes.fromhex(content))
    with small_blocks():
        path = folder / "gram.npy"
        matrix = write_mean_embedding_gram(path, gram_graphs(), kernel=gram_kernel())
    return digest_of(np.array(matrix))


BYTES = tuple(BLIND)
TEXT = (mutate_plain, mutate_plain, mutate_plain, recompressed)
TARGETS = (
    Target("tu-zip", read_tu_zip, (mutate_zip, mutate_directory)),
    Target("tu-stored", read_tu_zip, (mutate_zip, mutate_directory)),
    Target("tu-folder", read_tu_folder, (mutate_files,)),
    Target("parquet", read_file("x.parquet"), (mutate_parquet, *BLIND), by_library=True),
    Target("parquet-foreign", read_file("x.parquet"), (mutate_parquet, *BLIND), by_library=True),
    Target(
        "graphml",
        read_file(
            "x.graphml",
            label="label",
            attributes=["attribute_0", "attribute_1"],
            edge_label="label",
        ),
        TEXT,
    ),
    Target(
        "graphml-gz", read_file("x.graphml.gz", label="label", edge_label="label"), (mutate_gzip,)
    ),
    Target("edges", read_file("x.edges", weight=3), TEXT),
    Target("edges-gz", read_file("x.edges.gz"), (mutate_gzip,)),
    Target("smiles", read_file("x.smi"), TEXT),
    Target("smiles-gz", read_file("x.smi.gz", skip_invalid=True), (mutate_gzip,)),
    Target("table", read_file("x.csv", target_column="y", bond_types=True), TEXT),
    Target("table-gz", read_file("x.csv.gz", target_column="y"), (mutate_gzip,)),
    Target("guessed", read_file("x"), (mutate_gzip, recompressed)),
    Target("targets", read_targets, TEXT),
    Target("targets-table", read_target_table, TEXT),
    Target("json", read_file("x.json"), TEXT),
    Target(
        "json-lines",
        read_file("x.jsonl", label=["kind"], attributes="age", edge_label="bond"),
        TEXT,
    ),
    Target("json-gz", read_file("x.json.gz"), (mutate_gzip,)),
    Target("npy", read_file("x.npy"), BYTES, by_library=True),
    Target("npz", read_file("x.npz"), (mutate_zip, mutate_directory, *BLIND), by_library=True),
    Target("npz-sparse", read_file("x.npz"), (mutate_zip, *BLIND), by_library=True),
    Target("mat", read_file("x.mat"), BYTES, by_library=True),
    Target("mat-sparse", read_file("x.mat"), BYTES, by_library=True),
    Target("mat-4", read_file("x.mat"), BYTES, by_library=True),
    Target("matrix-text", read_file("x.csv"), TEXT),
    Target("model", read_model, (forge_model,), (damage_model, *BLIND)),
    Target("cache", read_cache, (forge_model,), (damage_cache,)),
    Target("gram", finish_gram, (), (damage_grams,)),
)
_WITH_OWN = {"edges", "graphml", "json", "matrices", "parquet", "smiles", "tu"}
TARGETS += tuple(  # a new format is fuzzed by being defined
    Target(
        name,
        read_file(f"x{form.endings[0]}"),
        TEXT if form.endings[0] not in form.binary else BYTES,
    )
    for name, form in formats().items()
    if name not in _WITH_OWN
)


def empty_folder(folder: Path) -> Path:
    """Make the folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
