"""Systems of equations: solutions, determinants, inverses and null spaces, in canonical integers."""

from collections.abc import Iterator

from exactla_conformance.case import Case
from exactla_conformance.encodings import Encoded
from exactla_conformance.streams import Build, Stream, anything, draw, fixed, ordinary, pair

_SIDES = (1, 2, 5, 17, 48)
"""From the smallest to one that every backend lifts."""


def solutions() -> Iterator[Case]:
    """Random systems of all sizes and of entries of every kind."""
    for n in _SIDES:
        for columns in (1, 3):
            yield Case(f"solve-int32-{n}-{columns}", "solve", pair("int32", ((n, n), (n, columns)), anything))
        yield Case(f"solve-vector-{n}", "solve", pair("int16", ((n, n), (n,)), anything))
    for n in (5, 45):
        yield Case(f"solve-int-{n}", "solve", pair("int", ((n, n), (n, 1)), anything))
        yield Case(f"solve-int64-{n}", "solve", pair("int64", ((n, n), (n, 1)), anything))
        yield Case(f"solve-float64-{n}", "solve", pair("float64", ((n, n), (n, 1)), ordinary))
        yield Case(f"solve-mixed-{n}", "solve", pair(("float32", "int8"), ((n, n), (n, 2)), ordinary))


def matrices() -> Iterator[Case]:
    """Determinants and inverses of random matrices, and null spaces of planted ones."""
    for n in _SIDES:
        yield Case(f"det-{n}", "det", _one("int32", (n, n)))
        yield Case(f"inv-{n}", "inv", _one("int16", (n, n)))
        yield Case(f"nullspace-{n}", "nullspace", _one("int8", (n, n + 2)))
        yield Case(f"nullspace-rank-{n}", "nullspace", _planted(n + 3, n + 1, max(n // 2, 1)))
    yield Case("det-float64", "det", _one("float64", (5, 5)))
    yield Case("det-singular", "det", _planted(45, 45, 44))


def _one(format: str, shape: tuple[int, int]) -> Build:
    return lambda stream: (draw(stream, format, shape, ordinary if format.startswith("float") else anything),)


def _planted(rows: int, columns: int, rank: int) -> Build:
    """A product of two thin matrices of small integers."""

    def build(stream: Stream) -> tuple[Encoded, ...]:
        left, right = draw(stream, "int8", (rows, rank)), draw(stream, "int8", (rank, columns))
        entries = [
            sum(left.entries[i * rank + k] * right.entries[k * columns + j] for k in range(rank))
            for i in range(rows)
            for j in range(columns)
        ]
        return (Encoded("int64", (rows, columns), entries),)

    return build


def known() -> Iterator[Case]:
    """Matrices that broke others: Pascal's past 63 bits, all primes below 256 in the determinant, no unknowns."""
    n = 45
    pascal = [[1] * n for _ in range(n)]
    for i in range(1, n):
        for j in range(1, n):
            pascal[i][j] = pascal[i - 1][j] + pascal[i][j - 1]
    entries = [x for row in pascal for x in row]
    yield Case("solve-pascal", "solve", fixed(Encoded("int", (n, n), entries), Encoded("int64", (n,), list(range(n)))))
    product = 1
    for p in range(2, 256):
        product *= p if all(p % q for q in range(2, p)) else 1
    diagonal = [product if i == j else 0 for i in range(n) for j in range(n)]
    yield Case("solve-primes", "solve", fixed(Encoded("int", (n, n), diagonal), Encoded("int8", (n,), [1] * n)))
    yield Case("solve-no-unknowns", "solve", fixed(Encoded("int64", (0, 0), []), Encoded("int64", (0, 2), [])))
    yield Case("solve-zero", "solve", fixed(Encoded("int8", (2, 2), [2, 1, 1, 1]), Encoded("int8", (2,), [0, 0])))
    yield Case("det-exchange", "det", fixed(Encoded("int8", (2, 2), [0, 1, 1, 0])))
    yield Case("nullspace-zero", "nullspace", fixed(Encoded("int8", (3, 2), [0] * 6)))


FAMILIES = (solutions, matrices, known)
