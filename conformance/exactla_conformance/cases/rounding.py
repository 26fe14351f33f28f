"""One rounding: all four directions, ties, both ends of each format's range, signed zeros."""

from collections.abc import Iterator
from functools import partial

from exactla_conformance.case import Case
from exactla_conformance.encodings import FLOATS, ROUNDINGS, Encoded, Floating
from exactla_conformance.streams import Stream, anything, binades, fixed, huge, pair, subnormal, zeros

_SHAPES = ((4, 3), (3, 5))


def directions() -> Iterator[Case]:
    """Any values, rounded in every direction."""
    for name in FLOATS:
        for rounding in ROUNDINGS:
            yield Case(f"round-{name}-{rounding}", "mm", pair(name, _SHAPES, anything), {"rounding": rounding})


def _tie_rows(format: Floating, where: str) -> tuple[int, int, tuple[int, ...]]:
    """(shift, quantum, significands) of values that a half step is added to; the shift keeps the half in float64."""
    if where == "subnormal":
        return 60, format.least, (0, 1, 2, format.normal - 1)
    significand, quantum = format.largest
    if where == "overflow":
        return -60, quantum, (significand - 1, significand)
    return 0, (format.least + quantum) // 2, (format.normal, format.normal + 1, 2 * format.normal - 1)


def tie_operands(name: str, where: str) -> tuple[Encoded, Encoded]:
    """Rows n, 1/2, tiny and columns that add them up to a tie, just above a tie and just below one, either sign."""
    shift, quantum, significands = _tie_rows(FLOATS[name], where)
    double = FLOATS["float64"]
    tiny = max(quantum + shift - 200, double.least)
    half = double.encode(1, quantum + shift - 1)
    a = [e for n in significands for e in (double.encode(n, quantum + shift), half, double.encode(1, tiny))]
    signs = ((1, 1, 1, -1, -1, -1), (1, 1, 1, -1, -1, -1), (0, 1, -1, 0, 1, -1))
    b = [double.encode(sign, -shift) for row in signs for sign in row]
    return Encoded("float64", (len(significands), 3), a), Encoded("float64", (3, 6), b)


def ties() -> Iterator[Case]:
    """Halves between normal values, between subnormal values, and beyond the largest."""
    for name in FLOATS:
        for where in ("normal", "subnormal", "overflow"):
            build = fixed(*tie_operands(name, where))
            yield Case(f"tie-{name}-{where}", "mm", build, {"dtype": name})
        yield Case(f"tie-{name}-enclosed", "mm_enclose", build, {"dtype": name})


def overflow() -> Iterator[Case]:
    """Inward to the largest finite value, outward to infinity or to NaN where the format has none."""
    for name in FLOATS:
        yield Case(f"overflow-{name}", "mm_enclose", pair(name, _SHAPES, huge))
        for rounding in ROUNDINGS:
            yield Case(f"overflow-{name}-{rounding}", "mm", pair(name, _SHAPES, huge), {"rounding": rounding})


def edge_operands(name: str) -> tuple[Encoded, Encoded]:
    """One, two and four times the largest value, itself and a little more or less, of either sign."""
    f = FLOATS[name]
    least, one = f.encode(1, f.least), f.encode(1, 0)
    rows = [(f.largest_encoding,) * count + (0,) * (4 - count) + (least,) for count in (1, 2, 4)]
    signs = ((one,) * 4 + (last,) for last in (0, one, one + f.sign))
    columns = [column for up in signs for column in (up, tuple(e ^ f.sign if e else e for e in up))]
    b = [column[k] for k in range(5) for column in columns]
    return Encoded(name, (3, 5), [e for row in rows for e in row]), Encoded(name, (5, 6), b)


def edges() -> Iterator[Case]:
    """At the largest value and in the two binades past it, significands all ones."""
    for name in FLOATS:
        build = fixed(*edge_operands(name))
        yield Case(f"edge-{name}", "mm_enclose", build)
        for rounding in ROUNDINGS:
            yield Case(f"edge-{name}-{rounding}", "mm", build, {"rounding": rounding})


def underflow() -> Iterator[Case]:
    """Subnormal operands and results; non-zero products that round to a zero keep their sign."""
    for name in FLOATS:
        yield Case(f"subnormal-{name}", "mm_enclose", pair(name, _SHAPES, subnormal))
        yield Case(f"subnormal-{name}-nearest", "mm", pair(name, _SHAPES, subnormal))
        yield Case(f"subnormal-{name}-zero", "mm", pair(name, _SHAPES, subnormal), {"rounding": "zero"})
        low, high = FLOATS[name].least, FLOATS[name].least + 2 * FLOATS[name].precision
        operands = pair(name, _SHAPES, (binades(low, high), binades(-FLOATS[name].precision, 1)))
        yield Case(f"border-{name}", "mm_enclose", operands)
        yield Case(f"border-{name}-nearest", "mm", operands)


def _zero_sums(stream: Stream, name: str) -> tuple[Encoded, ...]:
    """Row i holds x, x, -x, -x in some order and the columns are constant: every sum is exactly zero."""
    f = FLOATS[name]
    a = []
    for _ in range(4):
        x = 1 + stream.below(f.largest_encoding)
        row = [x, x, x + f.sign, x + f.sign]
        a += [row.pop(stream.below(len(row))) for _ in range(4)]
    columns = [f.encode(1, 0), f.encode(1, f.least), f.encode(-1, 1)]
    return Encoded(name, (4, 4), a), Encoded(name, (4, 3), columns * 4)


def exact_zeros() -> Iterator[Case]:
    """Zeros of either sign and sums that cancel: +0 at both ends and in every rounding."""
    for name in FLOATS:
        yield Case(f"zero-{name}", "mm_enclose", pair(name, _SHAPES, (zeros, anything)))
        yield Case(f"cancel-{name}", "mm_enclose", partial(_zero_sums, name=name))
    for rounding in ROUNDINGS:
        yield Case(f"zero-{rounding}", "mm", pair("float64", _SHAPES, zeros), {"rounding": rounding})
        yield Case(f"cancel-{rounding}", "mm", partial(_zero_sums, name="float32"), {"rounding": rounding})


FAMILIES = (directions, ties, overflow, edges, underflow, exact_zeros)
