"""What the answer of a case is, from the definitions alone, in Python integers and Fractions.

It knows the suite's formats and nothing of exactla, its backends or NumPy. Sums are made in integers over a common
power of two; each end is then rounded once by `Floating.round`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from operator import mul

from exactla_conformance import linear, multiprecision
from exactla_conformance.case import Case
from exactla_conformance.encodings import (
    COMPLEX,
    FLOATS,
    NAN,
    Encoded,
    Floating,
    common_format,
    part_format,
    power_of_two,
)

Shape = tuple[int, ...]


# ---- operands -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Exact:
    """Real entries numerators[i] * 2**exponent; `specials` holds +1 or -1 for an infinity and `NAN`, by position."""

    numerators: Sequence[int]
    exponent: int
    specials: Mapping[int, int]


def read_parts(*operands: Encoded) -> list[list[Exact]]:
    """The real part, and the imaginary one where there is one, of operands, all over one power of two."""
    pieces = [
        (operand.format, operand.entries[offset :: 2 if operand.format in COMPLEX else 1])
        for operand in operands
        for offset in range(2 if operand.format in COMPLEX else 1)
    ]
    decoded = [_decode(name, entries) for name, entries in pieces]
    exponent = min((q for entries, _ in decoded for n, q in entries if n), default=0)
    exacts = iter([Exact([n << q - exponent if n else 0 for n, q in e], exponent, s) for e, s in decoded])
    return [[next(exacts) for _ in range(2 if operand.format in COMPLEX else 1)] for operand in operands]


def _decode(name: str, entries: Sequence[int]) -> tuple[list[tuple[int, int]], dict[int, int]]:
    format = part_format(name)
    if not isinstance(format, Floating):
        return [(entry, 0) for entry in entries], {}
    specials = {i: mark for i, entry in enumerate(entries) if (mark := format.special(entry)) is not None}
    return [(0, 0) if i in specials else format.decode(entry) for i, entry in enumerate(entries)], specials


# ---- which entries meet -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Pairing:
    """The shape of a product and, for each entry in C order, the positions of its row of A and its column of B."""

    shape: Shape
    lines: Sequence[tuple[range, range]]

    def sums(self, a: Sequence[int], b: Sequence[int]) -> list[int]:
        """The inner products."""
        return [sum(map(mul, _at(a, row), _at(b, column))) for row, column in self.lines]


def _at(entries: Sequence[int], positions: range) -> Sequence[int]:
    return entries[positions.start : positions.stop : positions.step]


def pair_lines(a: Shape, b: Shape, transposed: bool) -> Pairing:
    """Pair rows with columns as matmul does; where transposed, with the rows of B. A vector is one row or column."""
    row, column = len(a) == 1, len(b) == 1
    a, b = ((1, *a) if row else a), ((1, *b) if column else b)
    transposed = transposed or column
    (m, k), (n, depth) = a[-2:], b[-2:] if transposed else b[:-3:-1]
    if k != depth:
        raise ValueError(f"inner dimensions differ: {a} and {b}")
    batch, offsets = _broadcast(a[:-2], b[:-2])
    lines = []
    for (at_a, at_b), i, j in product(offsets, range(m), range(n)):
        first = at_a * m * k + i * k
        start, step = (at_b * n * k + j * k, 1) if transposed else (at_b * k * n + j, n)
        lines.append((range(first, first + k), range(start, start + k * step, step)))
    return Pairing(batch + (() if row else (m,)) + (() if column else (n,)), lines)


def _broadcast(a: Shape, b: Shape) -> tuple[Shape, list[tuple[int, int]]]:
    """The common batch shape and, for each of its members, the numbers of the two matrices."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        raise ValueError(f"batches {a} and {b} do not match")
    shape = tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))
    members = product(*map(range, shape))
    return shape, [(_number(member, a), _number(member, b)) for member in members]


def _number(member: Shape, shape: Shape) -> int:
    number = 0
    for index, length in zip(member, shape, strict=True):
        number = number * length + (index if length > 1 else 0)
    return number


# ---- values -------------------------------------------------------------------------------------------------------
Value = Fraction | int
"""An entry of a product: a Fraction, or an int that marks +infinity, -infinity or `NAN`."""


