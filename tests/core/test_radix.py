"""Weighted sums of digits against Python's integers."""

import numpy as np
import pytest

from exactla.core import radix
from exactla.core.radix import integers_of, weighted_sums


def digits_of(values, pieces):
    text = b"".join(int(v).to_bytes(2 * pieces, "little", signed=True) for v in values.ravel())
    return np.frombuffer(text, "<u2").reshape(*values.shape, pieces)


@pytest.mark.parametrize(("steps", "pieces", "bits"), [(1, 1, 0), (3, 2, 40), (7, 4, 900), (20, 6, 3000)])
def test_sums(rng, steps, pieces, bits, monkeypatch):
    monkeypatch.setattr(radix, "ENTRIES", 300)  # several blocks
    limit = 1 << (16 * pieces - 1)
    values = np.array([int(rng.integers(1 << 62)) * 3**80 % (2 * limit) - limit for _ in range(steps * 15)], object)
    values[:2] = -limit, limit - 1
    values = values.reshape(steps, 5, 3)
    weights = [int(rng.integers(1 << 62)) ** 60 % (1 << bits) for _ in range(steps)]
    parts = [digits_of(values[: steps // 2 + 1], pieces), digits_of(values[steps // 2 + 1 :], pieces)]
    expected = [sum(w * int(x) for w, x in zip(weights, column, strict=True)) for column in values.reshape(steps, -1).T]
    assert weighted_sums([p for p in parts if len(p)], weights) == expected
    assert weighted_sums(parts[:1], weights[:1]) == [weights[0] * int(x) for x in values[0].ravel()]


def test_carries_of_any_sign():
    assert integers_of(np.array([[-1, 0, 2**50], [0, -(2**52), 1], [1, 0, 0]])) == [2**32 - 1, -(2**68), 2**50 + 2**16]
