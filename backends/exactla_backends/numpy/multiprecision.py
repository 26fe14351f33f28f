"""The reference `Multiprecision`: residues by tables, everything else in Python integers."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any

import numpy as np

from exactla.backend import ComponentProducts, Elimination, Engine, Shifts
from exactla.core import expansions
from exactla.core.expansions import Expansions
from exactla.core.limb_entries import bit_lengths, longest, magnitudes
from exactla.core.limbs import (
    Limbs,
    added,
    compared,
    extended,
    from_limbs,
    resized,
    shifted_up,
    signs,
    subtracted,
    to_limbs,
)
from exactla.core.moduli import ResidueBase
from exactla.core.nearest import nearest_quotient, nearest_scaled
from exactla.core.stepwise import Stepwise
from exactla.core.triangles import unknowns
from exactla_backends.host_memory import free_bytes
from exactla_backends.numpy import engines, wide_tables
from exactla_backends.numpy.elimination import HostElimination


class HostMultiprecision:
    """See `exactla.backend.Multiprecision`: each method has its postcondition there."""

    name = "numpy"
    engines: tuple[Engine, ...] = engines.ENGINES
    expansions: Expansions = expansions
    component_products: ComponentProducts | None = None
    elimination_limit = 0

    def few_unknowns(self, limbs: int) -> int:
        return 128

    def engine_is_exact(self, engine: Engine, modulus_limit: int) -> bool:
        return engines.is_exact(engine, modulus_limit)

    def scope(self, limbs: Limbs) -> AbstractContextManager[None]:
        return nullcontext()

    def free_bytes(self) -> int:
        return free_bytes()

    def upload(self, limbs: Limbs) -> Limbs:
        return limbs

    def download(self, limbs: Limbs) -> Limbs:
        return limbs

    def zeros(self, shape: tuple[int, ...]) -> Limbs:
        return np.zeros(shape, np.uint64)

    def store(self, target: Limbs, limbs: Limbs) -> None:
        count = limbs.shape[-1]
        target[..., :count] = limbs
        target[..., count:] = signs(limbs)[..., None]

    def gather(self, limbs: Limbs, places: "np.ndarray[Any, Any]") -> Limbs:
        return np.ascontiguousarray(limbs.reshape(prod(limbs.shape[:-1]), limbs.shape[-1])[places])

    def add(self, left: Limbs, right: Limbs, count: int) -> Limbs:
        return added(resized(left, count), resized(right, count))

    def subtract(self, left: Limbs, right: Limbs, count: int) -> Limbs:
        return subtracted(resized(left, count), resized(right, count))

    def compare(self, left: Limbs, right: Limbs) -> "np.ndarray[Any, Any]":
        count = max(left.shape[-1], right.shape[-1])
        return compared(extended(left, count), extended(right, count))

    def bit_lengths(self, limbs: Limbs) -> "np.ndarray[Any, Any]":
        shape = limbs.shape[:-1]
        return bit_lengths(magnitudes(limbs.reshape(-1, limbs.shape[-1]))[0]).reshape(shape)

    def most_bits(self, limbs: Limbs) -> int:
        return longest(limbs)

    def product_bytes(self, rows: int, columns: int, depth: int, base: ResidueBase, engine: Engine) -> int:
        moduli = len(base.moduli)
        planes = 8 * moduli * (2 * (rows + columns) * depth + 3 * rows * columns)
        return planes + wide_tables.work_bytes(max(rows * depth, columns * depth, rows * columns), base)

    def product(self, left: Limbs, right: Limbs, count: int, base: ResidueBase, engine: Engine) -> Limbs:
        rows, columns = len(left), len(right)
        if 0 in (rows, columns, left.shape[1]):
            return np.zeros((rows, columns, count), np.uint64)
        sides = [self._planes(x, base, engine) for x in (left, right)]
        planes = engines.multiply([(1, *sides)], ([0], [0]), base, engine)
        return wide_tables.to_limbs(planes.reshape(len(planes), -1), base, count).reshape(rows, columns, count)

    def _planes(self, limbs: Limbs, base: ResidueBase, engine: Engine) -> Any:
        residues = wide_tables.to_residues(limbs.reshape(-1, limbs.shape[-1]), base)
        return residues.astype(engines.DTYPES[engine.name], copy=False).reshape(-1, 1, *limbs.shape[:2])

    def scale(self, limbs: Limbs, shifts: Shifts, count: int) -> Limbs:
        shifts = np.add.outer(*shifts) if isinstance(shifts, tuple) else shifts
        if isinstance(shifts, int) and shifts >= 0:
            return shifted_up(resized(limbs, count), shifts, count)
        integers = from_limbs(limbs)
        found = np.empty(integers.shape, object)
        by = np.broadcast_to(np.asarray(shifts, np.int64), integers.shape)
        found.flat[:] = [nearest_scaled(int(x), int(s)) for x, s in zip(integers.flat, by.flat, strict=True)]
        return to_limbs(found, count)

    def round_leading(self, limbs: Limbs, precision: int) -> Limbs:
        return to_limbs(_mapped(lambda x: _leading(x, precision), limbs), limbs.shape[-1])

    def largest(self, limbs: Limbs, order: "Sequence[int] | np.ndarray[Any, Any]") -> tuple[int, int]:
        integers = from_limbs(limbs[np.asarray(order, np.int64)]).tolist()
        magnitudes = [abs(x) for x in integers]
        place = magnitudes.index(max(magnitudes))
        return place, integers[place]

    def divide(self, limbs: Limbs, divisor: int, count: int) -> Limbs:
        return to_limbs(_mapped(lambda x: nearest_quotient(x, divisor), limbs), count)

    def substitute(self, lower: Limbs, divisors: Sequence[int] | None, precision: int, sums: Limbs) -> Limbs:
        return unknowns(lower, divisors, precision, sums)

    def elimination_bytes(self, rows: int, columns: int, base: ResidueBase, engine: Engine) -> int:
        size = np.dtype(engines.DTYPES[engine.name]).itemsize
        planes = size * len(base.moduli) * (rows * rows + rows * columns)
        return planes + wide_tables.work_bytes(rows + columns, base)

    def elimination(self, matrix: Limbs, precision: int, base: ResidueBase, engine: Engine) -> Elimination:
        return Stepwise(self, HostElimination(matrix, precision, base, engine), precision)


def _mapped(function: Callable[[int], int], limbs: Limbs) -> "np.ndarray[Any, Any]":
    """A function of each integer, as objects."""
    integers = from_limbs(limbs)
    found = np.empty(integers.shape, object)
    found.flat[:] = [function(int(x)) for x in integers.flat]
    return found


def _leading(x: int, precision: int) -> int:
    """An integer rounded to so many significant bits."""
    dropped = max(x.bit_length() - precision, 0)
    return nearest_scaled(x, -dropped) << dropped
