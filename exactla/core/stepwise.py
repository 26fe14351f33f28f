"""An `Elimination` out of one that finds a column or a row at a time."""

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Buffer, Multiprecision, Pivots, StepwiseElimination
from exactla.core.nearest import nearest_scaled


class Stepwise:
    """See `exactla.backend.Elimination`: each method has its postcondition there.

    Entries are rounded by the verbs of the backend, and the host chooses the pivots: it waits once for each column.
    """

    def __init__(self, verbs: Multiprecision, steps: StepwiseElimination, precision: int) -> None:
        self._verbs, self._steps, self._precision = verbs, steps, precision
        self.seconds: dict[str, float] = {}

    def columns(self, start: int, stop: int, lower: Buffer, upper: Buffer) -> Pivots:
        verbs, steps = self._verbs, self._steps
        order = np.arange(lower.shape[0])
        exchanges = 0
        pivots: list[int] = []
        steps.open_columns(start, stop)
        for k, j in enumerate(range(start, stop)):
            sums = steps.column(j)
            place, value = verbs.largest(sums, order[k:])
            pivot = nearest_scaled(value, -self._precision)
            if pivot == 0:
                return Pivots(order, exchanges, pivots, value)
            pivots.append(pivot)
            order[[k, k + place]] = order[[k + place, k]]
            exchanges += place > 0
            column = verbs.divide(sums, pivot, lower.shape[-1])
            steps.put_column(j, int(order[k]), column)
            verbs.store(lower[:, k], column)
            if j + 1 < stop:
                self._put_row(j, upper[k, j + 1 : stop], j + 1, steps.rest_of_row(j))
        return Pivots(order, exchanges, pivots, None)

    def rows(self, start: int, stop: int, upper: Buffer) -> None:
        if stop == upper.shape[1]:
            return
        self._steps.open_rows(start, stop)
        for k, i in enumerate(range(start, stop)):
            self._put_row(i, upper[k, stop:], stop, self._steps.row(i))

    def _put_row(self, i: int, target: Buffer, first: int, sums: Buffer) -> None:
        row = self._verbs.scale(sums, -self._precision, target.shape[-1])
        self._steps.put_row(i, first, row)
        self._verbs.store(target, row)

    def put(self, start: int, stop: int, lower: Buffer, upper: Buffer) -> None:
        steps = self._steps
        steps.open_columns(start, stop)
        for k, j in enumerate(range(start, stop)):
            steps.put_column(j, k, lower[:, k])
        steps.exchange(start, np.arange(lower.shape[0]))
        for k, i in enumerate(range(start, stop)):
            steps.put_row(i, i + 1, upper[k, i + 1 :])
        steps.close()

    def exchange(self, start: int, order: NDArray[np.int64]) -> None:
        self._steps.exchange(start, order)

    def close(self) -> None:
        self._steps.close()
