"""Names of the array types that most modules pass around."""

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
