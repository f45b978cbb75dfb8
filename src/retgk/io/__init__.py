"""Graphs in and out: objects of other packages, files, data sets."""
