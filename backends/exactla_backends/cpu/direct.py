"""Small products in one call of the native library, with plans that are made once for each number of bits."""

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from exactla.core.moduli import residue_base
from exactla.formats import BigIntegerFormat, FloatFormat, Format
from exactla.libraries.base import Source
from exactla.results import Rounding
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import Array, Instructions
from exactla_backends.kernels import tables

MOST_ENTRIES = 1 << 13
"""Entries of both operands, above which the general path, which has threads, is as quick."""

_BITS, _LIMBS, _MODULI, _OCTET_LIMIT = 216, 8, 32, 256
_JOB = struct.Struct("20q")
_UNSIGNED = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


class _Plan(ctypes.Structure):
    _fields_ = (("residues", library.ResidueTable), ("crt", library.CrtTable), ("constants", library.Pointer))


class Direct:
    """The direct path of one instruction set."""

    def __init__(self, instructions: Instructions) -> None:
        self._call = instructions.bound("direct", ctypes.c_char_p)
        self._plans = (ctypes.c_void_p * (_BITS * _LIMBS))()
        self._plans_address = ctypes.addressof(self._plans)
        self._owners: dict[int, tuple[_Plan, Any, Any, Any]] = {}

    def product(
        self, left: Source, right: Source, transposed: bool, format: FloatFormat, roundings: Sequence[Rounding]
    ) -> list[Array] | None:
        """Encodings [R, C] of left @ right, or left @ right.T, for each rounding; None where it is not for here."""
        if left.complex or right.complex or len(left.shape) != 2 or len(right.shape) != 2 or len(roundings) > 2:
            return None
        if isinstance(left.format, BigIntegerFormat) or isinstance(right.format, BigIntegerFormat):
            return None
        a = left.library.host_encodings(left)
        b = right.library.host_encodings(right)
        if a.size + b.size > MOST_ENTRIES or not (a.size and b.size):
            return None
        rows, depth = a.shape
        columns, places = (b.shape[0], b.strides) if transposed else (b.shape[1], b.strides[::-1])
        octets = format.bits // 8
        results = np.empty((len(roundings), rows, columns), _UNSIGNED[octets])
        start = _address(results)
        encodings: list[int] = []
        for number, rounding in enumerate(roundings):
            encodings += start + number * rows * columns * octets, columns * octets, tables.ROUNDINGS[rounding]
        job = _JOB.pack(
            *(_address(a), *a.strides, _format(left.format)),
            *(_address(b), *places, _format(right.format)),
            *(rows, columns, depth, _format(format), self._plans_address, len(roundings)),
            *(encodings if len(roundings) == 2 else (*encodings, 0, 0, 0)),
        )
        while (code := self._call(job)) > 0:
            if not self._add_plan(code - 1):
                return None
        return list(results) if code == 0 else None

    def _add_plan(self, number: int) -> bool:
        """Make the plan of that number; returns whether it is for this path."""
        bits, limbs = divmod(number, _LIMBS)
        base = residue_base(_OCTET_LIMIT, bits)
        if base is None or len(base.moduli) > _MODULI:
            return False
        residues, crt = library.residue_table(base, limbs, 1, None), library.crt_table(base, 1)
        constants = library.product_constants(base, 1)
        plan = _Plan(residues, crt, library.pointer(constants))
        # another thread may have made the same, and a call may be using it
        kept = self._owners.setdefault(number, (plan, residues, crt, constants))
        self._plans[number] = ctypes.addressof(kept[0])
        return True


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


_FORMATS: dict[str, tuple[int, Array]] = {}


def _format(format: Format) -> int:
    """The address of a format's table, which lives as long as the process."""
    if format.name not in _FORMATS:
        table = tables.format_table(format)
        _FORMATS[format.name] = _address(table), table
    return _FORMATS[format.name][0]
