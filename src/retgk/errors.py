"""The one error class that bad input raises."""

__all__ = ["InvalidInputError"]


class InvalidInputError(ValueError):
    """Input that cannot be used; the message says which, why, and what to do."""
