"""Operands that another thread writes to during a call: noticed where an entry no longer fits its scan."""

import numpy as np
import pytest

import exactla as xl
from exactla.errors import OperandChangedError

SHAPE = (2, 3)


def written_to_after_the_scan(monkeypatch, device, array, value):
    """Let the second entry of an array change between its scan and its conversion."""
    scan, view = device.backend.scan, device.backend.view
    views = []

    def remember(source, **options):
        operand = view(source, **options)
        views.append((operand.buffer, source, options))
        return operand

    def seen_again(operand):
        """With the entries that are there now, where they were copied."""
        source, options = next((s, o) for buffer, s, o in views if buffer is operand.buffer)
        return operand._replace(buffer=view(source, **options).buffer)

    def scan_and_write(sides):
        found = scan(sides)
        array[0, 1] = value
        if not device.copies_host_arrays:
            return found
        return [side._replace(operands=tuple(map(seen_again, side.operands))) for side in found]

    monkeypatch.setattr(device.backend, "view", remember)
    monkeypatch.setattr(device.backend, "scan", scan_and_write)


def real():
    a = np.ones(SHAPE)
    # with a report no backend takes a shortcut around the scan that is changed here
    return a, lambda: xl.mm_enclose(a, np.ones((3, 2)), return_info=True)


def right():
    b = np.ones((3, 2))
    return b, lambda: xl.mm(np.ones(SHAPE), b, return_info=True)


def imaginary():
    a = np.ones(SHAPE, complex)
    return a.imag, lambda: xl.mm(a, np.ones((3, 2)))


def beside_infinity():
    a = np.ones(SHAPE)
    a[1, 2] = np.inf
    return a, lambda: xl.mm(a, np.ones((3, 2)), nonfinite="propagate")


def midpoint():
    a = np.ones(SHAPE)
    return a, lambda: xl.mm_interval(a, np.ones(SHAPE), np.ones((3, 2)), np.ones((3, 2)))


def radius():
    a = np.ones((3, 2))
    return a, lambda: xl.mm_interval(np.ones(SHAPE), np.ones(SHAPE), np.ones((3, 2)), a, method="hull")


def lower_end():
    a = np.ones(SHAPE)
    return a, lambda: xl.mm_interval_bounds(a, np.ones(SHAPE), np.ones((3, 2)), np.ones((3, 2)), method="rump")


CALLS = [real, right, imaginary, beside_infinity, midpoint, radius, lower_end]
FINITE = [-(2.0**500), 2.0**-500, 1.5]
# where special entries are propagated, one more is nothing to notice
CHANGES = [(c, v) for c in CALLS for v in FINITE + [np.nan, np.inf] * (c is not beside_infinity)]


@pytest.mark.parametrize(("call", "value"), CHANGES, ids=[f"{c.__name__}-{v:.2g}" for c, v in CHANGES])
def test_a_float_that_changes(monkeypatch, device, call, value):
    array, run = call()
    written_to_after_the_scan(monkeypatch, device, array, value)
    with pytest.raises(OperandChangedError, match="changed during the call"):
        run()


def test_an_integer_that_changes(monkeypatch, device):
    array = np.ones(SHAPE, np.int64)
    written_to_after_the_scan(monkeypatch, device, array, 1 << 40)
    with pytest.raises(OperandChangedError, match=r"^1 "):
        xl.mm_exact(array, np.ones((3, 2), int))


@pytest.mark.parametrize("call", CALLS, ids=lambda c: c.__name__)
def test_operands_at_rest(device, call):
    call()[1]()


@pytest.mark.parametrize("call", [real, midpoint], ids=lambda c: c.__name__)
def test_without_the_check_nothing_is_noticed(monkeypatch, device, call):
    array, run = call()
    written_to_after_the_scan(monkeypatch, device, array, 2.0**500)
    with xl.operand_checks(False):
        run()
