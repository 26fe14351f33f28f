"""Conversions of `MPArray` against Fractions: exact both ways, or rounded once."""

from decimal import Decimal
from fractions import Fraction

import flint
import gmpy2
import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactla as xl
from exactla import MPArray
from exactla_conformance.encodings import FLOATS
from tests.multiprecision.numbers import DYADICS, PRECISIONS, mp, rounded, value_of
from tests.oracle import FORMATS, ROUNDINGS

LISTS = st.lists(DYADICS, min_size=1, max_size=5)


@given(LISTS)
def test_fractions_come_back(values):
    x = MPArray.from_fractions(values)
    assert x.to_fractions().tolist() == values
    assert x.tolist() == values
    assert x.limbs.flags.c_contiguous
    assert x.limbs.dtype == np.uint64


@settings(max_examples=60, deadline=None)
@given(st.data(), PRECISIONS)
def test_every_kind_comes_back_at_every_precision(data, precision):
    top = 1 << precision
    significands = data.draw(st.lists(st.integers(top // 2, top - 1), min_size=1, max_size=3))
    numbers = [
        Fraction(s * data.draw(st.sampled_from([-1, 1]))) * Fraction(2) ** data.draw(st.integers(-300, 300))
        for s in significands
    ]
    x = MPArray.from_fractions(numbers)
    assert (MPArray.from_mpfr(x.to_mpfr()) == x).all()
    assert MPArray.from_mpfr(x.to_mpfr(precision)).to_fractions().tolist() == numbers
    assert MPArray.from_mpmath(x.to_mpmath()).to_fractions().tolist() == numbers
    assert MPArray.from_mpmath(x.to_mpmath(precision)).to_fractions().tolist() == numbers
    assert MPArray.from_flint(x.to_flint()).to_fractions().ravel().tolist() == numbers
    assert MPArray.from_strings(x.to_strings(), precision).to_fractions().tolist() == numbers
    assert MPArray.from_fractions(x.to_fractions(), precision).to_fractions().tolist() == numbers
    assert x.rounded(precision).to_fractions().tolist() == numbers
    for number, entry in zip(numbers, x.to_mpfr(precision), strict=True):
        assert entry.precision == precision
        assert value_of(entry) == number


RATIONALS = st.one_of(
    st.fractions(),
    st.builds(Fraction, st.integers(-(1 << 300), 1 << 300), st.integers(1, 1 << 300)),
    DYADICS,
)


@given(st.lists(RATIONALS, min_size=1, max_size=4), st.integers(2, 200))
def test_fractions_are_rounded_once(values, precision):
    expected = [rounded(v, precision) for v in values]
    for kind in (Fraction, gmpy2.mpq, lambda v: flint.fmpq(v.numerator, v.denominator)):
        assert MPArray.from_fractions([kind(v) for v in values], precision).to_fractions().tolist() == expected
    texts = [f"{v.numerator}/{v.denominator}" for v in values]
    assert MPArray.from_strings(texts, precision).to_fractions().tolist() == expected


@given(st.integers(2, 120), st.integers(0, 6), st.integers(-80, 80), st.sampled_from([-1, 1]))
def test_ties_go_to_even(precision, step, exponent, sign):
    significand = (1 << precision - 1) + step % (1 << precision - 1)
    tie = sign * Fraction(2 * significand + 1) * Fraction(2) ** exponent
    x = MPArray.from_fractions([tie], precision)
    assert x.item() == rounded(tie, precision)
    assert MPArray.from_fractions([tie]).rounded(precision).item() == rounded(tie, precision)
    assert value_of(MPArray.from_fractions([tie]).to_mpfr(precision)[0]) == rounded(tie, precision)
    assert value_of(MPArray.from_fractions([tie]).to_mpmath(precision)[0]) == rounded(tie, precision)


@given(LISTS, st.integers(2, 150), st.sampled_from(ROUNDINGS))
def test_rounding_to_a_precision(values, precision, rounding):
    found = MPArray.from_fractions(values).rounded(precision, rounding)
    assert found.to_fractions().tolist() == [rounded(v, precision, rounding) for v in values]


DECIMALS = st.builds(
    lambda sign, whole, part, exponent: f"{sign}{whole}.{part}{exponent}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**30),
    st.integers(0, 10**20),
    st.one_of(st.just(""), st.builds(lambda e: f"e{e}", st.integers(-330, 330))),
)


@given(st.lists(DECIMALS, min_size=1, max_size=4), st.integers(2, 300))
def test_numerals_are_rounded_once(texts, precision):
    found = MPArray.from_strings(texts, precision)
    assert found.to_fractions().tolist() == [rounded(Fraction(t), precision) for t in texts]


@given(DYADICS, st.integers(1, 60))
def test_numerals_of_so_many_digits(value, digits):
    x = MPArray.from_fractions([value])
    assert Fraction(x.to_strings()[0]) == value
    text = x.to_strings(digits)[0]
    found = Fraction(text)
    assert len(text.lstrip("-0.").partition("e")[0].replace(".", "").rstrip("0")) <= digits
    if value == 0:
        assert found == 0
        return
    # one rounding to nearest: no other number of so many digits is nearer
    power = 0
    while abs(value) >= Fraction(10) ** (power + 1):
        power += 1
    while abs(value) < Fraction(10) ** power:
        power -= 1
    unit = Fraction(10) ** (power - digits + 1)
    assert found == round(value / unit) * unit


@pytest.mark.parametrize("name", list(FORMATS))
def test_floats_of_every_format(name, rng):
    format = FORMATS[name]
    if format.bits <= 16:
        words = np.arange(1 << format.bits, dtype=format.word)
    else:
        words = rng.integers(0, 1 << format.bits, 300, dtype=format.word)
        words = np.concatenate([words, np.array([0, 1, 2, format.largest], format.word)])
    dtype = np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)
    numbers = words.view(dtype)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        good = np.isfinite(numbers.astype(np.float64))
    numbers, words = numbers[good], words[good]
    x = MPArray.from_float(numbers)
    assert x.to_fractions().tolist() == [Fraction(float(v)) for v in numbers]
    back = x.to_float(name)
    assert back.dtype == dtype
    nonzero = numbers.astype(np.float64) != 0  # -0 comes back as 0
    assert (back.view(format.word) == words)[nonzero].all()
    assert not (back.view(format.word)[~nonzero]).any()


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_floats_are_rounded_once(name, rounding, rng):
    format = FORMATS[name]
    values = [Fraction(int(rng.integers(-(1 << 40), 1 << 40)), 1 << int(rng.integers(0, 40))) for _ in range(60)]
    scales = [Fraction(2) ** int(e) for e in rng.integers(format.least_exponent - 44, 4 - format.least_exponent, 60)]
    values = [v * s for v, s in zip(values, scales, strict=True)] + [Fraction(0), Fraction(1)]
    # ties and neighbours of values
    least = Fraction(2) ** format.least_exponent
    values += [Fraction(2 * k + 1, 2) * least for k in range(-3, 4)]
    values += [Fraction(2 * k + 1, 2) * least + d * least / 2**70 for k in range(-3, 4) for d in (-1, 1)]
    found = MPArray.from_fractions(values).to_float(name, rounding).view(format.word)
    assert (found == np.array([FLOATS[name].round(v, rounding) for v in values], format.word)).all()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_of_every_type(dtype):
    ends = [0, 1] if dtype == "bool" else [np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1]
    x = MPArray.from_float(np.array([ends], dtype))
    assert x.to_fractions().tolist() == [ends]


def test_integers_of_any_size():
    values = [[0, -1, 10**400], [1, 2, 1 << 4000]]
    x = MPArray.from_float(np.array(values, object))
    assert x.to_fractions().tolist() == values
    assert x.exponent == 0
    assert MPArray.from_float(7).item() == 7


@pytest.mark.parametrize("layout", [lambda a: a.T, lambda a: a[::-1, ::2], np.asfortranarray, lambda a: a[None, 0]])
def test_strides_do_not_matter(layout, rng):
    array = layout(rng.normal(size=(5, 6)))
    assert (MPArray.from_float(array).to_float() == array).all()


@st.composite
def expansions(draw, count):
    """The components of a number: each below half a unit in the last place of the one before it."""
    value = draw(DYADICS.filter(lambda v: abs(v) < Fraction(2) ** 1000))
    parts = []
    for _ in range(count):
        part = float(value)
        parts.append(part)
        value -= Fraction(part)
    return parts


@pytest.mark.parametrize("count", [2, 3, 4])
@given(data=st.data())
def test_components_come_back(count, data):
    rows = data.draw(st.lists(expansions(count), min_size=1, max_size=4))
    x = MPArray.from_components(np.array(rows))
    assert x.to_fractions().tolist() == [sum(map(Fraction, row), Fraction(0)) for row in rows]
    assert (x.to_components(count) == np.array(rows)).all()


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("bits", [52, 53, 54, 62, 63, 64, 127, 319, 320])
def test_components_of_powers_of_two(count, bits):
    """The least integer of so many limbs among them, whose magnitude has a bit where others have their sign."""
    rows = np.array([[np.ldexp(sign, power), *[0.0] * (count - 1)] for sign in (1.0, -1.0) for power in (bits, 0)])
    assert (MPArray.from_components(rows).to_components(count) == rows).all()
    assert (MPArray.from_components(rows[2:3]).to_components(count) == rows[2:3]).all()


@pytest.mark.parametrize("count", [2, 3, 4])
@given(values=LISTS)
def test_components_are_what_is_left_rounded(count, values):
    values = [v for v in values if abs(v) < Fraction(2) ** 1000]
    found = MPArray.from_fractions(values).to_components(count)
    assert found.shape == (len(values), count)
    for value, row in zip(values, found, strict=True):
        left = value
        for part in row:
            assert part == float(left)
            left -= Fraction(float(part))


def test_components_of_many_entries(rng):
    """More than a block, with carries, borrows and signs of all kinds."""
    shape = (150, 130)
    parts = [rng.normal(size=shape)]
    for _ in range(3):
        parts.append(rng.uniform(-0.5, 0.5, shape) * np.spacing(np.abs(parts[-1])))
    array = np.stack(parts, axis=-1)
    x = MPArray.from_components(array)
    expected = np.vectorize(Fraction, otypes=[object])(array).sum(axis=-1)
    assert (x.to_fractions() == expected).all()
    back = x.to_components(4)
    assert (np.vectorize(Fraction, otypes=[object])(back).sum(axis=-1) == expected).all()
    assert (MPArray.from_components(back) == x).all()


@pytest.mark.parametrize(
    "row",
    [
        [1.0, 2.0**-52],
        [1.0, 1.0],
        [0.0, 1.0],
        [1.0, 0.0, 2.0**-300],
        [1.0, 2.0**-60, 2.0**-112],
        [2.0**-1074, 2.0**-1074],
    ],
)
def test_components_that_overlap(row):
    with pytest.raises(ValueError, match=r"the components of array\[1\] overlap"):
        MPArray.from_components(np.array([[0.0] * len(row), row]))


def test_components_that_do_not_overlap():
    assert MPArray.from_components([1.0, 2.0**-53]).item() == 1 + Fraction(1, 2**53)
    assert MPArray.from_components([1.0, np.nextafter(2.0**-52, 0)]).item() == 1 + Fraction(
        float(np.nextafter(2.0**-52, 0))
    )
    assert MPArray.from_components([1.0, -(2.0**-1074)]).item() == 1 - Fraction(1, 2**1074)


def test_components_beyond_the_largest_float():
    x = MPArray.from_fractions([0, 2**1024])
    with pytest.raises(OverflowError, match=r"entry \[1\]"):
        x.to_components(2)
    assert x.to_float().tolist() == [0, np.inf]
    assert x.to_float(rounding="zero").tolist() == [0, np.finfo(np.float64).max]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MPArray(3), TypeError, "from_float"),
        (lambda: MPArray.from_float(np.array([1.0, np.nan])), xl.NonFiniteError, r"array\[1\] is not finite"),
        (lambda: MPArray.from_float(np.array([1j])), TypeError, "complex"),
        (lambda: MPArray.from_float("a"), TypeError, "str"),
        (lambda: MPArray.from_components(np.zeros((2, 5))), ValueError, "2, 3 or 4 components"),
        (lambda: MPArray.from_components(np.zeros((2, 2), np.float32)), TypeError, "float32"),
        (lambda: MPArray.from_components([[1.0, np.inf]]), xl.NonFiniteError, r"array\[0, 1\]"),
        (lambda: MPArray.from_mpfr([gmpy2.mpfr("nan")]), xl.NonFiniteError, r"array\[0\]"),
        (lambda: MPArray.from_mpfr([1, "2"]), TypeError, r"array\[1\] is a str; numbers are gmpy2.mpfr"),
        (lambda: MPArray.from_mpmath([mpmath.inf]), xl.NonFiniteError, r"array\[0\]"),
        (lambda: MPArray.from_flint([[flint.arb("nan")]]), xl.NonFiniteError, r"array\[0, 0\]"),
        (lambda: MPArray.from_fractions([Fraction(1, 3)]), ValueError, r"array\[0\] = 1/3 is no integer times a power"),
        (lambda: MPArray.from_fractions([[1], [2, 3]]), ValueError, "ragged"),
        (lambda: MPArray.from_fractions([1], precision=1), ValueError, "2 bits or more"),
        (
            lambda: MPArray.from_fractions([1], precision=1.5),
            TypeError,
            "a precision in bits is an integer, got a float",
        ),
        (lambda: MPArray.from_fractions([2j]), TypeError, "complex"),
        (lambda: MPArray.from_fractions([mp([1])[0], 2]), TypeError, r"^array\[0\] is a exactla.*MPArray; numbers are"),
        (lambda: MPArray.from_fractions([np.arange(2)] * 2), TypeError, r"^array\[0\] is a numpy.ndarray; numbers are"),
        (lambda: MPArray.from_fractions([float("inf")]), xl.NonFiniteError, r"array\[0\]"),
        (lambda: MPArray.from_strings(["0x1"], 53), ValueError, r"array\[0\]: '0x1' is no decimal number"),
        (lambda: MPArray.from_strings(["nan"], 53), ValueError, "no decimal number"),
        (lambda: MPArray.from_strings([1], 53), TypeError, "numerals are strings"),
        (lambda: MPArray.from_strings(["1/0"], 53), ValueError, "no decimal number"),
        (lambda: MPArray.from_float([1.0]).to_float("int32"), TypeError, "int32"),
        (lambda: MPArray.from_float([1.0]).to_float("complex64"), TypeError, "complex"),
        (lambda: MPArray.from_float([1.0]).to_float(rounding="odd"), ValueError, "odd"),
        (lambda: MPArray.from_float([1.0]).to_components(5), ValueError, "2, 3 or 4"),
        (lambda: MPArray.from_float([1.0]).to_components(2.0), TypeError, "components is an integer, got a float"),
        (lambda: MPArray.from_float([1.0]).to_strings(0), ValueError, "digits=0"),
        (lambda: MPArray.from_float([1.0]).to_mpfr(10**20), ValueError, "268435456 bits at most"),
        (lambda: MPArray.from_float([1.0]).to_mpmath(10**20), ValueError, "268435456 bits at most"),
        (lambda: MPArray.from_float([1.0]).rounded(10**20), ValueError, "268435456 bits at most"),
        (lambda: MPArray.from_strings(["0.1"], 10**12), ValueError, "268435456 bits at most"),
        (lambda: MPArray.from_fractions([Fraction(1, 3)], 10**12), ValueError, "268435456 bits at most"),
        (lambda: MPArray.from_float(1.0).to_flint(), ValueError, "two axes"),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False), PRECISIONS)
