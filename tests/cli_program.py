"""The program as users run it: a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

_SCRIPT = Path(sys.executable).with_name("retgk")
PROGRAM = [str(_SCRIPT)] if _SCRIPT.exists() else [sys.executable, "-m", "retgk"]
TIMEOUT_SECONDS = 600  # a machine where nothing is compiled yet needs minutes


def environment(data_home: Path | None = None, **more: str) -> dict[str, str]:
    """Variables of this process, with a data home or none."""
    inherited = {name: text for name, text in os.environ.items() if name != "RETGK_DATA_HOME"}
    home = {} if data_home is None else {"RETGK_DATA_HOME": str(data_home)}
    return {**inherited, "TERM": "dumb", "COLUMNS": "100", **home, **more}


def run_program(
    *arguments: object,
    folder: Path | None = None,
    data_home: Path | None = None,
    stdin: bytes = b"",
    **variables: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run the program to its end."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=folder,
        env=environment(data_home, **variables),
        input=stdin,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def start_program(
    *arguments: object, folder: Path, data_home: Path | None = None
) -> subprocess.Popen[str]:
    """Start the program; its notes can be read while it works."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        cwd=folder,
        env=environment(data_home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(done: subprocess.CompletedProcess[bytes]) -> str:
    """Standard output of a run that went well."""
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def assert_fails_with_one_line(
    done: subprocess.CompletedProcess[bytes], message: str, code: int = 1
) -> None:
    """One line on standard error that says what is wrong, nothing else, and the exit code."""
    lines = done.stderr.decode().splitlines()
    assert done.returncode == code, lines
    assert len(lines) == 1, lines
    assert lines[0].startswith("retgk: "), lines
    assert message in lines[0], lines
    assert done.stdout == b""
