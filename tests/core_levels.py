"""Programs that run on every level of instructions that this machine has, in a process each."""

import os
import subprocess
import sys

from retgk import _core

__all__ = ["LEVELS", "run_on_level"]

_ALL = ["base", "v3", "v4"]
# the level of this process is the highest, unless it was asked for
LEVELS = _ALL[: _ALL.index(_core.LEVEL) + 1]


def run_on_level(level, program):
    """Run a program; its asserts are checked whatever the options of this process are."""
    options = {"RETGK_CORE_LEVEL": level, "PYTHONWARNINGS": "", "PYTHONOPTIMIZE": ""}
    command = [sys.executable, "-c", program]
    subprocess.run(command, env=os.environ | options, check=True, timeout=120)
