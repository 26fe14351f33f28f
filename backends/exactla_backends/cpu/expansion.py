"""The p-adic digits of a solution, and what the native library makes of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from exactla.backend import Lifting
from exactla.core.expansion import integers_by_entry
from exactla.core.numerators import PackedNumbers
from exactla_backends.cpu import numbers
from exactla_backends.cpu.native.library import Array, Instructions


class NativeExpansion:
    """See `exactla.backend.Expansion`: the postconditions are there."""

    def __init__(self, native: Instructions, lifting: Lifting, right_side: Array, weights: Array) -> None:
        self._native, self._lifting = native, lifting
        self._residual = right_side
        self._weights = np.ascontiguousarray(weights, np.int32)
        self._digits: list[Array] = []
        self._combined: list[Any] = []

    def lift(self, steps: int) -> None:
        digits, self._residual = self._lifting.lift(self._residual, steps)
        words = np.ascontiguousarray(digits).view(np.uint32).reshape(steps, len(self._weights), -1)
        self._digits.append(words)
        self._combined += numbers.combined(self._native, words, self._weights)

    def combinations(self) -> list[Any]:
        return self._combined

    def leading(self, count: int, steps: int) -> list[list[int]]:
        return integers_by_entry(np.concatenate([d[:, :count] for d in self._digits])[:steps])

    def multiply(self, weights: Sequence[int], modulus: int) -> PackedNumbers:
        base = self._lifting.base.product
        return numbers.weighted(self._native, self._digits, base, [int(w) for w in weights], modulus)
