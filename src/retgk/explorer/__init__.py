"""One interactive page of a collection of graphs; start at `explorer/page.py`."""
