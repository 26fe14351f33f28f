"""The oracle against facts worked out by hand, python-flint, NumPy's shapes, and the inequalities between methods."""

import math
from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest

from exactla_conformance import linear
from exactla_conformance.case import Case
from exactla_conformance.cases import all_cases
from exactla_conformance.encodings import FLOATS, NAN, Encoded, Floating, part_format, power_of_two
from exactla_conformance.oracle import answer, pair_lines
from exactla_conformance.streams import Stream, anything, draw, fixed, ordinary
from tests import lu_oracle

DOUBLE = FLOATS["float64"]


def doubles(rows):
    """An array of float64 encodings of exact values."""
    rows = np.array(rows, dtype=object)
    return Encoded("float64", rows.shape, [encode(x) for x in rows.ravel()])


def encode(x):
    x = Fraction(x)
    return DOUBLE.encode(x.numerator, 1 - x.denominator.bit_length())


def values(array):
    """The exact values of an array; None for what is not finite."""
    f = part_format(array.format)
    if not isinstance(f, Floating):
        return [Fraction(e) for e in array.entries]
    return [None if f.special(e) is not None else f.decode(e)[0] * power_of_two(f.decode(e)[1]) for e in array.entries]


def ask(function, *operands, **keywords):
    return answer(Case("test", function, fixed(*operands), keywords), operands)


def test_enclosure_of_one_plus_a_little():
    lo, hi = ask("mm_enclose", doubles([[1, Fraction(1, 1 << 53)]]))
    assert lo.entries == [0x3FF0000000000000]
    assert hi.entries == [0x3FF0000000000001]


def test_exact_zero_is_positive():
    a = Encoded("float64", (1, 2), [encode(1), encode(-1)])
    b = Encoded("float64", (2, 1), [encode(3), encode(3)])
    assert [end.entries for end in ask("mm_enclose", a, b)] == [[0], [0]]
    minus_zero = Encoded("float64", (1, 1), [DOUBLE.sign])
    assert ask("mm", minus_zero, minus_zero)[0].entries == [0]
    assert ask("mm", minus_zero, doubles([[1]]), rounding="down")[0].entries == [0]


def test_non_zero_rounded_to_zero_keeps_its_sign():
    tiny = Encoded("float64", (1, 1), [DOUBLE.sign + 1])
    lo, hi = ask("mm_enclose", tiny, Encoded("float64", (1, 1), [1]))
    assert (lo.entries, hi.entries) == ([DOUBLE.sign + 1], [DOUBLE.sign])


def test_overflow_saturates_inward():
    a = Encoded("float64", (1, 1), [DOUBLE.largest_encoding])
    lo, hi = ask("mm_enclose", a, a)
    assert (lo.entries, hi.entries) == ([DOUBLE.largest_encoding], [0x7FF0000000000000])


def test_exact_product_leaves_int64_only_where_it_must():
    a = Encoded("int64", (1, 1), [1 << 62])
    assert ask("mm_exact", a, Encoded("int8", (1, 1), [-2]))[0] == Encoded("int64", (1, 1), [-(1 << 63)])
    assert ask("mm_exact", a, Encoded("int8", (1, 1), [2]))[0] == Encoded("int", (1, 1), [1 << 63])


def test_complex_parts():
    one, two = encode(1), encode(2)
    a = Encoded("complex128", (1, 1), [one, two])  # (1 + 2i)^2 = -3 + 4i
    assert ask("mm", a, a)[0].entries == [encode(-3), encode(4)]
    assert ask("mm", a, doubles([[3]]))[0].entries == [encode(3), encode(6)]
    assert ask("mm", doubles([[3]]), a)[0].entries == [encode(3), encode(6)]


INFINITY, MINUS, NOT = 0x7FF0000000000000, 0xFFF0000000000000, DOUBLE.nan


