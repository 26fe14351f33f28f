"""Calls the matrix kernels through ctypes: structures as in matrix.h, integer arrays in, residues out."""

import ctypes
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
I64 = ctypes.c_int64
DEPTH, COLUMNS, ALIGNMENT = 64, 16, 64
UNTOUCHED = 77  # what no call may overwrite


class _Term(ctypes.Structure):
    _fields_ = (
        ("left", ctypes.c_void_p),
        ("right", ctypes.c_void_p),
        ("left_modulus", I64),
        ("left_digit", I64),
        ("right_modulus", I64),
        ("right_digit", I64),
        ("depth", I64),
        ("negative", I64),
        ("row", I64),
    )


class _Range(ctypes.Structure):
    _fields_ = (("row_begin", I64), ("row_end", I64), ("column_begin", I64), ("column_end", I64))


class Modulus8(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("modulus", "half", "bias", "reciprocal")),
        ("bytes", ctypes.c_int8 * 4),
        ("offset1", ctypes.c_uint32),
        ("offset2", ctypes.c_uint32),
        ("magic", ctypes.c_uint16),
        ("shift", ctypes.c_uint16),
    )


class Modulus16(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("modulus", "half", "bias", "reciprocal")),
        ("high", ctypes.c_int8 * 12),
        ("low", ctypes.c_int8 * 12),
        ("offset", ctypes.c_uint32),
    )


@dataclass(frozen=True)
class Term:
    """sign * left @ right.T for each modulus: left [P, digits, R, K] and right [P, digits, C, K], int8."""

    sign: int
    left: Array
    right: Array


def _guarded(shape: Sequence[int], dtype: type[np.generic] = np.int8) -> Array:
    """Zeros that end, but for the alignment of their start, where memory ends: what reads or writes on faults."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = -(-size // ALIGNMENT) * ALIGNMENT
    pages = -(-room // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = np.frombuffer(mmap.mmap(-1, pages + mmap.PAGESIZE), np.int8)
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(memory.ctypes.data + pages), ctypes.c_size_t(mmap.PAGESIZE), 0):
        raise OSError("mprotect")
    return memory[pages - room : pages - room + size].view(dtype).reshape(shape)


def _padded(x: Array) -> Array:
    """A copy whose last axis has zeros up to a multiple of DEPTH."""
    padded = _guarded((*x.shape[:-1], -(-x.shape[-1] // DEPTH) * DEPTH))
    padded[..., : x.shape[-1]] = x
    return padded


class Library:
    """The entry points of one shared object."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        for name in ("select", "listed"):
            getattr(self._library, f"xl_matrix_{name}").restype = ctypes.c_void_p
        self._library.xl_matrix_name.restype = ctypes.c_char_p
        for name in ("packed_bytes", "scratch_bytes"):
            getattr(self._library, f"xl_matrix_{name}").restype = I64

    def names(self) -> list[str]:
        """All kernels of the build, the fastest first."""
        found: list[str] = []
        while kernels := self._library.xl_matrix_listed(len(found)):
            found.append(self._library.xl_matrix_name(ctypes.c_void_p(kernels)).decode())
        return found

    def select(self, name: str | None) -> "Kernels | None":
        """The kernels of that name, or the fastest, where they run here."""
        kernels = self._library.xl_matrix_select(None if name is None else name.encode())
        return Kernels(self._library, kernels) if kernels else None

    def modulus8(self, m: int) -> Modulus8 | None:
        constants = Modulus8()
        refused = self._library.xl_matrix_modulus8_set(ctypes.byref(constants), ctypes.c_uint32(m))
        return None if refused else constants

    def modulus16(self, m: int) -> Modulus16 | None:
        constants = Modulus16()
        refused = self._library.xl_matrix_modulus16_set(ctypes.byref(constants), ctypes.c_uint32(m))
        return None if refused else constants


class Kernels:
    """The kernels for one instruction set."""

    def __init__(self, library: ctypes.CDLL, kernels: int) -> None:
        self._library = library
        self._kernels = ctypes.c_void_p(kernels)
        self.name: str = library.xl_matrix_name(self._kernels).decode()

    def check(self) -> int:
        return int(self._library.xl_matrix_check(self._kernels))

    def pack(self, planes: Array) -> Array:
        """The packed form of right planes [P, digits, C, K], K padded, in two calls where there are enough columns."""
        count, digits, columns, depth = planes.shape
        packed = _guarded((count, digits, self._library.xl_matrix_packed_bytes(I64(columns), I64(depth))))
        cut = columns // 2 // COLUMNS * COLUMNS
        for plane, to in zip(
            planes.reshape(count * digits, columns, depth), packed.reshape(count * digits, -1), strict=True
        ):
            for begin, end in ((0, cut), (cut, columns)):
                self._library.xl_matrix_pack(
                    self._kernels,
                    ctypes.c_void_p(plane.ctypes.data),
                    I64(begin),
                    I64(end),
                    I64(depth),
                    ctypes.c_void_p(to.ctypes.data),
                )
        return packed

    def tile(
        self, terms: Sequence[Term], moduli: Sequence[int], digits: int, rows: range, columns: range, gap: int = 0
    ) -> Array:
        """Residues [P, rows, row stride] of a tile, with `gap` more entries a row than the call needs."""
        record = Modulus8 if digits == 1 else Modulus16
        constants = (record * len(moduli))()
        setter = self._library.xl_matrix_modulus8_set if digits == 1 else self._library.xl_matrix_modulus16_set
        for constant, m in zip(constants, moduli, strict=True):
            if setter(ctypes.byref(constant), ctypes.c_uint32(m)):
                raise ValueError(m)
        kept = [(_padded(t.left), self.pack(_padded(t.right))) for t in terms]
        strides = [(left.strides[0], left.strides[1], *right.strides[:2], left.shape[3]) for left, right in kept]
        records = (_Term * len(terms))(
            *(
                _Term(left.ctypes.data, right.ctypes.data, *bytes_and_depth, t.sign < 0, 0)
                for t, (left, right), bytes_and_depth in zip(terms, kept, strides, strict=True)
            )
        )
        row = -(-len(columns) // COLUMNS) * COLUMNS + gap
        residues = _guarded((len(moduli), len(rows), row), np.int8 if digits == 1 else np.int16)
        residues[...] = UNTOUCHED
        sizes = ctypes.c_int(digits), I64(len(rows)), I64(len(columns))
        scratch = _guarded((self._library.xl_matrix_scratch_bytes(self._kernels, *sizes),))
        function = self._library.xl_matrix_tile8 if digits == 1 else self._library.xl_matrix_tile16
        function(
            self._kernels,
            constants,
            I64(len(moduli)),
            records,
            I64(len(terms)),
            _Range(rows.start, rows.stop, columns.start, columns.stop),
            ctypes.c_void_p(residues.ctypes.data),
            I64(len(rows) * row),
            I64(row),
            ctypes.c_void_p(scratch.ctypes.data),
        )
        return residues
