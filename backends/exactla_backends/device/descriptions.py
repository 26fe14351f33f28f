"""Buffers as the kernels read them: the arrays of 64-bit integers that `kernels/xl_device.h` and its users describe."""

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Operand
from exactla.formats import BigIntegerFormat
from exactla_backends.device.planes import Entries, ResultPlanes, Rows
from exactla_backends.kernels import tables

Table = NDArray[np.int64]
_EXPECT_FINITE, _MAY_DROP, _IN_UNITS = 1, 2, 4


def operand_table(operand: Operand) -> Table:
    """XL_STACKS and what follows."""
    entries: Entries = operand.buffer
    exponents: Rows | None = operand.exponents
    checks = _EXPECT_FINITE * operand.finite + _MAY_DROP * operand.truncated + _IN_UNITS * (operand.format is None)
    format = None if isinstance(operand.format, BigIntegerFormat) else operand.format
    return np.array(
        [
            *operand.shape,
            *(entries.offset, *entries.strides, entries.limb_stride, entries.limbs),
            *(operand.bits, checks),
            *((0, 0) if exponents is None else (exponents.offset, exponents.stride)),
            *tables.format_table(format),
        ],
        np.int64,
    )


def residue_table(padded_depth: int, table: tables.ResidueTable) -> Table:
    """XL_PADDED_DEPTH and what follows."""
    blocks = 0 if table.powers is None else table.powers.shape[-1]
    return np.array([padded_depth, table.moduli, table.limbs, blocks], np.int64)


def result_table(planes: ResultPlanes, table: tables.CrtTable) -> Table:
    """XL_PAIRS and what follows."""
    return np.array(
        [
            *(*planes.shape, planes.padded_columns),
            *(table.moduli, table.limbs, table.octets, table.groups, table.quotient_octets),
        ],
        np.int64,
    )
