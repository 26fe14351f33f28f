"""Integers: exact products, products rounded to floating point, the limits of every width."""

from collections.abc import Iterator

from exactla_conformance.case import Case
from exactla_conformance.encodings import INTEGERS, ROUNDINGS, Encoded
from exactla_conformance.streams import anything, fixed, huge, ordinary, pair

_SHAPES = ((4, 6), (6, 3))


def exact() -> Iterator[Case]:
    """Every integer format: small entries, any entries, entries at the limits."""
    for name in INTEGERS:
        yield Case(f"exact-{name}-ordinary", "mm_exact", pair(name, _SHAPES, ordinary))
        yield Case(f"exact-{name}-anything", "mm_exact", pair(name, _SHAPES, anything))
        yield Case(f"exact-{name}-limits", "mm_exact", pair(name, _SHAPES, huge))


def mixed() -> Iterator[Case]:
    """Unequal widths."""
    for names in (("int8", "uint8"), ("bool", "int64"), ("int64", "uint64"), ("int16", "int"), ("int", "uint64")):
        yield Case(f"exact-{names[0]}-{names[1]}", "mm_exact", pair(names, _SHAPES, anything))
        yield Case(f"enclose-{names[0]}-{names[1]}", "mm_enclose", pair(names, _SHAPES, anything))


def rounded() -> Iterator[Case]:
    """Integers alone give float64, rounded once."""
    for name in INTEGERS:
        yield Case(f"limits-{name}", "mm_enclose", pair(name, _SHAPES, huge))
    for rounding in ROUNDINGS:
        yield Case(f"round-int64-{rounding}", "mm", pair("int64", _SHAPES, huge), {"rounding": rounding})
        yield Case(f"round-int-{rounding}", "mm", pair("int", _SHAPES, anything), {"rounding": rounding})


def borders() -> Iterator[Case]:
    """Products about 2**63, where an int64 ends, and Python integers about 2**1024, where a float64 ends."""
    least, largest = -(1 << 63), (1 << 63) - 1
    for label, rows, column in (
        ("inside", (largest, 0, least, 0), (1, 1)),
        ("above", (largest, 1, 1, 1), (1, 1)),
        ("below", (least, 0, least, -1), (1, 1)),
        ("negated", (least, 0, 0, 1), (-1, -1)),
        ("back-inside", (largest, largest, largest, -1), (1, -1)),
    ):
        operands = fixed(Encoded("int64", (2, 2), rows), Encoded("int64", (2, 1), column))
        yield Case(f"int64-{label}", "mm_exact", operands)
        yield Case(f"int64-{label}-enclosed", "mm_enclose", operands)
    wide = [1 << 1023, (1 << 1024) - (1 << 970), (1 << 1024) - (1 << 970) - 1, 1 << 1024, -(1 << 1100), 3**700]
    operands = fixed(Encoded("int", (6, 1), wide), Encoded("int", (1, 2), [1, -3]))
    yield Case("int-wide", "mm_enclose", operands)
    yield Case("int-wide-nearest", "mm", operands)
    yield Case("int-wide-exact", "mm_exact", operands)
    # the 92nd power of [[1, 1], [1, 0]] is the last whose entries fit an int64; its square does not
    fibonacci = (12200160415121876738, 7540113804746346429, 7540113804746346429, 4660046610375530309)
    square = fixed(*[Encoded("int", (2, 2), fibonacci)] * 2)
    yield Case("int-fibonacci", "mm_exact", square)


FAMILIES = (exact, mixed, rounded, borders)
