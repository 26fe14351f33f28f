"""Runs a contraction block by block and rounds its sums into results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from exactla.backend import Backend, Buffer, Tile
from exactla.core.contraction import Contraction
from exactla.core.planning import Block, Tiling, tiling
from exactla.formats import FloatFormat
from exactla.results import Rounding

Correction = Callable[[Block, Tiling, list[Buffer]], list[Buffer]]
"""Changes a block's group planes before they are rounded."""


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
    progress: Callable[[int, int], object] | None = None,
) -> list[Buffer]:
    """Encodings [T, R, C] of 2**(row + column + shift) times each output, a buffer for each of its roundings.

    `special` counts non-finite terms, three groups for each output (`core.nonfinite`).
    """
    backend, base = contraction.backend, contraction.arithmetic.base
    passes = blocks.passes
    whole = passes == 1  # the rounded block is the result
    results = [[] if whole else [backend.allocate(blocks.shape, format) for _ in o.roundings] for o in outputs]
    for done, block in enumerate(blocks.blocks(), 1):
        planes = contraction.planes(block, blocks)
        if correction is not None:
            planes = correction(block, blocks, planes)
        counts = special.planes(block, blocks) if special is not None else []
        exponents = contraction.exponents(block, shift)
        for number, (output, buffers) in enumerate(zip(outputs, results, strict=True)):
            total = _sum(backend, output, planes, contraction)
            encodings = backend.round(total, base, exponents, format, output.roundings)
            if special is not None:
                marks = (counts[3 * number], counts[3 * number + 1], counts[3 * number + 2])
                for rounded in encodings:
                    backend.mark(rounded, marks, special.arithmetic.base, format)
            if whole:
                buffers.extend(encodings)
                continue
            for buffer, rounded in zip(buffers, encodings, strict=True):
                backend.store(buffer, (block.pairs, block.rows, block.columns), rounded)
        if progress is not None:
            progress(done, passes)
    return [buffer for buffers in results for buffer in buffers]


def _sum(backend: Backend, output: Output, planes: list[Buffer], contraction: Contraction) -> Buffer:
    if output.terms == ((1, output.terms[0][1]),):
        return planes[output.terms[0][1]]
    return backend.combine([(sign, planes[group]) for sign, group in output.terms], contraction.arithmetic.base)
