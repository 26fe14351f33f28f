"""Residue products on the warpgroup instructions of compute capability 9.0; `int8_sm90.cu` is the kernel."""

import ctypes
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from exactla_backends.cuda import driver
from exactla_backends.cuda.driver import Launch, TensorMap
from exactla_backends.cuda.matrix.task import Planes, Task
from exactla_backends.kernels.text import flattened

ROWS, DEPTH = 128, 128
BLOCK = (384, 1)
SEGMENT = {1: 512, 2: 128}
"""Blocks of DEPTH whose products are summed at a time, with one digit or two: sums stay below 2**31."""

SHARED_BYTES = 226 << 10


class _Problem(ctypes.Structure):
    _fields_ = (
        *(
            (name, ctypes.c_int32)
            for name in ("rows", "columns", "depth", "pairs", "moduli", "segment", "sign", "keep")
        ),
        *((name, ctypes.c_void_p) for name in ("places", "constants", "result")),
        ("row_stride", ctypes.c_int64),
    )


def multiply(left: Planes, right: Planes, task: Task, result: tuple[int, int], place: tuple[int, int]) -> Launch:
    """Residues of left @ right.T for each pair of matrices and each modulus.

    Parameters
    ----------
    left, right : Planes
        [stacks * moduli * digits, rows, depth], of equal depth, a positive multiple of DEPTH.
    task : Task
    result : tuple
        Address of [pairs, moduli, left.rows, stride] octets, or with two digits int16; and the stride, in 16s.
    place : tuple
        Device, and its number of multiprocessors.
    """
    device, processors = place
    columns = _tile_columns(left.rows, right.rows, task.moduli * task.pairs, processors)
    segment = SEGMENT[task.digits]
    # a first product has no sign of its own: it is taken as added to nothing
    is_signed = task.add or task.sign < 0
    is_segmented = task.digits == 2 or left.depth > segment * DEPTH
    variant = Variant(columns, task.digits, is_segmented, is_signed)
    problem = _Problem(
        *(left.rows, right.rows, left.depth, task.pairs, task.moduli, segment, task.sign, int(task.add)),
        *(task.places, task.constants, *result),
    )
    tiles = -(-left.rows // ROWS) * -(-right.rows // columns) * task.moduli * task.pairs
    return Launch(
        driver.kernel(*source(variant), "sm_90a", device, SHARED_BYTES),
        (min(tiles, processors), 1, 1),
        BLOCK,
        (_map(left, ROWS), _map(right, columns), problem),
        SHARED_BYTES,
    )


def longest(digits: int) -> int:
    """The inner dimension that is summed at a time."""
    return SEGMENT[digits] * DEPTH


def _tile_columns(rows: int, columns: int, products: int, processors: int) -> int:
    """The widest tiles that are not mostly empty, and that give each multiprocessor something to do."""
    width = 256 if columns > 128 else 128 if columns > 64 else 64
    while width > 64 and -(-rows // ROWS) * -(-columns // width) * products < processors:
        width //= 2
    return width


@lru_cache(maxsize=256)
def _map(planes: Planes, rows: int) -> TensorMap:
    sizes = (planes.depth, planes.rows, planes.planes)
    return driver.tensor_map(planes.address, sizes, planes.strides, (DEPTH, rows, 1))


class Variant(NamedTuple):
    """What the kernel is compiled for."""

    columns: int
    digits: int
    is_segmented: bool
    is_signed: bool


@cache
def source(variant: Variant) -> tuple[str, str, tuple[str, ...]]:
    """The kernel's text, its name, and the compiler's options."""
    columns = variant.columns
    constants = {
        "COLUMNS": columns,
        "DIGITS": variant.digits,
        "SEGMENTED": int(variant.is_segmented),
        "ADD": int(variant.is_signed),
        "STAGES": (SHARED_BYTES - 1024) // ((ROWS + columns) * DEPTH),
    }
    text = flattened(Path(__file__).with_name("int8_sm90.cu"))
    options = tuple(f"-DXL_{name}={value}" for name, value in constants.items())
    return f"#define XL_PRODUCT {_product(columns)}\n{text}", "xl_residue_product", options


def _product(columns: int) -> str:
    """The instruction with its registers: a thread's share of 64 x `columns` sums."""
    count = columns // 2
    sums = ", ".join(f"%{i}" for i in range(count))
    operands = ", ".join(f'"+r"(d[{i}])' for i in range(count))
    return (
        f'asm volatile("wgmma.mma_async.sync.aligned.m64n{columns}k32.s32.s8.s8 {{{sums}}}, %{count}, %{count + 1}, 1;"'
        f' : {operands} : "l"(left), "l"(right));'
    )
