"""Two versions of retgk on one machine: a process each, with an interpreter and a retgk of its own.

The old version may need packages that the new one does not, and both have compiled parts. A program
that compares them runs itself with ``--work`` in both, and asks line by line, in JSON.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parent.parent


class Version:
    """A process that answers with the retgk of an interpreter."""

    def __init__(self, interpreter: Path, program: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [interpreter, "-m", program, folder, "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )

    def start(self, question: Any) -> None:
        print(json.dumps(question), file=self.process.stdin, flush=True)

    def answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a process has ended before its time; its error stands above")
        return json.loads(line)

    def ask(self, question: Any) -> Any:
        self.start(question)
        return self.answer()


def answer_lines(answer: Callable[[Any], Any]) -> None:
    """Answer every line of input; what is printed meanwhile goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)