def test_decimal_numbers_are_rounded_once(number, precision):
    expected = rounded(Fraction(number), precision)
    assert MPArray.from_fractions([number, 1], precision).tolist() == [expected, 1]


def test_decimal_numbers_that_are_dyadic_come_as_they_are():
    numbers = [Decimal("0.5"), Decimal("-2.5e3"), Decimal("0e-99999999999"), Decimal("1e400")]
    assert MPArray.from_fractions(numbers).tolist() == [Fraction(1, 2), -2500, 0, 10**400]
    with pytest.raises(ValueError, match=r"array\[0\] = 0.1 is no integer times a power"):
        MPArray.from_fractions([Decimal("0.1")])


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "1e99999999999999"])
def test_decimal_numbers_too_long_to_be_written_are_refused_at_once(number):
    with pytest.raises(OverflowError, match=r"^array\[0\]: about .* bits to be written out"):
        MPArray.from_fractions([Decimal(number)])


def test_mpmath_matrices_and_flint_matrices():
    assert MPArray.from_mpmath(mpmath.matrix([[1, 2], [3, 4.5]])).tolist() == [[1, 2], [3, 4.5]]
    assert MPArray.from_flint(flint.fmpz_mat([[1, 2]])).tolist() == [[1, 2]]
    halves = flint.fmpq_mat(1, 2, [flint.fmpq(1, 2), flint.fmpq(1, 3)])
    assert MPArray.from_flint(halves, precision=60).tolist() == [[Fraction(1, 2), rounded(Fraction(1, 3), 60)]]
    ball = flint.arb(1, 0.5)
    assert MPArray.from_flint([ball]).tolist() == [1]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 2)])
