"""Products of matrices of limbs, in blocks of rows that fit the memory."""

from collections.abc import Iterator
from dataclasses import dataclass

from exactla import settings
from exactla.backend import Buffer, Multiprecision
from exactla.core.limbs import LIMB
from exactla.core.planning import Arithmetic, arithmetic, sum_bits
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
        """
        rows, depth, _ = left.shape
        columns = right.shape[0]
        bits = sum_bits(self.home.most_bits(left), self.home.most_bits(right), depth) + 1
        plan = arithmetic(self.verbs, bits, settings.forced_engine.get())
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

    def _store(self, target: Buffer, left: Buffer, right: Buffer, precision: int | None, plan: Arithmetic) -> None:
        product = self.verbs.product(left, right, target.shape[-1], plan.base, plan.engine)
        if precision is not None:
            product = self.verbs.round_leading(product, precision)
        self.home.store(target, moved(product, self.verbs, self.home))


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
