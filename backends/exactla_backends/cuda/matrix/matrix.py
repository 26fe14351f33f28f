"""The matrix units of a CUDA device, behind the interface of all devices: which product serves which engine."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Engine, Pairs, Tile
from exactla.core.moduli import OCTET_LIMIT, ResidueBase
from exactla.errors import BackendUnavailable
from exactla_backends.cuda import driver
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.driver import Launch
from exactla_backends.cuda.matrix import fp8, hopper
from exactla_backends.cuda.matrix.blas import KINDS, Blas, Matrices
from exactla_backends.cuda.matrix.task import Planes, Task
from exactla_backends.device.constants import Constants
from exactla_backends.device.planes import OperandPlanes, ResultPlanes, Term, octets_of, padded

HOPPER = (9, 0)
ENGINES = Engine("int8", 31, (OCTET_LIMIT, 65280)), Engine("fp16", 24, (OCTET_LIMIT,)), Engine("fp64", 50, (65280,))
FP8 = Engine("fp8", 27, (OCTET_LIMIT,))

Multiply = Callable[[Planes, Planes, Task, tuple[int, int], tuple[int, int]], Launch]
"""A kernel of exactla's own; see `hopper.multiply`."""


class CudaMatrix:
    """See `exactla_backends.device.matrix.Matrix`."""

    def __init__(self, device: CudaDevice) -> None:
        """The engines are those of the current device; another one may refuse some of them."""
        is_new = driver.architecture(device.number) >= fp8.LEAST_CAPABILITY
        self.engines: tuple[Engine, ...] = (*ENGINES, FP8) if is_new else ENGINES
        self._device = device
        self._constant = Constants(device)
        self._blas = {name: Blas(device, kind) for name, kind in KINDS.items()}

    def multiply(self, terms: Sequence[Term], pairs: Pairs, base: ResidueBase, engine: Engine) -> ResultPlanes:
        left, right = terms[0][1:]
        shape = (len(pairs[0]), left.rows, right.rows)
        octets, moduli = octets_of(base), len(base.moduli)
        stride = padded(right.rows, 16)
        result = ResultPlanes(
            self._device.allocate(shape[0] * moduli * left.rows * stride * octets), octets, moduli, shape
        )
        if left.depth == 0:
            self._device.clear(result.memory)
        elif (own := self._own(engine)) is not None:
            self._by_own(own, terms, pairs, base, result)
        else:
            self._by_blas(self._blas[engine.name], terms, pairs, base, result)
        return result

    def _own(self, engine: Engine) -> Multiply | None:
        """The kernel that serves an engine on the current device; None where cuBLAS does.

        Raises
        ------
        BackendUnavailable
            The device has no such matrix units.
        """
        capability = driver.architecture(self._device.number)
        if engine.name == FP8.name:
            if capability < fp8.LEAST_CAPABILITY:
                raise BackendUnavailable(
                    "engine 'fp8' takes a device of compute capability 8.9 or later, this one has {}.{}".format(
                        *capability
                    )
                )
            return fp8.multiply
        return hopper.multiply if engine.name == "int8" and capability == HOPPER else None

    def _by_own(
        self, own: Multiply, terms: Sequence[Term], pairs: Pairs, base: ResidueBase, result: ResultPlanes
    ) -> None:
        stream, target = self._device.stream, (result.memory.ptr, result.padded_columns)
        places, constants = self._constant(np.array(pairs, np.int64)), self._constant(_constants(base))
        for term, (sign, a, b) in enumerate(terms):
            task = Task(len(pairs[0]), places.ptr, result.moduli, result.octets, constants.ptr, sign, add=term > 0)
            own(_planes(a), _planes(b), task, target, self._place()).run(stream)

    def _by_blas(
        self, blas: Blas, terms: Sequence[Term], pairs: Pairs, base: ResidueBase, result: ResultPlanes
    ) -> None:
        constants = self._constant(_constants(base)).ptr
        moduli, digits = result.moduli, result.octets
        size = result.moduli * result.shape[1] * result.padded_columns * result.octets
        for term, (sign, a, b) in enumerate(terms):
            left, right = blas.entries(a, digits), blas.entries(b, digits)
            for pair, (i, j) in enumerate(zip(*pairs, strict=True)):
                target = result.memory.ptr + pair * size, result.padded_columns
                blas.multiply(left[i], right[j], moduli, digits, constants, target, sign, term > 0)

    def _place(self) -> tuple[int, int]:
        number = self._device.number
        return number, driver.processors(number)

    def at(
        self, left: Planes, right: Planes, pairs: Pairs, base: ResidueBase, target: tuple[int, int]
    ) -> Callable[[int], None]:
        """Products of residues in octets at addresses, to be given to streams by the function that is returned.

        The target is an address and a row stride, as of `ResultPlanes`. No side is empty.
        """
        moduli, constants = len(base.moduli), self._constant(_constants(base))
        own = self._own(self.engines[0])
        if own is not None:
            places = self._constant(np.array(pairs, np.int64))
            task = Task(len(pairs[0]), places.ptr, moduli, 1, constants.ptr, 1, add=False)
            launch = own(left, right, task, target, self._place())
            launch.kept = places, constants
            return launch.run
        blas = self._blas["int8"]
        size = moduli * left.rows * target[1]

        def run(_: int) -> None:
            for pair, (i, j) in enumerate(zip(*pairs, strict=True)):
                a, b = (
                    Matrices(x.address + k * moduli * x.rows * x.depth, x.rows, x.depth, None)
                    for x, k in ((left, i), (right, j))
                )
                blas.multiply(a, b, moduli, 1, constants.ptr, (target[0] + pair * size, target[1]), 1, False)

        return run

    def digits_at(self, left: Planes, right: Planes, base: ResidueBase, target: tuple[int, int]) -> None:
        """Products of residues in two digits at addresses; the target is an address and a row stride of int16."""
        moduli, constants = len(base.moduli), self._constant(_constants(base))
        own = self._own(self.engines[0])
        if own is not None:
            places = self._constant(_ONE_PAIR)
            task = Task(1, places.ptr, moduli, 2, constants.ptr, 1, add=False)
            own(left, right, task, target, self._place()).run(self._device.stream)
            return
        a, b = (Matrices(x.address, x.rows, x.depth, None, *x.strides) for x in (left, right))
        self._blas["int8"].multiply(a, b, moduli, 2, constants.ptr, target, 1, False)

    def table_sums(self, left: Planes, right: Planes, sums: int, stride: int) -> None:
        """Sums int32 of left @ right.T of matrices of octets, at an address with a row stride: `Blas.table_sums`."""
        self._blas["int8"].table_sums(left, right, sums, stride)

    def longest(self, engine: Engine, modulus_limit: int) -> int:
        own = self._own(engine)
        if own is None:
            return KINDS[engine.name].depth
        return fp8.SEGMENT if own is fp8.multiply else hopper.longest(1 if modulus_limit <= OCTET_LIMIT else 2)

    def workspace(self, tile: Tile, base: ResidueBase, engine: Engine) -> int:
        if self._own(engine) is not None:
            return 0
        kind, octets = KINDS[engine.name], octets_of(base)
        planes = len(base.moduli) * (1 if kind.whole else octets)
        sums = self._blas[engine.name].sums_bytes(len(base.moduli), tile.rows, tile.columns)
        rows = tile.left_stacks * tile.rows + tile.right_stacks * tile.columns
        return sums + (kind.entry_bytes * planes * rows * padded(tile.depth, 128) if engine.name != "int8" else 0)


def _planes(x: OperandPlanes) -> Planes:
    return Planes(x.memory.ptr, x.stacks * x.planes, x.rows, x.depth)


_ONE_PAIR = np.zeros((2, 1), np.int64)
_ONE_PAIR.setflags(write=False)


@cache
def _constants(base: ResidueBase) -> NDArray[np.int32]:
    """m, round(2**32 / m), and 256 and 65536 modulo m, centred, for each modulus."""
    rows = [[m, ((1 << 32) + m // 2) // m, _centred(1 << 8, m), _centred(1 << 16, m)] for m in base.moduli]
    table = np.array(rows, np.int32)
    table.setflags(write=False)
    return table


def _centred(value: int, m: int) -> int:
    return (value + m // 2) % m - m // 2
