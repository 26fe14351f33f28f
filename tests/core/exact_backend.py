"""A backend of whole numbers for tests of the algorithms: its planes are the integers themselves, not residues.

So it sees what no other backend can see: an integer past a quarter of the product of the moduli, planes of one base
given to another, an operand that was not scanned. It raises `ContractError` where an algorithm breaks its side of
`exactla.backend`. Slow, and short enough to be checked by eye.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from exactla.backend import Backend, Engine, IntervalPieces, Operand, Pairs, Scanned, SpecialPieces, Tile
from exactla.core.moduli import ResidueBase
from exactla.formats import FloatFormat, Format
from exactla.registry import BackendDescription
from exactla.results import Rounding
from exactla_backends.numpy.lifting import HostSystems
from tests.oracle import FORMATS, encode

NAN, PLUS, MINUS = "nan", "+inf", "-inf"


class ContractError(Exception):
    """An algorithm broke its side of the contract."""


@dataclass(frozen=True)
class Planes:
    """Integers in place of their residues."""

    numbers: Any
    base: ResidueBase

    def of(self, base: ResidueBase) -> Any:
        """The integers, for a verb that was told this base."""
        if base != self.base:
            raise ContractError(f"planes of {self.base} used with {base}")
        return self.numbers


@dataclass
class ExactBackend(HostSystems):
    """A backend of Python integers; `cost` stands for its `tile_bytes` and `exact` for its check of engines."""

    name: str = "exact"
    engines: tuple[Engine, ...] = (Engine("wide", 60, (1 << 12,)), Engine("narrow", 20, (16, 256)))
    cost: Callable[[Tile, int, int], int] = lambda tile, pieces, groups: 1
    exact: Callable[[Engine, int], bool] = lambda engine, limit: True
    free: int = 1 << 40
    leading_bits: int = 1 << 20  # fewer where a test wants leading bits first
    settled_bits: int = 0
    leaves: int = 0  # results that settling does not settle
    strict: bool = True  # False where a test changes an operand behind the back of the algorithms
    calls: Counter[str] = field(default_factory=Counter)
    tiles: list[Any] = field(default_factory=list)
    inside: int = 0

    @property
    def settling(self) -> "ExactBackend | None":
        return self if self.settled_bits else None

    def description(self) -> BackendDescription:
        """For the registry."""
        return BackendDescription(self.name, ("cpu",), -9, lambda: None, lambda: as_backend(self))

    # ---- memory ----------------------------------------------------------------------------------------------------
    @contextmanager
    def scope(self, like: Any) -> Iterator[None]:
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1

    def view(self, source: Any, *, part: Any, transpose: bool) -> Operand:
        self.calls["view"] += 1
        encodings = source.library.host_encodings(source, part)
        matrices = encodings[None] if encodings.ndim == 1 else encodings.swapaxes(-1, -2) if transpose else encodings
        stacks = int(np.prod(matrices.shape[:-2]))
        values = np.empty((stacks, *matrices.shape[-2:]), object)
        for place, encoding in zip(np.ndindex(values.shape), matrices.flat, strict=True):
            values[place] = entry(int(encoding), source.format)
        return Operand(values, source.format, values.shape)

    def block(self, operand: Operand, stacks: slice, rows: slice, depth: slice) -> Operand:
        part = operand.buffer[stacks, rows, depth]
        exponents, tops = (None if x is None else x[stacks, rows] for x in (operand.exponents, operand.tops))
        return operand._replace(buffer=part, shape=part.shape, exponents=exponents, tops=tops)

    def repeat(self, operand: Operand, stacks: int) -> Operand:
        if operand.shape[0] != 1 or operand.exponents is not None:
            raise ContractError(f"an operand of {operand.shape[0]} matrices was repeated, or a scanned one")
        shape = (stacks, *operand.shape[1:])
        return operand._replace(buffer=np.broadcast_to(operand.buffer, shape), shape=shape)

    def gather(self, operand: Operand, rows: Sequence[tuple[int, int]]) -> Operand:
        self.calls["gather"] += 1
        index = tuple(np.array(rows).T)
        part, exponents, tops = (x[index][:, None] for x in (operand.buffer, operand.exponents, operand.tops))
        return operand._replace(buffer=part, shape=part.shape, exponents=exponents, tops=tops)

    def scatter(self, encodings: Any, places: Sequence[tuple[int, int, int]], values: Any) -> None:
        self.calls["scatter"] += 1
        for place, value in zip(places, values, strict=True):
            encodings[place] = value[0, 0]

    def truncate(self, operand: Operand, bits: int) -> Operand:
        if operand.bits <= bits:
            return operand
        exponents = np.maximum(operand.exponents, operand.tops - bits)
        return operand._replace(exponents=exponents, bits=bits, truncated=True)

    def allocate(self, shape: tuple[int, int, int], format: FloatFormat) -> Any:
        return np.full(shape, None, object)

    def store(self, result: Any, tile: tuple[slice, slice, slice], encodings: Any) -> None:
        self.tiles.append(tile)
        if any(old is not None for old in result[tile].flat):
            raise ContractError("a part of a result was stored twice")
        result[tile] = encodings

    def restore(self, parts: Sequence[Any], format: FloatFormat, shape: tuple[int, ...], like: Any) -> Any:
        if any(encoding is None for part in parts for encoding in part.flat):
            raise ContractError("a part of a result was never stored")
        real, *imag = (part.astype(f"u{format.bits // 8}").reshape(shape) for part in parts)
        if imag:
            return like.library.from_host_complex(real, imag[0], format, like)
        return like.library.from_host(real, format, like)

    def total(self, counts: Sequence[int]) -> int:
        self.calls["total"] += 1
        return sum(counts)

    def free_bytes(self) -> int:
        self.calls["free_bytes"] += 1
        return self.free

    def solving_bytes(self) -> int:
        return self.free

    def tile_bytes(self, tile: Tile, pieces: int, groups: int, base: ResidueBase, engine: Engine) -> int:
        return self.cost(tile, pieces, groups)

    def engine_is_exact(self, engine: Engine, modulus_limit: int) -> bool:
        self.calls["engine_is_exact"] += 1
        return self.exact(engine, modulus_limit)

    def direct(
        self, left: Any, right: Any, transposed: bool, format: FloatFormat, roundings: Any, *, checks: bool = True
    ) -> None:
        self.calls["direct"] += 1

    # ---- verbs -----------------------------------------------------------------------------------------------------
    def scan(self, sides: Sequence[Sequence[Operand]]) -> list[Scanned]:
        self.calls["scan"] += 1
        return [self._scan(side) for side in sides]

    def _scan(self, side: Sequence[Operand]) -> Scanned:
        values = np.concatenate([x.buffer for x in side], axis=2)
        whole_numbers = any(not isinstance(x.format, FloatFormat) for x in side)
        finite = [not any(isinstance(v, str) for v in x.buffer.flat) for x in side]
        exponents, tops = (np.zeros(values.shape[:2], object) for _ in range(2))
        for place in np.ndindex(exponents.shape):
            row = [v for v in values[place] if not isinstance(v, str) and v]
            # integers stay as they are: exact products take them for the integers themselves
            if row:
                lowest = min([valuation(v) for v in row] + [0] * whole_numbers)
                exponents[place] = lowest
                tops[place] = lowest + max(whole(v, lowest).bit_length() for v in row)
        bits = max((tops - exponents).flat, default=0)
        found = (
            x._replace(exponents=exponents, bits=bits, tops=tops, finite=f) for x, f in zip(side, finite, strict=True)
        )
        typical = -(-sum((tops - exponents).flat) // max(tops.size, 1))
        return Scanned(tuple(found), bits, all(finite), typical)

    def first_nonfinite(self, operand: Operand) -> int:
        return next((i for i, v in enumerate(operand.buffer.flat) if isinstance(v, str)), -1)

    def first_invalid_interval(self, first: Operand, second: Operand, *, endpoints: bool) -> int:
        pairs = zip(first.buffer.flat, second.buffer.flat, strict=True)
        return next((i for i, (x, y) in enumerate(pairs) if (x > y if endpoints else y < 0)), -1)

    def residues(self, operand: Operand, base: ResidueBase, engine: Engine) -> tuple[Planes, int]:
        self.calls["residues"] += 1
        if engine not in self.engines or max(base.moduli) > max(engine.modulus_limits):
            raise ContractError(f"{engine} does not take {base}")
        numbers, broken = self._integers(operand)
        return Planes(numbers, base), broken

    def _integers(self, operand: Operand) -> tuple[Any, int]:
        """Entries in units of their rows' exponents, not finite ones as 0, and how many of them break the scan."""
        if operand.exponents is None:
            raise ContractError("an operand was not scanned")
        numbers = np.zeros(operand.shape, object)
        for place in np.ndindex(operand.shape):
            value = operand.buffer[place]
            if not isinstance(value, str):
                numbers[place] = whole(value, operand.exponents[place[:2]], truncated=operand.truncated)
        special = sum(isinstance(value, str) for value in operand.buffer.flat) if operand.finite else 0
        return numbers, special + sum(abs(n) >> operand.bits > 0 for n in numbers.flat)

    def multiply(
        self, terms: Sequence[tuple[int, Planes, Planes]], pairs: Pairs, base: ResidueBase, engine: Engine
    ) -> Planes:
        self.calls["multiply"] += 1
        rows, columns = terms[0][1].of(base).shape[1], terms[0][2].of(base).shape[1]
        found = np.zeros((len(pairs[0]), rows, columns), object)
        for sign, a, b in terms:
            for t, (i, j) in enumerate(zip(*pairs, strict=True)):
                found[t] += sign * (a.of(base)[i] @ b.of(base)[j].T)
        return Planes(found, base)

    def combine(self, terms: Sequence[tuple[int, Planes]], base: ResidueBase) -> Planes:
        self.calls["combine"] += 1
        return Planes(sum(sign * planes.of(base) for sign, planes in terms), base)

    def determined(self, planes: Planes, base: ResidueBase) -> Any:
        """The integers, which their residues have to determine."""
        numbers = planes.of(base)
        if self.strict and any(4 * abs(n) > base.product for n in numbers.flat):
            raise ContractError(f"{max(map(abs, numbers.flat))} is not determined by {base}")
        return numbers

    def integers(self, planes: Planes, base: ResidueBase) -> Any:
        self.calls["integers"] += 1
        numbers = self.determined(planes, base)
        narrow = all(-(1 << 63) <= n < 1 << 63 for n in numbers.flat)
        return numbers.astype(np.int64) if narrow else numbers

    def round(
        self,
        planes: Planes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[Any, ...]:
        self.calls["round"] += 1
        return self._round(self.determined(planes, base), exponents, format, roundings)

    def round_certified(
        self,
        planes: Planes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        slack: int,
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[tuple[Any, ...], Sequence[tuple[int, int, int]]]:
        self.calls["round_certified"] += 1
        numbers = self.determined(planes, base)
        low, high = (self._round(numbers + end, exponents, format, roundings) for end in (-(1 << slack), 1 << slack))
        differ = [
            place
            for place in np.ndindex(numbers.shape)
            if (numbers[place] < 1 << slack) != (numbers[place] < -(1 << slack))
            or any(x[place] != y[place] for x, y in zip(low, high, strict=True))
        ]
        return low, differ

    def round_settled(
        self,
        planes: Planes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        exact: tuple[Operand, Operand],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[tuple[Any, ...], int]:
        """Right wherever the distance that the contract allows for holds; those that it does not are left."""
        self.calls["round_settled"] += 1
        left, right, pairs, shift = exponents
        near, left_over = self.determined(planes, base), 0
        numbers = np.zeros(near.shape, object)
        for t, r, c in np.ndindex(near.shape):
            rows = exact[0].buffer[pairs[0][t], r], exact[1].buffer[pairs[1][t], c]
            value = sum((x * y for x, y in zip(*rows, strict=True)), Fraction(0))
            unit = Fraction(2) ** int(left.exponents[pairs[0][t], r] + right.exponents[pairs[1][t], c])
            scale = exact[0].exponents[pairs[0][t], r] + exact[1].exponents[pairs[1][t], c]
            numbers[t, r, c] = whole(value, scale)
            if abs(value / unit - near[t, r, c]) >= len(rows[0]) * ((1 << left.bits) + (1 << right.bits) + 1):
                raise ContractError(f"planes are {near[t, r, c]} where {value / unit} is wanted")
            left_over += self.leaves
        return self._round(numbers, (exact[0], exact[1], pairs, shift), format, roundings), left_over

    def _round(
        self,
        numbers: Any,
        exponents: tuple[Operand, Operand, Pairs, int],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[Any, ...]:
        left, right, pairs, shift = exponents
        found = tuple(np.zeros(numbers.shape, object) for _ in roundings)
        for t, r, c in np.ndindex(numbers.shape):
            exponent = int(left.exponents[pairs[0][t], r] + right.exponents[pairs[1][t], c] + shift)
            for result, rounding in zip(found, roundings, strict=True):
                result[t, r, c] = encode(int(numbers[t, r, c]), exponent, FORMATS[format.name], rounding.value)
        return found

    def interval_pieces(self, first: Operand, second: Operand, *, endpoints: bool) -> IntervalPieces:
        self.calls["interval_pieces"] += 1
        if first.shape != second.shape:
            raise ContractError(f"intervals of ends of shapes {first.shape} and {second.shape}")
        (x, changed), (y, others) = self._integers(first), self._integers(second)
        lo, hi = (x, y) if endpoints else (x - y, x + y)
        m, r = lo + hi, hi - lo
        smaller = np.minimum(abs(m), r)
        straddles = ((m != 0) & (abs(m) < r)).astype(object)
        units = np.vectorize(lambda e: Fraction(2) ** int(e), otypes=[object])(first.exponents)[:, :, None]

        def piece(numbers: Any) -> Operand:
            return first._replace(buffer=numbers * units, format=None, bits=first.bits + 2)

        signed, positive = np.sign(m) * smaller, abs(m)
        return IntervalPieces(
            piece(m),
            piece(positive),
            piece(r),
            piece(positive + r),
            piece(signed),
            piece(smaller),
            piece(straddles),
            sum(n < 0 for n in r.flat),
            changed + others,
        )

    def hull_excess(
        self, left: IntervalPieces, right: IntervalPieces, pairs: Pairs, base: ResidueBase
    ) -> tuple[Planes, Planes]:
        self.calls["hull_excess"] += 1
        a, b = ([self._integers(x)[0] for x in (side.m, side.r)] for side in (left, right))
        low, high = (np.zeros((len(pairs[0]), left.m.shape[1], right.m.shape[1]), object) for _ in range(2))
        for t, row, column in np.ndindex(low.shape):
            for k in range(left.m.shape[2]):
                (ma, ra), (mb, rb) = (
                    [x[n[t], i, k] for x in side] for side, n, i in ((a, pairs[0], row), (b, pairs[1], column))
                )
                excess = 2 * min(abs(ma) * (rb - abs(mb)), abs(mb) * (ra - abs(ma)))
                if abs(ma) < ra and abs(mb) < rb:
                    low[t, row, column] += excess if ma * mb > 0 else 0
                    high[t, row, column] += excess if ma * mb < 0 else 0
        return Planes(low, base), Planes(high, base)

    def special_pieces(self, operand: Operand) -> SpecialPieces:
        self.calls["special_pieces"] += 1
        signs = {NAN: 0, PLUS: 1, MINUS: -1}

        def piece(function: Callable[[Any], int]) -> Operand:
            numbers = np.zeros(operand.shape, object)
            for place in np.ndindex(operand.shape):
                numbers[place] = Fraction(function(operand.buffer[place]))
            return operand._replace(buffer=numbers, format=None, exponents=np.zeros(operand.shape[:2], object), bits=1)

        def sign(v: Any) -> int:
            return signs[v] if isinstance(v, str) else (v > 0) - (v < 0)

        def infinity(v: Any) -> int:
            return signs[v] if isinstance(v, str) else 0

        return SpecialPieces(
            piece(sign),
            piece(lambda v: abs(sign(v))),
            piece(infinity),
            piece(lambda v: abs(infinity(v))),
            piece(lambda v: int(v == 0)),
            piece(lambda v: int(v == NAN)),
            piece(lambda v: 1),
        )

    def mark(
        self, encodings: Any, special: tuple[Planes, Planes, Planes], base: ResidueBase, format: FloatFormat
    ) -> None:
        self.calls["mark"] += 1
        signed, count, invalid = (self.determined(planes, base) for planes in special)
        for place in np.ndindex(encodings.shape):
            if invalid[place] > 0 or abs(signed[place]) < count[place] or (count[place] and format.infinity is None):
                encodings[place] = format.nan
            elif count[place]:
                encodings[place] = (format.infinity or 0) | (1 << (format.bits - 1) if signed[place] < 0 else 0)


def entry(encoding: int, format: Format) -> Any:
    """The value of an entry: a Fraction, or the name of a special one."""
    if not isinstance(format, FloatFormat):
        return Fraction(encoding)
    if format.is_finite(encoding):
        return format.value(encoding)
    if format.infinity is not None and encoding & ((1 << (format.bits - 1)) - 1) == format.infinity:
        return MINUS if encoding >> (format.bits - 1) else PLUS
    return NAN


def valuation(value: Fraction) -> int:
    """The largest exponent of a power of two that a dyadic number is a multiple of."""
    low = value.numerator & -value.numerator
    return low.bit_length() - value.denominator.bit_length()


def whole(value: Fraction, exponent: int, *, truncated: bool = False) -> int:
    """value / 2**exponent, which has to be an integer unless it is truncated towards zero."""
    scaled = value / Fraction(2) ** int(exponent)
    if truncated:
        return int(scaled)
    if scaled.denominator != 1:
        raise ContractError(f"{value} is no multiple of 2**{exponent}")
    return scaled.numerator


def as_backend(backend: ExactBackend) -> Backend:
    """The backend, which mypy then checks against the protocol."""
    return backend


def operand_of(array: Any, backend: ExactBackend | None = None) -> Operand:
    """An operand [S, R, K] of any real NumPy array of at most three dimensions."""
    from exactla.arrays import read

    return (backend or ExactBackend()).view(read(array, "x"), part="real", transpose=False)
