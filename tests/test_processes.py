"""Work in other processes: order, errors, warnings, killed workers, and what is left behind."""

import os
import signal
import time
import warnings
from collections.abc import Iterator

import pytest
from joblib import Parallel, delayed

from retgk import InvalidInputError
from retgk._runtime.processes import n_processes, ordered_results
from retgk.errors import InputWarning


def slow_square(number: int) -> tuple[int, int]:
    time.sleep(0.2 if number == 0 else 0.0)  # the first piece is done last
    return number**2, os.getpid()


def failing(number: int) -> int:
    if number == 3:
        raise InvalidInputError("piece 3 is bad; mend it")
    warnings.warn(InputWarning(f"piece {number}"), stacklevel=2)
    return number


def killed(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def own_process(_: int) -> int:
    return os.getpid()


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_results_are_in_order_and_read_ahead_is_bounded() -> None:
    taken: list[int] = []

    def pieces() -> Iterator[tuple[int]]:
        for number in range(100):
            taken.append(number)
            yield (number,)

    results = ordered_results(slow_square, pieces(), 2)
    found = [next(results) for _ in range(4)]
    assert [square for square, _ in found] == [0, 1, 4, 9]
    assert len(taken) <= 10
    workers = {process for _, process in found}
    assert os.getpid() not in workers
    results.close()  # type: ignore[attr-defined]
    assert not any(map(is_alive, workers))


def test_errors_come_in_their_turn_and_warnings_come_through() -> None:
    results = ordered_results(failing, [(number,) for number in range(5)], 2)
    with pytest.warns(InputWarning, match="piece 0"):
        assert next(results) == 0
    with pytest.warns(InputWarning, match="piece [12]"):
        assert [next(results), next(results)] == [1, 2]
    with pytest.raises(InvalidInputError, match="piece 3 is bad; mend it"):
        next(results)


def test_a_killed_process_is_an_error_that_says_so() -> None:
    with pytest.raises(ChildProcessError, match=r"one of 2 processes .* was killed"):
        list(ordered_results(killed, [(number,) for number in range(8)], 2))


@pytest.mark.parametrize(("n_pieces", "n_jobs"), [(2, 2), (9, None), (9, 1)])
def test_short_work_starts_no_process(n_pieces: int, n_jobs: int | None) -> None:
    found = list(ordered_results(own_process, [(number,) for number in range(n_pieces)], n_jobs))
    assert found == [os.getpid()] * n_pieces


def test_one_process_inside_workers_of_joblib() -> None:
    assert Parallel(n_jobs=2)(delayed(n_processes)(n) for n in (-1, 2, None)) == [1, 1, 1]
    assert n_processes(3) == 3
    assert n_processes(None) == 1
