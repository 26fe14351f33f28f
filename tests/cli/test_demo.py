"""The demo: its digests are those of integer arithmetic, and it notices when they differ."""

import math
from fractions import Fraction
from math import comb

import gmpy2
import numpy as np

import exactla as xl
from exactla.cli import demo, main
from exactla.cli.selftest import uniform


def test_output(capsys):
    assert main(["demo"]) == 0
    output, errors = capsys.readouterr()
    assert not errors
    assert 15 <= len(output.splitlines()) <= 25
    assert "576 of 576 entries are [0, 0] or [1, 1]" in output
    assert "at most 1 ulp" in output
    assert output.count("the same as on every machine") == 2
    assert all(digest in output for digest in demo.DIGESTS.values())


def test_a_wrong_result_is_noticed(capsys, monkeypatch):
    right = xl.mm_enclose

    def spoilt(*operands, **options):
        ends, info = right(*operands, return_info=True)
        ends.hi[-1, -1] = np.nextafter(ends.hi[-1, -1], np.inf)
        return (ends, info) if options else ends

    monkeypatch.setattr(xl, "mm_enclose", spoilt)
    assert main(["demo"]) == 1
    assert capsys.readouterr().out.count("DIFFERS from") == 2


def test_the_pascal_matrix_and_its_inverse():
    a, b = demo.pascal(demo.ORDER)
    assert a[3, 4] == comb(7, 3)
    assert np.abs(b).max() < 2**53
    to_integers = np.vectorize(int, otypes=[object])
    identity = np.eye(demo.ORDER)
    assert np.array_equal(to_integers(a) @ to_integers(b), identity)
    assert xl.digest(identity, identity) == demo.DIGESTS["pascal"]


def test_the_digest_of_the_random_product():
    scaled = [
        np.vectorize(lambda x: gmpy2.mpz(int(math.ldexp(x, 53))), otypes=[object])(uniform(seed, (demo.SIZE,) * 2))
        for seed in (1, 2)
    ]
    ends = [_ends(Fraction(int(total), 2**106)) for total in (scaled[0] @ scaled[1]).ravel()]
    lo, hi = (np.array(end).reshape(demo.SIZE, demo.SIZE) for end in zip(*ends, strict=True))
    assert xl.digest(lo, hi) == demo.DIGESTS["random"]


def _ends(exact: Fraction) -> tuple[float, float]:
    nearest = exact.numerator / exact.denominator  # Python rounds the quotient of integers correctly
    lo = nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)
    hi = nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
    return lo, hi
