"""Exponents: rows and columns of unlike scale, the whole range at once, and sums that cancel down to little."""

from collections.abc import Iterator
from functools import partial

from exactla_conformance.case import Case
from exactla_conformance.encodings import FLOATS, Encoded
from exactla_conformance.streams import Fill, Stream, binades, draw, fixed, ordinary, pair

WHOLE = {"float64": (-1074, 1023), "float32": (-149, 127), "bfloat16": (-133, 127), "float16": (-24, 15)}
"""Exponents of each format's whole range."""


def spreads() -> Iterator[Case]:
    """Entries over so many binades within one row and column."""
    for name, (low, high) in WHOLE.items():
        for spread in (0, 1, 8, 30, 100, 600, high - low):
            if spread <= high - low:
                fill = binades(-(spread // 2), spread - spread // 2)
                fill = binades(low, high) if spread == high - low else fill
                yield Case(f"spread-{name}-{spread}", "mm_enclose", pair(name, ((6, 11), (11, 5)), fill))


def _rows(stream: Stream, name: str, scales: tuple[int, ...], spread: int) -> tuple[Encoded, ...]:
    """Row i of A and column i of B have their own scale."""
    rows = [draw(stream, name, (1, 8), binades(scale, scale + spread)).entries for scale in scales]
    columns = [draw(stream, name, (1, 8), binades(-scale, spread - scale)).entries for scale in scales]
    count = len(scales)
    a = [entry for row in rows for entry in row]
    b = [columns[j][k] for k in range(8) for j in range(count)]
    return Encoded(name, (count, 8), a), Encoded(name, (8, count), b)


def scaled_rows() -> Iterator[Case]:
    """Neighbours of quite another scale, which must not change a row's bytes."""
    for name, scales in (
        ("float64", (-900, -300, 0, 300, 900)),
        ("float32", (-100, -3, 0, 60, 100)),
        ("bfloat16", (-120, 0, 1, 120)),
        ("float16", (-12, 0, 12)),
    ):
        for spread in (0, 4, 30):
            yield Case(f"rows-{name}-{spread}", "mm_enclose", partial(_rows, name=name, scales=scales, spread=spread))
            build = partial(_rows, name=name, scales=scales, spread=spread)
            yield Case(f"rows-{name}-{spread}-nearest", "mm", build)


def _wild_neighbour(stream: Stream, name: str) -> tuple[Encoded, ...]:
    """Ordinary rows beside one that spans the whole range."""
    low, high = WHOLE[name]
    fills: tuple[Fill, ...] = (ordinary, binades(low, high), ordinary)
    a = [entry for fill in fills for entry in draw(stream, name, (1, 7), fill).entries]
    return Encoded(name, (3, 7), a), draw(stream, name, (7, 4), ordinary)


def _cancelling(stream: Stream, name: str, drop: int) -> tuple[Encoded, ...]:
    """x y - x y + t, where t is about 2**-drop of x y."""
    x, y = draw(stream, name, (4, 3), ordinary), draw(stream, name, (3, 4), ordinary)
    tail, ones = draw(stream, name, (4, 1), binades(-drop, 1 - drop)), draw(stream, name, (1, 4), ordinary)
    f = FLOATS[name]
    a = [e for i in range(4) for e in (*x.entries[3 * i : 3 * i + 3], *x.entries[3 * i : 3 * i + 3], tail.entries[i])]
    negated = [e ^ f.sign if e else e for e in y.entries]
    return Encoded(name, (4, 7), a), Encoded(name, (7, 4), [*y.entries, *negated, *ones.entries])


def cancellation() -> Iterator[Case]:
    """All but a small remainder cancels."""
    for name, drops in (("float64", (60, 400, 1000)), ("float32", (30, 120)), ("bfloat16", (100,)), ("float16", (10,))):
        for drop in drops:
            yield Case(f"cancel-{name}-to-{drop}", "mm_enclose", partial(_cancelling, name=name, drop=drop))
            yield Case(f"cancel-{name}-to-{drop}-nearest", "mm", partial(_cancelling, name=name, drop=drop))


def neighbours() -> Iterator[Case]:
    """A row that needs far more bits than the rest."""
    for name in WHOLE:
        yield Case(f"neighbour-{name}", "mm_enclose", partial(_wild_neighbour, name=name))


def reported() -> Iterator[Case]:
    """Inputs from reports about other libraries."""
    double = FLOATS["float64"]
    one, least = double.encode(1, 0), double.encode(1, -53)
    # [1, 2**-53] squared: the upper end is the successor of 1
    yield Case("reported-square", "mm_enclose", fixed(Encoded("float64", (1, 2), [one, least])))
    # 2**53 + 1 is no float64
    yield Case(
        "reported-sum-past-2^53",
        "mm_enclose",
        fixed(Encoded("float64", (1, 2), [double.encode(1, 53), one]), Encoded("float64", (2, 1), [one, one])),
    )
    # bfloat16 sums of ones stick at 256 where they are accumulated in bfloat16
    yield Case(
        "reported-bfloat16-ones",
        "mm",
        fixed(Encoded("bfloat16", (1, 1000), [0x3F80] * 1000), Encoded("bfloat16", (1000, 1), [0x3F80] * 1000)),
    )


FAMILIES = (spreads, scaled_rows, cancellation, neighbours, reported)
