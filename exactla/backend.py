"""The contract between the algorithms and a device: the `Backend` protocol, on one screen.

What they hand to each other is in `exactla.operands`, verbs for integers of many limbs are in `exactla.long_integers`.

A backend is memory and verbs. The algorithms in `exactla.core` are written in these verbs alone and never look inside
a `Buffer`. All postconditions are in integers; every verb is exact, so no two backends can differ in a byte.

Shapes: S stacked matrices of R rows and inner dimension K (both operands of a product are held by rows, so the right
one is the transpose of what the caller wrote); T pairs of matrices, giving T results of R rows and C columns; P moduli.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from exactla.core.moduli import ResidueBase
from exactla.formats import FloatFormat
from exactla.long_integers import ComponentProducts, Elimination, Multiprecision, Pivots, Shifts, StepwiseElimination
from exactla.operands import Buffer, Engine, IntervalPieces, Operand, Pairs, Scanned, SpecialPieces, Tile
from exactla.results import Rounding

if TYPE_CHECKING:
    import numpy as np

    from exactla.core.integers import IntegerMatrix
    from exactla.core.reconstruction import Halving
    from exactla.libraries.base import Source

__all__ = [
    "Backend",
    "Buffer",
    "ComponentProducts",
    "Direct",
    "Elimination",
    "Engine",
    "Expansion",
    "IntervalPieces",
    "Lifting",
    "Minor",
    "Multiprecision",
    "Numbers",
    "Operand",
    "Pairs",
    "Pivots",
    "Scanned",
    "Settling",
    "Shifts",
    "SpecialPieces",
    "StepwiseElimination",
    "Tile",
]


class Minor(NamedTuple):
    """A largest minor of a matrix that is not 0 modulo a prime, with its rows and columns in this order; 1 for none."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]  # the first columns that are linearly independent, ascending
    value: int


class Lifting(Protocol):
    """A square integer matrix A with its inverse modulo primes: what p-adic solving of A x = b takes its steps with.

    Integers are on the host, int64 or Python integers as objects.
    """

    @property
    def base(self) -> ResidueBase:
        """The primes that do not divide det A."""

    @property
    def determinants(self) -> tuple[int, ...]:
        """det A modulo each of the primes that were given."""

    def lift(
        self, residual: "np.ndarray[Any, Any]", steps: int
    ) -> tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]:
        """Digits x, uint16 [steps, c, n, w], and r' [n, c]: A @ sum_i P**i x[i].T + P**steps r' = r, P = base.product.

        A digit is an integer of magnitude below P, in two's complement, the lowest 16 bits first.
        """

    def expand(self, right_side: "np.ndarray[Any, Any]", weights: "np.ndarray[Any, Any]") -> "Expansion":
        """The expansion of A**-1 b, so far of no digits, for b [n, c]; weights below 2**14 of its entries, [c n]."""


class Expansion(Protocol):
    """Digits x_i, as of `Lifting.lift`, of a solution A**-1 b = sum_i P**i x_i; entries count column by column."""

    def lift(self, steps: int) -> None:
        """Make so many more digits; a call that takes longer than a fraction of a second can be interrupted."""

    def combinations(self) -> list[int]:
        """For each step so far the sum of its digits times the weights of the entries; waits for a device."""

    def leading(self, count: int, steps: int) -> list[list[int]]:
        """The digits of each of the first entries, for so many steps."""

    def multiply(self, weights: Sequence[int], modulus: int) -> "Numbers":
        """For each entry sum_i weights[i] * x_i modulo a modulus, for the first steps.

        Weights are w P**i modulo the modulus, in [0, modulus). Sums of magnitude below modulus / 4 are centred.
        """


class Numbers(Protocol):
    """Long integers."""

    @property
    def bits(self) -> int:
        """The least b such that all are below 2**b in magnitude, or one more."""

    def integers(self) -> list[int]:
        """The numbers, as Python's."""


class Direct(Protocol):
    """A whole product whose calls would take longer than its work."""

    def __call__(
        self,
        left: "Source",
        right: "Source",
        transposed: bool,
        format: FloatFormat,
        roundings: Sequence[Rounding],
        *,
        checks: bool = True,
    ) -> Sequence[Buffer] | None:
        """Encodings of left @ right, or left @ right.T, for each rounding; None for the general path.

        Without `checks` nobody asks for the second look at the operands, which `total` is for.
        """