def test_empty_shapes(shape):
    x = MPArray.from_float(np.zeros(shape))
    assert x.shape == shape
    assert x.to_float().shape == shape
    assert x.to_fractions().shape == shape
    assert x.to_mpfr().shape == shape
    assert x.to_components(3).shape == (*shape, 3)
    assert MPArray.from_components(np.zeros((*shape, 2))).shape == shape
    assert x.rounded(10).shape == x.normalized().shape == abs(x).shape == shape
    assert (x.bits, x.size) == (0, 0)


def test_wide_exponents_are_refused_where_they_do_not_fit():
    values = [Fraction(1), Fraction(1, 1 << 1_000_000)]
    assert MPArray.from_fractions(values).limbs.shape == (2, 15626)
    with xl.workspace_limit(100_000), pytest.raises(xl.WorkspaceError, match="2 entries of 15,626 limbs") as caught:
        MPArray.from_fractions(values)
    assert (caught.value.needed, caught.value.allowed) == (2 * 15626 * 8, 100_000)
    far = mp([1]).scaled(-(10**15))
    assert far.exponent == -(10**15)
    with pytest.raises(xl.WorkspaceError, match="share one exponent"):
        far + 1
    with xl.workspace_limit(1000), pytest.raises(xl.WorkspaceError):
        MPArray.from_float(np.array([1e300, 1e-300] * 50))


