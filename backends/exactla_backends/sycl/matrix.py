"""Products of residues on any SYCL device: dot products of four bytes at a time, in instructions where it has them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Engine, Pairs, Tile
from exactla.core.moduli import ResidueBase
from exactla_backends.device.constants import Constants
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import (
    COLUMNS,
    DEPTH,
    OCTET_LIMIT,
    OperandPlanes,
    ResultPlanes,
    Term,
    octets_of,
    padded,
)
from exactla_backends.kernels.text import flattened
from exactla_backends.sycl.device import SyclDevice

TILE_ROWS = {1: 8, 2: 4}
"""Rows that a work item makes, of residues of one and of two bytes."""

WORDS = 8
"""Words that a work item packs."""


@dataclass(frozen=True)
class _Way:
    """How a kind of device multiplies: residues in a word, results side by side, work items that share a row."""

    residues: int
    width: int
    group: int


_CPU, _GPU = _Way(2, 8, 1), _Way(4, 1, 16)


class SyclMatrix:
    """See `exactla_backends.device.matrix.Matrix`."""

    engines: tuple[Engine, ...] = (Engine("int8", 31, (256, 65280)),)

    def __init__(self, device: SyclDevice) -> None:
        self._device = device
        self._constant = Constants(device)

    def multiply(self, terms: Sequence[Term], pairs: Pairs, base: ResidueBase, engine: Engine) -> ResultPlanes:
        left, right = terms[0][1:]
        octets, moduli, way = octets_of(base), len(base.moduli), self._way()
        shape = (len(pairs[0]), left.rows, right.rows)
        columns = padded(right.rows, COLUMNS)
        result = ResultPlanes(self._device.allocate(prod(shape[:2]) * columns * moduli * octets), octets, moduli, shape)
        places = self._constant(np.array(pairs, np.int64))
        grid = (columns // way.width, -(-left.rows // TILE_ROWS[octets]), shape[0] * moduli)
        for number, (sign, a, b) in enumerate(terms):
            words = a.depth // way.residues
            self._run(
                "multiply",
                octets,
                grid,
                (
                    *(self._left(a), self._right(b, columns), places, shape[0], moduli, a.rows, columns, words),
                    *(int(sign < 0), int(number > 0), self._constant(_constants(base)), result.memory),
                ),
            )
        return result

    def _way(self) -> _Way:
        return _CPU if self._device.is_cpu() else _GPU

    def _left(self, planes: OperandPlanes) -> Memory:
        """Words [S, planes, R, words]."""
        if self._way().residues == 4:
            return planes.memory
        words, count = planes.depth // self._way().residues, planes.stacks * planes.planes
        if "left" not in planes.forms:
            packed = planes.forms["left"] = self._device.allocate(4 * count * words * planes.rows)
            arguments = (planes.memory, planes.depth, words, planes.rows, packed)
            self._run("pack_left", 1, (words // WORDS, planes.rows, count), arguments)
        return planes.forms["left"]

    def _right(self, planes: OperandPlanes, columns: int) -> Memory:
        """Words [S, planes, words, columns]."""
        words, count = planes.depth // self._way().residues, planes.stacks * planes.planes
        if "right" not in planes.forms:
            packed = planes.forms["right"] = self._device.allocate(4 * count * words * columns)
            arguments = (planes.memory, planes.depth, words, planes.rows, columns, packed)
            self._run("pack_right", 1, (columns, words // WORDS, count), arguments)
        return planes.forms["right"]

    def _run(self, kernel: str, octets: int, grid: tuple[int, int, int], arguments: Sequence[Memory | int]) -> None:
        if 0 in grid:
            return
        way = self._way()
        constants = {
            "XL_PAIRS": int(way.residues == 2),
            "XL_DIGITS": octets - 1,
            "XL_TILE_ROWS": TILE_ROWS[octets],
        }
        group = (way.group, 1, 1) if way.group > 1 and grid[0] % way.group == 0 else None
        self._device.run(_text(), f"xl_kernel_{kernel}", constants, grid, group, arguments)

    def longest(self, engine: Engine, modulus_limit: int) -> int:
        return engine.depth(OCTET_LIMIT)  # digits, too, are octets

    def workspace(self, tile: Tile, base: ResidueBase, engine: Engine) -> int:
        bytes_each = len(base.moduli) * octets_of(base) * padded(tile.depth, DEPTH)
        rows = tile.right_stacks * padded(tile.columns, COLUMNS)
        if self._way().residues == 4:
            return rows * bytes_each
        return 2 * (rows + tile.left_stacks * tile.rows) * bytes_each


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
