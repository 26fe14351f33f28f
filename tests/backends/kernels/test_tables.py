"""The bounds that the kernels rely on, for every modulus that a table may hold."""

import numpy as np
import pytest

from exactla.core.moduli import ResidueBase
from exactla.formats import FLOAT64
from exactla_backends.kernels import tables
from tests.backends.kernels.data import base_for


def signed_bytes(word):
    return [((int(word) >> 8 * i & 255) + 128) % 256 - 128 for i in range(4)]


@pytest.mark.parametrize("limbs", [1, 3, 16])
def test_folds_stay_in_sixteen_bits(limbs):
    for m in range(3, 257):
        table = tables.residues8(ResidueBase((m,)), limbs)
        modulus, inverse, start, fold, bias, offset = (int(v) for v in table.constants[0][:6])
        largest = 16 * 4 * 255 * 128
        assert start >= largest
        assert start + largest < 1 << 22
        weights = signed_bytes(fold)
        assert weights[0] == 1
        assert weights[3] == 0
        reach = [255, 255, 63]
        assert bias + sum(min(w * r, 0) for w, r in zip(weights[:3], reach, strict=True)) >= 0
        assert bias + sum(max(w * r, 0) for w, r in zip(weights[:3], reach, strict=True)) < 1 << 16
        assert (modulus, inverse, bias % m) == (m, (1 << 16) // m, offset)
        assert (start + (1 << (32 * limbs - 1))) % m == 0


def test_digits_stay_in_thirty_two_bits():
    for m in (3, 255, 256, 257, 32768, 65279, 65280, 65281, 65521, 65535, 65536):
        table = tables.residues16(ResidueBase((m,)), 2)
        _, inverse, start, lift, offset = (int(v) for v in table.constants[0][:5])
        largest = 16 * 4 * 255 * 128 * 257
        assert min(start, lift) >= largest
        assert max(start, lift) + largest < 1 << 32
        assert inverse == (1 << 32) // m
        assert lift % m == 0
        assert m - 1 - offset <= 127 * 256 + 127
        assert offset <= 128 * 257


def test_crt_rows_are_the_cofactors():
    for base, octets in ((base_for(256, 166), 1), (base_for(1 << 16, 400), 2)):
        table = tables.crt(base, octets)
        rows = [[signed_bytes(w) for w in row] for row in table.weights.reshape(-1, table.groups)]
        columns = np.array(rows, object).reshape(len(rows), -1)
        expected = [c << 8 * i for c in base.cofactors for i in range(octets)]
        for column, cofactor in zip(columns[4:].T, expected, strict=False):
            value = sum(int(d) << 8 * i for i, d in enumerate(column))
            assert (value - cofactor) % (1 << 32 * table.limbs) == 0
        assert 32 * table.limbs > base.product.bit_length() - 2


def test_moduli_out_of_range_are_refused():
    with pytest.raises(ValueError, match="moduli from 3 to 256"):
        tables.residues8(ResidueBase((257,)), 1)
    with pytest.raises(ValueError, match="moduli from 3 to 65536"):
        tables.crt(ResidueBase((2, 3)), 2)
    with pytest.raises(ValueError, match="1 to 16 limbs"):
        tables.residues8(ResidueBase((251,)), 17)


def test_tables_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        tables.format_table(FLOAT64)[0] = 1
