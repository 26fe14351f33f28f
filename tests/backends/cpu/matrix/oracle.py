"""What the kernels have to give, by NumPy in 64-bit integers, which hold every product here; and random operands."""

from collections.abc import Sequence

import numpy as np

from tests.backends.cpu.matrix.library import Array, Term


def residues(terms: Sequence[Term], moduli: Sequence[int]) -> Array:
    """Centred residues [P, R, C] of the sum of the terms."""
    total = sum(t.sign * (_integers(t.left) @ _integers(t.right).swapaxes(1, 2)) for t in terms)
    m = np.array(moduli)[:, None, None]
    centred: Array = (total + m // 2) % m - m // 2
    return centred


def _integers(digits: Array) -> Array:
    """[P, digits, R, K] as [P, R, K]."""
    x = digits.astype(np.int64)
    return x[:, 0] if x.shape[1] == 1 else 256 * x[:, 0] + x[:, 1]


def random_terms(
    rng: np.random.Generator, signs: Sequence[int], digits: int, count: int, rows: int, columns: int, depth: int
) -> list[Term]:
    """Terms of entries of all sizes for `count` moduli."""

    def entries(n: int) -> Array:
        return rng.integers(-128, 128, (count, digits, n, depth), np.int8)

    return [Term(sign, entries(rows), entries(columns)) for sign in signs]
