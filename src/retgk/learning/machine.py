"""What every trained machine comes down to: a linear function of kernel values."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats

__all__ = ["Machine"]


class Machine(NamedTuple):
    """``f(G) = sum_s dual_coef[:, s] K(G, support_s) + intercept``."""

    support: NDArray[np.int64]
    """Columns of the kernel that are needed, shape (n_support,)."""
    dual_coef: Floats
    """Coefficients, shape (n_outputs, n_support)."""
    intercept: Floats
    """Shape (n_outputs,)."""

    def decisions(self, rows: Floats) -> Floats:
        """Values of graphs from their kernel with the support, shape (n, n_outputs)."""
        # einsum in place of @: BLAS gives other last bits for other numbers of rows, and a graph
        # is to get the same value wherever it stands
        return np.asarray(np.einsum("ns,os->no", rows, self.dual_coef) + self.intercept)
