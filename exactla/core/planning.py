"""Plans of a product: engine, moduli and blocks. Whatever is chosen here cannot be seen in a result."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import NamedTuple

from exactla.backend import Backend, Engine, Multiprecision, Tile
from exactla.core.moduli import OCTET_LIMIT, ResidueBase, residue_base
from exactla.errors import BackendUnavailable, EngineLimitError, WorkspaceError

FREE_SHARE = 4
"""The default workspace is the free memory divided by this."""

SMALL = 1 << 26
"""Bytes of workspace that are taken for granted: asking for the free memory takes longer than a small product."""


class ModulusLimits(NamedTuple):
    """Which of the moduli of an engine are wanted, by their limits."""

    least: int = 0
    most: int | None = None

    def hold(self, limit: int) -> bool:
        """Whether moduli up to a limit are among them."""
        return self.least <= limit and (self.most is None or limit <= self.most)


ANY_MODULI = ModulusLimits()
OCTETS, LONGER = ModulusLimits(most=OCTET_LIMIT), ModulusLimits(least=OCTET_LIMIT + 1)


@dataclass(frozen=True)
class Arithmetic:
    """An engine of a backend with a residue base that determines integers of the given number of bits."""

    engine: Engine
    base: ResidueBase
    bits: int


@dataclass(frozen=True)
class Block:
    """A block of results, and the part of the pairs that it needs."""

    pairs: slice
    rows: slice
    columns: slice


@dataclass(frozen=True)
class Tiling:
    """Blocks of the results and steps of the inner dimension, with the workspace that one of them takes."""

    shape: tuple[int, int, int]
    tile: Tile
    workspace_bytes: int

    @property
    def passes(self) -> int:
        """Number of blocks."""
        tile = self.tile.pairs, self.tile.rows, self.tile.columns
        return prod(-(-length // max(step, 1)) for length, step in zip(self.shape, tile, strict=True))

    def size(self, block: Block) -> int:
        """Number of results in a block."""
        sides = (block.pairs, block.rows, block.columns)
        return prod(side.stop - side.start for side in sides)

    def blocks(self) -> Iterator[Block]:
        """The blocks, rows running fastest so that the columns' residues are used again."""
        pairs, rows, columns = self.shape
        for p in _steps(pairs, self.tile.pairs):
            for c in _steps(columns, self.tile.columns):
                for r in _steps(rows, self.tile.rows):
                    yield Block(p, r, c)

    def depths(self, depth: int) -> list[slice]:
        """The steps of the inner dimension."""
        return list(_steps(depth, self.tile.depth))


def _steps(length: int, step: int) -> Iterator[slice]:
    for start in range(0, length, max(step, 1)):
        yield slice(start, min(start + step, length))


def sum_bits(left: int, right: int, terms: int) -> int:
    """Bits of a sum of `terms` products of integers below 2**left and 2**right in magnitude."""
    return left + right + max(terms - 1, 0).bit_length()


def arithmetic(
    backend: Backend | Multiprecision, bits: int, forced: str | None, limits: ModulusLimits = ANY_MODULI
) -> Arithmetic:
    """An engine, checked, and the shortest base of its smallest moduli that determines integers below 2**bits.

    Raises
    ------
    BackendUnavailable
        The forced engine is unknown to the backend.
    EngineLimitError
        Its moduli cannot hold so many bits.
    """
    engines = {e.name: e for e in backend.engines}
    if forced is not None and forced not in engines:
        raise BackendUnavailable(
            f"backend {backend.name!r} has no engine {forced!r}; it has {', '.join(engines) or 'none'}"
        )
    for engine in engines.values() if forced is None else (engines[forced],):
        for limit in filter(limits.hold, engine.modulus_limits):
            base = residue_base(limit, bits)
            if base is not None:
                _check_engine(backend.engine_is_exact, backend.name, engine, limit)
                return Arithmetic(engine, base, bits)
    raise EngineLimitError(
        f"engine {forced or 'of any kind'!r} of backend {backend.name!r} has no moduli for {bits} bits"
    )


@lru_cache(maxsize=64)
def _check_engine(is_exact: Callable[[Engine, int], bool], backend: str, engine: Engine, limit: int) -> None:
    """Refuse an engine that is wrong on residues at the bound, summed over the longest inner product it claims.

    Raises
    ------
    BackendUnavailable
        A product of extreme residues came out wrong.
    """
    if not is_exact(engine, limit):
        raise BackendUnavailable(
            f"engine {engine.name!r} of backend {backend!r} multiplies residues up to {limit // 2} wrongly here"
        )


def tiling(
    tile: Tile,
    stacks: Callable[[int], tuple[int, int]],
    needed: Callable[[Tile], int],
    free: Callable[[], int],
    limit: int | None,
) -> Tiling:
    """The largest blocks whose workspace, `needed`, stays within the limit.

    Parameters
    ----------
    tile : Tile
        The whole product as one block.
    stacks : callable
        How many matrices of either side so many pairs take at most.
    needed : callable
        Bytes of workspace for blocks of a size.
    free : callable
        Bytes of memory that can be taken now, of which a share is the limit where there is none.
    limit : int, optional
        Bytes.

    Raises
    ------
    WorkspaceError
        Not even one entry at a time fits.
    """
    shape = (tile.pairs, tile.rows, tile.columns)
    if 0 in shape:
        return Tiling(shape, tile, 0)
    workspace = needed(tile)
    if limit is None and workspace <= SMALL:
        return Tiling(shape, tile, workspace)
    allowed = free() // FREE_SHARE if limit is None else limit
    while workspace > allowed:
        smaller = _halve(tile, stacks)
        if smaller == tile:
            raise WorkspaceError(workspace, allowed)
        tile, workspace = smaller, needed(smaller)
    return Tiling(shape, tile, workspace)


def _halve(tile: Tile, stacks: Callable[[int], tuple[int, int]]) -> Tile:
    """Half of the tile: fewer pairs first, then the longer side, the inner dimension where that is longest by far."""
    if tile.pairs > 1:
        pairs = (tile.pairs + 1) // 2
        left, right = stacks(pairs)
        return tile._replace(pairs=pairs, left_stacks=left, right_stacks=right)
    rows, columns, depth = tile.rows, tile.columns, tile.depth
    if depth > 64 * max(rows, columns) or (rows == columns == 1 and depth > 1):
        return tile._replace(depth=(depth + 1) // 2)
    if rows >= columns:
        return tile._replace(rows=(rows + 1) // 2)
    return tile._replace(columns=(columns + 1) // 2)
