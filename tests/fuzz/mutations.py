"""Ways to damage a file: blindly, as text, as an archive, as a table, as somebody who knows it."""

import gzip
import io
import json
import zipfile
import zlib

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tests.model_file_mutations import DAMAGED, FORGED

NUMBERS = [
    b"0", b"-1", b"1", b"2147483647", b"2147483648", b"4294967296", b"9223372036854775807",
    b"9223372036854775808", b"99999999999999999999999", b"1e308", b"1e400", b"-0", b"nan", b"inf",
    b"-inf", b"0x10", b"1_0", b"1e-320", b"", b" ", b"\xd9\xa3", b"NULL", b"1.5", b"00000000001",
]  # fmt: skip
TEXTS = [
    b"\x00", b"\r", b"\r\n", b"\n", b"\n\n", b"\t", b",", b";", b'"', b"'", b"#", b"%", b"&lt;",
    b"<", b">", b"&#0;", b"[[[[", b"{}", b"\xff\xfe", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80",
    b"\x1b[2J", b"(" * 200, b"C1" * 99, b"A" * 70_000, b"1," * 40_000, b"[" * 5000,
    b"\x85", b"\xe2\x80\xa8",
]  # fmt: skip


MOST_PLAIN, MOST_TEXT = 1 << 20, 1 << 25


def pick(items, rng):
    return items[int(rng.integers(len(items)))]


# any bytes ---------------------------------------------------------------------------------------


def flip_bits(data, rng):
    changed = bytearray(data or b"\0")
    for place in rng.integers(len(changed), size=rng.integers(1, 9)):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def cut(data, rng):
    return data[: int(rng.integers(len(data) + 1))]


def overwrite(data, rng):
    size = int(rng.integers(1, 65))
    place, other = (int(rng.integers(max(len(data) - size, 1))) for _ in range(2))
    piece = pick([bytes(size), rng.bytes(size), b"\xff" * size, data[other : other + size]], rng)
    return data[:place] + piece + data[place + size :]


def drop(data, rng):
    start, stop = sorted(int(place) for place in rng.integers(len(data) + 1, size=2))
    return data[:start] + data[min(stop, start + 100) :]


def repeat(data, rng):
    start, stop = sorted(int(place) for place in rng.integers(len(data) + 1, size=2))
    return data[:stop] + data[start:stop] * int(rng.integers(1, 4)) + data[stop:]


def insert(data, rng):
    place = int(rng.integers(len(data) + 1))
    return data[:place] + pick([*TEXTS, *NUMBERS], rng) + data[place:]


BLIND = [flip_bits, cut, overwrite, drop, repeat, insert]


# text --------------------------------------------------------------------------------------------


def change_number(data, rng):
    """Put an extreme in the place of a number."""
    import re

    found = list(re.finditer(rb"\d+(\.\d+)?", data))
    if not found:
        return insert(data, rng)
    where = pick(found, rng)
    return data[: where.start()] + pick(NUMBERS, rng) + data[where.end() :]


def change_lines(data, rng):
    """Drop, double, swap, join, or multiply lines."""
    lines = data.split(b"\n")
    at, other = (int(rng.integers(len(lines))) for _ in range(2))
    way = int(rng.integers(6))
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(at, lines[other])
    elif way == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif way == 3:
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    elif way == 4:
        lines[at] = lines[at] * int(rng.integers(2, 2000))
    else:
        lines[at:at] = [lines[at]] * int(rng.integers(2, 2000))
    return pick([b"\n", b"\n", b"\r", b"\r\n"], rng).join(lines)


