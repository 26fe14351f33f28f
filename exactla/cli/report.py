"""Text for the terminal: versions, shapes, sizes and aligned columns."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import exactla

VERSION = f"exactla {exactla.__version__} (bits version {exactla.BITS_VERSION})"

_UNITS = {"": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("kmgt", start=1)
    for suffix, base in (("", 1024), ("i", 1024), ("ib", 1024), ("b", 1000))
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.ASCII)


def parse_bytes(text: str) -> int:
    """A number of bytes from text such as ``2GiB``, ``500 MB`` or ``1048576``.

    ``K``, ``M``, ``G`` and ``T`` alone are powers of 1024, as in other tools; ``kB``, ``MB``, ... are powers of 1000.

    Raises
    ------
    ValueError
        Not such a text, or less than one byte.
    """
    match = _SIZE.fullmatch(text.strip().lower())
    unit = None if match is None else _UNITS.get("" if match[2] in ("b", "bytes") else match[2])
    size = 0 if match is None or unit is None else int(Fraction(match[1]) * unit)
    if size < 1:
        raise ValueError(f"{text!r} is not a size in bytes such as 2GiB or 500MB")
    return size


def describe(array: npt.NDArray[Any]) -> str:
    """Shape and dtype: ``3 x 4 float64``."""
    kind = "Python integers" if array.dtype.hasobject else array.dtype.name
    return f"{' x '.join(map(str, array.shape)) or 'scalar'} {kind}"


def widths(lo: npt.NDArray[Any], hi: npt.NDArray[Any]) -> str:
    """How far apart the ends of an enclosure are: ``at most 1 ulp; 3 of 16 entries (18.8%) are exact``."""
    numbers = ~(np.isnan(lo) | np.isnan(hi))
    if not lo.size:
        return "no entries"
    if not numbers.any():
        return "every entry is NaN"
    lo_numbers: npt.NDArray[Any] = lo[numbers]
    hi_numbers: npt.NDArray[Any] = hi[numbers]
    parts = [(lo_numbers, hi_numbers)]
    if lo.dtype.kind == "c":
        parts = [(lo_numbers.real, hi_numbers.real), (lo_numbers.imag, hi_numbers.imag)]
    widest = max(int(exactla.width_ulps(*part).max()) for part in parts)
    exact = int((lo_numbers == hi_numbers).sum())
    undefined = lo.size - lo_numbers.size
    nan = f"; {undefined:,} NaN" if undefined else ""
    share = f"{exact:,} of {lo.size:,} entries ({100 * exact / lo.size:.1f}%) are exact, lo == hi"
    return f"at most {widest:,} ulp{'s' * (widest != 1)}; {share}{nan}"


def seconds(duration: float) -> str:
    """A duration with three digits and a unit: ``1.23 ms``."""
    return f"{duration:.3g} s" if duration >= 1 else f"{duration * 1e3:.3g} ms"


def rows(pairs: Sequence[tuple[str, str]], *, indent: str = "") -> str:
    """Labels and texts in two aligned columns."""
    width = max(len(label) for label, _ in pairs)
    return "\n".join(f"{indent}{label:<{width}}  {text}" for label, text in pairs)


def table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table with aligned columns and a rule under its header."""
    widths = [max(len(line[i]) for line in (header, *body)) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *body]
    return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)
