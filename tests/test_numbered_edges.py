"""Edge lists of plain numbers are read in another way, and give the same graphs and errors."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from retgk import InvalidInputError, read_graphs
from retgk._runtime import files as text_lines
from retgk.io import edges as edge_lists
from retgk.io import edges as numbered_edges

PLAIN = {
    "pairs": "3 1\n1 2\n2 3\n",
    "comments first": "# a graph\n\n# of three\n3\t1\n1 2\n",
    "carriage returns": "10 2\r\n2 7\r\n",
    "no last newline": "0 1\n1 5",
    "large numbers": "999999999999999999 5\n5 4000000000\n",
    "parallel edges and loops": "1 2\n2 1\n1 2\n4 4\n",
}
OTHER = {
    "zeros in front": "007 7\n7 1\n",
    "comments later": "1 2\n# more\n2 3\n",
    "blank lines later": "1 2\n\n2 3\n",
    "three columns": "1 2 5\n2 3 6\n",
    "names": "a b\nb c\n",
    "signs": "-1 2\n2 +3\n",
    "spaces in front": " 1 2\n2 3\n",
    "too long": "1234567890123456789 1\n",
}


def both(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_graphs(path).graphs
    monkeypatch.setattr(edge_lists, "numbered_graph", lambda *_: None)
    assert found == read_graphs(path).graphs


@pytest.mark.parametrize("name", [*PLAIN, *OTHER])
@pytest.mark.parametrize("ending", [".edges", ".edges.gz"])
def test_the_same_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ending: str
) -> None:
    text = (PLAIN | OTHER)[name].encode()
    path = tmp_path / f"graph{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    assert (numbered_edges.numbered_graph(path) is not None) == (name in PLAIN)
    both(path, monkeypatch)


def test_pieces_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = np.random.default_rng(0).integers(0, 50, (300, 2))
    np.savetxt(tmp_path / "graph.edges", edges, fmt="%d")
    monkeypatch.setattr(text_lines, "_CHUNK_BYTES", 7)
    both(tmp_path / "graph.edges", monkeypatch)


@pytest.mark.parametrize("text", ["1 2\n3\n", "1 2\n3,4\n", "source target\n1 2\n", "# nothing\n"])
def test_the_same_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = tmp_path / "graph.edges"
    path.write_text(text)
    messages = []
    for _ in range(2):
        with pytest.raises(InvalidInputError) as caught:
            read_graphs(path)
        messages.append(str(caught.value))
        monkeypatch.setattr(edge_lists, "numbered_graph", lambda *_: None)
    assert messages[0] == messages[1]
