"""Multiple precision: products, exact and rounded, of long integers and of components, and LU factorisations."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from exactla_conformance.case import Case
from exactla_conformance.encodings import Encoded
from exactla_conformance.multiprecision import expansion
from exactla_conformance.streams import Build, Stream, anything, binades, draw, fixed, ordinary, pair


def products() -> Iterator[Case]:
    """Integers of some bits and of many, floats over a range of exponents, one row, no depth."""
    for m, k, n in ((1, 1, 1), (3, 17, 2), (9, 8, 33)):
        for bits in (62, 700, 3000):
            name = f"mp-mm-{m}-{k}-{n}-{bits}"
            yield Case(name, "mp_mm", _long((m, k), (k, n), bits))
            yield Case(f"{name}-rounded", "mp_mm", _long((m, k), (k, n), bits), {"precision": 53 + bits // 2})
    floats = pair("float64", ((5, 12), (12, 7)), binades(-60, 60))
    yield Case("mp-mm-floats", "mp_mm", floats)
    yield Case("mp-mm-floats-rounded", "mp_mm", floats, {"precision": 24})
    yield Case("mp-mm-no-depth", "mp_mm", fixed(Encoded("int", (2, 0), []), Encoded("int", (0, 3), [])))
    ties = fixed(Encoded("int", (4, 1), [9, 11, -9, -13]), Encoded("int", (1, 2), [1, 1 << 80]))
    yield Case("mp-mm-ties", "mp_mm", ties, {"precision": 3})


def components() -> Iterator[Case]:
    """Double-double, triple-double and quad-double numbers, and their products after rounding."""
    for count in (2, 3, 4):
        yield Case(f"mp-mm-components-{count}", "mp_mm", _components(count))
        yield Case(f"mp-mm-components-{count}-rounded", "mp_mm", _components(count), {"precision": 53 * count - 10})


def factorisations() -> Iterator[Case]:
    """Random, ill-conditioned and badly scaled matrices; pivots that tie; solutions with the factors."""
    for n, precision in ((1, 2), (5, 64), (20, 212), (35, 500), (66, 90)):
        yield from _both(f"random-{n}", n, _one("float64", (n, n)), precision)
    for n, precision in ((8, 106), (33, 400)):
        yield from _both(f"lotkin-{n}", n, fixed(_lotkin(n, precision)), precision)
    yield from _both("integers-12", 12, _one("int", (12, 12)), 300)
    yield from _both("scales-15", 15, lambda stream: (draw(stream, "float64", (15, 15), binades(-300, 300)),), 1400)
    for n, precision in ((9, 60), (40, 128)):
        yield from _both(f"ties-{n}", n, _tied(n), precision)
    yield from _both("growth-50", 50, fixed(_growth(50)), 64)
    yield from _both("empty", 0, fixed(Encoded("float64", (0, 0), [])), 64)


def _both(name: str, n: int, matrix: Build, precision: int) -> Iterator[Case]:
    keywords: Mapping[str, str | bool | int] = {"precision": precision}
    yield Case(f"lu-{name}", "lu_factor", matrix, keywords)

    def system(stream: Stream) -> tuple[Encoded, ...]:
        return (*matrix(stream), draw(stream, "float64", (n, 2), ordinary))

    yield Case(f"lu-solve-{name}", "lu_solve", system, keywords)


def _one(format: str, shape: tuple[int, int]) -> Build:
    return lambda stream: (draw(stream, format, shape, anything if format == "int" else ordinary),)


def _long(left: tuple[int, int], right: tuple[int, int], bits: int) -> Build:
    """Integers of up to so many bits on the left, and of half as many on the right."""

    def build(stream: Stream) -> tuple[Encoded, ...]:
        sides = ((left, bits), (right, bits // 2))
        drawn = ((shape, [stream.between(-(1 << b), 1 << b) for _ in range(shape[0] * shape[1])]) for shape, b in sides)
        return tuple(Encoded("int", shape, entries) for shape, entries in drawn)

    return build


def _components(count: int) -> Build:
    def build(stream: Stream) -> tuple[Encoded, ...]:
        return _expanded(stream, (6, 11), count), _expanded(stream, (11, 4), count)

    return build


def _expanded(stream: Stream, shape: tuple[int, int], count: int) -> Encoded:
    """Expansions of numbers of all bits that so many components hold, some with gaps between them."""
    entries: list[int] = []
    for _ in range(shape[0] * shape[1]):
        significand = stream.between(-(1 << 53 * count), 1 << 53 * count) << stream.choose((0, 40)) * count
        significand += stream.between(-9, 9)
        entries += expansion(Fraction(significand, 1 << 53 * count + stream.below(30)), count)
    return Encoded("float64", (*shape, count), entries)


def _lotkin(n: int, precision: int) -> Encoded:
    """Hilbert's matrix with a first row of ones, in units of 2**-precision."""
    one = 1 << precision
    entries = [round(Fraction(one, i + j + 1)) if i else one for i in range(n) for j in range(n)]
    return Encoded("int", (n, n), entries)


def _tied(n: int) -> Build:
    """Entries -1, 0 and 1, and ones on the diagonal."""

    def build(stream: Stream) -> tuple[Encoded, ...]:
        entries = [stream.between(-1, 1) for _ in range(n * n)]
        for i in range(n):
            entries[i * n + i] = 1
        return (Encoded("int8", (n, n), entries),)

    return build


def _growth(n: int) -> Encoded:
    """Wilkinson's matrix, whose last column doubles with every step."""
    entries = [1 if j in (i, n - 1) else -1 if j < i else 0 for i in range(n) for j in range(n)]
    return Encoded("int8", (n, n), entries)


FAMILIES = (products, components, factorisations)
