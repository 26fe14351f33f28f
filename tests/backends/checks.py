"""The postconditions of the verbs, each as a function that fails where a device breaks it.

They are functions and not tests so that the negative controls can run them against a device that has been spoilt.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from exactla.backend import Engine, Operand, Pairs
from exactla.core.moduli import ResidueBase
from exactla.formats import FLOAT_FORMATS, FloatFormat
from exactla.results import Rounding
from tests.backends.devices import (
    Device,
    assert_residues,
    base_for,
    float_dtype,
    objects,
)
from tests.oracle import Format, encode, exact

Terms = Sequence[tuple[int, Any, Any]]


def fractions_of(array: Any) -> Any:
    """The entries of a real array as Fractions; an entry that is not finite counts as 0."""
    array = np.asarray(array)
    if array.dtype.kind not in "iubO":
        with np.errstate(invalid="ignore"):
            array = np.where(np.isfinite(array.astype(np.float64)), array, np.zeros((), array.dtype))
    numbers, exponent = exact(array)
    found = [Fraction(int(n)) * Fraction(2) ** exponent for n in numbers.flat]
    return np.array([*found, None], dtype=object)[:-1].reshape(array.shape)


def in_units(device: Device, operand: Operand, array: Any) -> Any:
    """The entries that an operand was made from, in units of 2**exponent of the row, which have to be integers."""
    values = fractions_of(array).reshape(operand.shape)
    units = np.broadcast_to(device.download(operand.exponents)[:, :, None], operand.shape)
    scaled = [v / Fraction(2) ** int(e) for v, e in zip(values.flat, units.flat, strict=True)]
    if any(v.denominator != 1 for v in scaled):
        raise AssertionError("an entry is no multiple of its row's power of two")
    return objects([v.numerator for v in scaled]).reshape(operand.shape)


def check_scan(device: Device, *arrays: Any) -> Any:
    """Entries are integers in units of their rows' exponents, below 2**bits; returns the result of the scan."""
    scanned = device.scan(*arrays)
    for operand, array in zip(scanned.operands, arrays, strict=True):
        if operand.bits != scanned.bits:
            raise AssertionError(f"operand of {operand.bits} bits in a scan of {scanned.bits}")
        if any(abs(n) >> operand.bits for n in in_units(device, operand, array).flat):
            raise AssertionError(f"an entry needs more than {operand.bits} bits")
    return scanned


def check_residues(device: Device, base: ResidueBase, engine: Engine, *arrays: Any) -> None:
    """Planes are congruent to the entries in units of their rows' exponents, centred, and no entry breaks the scan."""
    for operand, array in zip(device.scan(*arrays).operands, arrays, strict=True):
        if not device.takes(operand, base):
            continue
        planes, broken = device.backend.residues(operand, base, engine)
        assert_residues(device.operand_planes(planes, base, operand.shape), in_units(device, operand, array), base)
        if device.backend.total([broken]):
            raise AssertionError("entries at rest broke their scan")


def check_finite(device: Device, array: Any, expected: bool) -> None:
    """A scan tells whether all entries are finite, and takes the others as 0."""
    if check_scan(device, array).finite is not expected:
        raise AssertionError(f"finite is not {expected}")


def broken_entries(device: Device, scanned: Any, changed: Any, limit: int) -> int:
    """How many entries of an array are found to break the scan of another one."""
    (operand,) = device.scan(scanned).operands
    late = operand._replace(buffer=device.operand(changed).buffer)
    engine = device.backend.engines[0]
    _, count = device.backend.residues(late, base_for(limit, 64), engine)
    return device.backend.total([count])


def check_multiply(
    device: Device, terms: Terms, pairs: tuple[Sequence[int], Sequence[int]], base: ResidueBase, engine: Engine
) -> None:
    """Planes are congruent to the sum of signed products of Python integers [S, R, K], centred."""
    planes = [(s, device.residues(a, base, engine), device.residues(b, base, engine)) for s, a, b in terms]
    found = device.backend.multiply(planes, pairs, base, engine)
    shape = (len(pairs[0]), np.shape(terms[0][1])[1], np.shape(terms[0][2])[1])
    products = [sum(s * (objects(a)[i] @ objects(b)[j].T) for s, a, b in terms) for i, j in zip(*pairs, strict=True)]
    assert_residues(device.download(found), np.array(products, object).reshape(shape), base)


