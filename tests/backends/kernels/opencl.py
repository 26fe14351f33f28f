"""Runs the device kernels on an OpenCL device through dpctl; arrays in, arrays out."""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.core.moduli import ResidueBase
from exactla.formats import FloatFormat, Format
from exactla.results import Rounding
from exactla_backends.kernels import tables
from exactla_backends.kernels.text import device_text

Array = NDArray[Any]

MAX_LIMBS, MAX_GROUPS = 12, 17
DEFINES = (f"-DXL_MAX_LIMBS={MAX_LIMBS}", f"-DXL_MAX_GROUPS={MAX_GROUPS}")


def why_not() -> str | None:
    """Why there is no OpenCL device."""
    try:
        import dpctl

        dpctl.SyclQueue("opencl")
    except ImportError:
        return "dpctl is not installed: pip install 'exactla[sycl-cpu]'"
    except Exception as error:  # dpctl's own classes; all of them mean that no device can be had
        return f"no OpenCL device: {error}"
    return None


class Device:
    """Kernels compiled for an OpenCL device, from their text or from SPIR-V."""

    def __init__(self, *, spirv: bytes | None = None, lanes: int = 1) -> None:
        import dpctl
        import dpctl.program

        self._queue = dpctl.SyclQueue("opencl")
        self._lanes = lanes
        if spirv is None:
            options = " ".join(("-cl-std=CL1.2", f"-DXL_LANES={lanes}", *DEFINES))
            self._program = dpctl.program.create_program_from_source(self._queue, device_text(), options)
        else:
            self._program = dpctl.program.create_program_from_spirv(self._queue, spirv)

    def _upload(self, array: Array) -> Any:
        import dpctl.memory

        array = np.ascontiguousarray(array)
        memory = dpctl.memory.MemoryUSMShared(max(array.nbytes, 1), queue=self._queue)
        memory.copy_from_host(array.reshape(-1).view(np.uint8))
        return memory

    def _run(self, name: str, shape: tuple[int, int], *arguments: Any) -> list[Any]:
        """Launch over blocks of lanes and rows; returns the device memory of the arguments that are arrays."""
        passed = [self._upload(x) if isinstance(x, np.ndarray) else x for x in arguments]
        rows, depth = shape
        self._queue.submit(
            self._program.get_sycl_kernel(f"xl_kernel_{name}"), passed, [rows, -(-depth // self._lanes)]
        ).wait()
        return passed

    @staticmethod
    def _download(memory: Any, like: Array) -> Array:
        found = np.empty(like.shape, like.dtype)
        memory.copy_to_host(found.reshape(-1).view(np.uint8))
        return found

    def scan(self, x: Array, format: Format) -> tuple[Array, Array, int]:
        lowest, highest = np.full(len(x), 1 << 30, np.int32), np.full(len(x), -(1 << 30), np.int32)
        bad = np.zeros(1, np.int32)
        sizes = np.array([*x.shape, *x.strides, 0, 0, 0], np.int64)
        step = ctypes.c_int64(8 * self._lanes)
        passed = self._run("scan", x.shape, x, sizes, tables.format_table(format), step, lowest, highest, bad)
        found = [self._download(m, a) for m, a in zip(passed[4:], (lowest, highest, bad), strict=True)]
        return found[0], found[1], int(found[2][0])

    def residues(
        self, x: Array, format: Format | None, exponents: Array, bits: int, table: tables.ResidueTable
    ) -> tuple[Array, int]:
        rows, depth = x.shape[-2:]
        limbs = len(x) if format is None else 0
        strides = x.strides if format is None else (0, *x.strides)
        sizes = np.array([rows, depth, strides[1], strides[2], strides[0], limbs, bits], np.int64)
        planes, broken = np.zeros((table.planes, rows, depth), np.int8), np.zeros(1, np.int32)
        blocks = 0 if table.powers is None else table.powers.shape[-1]
        shape = np.array([rows, depth, depth, rows * depth, table.moduli, table.limbs, blocks], np.int64)
        constants = [table.constants, table.weights]
        if table.digits:
            constants.append(np.zeros(1, np.uint32) if table.powers is None else table.powers)
        passed = self._run(
            "residues16" if table.digits else "residues8",
            (rows, depth),
            *(x, sizes, tables.format_table(format), exponents),
            *constants,
            *(planes, shape, broken),
        )
        return self._download(passed[-3], planes), int(self._download(passed[-1], broken)[0])

    def integers(self, residues: Array, base: ResidueBase) -> list[int]:
        table = tables.crt(base, residues.itemsize)
        limbs = np.zeros((residues[0].size, table.limbs), np.uint32)
        passed = self._run(
            "integers", residues.shape[1:], residues, _sizes(residues, table), table.constants, table.weights, limbs
        )
        found = self._download(passed[-1], limbs)
        return [int.from_bytes(row.astype("<u4").tobytes(), "little", signed=True) for row in found]

    def round(
        self,
        residues: Array,
        base: ResidueBase,
        exponents: tuple[Array, Array],
        format: FloatFormat,
        roundings: tuple[Rounding, Rounding],
    ) -> list[Array]:
        table = tables.crt(base, residues.itemsize)
        result = np.zeros(residues.shape[1:], f"u{format.bits // 8}")
        first, second = (ctypes.c_int32(tables.ROUNDINGS[r]) for r in roundings)
        passed = self._run(
            "round",
            residues.shape[1:],
            *(residues, _sizes(residues, table), table.constants, table.weights, *exponents),
            *(tables.format_table(format), ctypes.c_int64(result.strides[0]), first, result, second, result),
        )
        return [self._download(passed[i], result) for i in (-3, -1)]

    def mark(self, encodings: Array, special: list[Array], base: ResidueBase, format: FloatFormat) -> Array:
        table = tables.crt(base, special[0].itemsize)
        passed = self._run(
            "mark",
            encodings.shape,
            *(*special, _sizes(special[0], table), table.constants, table.weights),
            *(tables.format_table(format), ctypes.c_int64(encodings.strides[0]), encodings),
        )
        return self._download(passed[-1], encodings)

    def combine(self, terms: tuple[tuple[int, Array], tuple[int, Array]], base: ResidueBase) -> Array:
        (first, x), (second, y) = terms
        table = tables.crt(base, x.itemsize)
        sizes = _sizes(x.reshape(len(x), 1, -1), table)
        signs = ctypes.c_int32(first), ctypes.c_int32(second)
        shape = (len(x), x[0].size)
        passed = self._run("combine", shape, x, x, signs[0], y, signs[1], sizes, table.constants)
        return self._download(passed[0], x)

    def classify(self, x: Array, format: Format) -> Array:
        sizes = np.array([*x.shape, *x.strides, 0, 0, 0], np.int64)
        classes = np.zeros((7, *x.shape), np.int8)
        passed = self._run("classify", x.shape, x, sizes, tables.format_table(format), classes, ctypes.c_int64(x.size))
        return self._download(passed[3], classes)

    def interval_residues(
        self, x: tuple[Array, Array], format: Format, exponents: Array, bits: int, table: tables.ResidueTable
    ) -> tuple[Array, int, int]:
        """Of intervals given by their endpoints."""
        rows, depth = x[0].shape
        planes = np.zeros((7, table.planes, rows, depth), np.int8)
        broken, invalid = np.zeros(1, np.int32), np.zeros(1, np.int32)
        shape = np.array([rows, depth, depth, rows * depth, table.moduli, table.limbs, 0], np.int64)
        sizes = [np.array([*part.shape, *part.strides, 0, 0, bits], np.int64) for part in x]
        layout = tables.format_table(format)
        passed = self._run(
            "interval8",
            (rows, depth),
            *(x[0], sizes[0], layout, x[1], sizes[1], layout, ctypes.c_int32(1), exponents),
            *(table.constants, table.weights, planes, ctypes.c_int64(planes[0].size), shape, broken, invalid),
        )
        counts = [int(self._download(passed[i], broken)[0]) for i in (-2, -1)]
        return self._download(passed[10], planes), counts[0], counts[1]


def _sizes(residues: Array, table: tables.CrtTable) -> Array:
    rows, columns = residues.shape[1:]
    return np.array(
        [
            *(rows, columns, columns, rows * columns),
            *(table.moduli, table.limbs, table.octets, table.groups, table.quotient_octets),
        ],
        np.int64,
    )
