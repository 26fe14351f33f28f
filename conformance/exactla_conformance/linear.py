"""What systems of equations come to, from the definitions alone: elimination in Python integers.

As `oracle.py` it knows nothing of exactla or NumPy.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

from exactla_conformance.encodings import Encoded, Floating, part_format, power_of_two

FUNCTIONS = ("solve", "det", "inv", "nullspace")
"""Functions whose results are rational numbers: arrays of numerators, and their common denominator."""

Rows = list[list[Fraction]]


def read_rows(operand: Encoded) -> Rows:
    """The entries of a matrix, or of a vector as one column."""
    format = part_format(operand.format)
    entries = [Fraction(e) for e in operand.entries]
    if isinstance(format, Floating):
        decoded = [format.decode(e) for e in operand.entries]
        entries = [n * power_of_two(q) for n, q in decoded]
    width = operand.shape[1] if len(operand.shape) == 2 else 1
    return [entries[i * width : (i + 1) * width] for i in range(operand.shape[0])]


def reduced(rows: Rows, columns: int) -> tuple[Rows, list[int], Fraction]:
    """The reduced echelon form with pivots among the first columns, these, and the product of the pivots.

    Rows are made integers, and eliminated without fractions: every entry is a minor, and divisions have no remainder.
    """
    scales = [lcm(*(x.denominator for x in row)) for row in rows]
    work = [[int(x * scale) for x in row] for row, scale in zip(rows, scales, strict=True)]
    pivots: list[int] = []
    last, sign = 1, 1
    for column in range(columns):
        k = len(pivots)
        found = next((i for i in range(k, len(work)) if work[i][column]), None)
        if found is None:
            continue
        if found != k:
            work[k], work[found], sign = work[found], work[k], -sign
        pivot = work[k]
        for i, row in enumerate(work):
            if i != k:
                work[i] = [(pivot[column] * x - row[column] * y) // last for x, y in zip(row, pivot, strict=True)]
        last = pivot[column]
        pivots.append(column)
    product = Fraction(sign * last)
    for scale in scales:
        product /= scale
    return [[Fraction(x, last) for x in row] for row in work], pivots, product


def rational(values: Rows, shape: tuple[int, ...]) -> tuple[Encoded, Encoded]:
    """Numerators of that shape, and the denominator that has no divisor in common with all of them."""
    entries = [x for row in values for x in row]
    denominator = lcm(*(x.denominator for x in entries))
    numerators = [int(x * denominator) for x in entries]
    divisor = gcd(denominator, *numerators)
    found = [n // divisor for n in numerators]
    return Encoded("int", shape, found), Encoded("int", (1,), [denominator // divisor])


def linear_answer(function: str, operands: Sequence[Encoded]) -> tuple[Encoded, ...]:
    """The results of a call: numerators and denominator."""
    rows = read_rows(operands[0])
    height, width = operands[0].shape
    if function == "solve":
        right = read_rows(operands[1])
        form, _, _ = reduced([a + b for a, b in zip(rows, right, strict=True)], width)
        return rational([row[width:] for row in form], operands[1].shape)
    if function == "inv":
        identity = [[Fraction(i == j) for j in range(width)] for i in range(height)]
        form, _, _ = reduced([a + b for a, b in zip(rows, identity, strict=True)], width)
        return rational([row[width:] for row in form], (width, width))
    form, pivots, product = reduced(rows, width)
    if function == "det":
        return rational([[product if len(pivots) == width else Fraction(0)]], (1,))
    free = [j for j in range(width) if j not in pivots]
    basis = [[Fraction(i == j) for j in free] for i in range(width)]
    for row, pivot in zip(form, pivots, strict=False):
        basis[pivot] = [-row[j] for j in free]
    return rational(basis, (width, len(free)))
