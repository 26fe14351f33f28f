"""Products of residues on any SYCL device: dot products of four bytes at a time, in instructions where it has them."""

from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Engine, Pairs, Tile
from exactla.core.moduli import ResidueBase
from exactla_backends.device.constants import Constants
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import COLUMNS, DEPTH, OperandPlanes, ResultPlanes, Term, octets_of, padded
from exactla_backends.kernels.text import flattened
from exactla_backends.sycl.device import SyclDevice

TILE_ROWS = {1: 16, 2: 8}
"""Results of a work item, for residues of one and of two bytes."""

GROUP = 16
"""Columns that work items of a group share the left operand for."""


class SyclMatrix:
    """See `exactla_backends.device.matrix.Matrix`."""

    engines: tuple[Engine, ...] = (Engine("int8", 31, (256, 65280)),)

    def __init__(self, device: SyclDevice) -> None:
        self._device = device
        self._constant = Constants(device)

    def multiply(self, terms: Sequence[Term], pairs: Pairs, base: ResidueBase, engine: Engine) -> ResultPlanes:
        left, right = terms[0][1:]
        octets, moduli = octets_of(base), len(base.moduli)
        shape = (len(pairs[0]), left.rows, right.rows)
        columns = padded(right.rows, COLUMNS)
        result = ResultPlanes(self._device.allocate(prod(shape[:2]) * columns * moduli * octets), octets, moduli, shape)
        places = self._constant(np.array(pairs, np.int64))
        constants = {"XL_DIGITS": octets - 1, "XL_TILE_ROWS": TILE_ROWS[octets]}
        grid = (padded(columns, GROUP), -(-left.rows // TILE_ROWS[octets]), shape[0] * moduli)
        for number, (sign, a, b) in enumerate(terms):
            self._device.run(
                _text(),
                "xl_kernel_multiply",
                constants,
                grid,
                (GROUP, 1, 1),
                (
                    *(a.memory, self._packed(b, columns), places, shape[0], moduli, a.rows, columns, a.depth // 4),
                    *(int(sign < 0), int(number > 0), self._constant(_constants(base)), result.memory),
                ),
            )
        return result

    def _packed(self, planes: OperandPlanes, columns: int) -> Memory:
        """Words of four residues [S, planes, depth / 4, columns]."""
        words = planes.depth // 4
        packed = self._device.allocate(4 * planes.stacks * planes.planes * words * columns)
        if words:
            constants = {"XL_DIGITS": 0, "XL_TILE_ROWS": 1}
            grid = (columns, words, planes.stacks * planes.planes)
            arguments = (planes.memory, words, planes.rows, columns, packed)
            self._device.run(_text(), "xl_kernel_pack", constants, grid, None, arguments)
        return packed

    def workspace(self, tile: Tile, base: ResidueBase, engine: Engine) -> int:
        planes = len(base.moduli) * octets_of(base)
        return tile.right_stacks * planes * padded(tile.depth, DEPTH) * padded(tile.columns, COLUMNS)


@cache
def _text() -> str:
    return flattened(Path(__file__).with_name("matrix.cl"))


@cache
def _constants(base: ResidueBase) -> NDArray[np.uint32]:
    """XL_CONSTANTS of each modulus."""
    rows = [[m, (1 << 32) // m, (1 << 31) % m, (1 << 16) % m, (1 << 8) % m, 0, 0, 0] for m in base.moduli]
    table = np.array(rows, np.uint32)
    table.setflags(write=False)
    return table
