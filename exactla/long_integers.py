"""The contract of multiple precision: what a backend does with integers of many limbs.

It is a part of `exactla.backend`, where the rest of the contract is.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from exactla.core.moduli import ResidueBase
from exactla.operands import Buffer, Engine

if TYPE_CHECKING:
    import numpy as np

Shifts: TypeAlias = "int | np.ndarray[Any, Any] | tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]"


class Pivots(NamedTuple):
    """What a block of columns was found to have for pivots."""

    order: "np.ndarray[Any, Any]"
    """int64 [rows from the block on]: the row that should be k-th is the order[k]-th of now."""

    exchanges: int
    """Exchanges that make that order."""

    values: list[int]
    """The pivots, RN(s_jj / 2**F)."""

    lost: int | None
    """The s_ij of largest magnitude of the next column, where it rounds to 0."""


class Elimination(Protocol):
    """Factors L and U in the making, in units of 2**-F: the sums of `core.lu` from residues of what is known of them.

    Columns are taken in blocks of up to 64, one after the other: columns are found, rows exchanged, then rows are
    found, and the block is closed.

        s_ij = 2**F A_ij - sum over k < min(i, j) of L_ik U_kj.
    """

    seconds: dict[str, float]
    """What has been taken so far, by part, where that is known.

    "update": sums of products. "conversion": from entries to residues. "reconstruction": from residues to sums, with
    products inside a block. "panel": all else from sums to entries: pivots, divisions, rounding, and waiting for them.
    """

    def columns(self, start: int, stop: int, lower: Buffer, upper: Buffer) -> Pivots:
        """L in columns start..stop-1 and U in the same columns, in memory of the caller.

        `lower` is [n - start, stop - start, l], its rows in the order of now, `upper` [stop - start, columns, m], of
        which entries right of the diagonal are written. Rows that hold pivots have any numbers in columns after that.
        Host synchronisations: one, or one for each column.
        """

    def exchange(self, start: int, order: "np.ndarray[Any, Any]") -> None:
        """Row start + k becomes what row start + order[k] was, int64."""

    def rows(self, start: int, stop: int, upper: Buffer) -> None:
        """U in the columns from `stop` on, in memory of the caller: [stop - start, columns, m]."""

    def close(self) -> None:
        """The block is complete."""

    def put(self, start: int, stop: int, lower: Buffer, upper: Buffer) -> None:
        """A block that is known: instead of all of the above, with rows in their places."""


class StepwiseElimination(Protocol):
    """An elimination by columns and rows, of which `core.stepwise` makes one by blocks.

    In a block columns are opened, found and put, rows exchanged, then rows are opened, found and put, and the block is
    closed. Rows keep their order while columns are open.
    """

    def open_columns(self, start: int, stop: int) -> None:
        """Begin with columns start..stop-1 of the rows from `start` on, of which none holds a pivot yet."""

    def column(self, j: int) -> Buffer:
        """Limbs [n - start, l] of s_ij in an open column; 0 in rows that hold a pivot."""

    def put_column(self, j: int, row: int, column: Buffer) -> None:
        """Limbs [n - start, l] of L_ij. The open row start + `row` holds the pivot of column j."""

    def rest_of_row(self, j: int) -> Buffer:
        """Limbs [stop - 1 - j, l] of s in the row that holds the pivot of column j and in the open columns after j."""

    def put_row(self, i: int, first: int, row: Buffer) -> None:
        """Limbs of U_ij for j = first, first + 1, ...; in an open block the row is that of the pivot of column i."""

    def exchange(self, start: int, order: "np.ndarray[Any, Any]") -> None:
        """Row start + k becomes what row start + order[k] was, int64."""

    def open_rows(self, start: int, stop: int) -> None:
        """Begin with rows start..stop-1 of the columns from `stop` on."""

    def row(self, i: int) -> Buffer:
        """Limbs [columns - stop, l] of s_ij in an open row for j from `stop` on."""

    def close(self) -> None:
        """The block is complete."""


class ComponentProducts(Protocol):
    """Products of numbers of 2 to 4 float64 components on the host, which never become limbs on their way.

    Numbers are encodings, uint64 [R, K, components] of any strides, what methods return is opaque.
    """

    def takes(self, engine: Engine, bits: int) -> bool:
        """Whether it multiplies by this engine, and is the faster way for sums of so many bits."""

    def scan(self, words: "np.ndarray[Any, Any]") -> "Any | None":
        """What there is; None where a component is not finite.

        Its `bits` are those of the longest entry in the unit of its row, and `rows` takes a slice of the rows.
        """

    def left_residues(self, numbers: Any, base: ResidueBase) -> "Any | None":
        """Residues of scanned numbers; None where components overlap, see `core.expansions.first_overlap`."""

    def right_residues(self, numbers: Any, base: ResidueBase) -> "Any | None":
        """The same for the right side."""

    def product(
        self, sides: tuple[Any, Any], residues: tuple[Any, Any], base: ResidueBase, found: "np.ndarray[Any, Any]"
    ) -> bool:
        """left @ right.T of scanned numbers and their residues, as `core.expansions.components` rounds it.

        `found` is a contiguous uint64 array [R, C, components]. False where a result is beyond the largest float64.
        """


class Multiprecision(Protocol):
    """Integers of many limbs on a device: buffers of uint64 [..., l] in two's complement, the lowest limb first.

    These buffers are arrays of the device's own library, NumPy's on the host: they have a `shape`, any slices of all
    axes but the last are views of the same memory, and what is contiguous can be reshaped. Verbs take views too and
    return contiguous buffers, of the shape of what they are given where nothing else is said. Only those that say so
    wait for the device. RN is to nearest, ties to even.
    """

    name: str  # the backend's
    engines: tuple[Engine, ...]  # the preferred one first
    elimination_limit: int  # eliminations take moduli whose limit is no less

    @property
    def component_products(self) -> ComponentProducts | None:
        """A shortcut for products of components, where there is one."""

    def engine_is_exact(self, engine: Engine, modulus_limit: int) -> bool:
        """As `Backend.engine_is_exact`."""

    def few_unknowns(self, limbs: int) -> int:
        """Unknowns, times right-hand sides, that `substitute` finds faster than products do for L of so many limbs."""

    # ---- memory ----------------------------------------------------------------------------------------------------
    def scope(self, limbs: Buffer) -> AbstractContextManager[None]:
        """Enter the device of a buffer."""

    def free_bytes(self) -> int:
        """As `Backend.free_bytes`."""

    def upload(self, limbs: "np.ndarray[Any, Any]") -> Buffer:
        """Limbs of the host as a buffer, perhaps the same memory."""

    def download(self, limbs: Buffer) -> "np.ndarray[Any, Any]":
        """Limbs on the host, perhaps the same memory: one host synchronisation."""

    def zeros(self, shape: tuple[int, ...]) -> Buffer:
        """A buffer of zeros; the last length is the number of limbs."""

    def store(self, target: Buffer, limbs: Buffer) -> None:
        """target[...] = the same integers, for buffers of the same entries of which the target has no fewer limbs."""

    def gather(self, limbs: Buffer, places: "np.ndarray[Any, Any]") -> Buffer:
        """Entries [..., l] of a contiguous buffer, by their places in C order, int64 of any shape on the host."""

    # ---- verbs -----------------------------------------------------------------------------------------------------
    def add(self, left: Buffer, right: Buffer, count: int) -> Buffer:
        """The sums in `count` limbs, which hold them, for buffers of the same entries."""

    def subtract(self, left: Buffer, right: Buffer, count: int) -> Buffer:
        """left - right in `count` limbs, which hold the differences, for buffers of the same entries."""

    def compare(self, left: Buffer, right: Buffer) -> Buffer:
        """The signs of left - right, an int8 array of the device's library, for buffers of the same entries."""

    def bit_lengths(self, limbs: Buffer) -> "np.ndarray[Any, Any]":
        """For each entry the least b with a magnitude below 2**b, int64 on the host: one host synchronisation."""

    def most_bits(self, limbs: Buffer) -> int:
        """The largest of `bit_lengths`, 0 for none: one host synchronisation."""

    def product_bytes(self, rows: int, columns: int, depth: int, base: ResidueBase, engine: Engine) -> int:
        """Workspace that `product` needs for so many rows and columns."""

    def product(self, left: Buffer, right: Buffer, count: int, base: ResidueBase, engine: Engine) -> Buffer:
        """Limbs [R, C, count] of left @ right.T for limbs [R, K, l] and [C, K, m]; sums are at most M / 4."""

    def scale(self, limbs: Buffer, shifts: Shifts, count: int) -> Buffer:
        """RN(x * 2**shift) in `count` limbs.

        There is one shift, or an array of one for each entry, or a pair of arrays for the rows and the columns of a
        matrix, whose entry [i, j] is shifted by rows[i] + columns[j].
        """

    def round_leading(self, limbs: Buffer, precision: int) -> Buffer:
        """Each entry rounded to so many significant bits, to nearest, ties to even, in as many limbs, which hold it."""

    def largest(self, limbs: Buffer, order: "Sequence[int] | np.ndarray[Any, Any]") -> tuple[int, int]:
        """Of limbs [n, l]: the first k for which place order[k] has the largest magnitude, and the integer there.

        One host synchronisation.
        """

    def divide(self, limbs: Buffer, divisor: int, count: int) -> Buffer:
        """RN(x / divisor) in `count` limbs, for limbs [n, l] of magnitudes up to 2**(64 count - 2) |divisor|."""

    def substitute(self, lower: Buffer, divisors: Sequence[int] | None, precision: int, sums: Buffer) -> Buffer:
        """Unknowns, limbs [n, c, m], of a triangular system of few, entry by entry.

        x_i = RN((s_i - sum over k < i of L_ik x_k) / d_i), with d_i = 2**precision where there are no divisors, for
        limbs [n, n, l] of L, of which entries left of the diagonal are read, and [n, c, l] of s.
        """

    def elimination_bytes(self, rows: int, columns: int, base: ResidueBase, engine: Engine) -> int:
        """Memory that an elimination holds."""

    def elimination(self, matrix: Buffer, precision: int, base: ResidueBase, engine: Engine) -> Elimination:
        """Begin with the factors of a matrix, limbs [n, columns, l] in units of 2**-precision; sums are at most M / 4.

        Columns past the n-th are right-hand sides: U has them too.
        """
