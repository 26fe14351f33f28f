"""How verbs become launches: grids, macros, and tables of constants and descriptions that lie on the device."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from exactla.backend import Operand
from exactla.core.moduli import ResidueBase
from exactla_backends.device import descriptions
from exactla_backends.device.constants import Constants
from exactla_backends.device.counts import Counts
from exactla_backends.device.device import Device, HostArray, Memory
from exactla_backends.device.planes import COLUMNS, ResultPlanes, octets_of, padded
from exactla_backends.kernels import tables

VECTOR_LANES = 16
"""Entries for a work item where its kernels are written in vectors, which take the bytes of weights apart."""

NO_INTEGERS: Mapping[str, int] = MappingProxyType({"XL_MAX_LIMBS": 1, "XL_MAX_GROUPS": 1})
"""Macros of kernels that make no integers."""


class Launches:
    """A device with what is kept on it between calls."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._constant = Constants(device)
        self._counts = Counts(device, lambda count: self._filled(count, count, 0))

    def _launch(
        self,
        kernel: str,
        grid: Sequence[int],
        arguments: Sequence[Memory | int],
        constants: Mapping[str, int] = NO_INTEGERS,
    ) -> None:
        if 0 not in grid:
            x, y, z = grid
            self._device.launch(kernel, {"XL_LANES": self._device.lanes, **constants}, (x, y, z), arguments)

    def _grid(self, shape: Sequence[int]) -> tuple[int, int, int]:
        """A work item for each XL_LANES entries of the last axis of [outermost, middle, last]."""
        return -(-shape[2] // self._device.lanes), shape[1], shape[0]

    def _filled(self, zeros: int, count: int, value: int, *, size: int = 0) -> Memory:
        """`count` cells of 32 bits, 0 in front and `value` behind; a memory of `size` bytes where that is more."""
        memory = self._device.allocate(max(4 * count, size))
        self._launch("fill", (count, 1, 1), (memory, zeros, count, value))
        return memory

    def _table(self, table: HostArray) -> Memory:
        return self._constant(np.ascontiguousarray(table))

    def _description(self, operand: Operand) -> Memory:
        return self._constant(descriptions.operand_table(operand))

    def _crt(self, planes: ResultPlanes, table: tables.CrtTable) -> tuple[Memory, Memory, Memory]:
        description = self._table(descriptions.result_table(planes, table))
        return description, self._constant(table.constants), self._weights(table)

    def _weights(self, table: tables.ResidueTable | tables.CrtTable) -> Memory:
        """Bytes that kernels weigh residues and bytes of integers by."""
        vectors = self._device.lanes >= VECTOR_LANES
        return self._constant(table.weights_apart if vectors else table.weights)

    def _limbs(self, limbs: int) -> dict[str, int]:
        """Constants of kernels for integers of so many limbs."""
        if limbs <= self._device.fixed_limbs:
            return {"XL_MAX_LIMBS": limbs, "XL_MAX_GROUPS": 1, "XL_FIXED": 1}
        return {"XL_MAX_LIMBS": roughly(limbs), "XL_MAX_GROUPS": 1}

    def _crt_limits(self, table: tables.CrtTable) -> dict[str, int]:
        """Constants of kernels that make integers from residues."""
        if table.limbs <= self._device.fixed_limbs:
            return {"XL_MAX_LIMBS": table.limbs, "XL_MAX_GROUPS": table.groups, "XL_FIXED": table.moduli}
        return {"XL_MAX_LIMBS": roughly(table.limbs), "XL_MAX_GROUPS": roughly(table.groups)}

    def _planes(self, shape: tuple[int, int, int], base: ResidueBase) -> ResultPlanes:
        """Uninitialised residues of results."""
        octets, moduli = octets_of(base), len(base.moduli)
        size = shape[0] * shape[1] * padded(shape[2], COLUMNS) * moduli * octets
        return ResultPlanes(self._device.allocate(size), octets, moduli, shape)


def roughly(count: int) -> int:
    """A few sizes that hold everything, so that few kernels are compiled."""
    return max(16, 1 << (count - 1).bit_length())
