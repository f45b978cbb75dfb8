"""Loads mutated model files, in a process of its own with little memory and no patience.

    python -m tests.model_file_worker folder seed

Prints one JSON object: how often each way of mutation had each outcome, the longest time, the
largest growth of memory, and every event that would mean that code of a file was run.
"""

import json
import resource
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from retgk import InvalidInputError, load_model
from retgk._runtime import fields
from tests.model_file_mutations import DAMAGED, FORGED
from tests.model_zoo import answers

ONE_GIB = 1 << 30
SECONDS_PER_FILE = 60
FORBIDDEN = (
    *("exec", "os.", "shutil.", "subprocess.", "socket.", "ctypes.", "pickle.", "marshal."),
    *("tempfile.", "code.", "import"),
)
EVENTS = []
IS_LOADING = []


def watch(event, arguments):
    """Note what loading numbers never does: running code, importing, starting, connecting."""
    if not IS_LOADING:
        return
    if event.startswith(FORBIDDEN):
        EVENTS.append(f"{event} {arguments!r:.100}")
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        EVENTS.append(f"open for writing {arguments!r:.100}")


def watched_load(path):
    """The model of a file; predictions are not watched."""
    IS_LOADING.append(True)
    try:
        return load_model(path)
    finally:
        IS_LOADING.clear()


def address_space():
    """Bytes of virtual memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def outcome(path, expected):
    """What came of a file; errors of loading must name it."""
    try:
        model = watched_load(path)
    except InvalidInputError as error:
        return "refused" if str(path) in str(error) else f"unclear: {error}"
    except Exception as error:  # every other kind is a failure of the test
        return f"{type(error).__name__}: {error}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # forged numbers may overflow: what comes is their doing
            found = answers(model)
    except InvalidInputError:
        return "refused by the model"
    same = len(found) == len(expected) and all(map(np.array_equal, found, expected))
    return "as before" if same else "another model"


def main(folder, seed):
    rng = np.random.default_rng(seed)
    originals = sorted(folder.glob("*.retgk"))
    expected = {path: answers(load_model(path)) for path in originals}
    mutated = folder / "mutated"
    for content in (b"", originals[0].read_bytes()[:-9]):  # whatever is imported for errors
        mutated.write_bytes(content)
        outcome(mutated, [])
    for known in fields._STORED.values():  # whose annotations, written as text, are evaluated once
        fields._hints(known)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + ONE_GIB, -1))
    sys.addaudithook(watch)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    counts = {}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for mutate, n_files in (DAMAGED | FORGED).items():
        found = Counter()
        for number in range(n_files):
            original = originals[number % len(originals)]
            mutated.write_bytes(mutate(original.read_bytes(), rng))
            signal.alarm(SECONDS_PER_FILE)
            found[outcome(mutated, expected[original])] += 1
            signal.alarm(0)
        counts[mutate.__name__] = dict(found)
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(json.dumps({"outcomes": counts, "growth": growth, "events": EVENTS}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
