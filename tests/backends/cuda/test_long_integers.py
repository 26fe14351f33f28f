"""Factors in residues on devices that run kernels on this host, beside the reference; and wrong tables are noticed.

The verbs one by one are tested with those of other backends, by the plugin that `emulation/installing.py` is.
"""

import numpy as np
import pytest

from exactla import registry
from exactla.core import lu
from exactla.core.limbs import from_limbs, limbs_needed, to_limbs
from exactla.core.moduli import residue_base


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


@pytest.mark.parametrize("size", [1, 31, 32, 33, 70])
@pytest.mark.parametrize("precision", [53, 106, 159, 212, 400])
def test_factors_of_few_limbs(ampere, rng, size, precision):
    """In two launches for a column and one for the rows of a block, which the reference has entry by entry."""
    matrix = random_limbs(rng, size, size + 2, precision)
    before = len(ampere.gpu.launches)
    assert factors("cuda", matrix, precision) == factors("numpy", matrix, precision)
    kernels = [x.kernel for x in ampere.gpu.launches[before:]]
    launches = [kernels.count(f"xl_wide_panel_{name}") for name in ("sums", "divide", "rows")]
    assert launches == [size, size, -(-size // 32)]


@pytest.mark.parametrize("precision", [53, 700])
def test_the_current_stream_and_device(ampere, rng, precision):
    """Whatever is kept between calls, work goes to where the next call is made."""
    import cupy

    matrix = random_limbs(rng, 6, 6, precision)
    expected = factors("numpy", matrix, precision)
    for device, stream in ((0, 0), (0, 7), (1, 7), (0, 0)):
        before = len(ampere.gpu.launches)
        with cupy.cuda.Device(device), cupy.cuda.Stream(stream):
            assert factors("cuda", matrix, precision) == expected
        assert {launch.stream for launch in ampere.gpu.launches[before:]} == {stream}


@pytest.mark.parametrize("processors", [3, 40])
def test_ties_and_small_pivots(ampere, rng, monkeypatch, processors):
    """Many equal sums; pivots of a few bits, by which quotients are long; a matrix that has lost its rank.

    With more blocks of threads than a warp has threads, too.
    """
    monkeypatch.setattr(ampere.driver, "processors", lambda number: processors)
    for factor, precision in ((1 << 64, 64), (1, 64), (3, 130)):
        for _ in range(3):
            matrix = to_limbs(rng.integers(-1, 2, (40, 40)).astype(object) * factor, 3)
            found = [outcome(backend, matrix, precision) for backend in ("cuda", "numpy")]
            assert found[0] == found[1]
    rows = rng.integers(-(1 << 40), 1 << 40, (35, 35)).astype(object) << 20
    rows[-1] = rows[0] + rows[1]
    found = [outcome(backend, to_limbs(rows, 2), 60) for backend in ("cuda", "numpy")]
    assert found[0] == found[1]


LARGE = 1 << 200


@pytest.mark.parametrize("rows", [(1, 3), (3, 1), (3, 4), (2, 9), (11, 0)])
@pytest.mark.parametrize(
    "values",
    [
        (LARGE, -LARGE),
        (-LARGE, LARGE),
        (LARGE, LARGE),
        (LARGE, LARGE + 1),
        (-LARGE, LARGE + 1),
        (-LARGE - 1, LARGE),
        (LARGE - 1, -LARGE),
        (LARGE * 2 - 1, 1 - LARGE * 2),
        (LARGE * 2 - 1, 2 - LARGE * 2),
        (LARGE // 2**9, LARGE // 2**9 - 1),
    ],
)
def test_pivots_of_like_magnitude(ampere, rng, rows, values):
    """Of one block of threads or of two: beyond the bits that are compared at first, or equal with either sign."""
    matrix = rng.integers(-9, 10, (12, 12)).astype(object)
    matrix[rows, 0] = values
    expected = min(rows, key=lambda row: (-abs(matrix[row, 0]), row))
    lower, upper, order = factors("cuda", to_limbs(matrix << 20, 4), 212)
    assert order[0] == expected
    assert (lower, upper, order) == factors("numpy", to_limbs(matrix << 20, 4), 212)


@pytest.mark.parametrize("size", [7, 40, 70])
def test_sums_that_differ_late(ampere, rng, size):
    """Small integers times a large one, and a little more: sums of later columns agree in many bits as well."""
    for precision in (64, 128):
        matrix = (rng.integers(-1, 2, (size, size)).astype(object) << 120) + rng.integers(-1, 2, (size, size))
        found = [outcome(backend, to_limbs(matrix, 3), precision) for backend in ("cuda", "numpy")]
        assert found[0] == found[1]


def outcome(backend, matrix, precision):
    try:
        return factors(backend, matrix, precision)
    except lu.LostPivot as lost:
        return lost.column, lost.value


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


@pytest.mark.parametrize(("bits", "limbs"), [(30, 1), (212, 5), (3000, 40), (3000, 60)])
def test_tables(emulated, bits, limbs):
    """Against Python's integers."""
    device = registry.load("cuda").multiprecision._device  # type: ignore[attr-defined]
    tables = emulated.wide_tables.Tables(device)
    base = residue_base(65280, bits)
    count, octets = 2 * len(base.moduli), 8 * limbs
    powers = tables.powers(base, 64 * limbs)
    digits = host(device, powers)
    for p, m in enumerate(base.moduli):
        expected = [(pow(256, j, m) + m // 2) % m - m // 2 for j in range(64 * limbs)]
        assert (256 * digits[2 * p] + digits[2 * p + 1]).tolist() == expected
    assert not digits[count:].any()
    found = host(device, tables.recovery(base, limbs).cofactors)[:octets]
    for p, cofactor in enumerate(base.cofactors):
        for column, value in ((2 * p, cofactor), (2 * p + 1, 256 * cofactor)):
            total = sum(int(x) << 8 * o for o, x in enumerate(found[:, column]))
            assert (total - value) % (1 << 8 * octets) == 0
    assert not found[:, count:].any()


def host(device, table):
    """The octets of a table, as wide integers."""
    return device.download(table.memory, np.dtype(np.int8), (table.rows, table.depth)).astype(np.int64)


def test_a_wrong_table_is_noticed(ampere, rng, monkeypatch):
    """The negative control: one octet of the cofactors is off by one."""
    kind = ampere.wide_tables.Tables
    right = kind._cofactors

    def wrong(self, base, octets):
        table = right(self, base, octets)
        (table.memory + 80 * table.depth + 1).memset_async(1, 1)  # above what rounding drops
        return table

    matrix = random_limbs(rng, 6, 6, 600)
    monkeypatch.setattr(kind, "_cofactors", wrong)
    assert factors("cuda", matrix, 600) != factors("numpy", matrix, 600)


def test_a_wrong_limb_is_noticed(ampere, rng, monkeypatch):
    """The same for few limbs."""
    right = ampere.wide_tables._whole

    def wrong(base, limbs):
        table = right(base, limbs)
        table[3, 5] ^= 1  # above what rounding drops
        return table

    matrix = random_limbs(rng, 6, 6, 260)  # a precision that no other test has a table for
    monkeypatch.setattr(ampere.wide_tables, "_whole", wrong)
    assert factors("cuda", matrix, 260) != factors("numpy", matrix, 260)


@pytest.mark.parametrize(
    ("size", "columns", "precision"), [(1, 1, 53), (33, 3, 212), (65, 2, 130), (128, 1, 250), (32, 1, 950)]
)
@pytest.mark.parametrize("divisor_bits", [None, 1, 64, 200])
def test_few_unknowns(ampere, rng, size, columns, precision, divisor_bits):
    """By a block of threads for a right-hand side; where small divisors make unknowns grow, the host finds them."""
    lower, right = random_limbs(rng, size, size, precision), random_limbs(rng, size, columns, 2 * precision)
    divisors = None
    if divisor_bits is not None:
        drawn = rng.integers(1, 1 << min(divisor_bits, 30), size, endpoint=True)
        divisors = [
            int(x) * int(s) << max(divisor_bits - 31, 0) for x, s in zip(drawn, rng.choice([-1, 1], size), strict=True)
        ]
    before = len(ampere.gpu.launches)
    found = []
    for backend in ("cuda", "numpy"):
        verbs = registry.load(backend).multiprecision
        x = verbs.substitute(verbs.upload(lower), divisors, precision, verbs.upload(right))
        found.append(from_limbs(verbs.download(x)).tolist())
    assert found[0] == found[1]
    assert "xl_wide_triangle" in [x.kernel for x in ampere.gpu.launches[before:]]


def test_few_unknowns_of_too_many_limbs(ampere, rng):
    """For the shared memory of a block of threads: the host finds them, or fewer are asked for."""
    size, precision = 128, 1000
    lower, right = random_limbs(rng, size, size, precision), random_limbs(rng, size, 1, 2 * precision)
    before = len(ampere.gpu.launches)
    verbs, reference = (registry.load(backend).multiprecision for backend in ("cuda", "numpy"))
    found, expected = (
        from_limbs(x.download(x.substitute(x.upload(lower), None, precision, x.upload(right)))).tolist()
        for x in (verbs, reference)
    )
    assert found == expected
    assert len(ampere.gpu.launches) == before
    few = [verbs.few_unknowns(limbs) for limbs in (4, lower.shape[-1], 17)]
    assert few[0] == size > few[1] > few[2]
