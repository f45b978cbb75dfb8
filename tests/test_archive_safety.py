"""Archives from strangers: each attack is a clear error, and nothing is left behind."""

import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from retgk import InvalidInputError, load_tudataset
from tests.tu_files import TOY, write_folder, write_zip


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path, monkeypatch):
    """After the test there are the files that it made itself, and no others."""
    cache, scratch = tmp_path / "cache", tmp_path / "scratch"
    for folder in (cache, scratch):
        folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("TMPDIR", str(scratch))
    yield
    assert list(cache.rglob("*")) == []
    assert list(scratch.rglob("*")) == []
    left = {path.name for path in (tmp_path / "home").rglob("*") if path.is_file()}
    assert {name for name in left if not name.startswith("TOY")} == set()


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def assert_refused(home, message, **options):
    before = sorted(home.rglob("*"))
    with pytest.raises(InvalidInputError, match=message):
        load_tudataset("TOY", home, download=False, **options)
    assert sorted(home.rglob("*")) == before


def add_member(path, info, content=b""):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, content)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../TOY_edge_labels.txt", "leads out of the archive"),
        ("TOY/../../escape.txt", "leads out of the archive"),
        ("/etc/escape.txt", "absolute path, or one for another system"),
        ("..\\escape.txt", "absolute path, or one for another system"),
        ("C:escape.txt", "absolute path, or one for another system"),
    ],
)
def test_path_escape(home, name, message):
    add_member(write_zip(home), zipfile.ZipInfo(name), b"1\n")
    assert_refused(home, message)


def test_link(home):
    info = zipfile.ZipInfo("TOY/TOY_node_labels.txt")
    info.create_system = 3
    info.external_attr = 0o120777 << 16
    add_member(write_zip(home), info, b"/etc/passwd")
    assert_refused(home, "is a link or a special file; a data set holds plain text files only")


def test_link_in_a_folder(home):
    write_folder(home)
    os.symlink("/etc/hostname", home / "TOY" / "TOY_node_labels.txt")
    assert_refused(home, "TOY_node_labels.txt is a link; put the file itself in its place")


def test_two_members_of_one_name(home):
    add_member(write_zip(home), zipfile.ZipInfo("other/TOY_A.txt"), b"1, 1\n")
    assert_refused(home, r"two files of the same name, .*TOY/TOY_A.txt and .*other/TOY_A.txt")


def test_bomb_is_refused_before_it_is_unpacked(home):
    path = write_zip(home, A=None)
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("TOY/TOY_A.txt", "w") as stream,
    ):
        for _ in range(64):
            stream.write(b"1, 1\n" * 200_000)
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    assert_refused(
        home, r"640\d+ bytes or more, .* more than the 10000000 allowed", max_bytes=10**7
    )
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


def test_a_caller_can_raise_the_limit(home):
    write_zip(home)
    assert_refused(home, "more than the 10 allowed .*; pass a larger max_bytes", max_bytes=10)
    assert len(load_tudataset("TOY", home, max_bytes=1000, cache=False).graphs) == 3


def test_bomb_that_lies_about_its_size(home):
    """The declared size is changed in the directory and in the member's own header."""
    path = write_zip(home, A=TOY["A"] + "1, 1\n" * 100_000)
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("TOY/TOY_A.txt").file_size
    content = path.read_bytes()
    true, false = struct.pack("<I", size), struct.pack("<I", 55)
    assert content.count(true) == 2
    path.write_bytes(content.replace(true, false))
    assert_refused(home, r"TOY_A.txt(, line \d+: expected| is damaged: Bad CRC)")


def test_other_compressions_are_refused(home):
    """They unpack without a bound on memory."""
    info = zipfile.ZipInfo("TOY/extra.txt")
    info.compress_type = zipfile.ZIP_BZIP2
    add_member(write_zip(home), info, b"1\n" * 1000)
    assert_refused(home, "is compressed in another way than deflate")


def test_encrypted_member(home):
    path = write_zip(home)
    content = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + flags] |= 1
    path.write_bytes(bytes(content))
    assert_refused(home, "is encrypted")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_archive(home, share):
    path = write_zip(home)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert_refused(home, "TOY.zip is not a whole zip archive: .*; fetch it again")


def test_damaged_content_fails_its_checksum(home):
    path = home / "TOY.zip"
    with zipfile.ZipFile(path, "w") as archive:  # stored: a changed byte stays one
        for kind, text in TOY.items():
            archive.writestr(f"TOY/TOY_{kind}.txt", text)
    path.write_bytes(path.read_bytes().replace(b"1\n-1\n1\n", b"1\n-1\n2\n"))
    assert_refused(home, "TOY_graph_labels.txt is damaged: Bad CRC-32")


def test_damaged_deflate_stream(home):
    rng = np.random.default_rng(0)
    lines = "".join(f"{node}, {node}\n" for node in rng.integers(1, 7, 50_000))
    path = write_zip(home, A=lines)
    content = bytearray(path.read_bytes())
    middle = content.index(b"TOY/TOY_A.txt") + 2000
    content[middle : middle + 64] = rng.bytes(64)
    path.write_bytes(bytes(content))
    assert_refused(home, r"TOY_A.txt(, line \d+| is damaged| is cut off)")


@pytest.mark.parametrize("kind", ["A", "graph_indicator", "graph_labels", "node_labels"])
@pytest.mark.parametrize("size", [100, 3_000_000])
def test_binary_noise_in_a_member(home, kind, size):
    write_zip(home, **{kind: np.random.default_rng(1).bytes(size)})
    assert_refused(home, rf"TOY_{kind}.txt, line 1: expected \d+ integer")


def test_binary_noise_in_attributes(home):
    write_zip(home, node_attributes=np.random.default_rng(1).bytes(1000))
    assert_refused(home, r"TOY_node_attributes.txt, line 1: expected \d+ number")


def test_one_endless_line(home):
    write_zip(home, A=b"1" * (17 << 20))
    assert_refused(home, "TOY_A.txt has a line of more than 16777216 bytes")


def test_binary_noise_for_an_archive(home):
    (home / "TOY.zip").write_bytes(np.random.default_rng(2).bytes(10_000))
    assert_refused(home, "TOY.zip is not a whole zip archive")


def test_wrong_counts(home):
    write_zip(home, graph_labels="1\n" * 5)
    assert_refused(home, r"TOY_graph_labels.txt has 5 lines, but there are 3 graphs in")


def test_messages_show_no_control_characters(home):
    write_zip(home, A=b"\x1b[2Jgone\n")
    with pytest.raises(InvalidInputError) as caught:
        load_tudataset("TOY", home, download=False)
    assert "\x1b" not in str(caught.value)


def test_archive_inside_an_archive_is_not_opened(home):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("TOY/TOY_A.txt", TOY["A"])
    add_member(write_zip(home, A=None), zipfile.ZipInfo("TOY/TOY.zip"), inner.getvalue())
    assert_refused(home, "has no TOY_A.txt")
