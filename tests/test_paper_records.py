"""Records: appended whole, repaired after a kill, refused where they are damaged."""

import gzip
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retgk import InvalidInputError
from retgk._runtime.files import FORMAT, key_of, read_records, record_writer

values = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text())


def write(path, *records):
    with record_writer(path) as writer:
        for record in records:
            writer.append(record)


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "folder" / "records.jsonl"
    assert read_records(path) == []
    write(path, {"a": 1})
    write(path, {"b": [0.1, None]})
    assert read_records(path) == [{"format": FORMAT, "a": 1}, {"format": FORMAT, "b": [0.1, None]}]


@pytest.mark.parametrize("n_cut", [1, 5, 15])
def test_torn_last_line_is_ignored_and_then_removed(tmp_path, n_cut):
    path = tmp_path / "records.jsonl"
    write(path, {"a": 1}, {"a": 2})
    os.truncate(path, path.stat().st_size - n_cut)
    assert [record["a"] for record in read_records(path)] == [1]
    write(path, {"a": 3})
    assert [record["a"] for record in read_records(path)] == [1, 3]


def test_packed_files_are_read_only(tmp_path):
    path = tmp_path / "records.jsonl"
    write(path, {"a": 1}, {"a": 2})
    packed = tmp_path / "records.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_records(packed) == read_records(path)
    with pytest.raises(InvalidInputError, match="is packed; unpack it with gunzip"):
        write(packed, {"a": 3})


def test_only_line_torn(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text('{"format": 1, "a"')
    write(path, {"a": 1})
    assert [record["a"] for record in read_records(path)] == [1]


@pytest.mark.parametrize(
    "line", ["{", "3", "{}", '["format"]', '{"format": NaN}', '{"format": 1, "a": ' + "[" * 10**5]
)
def test_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "records.jsonl"
    path.write_text(f'{{"format": {FORMAT}}}\n{line}\n')
    with pytest.raises(InvalidInputError, match=r"records.jsonl, line 2: not a record; remove"):
        read_records(path)


@pytest.mark.parametrize("record", [{"a": 0.1}, {"a": {"2": [1, None], "10": "\u00e9"}}])
def test_changed_line_is_named(tmp_path, record):
    path = tmp_path / "records.jsonl"
    write(path, record, {"a": 0.5})
    assert read_records(path)[0] == {"format": FORMAT, **record}
    path.write_text(path.read_text().replace('"a": 0.5', '"a": 7.5'))
    with pytest.raises(InvalidInputError, match=r"records.jsonl, line 2: not as it was written"):
        read_records(path)


def test_numbers_as_keys_are_read_as_text(tmp_path):
    write(tmp_path / "records.jsonl", {"a": {2: 1, 10: 2}})
    assert read_records(tmp_path / "records.jsonl") == [{"format": FORMAT, "a": {"2": 1, "10": 2}}]


def test_lines_of_earlier_versions_have_no_digest(tmp_path):
    (tmp_path / "records.jsonl").write_text('{"format": 1, "a": 1}\n')
    write(tmp_path / "records.jsonl", {"a": 2})
    assert [record["a"] for record in read_records(tmp_path / "records.jsonl")] == [1, 2]


def test_unknown_form_is_refused(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text('{"format": 99}\n')
    with pytest.raises(InvalidInputError, match=r"line 1: a record of form 99, .* update retgk"):
        read_records(path)


def test_second_writer_is_kept_out(tmp_path):
    path = tmp_path / "records.jsonl"
    with record_writer(path), pytest.raises(InvalidInputError, match="another run is writing to"):
        write(path, {"a": 1})
    write(path, {"a": 1})
    assert len(read_records(path)) == 1


def test_numbers_that_are_none_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        write(tmp_path / "records.jsonl", {"a": float("nan")})


@given(st.dictionaries(st.text(), values, min_size=2))
def test_key_does_not_depend_on_order(mapping):
    turned = dict(reversed(mapping.items()))
    assert key_of(mapping) == key_of(turned)
    assert key_of(mapping) == key_of(json.loads(json.dumps(mapping)))
    assert key_of(mapping) != key_of({**mapping, "more": 1, "other": 2})
