"""The memory half of the verbs: views, blocks, results, counts."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import prod
from typing import Any, Literal

import numpy as np

from exactla.backend import Operand
from exactla.formats import FloatFormat
from exactla.libraries.base import Source
from exactla_backends.device import views
from exactla_backends.device.device import Memory
from exactla_backends.device.launches import Launches
from exactla_backends.device.planes import Count, Encodings, Entries, Rows
from exactla_backends.kernels import tables


class DeviceMemory(Launches):
    """The memory half of `exactla.backend.Backend`; each method has its postcondition there."""

    def scope(self, like: Source) -> AbstractContextManager[None]:
        return self._device.scope(like)

    def view(self, source: Source, *, part: Literal["real", "imag"], transpose: bool) -> Operand:
        if source.device_kind == "cpu":
            encodings = source.library.host_encodings(source, part)
            return views.host_view(self._device, encodings, source.format, transpose=transpose)
        array = source.library.device_encodings(source, part)
        return views.device_view(self._device, array, source.format, transpose=transpose)

    def block(self, operand: Operand, stacks: slice, rows: slice, depth: slice) -> Operand:
        x: Entries = operand.buffer
        starts = (stacks.start, rows.start, depth.start)
        offset = x.offset + sum(start * stride for start, stride in zip(starts, x.strides, strict=True))
        shape = (stacks.stop - stacks.start, rows.stop - rows.start, depth.stop - depth.start)
        exponents, tops = (_some_rows(x, stacks, rows) for x in (operand.exponents, operand.tops))
        return operand._replace(buffer=x._replace(offset=offset), shape=shape, exponents=exponents, tops=tops)

    def repeat(self, operand: Operand, stacks: int) -> Operand:
        x: Entries = operand.buffer
        return operand._replace(buffer=x._replace(strides=(0, *x.strides[1:])), shape=(stacks, *operand.shape[1:]))

    def gather(self, operand: Operand, rows: Sequence[tuple[int, int]]) -> Operand:
        octets, depth, count = _octets(operand), operand.shape[2], len(rows)
        limbs = operand.buffer.limbs
        copy = self._device.allocate(max(limbs, 1) * count * depth * octets)
        places = self._table(np.array(rows, np.int64).reshape(count, 2).T)
        self._launch(
            "gather",
            (depth, count, max(limbs, 1)),
            (operand.buffer.memory, self._description(operand), octets, max(limbs, 1), places, count, copy),
        )
        strides = (depth * octets, depth * octets, octets)
        return operand._replace(
            buffer=Entries(copy, 0, strides, limbs, count * depth * octets),
            shape=(count, 1, depth),
            exponents=self._gathered(operand.exponents, rows),
            tops=self._gathered(operand.tops, rows),
        )

    def _gathered(self, rows: Rows | None, places: Sequence[tuple[int, int]]) -> Rows | None:
        if rows is None:
            return None
        count = len(places)
        copy = self._device.allocate(8 * count)
        table = self._table(np.array([rows.offset + s * rows.stride + r for s, r in places], np.int64))
        self._launch("gather_rows", (count, 1, 1), (rows.memory, table, count, copy))
        return Rows(copy, 0, 1, (count, 1))

    def scatter(self, encodings: Encodings, places: Sequence[tuple[int, int, int]], values: Encodings) -> None:
        index = np.ravel_multi_index(tuple(np.array(places, np.int64).reshape(-1, 3).T), encodings.shape)
        table = self._table(np.asarray(index, np.int64))
        arguments = (encodings.memory, table, values.memory, encodings.octets, len(places))
        self._launch("scatter", (len(places), 1, 1), arguments)

    def truncate(self, operand: Operand, bits: int) -> Operand:
        if operand.bits <= bits or operand.buffer.limbs:
            return operand
        stacks, rows = operand.shape[:2]
        low, high = operand.exponents, operand.tops
        raised = self._device.allocate(16 * stacks * rows)
        self._launch(
            "truncate",
            (rows, stacks, 1),
            (low.memory, high.memory, low.offset, low.stride, high.offset, high.stride, stacks, rows, bits, raised),
        )
        exponents, tops = both_rows(raised, stacks, rows)
        return operand._replace(exponents=exponents, tops=tops, bits=bits, truncated=True)

    def allocate(self, shape: tuple[int, int, int], format: FloatFormat) -> Encodings:
        octets = format.bits // 8
        return Encodings(self._device.allocate(prod(shape) * octets), octets, shape)

    def store(self, result: Encodings, tile: tuple[slice, slice, slice], encodings: Encodings) -> None:
        _, rows, columns = result.shape
        at = (tile[0].start * rows + tile[1].start) * columns + tile[2].start
        self._launch(
            "store",
            encodings.shape[::-1],
            (result.memory, at, rows, columns, encodings.memory, result.octets, *encodings.shape),
        )

    def restore(self, parts: Sequence[Encodings], format: FloatFormat, shape: tuple[int, ...], like: Source) -> Any:
        library = like.library
        if like.device_kind != "cpu" and len(parts) == 1:
            array = self._device.array(parts[0].memory, library.device_type(format), shape)
            return library.from_device(array, format, like)
        dtype = np.dtype(f"u{format.bits // 8}")
        if like.device_kind == "cpu":
            real, *imag = (self._device.download(part.memory, dtype, shape) for part in parts)
            if imag:
                return library.from_host_complex(real, imag[0], format, like)
            return library.from_host(real, format, like)
        real, imaginary = (self._device.array(part.memory, dtype, shape) for part in parts)
        return library.from_device_complex(real, imaginary, format, like)

    def total(self, counts: Sequence[Count]) -> int:
        return self._counts.total(counts)

    def free_bytes(self) -> int:
        return self._device.free_bytes()


def _octets(operand: Operand) -> int:
    """Bytes of an entry, or of a limb."""
    return 4 if operand.buffer.limbs else int(tables.format_table(operand.format)[1])


def _some_rows(rows: Rows | None, stacks: slice, some: slice) -> Rows | None:
    if rows is None:
        return None
    offset = rows.offset + stacks.start * rows.stride + some.start
    return rows._replace(offset=offset, shape=(stacks.stop - stacks.start, some.stop - some.start))


def both_rows(memory: Memory, stacks: int, rows: int) -> tuple[Rows, Rows]:
    """Exponents, and the tops behind them."""
    shape = (stacks, rows)
    return Rows(memory, 0, rows, shape), Rows(memory, stacks * rows, rows, shape)