def check_combine(device: Device, terms: Sequence[tuple[int, Any]], base: ResidueBase) -> None:
    """Planes are congruent to the signed sum of Python integers [T, R, C], centred."""
    found = device.backend.combine([(s, device.planes(x, base)) for s, x in terms], base)
    assert_residues(device.download(found), sum(s * objects(x) for s, x in terms), base)


def check_integers(device: Device, numbers: Any, base: ResidueBase) -> Any:
    """Python integers [T, R, C] come back, as int64 where all of them fit; returns what came back."""
    numbers = objects(numbers)
    found = device.backend.integers(device.planes(numbers, base), base)
    wide = any(not -(1 << 63) <= n < 1 << 63 for n in numbers.flat)
    if found.dtype != (object if wide else np.int64):
        raise AssertionError(f"integers of type {found.dtype}")
    if found.shape != numbers.shape or (objects(found) != numbers).any():
        raise AssertionError("other integers came back")
    return found


def check_round(device: Device, numbers: Any, exponents: Any, fmt: Format, base: ResidueBase, shift: int = 0) -> None:
    """A column of numbers * 2**(exponents + shift) is rounded once in each direction, bit for bit."""
    numbers = objects(numbers).reshape(1, -1, 1)
    exponents = np.asarray(exponents, np.int64).reshape(1, -1)
    format = FLOAT_FORMATS[fmt.name]
    place = (device.exponents(exponents), device.exponents([[0]]), ([0], [0]), shift)
    found = device.backend.round(device.planes(numbers, base), base, place, format, tuple(Rounding))
    for rounding, result in zip(Rounding, found, strict=True):
        bits = device.encodings(result, format, (numbers.size,))
        for n, e, got in zip(numbers.flat, exponents.flat, bits.tolist(), strict=True):
            wanted = encode(n, int(e) + shift, fmt, rounding.value)
            if got != wanted:
                raise AssertionError(f"{n} * 2**{e + shift} {rounding} in {fmt}: {got:#x}, expected {wanted:#x}")


def check_interval_pieces(device: Device, first: Any, second: Any, *, endpoints: bool) -> None:
    """Pieces of the intervals of two arrays at rest are right; see `check_pieces_of`."""
    check_pieces_of(device, device.scan(first, second).operands, first, second, endpoints=endpoints)


def check_pieces_of(
    device: Device, operands: Sequence[Operand], first: Any, second: Any, *, endpoints: bool, broken: int = 0
) -> None:
    """Pieces are the integers that `exactla.core.interval` names, in units of the rows' exponents.

    An interval with its ends in the wrong order is counted, and the pieces that its sign of r would change are open.
    """
    a, b = operands
    pieces = device.backend.interval_pieces(a, b, endpoints=endpoints)
    x, y = in_units(device, a, first), in_units(device, b, second)
    lo, hi = (x, y) if endpoints else (x - y, x + y)
    m, r = lo + hi, hi - lo
    smaller = np.minimum(abs(m), r)
    expected = {
        "m": m,
        "abs_m": abs(m),
        "r": r,
        "outer": abs(m) + r,
        "rho": np.sign(m) * smaller,
        "abs_rho": smaller,
        "straddles": ((m != 0) & (abs(m) < r)).astype(int),
    }
    for name, numbers in expected.items():
        operand = getattr(pieces, name)
        if operand.shape != a.shape:
            raise AssertionError(f"{name} of shape {operand.shape}")
        if any(abs(n) >> operand.bits for n in numbers.flat):
            raise AssertionError(f"{name} needs more than {operand.bits} bits")
        if ((device.integers(operand) != numbers) & ((r >= 0) | (name in ("m", "r")))).any():
            raise AssertionError(f"{name} is wrong")
    if device.backend.total([pieces.invalid]) != np.count_nonzero(r < 0):
        raise AssertionError("the number of invalid intervals is wrong")
    if device.backend.total([pieces.broken]) != broken:
        raise AssertionError("the number of entries that break their scan is wrong")


