"""Small products in one call of the native library, with plans that are made once for each number of bits."""

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from exactla.core.moduli import residue_base
from exactla.formats import BigIntegerFormat, FloatFormat, Format
from exactla.libraries.base import Source
from exactla.libraries.bits import UNSIGNED
from exactla.results import Rounding
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import Array, Instructions
from exactla_backends.kernels import tables

MOST_ENTRIES = 1 << 16
"""Entries of the operands, the right one twice as it is packed, and of the result of one product, n = 128 of square
ones, above which the general path, which shares a product among threads, is as quick."""

_MODULI, _OCTET_LIMIT = 32, 256
_JOB = struct.Struct("12q")


class _Plan(ctypes.Structure):
    _fields_ = (("residues", library.ResidueTable), ("crt", library.CrtTable), ("constants", library.Pointer))


class Direct:
    """The direct path of one instruction set."""

    def __init__(self, instructions: Instructions) -> None:
        limits = library.limits()
        self._call = instructions.bound("direct", ctypes.c_char_p)
        self._depth, self._limbs = limits.depth, limits.plan_limbs
        self._plans = (ctypes.c_void_p * (limits.plan_bits * limits.plan_limbs))()
        self._plans_address = ctypes.addressof(self._plans)
        self._owners: dict[int, tuple[_Plan, Any, Any, Any]] = {}

    def product(
        self, left: Source, right: Source, transposed: bool, format: FloatFormat, roundings: Sequence[Rounding]
    ) -> list[Array] | None:
        """Encodings of left @ right, or left @ right.T, for each rounding; None where it is not for here."""
        if not self._takes(left, right, transposed) or len(roundings) > 2:
            return None
        columns = right.shape[-2 if transposed else -1]
        results = np.empty((len(roundings), *left.shape[:-1], columns), UNSIGNED[format.bits // 8])
        arrays = left.library.host_encodings(left), right.library.host_encodings(right), results
        code = self._run(arrays, (left.format, right.format, format), transposed, roundings)
        return list(results) if code == 0 else None

    def _takes(self, left: Source, right: Source, transposed: bool) -> bool:
        a, b = left.shape, right.shape
        axes = len(a)
        if axes != len(b) or not 2 <= axes <= 3 or (axes == 3 and a[0] != b[0]) or left.complex or right.complex:
            return False
        if isinstance(left.format, BigIntegerFormat) or isinstance(right.format, BigIntegerFormat):
            return False
        rows, depth, columns = a[-2], a[-1], b[-2 if transposed else -1]
        entries = (rows + 2 * columns) * max(depth, self._depth) + rows * columns
        return entries <= MOST_ENTRIES and columns > 0 and 0 not in a

    def _run(
        self,
        arrays: tuple[Array, Array, Array],
        formats: tuple[Format, Format, Format],
        transposed: bool,
        roundings: Sequence[Rounding],
    ) -> int:
        """What the last call returned, which is above 0 where there is no plan; see xl_native_direct."""
        left, right, results = arrays
        # they hold what the addresses of the job point to
        capsules = left.__array_struct__, right.__array_struct__, results.__array_struct__
        job = _JOB.pack(
            *map(_description, capsules),
            *map(_format, formats),
            transposed,
            self._plans_address,
            library.wanted_threads(),
            len(roundings),
            tables.ROUNDINGS[roundings[0]],
            tables.ROUNDINGS[roundings[-1]],
        )
        while (code := self._call(job)) > 0:
            if not self._add_plan(code - 1):
                break
        return code

    def _add_plan(self, number: int) -> bool:
        """Make the plan of that number; returns whether it is for this path."""
        bits, limbs = divmod(number, self._limbs)
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


# Where NumPy describes an array to C: what the capsule `__array_struct__` holds, as long as it lives.
_description = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi), ((1, "capsule"), (1, "name", None))
)

_FORMATS: dict[str, tuple[int, Array]] = {}


def _format(format: Format) -> int:
    """The address of a format's table, which lives as long as the process."""
    if format.name not in _FORMATS:
        table = tables.format_table(format)
        _FORMATS[format.name] = library.pointer(table), table
    return _FORMATS[format.name][0]
