"""Encodings to integers, for every format, against the formats' own definition."""

import numpy as np
import pytest

from exactla.formats import BIGINT, FLOAT_FORMATS, INTEGER_FORMATS
from exactla_backends.numpy.encodings import bit_length, decode, finite, trailing_zeros, unsigned
from tests.oracle import FORMATS

WORDS = sorted({(1 << b) + d for b in range(64) for d in (-1, 0, 1)} | {(1 << 64) - 1, 0x8000000100000000})


def sample(fmt):
    """Every encoding of a narrow format; of a wide one those at the ends of each exponent field."""
    if fmt.bits == 8:
        return list(range(256))
    fields = sorted({0, 1, 2, fmt.bias, *range((1 << fmt.exponent_bits) - 3, 1 << fmt.exponent_bits)})
    fractions = (0, 1, (1 << fmt.fraction_bits) - 1, 1 << (fmt.fraction_bits - 1))
    low = [(field << fmt.fraction_bits) | fraction for field in fields for fraction in fractions]
    return low + [e | fmt.sign_bit for e in low]


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=str)
def test_decode_floats(fmt):
    encodings = sample(fmt)
    decoded = decode(np.array(encodings, fmt.word), FLOAT_FORMATS[fmt.name])
    for encoding, sign, significand, exponent in zip(encodings, *(x.tolist() for x in decoded[:3]), strict=True):
        assert abs(sign) == 1
        value = fmt.value(encoding) if fmt.is_finite(encoding) else 0
        assert sign * significand * 2 ** (exponent - fmt.least_exponent) == value / fmt.value(1)
        assert significand < 1 << fmt.precision
        if fmt.is_infinite(encoding):
            assert sign == (-1 if encoding & fmt.sign_bit else 1)
    assert decoded.special is not None
    assert decoded.special.tolist() == [not fmt.is_finite(e) for e in encodings]
    good = [e for e in encodings if fmt.is_finite(e)]
    assert decode(np.array(good, fmt.word), FLOAT_FORMATS[fmt.name]).special is None


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=str)
def test_finite(fmt):
    encodings = sample(fmt)
    found = finite(unsigned(np.array(encodings, fmt.word)), FLOAT_FORMATS[fmt.name])
    assert found.tolist() == [fmt.is_finite(e) for e in encodings]


@pytest.mark.parametrize("name", INTEGER_FORMATS)
def test_decode_integers(name):
    low, high = (0, 1) if name == "bool" else (np.iinfo(name).min, np.iinfo(name).max)
    numbers = [int(n) for n in (low, high, 0, 1, high // 2)]
    sign, significand, exponent, special = decode(np.array(numbers, name), INTEGER_FORMATS[name])
    assert [s * m for s, m in zip(sign.tolist(), significand.tolist(), strict=True)] == numbers
    assert not exponent.any()
    assert special is None


def test_python_integers_have_no_encodings():
    with pytest.raises(TypeError, match="int"):
        decode(np.zeros(1, object), BIGINT)
    with pytest.raises(TypeError):
        decode(np.zeros(1, object), None)


def test_bit_length():
    assert bit_length(np.array(WORDS, np.uint64)).tolist() == [w.bit_length() for w in WORDS]


def test_trailing_zeros():
    expected = [(w & -w).bit_length() - 1 if w else 64 for w in WORDS]
    assert trailing_zeros(np.array(WORDS, np.uint64)).tolist() == expected


def test_decoding_leaves_the_operand_alone():
    array = np.array([0x7FF0000000000000, 5], np.uint64)
    decode(array, FLOAT_FORMATS["float64"])
    assert array.tolist() == [0x7FF0000000000000, 5]
