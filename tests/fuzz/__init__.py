"""Campaigns of mutated files against everything that reads files: `python -m tests.fuzz`."""
