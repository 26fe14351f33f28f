"""The NumPy backend: memory of the host, and the verbs as calls into the files beside this one."""

import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Engine, IntervalPieces, Operand, Pairs, Scanned, SpecialPieces, Tile
from exactla.core.moduli import ResidueBase
from exactla.formats import BigIntegerFormat, FloatFormat
from exactla.libraries.base import Source
from exactla.results import Rounding
from exactla_backends.numpy import engines, interval, rounding, special
from exactla_backends.numpy import limbs as mp
from exactla_backends.numpy import residues as rns
from exactla_backends.numpy import scan as scanning
from exactla_backends.numpy.chunks import CHUNK, chunks
from exactla_backends.numpy.encodings import Ints, decode
from exactla_backends.numpy.threads import for_each, threads

Array = NDArray[Any]
_ANY_MEMORY = 1 << 62


class NumpyBackend:
    """See `exactla.backend.Backend`: each method has its postcondition there."""

    name = "numpy"
    engines: tuple[Engine, ...] = engines.ENGINES

    # ---- memory ----------------------------------------------------------------------------------------------------
    def scope(self, like: Source) -> AbstractContextManager[None]:
        return nullcontext()

    def view(self, source: Source, *, part: Literal["real", "imag"], transpose: bool) -> Operand:
        encodings = source.library.host_encodings(source, part)
        if encodings.ndim == 1:
            encodings = encodings[None]
        elif transpose:
            encodings = encodings.swapaxes(-1, -2)
        if encodings.ndim > 3 or (encodings.ndim == 3 and encodings.strides[0] == 0):
            encodings = _collapse(encodings)
        stacked = encodings.reshape(-1, *encodings.shape[-2:]) if encodings.size else _empty_stack(encodings)
        stacks, rows, depth = stacked.shape
        if isinstance(source.format, BigIntegerFormat):
            limbs, bits = mp.from_integers(stacked)
            return Operand(limbs, None, (stacks, rows, depth), bits=bits)
        return Operand(stacked, source.format, (stacks, rows, depth))

    def block(self, operand: Operand, stacks: slice, rows: slice, depth: slice) -> Operand:
        shape = operand.shape
        if (stacks, rows, depth) == (slice(0, shape[0]), slice(0, shape[1]), slice(0, shape[2])):
            return operand
        index = (stacks, rows, depth)
        part = operand.buffer[(slice(None), *index) if operand.format is None else index]
        exponents = None if operand.exponents is None else operand.exponents[stacks, rows]
        return replace(operand, buffer=part, shape=part.shape[-3:], exponents=exponents)

    def allocate(self, shape: tuple[int, int, int], format: FloatFormat) -> Array:
        return np.empty(shape, f"u{format.bits // 8}")

    def store(self, result: Array, tile: tuple[slice, slice, slice], encodings: Array) -> None:
        result[tile] = encodings

    def restore(self, parts: Sequence[Array], format: FloatFormat, shape: tuple[int, ...], like: Source) -> Any:
        real, *imag = (part.reshape(shape) for part in parts)
        if imag:
            return like.library.from_host_complex(real, imag[0], format, like)
        return like.library.from_host(real, format, like)

    def total(self, counts: Sequence[int]) -> int:
        return sum(counts)

    def free_bytes(self) -> int:
        return _free_bytes()

    def tile_bytes(self, tile: Tile, pieces: int, groups: int, base: ResidueBase, engine: Engine) -> int:
        moduli = len(base.moduli)
        size = np.dtype(engines.DTYPES[engine.name]).itemsize
        operands = (tile.left_stacks * tile.rows + tile.right_stacks * tile.columns) * tile.depth
        results = tile.pairs * tile.rows * tile.columns
        limbs = mp.count_for(base.product.bit_length())
        # pieces beyond one are made of limbs, several copies of which are alive at a time
        made = 0 if pieces == 1 else 8 * 8 * limbs * operands
        # per result: residues of each group and of one combination, a product and its integers, encodings
        planes = results * (4 * moduli * (groups + 1) + 16 * threads() + 16)
        scratch = threads() * CHUNK * 8 * (2 * moduli + 3 * limbs + 16)
        return pieces * size * moduli * operands + made + planes + min(scratch, 8 * (operands + results) * 8 * limbs)

    def engine_is_exact(self, engine: Engine, modulus_limit: int) -> bool:
        return engines.is_exact(engine, modulus_limit)

    # ---- verbs -----------------------------------------------------------------------------------------------------
    def scan(self, sides: Sequence[Sequence[Operand]]) -> list[Scanned]:
        return [scanning.scan(side) for side in sides]

    def first_nonfinite(self, operand: Operand) -> int:
        if not isinstance(operand.format, FloatFormat):
            return -1
        return scanning.first_nonfinite(operand.buffer, operand.format)

    def first_invalid_interval(self, first: Operand, second: Operand, *, endpoints: bool) -> int:
        (scanned,) = self.scan([(first, second)])
        return interval.first_invalid(*scanned.operands, endpoints=endpoints)

    def residues(self, operand: Operand, base: ResidueBase, engine: Engine) -> tuple[Array, int]:
        planes = np.empty((len(base.moduli), *operand.shape), engines.DTYPES[engine.name])
        broken: list[int] = []

        def convert(piece: tuple[slice, ...]) -> None:
            limbs, bad = _limbs(operand, piece)
            broken.append(bad)
            part = planes[(slice(None), *piece)]
            part[...] = rns.from_limbs(limbs.reshape(len(limbs), -1), base).reshape(part.shape)

        for_each(convert, chunks(operand.shape))
        return planes, sum(broken)

    def multiply(
        self, terms: Sequence[tuple[int, Array, Array]], pairs: Pairs, base: ResidueBase, engine: Engine
    ) -> Array:
        return engines.multiply(terms, pairs, base, engine)

    def combine(self, terms: Sequence[tuple[int, Array]], base: ResidueBase) -> Array:
        return engines.combine(terms, base)

    def integers(self, planes: Array, base: ResidueBase) -> Array:
        limbs = rns.to_limbs(planes.reshape(len(planes), -1), base)
        return mp.to_integers(limbs).reshape(planes.shape[1:])

    def round(
        self,
        planes: Array,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[Array, ...]:
        left, right, (left_index, right_index), shift = exponents
        rows = left.exponents[list(left_index)] + shift
        columns = right.exponents[list(right_index)]
        found = tuple(self.allocate(planes.shape[1:], format) for _ in roundings)

        def one(piece: tuple[slice, ...]) -> None:
            t, r, c = piece
            exponent = (rows[t, r, None] + columns[t, None, c]).ravel()
            part = planes[(slice(None), *piece)]
            limbs = rns.to_limbs(part.reshape(len(part), -1), base)
            encodings = rounding.round_limbs(limbs, exponent, format, roundings)
            for result, encoded in zip(found, encodings, strict=True):
                result[piece] = encoded.reshape(part.shape[1:])

        for_each(one, chunks(planes.shape[1:]))
        return found

    def interval_pieces(self, first: Operand, second: Operand, *, endpoints: bool) -> IntervalPieces:
        return interval.interval_pieces(first, second, endpoints=endpoints)

    def hull_excess(
        self, left: IntervalPieces, right: IntervalPieces, pairs: Pairs, base: ResidueBase
    ) -> tuple[Array, Array]:
        return interval.hull_excess(left, right, pairs, base)

    def special_pieces(self, operand: Operand) -> SpecialPieces:
        return special.special_pieces(operand)

    def mark(
        self, encodings: Array, special_planes: tuple[Array, Array, Array], base: ResidueBase, format: FloatFormat
    ) -> None:
        signed, count, invalid = (self.integers(planes, base) for planes in special_planes)
        special.mark(encodings, signed, count, invalid, format)


def _limbs(operand: Operand, piece: tuple[slice, ...]) -> tuple[Ints, int]:
    """Signed digits of a piece of an operand, and how many of its entries break the scan."""
    if operand.format is None:
        return operand.buffer[(slice(None), *piece)], 0
    decoded = decode(operand.buffer[piece], operand.format)
    shift = decoded.exponent - operand.exponents[piece[0], piece[1], None]
    limbs = mp.from_decoded(decoded, shift, mp.count_for(operand.bits))
    width = operand.format.precision if isinstance(operand.format, FloatFormat) else 64
    return limbs, _broken(decoded.significand, width, shift, operand.bits)


def _broken(significand: NDArray[np.uint64], width: int, shift: Ints, bits: int) -> int:
    """Entries with a bit below the row's exponent or above its bits: the operand changed after its scan."""
    count = 0
    if shift.min(initial=0) < 0:
        dropped = np.maximum(-shift, 0)
        count += int(
            np.count_nonzero((significand >> dropped.view(np.uint64)) << dropped.view(np.uint64) != significand)
        )
    if shift.max(initial=0) + width > bits:
        room = np.maximum(bits - shift, 0)
        count += int(np.count_nonzero(significand >> room.view(np.uint64)))
    return count


def _collapse(encodings: Array) -> Array:
    """One matrix in place of the stacks that repeat it."""
    leading = encodings.ndim - 2
    if encodings.size and all(
        s == 0 or n == 1 for s, n in zip(encodings.strides[:leading], encodings.shape, strict=False)
    ):
        return encodings[(slice(0, 1),) * leading]
    return encodings


def _empty_stack(encodings: Array) -> Array:
    stacks = int(np.prod(encodings.shape[:-2]))
    return encodings.reshape(stacks, *encodings.shape[-2:])


def _free_bytes() -> int:
    """Available memory of the host, within the limit of the control group where there is one."""
    found = [_ANY_MEMORY]
    available = re.search(r"MemAvailable: *(\d+) kB", _text("/proc/meminfo"))
    if available:
        found.append(int(available[1]) * 1024)
    elif hasattr(os, "sysconf"):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for limit, used in _CONTROL_GROUPS:
        allowed, taken = _text(limit).strip(), _text(used).strip()
        if allowed.isdigit() and taken.isdigit():
            found.append(max(int(allowed) - int(taken), 0))
    return min(found)


_CONTROL_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
