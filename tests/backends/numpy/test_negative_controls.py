"""Negative controls: the NumPy backend is spoilt in one small way, and the checks of the verbs have to notice.

Each check passes first on the backend as it is, so that what fails afterwards is the spoiling.
"""

import numpy as np
import pytest

from exactla.core import planning
from exactla.core.moduli import ResidueBase
from exactla_backends.numpy import backend, encodings, engines, interval, limbs, residues, rounding, scan, special
from tests.backends import checks
from tests.backends.devices import base_for, open_device
from tests.oracle import FORMATS, assert_enclosure, assert_product

BASE = base_for(256, 60)
FLOAT64, FLOAT8 = FORMATS["float64"], FORMATS["float8_e4m3fn"]
ENDS = (np.array([[[-3.0, -1.0, 2.0]]]), np.array([[[5.0, 4.0, 7.0]]]))
OTHERS = (np.array([[[-1.0, -7.0, 2.0]]]), np.array([[[9.0, 1.0, 3.0]]]))
WIDE = (np.array([[-(2.0**60), 1.0, -5.0]]), np.array([[2.0**30 + 1, 2.0**50, 2.0**60]]))
# ties above an even and an odd significand, their neighbours, overflow, a value below the smallest
NUMBERS = [(1 << 54) + 2, (1 << 54) + 6, (1 << 54) + 3, (1 << 54) + 1, -(1 << 54) - 2, 1 << 55, -5, 5, 1]
EXPONENTS = [0, 0, 0, 0, 0, 1000, -1077, -1077, -3000]

