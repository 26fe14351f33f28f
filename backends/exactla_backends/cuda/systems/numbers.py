"""Long integers from p-adic digits on the device; `numbers.cu` has the kernels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.core.numerators import PackedNumbers
from exactla.core.radix import integers_of
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.matrix.matrix import CudaMatrix
from exactla_backends.cuda.matrix.task import Planes
from exactla_backends.cuda.systems import tables
from exactla_backends.cuda.systems.kernels import Kernels
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import padded

THREADS, WARP = 256, 32

SUM_BYTES = 1 << 30
"""Memory for sums of octets, which are made for some entries at a time."""

TABLE_BYTES = 1 << 28
"""Memory for octets of weights, which are shifted for some octets of the sums at a time."""

BIAS_BITS = 30
"""Sums of octets are at most 2**BIAS_BITS in magnitude, XL_BIAS."""

DEPTH = 1 << BIAS_BITS - 14
"""Octets of digits, of all steps, that one product sums."""

STEP, ROWS = 64, 16
"""Multiples that inner dimensions and the entries of a product are filled up to."""


@dataclass(frozen=True)
class Digits:
    """Digits [steps, entries, words] in two's complement."""

    memory: Memory
    steps: int
    entries: int
    words: int


def combinations(device: CudaDevice, digits: Digits, weights: Memory) -> list[Any]:
    """For each step the sum of its digits times the weights of the entries, int32."""
    sums = device.allocate(16 * digits.steps * digits.words)
    kernels = Kernels(device, "numbers", {"WORDS": digits.words})
    kernels.launch("xl_system_combine", (digits.steps,), THREADS, (digits.memory, digits.entries, weights, sums))
    found = device.download(sums, np.dtype(np.int64), (digits.steps, 2 * digits.words))
    return integers_of(found.T)


def leading(device: CudaDevice, digits: Digits, count: int) -> NDArray[np.uint32]:
    """The digits of the first entries, [steps, count, words]."""
    found = device.download_columns(
        digits.memory, 4 * digits.words * digits.entries, (digits.steps, 4 * digits.words * count)
    )
    return found.view(np.uint32).reshape(digits.steps, count, digits.words)


def joined(device: CudaDevice, parts: Sequence[Digits]) -> Digits:
    """The steps of all parts."""
    if len(parts) == 1:
        return parts[0]
    step, steps = 4 * parts[0].entries * parts[0].words, sum(part.steps for part in parts)
    memory = device.allocate(step * steps)
    done = 0
    for part in parts:
        device.copy(part.memory, memory + step * done, step * part.steps)
        done += part.steps
    return Digits(memory, steps, parts[0].entries, parts[0].words)


def multiply(
    device: CudaDevice, matrix: CudaMatrix, digits: Digits, weights: Sequence[int], modulus: int
) -> PackedNumbers:
    """For each entry the sum over steps of weight times digit, modulo a modulus, centred where it is short."""
    return _Products(device, matrix, digits, weights, modulus).numbers()