def test_far_exponents_round_as_they_should():
    tiny, huge = mp([1, -1]).scaled(-(10**30)), mp([1, -1]).scaled(10**30)
    assert tiny.to_float().tolist() == [0, 0]
    assert tiny.to_float(rounding="up").tolist() == [5e-324, 0]
    assert huge.to_float().tolist() == [np.inf, -np.inf]
    assert huge.to_float(rounding="down").tolist() == [np.finfo(np.float64).max, -np.inf]


@pytest.mark.parametrize("exponent", [10**12, -(10**12), 10**30, -(10**30)])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.to_fractions(),
        lambda x: x.tolist(),
        lambda x: x[0].item(),
        lambda x: x.to_strings(),
        lambda x: x.to_strings(digits=5),
    ],
)
def test_numbers_too_long_to_be_written_are_refused_at_once(call, exponent):
    with pytest.raises(OverflowError, match=rf"would take {abs(exponent) + 2:,} bits, and 268,435,456 are the most"):
        call(mp([3, 0]).scaled(exponent))


@pytest.mark.parametrize("exponent", [1 << 30, -(1 << 31), 10**12, -(10**12), 10**30, -(10**30)])
def test_numbers_beyond_those_of_gmpy2_are_refused(exponent):
    with pytest.raises(OverflowError, match=r"beyond the exponents of gmpy2\.mpfr"):
        mp([0, 3]).scaled(exponent).to_mpfr()


