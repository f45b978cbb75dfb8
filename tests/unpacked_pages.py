"""What pages of `explore` hold, read as the pages themselves do."""

import base64
import json
import re
import zlib
from typing import Any

import numpy as np

TYPES = {"u8": np.uint8, "i8": np.int8, "u16": np.uint16, "u32": np.uint32, "f32": np.float32}


def unpacked(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a page, read as the page itself does."""
    data = re.search(r'id="data">([^<]*)<', text)
    assert data is not None
    block = zlib.decompress(base64.b64decode(data[1]))
    length = int.from_bytes(block[:4], "little")
    header = json.loads(block[4 : 4 + length])
    assert (4 + length) % 8 == 0
    arrays = {
        name: np.frombuffer(block, TYPES[own["type"]], own["length"], 4 + length + own["at"])
        for name, own in header["arrays"].items()
    }
    return header, arrays


def nearest_by_sorting(points: Any, k: int) -> Any:
    gaps = np.linalg.norm(points[:, None].astype(float) - points[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    return np.argsort(gaps, axis=1, kind="stable")[:, :k]
