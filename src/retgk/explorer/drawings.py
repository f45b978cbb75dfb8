"""Drawings of a page: nodes, edges, labels and places of graphs, or of as many as it can hold."""

import base64
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.names import RandomState, optional_module, seed_from
from retgk._runtime.parallel import progress_bar
from retgk.array_types import Floats, Ints
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import offsets
from retgk.io.rdkit import LARGEST_FORMULA
from retgk.plot import stress_layout
from retgk.walks.probabilities import with_mean_weight_one

# Structural formulas as data: where atoms stand, what is written at them, and orders of bonds

_MINUS = "\N{MINUS SIGN}"


class Formula(NamedTuple):
    places: Floats
    """Shape (n_atoms, 2), downwards as on a screen."""
    texts: list[str]
    """What stands at an atom, such as NH2 or O-; nothing at most carbons."""
    orders: NDArray[np.uint8]
    """Order of the bond of every edge, in the order of `edge_ends`: 1, 2 or 3."""


def structural_formulas(
    batch: GraphBatch, ends: NDArray[np.int32], edge_ptr: Sequence[int], smiles: Sequence[str]
) -> list[Formula | None]:
    """Make formulas of molecules; None where the graph is large, or not that of its SMILES."""
    chem = optional_module("rdkit.Chem", "rdkit")
    depictor = optional_module("rdkit.Chem.rdDepictor", "rdkit")
    found: list[Formula | None] = []
    with (
        optional_module("rdkit.rdBase", "rdkit").BlockLogs(),
        progress_bar("structural formulas", len(smiles)) as advance,
    ):
        for graph, text in enumerate(smiles):
            own = ends[edge_ptr[graph] : edge_ptr[graph + 1]]
            found.append(_formula(chem, depictor, text, int(batch.node_counts[graph]), own))
            advance(1)
    return found


def _formula(
    chem: Any, depictor: Any, text: str, n_nodes: int, ends: NDArray[np.int32]
) -> Formula | None:
    molecule = chem.MolFromSmiles(text) if n_nodes <= LARGEST_FORMULA else None
    if molecule is None:
        return None
    if molecule.GetNumAtoms() != n_nodes:
        molecule = chem.AddHs(molecule)
    bonds = {
        (min(ends), max(ends)): bond
        for bond in molecule.GetBonds()
        for ends in [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())]
    }
    wanted = [(int(a), int(b)) for a, b in np.sort(ends, axis=1)]
    if molecule.GetNumAtoms() != n_nodes or sorted(wanted) != sorted(bonds):
        return None
    chem.Kekulize(molecule, clearAromaticFlags=True)  # alternating bonds, as chemists draw them
    depictor.Compute2DCoords(molecule)
    places = molecule.GetConformer().GetPositions()[:, :2] * [1.0, -1.0]
    orders = [min(3, max(1, int(bonds[pair].GetBondTypeAsDouble()))) for pair in wanted]
    texts = [_atom_text(atom) for atom in molecule.GetAtoms()]
    return Formula(places, texts, np.array(orders, np.uint8))


def _atom_text(atom: Any) -> str:
    symbol, charge = atom.GetSymbol(), atom.GetFormalCharge()
    isotope = atom.GetIsotope()
    if symbol == "C" and charge == 0 and isotope == 0 and atom.GetDegree() > 0:
        return ""
    hydrogens = atom.GetTotalNumHs()
    text = f"{isotope or ''}{symbol}"
    if hydrogens:
        text += "H" + (str(hydrogens) if hydrogens > 1 else "")
    if charge:
        size = str(abs(charge)) if abs(charge) > 1 else ""
        text += size + ("+" if charge > 0 else _MINUS)
    return text


# What a page holds: numbers in typed arrays and text in JSON, compressed, as one line of text

_TYPES = {"u1": "u8", "i1": "i8", "u2": "u16", "u4": "u32", "f4": "f32"}
_ALIGNED = 8