class Settling(Protocol):
    """Sums that leading bits decide where they can, and exact ones elsewhere; see core.settling."""

    settled_bits: int  # of the longest sums that can be made exactly

    def round_settled(
        self,
        planes: Buffer,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        exact: tuple[Operand, Operand],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[tuple[Buffer, ...], Buffer]:
        """Encodings of the sums of products of `exact`, and a count of results that were left.

        The planes and exponents are of the operands' leading bits, which decide most results; what they do not decide
        is summed exactly, unless it is too much. Operands are of float formats.
        """


class Backend(Protocol):
    """A device, as the algorithms see it."""

    name: str
    engines: tuple[Engine, ...]  # the preferred one first
    leading_bits: int  # bits of a row that the plan for wide operands keeps, see core.truncation

    @property
    def direct(self) -> Direct | None:
        """A shortcut for small products, where there is one."""

    @property
    def settling(self) -> Settling | None:
        """How results that leading bits leave in doubt are decided on the device; without it they have all bits."""

    @property
    def halving(self) -> "Halving":
        """How the Euclidean algorithm runs on numbers of some words; see core.reconstruction."""

    @property
    def least_lifting(self) -> int:
        """Sides of square systems from which lifting is faster than Cramer's rule modulo primes."""

    @property
    def most_searched(self) -> int:
        """Sides of square systems up to which a short solution is looked for first, by Cramer's rule modulo a prime.

        That takes a small part of the time of a long solution there; 0 where it never does.
        """

    @property
    def prime_limits(self) -> tuple[int, ...]:
        """Upper limits of the primes of a lifting, the preferred one first."""

    @property
    def multiprecision(self) -> Multiprecision:
        """Verbs for integers of many limbs."""

    # ---- memory ----------------------------------------------------------------------------------------------------
    def scope(self, like: "Source") -> AbstractContextManager[None]:
        """Enter the device and stream of the caller's array."""

    def view(self, source: "Source", *, part: Literal["real", "imag"], transpose: bool) -> Operand:
        """The caller's entries, not copied. A repeated matrix (stride 0) may be given once: [1, R, K]."""

    def block(self, operand: Operand, stacks: slice, rows: slice, depth: slice) -> Operand:
        """A part of an operand and of its exponents, not copied."""

    def repeat(self, operand: Operand, stacks: int) -> Operand:
        """An operand of one matrix as a stack of it, not copied."""

    def gather(self, operand: Operand, rows: Sequence[tuple[int, int]]) -> Operand:
        """The given (stack, row) as a stack of matrices of one row, copied."""

    def scatter(self, encodings: Buffer, places: Sequence[tuple[int, int, int]], values: Buffer) -> None:
        """encodings[places[n]] = values[n, 0, 0]."""

    def allocate(self, shape: tuple[int, int, int], format: FloatFormat) -> Buffer:
        """A result of encodings [T, R, C], uninitialised."""

    def store(self, result: Buffer, tile: tuple[slice, slice, slice], encodings: Buffer) -> None:
        """result[tile] = encodings."""

    def restore(self, parts: Sequence[Buffer], format: FloatFormat, shape: tuple[int, ...], like: "Source") -> Any:
        """A result, of one part or of a real and an imaginary one, as an array like the caller's."""

    def total(self, counts: Sequence[Buffer]) -> int:
        """The sum of the counts: one host synchronisation."""

    def free_bytes(self) -> int:
        """Bytes of memory that can be taken now."""

    def solving_bytes(self) -> int:
        """Bytes that can be taken now of the memory where systems are solved, the least of them where it is several."""

    def tile_bytes(self, tile: Tile, pieces: int, groups: int, base: ResidueBase, engine: Engine) -> int:
        """Workspace that a tile of a product of `pieces` operands a side, summed into `groups` results, needs."""

    def engine_is_exact(self, engine: Engine, modulus_limit: int) -> bool:
        """Whether the longest product of residues at the bound, of equal and of opposite signs, comes out right."""

    # ---- verbs -----------------------------------------------------------------------------------------------------
    def scan(self, sides: Sequence[Sequence[Operand]]) -> list[Scanned]:
        """Find each side's exponents and bits, non-finite entries counting as 0: one host synchronisation in all."""

    def first_nonfinite(self, operand: Operand) -> int:
        """Position in C order of the first NaN or infinity, -1 where there is none."""

    def first_invalid_interval(self, first: Operand, second: Operand, *, endpoints: bool) -> int:
        """Position in C order of the first entry with first > second, or second < 0 where not `endpoints`; or -1."""

    def residues(self, operand: Operand, base: ResidueBase, engine: Engine) -> tuple[Buffer, Buffer]:
        """Planes [P, S, R, K] congruent to entry / 2**exponent, centred; and a count of entries that break the scan.

        An entry breaks it where it is 2**(exponent + bits) or more, where it is no integer of that unit unless the
        operand is truncated, or where it is not finite and the operand was. Moduli are 3 or more.
        """

    def multiply(
        self, terms: Sequence[tuple[int, Buffer, Buffer]], pairs: Pairs, base: ResidueBase, engine: Engine
    ) -> Buffer:
        """Planes [P, T, R, C] congruent to the sum over terms (sign, a, b) of sign * a[i] @ b[j].T, centred."""

    def combine(self, terms: Sequence[tuple[int, Buffer]], base: ResidueBase) -> Buffer:
        """Planes congruent to the sum over terms (sign, planes) of sign * planes, centred."""

    def minors(self, matrix: "np.ndarray[Any, Any]", primes: Sequence[int]) -> list[Minor]:
        """A largest minor of an integer matrix of the host modulo each of some primes below 2**22."""

    def minor_limits(self, shape: tuple[int, int]) -> tuple[int, ...]:
        """Upper limits of primes whose minors show the rank of a matrix of that shape, the preferred one first.

        As many primes are taken as for a lifting; at the last limit, which is 2**22, one by one.
        """

    def cramer(
        self, matrix: "np.ndarray[Any, Any]", right_side: "np.ndarray[Any, Any]", primes: Sequence[int]
    ) -> tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]:
        """D = det A as int64 [P] and D A**-1 b as uint32 [P, c, n], both modulo odd primes below 2**28.

        A and b are small and on the host, int64 [n, n] and [n, c]. Where D is 0 modulo a prime, numerators say nothing.
        """

    def prime_count(self, size: int, limit: int) -> int:
        """How many primes below a limit make the fastest lifting of a matrix of that size."""

    def lifting_bytes(self, size: int, count: int) -> int:
        """Workspace of a lifting of a matrix of that size modulo so many primes, without its digits."""

    def lifting(self, matrix: "IntegerMatrix", primes: ResidueBase) -> Lifting:
        """The inverse of an integer matrix [n, n] of the host, modulo those of the primes that allow one.

        A device may still be at work when the call returns, until somebody asks for the base.
        """

    def integers(self, planes: Buffer, base: ResidueBase) -> "np.ndarray[Any, Any]":
        """The integers |s| <= M / 4 with these residues, on the host: int64 where all fit, else Python integers."""

    def round(
        self,
        planes: Buffer,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[Buffer, ...]:
        """Encodings of s * 2**(left row's + right row's + common exponent), rounded once, for each rounding."""

    def truncate(self, operand: Operand, bits: int) -> Operand:
        """The operand with exponents raised to top - bits at least, so that rows keep their leading bits.

        Residues of it are of integers that differ from entry / 2**exponent by less than 1, of magnitude up to 2**bits.
        """

    def round_certified(
        self,
        planes: Buffer,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        slack: int,
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[tuple[Buffer, ...], Sequence[tuple[int, int, int]]]:
        """As `round`; and where s - 2**slack and s + 2**slack differ in sign or encodings: one host synchronisation."""

    def interval_pieces(self, first: Operand, second: Operand, *, endpoints: bool) -> IntervalPieces:
        """Pieces of the intervals [first, second], or first -+ second where not `endpoints`; first's exponents."""

    def hull_excess(
        self, left: IntervalPieces, right: IntervalPieces, pairs: Pairs, base: ResidueBase
    ) -> tuple[Buffer, Buffer]:
        """Planes of what the sharp product's lower and upper ends exceed the hull by, summed over k."""

    def special_pieces(self, operand: Operand) -> SpecialPieces:
        """Classes of the entries, with exponents 0."""

    def mark(
        self, encodings: Buffer, special: tuple[Buffer, Buffer, Buffer], base: ResidueBase, format: FloatFormat
    ) -> None:
        """Overwrite encodings where the planes of `special` = (signed, count, invalid) say so, in place.

        NaN where invalid > 0 or |signed| < count; else the infinity of the sign of `signed` where count > 0.
        """
