"""`import retgk` is quick because it imports next to nothing; see benchmarks/bench_import.py."""

import subprocess
import sys

import pytest

HEAVY = {
    "dask",
    "igraph",
    "joblib",
    "matplotlib",
    "networkx",
    "numpy",
    "pooch",
    "pyarrow",
    "rdkit",
    "rich",
    "scipy",
    "sklearn",
    "torch",
}


def top_level_modules_after(statement: str) -> set[str]:
    """What a fresh interpreter has imported after a statement."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.splitlines()}


def test_import_brings_in_nothing_heavy() -> None:
    modules = top_level_modules_after("import retgk")
    assert "retgk" in modules
    assert modules & HEAVY == set()


@pytest.mark.parametrize("name", ["GraphBatch", "InvalidInputError"])
def test_core_names_bring_in_numpy_and_scipy_alone(name: str) -> None:
    modules = top_level_modules_after(f"from retgk import {name}")
    assert modules & HEAVY <= {"numpy", "scipy"}


def test_every_public_name_can_be_imported() -> None:
    import retgk

    assert set(retgk.__all__) <= set(dir(retgk))
    for name in retgk.__all__:
        assert getattr(retgk, name) is not None


def test_unknown_name() -> None:
    import retgk

    with pytest.raises(AttributeError, match="module 'retgk' has no attribute 'GraphBitch'"):
        _ = retgk.GraphBitch  # type: ignore[attr-defined]
