"""Fitted models in files: arrays and JSON, so that loading a stranger's model runs no code."""
