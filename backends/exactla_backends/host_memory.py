"""Memory of the host as a backend sees it: shared by the backends whose buffers are NumPy arrays."""

import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Direct, Operand, Settling
from exactla.formats import BigIntegerFormat, FloatFormat
from exactla.libraries.base import Source
from exactla_backends.numpy import limbs as mp

Array = NDArray[Any]
_ANY_MEMORY = 1 << 62
_HERE = nullcontext()


class HostMemory:
    """The memory half of `exactla.backend.Backend`; each method has its postcondition there."""

    direct: Direct | None = None
    settling: Settling | None = None

    def scope(self, like: Source) -> AbstractContextManager[None]:
        return _HERE

    def view(self, source: Source, *, part: Literal["real", "imag"], transpose: bool) -> Operand:
        encodings = source.library.host_encodings(source, part)
        if encodings.ndim == 1:
            encodings = encodings[None]
        elif transpose:
            encodings = encodings.swapaxes(-1, -2)
        if encodings.ndim > 3 or (encodings.ndim == 3 and encodings.strides[0] == 0):
            encodings = _collapse(encodings)
        stacked = encodings.reshape(-1, *encodings.shape[-2:]) if encodings.size else _empty_stack(encodings)
        stacks, rows, depth = stacked.shape
        if isinstance(source.format, BigIntegerFormat):
            limbs, bits = mp.from_integers(stacked)
            return Operand(limbs, source.format, (stacks, rows, depth), bits=bits)
        return Operand(stacked, source.format, (stacks, rows, depth))

    def block(self, operand: Operand, stacks: slice, rows: slice, depth: slice) -> Operand:
        shape = operand.shape
        if (stacks, rows, depth) == (slice(0, shape[0]), slice(0, shape[1]), slice(0, shape[2])):
            return operand
        index = (stacks, rows, depth)
        part = operand.buffer[(slice(None), *index) if _has_limbs(operand) else index]
        exponents, tops = (None if x is None else x[stacks, rows] for x in (operand.exponents, operand.tops))
        return operand._replace(buffer=part, shape=part.shape[-3:], exponents=exponents, tops=tops)

    def repeat(self, operand: Operand, stacks: int) -> Operand:
        shape = (stacks, *operand.shape[1:])
        limbs = operand.buffer.shape[:1] if _has_limbs(operand) else ()
        return operand._replace(buffer=np.broadcast_to(operand.buffer, (*limbs, *shape)), shape=shape)

    def gather(self, operand: Operand, rows: Sequence[tuple[int, int]]) -> Operand:
        stacks, places = np.array(rows, np.int64).T
        many = (slice(None),) if _has_limbs(operand) else ()
        exponents, tops = (None if x is None else x[stacks, places][:, None] for x in (operand.exponents, operand.tops))
        part = operand.buffer[(*many, stacks, places)]
        part = part.reshape(*part.shape[:-1], 1, part.shape[-1])
        return operand._replace(buffer=part, shape=(len(rows), 1, operand.shape[2]), exponents=exponents, tops=tops)

    def scatter(self, encodings: Array, places: Sequence[tuple[int, int, int]], values: Array) -> None:
        encodings[tuple(np.array(places, np.int64).T)] = values[:, 0, 0]

    def truncate(self, operand: Operand, bits: int) -> Operand:
        if operand.bits <= bits or _has_limbs(operand):
            return operand
        exponents = np.maximum(operand.exponents, operand.tops - bits)
        return operand._replace(exponents=exponents, bits=bits, truncated=True)

    def allocate(self, shape: tuple[int, int, int], format: FloatFormat) -> Array:
        return np.empty(shape, f"u{format.bits // 8}")

    def store(self, result: Array, tile: tuple[slice, slice, slice], encodings: Array) -> None:
        result[tile] = encodings

    def restore(self, parts: Sequence[Array], format: FloatFormat, shape: tuple[int, ...], like: Source) -> Any:
        if len(parts) > 1:
            real, imag = (x.reshape(shape) for x in parts)
            return like.library.from_host_complex(real, imag, format, like)
        real = parts[0]
        return like.library.from_host(real if real.shape == shape else real.reshape(shape), format, like)

    def total(self, counts: Sequence[int]) -> int:
        return sum(counts)

    def free_bytes(self) -> int:
        return free_bytes()

    def solving_bytes(self) -> int:
        return self.free_bytes()


def _has_limbs(operand: Operand) -> bool:
    return operand.format is None or isinstance(operand.format, BigIntegerFormat)


def _collapse(encodings: Array) -> Array:
    """One matrix in place of the stacks that repeat it."""
    leading = encodings.ndim - 2
    if encodings.size and all(
        s == 0 or n == 1 for s, n in zip(encodings.strides[:leading], encodings.shape, strict=False)
    ):
        return encodings[(slice(0, 1),) * leading]
    return encodings


def _empty_stack(encodings: Array) -> Array:
    stacks = int(np.prod(encodings.shape[:-2]))
    return encodings.reshape(stacks, *encodings.shape[-2:])


def free_bytes() -> int:
    """Available memory of the host, within the limit of the control group where there is one."""
    found = [_ANY_MEMORY]
    available = re.search(r"MemAvailable: *(\d+) kB", _text("/proc/meminfo"))
    if available:
        found.append(int(available[1]) * 1024)
    elif hasattr(os, "sysconf"):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for limit, used in _CONTROL_GROUPS:
        allowed, taken = _text(limit).strip(), _text(used).strip()
        if allowed.isdigit() and taken.isdigit():
            found.append(max(int(allowed) - int(taken), 0))
    return min(found)


_CONTROL_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
