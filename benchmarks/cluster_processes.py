"""A dask scheduler and workers in processes of their own, which tests and benchmarks may kill."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
_START_SECONDS = 120
SCHEDULER = "import distributed.cli.dask_scheduler as program; program.main()"
WORKER = "import distributed.cli.dask_worker as program; program.main()"


class ClusterProcesses:
    """One scheduler, and workers of one thread without nannies: what is killed stays dead."""

    def __init__(self, folder: Path, host: str) -> None:
        self.folder, self.host = folder, host
        self._file = folder / "scheduler.json"
        paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        self._environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s",
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "11s",  # the least: a silent host is given up
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.workers: list[subprocess.Popen[bytes]] = []
        options = ["--host", host, "--port", "0", "--dashboard-address", f"{host}:0"]
        self.scheduler = self._start(SCHEDULER, [*options, "--scheduler-file", str(self._file)])
        deadline = time.monotonic() + _START_SECONDS
        while not self._file.exists() or not self._file.read_text():
            if self.scheduler.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(self.said())
            time.sleep(0.05)

    def _start(
        self, program: str, options: Sequence[str], prefix: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        log = (self.folder / "log").open("ab")
        command = [*prefix, sys.executable, "-c", program, *options]
        with log:
            return subprocess.Popen(
                command, stdout=log, stderr=log, env=self._environment, cwd=self.folder
            )

    def said(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def address(self) -> str:
        import json

        return str(json.loads(self._file.read_text())["address"])

    def add_worker(self, host: str = "", prefix: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start a worker, in a network of its own where a prefix of the command says so."""
        options = [self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
        options += ["--memory-limit", "0", "--host", host or self.host]
        options += ["--local-directory", str(self.folder)]
        self.workers.append(self._start(WORKER, options, prefix))
        return self.workers[-1]

    def end(self) -> None:
        for process in [self.scheduler, *self.workers]:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()


@contextmanager
def cluster_processes(n_workers: int, host: str = "127.0.0.1") -> Iterator[ClusterProcesses]:
    """Start a scheduler and workers; whatever of it still lives afterwards is killed."""
    with tempfile.TemporaryDirectory(prefix="retgk-cluster-") as folder:
        processes = ClusterProcesses(Path(folder), host)
        try:
            for _ in range(n_workers):
                processes.add_worker()
            yield processes
        finally:
            processes.end()
