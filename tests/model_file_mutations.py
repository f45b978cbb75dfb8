"""Array files that were damaged, or changed by somebody who knows the format."""

import json

import numpy as np
from safetensors.numpy import load, save

from retgk._runtime.array_files import _digest, array_digest


def parts_of(data):
    """What a file says of itself, as `write_arrays` put it, and its arrays."""
    length = int.from_bytes(data[:8], "little")
    text = json.loads(data[8 : 8 + length])["__metadata__"]["retgk"]
    return json.loads(text.partition(" ")[2]), load(data)


def packed(about, arrays):
    """A file of these parts; checksums of arrays are as `about` has them."""
    text = json.dumps(about)
    return save(arrays, {"retgk": f"{_digest(text)} {text}"})


def signed(about, arrays):
    """A file whose checksums fit its arrays: the forger's own model."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    digests = {name: array_digest(name, array) for name, array in arrays.items()}
    return packed(about | {"sha256": digests}, arrays)


def with_document(data, change):
    """The file with another document."""
    about, arrays = parts_of(data)
    change(about["document"])
    return signed(about, arrays)


def with_array(data, name, change):
    """The file with another array."""
    about, arrays = parts_of(data)
    return signed(about, arrays | {name: change(arrays[name])})


def flipped(data, rng):
    """Up to eight bits turned over."""
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def flipped_in_the_header(data, rng):
    """Bits turned over in the lengths, names and places of the arrays."""
    end = 8 + int.from_bytes(data[:8], "little")
    start = data.index(b'"shape"') - 100
    first = data[:start] if rng.integers(2) else flipped(data[:8], rng) + data[8:start]
    return first + flipped(data[start:end], rng) + data[end:]


def truncated(data, rng):
    return data[: rng.integers(len(data))]


def overwritten(data, rng):
    """A piece replaced by zeros, noise, or a piece from elsewhere."""
    size = int(rng.integers(1, 200))
    place, other = rng.integers(len(data) - size, size=2)
    pieces = [bytes(size), rng.bytes(size), data[other : other + size]]
    return data[:place] + pieces[rng.integers(3)] + data[place + size :]


def of_another_version(data, rng):
    about, arrays = parts_of(data)
    about["version"] = [4, 0, -1, 10**9, "1", None, True, 1.0, [1]][rng.integers(9)]
    return packed(about, arrays)


def with_swapped_arrays(data, rng):
    """Two arrays that changed places."""
    about, arrays = parts_of(data)
    first, second = rng.choice(sorted(arrays), 2, replace=False)
    arrays[first], arrays[second] = arrays[second], arrays[first]
    return packed(about, arrays)


def with_swapped_arrays_and_digests(data, rng):
    """Two arrays that changed places together with what the document says of them."""
    about, arrays = parts_of(data)
    first, second = rng.choice(sorted(arrays), 2, replace=False)
    for named in (arrays, about["sha256"]):
        named[first], named[second] = named[second], named[first]
    return packed(about, arrays)


def with_other_parts(data, rng):
    """Arrays missing, added or renamed, or bytes in front or behind."""
    about, arrays = parts_of(data)
    name = rng.choice(sorted(arrays))
    others = {key: array for key, array in arrays.items() if key != name}
    changed = [
        lambda: packed(about, others),
        lambda: packed(about, arrays | {"extra": np.zeros(3)}),
        lambda: packed(about, others | {f"../{name}": arrays[name]}),
        lambda: rng.bytes(50) + data,
        lambda: data + rng.bytes(50),
        lambda: save(arrays),
    ]
    return changed[rng.integers(len(changed))]()


def forged_array(data, rng):
    """One array with other numbers, another type or another shape, and checksums that fit."""
    about, arrays = parts_of(data)
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name].copy()
    kind = rng.integers(6)
    if kind == 0 and array.dtype.kind == "f" and array.size:
        array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, 1e300])
    elif kind == 1 and array.size:
        array.flat[rng.integers(array.size)] = -(2**31) if array.dtype.kind != "b" else True
    elif kind == 2:
        array = array[:-1]
    elif kind == 3:
        array = np.ascontiguousarray(array.T)[None]
    elif kind == 4:
        array = array.astype(rng.choice(["f8", "f4", "f2", "i8", "i4", "u1", "?"]))
    else:
        array = np.repeat(array, 2, axis=0)
    return signed(about, arrays | {name: array})


def forged_document(data, rng):
    """One value of the document replaced, removed or added, and checksums that fit."""
    about, arrays = parts_of(data)
    places = places_in(about)
    owner, key = places[rng.integers(len(places))]
    kind = rng.integers(4)
    if kind == 0:
        del owner[key]
    elif kind == 1 and isinstance(owner, dict):
        owner["unheard of"] = owner[key]
    else:
        owner[key] = JUNK[rng.integers(len(JUNK))]
    return packed(about, arrays)


def deep(levels):
    value = []
    for _ in range(levels):
        value = {"tuple": [value]}
    return value


JUNK = [
    *(None, True, -1, 0, 10**30, 2**62, 1e308, 0.5, "", "x", [], {}, [[]], {"class": "os.system"}),
    {"items": ["a", "b", "c"], "dtype": "<U99999999"},
    {"items": [{"class": "Laplacian", "gamma": -1}], "dtype": "O"},
    {"class": "Polynomial", "gamma": 1.0, "degree": 10**18, "coef0": 1.0},
    {"class": "Laplacian", "gamma": [1.0]},
    {"class": "ExactEngine"},
    {"array": "engine_.maps.0.phases"},
    {"blocks": [1, 2, 3, 4, 5]},
    {"tuple": 3},
    {"class": ["tuple"]},
    deep(300),
]


def places_in(value):
    """Every (container, key) in a JSON document."""
    if isinstance(value, dict):
        own = list(value.items())
    elif isinstance(value, list):
        own = list(enumerate(value))
    else:
        return []
    return [(value, key) for key, _ in own] + [
        place for _, item in own for place in places_in(item)
    ]


DAMAGED = {
    flipped: 180,
    flipped_in_the_header: 60,
    truncated: 60,
    overwritten: 60,
    of_another_version: 30,
    with_swapped_arrays: 40,
    with_swapped_arrays_and_digests: 40,
    with_other_parts: 50,
}
"""Ways to damage a file, and how many files of each are tried."""

FORGED = {forged_array: 120, forged_document: 280}
"""Ways to make another file, which may be a good model of its own."""
