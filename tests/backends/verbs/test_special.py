"""`special_pieces`, `mark` and `first_nonfinite`: entries that are not finite, and what becomes of them."""

import numpy as np
import pytest

from exactla.formats import FLOAT_FORMATS
from tests.backends.checks import check_mark, typed
from tests.backends.devices import every_encoding
from tests.operands import ALL_FORMATS, big_integers, floats, integers, whole_range
from tests.oracle import FORMATS, INTEGER_NAMES, encode, exact

FIELDS = ("sign", "abs_sign", "infinity", "abs_infinity", "zero", "nan", "one")


def classes(fmt, encoding):
    """The expected pieces of an entry."""
    sign = -1 if encoding & fmt.sign_bit else 1
    if fmt.is_infinite(encoding):
        return (sign, 1, sign, 1, 0, 0, 1)
    if not fmt.is_finite(encoding):
        return (0, 0, 0, 0, 0, 1, 1)
    sign *= fmt.value(encoding) != 0
    return (sign, abs(sign), 0, 0, int(sign == 0), 0, 1)


def check_pieces(device, array, expected):
    (operand,) = device.scan(array).operands
    pieces = device.backend.special_pieces(operand)
    for number, name in enumerate(FIELDS):
        piece = getattr(pieces, name)
        assert piece.shape == operand.shape
        assert piece.bits == 1
        assert not device.download(piece.exponents).any()
        assert device.integers(piece).ravel().tolist() == [e[number] for e in expected], name


@pytest.mark.parametrize("fmt", [f for f in ALL_FORMATS if f.bits <= 16], ids=str)
def test_every_encoding(device, fmt):
    step = 1 if fmt.bits == 8 else 61
    encodings = [*range(0, 1 << fmt.bits, step), (1 << fmt.bits) - 1]
    encodings += [] if fmt.infinity is None else [fmt.infinity, fmt.infinity | fmt.sign_bit, fmt.sign_bit]
    check_pieces(device, every_encoding(fmt.name)[encodings][None], [classes(fmt, e) for e in encodings])


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_wide_formats(device, name):
    fmt = FORMATS[name]
    assert fmt.infinity is not None
    low = (0, 1, fmt.largest, fmt.infinity, fmt.infinity + 1, fmt.nan, fmt.sign_bit - 1)
    encodings = [s | e for e in low for s in (0, fmt.sign_bit)]
    check_pieces(device, typed(encodings, fmt)[None], [classes(fmt, e) for e in encodings])


@pytest.mark.parametrize("name", [*INTEGER_NAMES, "int"])
def test_integers_are_finite(rng, device, name):
    array = big_integers(rng, (3, 9), 60) if name == "int" else integers(rng, name, (3, 9))
    array[0, 0] = array[1, 1] = 0
    signs = [(n > 0) - (n < 0) for n in map(int, array.ravel())]
    check_pieces(device, array, [(s, abs(s), 0, 0, int(s == 0), 0, 1) for s in signs])
    assert device.backend.first_nonfinite(device.operand(array)) == -1


def test_big_integers_with_empty_limbs(device):
    array = np.array([[1 << 24, -(1 << 24), 1 << 96, -(1 << 96), 0, (1 << 72) - (1 << 24)]], object)
    check_pieces(device, array, [(s, abs(s), 0, 0, int(s == 0), 0, 1) for s in (1, -1, 1, -1, 0, 1)])


# ---- mark ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_mark(device, fmt):
    counts = [
        (signed, count, invalid)
        for count in (0, 1, 2, 3, 1000)
        for signed in sorted({-count, -count + 2, 0, count - 2, count})
        for invalid in (0, 1, 700)
        if abs(signed) <= count
    ]

    def expected(signed, count, invalid):
        if invalid or abs(signed) < count or (count and fmt.infinity is None):
            return fmt.nan
        if count:
            return (fmt.infinity or 0) | (fmt.sign_bit if signed < 0 else 0)
        return encode(1, 0, fmt, "nearest")

    check_mark(device, fmt.name, counts, [expected(*c) for c in counts])


def test_mark_spares_results_without_special_terms(device):
    check_mark(device, "float64", [(0, 0, 0)] * 3, [encode(1, 0, FORMATS["float64"], "down")] * 3)


def test_mark_fits_the_definition_of_the_counts(device):
    # one term inf * 2, one -inf * 3: signed 0 of count 2 is NaN; two of one sign are that infinity
    infinity, nan = FORMATS["float32"].infinity or 0, FORMATS["float32"].nan
    check_mark(
        device, "float32", [(0, 2, 0), (2, 2, 0), (-2, 2, 0), (2, 2, 1)], [nan, infinity, infinity | 1 << 31, nan]
    )


# ---- first_nonfinite -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", [f for f in ALL_FORMATS if f.bits == 8], ids=str)
def test_first_nonfinite_of_every_encoding(device, fmt):
    for encoding, value in enumerate(every_encoding(fmt.name)):
        found = device.backend.first_nonfinite(device.operand(np.array([[value]])))
        assert found == (-1 if fmt.is_finite(encoding) else 0), hex(encoding)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_the_first_of_several(rng, device, fmt):
    array = floats(rng, fmt, (3, 4, 5), whole_range(fmt))
    assert device.backend.first_nonfinite(device.operand(array)) == -1
    places = rng.choice(60, size=7, replace=False)
    array.ravel()[places] = typed([fmt.nan], fmt)
    assert device.backend.first_nonfinite(device.operand(array)) == min(places)


def test_first_nonfinite_counts_in_the_order_of_the_operand(device):
    array = np.zeros((2, 3))
    array[1, 0] = np.inf
    array[0, 2] = np.nan
    assert device.backend.first_nonfinite(device.operand(array)) == 2
    assert device.backend.first_nonfinite(device.operand(array, transpose=True)) == 1
    assert device.backend.first_nonfinite(device.operand(array[:, ::-1])) == 0


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,)])
def test_first_nonfinite_of_nothing(device, shape):
    assert device.backend.first_nonfinite(device.operand(np.zeros(shape))) == -1


def test_the_oracle_calls_the_same_encodings_finite():
    for fmt in ALL_FORMATS:
        assert FLOAT_FORMATS[fmt.name].is_finite(fmt.largest)
        assert exact(typed([fmt.largest], fmt)).numbers[0] > 0
