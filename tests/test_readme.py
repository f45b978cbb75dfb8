"""The examples of the README give what they print, and its tables are what the records give."""

import doctest
from pathlib import Path

import pytest
from benchmarks import report

README = Path(__file__).parent.parent / "README.md"


def test_examples():
    pytest.importorskip("networkx")
    text = README.read_text().replace("```\n", "\n")
    test = doctest.DocTestParser().get_doctest(text, {}, "README.md", str(README), 0)
    result = doctest.DocTestRunner().run(test)
    assert result.attempted >= 10
    assert result.failed == 0


@pytest.mark.parametrize("page", report.PAGES, ids=lambda page: page.name)
def test_tables_come_from_the_records(page):
    text = page.read_text()
    assert report.with_tables(text) == text
