"""Calls the native library through ctypes: structures as in native.h, arrays in and out. Knows no backend.

Each structure keeps the arrays that it points to alive, so that a call may be made from what a function returned.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import exactla_backends.cpu
from exactla.core.moduli import ResidueBase
from exactla.formats import FloatFormat, Format
from exactla.results import Rounding
from exactla.settings import thread_count
from exactla_backends.kernels import tables

Array = NDArray[Any]
I64, Pointer = ctypes.c_int64, ctypes.c_void_p
FILE_NAME = "_native.so"
EXPECT_FINITE, MAY_DROP = 1, 2


def _structure(name: str, **fields: Any) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": tuple(fields.items())})


Operand = _structure(
    "Operand",
    data=Pointer,
    rows=I64,
    depth=I64,
    row_stride=I64,
    depth_stride=I64,
    limb_stride=I64,
    limbs=I64,
    format=Pointer,
    exponents=Pointer,
    bits=I64,
    checks=I64,
)
Stack = _structure("Stack", first=Operand, stacks=I64, stride=I64)
ResidueTable = _structure(
    "ResidueTable", moduli=I64, limbs=I64, constants=Pointer, weights=Pointer, powers=Pointer, blocks=I64
)
Planes = _structure("Planes", data=Pointer, plane_stride=I64, row_stride=I64, depth=I64)
PlaneStack = _structure("PlaneStack", first=Planes, stride=I64)
CrtTable = _structure(
    "CrtTable", moduli=I64, limbs=I64, groups=I64, quotient_octets=I64, constants=Pointer, weights=Pointer
)
Results = _structure("Results", data=Pointer, octets=I64, plane_stride=I64, row_stride=I64, rows=I64, columns=I64)
ResultStack = _structure("ResultStack", first=Results, pair_stride=I64)
Term = _structure(
    "Term",
    left=Pointer,
    right=Pointer,
    left_modulus=I64,
    left_digit=I64,
    right_modulus=I64,
    right_digit=I64,
    depth=I64,
    negative=I64,
    row=I64,
    left_stride=I64,
    right_stride=I64,
)
Product = _structure(
    "Product",
    terms=Pointer,
    term_count=I64,
    left=Pointer,
    right=Pointer,
    pairs=I64,
    rows=I64,
    columns=I64,
    moduli=I64,
    octets=I64,
    constants=Pointer,
)
Encodings = _structure("Encodings", data=Pointer, row_stride=I64, rounding=I64)
RoundingJob = _structure(
    "RoundingJob",
    crt=Pointer,
    format=Pointer,
    left_exponents=Pointer,
    right_exponents=Pointer,
    shift=I64,
    encodings=Pointer,
    pair_stride=I64,
    count=I64,
    slack=I64,
    unsure=Pointer,
    components=I64,
)
Limits = _structure(
    "Limits",
    depth=I64,
    columns=I64,
    alignment=I64,
    tile_side=I64,
    tile_bytes=I64,
    worth_a_thread=I64,
    plan_bits=I64,
    plan_limbs=I64,
)
ModularSystems = _structure(
    "ModularSystems",
    matrix=Pointer,
    right=Pointer,
    rows=I64,
    columns=I64,
    more=I64,
    primes=Pointer,
    moduli=I64,
    minors=Pointer,
    ranks=Pointer,
    orders=Pointer,
    pivots=Pointer,
    determinants=Pointer,
    numerators=Pointer,
)
Inversion = _structure(
    "Inversion",
    planes=Pointer,
    moduli=I64,
    size=I64,
    depth=I64,
    constants=Pointer,
    begin=I64,
    end=I64,
    exchanged=Pointer,
)
LiftingSide = _structure("LiftingSide", packed=Pointer, constants=Pointer, moduli=I64, residues=Pointer, crt=Pointer)
Lifting = _structure(
    "Lifting",
    inverse=LiftingSide,
    matrix=LiftingSide,
    size=I64,
    depth=I64,
    columns=I64,
    steps=I64,
    reciprocals=Pointer,
    residual=Pointer,
    digits=Pointer,
)
LongIntegers = _structure(
    "LongIntegers", limbs=Pointer, row_stride=I64, entry_stride=I64, count=I64, rows=I64, columns=I64
)
Components = _structure("Components", words=Pointer, rows=I64, count=I64)
ComponentScan = _structure("ComponentScan", not_finite=I64, overlap=I64, lowest=I64, highest=I64)
WideBase = _structure(
    "WideBase",
    constants=Pointer,
    moduli=I64,
    powers=Pointer,
    powers_depth=I64,
    cofactors=Pointer,
    cofactors_depth=I64,
    octets=I64,
    product=Pointer,
)
WidePlaces = _structure("WidePlaces", residues=Pointer, planes=Pointer, plane_stride=I64, row_stride=I64)
WideSums = _structure("WideSums", sums=Pointer, sums_plane=I64, sums_row=I64)
Elimination = _structure(
    "Elimination",
    constants=Pointer,
    moduli=I64,
    depth=I64,
    lower=Pointer,
    upper=Pointer,
    slab=Pointer,
    panel_lower=Pointer,
    panel_upper=Pointer,
    sums=Pointer,
    rows=I64,
    columns=I64,
    block=I64,
    lower_stride=I64,
    upper_stride=I64,
    sums_stride=I64,
)
Panel = _structure(
    "Panel",
    factors=Pointer,
    sums=Pointer,
    lower=Pointer,
    upper=Pointer,
    matrix=Pointer,
    lower_entries=Pointer,
    upper_entries=Pointer,
    precision=I64,
    start=I64,
    stop=I64,
    order=Pointer,
    places=Pointer,
    pivots=Pointer,
    value=Pointer,
    nanoseconds=Pointer,
)


def path() -> Path | None:
    """The compiled library, None where this installation has none."""
    folders = [Path(folder) for folder in exactla_backends.cpu.__path__]
    return next((folder / FILE_NAME for folder in folders if (folder / FILE_NAME).exists()), None)


class Instructions:
    """The native functions for one instruction set."""

    def __init__(self, library: ctypes.CDLL, name: str | None) -> None:
        library.xl_native_select.restype = Pointer
        found = library.xl_native_select(None if name is None else name.encode())
        self._set = Pointer(found)
        self._library = library
        if found is None:
            raise OSError(f"this CPU cannot run the instruction set {name!r}")

    def bound(self, name: str, *types: Any) -> Callable[..., int]:
        """A function of native.h for many calls: its argument types are fixed, and results are not looked at."""
        function = self._library[f"xl_native_{name}"]
        function.argtypes, function.restype = (Pointer, *types), I64
        return partial(function, self._set)

    def run(self, name: str, *arguments: Any) -> int:
        """Call a function of native.h whose last argument is the number of threads, with the context's."""
        return self.call(name, *arguments, I64(wanted_threads()))

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function of native.h; MemoryError where it had none."""
        function = getattr(self._library, f"xl_native_{name}")
        function.restype = I64
        result = int(function(self._set, *arguments))
        if result < 0:
            raise MemoryError("the native library could not allocate its scratch")
        return result


@cache
def load() -> ctypes.CDLL:
    """The compiled library."""
    found = path()
    if found is None:
        raise OSError("exactla was installed without its native library")
    return ctypes.CDLL(str(found))


@cache
def limits() -> Any:
    """The numbers that callers plan with: a `Limits`."""
    function = load().xl_native_limits
    function.restype = ctypes.POINTER(Limits)
    return function().contents


def wanted_threads() -> int:
    """The context's number of threads as native.h has it: 0 for OpenMP's own."""
    return thread_count.get() or 0


def threads() -> int:
    """Threads that a call from this thread may use."""
    function = load().xl_native_threads
    function.restype = I64
    return int(function(I64(wanted_threads())))


def listed() -> Iterator[tuple[str, bool]]:
    """Names of the instruction sets of this build, the preferred one first, and whether each runs here."""
    library = load()
    library.xl_native_listed.restype = ctypes.c_char_p
    runs_here = I64(0)
    index = 0
    while name := library.xl_native_listed(I64(index), ctypes.byref(runs_here)):
        yield name.decode(), bool(runs_here.value)
        index += 1


def pointer(array: Array) -> int:
    """The address of an array's first entry."""
    address: int = array.__array_interface__["data"][0]
    return address


