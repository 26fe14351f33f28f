"""Long integers from p-adic digits on the device; `numbers.cu` has the kernels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.core.radix import integers_of
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.systems import tables
from exactla_backends.cuda.systems.kernels import Kernels
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import padded

THREADS, SIDE, WARP = 256, 128, 32

SUM_BYTES = 1 << 30
"""Memory for sums of octets, which are made for some entries at a time."""

DEPTH = (1 << 14) - 1
"""Words of digits, of all steps, that one launch sums."""


@dataclass(frozen=True)
class Digits:
    """Digits [steps, entries, words] in two's complement."""

    memory: Memory
    steps: int
    entries: int
    words: int


@dataclass(frozen=True)
class PackedNumbers:
    """See `exactla.backend.Numbers`: numbers [count, octets] in two's complement, on the host."""

    octets: NDArray[np.uint8]
    bits: int

    def integers(self) -> list[int]:
        return [int.from_bytes(row.data, "little", signed=True) for row in self.octets]


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


def multiply(device: CudaDevice, digits: Digits, weights: Sequence[int], modulus: int) -> PackedNumbers:
    """For each entry the sum over steps of weight times digit, modulo a modulus, centred where it is short."""
    return _Products(device, digits, weights, modulus).numbers()


class _Products:
    def __init__(self, device: CudaDevice, digits: Digits, weights: Sequence[int], modulus: int) -> None:
        self._device, self._digits, self._modulus = device, digits, modulus
        self._steps = len(weights)
        self._entries, self._words = digits.entries, digits.words
        self._kernels = Kernels(device, "numbers", {"WORDS": self._words})
        self._length = 4 * self._modulus_words
        # digits are taken as numbers from 2**(32 words - 1) on, which the sum of the weights takes off again
        text = b"".join(w.to_bytes(self._length, "little") for w in weights)
        self._weights = device.upload(np.frombuffer(text, np.uint8))
        self._constant = -(sum(weights) << (32 * self._words - 1)) % modulus
        # room for the sum of so many products, and for the constant
        bits = modulus.bit_length() + 32 * self._words + self._steps.bit_length() + 1
        self._columns = 4 * (bits // 32 + 1)

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
        device, columns = self._device, self._columns
        group = max(WARP, min(self._entries, SUM_BYTES // (8 * columns)))
        sums, words = device.allocate(8 * columns * group), device.allocate(columns * group)
        result, bits = device.allocate(self._length * self._entries), device.allocate(4 * self._entries)
        constant = self._upload(self._constant, columns // 4)
        for first in range(0, self._entries, group):
            count = min(group, self._entries - first)
            if first:
                device.download_cells(bits, 0, 1)  # so that nobody who interrupts waits for all of them
            device.clear(sums)
            self._sum(first, count, sums)
            self._kernels.launch(
                "xl_system_reduce",
                (-(-count // WARP),),
                WARP,
                (sums, first, count, columns, constant, *self._division, words, result, bits),
            )
        found = device.download_pinned(result, np.dtype(np.uint8), (self._entries, self._length))
        lengths = device.download(bits, np.dtype(np.int32), (self._entries,))
        return PackedNumbers(found, int(lengths.max(initial=0)))

    def _sum(self, first: int, count: int, sums: Memory) -> None:
        """Sums of products of octets, [columns, count]."""
        most = max(1, DEPTH // self._words)
        for start in range(0, self._steps, most):
            self._kernels.launch(
                "xl_system_products",
                (-(-count // SIDE), padded(self._columns, SIDE) // SIDE),
                THREADS,
                (
                    self._digits.memory + 4 * start * self._entries * self._words,
                    *(self._entries, first, count, min(most, self._steps - start)),
                    self._weights + start * self._length,
                    *(self._length, self._columns, sums),
                ),
            )
