"""What commands write: checked before the work, and then whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from retgk._runtime.files import atomic_path, file_to_write, is_stream
from retgk._runtime.names import optional_module
from retgk._runtime.processes import check_room
from retgk.cli.command import Stopwatch, as_json, note, print_lines, print_record
from retgk.cli.options import Common
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

STANDARD_OUTPUT = "-"
_CSV_ROWS = 1000


def check_new_file(output: Path) -> None:
    if str(output) == STANDARD_OUTPUT:
        raise InvalidInputError(
            "this command writes a file, and nothing to standard output; give a name instead of -"
        )
    target = file_to_write(output)
    parent = next(folder for folder in target.absolute().parents if folder.exists())
    if not parent.is_dir():
        raise InvalidInputError(f"{output} cannot be made: {parent} is not a folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InvalidInputError(
            f"{output} cannot be made: {parent} may not be written to; choose another folder"
        )


@dataclass(frozen=True)
class Table:
    """
    Columns of keys, which say what a row is about, and a matrix of numbers beside them.

    `more` holds arrays that only .npz files get; they replace keys of the same name.
    """

    keys: Mapping[str, NDArray[Any]]
    values: NDArray[Any] | None = None
    columns: Sequence[str] = ()
    name: str = "values"
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        return (_n_rows(self),) if self.values is None else self.values.shape


def check_output(output: str, *, has_matrix: bool = True, page: str | None = None) -> None:
    if output == STANDARD_OUTPUT:
        return
    path = Path(output)
    if path.suffix.lower() == page:
        check_new_file(path)
        return
    endings = [ending for ending in _WRITERS if has_matrix or ending != ".npy"]
    endings = endings if page is None else [page, *endings]
    if path.suffix.lower() not in endings:
        raise InvalidInputError(
            f"cannot tell from {output!r} what to write; end the name in one of "
            f"{', '.join(endings)}, or give - for standard output"
        )
    if path.suffix.lower() == ".parquet":
        optional_module("pyarrow", "parquet")  # now rather than after the work
    if not _is_streamed(path):
        check_new_file(path)


def _is_streamed(path: Path) -> bool:
    return is_stream(path) and path.suffix.lower() in _STREAMED


def write_table(table: Table, output: str, *, json: bool = False) -> None:
    if output == STANDARD_OUTPUT:
        _print_table(table, json)
        return
    path = Path(output)
    write = _WRITERS[path.suffix.lower()]
    if _is_streamed(path):
        with path.open("wb") as stream:
            write(table, stream)
        return
    with atomic_path(path) as part, part.open("wb") as stream:
        write(table, stream)


def _print_table(table: Table, json: bool) -> None:
    """Write to standard output: as it is to a file or pipe, without control codes to a terminal."""
    write = _write_json if json else _write_csv
    if sys.stdout.isatty():
        text = io.BytesIO()
        write(table, text)
        print_lines(text.getvalue().decode().removesuffix("\n"))
    else:
        write(table, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _write_csv(table: Table, stream: IO[bytes]) -> None:
    stream.write(_csv_text([[*table.keys, *table.columns]]))
    for first in range(0, _n_rows(table), _CSV_ROWS):
        rows = slice(first, first + _CSV_ROWS)
        columns = [column[rows].tolist() for column in table.keys.values()]
        if table.values is not None:
            columns += table.values[rows].T.tolist()
        stream.write(_csv_text(zip(*columns, strict=True)))


def _csv_text(rows: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _write_parquet(table: Table, stream: IO[bytes]) -> None:
    import numpy as np

    pa = optional_module("pyarrow", "parquet")
    arrays = {name: pa.array(values) for name, values in table.keys.items()}
    if table.values is not None:
        for name, column in zip(table.columns, table.values.T, strict=True):
            arrays[name] = pa.array(np.ascontiguousarray(column))
    write = optional_module("pyarrow.parquet", "parquet").write_table
    write(pa.table(arrays), stream, compression="zstd")


def _write_npz(table: Table, stream: IO[bytes]) -> None:
    import numpy as np

    columns = {**table.keys, **table.more}
    arrays: dict[str, Any] = {name: _without_objects(values) for name, values in columns.items()}
    if table.values is not None:
        arrays[table.name] = table.values
    np.savez(stream, **arrays)


def _without_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Turn objects, which would be pickled, into text; each takes as much room as the longest."""
    if values.dtype.kind != "O":
        return values
    widest = max((len(str(value)) for value in values), default=0)
    remedy = "write .parquet or .csv instead"
    check_room(4 * widest * len(values), "text in an .npz file", remedy)
    return values.astype(str)


def _write_npy(table: Table, stream: IO[bytes]) -> None:
    import numpy as np

    assert table.values is not None
    np.save(_WrittenInPython(stream), table.values, allow_pickle=False)


class _WrittenInPython:
    """A stream that NumPy does not take for a file and write to in C, where errors say no cause."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.write = stream.write


def _write_json(table: Table, stream: IO[bytes]) -> None:
    record: dict[str, Any] = dict(table.keys)
    if table.values is not None:
        record = {**record, "columns": list(table.columns), table.name: table.values}
    stream.write(as_json(record).encode() + b"\n")


_WRITERS: dict[str, Callable[[Table, IO[bytes]], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".npz": _write_npz,
    ".npy": _write_npy,
    ".json": _write_json,
}


_STREAMED = (".csv", ".json")


def report_output(
    shape: Sequence[int], output: str, common: Common, watch: Stopwatch, **facts: Any
) -> None:
    """Say that rows, or a matrix, were written: JSON on standard output, or a note for people."""
    if output == STANDARD_OUTPUT:
        return
    if common.json:
        print_record({"output": output, "shape": list(shape), **facts, "seconds": watch.seconds})
    else:
        size = " x ".join(f"{length:,}" for length in shape)
        spent = ", ".join(f"{part} {seconds:.2f} s" for part, seconds in watch.seconds.items())
        note(common, f"wrote {output}: {size} ({spent})")


def _n_rows(table: Table) -> int:
    return len(next(iter(table.keys.values())))
