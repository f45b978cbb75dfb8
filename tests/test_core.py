"""The compiled module: its sources, and its levels of instructions."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import retgk
from retgk import _core
from tests.core_levels import LEVELS, run_on_level
from tests.thread_checks import names_of_other_bits

SOURCES = Path(retgk.__file__).parent / "_core"


@pytest.mark.skipif(not SOURCES.exists(), reason="installed without sources")
def test_the_module_is_built_from_these_sources() -> None:
    """Caches and records are kept by this digest."""
    parts = sorted([*SOURCES.glob("*.[ch]pp"), SOURCES / "constants.py"])
    digests = "".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in parts)
    assert hashlib.sha256(digests.encode()).hexdigest() == _core.SOURCE_DIGEST, "run make install"


@pytest.mark.parametrize("level", LEVELS)
def test_level_can_be_asked_for(level: str) -> None:
    run_on_level(level, f"from retgk import _core; assert _core.LEVEL == {level!r}")


def test_unknown_level() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import retgk._core"],
        env=os.environ | {"RETGK_CORE_LEVEL": "v9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search("ImportError: RETGK_CORE_LEVEL=v9 is not a level of this machine", done.stderr)


def test_loops_check_the_shapes_of_arrays() -> None:
    with pytest.raises((TypeError, ValueError), match=r"incompatible function arguments"):
        _core.spread_to_twins("no array")


def test_threads_that_share_a_model_get_the_same_bits() -> None:
    assert names_of_other_bits(20) == []