def optional_pointer(array: Array | None) -> int | None:
    """The same, or a null pointer."""
    return None if array is None else pointer(array)


def keep(structure: ctypes.Structure, *owners: object) -> ctypes.Structure:
    """A structure that keeps what it points to."""
    structure.owners = owners
    return structure


def stack(x: Array, format: Format | None, exponents: Array | None, bits: int, checks: int) -> ctypes.Structure:
    """Matrices of encodings [S, R, K], or with format None of limbs [L, S, R, K]; `checks` as in xl_host.h."""
    limbs = 0 if format is not None else len(x)
    strides = (0, *x.strides) if format is not None else x.strides
    stacks, rows, depth = x.shape[-3:]
    table = tables.format_table(format)
    first = Operand(
        pointer(x),
        rows,
        depth,
        strides[2],
        strides[3],
        strides[0],
        limbs,
        optional_pointer(table),
        optional_pointer(exponents),
        bits,
        checks,
    )
    return keep(Stack(first, stacks, strides[1]), x, exponents, table)


@cache
def residue_table(base: ResidueBase, limbs: int, octets: int, blocks_of_bits: int | None) -> ctypes.Structure:
    """Constants that turn integers of `limbs` limbs, or entries of so many bits, into residues."""
    if octets == 1:
        table = tables.residues8(base, limbs)
    elif blocks_of_bits is None:
        table = tables.residues16(base, limbs)
    else:
        table = tables.residues16_blocks(base, blocks_of_bits)
    blocks = 0 if table.powers is None else table.powers.shape[-1]
    return keep(
        ResidueTable(
            table.moduli,
            table.limbs,
            pointer(table.constants),
            pointer(table.weights),
            optional_pointer(table.powers),
            blocks,
        ),
        table,
    )


