"""Products of matrices of limbs, in blocks of rows that fit the memory, of operands that are whole or cut in slices."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from exactla import settings
from exactla.backend import Buffer, Multiprecision
from exactla.core.limbs import LIMB
from exactla.core.planning import ANY_MODULI, LONGER, OCTETS, Arithmetic, ModulusLimits, arithmetic, sum_bits
from exactla.errors import WorkspaceError
from exactla.multiprecision.limits import allowed_bytes
from exactla.multiprecision.places import moved
from exactla.results import Info

MOST_WORK = 1 << 38
"""Products of octets in a block, after which a call can be interrupted."""


@dataclass(frozen=True)
class Multiplication:
    """Products by `verbs` of limbs that live, and whose products are to live, where `home` has its buffers."""

    verbs: Multiprecision
    home: Multiprecision

    def product(self, left: Buffer, right: Buffer, precision: int | None = None) -> tuple[Buffer, Info]:
        """Limbs [R, C, count] of left @ right.T for limbs [R, K, l] and [C, K, m], and an account.

        Exact, or rounded to so many significant bits, to nearest, ties to even.

        Raises
        ------
        WorkspaceError
            Not even one row at a time fits the workspace limit.
        EngineLimitError
            The forced engine, or moduli of 8 bits where slices are forced, hold no sums of so many bits.
        """
        slices = settings.slice_count.get() or 1
        return self._whole(left, right, precision) if slices == 1 else self._sliced(left, right, precision, slices)

    def _whole(self, left: Buffer, right: Buffer, precision: int | None) -> tuple[Buffer, Info]:
        rows, depth, _ = left.shape
        columns = right.shape[0]
        bits = sum_bits(self.home.most_bits(left), self.home.most_bits(right), depth) + 1
        plan = arithmetic(self.verbs, bits, settings.forced_engine.get(), wanted_moduli())
        found = self.home.zeros((rows, columns, (bits + 2) // LIMB + 1))
        step, needed = rows_at_a_time(self.verbs, (rows, columns, depth), plan)
        turned = moved(right, self.home, self.verbs)
        for block in blocks_of_rows(rows, step):
            self._store(found[block], moved(left[block], self.home, self.verbs), turned, precision, plan)
        passes = -(-rows // step)
        info = Info(
            backend=self.verbs.name,
            engine=plan.engine.name,
            moduli=len(plan.base.moduli),
            bits=bits,
            capacity=plan.base.capacity,
            passes=passes,
            lossless=True,
            host_syncs=2 + (passes if self.verbs is not self.home else 0),
            workspace_bytes=needed,
        )
        return found, info

    def _sliced(self, left: Buffer, right: Buffer, precision: int | None, slices: int) -> tuple[Buffer, Info]:
        """The sum over pairs of slices x_i of the left operand and y_j of the right one of 2**(i u + j v) x_i y_j^T."""
        home, (rows, depth, _), columns = self.home, left.shape, right.shape[0]
        (parts, u), (more, v) = (_cut(home, x, slices) for x in (left, right))
        bits = sum_bits(home.most_bits(left), home.most_bits(right), depth) + 1
        # sums of some pairs may be longer than that of all: slices have signs of their own
        count = (bits + 2 * slices.bit_length()) // LIMB + 1
        total, infos = home.zeros((rows, columns, count)), []
        for i, x in enumerate(parts):
            for j, y in enumerate(more):
                product, info = self._whole(x, y, None)
                total = home.add(total, home.scale(product, i * u + j * v, count), count)
                infos.append(info)
        if precision is not None:
            total = home.round_leading(total, precision)
        info = replace(
            infos[0],
            moduli=sum(x.moduli for x in infos),
            bits=bits,
            capacity=min(x.capacity for x in infos),
            passes=sum(x.passes for x in infos),
            host_syncs=sum(x.host_syncs for x in infos),
            workspace_bytes=max(x.workspace_bytes for x in infos),
            slices=slices,
        )
        return total, info

    def _store(self, target: Buffer, left: Buffer, right: Buffer, precision: int | None, plan: Arithmetic) -> None:
        product = self.verbs.product(left, right, target.shape[-1], plan.base, plan.engine)
        if precision is not None:
            product = self.verbs.round_leading(product, precision)
        self.home.store(target, moved(product, self.verbs, self.home))


def wanted_moduli() -> ModulusLimits:
    """The moduli that a number of slices, where one is forced, asks for."""
    slices = settings.slice_count.get()
    if slices is None:
        return ANY_MODULI
    return OCTETS if slices else LONGER


def _cut(verbs: Multiprecision, x: Buffer, slices: int) -> tuple[list[Buffer], int]:
    """Slices x_i, the lowest first, and a width w: x is the sum over i of 2**(i w) x_i, |x_i| <= 2**w."""
    width = -(-verbs.most_bits(x) // slices) + 1
    count = x.shape[-1] + 1
    rest, found = verbs.scale(x, 0, count), []
    for _ in range(slices - 1):
        above = verbs.scale(rest, -width, count)
        found.append(_short(verbs, verbs.subtract(rest, verbs.scale(above, width, count), count), width))
        rest = above
    return [*found, _short(verbs, rest, width)], width


def _short(verbs: Multiprecision, x: Buffer, bits: int) -> Buffer:
    """The same integers, of magnitudes up to 2**bits, in as few limbs."""
    return verbs.scale(x, 0, (bits + 1) // LIMB + 1)


def rows_at_a_time(verbs: Multiprecision, shape: tuple[int, int, int], plan: Arithmetic) -> tuple[int, int]:
    """Rows of a block of a product of so many rows, columns and terms, and the workspace that it takes.

    Raises
    ------
    WorkspaceError
        Not even one row at a time fits the workspace limit.
    """
    rows, columns, depth = shape
    base, engine = plan.base, plan.engine
    allowed = allowed_bytes(verbs)
    per_row = columns * depth * 4 * len(base.moduli) + 1
    step = max(1, min(rows, MOST_WORK // per_row))
    while step > 1 and verbs.product_bytes(step, columns, depth, base, engine) > allowed:
        step = (step + 1) // 2
    needed = verbs.product_bytes(step, columns, depth, base, engine)
    if needed > allowed:
        raise WorkspaceError(needed, allowed)
    return step, needed


def blocks_of_rows(rows: int, step: int) -> Iterator[slice]:
    """The blocks, each of which is reported as progress when it is done."""
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
        report = settings.progress_callback.get()
        if report is not None:
            report(min(start + step, rows), rows)
