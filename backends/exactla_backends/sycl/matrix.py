"""Products of residues on any SYCL device: by matrix units, or dot products of four bytes, where it has them."""

import warnings
from collections.abc import Hashable, Sequence
from functools import cache
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Engine, Pairs, Tile
from exactla.core.moduli import OCTET_LIMIT, ResidueBase
from exactla_backends.device.check import products_are_exact
from exactla_backends.device.constants import Constants
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import (
    COLUMNS,
    DEPTH,
    OperandPlanes,
    ResultPlanes,
    Term,
    octets_of,
    padded,
)
from exactla_backends.kernels.modules import matrix_text
from exactla_backends.kernels.ways import BYTES, MATRIX_UNITS, NARROW_VECTORS, VECTORS, Way
from exactla_backends.sycl import programs
from exactla_backends.sycl.device import SyclDevice

RESIDUES = 16
"""Residues of a row that a work item packs."""

ROWS_TOGETHER = 16
"""Rows of work items in a group, at most, where their panel lies in a cache."""


class SyclMatrix:
    """See `exactla_backends.device.matrix.Matrix`."""

    engines: tuple[Engine, ...] = (Engine("int8", 31, (OCTET_LIMIT, 65280)),)

    def __init__(self, device: SyclDevice, way: Way | None = None) -> None:
        """`way` is the one that all products are made in, else each device has its own."""
        self._device = device
        self._constant = Constants(device)
        self._forced = way
        self._found: dict[Hashable, Way] = {}

    def multiply(self, terms: Sequence[Term], pairs: Pairs, base: ResidueBase, engine: Engine) -> ResultPlanes:
        left, right = terms[0][1:]
        octets, moduli, way = octets_of(base), len(base.moduli), self._way(right.rows)
        shape = (len(pairs[0]), left.rows, right.rows)
        columns, panel = padded(right.rows, COLUMNS), way.panel(octets)
        result = ResultPlanes(self._device.allocate(prod(shape[:2]) * columns * moduli * octets), octets, moduli, shape)
        places = self._constant(np.array(pairs, np.int64))
        tiles = -(-left.rows // way.tile_rows(octets)), -(-columns // (way.tile_columns(octets) * way.panels))
        grid = (*(tiles if way.rows_first else tiles[::-1]), shape[0] * moduli)
        for number, (sign, a, b) in enumerate(terms):
            self._run(
                "multiply",
                way,
                octets,
                grid,
                (
                    *(a.memory, self._right(b, way, padded(columns, panel)), places, shape[0], moduli, a.rows, columns),
                    *(padded(columns, panel), a.depth, int(sign < 0), int(number > 0)),
                    *(self._constant(_constants(base)), result.memory),
                ),
            )
        return result

    def _way(self, columns: int) -> Way:
        if self._forced is not None:
            return self._forced
        if self._device.has_vectors():  # a few columns would fill a small part of a panel, whose memory is all of it
            vectors = NARROW_VECTORS if self._device.has_narrow_vectors() else VECTORS
            return vectors if columns > COLUMNS else BYTES
        place = self._device.place()
        if place not in self._found:
            way = MATRIX_UNITS.get(self._device.matrix_units())
            self._found[place] = BYTES if way is None or not self._is_exact(way) else way
        return self._found[place]

    def _is_exact(self, way: Way) -> bool:
        """Whether products that are made in this way are right; a warning says where they are not."""
        try:
            exact = products_are_exact(self._device, SyclMatrix(self._device, way), self.engines[0])
        except programs.compilation_error():
            exact = False
        if not exact:
            message = "matrix units of a SYCL device are not used: products that they make in a self-check are wrong"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        return exact

    def _right(self, planes: OperandPlanes, way: Way, columns: int) -> Memory:
        """Words [S, planes, words, columns]."""
        count = planes.stacks * planes.planes
        key = "right", way.residues, columns
        if key not in planes.forms:
            size = 4 * count * (planes.depth // way.residues) * columns
            packed = planes.forms[key] = self._device.allocate(size)
            grid = (columns // way.width, planes.depth // RESIDUES, count)
            self._run("pack_right", way, 1, grid, (planes.memory, planes.depth, planes.rows, columns, packed))
        return planes.forms[key]

    def _run(
        self, kernel: str, way: Way, octets: int, grid: tuple[int, int, int], arguments: Sequence[Memory | int]
    ) -> None:
        if 0 in grid:
            return
        self._device.run(kernel, matrix_text(), way.macros(octets), grid, self._group(way, grid), arguments)

    def _group(self, way: Way, grid: tuple[int, int, int]) -> tuple[int, int, int] | None:
        """Work items that share a panel, and as many rows of them as divide the grid and the device takes."""
        width = way.group
        if width == 1:
            return 1, 1, 1
        if grid[0] % width:
            return None
        room = min(self._device.largest_group() // width, ROWS_TOGETHER)
        return width, gcd(grid[1], 1 << (max(room, 1).bit_length() - 1)), 1

    def longest(self, engine: Engine, modulus_limit: int) -> int:
        ways = self._way(COLUMNS), self._way(COLUMNS + 1)  # of few columns, and of many
        return max(way.residues * way.step[int(modulus_limit > OCTET_LIMIT)] for way in ways)

    def workspace(self, tile: Tile, base: ResidueBase, engine: Engine) -> int:
        bytes_each = len(base.moduli) * octets_of(base) * padded(tile.depth, DEPTH)
        # the left operand of a Gram matrix may have been the right one of an earlier block
        sides = (tile.right_stacks, tile.columns), (tile.left_stacks, tile.rows)
        return bytes_each * sum(stacks * self._packed(rows, octets_of(base)) for stacks, rows in sides)

    def _packed(self, columns: int, octets: int) -> int:
        """Bytes of a packed row, for each byte of residues."""
        way = self._way(columns)
        return 4 // way.residues * padded(padded(columns, COLUMNS), way.panel(octets))


@cache
def _constants(base: ResidueBase) -> NDArray[np.uint32]:
    """XL_CONSTANTS of each modulus."""
    rows = [[m, (1 << 32) // m, (1 << 31) % m, (1 << 16) % m, (1 << 8) % m, 0, 0, 0] for m in base.moduli]
    table = np.array(rows, np.uint32)
    table.setflags(write=False)
    return table