def _term_mark(x: int | None, y: int | None, a: int, b: int) -> int | None:
    """The mark of a product of two entries with marks x, y (None if finite) and numerators a, b."""
    if x is None and y is None:
        return None
    left = x if x is not None else (a > 0) - (a < 0)
    right = y if y is not None else (b > 0) - (b < 0)
    return left * right  # a NaN or a zero makes it 0, which is NAN


def _marks(pairing: Pairing, terms: Sequence[tuple[int, Exact, Exact]]) -> Iterator[int | None]:
    """For each entry, what IEEE 754 makes of its terms sign * a * b, in any order: None where all are finite."""
    for row, column in pairing.lines:
        marks = set()
        for sign, a, b in terms:
            for i, j in zip(row, column, strict=True) if a.specials or b.specials else ():
                mark = _term_mark(a.specials.get(i), b.specials.get(j), a.numerators[i], b.numerators[j])
                if mark is not None:
                    marks.add(sign * mark)
        yield None if not marks else marks.pop() if len(marks) == 1 else NAN


def _combine(pairing: Pairing, terms: Sequence[tuple[int, Exact, Exact]]) -> list[Value]:
    """The sum of sign * a @ b, whose operands share their powers of two."""
    totals = [0] * len(pairing.lines)
    for sign, a, b in terms:
        totals = [total + sign * s for total, s in zip(totals, pairing.sums(a.numerators, b.numerators), strict=True)]
    unit = power_of_two(terms[0][1].exponent + terms[0][2].exponent)
    return [total * unit if mark is None else mark for total, mark in zip(totals, _marks(pairing, terms), strict=True)]


def product_parts(a: Sequence[Exact], b: Sequence[Exact], pairing: Pairing) -> list[list[Value]]:
    """The real part, and the imaginary one where an operand is complex; a real operand has no imaginary terms."""
    if len(a) == len(b) == 1:
        return [_combine(pairing, [(1, a[0], b[0])])]
    real = [(1, a[0], b[0])]
    imaginary = []
    if len(a) == len(b):
        real.append((-1, a[1], b[1]))
    if len(b) == 2:
        imaginary.append((1, a[0], b[1]))
    if len(a) == 2:
        imaginary.append((1, a[1], b[0]))
    return [_combine(pairing, real), _combine(pairing, imaginary)]


def rounded(values: Sequence[Sequence[Value]], name: str, shape: Shape, rounding: str) -> Encoded:
    """Values, by parts, as an array of a format: each rounded once."""
    format = FLOATS[COMPLEX.get(name, name)]

    def encode(value: Value) -> int:
        if isinstance(value, Fraction):
            return format.round(value, rounding)
        return format.infinite(value) if value else format.nan

    return Encoded(name, shape, [encode(value) for entry in zip(*values, strict=True) for value in entry])


# ---- intervals ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Box:
    """Interval entries [lows[i], highs[i]] * 2**exponent."""

    lows: Sequence[int]
    highs: Sequence[int]
    exponent: int

    def derive(self, function: Callable[[int, int], int]) -> list[int]:
        """function(m, r) of each entry, where m = low + high and r = high - low."""
        return [function(low + high, high - low) for low, high in zip(self.lows, self.highs, strict=True)]


def _rho(m: int, r: int) -> int:
    return (m > 0) * min(m, r) + (m < 0) * max(m, -r)


Ends = tuple[list[int], list[int]]


def _rump_ends(a: Box, b: Box, pairing: Pairing) -> Ends:
    """4 (C - S) and 4 (C + S) of Rump's midpoint-radius product."""
    c = pairing.sums(a.derive(lambda m, r: m), b.derive(lambda m, r: m))
    s1 = pairing.sums(a.derive(lambda m, r: abs(m)), b.derive(lambda m, r: r))
    s2 = pairing.sums(a.derive(lambda m, r: r), b.derive(lambda m, r: abs(m) + r))
    triples = list(zip(c, s1, s2, strict=True))
    return [x - y - z for x, y, z in triples], [x + y + z for x, y, z in triples]


def _sharp_ends(a: Box, b: Box, pairing: Pairing) -> Ends:
    """4 (C - S + P + Q) and 4 (C + S + P - Q) of the five-product form."""
    lows, highs = _rump_ends(a, b, pairing)
    p = pairing.sums(a.derive(_rho), b.derive(_rho))
    q = pairing.sums(a.derive(lambda m, r: min(abs(m), r)), b.derive(lambda m, r: min(abs(m), r)))
    return (
        [low + x + y for low, x, y in zip(lows, p, q, strict=True)],
        [high + x - y for high, x, y in zip(highs, p, q, strict=True)],
    )


