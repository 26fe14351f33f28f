"""Constants of a residue base, and that sums of products with them stay below 2**53."""

import numpy as np
import pytest

from exactla.core.moduli import residue_base
from exactla_backends.numpy import engines, tables
from exactla_backends.numpy.limbs import BITS

LIMIT = max(max(e.modulus_limits) for e in engines.ENGINES)
BASES = {
    f"{limit}-{bits}": residue_base(limit, bits)
    for limit, bits in ((256, 1), (256, 100), (256, 350), (1 << 10, 500), (1 << 12, 2000), (LIMIT, 10), (LIMIT, 4300))
}


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_powers(base):
    table = tables.powers(base, 20)
    for row, m in zip(table.tolist(), base.moduli, strict=True):
        for j, entry in enumerate(row):
            assert entry.is_integer()
            assert (int(entry) - 2 ** (BITS * j)) % m == 0
            assert 2 * abs(entry) <= m


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_reconstruction(base):
    table = tables.reconstruction(base)
    digits = table.digits.T.tolist()
    for row, cofactor, m, weight in zip(
        digits, base.cofactors, base.moduli, table.weights.ravel().tolist(), strict=True
    ):
        *limbs, fraction = map(int, row)
        assert sum(limb << BITS * j for j, limb in enumerate(limbs)) == cofactor
        assert fraction == (1 << tables.FRACTION_BITS) // m
        assert m == 1 or (cofactor * weight) % m == 1
    assert sum(int(limb) << BITS * j for j, limb in enumerate(table.product.ravel())) == base.product
    assert table.moduli.ravel().tolist() == list(base.moduli)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_sums_of_a_group_are_exact_in_float64(base):
    # signed digits of magnitude up to 2**24, and quotients below the modulus
    into = np.abs(tables.powers(base, 4 * tables.GROUP))[:, : tables.GROUP].sum(axis=1).max() * 2**BITS
    moduli = np.array(base.moduli, float)
    out = max(
        (tables.reconstruction(base).digits[:, k : k + tables.GROUP] * (moduli[k : k + tables.GROUP] - 1))
        .sum(axis=1)
        .max()
        for k in range(0, len(moduli), tables.GROUP)
    )
    assert max(into, out) <= 2.0**53


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_the_fraction_decides_the_quotient(base):
    # sum of x / m is q + s / M with |s / M| <= 1 / 4; what is cut off must stay below the other quarter
    cut_off = sum(m - 1 for m in base.moduli)
    assert 4 * cut_off < 1 << tables.FRACTION_BITS