@pytest.mark.parametrize(
    ("row", "column", "expected"),
    [
        ((INFINITY, encode(1)), (encode(2), encode(-5)), INFINITY),
        ((INFINITY, encode(1)), (encode(-2), encode(5)), MINUS),
        ((INFINITY, encode(1)), (0, encode(5)), NOT),
        ((INFINITY, MINUS), (encode(1), encode(1)), NOT),
        ((INFINITY, MINUS), (encode(1), encode(-1)), INFINITY),
        ((MINUS, encode(1)), (MINUS, encode(1)), INFINITY),
        ((NOT, encode(1)), (encode(1), encode(1)), NOT),
        ((NOT, encode(1)), (0, encode(1)), NOT),
        ((DOUBLE.largest_encoding,) * 2, (encode(4), INFINITY), INFINITY),
        ((encode(1), encode(2)), (encode(3), encode(4)), encode(11)),
    ],
)
def test_nonfinite_terms(row, column, expected):
    a, b = Encoded("float64", (1, 2), list(row)), Encoded("float64", (2, 1), list(column))
    lo, hi = ask("mm_enclose", a, b, nonfinite="propagate")
    assert lo.entries == hi.entries == [expected]
    order = ask("mm", Encoded("float64", (1, 2), row[::-1]), Encoded("float64", (2, 1), column[::-1]))
    assert order[0].entries == [expected]


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16", "float8_e4m3", "int64", "uint8", "int"])
def test_products_are_flints(name):
    stream = Stream(f"flint {name}")
    a, b = draw(stream, name, (7, 12), anything), draw(stream, name, (12, 5), anything)
    exact = flint.fmpq_mat(7, 12, [flint.fmpq(*x.as_integer_ratio()) for x in values(a)]) * flint.fmpq_mat(
        12, 5, [flint.fmpq(*x.as_integer_ratio()) for x in values(b)]
    )
    expected = [Fraction(int(x.p), int(x.q)) for x in exact.entries()]
    if name in FLOATS:
        lo, hi = ask("mm_enclose", a, b)
        assert lo.entries == [FLOATS[name].round(x, "down") for x in expected]
        assert hi.entries == [FLOATS[name].round(x, "up") for x in expected]
    else:
        assert [Fraction(x) for x in ask("mm_exact", a, b)[0].entries] == expected


SHAPES = [
    operands for name, case in all_cases().items() if name.startswith(("stack-", "empty-")) for operands in [case]
]


@pytest.mark.parametrize("case", SHAPES, ids=lambda case: case.name)
def test_shapes_and_pairs_are_matmuls(case):
    a, b = (operand.shape for operand in case.operands())
    transposed = case.function.endswith("_nt")
    pairing = pair_lines(a, b, transposed)
    x = np.arange(math.prod(a)).reshape(a)
    y = np.arange(math.prod(b)).reshape(b)
    expected = np.matmul(x, y.swapaxes(-1, -2) if transposed else y)
    assert pairing.shape == expected.shape
    assert pairing.sums(list(range(x.size)), list(range(y.size))) == expected.ravel().tolist()


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="inner"):
        pair_lines((2, 3), (2, 3), transposed=False)
    with pytest.raises(ValueError, match="batches"):
        pair_lines((2, 2, 3), (3, 3, 2), transposed=False)


def interval(method, *ends):
    """The enclosure of a product of two intervals, as exact values."""
    lo, hi = ask("mm_interval_bounds", *(doubles([[end]]) for end in ends), method=method)
    return values(lo)[0], values(hi)[0]


def test_interval_facts():
    # [1, 2] [-1, 3]: hull [-2, 6]; m = 3, 2 and r = 1, 4: 4C = 6, S = 12 + 6
    assert interval("hull", 1, 2, -1, 3) == (-2, 6)
    assert interval("sharp", 1, 2, -1, 3) == (-2, 6)
    assert interval("rump", 1, 2, -1, 3) == (-3, 6)
    # both straddle: [-1, 3] [-5, 2]: hull [-15, 6]
    assert interval("hull", -1, 3, -5, 2) == (-15, 6)
    # m = 2, -3; r = 4, 7; rho = 2, -3: 4C = -6, S = 14 + 40, P = -6, Q = 6
    assert interval("rump", -1, 3, -5, 2) == (-15, 12)
    assert interval("sharp", -1, 3, -5, 2) == (-15, 9)


def test_midpoint_and_radius_are_the_endpoints():
    ends = [doubles([[x]]) for x in (Fraction(1, 2), Fraction(5, 2), -3, 1)]
    middles = [doubles([[x]]) for x in (Fraction(3, 2), 1, -1, 2)]
    for method in ("rump", "sharp", "hull"):
        assert ask("mm_interval_bounds", *ends, method=method) == ask("mm_interval", *middles, method=method)


@pytest.mark.parametrize("label", range(30))
def test_methods_are_ordered_and_sound(label):
    stream = Stream(f"ordered {label}")
    entries = [sorted(stream.between(-9, 9) for _ in range(2)) for _ in range(6)]
    a, b = entries[:3], entries[3:]
    operands = [doubles([[x[end] for x in a]]) for end in (0, 1)] + [doubles([[x[end]] for x in b]) for end in (0, 1)]
    answers = {m: ask("mm_interval_bounds", *operands, method=m) for m in ("rump", "sharp", "hull")}
    ends = {method: (values(lo)[0], values(hi)[0]) for method, (lo, hi) in answers.items()}
    corners = [sum(x * y for x, y in zip(choice[:3], choice[3:], strict=True)) for choice in product(*entries)]
    assert ends["hull"] == (min(corners), max(corners))
    assert ends["rump"][0] <= ends["sharp"][0] <= ends["hull"][0]
    assert ends["rump"][1] >= ends["sharp"][1] >= ends["hull"][1]
    mask = ask("mm_interval_bounds", *operands, method="sharp", return_info=True)[2]
    both = [x[0] < 0 < x[1] and y[0] < 0 < y[1] and x[0] + x[1] and y[0] + y[1] for x, y in zip(a, b, strict=True)]
    assert mask == Encoded("bool", (1, 1), [int(not any(both))])
    assert any(both) or ends["sharp"] == ends["hull"]


