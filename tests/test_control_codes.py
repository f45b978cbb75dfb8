"""Names in files may come from strangers: what they hold does not reach the terminal as codes."""

import ast
import csv
import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

import retgk.cli
from retgk.cli.command import visible
from tests.cli_calls import invoke
from tests.cli_program import PROGRAM, TIMEOUT_SECONDS, environment, run_program

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\b\u202egnp\u2066x"
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Names, targets, labels and files, all of which try to take the terminal over."""
    pytest.importorskip("rdkit")
    rows = [("smiles", "y"), *[("CCO", f"a{ATTACK}"), ("CCN", "b")] * 8]
    with (tmp_path / "mol.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    (tmp_path / "mol.smi").write_text(f"CCO first{ATTACK}\nCCN second\nCCC third\n")
    (tmp_path / "bad.smi").write_text(f"C{ATTACK}( x\n")
    (tmp_path / f"ring{ATTACK}.edges").write_text("0 1\n1 2\n2 0\n")
    (tmp_path / f"names{ATTACK}.edges").write_text(f"a{ATTACK} b\nb c{ATTACK} d e\n")
    (tmp_path / "words.edges").write_text(f"a{ATTACK}\n")
    (tmp_path / "targets.txt").write_text(f"1\n{ATTACK}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


LINES = [
    ["info", "mol.csv", "--target-column", "y"],
    ["info", f"ring{ATTACK}.edges"],
    ["info", f"missing{ATTACK}"],
    ["info", "bad.smi"],
    ["info", "bad.smi", "--debug"],
    ["info", "words.edges"],
    ["info", "mol.smi", "--targets", "targets.txt"],
    ["info", "mol.csv", "--target-column", ATTACK],
    ["similar", "mol.smi", "--index", "0"],
    ["cv", "mol.csv", "--target-column", "y", "--folds", "3", "--C", "1", "--p", "1"],
    ["fit", "mol.csv", "--target-column", "y", "--C", "1", "-o", f"m{ATTACK}.retgk"],
    ["embed", "mol.smi", "-D", "2", "-o", f"{ATTACK}.csv"],
    ["embed", "mol.smi", "-D", "2", "-o", f"{ATTACK}.what"],
    ["convert", "mol.smi", f"folder{ATTACK}", "--to", "graphml"],
    ["info", "mol.csv", "--target-column", "y", "--json"],
    ["predict", f"missing{ATTACK}.retgk", "mol.smi"],
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: "-".join(line[:1] + line[2:3]))
@pytest.mark.usefixtures("folder")
def test_nothing_printed_holds_control_codes(line: list[str]) -> None:
    result = invoke(*line)
    assert result.exit_code in (0, 1, 2)
    assert result.output.strip()
    assert not HIDDEN.findall(result.output), ascii(result.output)


@pytest.mark.parametrize("option", [f"--{ATTACK}", f"--format={ATTACK}"])
def test_options_that_are_not_understood(folder: Path, option: str) -> None:
    done = run_program("info", "mol.smi", option, folder=folder)
    assert done.returncode == 2
    assert r"\x1b]0;owned" in done.stderr.decode()
    assert not HIDDEN.findall(done.stderr.decode())


@pytest.mark.usefixtures("folder")
def test_names_are_shown_with_their_codes_spelled_out() -> None:
    shown = invoke("similar", "mol.smi", "--index", 1).stdout
    assert r"first\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\x08\u202egnp\u2066x" in shown


def test_files_and_pipes_get_names_as_they_are(folder: Path) -> None:
    name = f"first{ATTACK}"
    assert invoke("embed", "mol.smi", "-D", 2, "-o", "v.csv").exit_code == 0
    with (folder / "v.csv").open(newline="") as stream:
        assert next(csv.DictReader(stream))["name"] == name
    assert invoke("embed", "mol.smi", "-D", 2, "-o", "v.json").exit_code == 0
    assert json.loads((folder / "v.json").read_text())["name"][0] == name
    piped = invoke("embed", "mol.smi", "-D", 2, "-o", "-").stdout_bytes
    assert piped == (folder / "v.csv").read_bytes()
    found = json.loads(invoke("similar", "mol.smi", "--index", 1, "--json").stdout)["name"]
    assert name in found


def test_a_table_on_a_terminal_has_no_control_codes(folder: Path) -> None:
    """The program on a terminal of its own, which adds carriage returns at ends of lines."""
    main_end, program_end = pty.openpty()
    command = [*PROGRAM, "embed", "mol.smi", "-D", "2", "-o", "-"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        stdout=program_end,
        stderr=subprocess.PIPE,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    os.close(program_end)
    shown = b""
    try:
        while part := os.read(main_end, 1 << 16):
            shown += part
    except OSError:  # how a terminal that was closed ends
        pass
    os.close(main_end)
    text = shown.decode().replace("\r\n", "\n")
    assert text.startswith("graph,name,")
    assert r"first\x1b]0;owned" in text
    assert not HIDDEN.findall(text + done.stderr.decode())


def test_visible_leaves_other_text_alone() -> None:
    text = "Grüße, 猫, עברית, a\\b 'c'"
    assert visible(text) == text
    assert visible("a\nb\tc\ud800") == r"a\nb\tc\ud800"


def test_only_one_module_of_the_commands_prints() -> None:
    """Whatever is printed goes through `visible`."""
    wrong = []
    for path in sorted(Path(retgk.cli.__path__[0]).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and path.name != "command.py":
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if (
                    name in ("echo", "secho", "print_exc")
                    or getattr(node.func, "id", "") == "print"
                ):
                    wrong.append(f"{path.name}:{node.lineno}")
    assert wrong == []
