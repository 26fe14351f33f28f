"""From arrays to operands: where the entries of [S, R, K] lie in memory that a device sees."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np

from exactla.backend import Operand
from exactla.formats import BigIntegerFormat, Format
from exactla_backends.device.device import Device, HostArray, Layout
from exactla_backends.device.planes import Entries
from exactla_backends.numpy import limbs as mp


def device_view(device: Device, array: object, format: Format, *, transpose: bool) -> Operand:
    """The entries of an array of the device's own library; copied only where its stacks have no common stride."""
    layout = device.layout(array)
    merged = _stacked(layout.shape, layout.strides, transpose)
    if merged is None:
        layout = device.layout(device.contiguous(array))
        merged = _stacked(layout.shape, layout.strides, transpose)
        if merged is None:
            raise ValueError(f"a contiguous array has strides {layout.strides} for the shape {layout.shape}")
    shape, strides = merged
    return Operand(Entries(layout.memory, layout.offset, strides), format, shape)


def host_view(device: Device, array: HostArray, format: Format, *, transpose: bool) -> Operand:
    """The entries of an array of the host, copied to the device."""
    if isinstance(format, BigIntegerFormat):
        limbs, bits = mp.from_integers(array)
        words = mp.to_words(limbs)
        layout = Layout(device.upload(words), 0, words.shape[1:], words.strides[1:])
        shape, strides = _stacked(layout.shape, layout.strides, transpose) or ((0, 0, 0), (0, 0, 0))
        return Operand(Entries(layout.memory, 0, strides, len(words), words.strides[0]), format, shape, bits=bits)
    array = np.ascontiguousarray(array)
    shape, strides = _stacked(array.shape, array.strides, transpose) or ((0, 0, 0), (0, 0, 0))
    return Operand(Entries(device.upload(array), 0, strides), format, shape)


def _stacked(
    shape: Sequence[int], strides: Sequence[int], transpose: bool
) -> tuple[tuple[int, int, int], tuple[int, int, int]] | None:
    """Shape and strides as [S, R, K]; one stack where all repeat one matrix; None where axes have no common stride."""
    if len(shape) == 1:
        return (1, 1, shape[0]), (0, 0, strides[0])
    (rows, depth), (row_stride, depth_stride) = shape[-2:], strides[-2:]
    if transpose:
        rows, depth, row_stride, depth_stride = depth, rows, depth_stride, row_stride
    axes = [(n, s) for n, s in zip(shape[:-2], strides[:-2], strict=True) if n != 1]
    stacks = prod(n for n, _ in axes)
    if 0 in shape or not axes:
        return (stacks, rows, depth), (0, row_stride, depth_stride)
    if all(s == 0 for _, s in axes):
        return (1, rows, depth), (0, row_stride, depth_stride)
    for (_, outer), (n, inner) in pairwise(axes):
        if outer != n * inner:
            return None
    return (stacks, rows, depth), (axes[-1][1], row_stride, depth_stride)