def test_what_is_short_is_written_whatever_the_exponents():
    zeros = mp([0, 0]).scaled(10**30)
    assert zeros.tolist() == [0, 0]
    assert zeros.to_strings(digits=3).tolist() == zeros.to_strings().tolist() == ["0", "0"]
    assert zeros.to_mpfr().tolist() == [0, 0]
    assert mp([0, 1 << 3000]).scaled(-3000).to_strings().tolist() == ["0", "1"]
    assert mp([0, 3]).scaled(-(10**6)).tolist() == [0, Fraction(3, 1 << 10**6)]
    assert mp([3]).scaled(10**6).to_mpfr().tolist() == [gmpy2.mpfr(3 << 10**6, 2)]


def test_many_long_numbers_are_refused_by_the_workspace_limit():
    x = mp([3] * 10 + [0] * 90).scaled(-80_000)
    with xl.workspace_limit(100_000), pytest.raises(xl.WorkspaceError, match="80,002 bits, and 10 of them need"):
        x.to_fractions()
    with xl.workspace_limit(101_000):
        assert x.to_fractions()[0] == Fraction(3, 1 << 80_000)


@pytest.mark.parametrize("bits", [63, 64, 127, 128, 191])
@pytest.mark.parametrize("rounding", ["nearest", "up", "down", "zero"])
def test_magnitudes_that_round_up_to_the_bit_of_the_sign(bits, rounding):
    values = [Fraction(sign * ((1 << bits) - less)) for sign in (1, -1) for less in (1, 2, 3, 1 << bits - 9)]
    for precision in (2, 9, 53):
        found = [MPArray.from_fractions([value]).rounded(precision, rounding).item() for value in values]
        assert found == [rounded(value, precision, rounding) for value in values]
