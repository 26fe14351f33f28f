"""Reads a Matrix Market file, dense or sparse, through SciPy, which is imported when the first such file is read.

SciPy's reader is quick but lenient: it takes ``1.5x`` for 1.5, reads 1.5 as 1 in an integer matrix, adds up repeated
entries in floating point and ends the process on a dense matrix without rows. So each line is checked before.
"""

import re
import sys
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from exactla.cli.exits import InputError

_INTEGER = rb"[+-]?\d+"
_REAL = rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity|nan))"
_VALUES = {
    "integer": _INTEGER,
    "unsigned-integer": _INTEGER,
    "real": _REAL,
    "double": _REAL,
    "complex": _REAL + rb"\s+" + _REAL,
    "pattern": rb"",
}
_DTYPES = {"integer": np.int64, "unsigned-integer": np.uint64, "complex": np.complex128}


def read_mtx(stream: BinaryIO, name: str) -> npt.NDArray[Any]:
    """The matrix as a dense array: int64, float64 or complex128; the entries of a pattern are 1.

    Raises
    ------
    InputError
        SciPy is missing, a line is malformed, or an entry is given twice: how to round their sum is not defined.
    ValueError
        From SciPy, with the line, for other faults.
    MemoryError
        The dense matrix is too large for any memory.
    """
    try:
        from scipy.io import mminfo, mmread
    except ImportError as error:
        raise InputError(f'{name}: .mtx files need SciPy: pip install "exactla[cli]"') from error
    data = stream.read()
    rows, columns, _, layout, field, _ = mminfo(BytesIO(data))
    _check_lines(data, name, layout, field)
    dtype = np.dtype(_DTYPES.get(field, np.float64))
    needed = rows * columns * dtype.itemsize
    if needed > sys.maxsize:
        raise MemoryError(f"{name}: as a dense matrix, {rows} x {columns} takes {needed:,} bytes")
    if not needed:
        return np.zeros((rows, columns), dtype)
    try:
        matrix = mmread(BytesIO(data), spmatrix=False)
    except OverflowError as error:
        raise InputError(f"{name}: {error} Integers of more than 64 bits can be read from .csv files") from error
    return matrix if layout == "array" else _dense(matrix, name)


def _check_lines(data: bytes, name: str, layout: str, field: str) -> None:
    """Check that each line after the comments and the line of sizes is an entry and nothing else."""
    parts = [rb"\d+", rb"\d+", _VALUES[field]] if layout == "coordinate" else [_VALUES[field]]
    entry = re.compile(rb"\s*(?:" + rb"\s+".join(part for part in parts if part) + rb")?\s*")
    sizes_seen = False
    for number, line in enumerate(data.split(b"\n"), start=1):
        if sizes_seen and not entry.fullmatch(line):
            text = line.strip()[:40].decode(errors="backslashreplace")
            raise InputError(f"{name}: line {number}: {text!r} is not an entry of a {layout} {field} matrix")
        sizes_seen |= bool(line.strip()) and not line.startswith(b"%")


def _dense(matrix: Any, name: str) -> npt.NDArray[Any]:
    places = np.sort(np.ravel_multi_index(matrix.coords, matrix.shape))
    repeated = places[1:][places[1:] == places[:-1]]
    if repeated.size:
        index = ", ".join(str(i + 1) for i in np.unravel_index(int(repeated[0]), matrix.shape))
        raise InputError(f"{name}: the entry ({index}) is given more than once")
    dense: npt.NDArray[Any] = matrix.toarray()
    return dense