class PageArrays:
    """Arrays by name, in one block of bytes after a header of JSON; the page's data.js reads it."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, Any]] = {}
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, name: str, values: NDArray[Any]) -> None:
        values = np.ascontiguousarray(values)
        kind = _TYPES[values.dtype.newbyteorder("=").str[1:]]
        self._places[name] = {"type": kind, "at": self._length, "length": values.size}
        raw = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        raw += bytes(-len(raw) % _ALIGNED)
        self._parts.append(raw)
        self._length += len(raw)

    def add_codes(self, name: str, codes: NDArray[Any]) -> None:
        largest = int(codes.max(initial=0))
        kind = np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32
        self.add(name, codes.astype(kind))

    def add_scaled(self, name: str, values: Floats, dtype: Any = np.uint16) -> dict[str, float]:
        """Add numbers in equal steps from the least to the largest, which are given back."""
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        most = np.iinfo(dtype).max
        scale = (most - 1) / (high - low) if high > low else 0.0
        steps = np.rint((np.where(np.isfinite(values), values, low) - low) * scale)
        # the last step says that there is no number
        self.add(name, np.where(np.isfinite(values), steps, most).astype(dtype))
        return {"low": low, "high": high}

    def packed(self, header: dict[str, Any]) -> str:
        # lone surrogates, which names may hold, are escaped too
        text = json.dumps({**header, "arrays": self._places}, allow_nan=False).encode("ascii")
        text += b" " * (-(len(text) + 4) % _ALIGNED)
        block = b"".join([struct.pack("<I", len(text)), text, *self._parts])
        return base64.b64encode(zlib.compress(block, 9)).decode("ascii")


LARGEST_DRAWN = 1000
"""Nodes of the largest graphs that are drawn."""

_FINE_FROM = 80  # nodes from which 256 places along an axis are too few
MOST_ATTRIBUTES = 8
"""Attributes of nodes that a page holds, the first ones."""


def drawn_graphs(batch: GraphBatch, max_nodes: int, random_state: RandomState) -> Ints:
    """
    Graphs that are drawn: all of up to 1,000 nodes, or a random sample with `max_nodes` in all.

    The sample depends on the seed, and a larger one holds the smaller.
    """
    sizes = batch.node_counts
    fitting = np.flatnonzero(sizes <= LARGEST_DRAWN)
    if sizes[fitting].sum() <= max_nodes:
        return fitting
    order = np.random.default_rng(int(seed_from(random_state))).permutation(fitting)
    return np.sort(order[np.cumsum(sizes[order]) <= max_nodes])


def pack_drawings(
    batch: GraphBatch,
    drawn: Ints,
    arrays: PageArrays,
    *,
    smiles: Sequence[str] | None = None,
    positions: Floats | None = None,
    n_jobs: int | None = None,
) -> dict[str, Any]:
    """Put drawings into the arrays of a page; what is given back is for its header."""
    chosen = batch[drawn]
    ends, edge_ptr, weights = _edges(chosen)
    if len(drawn) < len(batch):
        arrays.add_codes("drawn", drawn)
    arrays.add_codes("nodeCounts", chosen.node_counts)
    arrays.add_codes("edgeCounts", np.diff(edge_ptr))
    arrays.add_codes("ends", ends)
    if weights is not None:
        arrays.add("weights", weights.astype(np.float32))
    formulas: list[Formula | None] = [None] * len(drawn)
    if smiles is not None and len(drawn):
        own = [smiles[graph] for graph in drawn]
        formulas = structural_formulas(chosen, ends, edge_ptr.tolist(), own)
    places = _places(batch, chosen, drawn, formulas, positions, n_jobs)
    arrays.add("places", _scaled_places(places, chosen))
    header: dict[str, Any] = {"labels": _pack_labels(chosen, arrays)}
    header["names"] = None
    if chosen.node_names is not None:
        names, codes = np.unique(list(map(str, chosen.node_names)), return_inverse=True)
        header["names"] = names.tolist()
        arrays.add_codes("nodeNames", codes)
    header["attributes"] = _pack_attributes(chosen, arrays)
    header["texts"] = _pack_formulas(chosen, edge_ptr, formulas, arrays)
    return header


def _edges(batch: GraphBatch) -> tuple[NDArray[np.int32], Ints, Floats | None]:
    local = np.arange(batch.n_nodes) - np.repeat(batch.node_ptr[:-1], batch.node_counts)
    sources = local[batch.edge_rows].astype(np.int32)
    once = sources <= batch.indices  # with loops
    ends = np.stack([sources[once], batch.indices[once]], axis=1)
    weights = with_mean_weight_one(batch).weights[once] if batch.is_weighted else None
    return ends, offsets(batch.edge_counts), weights


def _places(
    batch: GraphBatch,
    chosen: GraphBatch,
    drawn: Ints,
    formulas: Sequence[Formula | None],
    positions: Floats | None,
    n_jobs: int | None,
) -> Floats:
    if positions is not None:
        rows = np.repeat(batch.node_ptr[drawn], chosen.node_counts)
        rows += np.arange(chosen.n_nodes) - np.repeat(chosen.node_ptr[:-1], chosen.node_counts)
        return positions[rows]
    plain = np.array([place for place, own in enumerate(formulas) if own is None], np.int64)
    places = np.zeros((chosen.n_nodes, 2))
    if len(plain):
        found = stress_layout(chosen[plain], n_jobs)
        at = 0
        for graph in plain:
            start, stop = chosen.node_ptr[graph], chosen.node_ptr[graph + 1]
            places[start:stop] = found[at : at + stop - start]
            at += stop - start
    for graph, own in enumerate(formulas):
        if own is not None:
            places[chosen.node_ptr[graph] : chosen.node_ptr[graph + 1]] = own.places
    return places


def _scaled_places(places: Floats, batch: GraphBatch) -> NDArray[Any]:
    """Places as whole numbers, of every graph from 0 to the largest, in the same unit both ways."""
    if not len(batch):
        return np.empty((0, 2), np.uint8)
    dtype = np.uint8 if batch.node_counts.max() < _FINE_FROM else np.uint16
    starts = batch.node_ptr[:-1]
    low, high = np.minimum.reduceat(places, starts), np.maximum.reduceat(places, starts)
    spread = (high - low).max(axis=1)
    unit = np.iinfo(dtype).max / np.where(spread > 0, spread, 1.0)
    # the shorter side stands in the middle
    shift = (spread[:, None] - (high - low)) / 2
    rows = np.repeat(np.arange(len(batch)), batch.node_counts)
    scaled: NDArray[Any] = np.rint((places - low[rows] + shift[rows]) * unit[rows, None])
    return scaled.astype(dtype)


def _pack_labels(batch: GraphBatch, arrays: PageArrays) -> list[str] | None:
    if not batch.has_labels:
        return None
    if len(batch.label_columns) > 1:  # there is room for one, such as the element
        batch = batch.with_label_columns(batch.label_columns[0])
    used, codes = np.unique(batch.labels, return_inverse=True)
    arrays.add_codes("labels", codes.reshape(-1))
    return [str(batch.label_names[code]) for code in used]


def _pack_attributes(batch: GraphBatch, arrays: PageArrays) -> list[dict[str, Any]]:
    header = []
    names: Any = [f"attribute {place + 1}" for place in range(batch.n_attributes)]
    known = batch.reading.options.get("attributes") if batch.reading is not None else None
    if isinstance(known, list | tuple) and len(known) == batch.n_attributes:
        names = known
    for place in range(min(batch.n_attributes, MOST_ATTRIBUTES)):
        key = f"attribute{place}"
        scale = arrays.add_scaled(key, batch.attributes[:, place])
        header.append({"key": key, "name": str(names[place]), **scale})
    return header


def _pack_formulas(
    batch: GraphBatch, edge_ptr: Ints, formulas: Sequence[Formula | None], arrays: PageArrays
) -> list[str] | None:
    if not any(own is not None for own in formulas):
        return None
    orders = np.zeros(int(edge_ptr[-1]), np.uint8)
    codes = np.zeros(batch.n_nodes, np.int64)
    names: dict[str, int] = {"": 0}
    for graph, own in enumerate(formulas):
        if own is not None:
            orders[edge_ptr[graph] : edge_ptr[graph + 1]] = own.orders
            start = int(batch.node_ptr[graph])
            for atom, text in enumerate(own.texts, start):
                codes[atom] = names.setdefault(text, len(names))
    arrays.add("formulas", np.array([own is not None for own in formulas], np.uint8))
    arrays.add("orders", orders)
    arrays.add_codes("texts", codes)
    return list(names)
