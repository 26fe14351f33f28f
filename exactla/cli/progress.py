"""A progress bar on the terminal for long work: tqdm where it is installed, nothing otherwise."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from exactla import settings

DELAY = 0.5
"""Seconds of work before a bar is drawn."""


@contextmanager
def progress_bar(label: str, *, quiet: bool) -> Iterator[None]:
    """Show the progress of the exactla calls inside the block.

    Nothing is shown with `quiet`, where the standard error stream is not a terminal, without tqdm, or for work that
    takes less than half a second.
    """
    if quiet or not sys.stderr.isatty() or (tqdm := _tqdm()) is None:
        yield
        return
    with tqdm(desc=label, unit=" blocks", delay=DELAY, leave=False, file=sys.stderr) as bar:

        def advance(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        with settings.progress(advance):
            yield


def _tqdm() -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm
