"""The certificate of `xl_cuda_round8`: what it does not note rounds alike for every sum within the claimed distance.

The kernel gets integers, counts of entries that lost bits and lengths of rows as they come here, on this host.
"""

import numpy as np
import pytest

from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from exactla_backends.kernels.tables import ROUNDINGS
from tests.backends.kernels.data import base_for, centred_residues
from tests.oracle import FORMATS, encode

BASE = base_for(256, 124)
ROWS, COLUMNS = 24, 40
NEAREST, ENDS = (Rounding.NEAREST,), (Rounding.DOWN, Rounding.UP)


class Case:
    """Integers [ROWS, COLUMNS] of rows and columns of so many bits, of which so many entries lost some."""

    def __init__(self, rng, fmt, spread=0):
        self.fmt = fmt
        self.dropped = [rng.choice([0, 0, 1, 2, 700, 1 << 20], n).astype(np.int32) for n in (ROWS, COLUMNS)]
        self.bits = [rng.integers(1, 40, n) for n in (ROWS, COLUMNS)]
        self.numbers = np.empty((ROWS, COLUMNS), object)
        for r, c in np.ndindex(ROWS, COLUMNS):
            self.numbers[r, c] = self._near_a_value_or_a_tie(rng, self.twice_the_distance(r, c))
        self.exponents = [rng.integers(-spread, spread + 1, n) for n in (ROWS, COLUMNS)]

    def twice_the_distance(self, r, c):
        a, b = int(self.dropped[0][r]), int(self.dropped[1][c])
        return (a << int(self.bits[1][c])) + (b + (a > 0 and b > 0) << int(self.bits[0][r]))

    def _near_a_value_or_a_tie(self, rng, twice):
        """Beside one, at all distances that matter, or anywhere."""
        halves = int(rng.integers(1 << self.fmt.fraction_bits + 1, 1 << self.fmt.fraction_bits + 2))
        unit = int(rng.integers(0, 118 - self.fmt.precision))
        crumb = int(rng.integers(0, 3)) << int(rng.integers(0, unit + 1))
        away = [0, 1, twice // 2 - 1, twice // 2, twice // 2 + 1, twice // 2 + crumb, twice, 3 * twice, crumb]
        number = (halves << unit) + int(rng.choice([-1, 1])) * away[rng.integers(len(away))]
        return int(rng.choice([-1, 1])) * min(number, 1 << 121)

    def certified(self, cuda, roundings):
        """Encodings for each direction, and the places that are noted."""
        elements, format = cuda.elements, FLOAT_FORMATS[self.fmt.name]
        residues = np.zeros((1, len(BASE.moduli), ROWS, COLUMNS + 8), np.int8)
        residues[0, ..., :COLUMNS] = centred_residues(self.numbers, BASE, 1)
        exponents = [np.ascontiguousarray(x, np.int64) for x in self.exponents]
        tops = [np.ascontiguousarray(x + y, np.int64) for x, y in zip(exponents, self.bits, strict=True)]
        starts, places = np.zeros((2, 1), np.int64), np.zeros((2, 1), np.int64)
        found = [np.zeros((ROWS, COLUMNS), self.fmt.word) for _ in range(2)]
        capacity = ROWS * COLUMNS
        doubtful = np.zeros(1 + capacity, np.int64)
        codes = [ROUNDINGS[r] for r in roundings]
        results = elements.Results(
            *(residues.ctypes.data, 1, len(BASE.moduli), ROWS, COLUMNS, COLUMNS + 8),
            *(exponents[0].ctypes.data, exponents[1].ctypes.data, starts.ctypes.data, 0),
            (found[0].ctypes.data, found[len(codes) - 1].ctypes.data),
            (codes[0], codes[1] if len(codes) > 1 else -1),
        )
        certificate = elements.Certificate(*(x.ctypes.data for x in (*self.dropped, *tops, places, doubtful)), capacity)
        elements.round8(elements.Place(0, "sm_80"), format, BASE, results, certificate).run(0)
        noted = {divmod(int(n), COLUMNS) for n in doubtful[1 : 1 + doubtful[0]]}
        assert len(noted) == doubtful[0]
        return found[: len(codes)], noted

    def rounded(self, r, c, halves, roundings):
        """What (2 s + halves) / 2 rounds to, with its sign."""
        exponent = int(self.exponents[0][r] + self.exponents[1][c]) - 1
        number = 2 * self.numbers[r, c] + halves
        return np.sign(number), [encode(number, exponent, self.fmt, x.value) for x in roundings]

    def lowest(self, r, c):
        """A unit of the bits that the kernel looks at, doubled."""
        return 2 << max(abs(self.numbers[r, c]).bit_length() - self.fmt.precision - 32, 0)


def check_certificate(cuda, case, roundings):
    """Nothing is unsure that is not noted; returns the places that are."""
    found, noted = case.certified(cuda, roundings)
    for r, c in np.ndindex(ROWS, COLUMNS):
        twice = case.twice_the_distance(r, c)
        near, far = (case.rounded(r, c, d, roundings) for d in (-twice, twice))
        if (r, c) not in noted:
            assert near == far, f"{case.numbers[r, c]} +- {twice} / 2"
            assert [int(x[r, c]) for x in found] == near[1]
    return noted


@pytest.mark.parametrize("roundings", [ENDS, NEAREST, (Rounding.ZERO, Rounding.NEAREST)], ids=str)
@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16"])
def test_what_is_not_noted_is_sure(rng, ampere, name, roundings):
    case = Case(rng, FORMATS[name])
    noted = check_certificate(ampere, case, roundings)
    assert ROWS < len(noted) < ROWS * COLUMNS - ROWS
    # nor is more noted than has to be: a few units of the bits that are looked at, and values beside ties
    watched = {*roundings, *ENDS}
    for r, c in noted:
        reach = case.twice_the_distance(r, c) + 4 * case.lowest(r, c)
        assert case.rounded(r, c, -reach, watched) != case.rounded(r, c, reach, watched)


@pytest.mark.parametrize("name", ["float64", "float16", "bfloat16"])
def test_subnormal_and_large_results(rng, ampere, name):
    fmt = FORMATS[name]
    for middle in (fmt.least_exponent - 60, (fmt.largest >> fmt.fraction_bits) - fmt.bias - 60):
        case = Case(rng, fmt, spread=20)
        case.exponents[0] += middle
        check_certificate(ampere, case, ENDS)
        check_certificate(ampere, case, NEAREST)


@pytest.mark.parametrize("side", [0, 1])
def test_a_count_that_is_short_by_one_is_noticed(rng, ampere, monkeypatch, side):
    """The negative control, for either side."""
    case = Case(rng, FORMATS["float64"])
    distances = {(r, c): case.twice_the_distance(r, c) for r, c in np.ndindex(ROWS, COLUMNS)}
    monkeypatch.setattr(case, "twice_the_distance", lambda r, c: distances[r, c])
    check_certificate(ampere, case, ENDS)
    case.dropped[side] = np.maximum(case.dropped[side] - 1, 0).astype(np.int32)
    with pytest.raises(AssertionError):
        check_certificate(ampere, case, ENDS)
