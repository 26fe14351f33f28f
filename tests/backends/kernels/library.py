"""Calls the host kernels through ctypes: structures as in xl_host.h, arrays in, arrays out. Knows no backend."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.core.moduli import ResidueBase
from exactla.formats import FloatFormat, Format
from exactla.results import Rounding
from exactla_backends.kernels import tables

Array = NDArray[Any]
I64 = ctypes.c_int64


class _Operand(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("rows", I64),
        ("depth", I64),
        ("row_stride", I64),
        ("depth_stride", I64),
        ("limb_stride", I64),
        ("limbs", I64),
        ("format", ctypes.c_void_p),
        ("exponents", ctypes.c_void_p),
        ("bits", I64),
        ("checks", I64),
    )


class _ResidueTable(ctypes.Structure):
    _fields_ = (
        ("moduli", I64),
        ("limbs", I64),
        ("constants", ctypes.c_void_p),
        ("weights", ctypes.c_void_p),
        ("powers", ctypes.c_void_p),
        ("blocks", I64),
    )


class _Planes(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("plane_stride", I64), ("row_stride", I64), ("depth", I64))


class _IntervalSide(ctypes.Structure):
    _fields_ = (("pieces", ctypes.c_void_p), ("limbs", I64), ("rows", I64), ("depth", I64))


class _Results(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("octets", I64),
        ("plane_stride", I64),
        ("row_stride", I64),
        ("rows", I64),
        ("columns", I64),
    )


class _CrtTable(ctypes.Structure):
    _fields_ = (
        ("moduli", I64),
        ("limbs", I64),
        ("groups", I64),
        ("quotient_octets", I64),
        ("constants", ctypes.c_void_p),
        ("weights", ctypes.c_void_p),
    )


class _Encodings(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("row_stride", I64), ("rounding", I64))


class _Exponents(ctypes.Structure):
    _fields_ = (("rows", ctypes.c_void_p), ("columns", ctypes.c_void_p), ("shift", I64))


def _pointer(array: Array | None) -> int | None:
    return None if array is None else array.ctypes.data


def operand(x: Array, format: Format | None, exponents: Array | None = None, bits: int = 0) -> _Operand:
    """A matrix of encodings [R, K], or of limbs [L, R, K] where format is None."""
    limbs = 0 if format is not None else len(x)
    strides = (0, *x.strides) if format is not None else x.strides
    rows, depth = x.shape[-2:]
    found = _Operand(
        _pointer(x),
        rows,
        depth,
        strides[1],
        strides[2],
        strides[0],
        limbs,
        _pointer(tables.format_table(format)),
        _pointer(exponents),
        bits,
    )
    found.kept = (x, exponents)
    return found


def _residue_table(table: tables.ResidueTable) -> _ResidueTable:
    blocks = 0 if table.powers is None else table.powers.shape[-1]
    return _ResidueTable(
        table.moduli,
        table.limbs,
        _pointer(table.constants),
        _pointer(table.weights),
        _pointer(table.powers),
        blocks,
    )


def _planes(planes: Array) -> _Planes:
    return _Planes(_pointer(planes), planes.strides[0], planes.strides[1], planes.shape[2])


def _results(residues: Array) -> _Results:
    return _Results(_pointer(residues), residues.itemsize, *residues.strides[:2], *residues.shape[1:])


def _crt_table(table: tables.CrtTable) -> _CrtTable:
    return _CrtTable(
        table.moduli,
        table.limbs,
        table.groups,
        table.quotient_octets,
        _pointer(table.constants),
        _pointer(table.weights),
    )


class Kernels:
    """The entry points of one shared object."""

    def __init__(self, path: Path, target: str) -> None:
        self._library = ctypes.CDLL(str(path))
        self._target = target

    def _call(self, name: str, *arguments: Any) -> int:
        function = getattr(self._library, f"xl_{name}_{self._target}")
        function.restype = I64
        return int(function(*arguments))

    def scan(self, x: Array, format: Format | None) -> tuple[Array, Array, int]:
        """Lowest and highest exponents of the rows, and the number of entries that are not finite."""
        rows = x.shape[-2]
        lowest, highest = np.full(rows, 1 << 40, np.int64), np.full(rows, -(1 << 40), np.int64)
        bad = self._call(
            "scan",
            ctypes.byref(operand(x, format)),
            I64(0),
            I64(rows),
            ctypes.c_void_p(_pointer(lowest)),
            ctypes.c_void_p(_pointer(highest)),
        )
        return lowest, highest, bad

    def first_nonfinite(self, x: Array, format: Format) -> int:
        return self._call("first_nonfinite", ctypes.byref(operand(x, format)), I64(0), I64(x.shape[0]))

    def residues(self, x: _Operand, table: tables.ResidueTable, depth: int, begin: int = 0) -> tuple[Array, int]:
        """Planes [planes, R, depth], and the number of entries that break their scan; rows before `begin` are 99."""
        planes = np.full((table.planes, x.rows, depth), 99, np.int8)
        broken = self._call(
            "residues16" if table.digits else "residues8",
            ctypes.byref(x),
            ctypes.byref(_residue_table(table)),
            ctypes.byref(_planes(planes)),
            I64(begin),
            I64(x.rows),
        )
        return planes, broken

    def interval_residues(
        self, first: _Operand, second: _Operand, table: tables.ResidueTable, *, endpoints: bool
    ) -> tuple[Array, int, int]:
        """Planes [7, planes, R, K], and how many entries break their scan, and how many are invalid."""
        planes = np.full((7, table.planes, first.rows, first.depth), 99, np.int8)
        invalid = I64(0)
        broken = self._call(
            "interval_residues",
            ctypes.byref(first),
            ctypes.byref(second),
            ctypes.c_int32(endpoints),
            ctypes.c_int32(2 if table.digits else 1),
            ctypes.byref(_residue_table(table)),
            (_Planes * 7)(*map(_planes, planes)),
            I64(0),
            I64(first.rows),
            ctypes.byref(invalid),
        )
        return planes, broken, invalid.value

    def interval_integers(
        self, first: _Operand, second: _Operand, limbs: int, *, endpoints: bool
    ) -> tuple[Array, int, int]:
        """Pieces [7, limbs, R, K], and how many entries break their scan, and how many are invalid."""
        pieces = np.full((7, limbs, first.rows, first.depth), 99, np.uint32)
        invalid = I64(0)
        broken = self._call(
            "interval_integers",
            ctypes.byref(first),
            ctypes.byref(second),
            ctypes.c_int32(endpoints),
            I64(limbs),
            ctypes.c_void_p(_pointer(pieces)),
            I64(0),
            I64(first.rows),
            ctypes.byref(invalid),
        )
        return pieces, broken, invalid.value

    def hull_excess(self, left: Array, right: Array, base: ResidueBase, octets: int) -> Array:
        """Planes [2, planes, R, C] of the excess at the lower and the upper end, from the pieces of both sides."""
        limbs = left.shape[1] + right.shape[1] + 1
        table = tables.residues8(base, limbs) if octets == 1 else tables.residues16(base, limbs)
        planes = np.full((2, table.planes, left.shape[2], right.shape[2]), 99, np.int8)
        sides = [_IntervalSide(_pointer(x), *x.shape[1:]) for x in (left, right)]
        self._call(
            "hull_excess",
            ctypes.byref(sides[0]),
            ctypes.byref(sides[1]),
            ctypes.c_int32(octets),
            ctypes.byref(_residue_table(table)),
            (_Planes * 2)(*map(_planes, planes)),
            I64(0),
            I64(left.shape[2]),
        )
        return planes

    def classify(self, x: Array, format: Format | None) -> Array:
        classes = np.full((7, 1, *x.shape[-2:]), 99, np.int8)
        self._call(
            "classify",
            ctypes.byref(operand(x, format)),
            (_Planes * 7)(*map(_planes, classes)),
            I64(0),
            I64(x.shape[-2]),
        )
        return classes[:, 0]

    def integers(self, residues: Array, base: ResidueBase) -> list[int]:
        table = tables.crt(base, residues.itemsize)
        limbs = np.zeros((residues[0].size, table.limbs), np.uint32)
        self._call(
            "integers",
            ctypes.byref(_results(residues)),
            ctypes.byref(_crt_table(table)),
            ctypes.c_void_p(_pointer(limbs)),
            I64(1),
            I64(table.limbs),
            I64(0),
            I64(residues.shape[1]),
        )
        return [int.from_bytes(row.astype("<u4").tobytes(), "little", signed=True) for row in limbs]

    def round(
        self,
        residues: Array,
        base: ResidueBase,
        rows: Array,
        columns: Array,
        format: FloatFormat,
        roundings: Sequence[Rounding],
        shift: int = 0,
    ) -> list[Array]:
        shape = residues.shape[1:]
        found = [np.full(shape, 99, f"u{format.bits // 8}") for _ in roundings]
        targets = (_Encodings * len(found))(
            *(_Encodings(_pointer(x), x.strides[0], tables.ROUNDINGS[r]) for x, r in zip(found, roundings, strict=True))
        )
        self._call(
            "round",
            ctypes.byref(_results(residues)),
            ctypes.byref(_crt_table(tables.crt(base, residues.itemsize))),
            ctypes.byref(_Exponents(_pointer(rows), _pointer(columns), shift)),
            ctypes.c_void_p(_pointer(tables.format_table(format))),
            targets,
            I64(len(found)),
            I64(0),
            I64(shape[0]),
        )
        return found

    def mark(self, encodings: Array, special: Sequence[Array], base: ResidueBase, format: FloatFormat) -> None:
        self._call(
            "mark",
            (_Results * 3)(*map(_results, special)),
            ctypes.byref(_crt_table(tables.crt(base, special[0].itemsize))),
            ctypes.c_void_p(_pointer(tables.format_table(format))),
            ctypes.byref(_Encodings(_pointer(encodings), encodings.strides[0], 0)),
            I64(0),
            I64(encodings.shape[0]),
        )

    def combine(self, terms: Sequence[tuple[int, Array]], base: ResidueBase) -> Array:
        first = terms[0][1]
        result = np.full_like(first, 99)
        signs = np.array([sign for sign, _ in terms], np.int64)
        self._call(
            "combine",
            ctypes.c_void_p(_pointer(result)),
            (_Results * len(terms))(*(_results(planes) for _, planes in terms)),
            ctypes.c_void_p(_pointer(signs)),
            I64(len(terms)),
            ctypes.byref(_crt_table(tables.crt(base, first.itemsize))),
            I64(0),
            I64(first.shape[1]),
        )
        return result
