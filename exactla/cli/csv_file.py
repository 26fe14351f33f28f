"""Reads a CSV file of numbers: integers keep their value whatever their size, decimals become float64."""

import math
import re
from typing import Any, BinaryIO

import gmpy2
import numpy as np
import numpy.typing as npt

from exactla.cli.exits import InputError

# Unlike float(), neither underscores nor digits of other scripts.
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SPECIAL = re.compile(r"[+-]?(inf|infinity|nan)", re.IGNORECASE)

Number = int | float


def read_csv(stream: BinaryIO, name: str) -> npt.NDArray[Any]:
    """The numbers as a matrix: int64, or an object array of Python ints, or float64 if any has a point or exponent.

    Numbers stand between commas, spaces around them are ignored, and so are empty lines at the end.

    Raises
    ------
    InputError
        With the line: not a number (or a header), a line of another length, a number beyond float64, not text.
    """
    text = _text(stream.read(), name).rstrip()
    if not text:
        raise InputError(f"{name}: there are no numbers in it")
    rows: list[list[Number]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        row = [_number(cell.strip(), f"{name}: line {number}", first=number == 1) for cell in line.split(",")]
        if rows and len(row) != len(rows[0]):
            raise InputError(f"{name}: line {number} has {_entries(row)}, line 1 has {_entries(rows[0])}")
        rows.append(row)
    if any(isinstance(entry, float) for row in rows for entry in row):
        return np.array([_floats(row, f"{name}: line {i}") for i, row in enumerate(rows, start=1)], dtype=np.float64)
    try:
        return np.array(rows, dtype=np.int64)
    except OverflowError:
        return np.array(rows, dtype=object)


def _text(data: bytes, name: str) -> str:
    if b"\0" in data:
        raise InputError(f"{name}: line {data[: data.index(0)].count(10) + 1} has a zero byte: this is not a text file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: line {data[: error.start].count(10) + 1} is not UTF-8 text") from error


def _entries(row: list[Number]) -> str:
    return f"{len(row)} entr{'y' if len(row) == 1 else 'ies'}"


def _number(cell: str, place: str, *, first: bool) -> Number:
    if _INTEGER.fullmatch(cell):
        return int(gmpy2.mpz(cell))  # int(cell) refuses more than 4,300 digits
    if _SPECIAL.fullmatch(cell):
        return float(cell)
    if not _DECIMAL.fullmatch(cell):
        shown = repr(cell) if len(cell) <= 40 else f"{cell[:40]!r}..."
        hint = " (a header? the file must hold numbers only)" if first and cell else ""
        raise InputError(f"{place}: {f'{shown} is not a number' if cell else 'an entry is empty'}{hint}")
    value = float(cell)
    if math.isinf(value):
        raise InputError(f"{place}: {cell} is beyond float64")
    return value


def _floats(row: list[Number], place: str) -> list[float]:
    try:
        return [float(entry) for entry in row]
    except OverflowError:
        raise InputError(f"{place}: an integer is beyond float64, which the decimals of this file ask for") from None