def check_hull_excess(device: Device, left: Any, right: Any, pairs: tuple[Sequence[int], Sequence[int]]) -> None:
    """Planes of four times what the sharp ends of products of intervals, each (lo, hi), exceed the hull by."""
    sides = [device.scan(*side).operands for side in (left, right)]
    pieces = [device.backend.interval_pieces(x, y, endpoints=True) for x, y in sides]
    base = base_for(device.backend.engines[0].modulus_limits[0], 200)
    found = device.backend.hull_excess(pieces[0], pieces[1], pairs, base)
    (a_lo, a_hi), (b_lo, b_hi) = (
        [in_units(device, operand, end) for operand, end in zip(operands, side, strict=True)]
        for operands, side in zip(sides, (left, right), strict=True)
    )
    for end, planes in enumerate(found):
        expected = [
            [
                [
                    sum(excess(interval, other)[end] for interval, other in zip(row, column, strict=True))
                    for column in ([*zip(lo, hi, strict=True)] for lo, hi in zip(b_lo[j], b_hi[j], strict=True))
                ]
                for row in ([*zip(lo, hi, strict=True)] for lo, hi in zip(a_lo[i], a_hi[i], strict=True))
            ]
            for i, j in zip(*pairs, strict=True)
        ]
        shape = (len(pairs[0]), a_lo.shape[1], b_lo.shape[1])
        assert_residues(device.download(planes), np.array(expected, object).reshape(shape), base)


def excess(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """Four times what the sharp ends of the product of two intervals exceed its hull by, from the definitions."""
    corners = [4 * x * y for x in a for y in b]
    (ma, ra), (mb, rb) = ((hi + lo, hi - lo) for lo, hi in (a, b))
    sign = (ma > 0) - (ma < 0), (mb > 0) - (mb < 0)
    least = min(abs(ma), ra) * min(abs(mb), rb)
    centre, radius = ma * mb + sign[0] * sign[1] * least, abs(ma) * rb + ra * (abs(mb) + rb) - least
    return min(corners) - (centre - radius), (centre + radius) - max(corners)


def check_mark(device: Device, name: str, counts: Sequence[tuple[int, int, int]], expected: Sequence[int]) -> None:
    """Encodings are overwritten as the counts (signed, count, invalid) say, and left alone where all are 0."""
    format = FLOAT_FORMATS[name]
    base = base_for(min(device.backend.engines[0].modulus_limits[0], 1 << 12), 40)
    planes = [device.planes(np.reshape(column, (1, -1, 1)), base) for column in zip(*counts, strict=True)]
    place = (device.exponents([[0] * len(counts)]), device.exponents([[0]]), ([0], [0]), 0)
    ones = device.planes(np.ones((1, len(counts), 1), int), base)
    (result,) = device.backend.round(ones, base, place, format, (Rounding.NEAREST,))
    device.backend.mark(result, (planes[0], planes[1], planes[2]), base, format)
    found = device.encodings(result, format, (len(counts),)).tolist()
    if found != list(expected):
        raise AssertionError(f"{name}: {[hex(x) for x in found]}, expected {[hex(x) for x in expected]}")


def typed(encodings: Any, fmt: Format) -> Any:
    """An array of a format from encodings."""
    return np.asarray(encodings, dtype=fmt.word).view(float_dtype(fmt.name))


def settled(
    device: Device,
    sides: tuple[Any, Any],
    kept: int,
    format: FloatFormat,
    roundings: Sequence[Rounding],
    pairs: Pairs,
    shift: int = 0,
    blocks: Sequence[tuple[slice, slice]] = (),
) -> tuple[list[Any], int]:
    """Encodings of products of stacks held by rows, from `kept` bits of each row; and how many results were left.

    `blocks` are stacks and rows that are taken of either side.
    """
    backend = device.backend
    exact_sides = [device.scan(x).operands[0] for x in sides]
    leading = [backend.truncate(x, kept) for x in exact_sides]
    for side, (stacks, rows) in enumerate(blocks):
        whole = slice(0, exact_sides[side].shape[2])
        for operands in (exact_sides, leading):
            operands[side] = backend.block(operands[side], stacks, rows, whole)
    a, b = leading
    base = device.base(256, a.bits + b.bits + a.shape[2].bit_length() + 1)
    planes = [backend.residues(x, base, backend.engines[0])[0] for x in leading]
    product = backend.multiply([(1, planes[0], planes[1])], pairs, base, backend.engines[0])
    found, left_over = backend.settling.round_settled(
        product, base, (a, b, pairs, shift), (exact_sides[0], exact_sides[1]), format, roundings
    )
    shape = (len(pairs[0]), a.shape[1], b.shape[1])
    return [device.encodings(x, format, shape) for x in found], backend.total([left_over])
