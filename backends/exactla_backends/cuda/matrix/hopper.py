"""Residue products on the warpgroup instructions of compute capability 9.0; `int8_sm90.cu` is the kernel."""

import ctypes
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from exactla_backends.cuda import driver
from exactla_backends.cuda.driver import TensorMap

ROWS, DEPTH = 128, 128
BLOCK = (384, 1)
SEGMENT = {1: 512, 2: 128}
"""Blocks of DEPTH whose products are summed at a time, with one digit or two: sums stay below 2**31."""

_SHARED_BYTES = 226 << 10


class _Problem(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("rows", "columns", "depth", "pairs", "moduli", "segment")),
        *((name, ctypes.c_void_p) for name in ("left", "right", "constants", "result")),
        ("row_stride", ctypes.c_int64),
    )


@dataclass(frozen=True)
class Planes:
    """Residue planes [planes, rows, depth] of octets in device memory, each row `depth` octets long."""

    address: int
    planes: int
    rows: int
    depth: int


def multiply(
    left: Planes,
    right: Planes,
    pairs: tuple[int, int, int],
    moduli: int,
    digits: int,
    constants: int,
    result: tuple[int, int],
    place: tuple[int, int, int],
) -> None:
    """Residues of left @ right.T for each pair of matrices and each modulus.

    Parameters
    ----------
    left, right : Planes
        [stacks * moduli * digits, rows, depth], of equal depth, a multiple of DEPTH.
    pairs : tuple
        Number of pairs, and addresses of the int32 numbers of their left and right matrices.
    constants : int
        Address of int32 [moduli, 4]: m, round(2**32 / m), 256 mod m centred, 0.
    result : tuple
        Address of [pairs, moduli, left.rows, stride] octets, or with two digits int16; and the stride, a multiple of 16.
    place : tuple
        Device, its number of multiprocessors, and the stream.
    """
    device, processors, stream = place
    columns = 256 if right.rows > 128 else 128 if right.rows > 64 else 64
    segment = SEGMENT[digits]
    is_segmented = digits == 2 or left.depth > segment * DEPTH
    function = _function(columns, digits, is_segmented, device)
    problem = _Problem(
        left.rows, right.rows, left.depth, pairs[0], moduli, segment, pairs[1], pairs[2], constants, *result
    )
    tiles = -(-left.rows // ROWS) * -(-right.rows // columns) * moduli * pairs[0]
    driver.launch(
        function,
        (min(tiles, processors), 1, 1),
        BLOCK,
        stream,
        (_map(left, ROWS), _map(right, columns), problem),
        _SHARED_BYTES,
    )


@lru_cache(maxsize=256)
def _map(planes: Planes, rows: int) -> TensorMap:
    sizes = (planes.depth, planes.rows, planes.planes)
    return driver.tensor_map(planes.address, sizes, (planes.depth, planes.rows * planes.depth), (DEPTH, rows, 1))


def _function(columns: int, digits: int, is_segmented: bool, device: int) -> int:
    text, options = source(columns, digits, is_segmented)
    return driver.kernel(text, "xl_residue_product", options, "sm_90a", device, _SHARED_BYTES)


@cache
def source(columns: int, digits: int, is_segmented: bool) -> tuple[str, tuple[str, ...]]:
    """The kernel's text and the compiler's options."""
    stages = (_SHARED_BYTES - 1024) // ((ROWS + columns) * DEPTH)
    text = Path(__file__).with_name("int8_sm90.cu").read_text(encoding="utf-8")
    defines = {"COLUMNS": columns, "DIGITS": digits, "SEGMENTED": int(is_segmented), "STAGES": stages}
    options = tuple(f"-DXL_{name}={value}" for name, value in defines.items())
    return f"#define XL_PRODUCT {_product(columns)}\n{text}", options


def _product(columns: int) -> str:
    """The instruction with its registers: a thread's share of 64 x `columns` sums."""
    count = columns // 2
    sums = ", ".join(f"%{i}" for i in range(count))
    operands = ", ".join(f'"+r"(d[{i}])' for i in range(count))
    return (
        f'asm volatile("wgmma.mma_async.sync.aligned.m64n{columns}k32.s32.s8.s8 {{{sums}}}, %{count}, %{count + 1}, 1;"'
        f' : {operands} : "l"(left), "l"(right));'
    )
