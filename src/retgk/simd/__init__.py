"""Vector code: loops that numba does not vectorise by itself."""
