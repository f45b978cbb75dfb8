"""Model files that were damaged, or changed by somebody who knows the format."""

import io
import json
import zipfile

import numpy as np

from retgk._runtime.array_files import array_digest, text_digest


def members_of(data):
    """Content of every member of a zip file, in order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members, compression=zipfile.ZIP_STORED):
    """A zip file of (name, content) pairs."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return buffer.getvalue()


def signed(members):
    """A zip file whose digests fit its members again: the forger's own model."""
    document = json.loads(members["model.json"])
    listing = document.get("arrays")
    for name, entry in listing.items() if isinstance(listing, dict) else ():
        content = members.get(f"arrays/{name}.npy")
        if content is not None and isinstance(entry, dict):
            array = np.load(io.BytesIO(content))
            shape = list(array.shape)
            entry |= {"dtype": array.dtype.str, "shape": shape, "sha256": array_digest(name, array)}
    text = json.dumps(document).encode()
    header = json.loads(members["header.json"]) | {"model_sha256": text_digest(text)}
    return zipped((members | {"model.json": text, "header.json": json.dumps(header)}).items())


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def flipped(data, rng):
    """Up to eight bits turned over."""
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def flipped_at_the_end(data, rng):
    """Bits turned over in the list of members."""
    place = data.rindex(b"PK\x05\x06") - rng.integers(0, 200)
    return data[:place] + flipped(data[place:], rng)


def truncated(data, rng):
    return data[: rng.integers(len(data))]


def overwritten(data, rng):
    """A piece replaced by zeros, noise, or a piece from elsewhere."""
    size = int(rng.integers(1, 200))
    place, other = rng.integers(len(data) - size, size=2)
    pieces = [bytes(size), rng.bytes(size), data[other : other + size]]
    return data[:place] + pieces[rng.integers(3)] + data[place + size :]


def of_another_version(data, rng):
    members = members_of(data)
    header = json.loads(members["header.json"])
    header["version"] = [4, 0, -1, 10**9, "1", None, True, 1.0, [1]][rng.integers(9)]
    return zipped((members | {"header.json": json.dumps(header)}).items())


def with_swapped_arrays(data, rng):
    """Two arrays that changed places."""
    members = members_of(data)
    first, second = two_arrays(members, rng)
    members[first], members[second] = members[second], members[first]
    return zipped(members.items())


def with_swapped_arrays_and_digests(data, rng):
    """Two arrays that changed places together with what model.json says of them."""
    members = members_of(data)
    first, second = two_arrays(members, rng)
    members[first], members[second] = members[second], members[first]
    document = json.loads(members["model.json"])
    listing = document["arrays"]
    a, b = (name.removeprefix("arrays/").removesuffix(".npy") for name in (first, second))
    listing[a], listing[b] = listing[b], listing[a]
    text = json.dumps(document).encode()
    header = json.loads(members["header.json"]) | {"model_sha256": text_digest(text)}
    return zipped((members | {"model.json": text, "header.json": json.dumps(header)}).items())


def two_arrays(members, rng):
    arrays = [name for name in members if name.startswith("arrays/")]
    return rng.choice(arrays, 2, replace=False)


def with_other_members(data, rng):
    """Members missing, doubled, added, renamed, compressed, or a file in front or behind."""
    members = list(members_of(data).items())
    place = int(rng.integers(len(members)))
    name, content = members[place]
    changed = [
        lambda: zipped(members[:place] + members[place + 1 :]),
        lambda: zipped([*members, ("arrays/extra.npy", npy(np.zeros(3)))]),
        lambda: zipped([*members[:place], (f"../{name}", content), *members[place + 1 :]]),
        lambda: zipped(members, zipfile.ZIP_DEFLATED),
        lambda: rng.bytes(50) + data,
        lambda: data + rng.bytes(50),
        lambda: with_doubled_member(data),
    ]
    return changed[rng.integers(len(changed))]()


def with_doubled_member(data):
    """The first array listed under the name of the second; Python would warn of writing this."""
    names = [name.encode() for name in members_of(data) if name.startswith("arrays/")]
    same = [(a, b) for a in names for b in names if a < b and len(a) == len(b)]
    return data.replace(*same[0]) if same else data.replace(b"model.json", b"heade.json")


def forged_array(data, rng):
    """One array with other numbers, another type or another shape, and digests that fit."""
    members = members_of(data)
    name = two_arrays(members, rng)[0]
    array = np.load(io.BytesIO(members[name]))
    kind = rng.integers(6)
    if kind == 0 and array.dtype.kind == "f":
        array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, 1e300])
    elif kind == 1:
        array.flat[rng.integers(array.size)] = -(2**31)
    elif kind == 2:
        array = array[:-1]
    elif kind == 3:
        array = np.ascontiguousarray(array.T)[None]
    elif kind == 4:
        array = array.astype(rng.choice(["f8", "f4", "i8", "i4", "c16", "S3", "?"]))
    else:
        array = np.repeat(array, 2, axis=0)
    return signed(members | {name: npy(array)})


def forged_document(data, rng):
    """One value of model.json replaced, removed or added, and digests that fit."""
    members = members_of(data)
    document = json.loads(members["model.json"])
    owner, key = places_in(document)[rng.integers(len(places_in(document)))]
    kind = rng.integers(4)
    if kind == 0:
        del owner[key]
    elif kind == 1 and isinstance(owner, dict):
        owner["unheard of"] = owner[key]
    else:
        owner[key] = JUNK[rng.integers(len(JUNK))]
    return signed(members | {"model.json": json.dumps(document).encode()})


def deep(levels):
    value = []
    for _ in range(levels):
        value = {"kind": "tuple", "items": [value]}
    return value


JUNK = [
    *(None, True, -1, 0, 10**30, 2**62, 1e308, 0.5, "", "x", [], {}, [[]], {"kind": "os.system"}),
    {"kind": "array", "dtype": "<U99999999", "items": ["a", "b", "c"]},
    {"kind": "array", "dtype": "O", "items": [{"kind": "Laplacian", "gamma": -1}]},
    {"kind": "Polynomial", "gamma": 1.0, "degree": 10**18, "coef0": 1.0},
    {"kind": "Laplacian", "gamma": [1.0]},
    {"kind": "tuple", "items": 3},
    {"kind": ["tuple"]},
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
    flipped_at_the_end: 60,
    truncated: 60,
    overwritten: 60,
    of_another_version: 30,
    with_swapped_arrays: 40,
    with_swapped_arrays_and_digests: 40,
    with_other_members: 50,
}
"""Ways to damage a file, and how many files of each are tried."""

FORGED = {forged_array: 120, forged_document: 280}
"""Ways to make another file, which may be a good model of its own."""
