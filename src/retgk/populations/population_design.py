"""Graphs of a test with their groups, values and blocks, checked before any work is done."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.validation import check_alike
from retgk.io.converters import GraphsLike, as_batch, batch_like
from retgk.io.graph_dataset import missing_targets, target_array
from retgk.kernels.node_kernels import Delta, Gaussian
from retgk.populations.quadratic_forms import can_compare, factor

__all__ = [
    "Blocks",
    "Grouping",
    "ValueKind",
    "blocks_of",
    "check_comparable",
    "grouping_of",
    "value_columns",
]

ValueKind = Literal["auto", "number", "category"]

_LEAST_GRAPHS = 2  # of a group, for a mean over pairs within it
_LEAST_FOR_HSIC = 4


@dataclass(frozen=True, eq=False)
class Grouping:
    """Graphs of all groups in one batch, the group of each, and the names of the groups."""

    batch: GraphBatch
    codes: Ints
    names: tuple[Any, ...]
    are_apart: bool


def grouping_of(populations: tuple[Any, ...], by: Any) -> Grouping:
    """Put populations together; or split one collection by a vector of groups."""
    if by is None:
        found = _joined(populations)
    else:
        if len(populations) != 1:
            raise InvalidInputError(
                f"by splits one collection of graphs, got {len(populations)}; leave out by, or "
                "give all graphs together"
            )
        batch = as_batch(populations[0])
        values = _one_each(by, len(batch), "by")
        names, codes = np.unique(values, return_inverse=True)
        found = Grouping(batch, codes.reshape(-1), tuple(names.tolist()), False)
    if len(found.names) < 2:
        raise InvalidInputError(
            f"there is one group of {len(found.batch)} graphs; a test compares two or more"
        )
    counts = np.bincount(found.codes, minlength=len(found.names))
    if counts.min() < _LEAST_GRAPHS:
        name = found.names[int(counts.argmin())]
        raise InvalidInputError(
            f"group {name} has {counts.min()} graph; a test needs {_LEAST_GRAPHS} or more in each, "
            "to see how much they vary"
        )
    return found


def _joined(populations: tuple[GraphsLike, ...]) -> Grouping:
    if not populations:
        raise InvalidInputError("there are no graphs to test; give two or more populations")
    if len(populations) == 1:
        raise InvalidInputError(
            "got one collection of graphs; give a second one, or say with by= which group each "
            "graph belongs to"
        )
    first = as_batch(populations[0])
    parts = [first]
    for number, graphs in enumerate(populations[1:], 2):
        part = batch_like(graphs, first.reading, "those of population 1")
        own = f"population {number} has"
        check_alike(part, first.has_labels, first.n_attributes, own, "population 1 has")
        parts.append(part)
    codes = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    names = tuple(f"population {number}" for number in range(1, len(parts) + 1))
    return Grouping(GraphBatch.concatenate(parts), codes, names, True)


def _one_each(values: Any, n_graphs: int, name: str) -> NDArray[Any]:
    """One value for each graph, none of them missing."""
    found = target_array(values)
    if found.ndim != 1 or len(found) != n_graphs:
        got = f"{len(found)} values" if found.ndim == 1 else f"shape {found.shape}"
        raise InvalidInputError(
            f"{name} must have one value for each of {n_graphs} graphs, got {got}"
        )
    missing = missing_targets(found)
    if missing.any():
        raise InvalidInputError(
            f"{name} has no value for graph {int(np.argmax(missing))}; drop that graph, or give one"
        )
    return found


# blocks and pairs


@dataclass(frozen=True, eq=False)
class Blocks:
    """Within what labels are permuted: `codes` has the block of every graph, None for no blocks."""

    design: Literal["free", "blocks", "pairs"]
    codes: Ints | None


def blocks_of(groups: Any, pairs: Any, codes: Ints) -> Blocks:
    """Blocks of a user's groups or pairs; labels that cannot change anywhere are an error."""
    if groups is not None and pairs is not None and pairs is not False:
        raise InvalidInputError("groups and pairs both say what is permuted; give one of them")
    if pairs is not None and pairs is not False:
        return Blocks("pairs", _pairs(pairs, codes))
    if groups is None:
        return Blocks("free", None)
    values = _one_each(groups, len(codes), "groups")
    blocks = np.unique(values, return_inverse=True)[1].reshape(-1)
    table = np.zeros((blocks.max() + 1, codes.max() + 1), np.int64)
    np.add.at(table, (blocks, codes), 1)
    if ((table > 0).sum(axis=1) < 2).all():
        raise InvalidInputError(
            "every group holds graphs of one label only, so nothing can be permuted within groups; "
            "groups are for what both sides have in common, such as the site of a scan"
        )
    return Blocks("blocks", blocks)


