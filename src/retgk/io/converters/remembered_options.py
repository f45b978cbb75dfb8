"""Converters remember with which options they were called, in the batch that they make."""

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec

from retgk.graphs.batch import GraphBatch
from retgk.graphs.reading import reading_of

__all__ = ["remembers"]

Options = ParamSpec("Options")


def remembers(
    kind: str,
) -> Callable[[Callable[Options, GraphBatch]], Callable[Options, GraphBatch]]:
    """
    Have a converter put a reading of this kind into its batches; see `Reading`.

    What the converter itself has put there, such as the categories that it found, stays.
    """

    def decorate(convert: Callable[Options, GraphBatch]) -> Callable[Options, GraphBatch]:
        parameters = inspect.signature(convert).parameters.values()
        usual = {each.name: each.default for each in parameters if each.kind == each.KEYWORD_ONLY}

        @functools.wraps(convert)
        def converted(*graphs: Options.args, **options: Options.kwargs) -> GraphBatch:
            batch = convert(*graphs, **options)  # which nobody else has yet
            found = {} if batch.reading is None else batch.reading.options
            batch.reading = reading_of(kind, usual | options | found)
            return batch

        return converted

    return decorate
