"""A bar is drawn on terminals only, and only where tqdm is installed and nobody asked for quiet."""

import io
import sys

import pytest

from exactla import settings
from exactla.cli.progress import progress_bar

pytest.importorskip("tqdm")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def open_terminal(monkeypatch):
    """Make the standard error stream a terminal; in a fixture, pytest's capture would undo it."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def work(blocks=4):
    report = settings.progress_callback.get()
    if report is None:
        return False
    for done in range(1, blocks + 1):
        report(done, blocks)
    return True


def test_a_bar_on_a_terminal(monkeypatch):
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr("exactla.cli.progress.DELAY", 0)
    with progress_bar("multiplying", quiet=False):
        assert work()
        assert work(2)  # a second call starts again
    assert "multiplying" in terminal.getvalue()
    assert not work()


def test_short_work_draws_nothing(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with progress_bar("multiplying", quiet=False):
        assert work()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("reason", ["quiet", "file", "without tqdm"])
def test_no_bar(monkeypatch, reason):
    terminal = open_terminal(monkeypatch)
    if reason == "file":
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    if reason == "without tqdm":
        monkeypatch.setitem(sys.modules, "tqdm", None)
    with progress_bar("multiplying", quiet=reason == "quiet"):
        assert not work()
    assert terminal.getvalue() == ""
