"""What products and factorisations in multiple precision come to, from the definitions alone, in Python integers.

As `oracle.py` it knows nothing of exactla or NumPy. Multiple-precision results are integers, not all of them even, and
the exponent of the power of two that they are multiplied by; 0 throughout has the exponent 0.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from exactla_conformance.encodings import FLOATS, Encoded, floor_log2, power_of_two
from exactla_conformance.linear import Rows, read_rows

FUNCTIONS = ("mp_mm", "lu_factor", "lu_solve")
"""`lu_solve` stands for the factorisation of its first operand and the solution for its second."""

GUARD_BITS = 32
"""Bits of solutions beyond those of the factors."""

Integers = list[list[int]]


def answer(function: str, operands: Sequence[Encoded], keywords: Mapping[str, str | bool | int]) -> tuple[Encoded, ...]:
    """The results of a call."""
    precision = int(keywords["precision"]) if "precision" in keywords else None
    if function == "mp_mm":
        return _product(operands[0], operands[1], precision)
    if precision is None:
        raise ValueError(f"{function} takes a precision")
    factors = Factors(read_rows(operands[0]), precision)
    if function == "lu_solve":
        solution = factors.solve(read_rows(operands[1]))
        return dyadic([x for row in solution for x in row], operands[1].shape)
    return factors.encoded()


def dyadic(values: Sequence[Fraction], shape: tuple[int, ...]) -> tuple[Encoded, Encoded]:
    """The integers and the exponent."""
    places = [_lowest_bit(x) for x in values if x]
    exponent = min(places, default=0)
    unit = power_of_two(exponent)
    return Encoded("int", shape, [int(x / unit) for x in values]), Encoded("int", (1,), [exponent])


def _lowest_bit(value: Fraction) -> int:
    n, d = value.numerator, value.denominator
    return (n & -n).bit_length() - d.bit_length()


def nearest(numerator: int, denominator: int) -> int:
    """The integer nearest to a quotient, the even one of two."""
    return round(Fraction(numerator, denominator))


# ---- products -----------------------------------------------------------------------------------------------------
def _product(a: Encoded, b: Encoded, precision: int | None) -> tuple[Encoded, ...]:
    components = len(a.shape) == 3
    left, right = (_expansions(a), _expansions(b)) if components else (read_rows(a), read_rows(b))
    columns = b.shape[1]
    sums = [
        sum((x * row[j] for x, row in zip(entries, right, strict=True)), Fraction(0))
        for entries in left
        for j in range(columns)
    ]
    if precision is not None:
        sums = [to_precision(s, precision) for s in sums]
    shape = (a.shape[0], columns)
    if not components:
        return dyadic(sums, shape)
    return (Encoded("float64", (*shape, a.shape[2]), [e for s in sums for e in expansion(s, a.shape[2])]),)


def _expansions(operand: Encoded) -> Rows:
    height, width, count = operand.shape
    format = FLOATS["float64"]
    parts = [format.decode(e) for e in operand.entries]
    values = [n * power_of_two(q) for n, q in parts]
    sums = [sum(values[at : at + count], Fraction(0)) for at in range(0, len(values), count)]
    return [sums[i * width : (i + 1) * width] for i in range(height)]


def expansion(value: Fraction, count: int) -> list[int]:
    """Encodings of float64 components: each the nearest to what those before it leave."""
    format = FLOATS["float64"]
    found = []
    for _ in range(count):
        found.append(format.round(value, "nearest"))
        n, q = format.decode(found[-1])
        value -= n * power_of_two(q)
    return found


def to_precision(value: Fraction, precision: int) -> Fraction:
    """The nearest number of so many significant bits, the one with an even significand of two."""
    if not value:
        return value
    unit = power_of_two(floor_log2(abs(value)) - precision + 1)
    return round(value / unit) * unit


# ---- factorisations -----------------------------------------------------------------------------------------------
class Factors:
    """Equilibration and factors of a matrix: L and U hold integers in units of 2**-precision.

    Column by column, the sums of a column below its pivot and of the pivot's row are exact, and each is rounded once.
    """

    def __init__(self, rows: Rows, precision: int) -> None:
        self.precision, self.one = precision, 1 << precision
        self.columns = [_exponent(column) for column in zip(*rows, strict=True)]
        narrowed = [[x / power_of_two(c) for x, c in zip(row, self.columns, strict=True)] for row in rows]
        self.rows = [_exponent(row) for row in narrowed]
        self.order = list(range(len(rows)))
        scaled = [
            [round(x * power_of_two(precision - r)) for x in row] for row, r in zip(narrowed, self.rows, strict=True)
        ]
        # what is not final yet is 2**precision A' minus the products that are known
        self.work: Integers = [[x << precision for x in row] for row in scaled]
        for j in range(len(rows)):
            self._eliminate(j)

    def _eliminate(self, j: int) -> None:
        """Row j of U and column j of L, held in place, and what they take from the rest."""
        work, order = self.work, self.order
        pivot = max(range(j, len(work)), key=lambda i: (abs(work[i][j]), -i))
        work[j], work[pivot] = work[pivot], work[j]
        order[j], order[pivot] = order[pivot], order[j]
        work[j][j:] = [nearest(s, self.one) for s in work[j][j:]]
        upper = work[j]
        if not upper[j]:
            raise ValueError(f"the pivot of column {j} rounds to 0")
        for row in work[j + 1 :]:
            row[j] = nearest(row[j], upper[j])
            for c in range(j + 1, len(row)):
                row[c] -= row[j] * upper[c]

    def encoded(self) -> tuple[Encoded, ...]:
        """L, U, the order of the rows, and the exponents of rows and columns."""
        n = len(self.work)
        lower = [x if j < i else self.one * (i == j) for i, row in enumerate(self.work) for j, x in enumerate(row)]
        upper = [x if j >= i else 0 for i, row in enumerate(self.work) for j, x in enumerate(row)]
        lists = (Encoded("int64", (n,), x) for x in (self.order, self.rows, self.columns))
        return (Encoded("int", (n, n), lower), Encoded("int", (n, n), upper), *lists)

    def solve(self, right: Rows) -> Rows:
        """Substitution, every component rounded once, for columns brought to a largest entry in [1/2, 1)."""
        columns = [self._solve(list(column)) for column in zip(*right, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]

    def _solve(self, right: list[Fraction]) -> list[Fraction]:
        n, work = len(right), self.work
        given = [x / power_of_two(r) for x, r in zip(right, self.rows, strict=True)]
        top = _exponent(given)
        b = [round(given[i] * power_of_two(self.precision + GUARD_BITS - top)) for i in self.order]
        y: list[int] = []
        for i in range(n):
            y.append(nearest(b[i] * self.one - sum(work[i][k] * y[k] for k in range(i)), self.one))
        x = [0] * n
        for i in reversed(range(n)):
            x[i] = nearest(y[i] * self.one - sum(work[i][k] * x[k] for k in range(i + 1, n)), work[i][i])
        return [v * power_of_two(top - c - self.precision - GUARD_BITS) for v, c in zip(x, self.columns, strict=True)]


def _exponent(values: Sequence[Fraction]) -> int:
    """The e with 2**(e - 1) <= the largest magnitude < 2**e; 0 for zeros."""
    largest = max(map(abs, values), default=Fraction(0))
    return floor_log2(largest) + 1 if largest else 0