def _hull_ends(a: Box, b: Box, pairing: Pairing) -> Ends:
    """4 times the sums of the least and of the greatest products of endpoints."""
    lows, highs = [], []
    for row, column in pairing.lines:
        boxes = zip(_at(a.lows, row), _at(a.highs, row), _at(b.lows, column), _at(b.highs, column), strict=True)
        corners = [(p * r, p * s, q * r, q * s) for p, q, r, s in boxes]
        lows.append(4 * sum(map(min, corners)))
        highs.append(4 * sum(map(max, corners)))
    return lows, highs


def _sharp_hulls(a: Box, b: Box, pairing: Pairing) -> list[int]:
    """1 where the five-product form gives the hull."""
    ends = (zip(*function(a, b, pairing), strict=True) for function in (_sharp_ends, _hull_ends))
    return [int(sharp == hull) for sharp, hull in zip(*ends, strict=True)]


_ENDS: dict[str, Callable[[Box, Box, Pairing], Ends]] = {"rump": _rump_ends, "sharp": _sharp_ends, "hull": _hull_ends}


def _box(first: Encoded, second: Encoded, midpoints: bool) -> Box:
    (x,), (y,) = read_parts(first, second)
    pairs = list(zip(x.numerators, y.numerators, strict=True))
    if midpoints:
        pairs = [(mid - rad, mid + rad) for mid, rad in pairs]
    if any(low > high for low, high in pairs):
        raise ValueError("an interval is empty")
    return Box([low for low, _ in pairs], [high for _, high in pairs], x.exponent)


# ---- calls --------------------------------------------------------------------------------------------------------
def _interval_answer(case: Case, operands: Sequence[Encoded], name: str) -> tuple[Encoded, ...]:
    midpoints = case.function == "mm_interval"
    a, b = _box(operands[0], operands[1], midpoints), _box(operands[2], operands[3], midpoints)
    pairing = pair_lines(operands[0].shape, operands[2].shape, transposed=False)
    ends = _ENDS[str(case.keywords.get("method", "sharp"))](a, b, pairing)
    unit = power_of_two(a.exponent + b.exponent - 2)
    results = [
        rounded([[end * unit for end in ends[i]]], name, pairing.shape, direction)
        for i, direction in enumerate(("down", "up"))
    ]
    if case.keywords.get("return_info"):
        results.append(Encoded("bool", pairing.shape, _sharp_hulls(a, b, pairing)))
    return tuple(results)


def _exact_answer(values: Sequence[Value], shape: Shape) -> tuple[Encoded, ...]:
    """int64 where every entry fits, else Python integers."""
    entries = [int(value) for value in values]
    fits = all(-(1 << 63) <= entry < 1 << 63 for entry in entries)
    return (Encoded("int64" if fits else "int", shape, entries),)


def answer(case: Case, operands: Sequence[Encoded]) -> tuple[Encoded, ...]:
    """The results of a case: one array, two ends, or these and the mask of hulls; a fraction; multiple precision."""
    if case.function in linear.FUNCTIONS:
        return linear.linear_answer(case.function, operands)
    if case.function in multiprecision.FUNCTIONS:
        return multiprecision.answer(case.function, operands, case.keywords)
    name = str(case.keywords.get("dtype") or common_format([operand.format for operand in operands]))
    if case.function.startswith("mm_interval"):
        return _interval_answer(case, operands, name)
    gram = len(operands) == 1
    a, b = operands[0], operands[-1]
    pairing = pair_lines(a.shape, b.shape, transposed=gram or case.function.endswith("_nt"))
    (a_parts,), (b_parts,) = read_parts(a), read_parts(b)
    values = product_parts(a_parts, b_parts, pairing)
    if case.function == "mm_exact":
        return _exact_answer(values[0], pairing.shape)
    roundings = ("down", "up") if "enclose" in case.function else (str(case.keywords.get("rounding", "nearest")),)
    return tuple(rounded(values, name, pairing.shape, rounding) for rounding in roundings)
