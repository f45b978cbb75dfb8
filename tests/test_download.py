"""Fetching collections, from a server on loopback."""

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from retgk import GraphDataset, InvalidInputError, load_tudataset, save_tudataset
from retgk import datasets as download
from retgk.io import tudataset
from tests.tu_files import toy_graphs, write_zip


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """Folder that is served on loopback, and its address."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(QuietHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_fetches_from_the_first_mirror_that_answers(tmp_path, server, monkeypatch):
    folder, address = server
    write_zip(folder)
    mirrors = (f"{address}/missing/{{name}}.zip", f"{address}/{{name}}.zip")
    monkeypatch.setattr(download, "MIRRORS", mirrors)
    home = tmp_path / "home"
    assert load_tudataset("TOY", home).graphs == toy_graphs()
    content = (home / "TOY.zip").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    assert (home / "TOY.zip.sha256").read_text() == f"{digest}  TOY.zip\n"
    names = {path.name for path in home.iterdir()}
    assert names == {"TOY.zip", "TOY.zip.sha256"}
    (folder / "TOY.zip").unlink()  # from now on the copy serves
    assert load_tudataset("TOY", home, cache=False).graphs == toy_graphs()


def test_says_what_to_do_offline(tmp_path, server, monkeypatch):
    _, address = server
    monkeypatch.setattr(download, "MIRRORS", (f"{address}/{{name}}.zip",))
    home = tmp_path / "home"
    with pytest.raises(InvalidInputError, match=r"place the archive by hand as .*TOY.zip"):
        load_tudataset("TOY", home)
    assert list(home.iterdir()) == []


def test_a_changed_archive_is_noticed(tmp_path, server, monkeypatch):
    folder, address = server
    write_zip(folder)
    monkeypatch.setattr(download, "MIRRORS", (f"{address}/{{name}}.zip",))
    home = tmp_path / "home"
    load_tudataset("TOY", home)
    write_zip(home, graph_labels="4\n5\n6\n")
    with pytest.raises(InvalidInputError, match=r"TOY.zip has the checksum .*sha256 says"):
        load_tudataset("TOY", home)
    (home / "TOY.zip.sha256").unlink()
    assert load_tudataset("TOY", home).targets.tolist() == [4, 5, 6]


@pytest.mark.parametrize("function", ["forget_checksum", "keep_checksum"])
def test_replacing_an_archive_is_all_or_nothing(tmp_path, monkeypatch, function):
    """Stopped before or after the checksum of the old archive is gone, one of both is there."""
    old, new = (GraphDataset(toy_graphs(), targets, "TOY") for targets in ([1, 2, 3], [4, 5, 6]))
    save_tudataset(old, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(tudataset, function, stopped)
        with pytest.raises(KeyboardInterrupt):
            save_tudataset(new, tmp_path)
    found = load_tudataset("TOY", tmp_path).targets.tolist()
    assert found == (old if function == "forget_checksum" else new).targets.tolist()
    save_tudataset(new, tmp_path)
    assert load_tudataset("TOY", tmp_path).targets.tolist() == [4, 5, 6]


def stopped(*_):
    raise KeyboardInterrupt
