"""The matrix units of a device, as `DeviceBackend` sees them."""

from collections.abc import Sequence
from typing import Protocol

from exactla.backend import Engine, Pairs, Tile
from exactla.core.moduli import ResidueBase
from exactla_backends.device.planes import ResultPlanes, Term


class Matrix(Protocol):
    """Exact products of residue planes, by engines of int8 matrix units or whatever a device has."""

    engines: tuple[Engine, ...]
    """The preferred one first; moduli up to 256 in one signed byte, up to 65280 in two signed digits."""

    def multiply(self, terms: Sequence[Term], pairs: Pairs, base: ResidueBase, engine: Engine) -> ResultPlanes:
        """Planes congruent to the sum over terms (sign, a, b) of sign * a[i] @ b[j].T, centred.

        Both operands of a term run along the inner dimension, and have it padded with zeros to one length, which is 0
        for products without terms. Any inner dimension is allowed: sums are cut where they could leave the engine's
        accumulators. R and C are not 0.
        """

    def longest(self, engine: Engine, modulus_limit: int) -> int:
        """The inner dimension of the longest sum that is made in one piece, which the self-check tries."""

    def workspace(self, tile: Tile, base: ResidueBase, engine: Engine) -> int:
        """Bytes that `multiply` takes for a tile and one operand a side: forms that it keeps with them, and scratch."""
