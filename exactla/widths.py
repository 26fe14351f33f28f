"""Widths of enclosures, in representable steps."""

from typing import Any

import numpy as np

from exactla.arrays import agree, read
from exactla.encodings import nan_mask
from exactla.formats import FloatFormat
from exactla.libraries.base import HostArray


def width_ulps(lo: Any, hi: Any) -> Any:
    """The number of representable steps from `lo` to `hi`.

    Parameters
    ----------
    lo, hi : array
        Floating-point arrays of one format and shape, of one library on one device.

    Returns
    -------
    array of int64
        Of the same library and shape: 0 where the ends are equal (-0 equals +0), 1 for neighbours. The infinities
        count as the values next to the largest finite ones. Negative where lo > hi. A width of 2**63 steps or more,
        which only float64 allows, is given as 2**63 - 1.

    Raises
    ------
    TypeError
        An array is complex or not of floating-point numbers, or the formats differ.
    ValueError
        Shapes or devices differ, or an entry is NaN.

    Notes
    -----
    With rank(x) the encoding of |x| as an integer, negated for negative x, the width is rank(hi) - rank(lo).

    Examples
    --------
    >>> import numpy as np
    >>> import exactla as xl
    >>> xl.width_ulps(np.array([1.0, -0.0]), np.array([1.0 + 2**-51, 0.0]))
    array([2, 0])
    """
    sources = read(lo, "lo"), read(hi, "hi")
    agree(*sources)
    low, high = sources
    if not isinstance(low.format, FloatFormat) or low.format != high.format or low.complex or high.complex:
        kinds = [f"{'complex ' if s.complex else ''}{s.format}" for s in sources]
        raise TypeError(f"widths are of two real arrays of one floating-point format, got {kinds[0]} and {kinds[1]}")
    if low.shape != high.shape:
        raise ValueError(f"lo has shape {low.shape} and hi has shape {high.shape}; they must be equal")
    ranks = [_rank(s.library.host_encodings(s), low.format, s.name) for s in sources]
    with np.errstate(over="ignore"):
        width = ranks[1] - ranks[0]
    # a difference that wraps has the sign of neither operand's order
    wrapped = (ranks[1] > ranks[0]) & (width < 0)
    return low.library.from_host_integers(np.where(wrapped, np.iinfo(np.int64).max, width), low)


def _rank(encodings: HostArray, format: FloatFormat, name: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    nan = nan_mask(encodings, format)
    if nan.any():
        index = ", ".join(str(int(i)) for i in np.unravel_index(int(nan.argmax()), nan.shape))
        raise ValueError(f"{name}[{index}] is NaN and has no place in the order")
    words = encodings.astype(np.uint64)
    magnitude = (words & np.uint64((1 << (format.bits - 1)) - 1)).astype(np.int64)
    return np.where(words >> np.uint64(format.bits - 1) != 0, -magnitude, magnitude)
