"""Factors in residues on devices that run kernels on this host, beside the reference; and wrong tables are noticed.

The verbs one by one are tested with those of other backends, by the plugin that `emulation/installing.py` is.
"""

import numpy as np
import pytest

from exactla import registry
from exactla.core import lu
from exactla.core.limbs import from_limbs, limbs_needed, to_limbs


def random_limbs(rng, size, columns, precision):
    found = np.empty((size, columns), object)
    for place in np.ndindex(found.shape):
        found[place] = int.from_bytes(rng.bytes(precision // 8 + 1), "little") % (2 << precision) - (1 << precision)
    return to_limbs(found, limbs_needed(found.flat))


def factors(backend, matrix, precision):
    """L, U and the order of rows, in integers."""
    verbs = registry.load(backend).multiprecision
    found = lu.factorize(verbs, verbs.upload(matrix), precision)
    lower, upper = (from_limbs(verbs.download(x)).tolist() for x in (found.lower, found.upper))
    return lower, upper, found.order


@pytest.mark.parametrize(
    ("size", "columns", "precision", "block"),
    [(1, 1, 53, 32), (5, 7, 212, 3), (34, 37, 300, 32), (67, 67, 53, 64), (3, 3, 2100, 2)],
)
def test_factors(emulated, rng, monkeypatch, size, columns, precision, block):
    monkeypatch.setattr(lu, "BLOCK", block)
    matrix = random_limbs(rng, size, columns, precision)
    assert factors("cuda", matrix, precision) == factors("numpy", matrix, precision)


def test_moduli_are_added_where_factors_grow(emulated, monkeypatch):
    """Wilkinson's matrix: the last column of U doubles with each row."""
    monkeypatch.setattr(lu, "BLOCK", 4)
    size, precision = 21, 60
    integers = np.tril(np.full((size, size), -1), -1) + np.eye(size, dtype=int)
    integers[:, -1] = 1
    matrix = to_limbs(integers.astype(object) * (1 << precision), 1 + precision // 32)
    before = len(emulated.gpu.launches)
    assert factors("cuda", matrix, precision) == factors("numpy", matrix, precision)
    octets = [x for x in emulated.gpu.launches[before:] if x.kernel == "xl_wide_join"]
    assert len(octets) > 2 * -(-size // 4)


def test_a_wrong_table_is_noticed(ampere, rng, monkeypatch):
    """The negative control: one octet of the cofactors is off by one."""
    right = ampere.wide_tables.cofactors

    def wrong(base, limbs):
        table = right(base, limbs)
        table[20, 1] ^= 1  # above what rounding drops
        return table

    matrix = random_limbs(rng, 6, 6, 131)
    monkeypatch.setattr(ampere.wide_tables, "cofactors", wrong)
    assert factors("cuda", matrix, 131) != factors("numpy", matrix, 131)
