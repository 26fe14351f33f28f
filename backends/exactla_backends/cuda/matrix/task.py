"""What kernels of exactla's own multiply: planes of residues at addresses, and how they are paired."""

from typing import NamedTuple


class Planes(NamedTuple):
    """Residue planes [planes, rows, depth] of octets in device memory; strides of 0 are those of contiguous planes."""

    address: int
    planes: int
    rows: int
    depth: int
    row_stride: int = 0
    plane_stride: int = 0

    @property
    def strides(self) -> tuple[int, int]:
        """Octets from one row to the next, and from one plane to the next."""
        row = self.row_stride or self.depth
        return row, self.plane_stride or self.rows * row


class Task(NamedTuple):
    """A product of pairs of matrices, for all moduli.

    Attributes
    ----------
    places : int
        Address of int64 [2, pairs]: the left and the right matrix of each pair.
    digits : int
        1, or 2 where planes 2 p and 2 p + 1 are the high and the low digit of residues modulo m_p.
    constants : int
        Address of int32 [moduli, 4]: m, round(2**32 / m), 256 mod m centred, and one that is not used.
    sign, add : int, bool
        With `add` the result becomes old + sign * product.
    """

    pairs: int
    places: int
    moduli: int
    digits: int
    constants: int
    sign: int
    add: bool