class _Products:
    """A product of octets, of digits with those of the weights, shifted as in a convolution, on the matrix units."""

    def __init__(
        self, device: CudaDevice, matrix: CudaMatrix, digits: Digits, weights: Sequence[int], modulus: int
    ) -> None:
        self._device, self._matrix, self._digits, self._modulus = device, matrix, digits, modulus
        self._steps, self._digit_octets = len(weights), 4 * digits.words
        self._kernels = Kernels(device, "numbers", {"WORDS": digits.words})
        self._length = 4 * self._modulus_words
        self._weights = device.upload(balanced([_centred(w, modulus) for w in weights], self._length))
        sum_bits = 32 * digits.words + self._steps.bit_length()  # of weights over the modulus, times digits
        self._columns = 4 * ((modulus.bit_length() + sum_bits + 1) // 32 + 1)
        most = max(1, DEPTH // self._digit_octets)
        self._parts = [(start, min(most, self._steps - start)) for start in range(0, self._steps, most)]
        bias = len(self._parts) * ((1 << 8 * self._columns) - 1) // 255 << BIAS_BITS
        self._constant = ((modulus << sum_bits) - bias) % (1 << 8 * self._columns)

    @property
    def _modulus_words(self) -> int:
        return self._modulus.bit_length() // 32 + 1

    @cached_property
    def _division(self) -> tuple[Memory | int, ...]:
        """A modulus and its reciprocal, as `xl_division` has them."""
        bottom = max(self._modulus.bit_length() // 32 - 3, 0)
        places = self._columns // 4 - bottom + 2
        reciprocal = (1 << 32 * (places + bottom)) // self._modulus
        words = reciprocal.bit_length() // 32 + 1
        modulus = self._upload(self._modulus, self._modulus_words)
        return modulus, self._modulus_words, self._upload(reciprocal, words), words, bottom, places

    def _upload(self, value: int, words: int) -> Memory:
        return self._device.upload(tables.words_of(value, words))

    def numbers(self) -> PackedNumbers:
        device, columns, entries = self._device, self._columns, self._digits.entries
        part_bytes = 4 * columns * max(len(self._parts), 1)
        group = padded(max(1, min(entries, SUM_BYTES // part_bytes)), ROWS)
        sums, words = device.allocate(part_bytes * group), device.allocate(columns * group)
        result, bits = device.allocate(self._length * entries), device.allocate(4 * entries)
        constant = self._upload(self._constant, columns // 4)
        for first in range(0, entries, group):
            count = min(group, entries - first)
            if first:
                device.download_cells(bits, 0, 1)  # so that nobody who interrupts waits for all of them
            for part, steps in enumerate(self._parts):
                self._sum(steps, first, count, sums + 4 * part * columns * group, group)
            self._kernels.launch(
                "xl_system_reduce",
                (-(-count // WARP),),
                WARP,
                (sums, len(self._parts), group, first, count, columns, constant, *self._division, words, result, bits),
            )
        found = device.download_pinned(result, np.dtype(np.uint8), (entries, self._length))
        lengths = device.download(bits, np.dtype(np.int32), (entries,))
        return PackedNumbers(found, int(lengths.max(initial=0)))

    def _sum(self, part: tuple[int, int], first: int, count: int, sums: Memory, stride: int) -> None:
        """Octets of the sums over some steps, int32 [columns, stride], before carries."""
        device, (start, steps), rows = self._device, part, padded(count, ROWS)
        depth = padded(steps * self._digit_octets, STEP)
        octets = device.allocate(rows * depth)
        digits = self._digits.memory + start * self._digit_octets * self._digits.entries
        self._kernels.launch(
            "xl_system_octets",
            (-(-count * steps // THREADS),),
            THREADS,
            (digits, self._digits.entries, first, count, steps, octets, depth),
        )
        most = max(ROWS, TABLE_BYTES // depth)
        table = device.allocate(min(most, self._columns) * depth)
        for column in range(0, self._columns, most):
            columns = min(most, self._columns - column)
            self._kernels.launch(
                "xl_system_weights",
                (-(-depth // (4 * THREADS)), columns),
                THREADS,
                (self._weights + start * self._length, self._length, steps, column, depth, table),
            )
            left, right = Planes(table.ptr, 1, columns, depth), Planes(octets.ptr, 1, rows, depth)
            self._matrix.table_sums(left, right, sums.ptr + 4 * column * stride, stride)


def balanced(integers: Sequence[int], count: int) -> NDArray[np.int8]:
    """Octets [integers, count] from -128 to 127, lowest first, of integers less than 0.49 * 256**count in magnitude."""
    halves = int.from_bytes(b"\x80" * count, "little")
    text = b"".join((integer + halves).to_bytes(count, "little") for integer in integers)
    return (np.frombuffer(text, np.uint8) ^ 0x80).view(np.int8).reshape(len(integers), count)


def _centred(value: int, modulus: int) -> int:
    return value - modulus if 2 * value > modulus else value
