"""Small products in one call of the native library, with plans that are made once for each number of bits."""

import ctypes
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from exactla.core.moduli import OCTET_LIMIT, residue_base
from exactla.formats import BIGINT, FLOAT_FORMATS, INTEGER_FORMATS, FloatFormat
from exactla.libraries.base import Source
from exactla.libraries.bits import UNSIGNED
from exactla.results import Rounding
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import Array, Instructions
from exactla_backends.kernels import tables

MOST_ENTRIES = 1 << 16
"""Entries of the operands, the right one twice as it is packed, and of the result of one product, n = 128 of square
ones, above which the general path, which shares a product among threads, is as quick."""

_MODULI = 32
_JOB = struct.Struct("12q")


class _Plan(ctypes.Structure):
    _fields_ = (("residues", library.ResidueTable), ("crt", library.CrtTable), ("constants", library.Pointer))


class Form(NamedTuple):
    """What products of the same shapes, formats and roundings share."""

    shape: tuple[int, ...]  # of the results of all roundings
    dtype: Any  # of their encodings
    rest: tuple[int, ...]  # the fields of xl_direct after the number of threads
    owned: list[Array]  # what addresses among them point to


class Direct:
    """The direct path of one instruction set."""

    def __init__(self, instructions: Instructions) -> None:
        limits = library.limits()
        self._call = instructions.bound("direct", ctypes.c_char_p)
        self._depth, self._limbs = limits.depth, limits.plan_limbs
        self._plans = (ctypes.c_void_p * (limits.plan_bits * limits.plan_limbs))()
        self._plans_address = ctypes.addressof(self._plans)
        self.form = lru_cache(maxsize=256)(self._form)
        self._owners: dict[int, tuple[_Plan, Any, Any, Any]] = {}

    def product(
        self,
        left: Source,
        right: Source,
        transposed: bool,
        format: FloatFormat,
        roundings: Sequence[Rounding],
        *,
        checks: bool = True,
    ) -> list[Array] | None:
        """Encodings of left @ right, or left @ right.T, for each rounding; None where it is not for here."""
        if left.complex or right.complex:
            return None
        names = left.format.name, right.format.name, format.name
        form = self.form(left.shape, right.shape, transposed, names, tuple(roundings))
        if form is None:
            return None
        results = np.empty(form.shape, form.dtype)
        code = self.run(left.library.host_encodings(left), right.library.host_encodings(right), results, form)
        return list(results) if code == 0 else None

    def run(self, left: Array, right: Array, results: Array, form: Form) -> int:
        """What the last call returned, which is above 0 where there is no plan; see xl_native_direct."""
        # the capsules hold what the addresses of the job point to
        capsules = left.__array_struct__, right.__array_struct__, results.__array_struct__
        job = _JOB.pack(*map(_description, capsules), library.wanted_threads(), *form.rest)
        while (code := self._call(job)) > 0:
            if not self._add_plan(code - 1):
                break
        return code

    def _form(
        self,
        left: tuple[int, ...],
        right: tuple[int, ...],
        transposed: bool,
        formats: tuple[str, str, str],
        roundings: tuple[Rounding, ...],
    ) -> Form | None:
        """What products of these shapes, formats and roundings share; None where they are not for here."""
        axes = len(left)
        if axes != len(right) or not 2 <= axes <= 3 or (axes == 3 and left[0] != right[0]) or len(roundings) > 2:
            return None
        rows, depth, columns = left[-2], left[-1], right[-2 if transposed else -1]
        entries = (rows + 2 * columns) * max(depth, self._depth) + rows * columns
        if entries > MOST_ENTRIES or columns == 0 or 0 in left or BIGINT.name in formats:
            return None
        tables_of = [tables.format_table(FLOAT_FORMATS.get(name) or INTEGER_FORMATS[name]) for name in formats]
        codes = [tables.ROUNDINGS[r] for r in roundings]
        return Form(
            shape=(len(roundings), *left[:-1], columns),
            dtype=UNSIGNED[FLOAT_FORMATS[formats[2]].bits // 8],
            rest=(
                *map(library.pointer, tables_of),
                *(int(transposed), self._plans_address, len(codes), codes[0], codes[-1]),
            ),
            owned=tables_of,
        )

    def _add_plan(self, number: int) -> bool:
        """Make the plan of that number; returns whether it is for this path."""
        bits, limbs = divmod(number, self._limbs)
        base = residue_base(OCTET_LIMIT, bits)
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
