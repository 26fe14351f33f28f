"""Powers of two that bring the largest entry of every row and column of a matrix into [1/2, 1)."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

NOTHING = -(1 << 60)
"""What stands for the binary exponent of 0."""


def scales(exponents: Ints) -> tuple[Ints, Ints]:
    """Exponents r and c such that 2**(r_i + c_j) a_ij is below 1, and 1/2 or more once in every row and column.

    Columns are scaled first and then rows, where a row can only grow up to 1, which leaves the columns below it.

    Parameters
    ----------
    exponents : int64 array, shape (n, m)
        e with 2**(e - 1) <= |a_ij| < 2**e, `NOTHING` for 0. No row or column is all 0.
    """
    columns = -exponents.max(axis=0, initial=NOTHING)
    rows = -(exponents + columns).max(axis=1, initial=2 * NOTHING)
    return rows, columns