def bomb(data, rng):
    """Much of the same, of which an archive takes little."""
    piece = pick([b"1\n", b"1,", b"C", b"\n", b"1, 1\n", b"#\n", b"a b\n", b'"\n",', b"<a>"], rng)
    return data + piece * int(rng.integers(1, 20_000_000 // len(piece)))


TEXT = [*BLIND, change_number, change_number, change_lines, change_lines]


def mutate_text(data, rng):
    for _ in range(int(rng.integers(1, 4))):
        data = pick(TEXT, rng)(data, rng)[:MOST_TEXT]
    return data


def mutate_plain(data, rng):
    """Damage text that is not packed; how long it may take grows with its size."""
    return mutate_text(data, rng)[:MOST_PLAIN]


def mutate_gzip(data, rng):
    """Damage the packed bytes, or pack damaged text, or a bomb."""
    way = int(rng.integers(8))
    if way < 3:
        return pick(BLIND, rng)(data, rng)
    text = gzip.decompress(data)
    text = bomb(text, rng) if way == 3 else mutate_text(text, rng)
    packed = gzip.compress(text, 1)
    return packed + packed if way == 4 else packed


# archives ----------------------------------------------------------------------------------------


def zip_members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def mutate_zip(data, rng):
    way = int(rng.integers(6))
    if way == 0:
        return pick(BLIND, rng)(data, rng)
    if way == 1:
        return mutate_directory(data, rng)
    members = zip_members(data)
    at = int(rng.integers(len(members)))
    name, text = members[at]
    if way == 2:
        members[at] = (mutate_name(name, rng), text)
    elif way == 3 and rng.integers(4) == 0:
        members[at] = (name, bomb(text, rng))
    else:
        members[at] = (name, mutate_text(text, rng))
    if rng.integers(5) == 0:
        members.pop(int(rng.integers(len(members))))
    return packed_zip(members, rng)


def mutate_name(name, rng):
    folder, _, file = name.rpartition("/")
    names = [
        name.upper(), name.replace("_", "-"), name[:-1], name + "~", f"{folder}/../{file}",
        "/" + name, f"{folder}/{file}.gz", name.replace("labels", "label"), "é" + name, name + "/",
        file, name.replace("SEED", "OTHER"), "\x1b[2J" + name, name.replace("labels", "attributes"),
    ]  # fmt: skip
    return pick(names, rng)


def packed_zip(members, rng):
    import warnings

    buffer = io.BytesIO()
    ways = [zipfile.ZIP_DEFLATED] * 8 + [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", pick(ways, rng)) as archive:
        warnings.simplefilter("ignore")
        for name, text in members:
            for _ in range(1 + (rng.integers(20) == 0)):
                archive.writestr(name, text)
    return buffer.getvalue()


def mutate_directory(data, rng):
    """Change flags, sizes, methods and other fields of the headers of a member."""
    changed = bytearray(data)
    places = [at for at in range(len(data) - 46) if data[at : at + 4] in (b"PK\3\4", b"PK\1\2")]
    for _ in range(int(rng.integers(1, 4))):
        at = pick(places, rng)
        field = at + int(rng.integers(4, 46))
        changed[field] = pick([0, 1, 8, 0x20, 0x40, 0x7F, 0x80, 0xFF, int(rng.integers(256))], rng)
    return bytes(changed)


# Parquet -----------------------------------------------------------------------------------------


def mutate_parquet(data, rng):
    """Write the table again with a column changed; checksums are as they should be."""
    table = parquet.read_table(io.BytesIO(data))
    for _ in range(int(rng.integers(1, 3))):
        table = with_odd_column(table, rng)
    buffer = io.BytesIO()
    options = {
        "compression": pick(["zstd", "snappy", "gzip", "none", "lz4", "brotli"], rng),
        "use_dictionary": bool(rng.integers(2)),
        "write_page_checksum": bool(rng.integers(2)),
        "data_page_version": pick(["1.0", "2.0"], rng),
        "row_group_size": int(rng.integers(1, 5)),
    }
    parquet.write_table(table, buffer, **options)
    packed = buffer.getvalue()
    return pick(BLIND, rng)(packed, rng) if rng.integers(4) == 0 else packed


def with_odd_column(table, rng):
    at = int(rng.integers(table.num_columns))
    name, n_rows = table.column_names[at], table.num_rows
    columns = {
        "dropped": None,
        "nulls": pa.nulls(n_rows),
        "text": pa.array([pick(["", "x", "1", "\ud7ff", "y" * 9999], rng) for _ in range(n_rows)]),
        "numbers": pa.array(rng.integers(-5, 5, n_rows)),
        "floats": pa.array(rng.choice([0.5, np.nan, np.inf, 1e308, -1.0], n_rows)),
        "lists": pa.array([rng.integers(-2, 4, rng.integers(4)).tolist() for _ in range(n_rows)]),
        "deep": pa.array([[[[1]]]] * n_rows),
        "structs": pa.array([{"a": 1}] * n_rows),
        "empty": pa.array([[]] * n_rows, pa.list_(pa.int32())),
        "huge": pa.array([[2**31 - 1, -(2**31)]] * n_rows),
        "bytes": pa.array([b"\xff\xfe"] * n_rows),
        "long": pa.array([[0] * int(rng.integers(1, 200_000))] * n_rows),
        "json": pa.array([["[" * 3000 + "]" * 3000, '{"a": 1}', "nan", "1e999"]] * n_rows),
        "dates": pa.array(np.zeros(n_rows, "datetime64[us]")),
        "decimals": pa.array([1] * n_rows).cast(pa.decimal128(25, 2)),
        "dictionary": pa.array(["a"] * n_rows).dictionary_encode(),
        "fixed": pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 2 * n_rows), 2),
        "changed": changed_lists(table.column(at), rng),
    }
    column = columns[pick(list(columns), rng)]
    metadata = table.schema.field(at).metadata if rng.integers(2) else {b"retgk": b"json"}
    table = table.remove_column(at)
    if column is None:
        return table if table.num_columns else table.append_column("x", pa.nulls(n_rows))
    return table.append_column(pa.field(name, column.type, metadata=metadata), column)


def changed_lists(column, rng):
    """Values of a column with one of them lost, doubled or made extreme."""
    rows = column.to_pylist()
    row = int(rng.integers(len(rows)))
    if isinstance(rows[row], list) and rows[row]:
        at = int(rng.integers(len(rows[row])))
        way = int(rng.integers(3))
        if way == 0:
            del rows[row][at]
        elif way == 1:
            rows[row].insert(at, rows[row][at])
        else:
            rows[row][at] = None
    return pa.array(rows, column.type)


# what knows the format ---------------------------------------------------------------------------


def damage_model(data, rng):
    return pick(list(DAMAGED), rng)(data, rng)


def forge_model(data, rng):
    """Change arrays or values, and make the digests fit."""
    return pick(list(FORGED), rng)(data, rng)


def damage_cache(data, rng):
    """Flip bits, or swap sectors, or cut."""
    if rng.integers(3) == 0 and len(data) > 256:
        size = 64
        one, two = (size * int(rng.integers(len(data) // size)) for _ in range(2))
        changed = bytearray(data)
        changed[one : one + size], changed[two : two + size] = (
            data[two : two + size], data[one : one + size],
        )  # fmt: skip
        return bytes(changed)
    return pick(BLIND, rng)(data, rng)


def mutate_files(data, rng):
    """Change one of several files that are kept as JSON of their texts, its name, or lose it."""
    files = json.loads(data)
    name = pick(list(files), rng)
    way = int(rng.integers(8))
    if way == 0:
        del files[name]
    elif way == 1:
        files[pick([name.upper(), name + "_", name[:-1], "x"], rng)] = files.pop(name)
    else:
        text = files[name].encode("utf-8", "surrogateescape")
        files[name] = mutate_text(text, rng).decode("utf-8", "surrogateescape")
    return json.dumps(files).encode()


def damage_grams(data, rng):
    """Damage the unfinished matrix or its journal, or lose one of them."""
    files = json.loads(data)
    name = pick(list(files), rng)
    content = bytes.fromhex(files[name])
    if rng.integers(8) == 0:
        del files[name]
    elif name.endswith(".json") and rng.integers(2):
        files[name] = change_number(content, rng).hex()
    else:
        files[name] = pick(BLIND, rng)(content, rng).hex()
    return json.dumps(files).encode()


def recompressed(data, rng):
    """A deflate stream with another header in front: readers tell formats by their first bytes."""
    return pick([b"\x1f\x8b", b"PK", b"PAR1", b"<", b""], rng) + zlib.compress(data)
