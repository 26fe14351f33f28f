"""The table of devices: every engine tested, missing ones with their reason, failures in the exit code."""

import re

import numpy as np
import pytest

import exactla as xl
from exactla.cli import devices, main
from exactla.registry import BackendStatus


def test_every_engine_passes(capsys):
    assert main(["devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for status in xl.backends():
        mine = [line.split() for line in lines if line.startswith(f"{status.name} ")]
        assert len(mine) == max(len(status.engines), 1)
        for engine in status.engines:
            assert any(engine in words and devices.PASSED in words for words in mine)


def test_the_settings_are_forced(monkeypatch):
    used = []

    def spy():
        used.append((xl.settings.forced_backend.get(), xl.settings.forced_engine.get()))

    monkeypatch.setattr(devices, "product_fault", spy)
    assert main(["devices"]) == 0
    assert used == [(b.name, e) for b in xl.backends() for e in b.engines]


def test_a_missing_backend_is_no_failure(capsys, monkeypatch):
    missing = BackendStatus("abacus", ("wood",), False, "no beads: pip install beads", ())
    monkeypatch.setattr(xl, "backends", lambda: (missing,))
    assert main(["devices"]) == 0
    output = capsys.readouterr().out
    assert "abacus   wood     -       missing    -" in output
    assert "abacus:  no beads: pip install beads" in output


@pytest.mark.parametrize("fault", ["spoilt", "raising"])
def test_a_failing_engine(capsys, monkeypatch, fault):
    right = xl.mm_enclose

    def wrong(a, b):
        if fault == "raising":
            raise RuntimeError("no device")
        lo, hi = right(a, b)
        hi[4, 3] = np.nextafter(hi[4, 3], 1)
        return lo, hi

    monkeypatch.setattr(xl, "mm_enclose", wrong)
    assert main(["devices"]) == 1
    output = capsys.readouterr().out
    assert re.search(r"numpy +cpu, sycl +fp64 +FAILED", output)
    assert ("entry [4, 3]" if fault == "spoilt" else "RuntimeError: no device") in output
