"""Molecules from text to saved vectors in pieces: the same file as from all at once."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgk import InvalidInputError, RetGKEmbedding, from_smiles, iter_smiles, read_graphs
from retgk.cli import inputs as sources
from retgk.estimators.embedding import write_vectors
from retgk.io import molecules as smiles_strings
from retgk.io.molecules import LeftOutWarning, MoleculeStream, SmilesReading
from retgk.kernels.node import Laplacian
from tests.cli_calls import invoke

SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CN", "C[N+](=O)[O-]", "CS", "[Br]C", "BrCCl", "[H]F", "CC"]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"bond_orders": True, "attributes": ["charge", "hydrogens"]},
    {"bond_types": True, "add_hydrogens": True},
]


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smiles_strings, "CHUNK", 2)


def written(path: Path, smiles: list[str]) -> Path:
    text = "smiles,name\n" + "".join(f"{each},m{n}\n" for n, each in enumerate(smiles))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_pieces_are_the_whole(options: dict[str, Any], n_jobs: int | None) -> None:
    pieces = list(iter_smiles(iter(SMILES), n_jobs=n_jobs, **options))
    assert [len(piece) for piece in pieces] == [2] * 5
    whole = from_smiles(SMILES, **options)
    assert whole.concatenate(pieces) == whole
    assert {str(piece.reading) for piece in pieces} == {str(whole.reading)}
    assert from_smiles(SMILES, n_jobs=n_jobs, **options).reading == whole.reading


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_late_labels_change_no_bit_of_the_file(
    tmp_path: Path, options: dict[str, Any], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retgk.estimators.embedding._ROWS", 1)
    path = tmp_path / "vectors.npy"
    path.touch()
    stream, whole = (
        RetGKEmbedding(5, n_components=3, dtype=dtype, random_state=0) for _ in range(2)
    )
    shape = write_vectors(path, stream, iter_smiles(SMILES, **options))
    expected = whole.fit_transform(from_smiles(SMILES, **options))
    np.save(tmp_path / "expected.npy", expected)
    assert shape == expected.shape
    assert path.read_bytes() == (tmp_path / "expected.npy").read_bytes()
    assert stream.label_names_ == whole.label_names_
    np.testing.assert_array_equal(stream.transform(from_smiles(SMILES, **options)), expected)


def test_what_needs_all_nodes_is_no_stream(tmp_path: Path) -> None:
    for options in ({"scale_attributes": "standard"}, {"structure_kernel": Laplacian("median")}):
        with pytest.raises(InvalidInputError, match="no median, mean or deviation"):
            write_vectors(tmp_path / "none.npy", RetGKEmbedding(**options), iter_smiles(SMILES))


@pytest.mark.parametrize("name", ["molecules.csv", "molecules.csv.gz"])
def test_the_command_writes_the_same_file(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = written(tmp_path / name, [*SMILES, "C1CC"])
    outputs = [tmp_path / "stream.npy", tmp_path / "whole.npy"]
    for output, limit in zip(outputs, (0, 100), strict=True):
        monkeypatch.setattr(sources, "STREAMED", limit)
        refused = invoke("embed", table, "-D", "3", "-o", output)
        assert "graph 10: RDKit cannot read the SMILES 'C1CC'" in refused.stderr
        assert "--skip-invalid leaves such out" in refused.stderr
        assert not output.exists()
        done = invoke("embed", table, "-D", "3", "--skip-invalid", "-o", output)
        assert "left out 1 molecule RDKit cannot read: line 12" in done.stderr
        assert ("in pieces" in done.stderr) == (limit == 0)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_pieces_without_molecules(tmp_path: Path, n_jobs: int | None) -> None:
    table = written(tmp_path / "molecules.csv", ["C1CC", "hello", "CC", "CO", "C(", "CN", "CCC"])
    stream = MoleculeStream(table, SmilesReading(skip_invalid=True), None, n_jobs)
    with pytest.warns(LeftOutWarning, match="left out 3 molecules .* lines 2, 3, 6"):
        pieces = list(stream)
    assert [len(piece) for piece in pieces] == [2, 1, 1]
    with pytest.warns(LeftOutWarning, match="left out 3 molecules .* lines 2, 3, 6"):
        whole = read_graphs(table, skip_invalid=True, n_jobs=n_jobs)
    assert whole.rows is not None
    assert whole.rows.tolist() == [2, 3, 5, 6]
    assert whole.graphs.concatenate(pieces) == whole.graphs


def test_errors_of_lines_come_before_any_work(tmp_path: Path) -> None:
    table = written(tmp_path / "molecules.csv", ["C1CC", "CC", ""])
    with pytest.raises(InvalidInputError, match="line 4: the column 'smiles' is empty"):
        MoleculeStream(table, SmilesReading(), None, None)


def test_a_stream_may_be_longer_than_memory(tmp_path: Path) -> None:
    table = written(tmp_path / "molecules.csv", ["CC"] * 2_000)
    limit = 300_000
    with pytest.raises(InvalidInputError, match="bytes of memory, more than the 300000 allowed"):
        read_graphs(table, max_bytes=limit)
    assert MoleculeStream(table, SmilesReading(), limit, None).n_molecules == 2_000
    long = written(tmp_path / "long.csv", ["CC", "C" * 25_001])
    with pytest.raises(InvalidInputError, match="line 3: a molecule of 25001 letters"):
        MoleculeStream(long, SmilesReading(), None, None)
