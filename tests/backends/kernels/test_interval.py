"""Residues of the pieces of intervals, against Python integers and the NumPy backend."""

import numpy as np
import pytest

from exactla.backend import Operand
from exactla.formats import FLOAT16, FLOAT32, FLOAT64, INTEGER_FORMATS
from exactla_backends.kernels import tables
from exactla_backends.numpy.backend import NumpyBackend
from tests.backends.kernels.data import assert_congruent, base_for, random_encodings, random_integers, scaled, values
from tests.backends.kernels.library import operand


def pieces(first, second, *, endpoints):
    """The seven pieces as Python integers, and the number of invalid intervals."""
    m, r = (first + second, second - first) if endpoints else (2 * first, 2 * second)
    absolute = np.abs(m)
    least = np.minimum(absolute, r)
    sign = np.where(m < 0, -1, 1)
    straddles = np.where((absolute != 0) & (absolute < r), 1, 0).astype(object)
    return [m, absolute, r, absolute + r, sign * least, least, straddles], int((r < 0).sum())


def interval(rng, first_format, second_format, shape, *, straddling=False):
    """Operands of the two parts, their integers, and bits; with `straddling` no radius is negative."""
    parts = []
    for format in (first_format, second_format):
        if format in INTEGER_FORMATS.values():
            parts.append(random_integers(rng, format, shape))
        else:
            parts.append(random_encodings(rng, format, shape, spread=10, lowest=format.bias - 5))
    if straddling:
        parts[1] &= (1 << (second_format.bits - 1)) - 1
    else:
        parts[1][0] = parts[0][0] if first_format == second_format else 0
    formats = (first_format, second_format)
    views = [
        x.view(f"{'iu'[not f.signed]}{x.itemsize}") if f in INTEGER_FORMATS.values() else x
        for x, f in zip(parts, formats, strict=True)
    ]
    (found,) = NumpyBackend().scan([[Operand(x[None], f, (1, *shape)) for x, f in zip(views, formats, strict=True)]])
    exponents = found.operands[0].exponents[0]
    sources = [operand(x, f, exponents, found.bits) for x, f in zip(parts, formats, strict=True)]
    numbers = [scaled(values(x, f), exponents) for x, f in zip(parts, formats, strict=True)]
    return sources, numbers, found.bits


@pytest.mark.parametrize("endpoints", [False, True], ids=["radius", "endpoints"])
@pytest.mark.parametrize("octets", [1, 2])
@pytest.mark.parametrize("shape", [(1, 1), (4, 70), (11, 12)], ids=str)
@pytest.mark.parametrize(
    "formats",
    [(FLOAT64, FLOAT64), (FLOAT16, FLOAT32), (INTEGER_FORMATS["int16"], INTEGER_FORMATS["uint16"])],
    ids=lambda formats: f"{formats[0]}-{formats[1]}",
)
def test_pieces(kernels, rng, endpoints, octets, shape, formats):
    sources, numbers, bits = interval(rng, *formats, shape)
    base = base_for(256 if octets == 1 else 1 << 16, 100)
    make = tables.residues8 if octets == 1 else tables.residues16
    planes, broken, invalid = kernels.interval_residues(
        *sources, make(base, tables.limbs_for(bits + 3)), endpoints=endpoints
    )
    expected, wrong = pieces(*numbers, endpoints=endpoints)
    valid = expected[2] >= 0
    for found, piece in zip(planes, expected, strict=True):
        assert_congruent(np.where(valid, found, 0), np.where(valid, piece, 0), base, digits=octets == 2)
    assert (broken, invalid) == (0, wrong)


def integers_of(limbs):
    """Python integers [R, K] of two's complement limbs [L, R, K]."""
    text = np.moveaxis(limbs, 0, -1).astype("<u4").tobytes()
    width = 4 * len(limbs)
    found = [int.from_bytes(text[i : i + width], "little", signed=True) for i in range(0, len(text), width)]
    return np.array([*found, None], object)[:-1].reshape(limbs.shape[1:])


@pytest.mark.parametrize("endpoints", [False, True], ids=["radius", "endpoints"])
@pytest.mark.parametrize("shape", [(4, 70), (11, 12)], ids=str)
def test_pieces_as_integers(kernels, rng, endpoints, shape):
    sources, numbers, bits = interval(rng, FLOAT64, FLOAT64, shape)
    found, broken, invalid = kernels.interval_integers(*sources, tables.limbs_for(bits + 3), endpoints=endpoints)
    expected, wrong = pieces(*numbers, endpoints=endpoints)
    valid = expected[2] >= 0
    for limbs, piece in zip(found, expected, strict=True):
        np.testing.assert_array_equal(integers_of(limbs)[valid], piece[valid])
    assert (broken, invalid) == (0, wrong)


@pytest.mark.parametrize("octets", [1, 2])
@pytest.mark.parametrize(("rows", "columns", "depth"), [(3, 5, 4), (2, 70, 9)])
def test_hull_excess(kernels, rng, octets, rows, columns, depth):
    sides = []
    for shape in ((rows, depth), (columns, depth)):
        sources, _, bits = interval(rng, FLOAT64, FLOAT16, shape, straddling=True)
        made, _, invalid = kernels.interval_integers(*sources, tables.limbs_for(bits + 3), endpoints=False)
        assert invalid == 0
        made[0, :, -1, -1] = made[1, :, -1, -1] = 0  # a zero midpoint
        sides.append(made)
    base = base_for(256 if octets == 1 else 1 << 16, 300)
    found = kernels.hull_excess(*sides, base, octets)
    for planes, sign in zip(found, (1, -1), strict=True):
        assert_congruent(planes, excess(*sides, sign), base, digits=octets == 2)
    assert excess(*sides, 1).any()


def excess(left, right, wanted):
    """The excess, summed over k, of the pairs of straddling entries whose midpoints' product has the wanted sign."""
    (m_a, _, r_a, _, _, _, in_a), (m_b, _, r_b, _, _, _, in_b) = (
        [integers_of(limbs) for limbs in side] for side in (left, right)
    )
    found = np.zeros((len(m_a), len(m_b)), object)
    for i, j, k in np.ndindex(len(m_a), len(m_b), m_a.shape[1]):
        x, y = m_a[i, k], m_b[j, k]
        if in_a[i, k] and in_b[j, k] and x * y * wanted > 0:
            found[i, j] += 2 * (min(abs(x) * r_b[j, k], abs(y) * r_a[i, k]) - abs(x * y))
    return found


def test_broken_scans_are_counted(kernels, rng):
    sources, _, bits = interval(rng, FLOAT64, FLOAT64, (4, 70))
    changed = sources[1].kept[0].copy()
    changed[3, 3] = 1
    late = operand(changed, FLOAT64, sources[1].kept[1], bits)
    table = tables.residues8(base_for(256, 60), tables.limbs_for(bits + 3))
    assert kernels.interval_residues(sources[0], late, table, endpoints=True)[1] == 1