CHECKS = {
    "scan": lambda d: checks.check_scan(d, np.array([[1.0, -6.0, 2.0**-20], [0.0, 3.0, 2.0**40]])),
    "finite": lambda d: checks.check_finite(d, np.array([[1.0, np.inf, np.nan]]), False),
    "residues": lambda d: checks.check_residues(d, BASE, d.backend.engines[0], np.array([[1.5, -1e9, 2.0**60]])),
    "multiply": lambda d: checks.check_multiply(
        d,
        [(1, [[[3, 200, -5]]], [[[10**6, 7, 9]]]), (-1, [[[1, 2, 3]]], [[[4, 5, 6]]])],
        ([0], [0]),
        BASE,
        d.backend.engines[0],
    ),
    "long multiply": lambda d: checks.check_multiply(
        d,
        [(1, np.full((1, 1, 2049), 121), np.full((1, 1, 2049), 119))],
        ([0], [0]),
        base_for(256, 9),
        d.backend.engines[1],
    ),
    "combine": lambda d: checks.check_combine(d, [(1, [[[100, 10**9]]]), (-1, [[[-100, 3]]])], BASE),
    "integers": lambda d: checks.check_integers(d, [[[BASE.product // 4, -1, -(10**15), 0, 1 << 40]]], BASE),
    "round": lambda d: checks.check_round(d, NUMBERS, EXPONENTS, FLOAT64, BASE),
    "round to a format without infinity": lambda d: checks.check_round(d, [449, 464, 465, -480], [0] * 4, FLOAT8, BASE),
    "pieces": lambda d: checks.check_interval_pieces(d, *WIDE, endpoints=True),
    "hull": lambda d: checks.check_hull_excess(d, ENDS, OTHERS, ([0], [0])),
    "hull of exchanged sides": lambda d: checks.check_hull_excess(d, OTHERS, ENDS, ([0], [0])),
    "mark": lambda d: checks.check_mark(
        d,
        "float64",
        [(2, 2, 0), (-1, 1, 0), (0, 2, 0), (1, 1, 1)],
        [0x7FF << 52, 0xFFF << 52, 0xFFF << 51, 0xFFF << 51],
    ),
    "enclosure": lambda d: assert_product_and_enclosure(),
}


def assert_product_and_enclosure():
    import exactla as xl

    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((9, 7)), rng.standard_normal((7, 8))
    with xl.backend("numpy"):
        assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)
        assert_product(xl.mm(a, b), a, b, FLOAT64)


# ---- ways to spoil a function --------------------------------------------------------------------------------------


def without_the_last_plane(true):
    """The result, with one plane of zeros."""

    def spoilt(*args, **kwargs):
        planes = np.array(true(*args, **kwargs))
        planes[-1] = 0
        return planes

    return spoilt


def one_entry_off(true):
    """The result, with one added to its last entry."""

    def spoilt(*args, **kwargs):
        planes = np.array(true(*args, **kwargs))
        planes.reshape(-1)[-1] += 1
        return planes

    return spoilt


def not_centred(true):
    return lambda *args, **kwargs: true(*args, **kwargs) + np.reshape(BASE.moduli, (-1, 1))


def skipped(true):
    """The first argument as it is."""
    return lambda first, *args, **kwargs: first


def inverted(true):
    """The opposite answer."""
    return lambda *args, **kwargs: ~true(*args, **kwargs)


def answering(value):
    """The same answer to everything, of the shape of the true one."""
    return lambda true: lambda *args, **kwargs: np.full_like(true(*args, **kwargs), value)


def one_digit_off(true):
    """Limbs whose last one is off, and the count beside them."""

    def spoilt(*args, **kwargs):
        limbs, broken = true(*args, **kwargs)
        return one_entry_off(lambda: limbs)(), broken

    return spoilt


def plus(number):
    """An integer answer, off by a number."""
    return lambda true: lambda *args, **kwargs: true(*args, **kwargs) + number


def ties_to_odd(true):
    def spoilt(rounding_, half, sticky, inexact, negative, truncated):
        return true(rounding_, half, sticky, inexact, negative, truncated ^ 1)

    return spoilt


def without_sticky(true):
    def spoilt(rounding_, half, sticky, inexact, negative, truncated):
        return true(rounding_, half, np.zeros_like(sticky), half | (inexact & ~sticky), negative, truncated)

    return spoilt


def without_sign(true):
    return lambda magnitude, outward, negative, *rest: true(magnitude, outward, np.zeros_like(negative), *rest)


def signs_ignored(true):
    return lambda terms, *rest: true([(1, *term[1:]) for term in terms], *rest)


def double_depth(true):
    return lambda terms, depth, *rest: true(terms, 2 * depth, *rest)


def no_excess(true):
    return lambda *args: tuple(0 * planes for planes in true(*args))


def opposite(true):
    return lambda *args: -true(*args)


def ends_exchanged(true):
    return lambda *args: true(*args)[::-1]


def without_invalid(true):
    return lambda encodings, signed, count, invalid, format: true(encodings, signed, count, 0 * invalid, format)


def without_sum(true):
    return lambda encodings, signed, count, invalid, format: true(encodings, count, count, invalid, format)


def one_modulus_less(true):
    """Bases whose last modulus is gone: every integer that needs it comes out wrong."""
    return lambda *args: ResidueBase(true(*args).moduli[:-1])


def exponents_higher(true):
    def spoilt(words):
        return true(words) + (words != 0)

    return spoilt


SPOILT = [
    ("scan", scan, "trailing_zeros", exponents_higher),
    ("finite", encodings, "finite", answering(True)),
    ("residues", residues, "from_limbs", without_the_last_plane),
    ("residues", residues, "from_limbs", one_entry_off),
    ("residues", residues, "from_limbs", not_centred),
    ("residues", limbs, "count_for", plus(-1)),
    ("multiply", engines, "multiply", without_the_last_plane),
    ("multiply", engines, "multiply", one_entry_off),
    ("multiply", engines, "multiply", signs_ignored),
    ("multiply", engines, "centre", skipped),
    ("long multiply", engines, "_multiply_group", double_depth),
    ("combine", engines, "combine", without_the_last_plane),
    ("combine", engines, "combine", signs_ignored),
    ("combine", engines, "centre", skipped),
    ("integers", limbs, "carry", skipped),
    ("integers", engines, "multiply", without_the_last_plane),
    ("integers", limbs, "to_integers", one_entry_off),
    ("round", limbs, "carry", skipped),
    ("round", rounding, "_away", ties_to_odd),
    ("round", rounding, "_away", without_sticky),
    ("round", rounding, "_away", answering(False)),
    ("round", rounding, "_away", answering(True)),
    ("round", rounding, "_outward", inverted),
    ("round", rounding, "_encode", without_sign),
    ("round", rounding, "_encode", one_entry_off),
    ("round", rounding, "bit_length", plus(1)),
    ("round to a format without infinity", rounding, "_outward", inverted),
    ("round to a format without infinity", rounding, "_away", ties_to_odd),
    ("pieces", limbs, "carry", skipped),
    ("pieces", limbs, "less", inverted),
    ("pieces", limbs, "less", answering(False)),
    ("pieces", interval, "operand_limbs", one_digit_off),
    ("residues", backend, "operand_limbs", one_digit_off),
    ("hull", interval, "hull_excess", no_excess),
    ("hull", interval, "hull_excess", ends_exchanged),
    ("hull", interval, "_ranks", opposite),
    ("hull of exchanged sides", interval, "_ranks", opposite),
    ("mark", special, "mark", without_invalid),
    ("mark", special, "mark", without_sum),
    ("enclosure", planning, "residue_base", one_modulus_less),
    ("enclosure", engines, "multiply", without_the_last_plane),
    ("enclosure", limbs, "carry", skipped),
    ("enclosure", rounding, "_away", answering(False)),
]


@pytest.mark.parametrize(
    ("name", "module", "function", "spoil"),
    SPOILT,
    ids=[f"{name}-{function}-{getattr(spoil, '__name__', '')}" for name, _, function, spoil in SPOILT],
)
def test_a_spoilt_backend_is_noticed(monkeypatch, name, module, function, spoil):
    device = open_device("numpy")
    CHECKS[name](device)
    planning._check_engine.cache_clear()
    monkeypatch.setattr(module, function, spoil(getattr(module, function)))
    with pytest.raises(AssertionError):
        CHECKS[name](device)
