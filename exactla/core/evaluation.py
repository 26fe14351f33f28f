"""Runs a contraction block by block and rounds its sums into results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from exactla.backend import Backend, Buffer, Operand, Pairs, Tile
from exactla.core.contraction import Contraction
from exactla.core.planning import Block, Tiling, tiling
from exactla.formats import FloatFormat
from exactla.results import Rounding

Correction = Callable[[Block, Tiling, list[Buffer]], list[Buffer]]
"""Changes a block's group planes before they are rounded."""

Rounder = Callable[[Buffer, Block, tuple[Operand, Operand, Pairs, int], Sequence[Rounding]], Sequence[Buffer]]
"""Encodings of a block's sums, given their planes and exponents."""


@dataclass(frozen=True)
class Output:
    """A result: the sum over (sign, group) of sign * group, rounded in each of the given directions."""

    terms: tuple[tuple[int, int], ...]
    roundings: tuple[Rounding, ...]


def plan(contraction: Contraction, limit: int | None, *, beside: Contraction | None = None) -> Tiling:
    """Blocks for a contraction, and for another of the same shape beside it; see `planning.tiling`."""
    backend = contraction.backend
    both = [contraction] if beside is None else [contraction, beside]

    def needed(tile: Tile) -> int:
        return sum(
            backend.tile_bytes(tile, c.pieces, len(c.groups), c.arithmetic.base, c.arithmetic.engine) for c in both
        )

    return tiling(contraction.tile(), contraction.pairing.stacks, needed, backend.free_bytes, limit)


def evaluate(
    contraction: Contraction,
    outputs: Sequence[Output],
    format: FloatFormat,
    blocks: Tiling,
    *,
    shift: int = 0,
    special: Contraction | None = None,
    correction: Correction | None = None,
    rounding: Rounder | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[Buffer]:
    """Encodings [T, R, C] of 2**(row + column + shift) times each output, a buffer for each of its roundings.

    `special` counts non-finite terms, three groups for each output (`core.nonfinite`); `rounding` takes the place of
    `Backend.round`.
    """
    backend = contraction.backend
    passes = blocks.passes
    whole = passes == 1  # the rounded block is the result
    results = [[] if whole else [backend.allocate(blocks.shape, format) for _ in o.roundings] for o in outputs]

    def rounded(block: Block) -> list[Sequence[Buffer]]:
        """Encodings of a block for each output. Whatever they were made from ends with this call."""
        planes = contraction.planes(block, blocks)
        if correction is not None:
            planes = correction(block, blocks, planes)
        base, exponents = contraction.arithmetic.base, contraction.exponents(block, shift)
        sums = [_sum(backend, output, planes, contraction) for output in outputs]
        found: list[Sequence[Buffer]] = [
            backend.round(total, base, exponents, format, output.roundings)
            if rounding is None
            else rounding(total, block, exponents, output.roundings)
            for total, output in zip(sums, outputs, strict=True)
        ]
        if special is not None:
            _mark(special, block, blocks, found, format)
        return found

    for done, block in enumerate(blocks.blocks(), 1):
        for buffers, encodings in zip(results, rounded(block), strict=True):
            if whole:
                buffers.extend(encodings)
            else:
                for buffer, encoded in zip(buffers, encodings, strict=True):
                    backend.store(buffer, (block.pairs, block.rows, block.columns), encoded)
        if progress is not None:
            progress(done, passes)
    return [buffer for buffers in results for buffer in buffers]


def _mark(
    special: Contraction, block: Block, blocks: Tiling, encodings: Sequence[Sequence[Buffer]], format: FloatFormat
) -> None:
    """Overwrite what non-finite terms decide; `special` has three groups for each output."""
    counts = special.planes(block, blocks)
    for number, directions in enumerate(encodings):
        marks = (counts[3 * number], counts[3 * number + 1], counts[3 * number + 2])
        for encoded in directions:
            special.backend.mark(encoded, marks, special.arithmetic.base, format)


def _sum(backend: Backend, output: Output, planes: list[Buffer], contraction: Contraction) -> Buffer:
    if output.terms == ((1, output.terms[0][1]),):
        return planes[output.terms[0][1]]
    return backend.combine([(sign, planes[group]) for sign, group in output.terms], contraction.arithmetic.base)
