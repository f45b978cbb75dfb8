"""Some kills of the campaign in `benchmarks/kill_campaign.py`."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("name", ["embed", "convert graphml", "gram"])
def test_kills_leave_whole_files_or_none(name: str) -> None:
    """In a process of its own, which forks before it has threads."""
    command = [sys.executable, "-m", "benchmarks.kill_campaign", "--kills", "6", "--only", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong: 0" in done.stdout