def test_an_empty_interval_is_refused():
    with pytest.raises(ValueError, match="empty"):
        interval("hull", 2, 1, 0, 0)


@pytest.mark.parametrize("name", ["float16", "float8_e4m3fnuz"])
def test_a_common_power_of_two_changes_nothing(name):
    """Each entry by Fractions alone, without the common exponent."""
    stream = Stream(f"fractions {name}")
    a, b = draw(stream, name, (3, 9), ordinary), draw(stream, name, (9, 2), anything)
    x, y = values(a), values(b)
    exact = [sum(x[9 * i + k] * y[2 * k + j] for k in range(9)) for i in range(3) for j in range(2)]
    assert ask("mm", a, b, rounding="up")[0].entries == [FLOATS[name].round(e, "up") for e in exact]


def test_nan_is_marked_by_zero():
    assert NAN == 0  # the products of marks and signs rely on it


def integers(rows):
    rows = np.array(rows, dtype=object)
    return Encoded("int", rows.shape, [int(x) for x in rows.ravel()])


def test_systems_are_those_of_flint(rng):
    for n in (1, 2, 6, 12):
        a, b = rng.integers(-50, 50, (n, n)), rng.integers(-50, 50, (n, 2))
        numerators, denominator = ask("solve", integers(a), integers(b))
        expected = flint.fmpz_mat(a.tolist()).solve(flint.fmpz_mat(b.tolist())).tolist()
        found = [Fraction(x, denominator.entries[0]) for x in numerators.entries]
        assert found == [Fraction(int(x.p), int(x.q)) for row in expected for x in row]
        assert math.gcd(denominator.entries[0], *numerators.entries) == 1
        assert ask("det", integers(a))[0].entries == [int(flint.fmpz_mat(a.tolist()).det())]
        numerators, denominator = ask("inv", integers(a))
        product = a.astype(object) @ np.array(numerators.entries, object).reshape(n, n)
        assert (product == np.eye(n, dtype=object) * denominator.entries[0]).all()


def test_null_spaces_and_determinants_of_fractions():
    numerators, denominator = ask("nullspace", integers([[1, 2, 3], [4, 5, 6], [7, 8, 9]]))
    assert (numerators.shape, numerators.entries, denominator.entries) == ((3, 1), [1, -2, 1], [1])
    assert [x.entries for x in ask("det", doubles([[Fraction(1, 2), 0], [7, Fraction(-3, 4)]]))] == [[-3], [8]]
    assert ask("det", integers([[1, 2], [2, 4]]))[0].entries == [0]


def long(rows):
    return Encoded("int", np.shape(rows), [int(x) for row in rows for x in row])


def test_products_in_multiple_precision():
    product, exponent = ask("mp_mm", long([[3, 1]]), long([[4], [-20]]), precision=2)
    assert (product.entries, exponent.entries) == ([-1], [3])
    product, exponent = ask("mp_mm", long([[9, 11]]), long([[1, 0], [0, 1]]), precision=3)
    assert (product.entries, exponent.entries) == ([2, 3], [2])  # 9 to 8, the tie of 11 to 12
    pair = Encoded("float64", (1, 1, 2), [encode(1), encode(Fraction(1, 1 << 60))])
    (squared,) = ask("mp_mm", pair, pair)
    assert values(squared) == [1, Fraction(1, 1 << 59)]


def test_factors_worked_out_by_hand():
    # columns are scaled by 2**3, then rows by 1: [[1/4, 1/2], [1/2, 1/2]] in units of 1/16 is [[4, 8], [8, 8]]
    lower, upper, *lists = ask("lu_factor", long([[2, 4], [4, 4]]), precision=4)
    assert (lower.entries, upper.entries) == ([16, 0, 8, 16], [8, 8, 0, 4])
    assert [x.entries for x in lists] == [[1, 0], [0, 0], [3, 3]]
    solution, exponent = ask("lu_solve", long([[2, 4], [4, 4]]), long([[10], [12]]), precision=4)
    assert [x * Fraction(2) ** exponent.entries[0] for x in solution.entries] == [1, 2]


def test_factors_are_those_of_the_other_definition():
    case = all_cases()["lu-random-20"]
    operands = case.operands()
    expected = lu_oracle.factor(linear.read_rows(operands[0]), case.keywords["precision"])
    lower, upper, order, rows, columns = (x.entries for x in answer(case, operands))
    assert lower == [x for row in expected.lower for x in row]
    assert upper == [x for row in expected.upper for x in row]
    assert [order, rows, columns] == [expected.perm, expected.row_exponents, expected.column_exponents]
