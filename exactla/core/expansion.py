"""The p-adic digits of a solution on the host, and what is made of them: the `Expansion` of most backends."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla.core.divisors import centred
from exactla.core.numerators import ListedNumbers
from exactla.core.radix import integers_of, signed_pieces, weighted_sums

if TYPE_CHECKING:
    from exactla.backend import Lifting


def integers_by_entry(digits: NDArray[Any]) -> list[list[int]]:
    """The integers of each entry, of digits [steps, entries, pieces] in two's complement, the lowest piece first."""
    columns = np.ascontiguousarray(digits.swapaxes(0, 1))
    return [[int.from_bytes(d.data, "little", signed=True) for d in column] for column in columns]


class HostExpansion:
    """See `exactla.backend.Expansion`: the postconditions are there."""

    def __init__(self, lifting: "Lifting", right_side: NDArray[Any], weights: NDArray[np.int64]) -> None:
        self._lifting = lifting
        self._residual = right_side
        self._weights = weights.astype(np.float64)
        self._digits: list[NDArray[np.uint16]] = []
        self._combined: list[Any] = []

    def lift(self, steps: int) -> None:
        digits, self._residual = self._lifting.lift(self._residual, steps)
        self._digits.append(digits)
        pieces = signed_pieces(digits).reshape(steps, -1, digits.shape[-1])
        # not by BLAS, whose threads would go on spinning on the cores of the next steps
        self._combined += integers_of(np.einsum("e,sew->ws", self._weights, pieces))

    def combinations(self) -> list[Any]:
        return self._combined

    def leading(self, count: int, steps: int) -> list[list[int]]:
        parts = [d.reshape(len(d), -1, d.shape[-1])[:, :count] for d in self._digits]
        return integers_by_entry(np.concatenate(parts)[:steps])

    def multiply(self, weights: Sequence[int], modulus: int) -> ListedNumbers:
        whole = gmpy2.mpz(modulus)
        return ListedNumbers([centred(s, whole) for s in weighted_sums(self._digits, weights)])
