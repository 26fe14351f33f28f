"""The NumPy backend: the verbs as calls into the files beside this one, on memory of the host."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Engine, IntervalPieces, Operand, Pairs, Scanned, SpecialPieces, Tile
from exactla.core.moduli import ResidueBase
from exactla.formats import FloatFormat
from exactla.results import Rounding
from exactla_backends.host_memory import HostMemory
from exactla_backends.numpy import direct, engines, interval, rounding, special
from exactla_backends.numpy import limbs as mp
from exactla_backends.numpy import residues as rns
from exactla_backends.numpy import scan as scanning
from exactla_backends.numpy.chunks import CHUNK, chunks
from exactla_backends.numpy.lifting import HostSystems
from exactla_backends.numpy.operands import operand_limbs
from exactla_backends.numpy.threads import for_each, threads

Array = NDArray[Any]


class NumpyBackend(HostMemory, HostSystems):
    """See `exactla.backend.Backend`: each method has its postcondition there."""

    name = "numpy"
    engines: tuple[Engine, ...] = engines.ENGINES
    leading_bits = 172

    def __init__(self) -> None:
        self.direct = direct.product

    def tile_bytes(self, tile: Tile, pieces: int, groups: int, base: ResidueBase, engine: Engine) -> int:
        moduli = len(base.moduli)
        size = np.dtype(engines.DTYPES[engine.name]).itemsize
        limbs = mp.count_for(base.product.bit_length())
        operands = (tile.left_stacks * tile.rows + tile.right_stacks * tile.columns) * tile.depth
        results = tile.pairs * tile.rows * tile.columns
        # stacks that are paired in another order than they lie are gathered for the product
        repeated = tile.pairs > min(tile.left_stacks, tile.right_stacks) > 1
        gathered = tile.pairs * (tile.rows + tile.columns) * tile.depth if repeated else 0
        converted = size * moduli * (pieces * operands + 2 * gathered)
        # pieces beyond real and imaginary parts are made of limbs, of which several copies are alive at a time
        made = 8 * (pieces + 4) * limbs * operands if pieces > 2 else 0
        excess = 56 * moduli * results if pieces > 2 else 0  # seven copies of planes while a hull is made
        team = 1 if operands + results <= CHUNK else threads()
        planes = results * (4 * moduli * (groups + 2) + 16 * min(team, moduli) + 32)
        # entries that threads work on at a time: pieces of one operand after the other, then of the results
        scratch = min(team * CHUNK, operands + results) * 8 * (4 * moduli + 6 * limbs + 32)
        return converted + made + excess + planes + scratch

    def engine_is_exact(self, engine: Engine, modulus_limit: int) -> bool:
        return engines.is_exact(engine, modulus_limit)

    # ---- verbs -----------------------------------------------------------------------------------------------------
    def scan(self, sides: Sequence[Sequence[Operand]]) -> list[Scanned]:
        return [scanning.scan(side) for side in sides]

    def first_nonfinite(self, operand: Operand) -> int:
        return scanning.first_nonfinite(operand)

    def first_invalid_interval(self, first: Operand, second: Operand, *, endpoints: bool) -> int:
        (scanned,) = self.scan([(first, second)])
        return interval.first_invalid(*scanned.operands, endpoints=endpoints)

    def residues(self, operand: Operand, base: ResidueBase, engine: Engine) -> tuple[Array, int]:
        planes = np.empty((len(base.moduli), *operand.shape), engines.DTYPES[engine.name])
        broken: list[int] = []

        def convert(piece: tuple[slice, ...]) -> None:
            limbs, bad = operand_limbs(operand, piece, mp.count_for(operand.bits))
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
        pieces = list(chunks(planes.shape[1:]))
        values: list[Array] = [np.empty(0, np.int64)] * len(pieces)

        def convert(number: int) -> None:
            part = planes[(slice(None), *pieces[number])]
            values[number] = mp.to_integers(rns.to_limbs(part.reshape(len(part), -1), base)).reshape(part.shape[1:])

        for_each(convert, range(len(pieces)))
        found = np.empty(planes.shape[1:], np.result_type(np.int64, *(x.dtype for x in values)))
        for piece, part in zip(pieces, values, strict=True):
            found[piece] = part
        return found

    def round(
        self,
        planes: Array,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[Array, ...]:
        found, _ = self._round(planes, base, exponents, None, format, roundings)
        return found

    def round_certified(
        self,
        planes: Array,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        slack: int,
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[tuple[Array, ...], Sequence[tuple[int, int, int]]]:
        found, doubt = self._round(planes, base, exponents, slack, format, roundings)
        return found, [(int(t), int(r), int(c)) for t, r, c in np.argwhere(doubt)]

    def _round(
        self,
        planes: Array,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        slack: int | None,
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[tuple[Array, ...], NDArray[np.bool_]]:
        """Encodings, and where they are in doubt."""
        left, right, (left_index, right_index), shift = exponents
        rows = left.exponents[list(left_index)] + shift
        columns = right.exponents[list(right_index)]
        found = tuple(self.allocate(planes.shape[1:], format) for _ in roundings)
        doubt = np.zeros(planes.shape[1:], np.bool_)

        def one(piece: tuple[slice, ...]) -> None:
            t, r, c = piece
            exponent = (rows[t, r, None] + columns[t, None, c]).ravel()
            part = planes[(slice(None), *piece)]
            limbs = rns.to_limbs(part.reshape(len(part), -1), base)
            if slack is None:
                encodings = rounding.round_limbs(limbs, exponent, format, roundings)
            else:
                encodings, unsure = rounding.round_certified(limbs, exponent, slack, format, roundings)
                doubt[piece] = unsure.reshape(part.shape[1:])
            for result, encoded in zip(found, encodings, strict=True):
                result[piece] = encoded.reshape(part.shape[1:])

        for_each(one, chunks(planes.shape[1:]))
        return found, doubt

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