@cache
def crt_table(base: ResidueBase, octets: int, limbs: int | None = None) -> ctypes.Structure:
    """Constants that turn residues into integers, of so many limbs; see `tables.crt`."""
    table = tables.crt(base, octets, limbs)
    return keep(
        CrtTable(
            table.moduli,
            table.limbs,
            table.groups,
            table.quotient_octets,
            pointer(table.constants),
            pointer(table.weights),
        ),
        table,
    )


@cache
def product_constants(base: ResidueBase, octets: int) -> Array:
    """The constants of the matrix kernels."""
    function = load().xl_native_constants
    function.restype = I64
    moduli = np.array(base.moduli, np.uint32)
    arguments = Pointer(pointer(moduli)), I64(len(moduli)), I64(octets)
    records = np.zeros(function(*arguments, None), np.uint8)
    if function(*arguments, Pointer(pointer(records))) < 0:
        raise ValueError(f"a modulus of {base.moduli} is out of range for residues of {octets} bytes")
    return records


def long_integers(limbs: Array) -> ctypes.Structure:
    """Limbs [rows, columns, l] of uint64, whose last axis is contiguous."""
    if limbs.strides[-1] != limbs.itemsize:
        limbs = np.ascontiguousarray(limbs)
    rows, columns, count = limbs.shape
    strides = (s // limbs.itemsize for s in limbs.strides[:2])
    return keep(LongIntegers(pointer(limbs), *strides, count, rows, columns), limbs)


def components(words: Array) -> ctypes.Structure:
    """Encodings [rows, components] of float64."""
    words = np.ascontiguousarray(words, np.uint64)
    return keep(Components(pointer(words), *words.shape), words)


def plane_stack(planes: Array) -> ctypes.Structure:
    """Byte planes [S, planes, R, K]."""
    strides = planes.strides
    return keep(PlaneStack(Planes(pointer(planes), strides[1], strides[2], planes.shape[3]), strides[0]), planes)


def result_stack(residues: Array, columns: int) -> ctypes.Structure:
    """Residues [T, P, R, columns and padding] of results."""
    strides = residues.strides
    first = Results(pointer(residues), residues.itemsize, strides[1], strides[2], residues.shape[2], columns)
    return keep(ResultStack(first, strides[0]), residues)


def rounding_job(
    base: ResidueBase,
    octets: int,
    format: FloatFormat,
    exponents: tuple[Array, Array, int],
    results: Sequence[Array],
    roundings: Sequence[Rounding],
    certified: tuple[int, Array | None] = (0, None),
    components: int = 0,
) -> ctypes.Structure:
    """How residues become the given encodings [T, R, C], one array for each rounding; see xl_rounding_job.

    With components there is one array, [T, R, C, components].
    """
    slack, unsure = certified
    table, crt = tables.format_table(format), crt_table(base, octets)
    encodings = (Encodings * len(results))(
        *(
            Encodings(pointer(x), x.strides[1], tables.ROUNDINGS[rounding])
            for x, rounding in zip(results, roundings, strict=True)
        )
    )
    left, right, shift = exponents
    job = RoundingJob(
        ctypes.addressof(crt),
        pointer(table),
        pointer(left),
        pointer(right),
        shift,
        ctypes.addressof(encodings),
        results[0].strides[0],
        len(results),
        slack,
        optional_pointer(unsure),
        components,
    )
    return keep(job, table, crt, left, right, encodings, unsure, *results)