def check_comparable(codes: Ints, blocks: Blocks) -> None:
    """Raise if blocks leave too few graphs side by side for a statistic of groups."""
    if not can_compare(codes, blocks.codes):
        raise InvalidInputError(
            "blocks have too few graphs of different labels to see how much they vary; two labels "
            "must meet in two blocks, or in one of three graphs or more"
        )


def _pairs(pairs: Any, codes: Ints) -> Ints:
    counts = np.bincount(codes)
    if len(counts) != 2:
        raise InvalidInputError(f"pairs are for two groups, there are {len(counts)}; use groups")
    if pairs is True:
        if counts[0] != counts[1]:
            raise InvalidInputError(
                f"the groups have {counts[0]} and {counts[1]} graphs, so they are not pairs in "
                "their order; name the pair of every graph with pairs="
            )
        found = np.empty(len(codes), np.int64)
        for code in (0, 1):
            found[codes == code] = np.arange(counts[0])
        return found
    values = _one_each(pairs, len(codes), "pairs")
    names, found = np.unique(values, return_inverse=True)
    found = found.reshape(-1)
    table = np.zeros((len(names), 2), np.int64)
    np.add.at(table, (found, codes), 1)
    wrong = (table != 1).any(axis=1)
    if wrong.any():
        pair = int(np.argmax(wrong))
        raise InvalidInputError(
            f"pair {names[pair]} has {table[pair, 0]} graphs of the first group and "
            f"{table[pair, 1]} of the second; a pair has one of each, use groups for other blocks"
        )
    return found


# values to be associated with


def value_columns(y: Any, n_graphs: int, kind: Any, seed: int) -> tuple[Floats, Ints]:
    """
    Columns V of the kernel ``V V^T`` of values, and the number of each among the distinct.

    Of many numbers, the seed draws those whose median is the bandwidth.
    """
    if kind not in ("auto", "number", "category"):
        raise InvalidInputError(f"kind must be one of auto, number, category, got {kind!r}")
    if n_graphs < _LEAST_FOR_HSIC:
        raise InvalidInputError(
            f"there are {n_graphs} graphs; an association needs {_LEAST_FOR_HSIC} or more"
        )
    found = target_array(y)
    if found.ndim == 2 and len(found) == n_graphs and kind != "category":
        for number, column in enumerate(found.T):
            _one_each(column, n_graphs, f"column {number} of y")
    else:
        found = _one_each(found, n_graphs, "y")[:, None]
    is_category = kind == "category" or (kind == "auto" and found.dtype.kind not in "iuf")
    if is_category:
        codes = np.unique(found[:, 0].astype(str), return_inverse=True)[1].reshape(-1)
    else:
        found = _finite_numbers(found)
        codes = np.unique(found, axis=0, return_inverse=True)[1].reshape(-1)
    if codes.max() == 0:
        raise InvalidInputError("y is the same for all graphs; there is nothing to go with")
    if is_category:
        return factor(Delta()(codes, codes)), codes
    return factor(_number_kernel(found, seed)), codes


def _finite_numbers(values: NDArray[Any]) -> Floats:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"y must be numbers where kind='number': {error}") from error
    if not np.isfinite(numbers).all():
        graph = int(np.argmax(~np.isfinite(numbers).all(axis=1)))
        raise InvalidInputError(f"y of graph {graph} is not finite; drop that graph")
    return numbers


def _number_kernel(numbers: Floats, seed: int) -> Floats:
    """Gaussian kernel of numbers at the median of their distances; columns are standardised."""
    # exact, and squares of what it gives neither overflow nor vanish
    numbers = np.ldexp(numbers, -np.frexp(np.abs(numbers).max(axis=0))[1])
    spread = numbers.std(axis=0)
    numbers = (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    each = np.arange(len(numbers) + 1)
    return Gaussian("median").fitted(numbers, each, seed)(numbers, numbers)
