"""Files that tests make once, in a folder of the user's own: processes of a run share them, and so do runs."""

import getpass
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """The file of a name that says all that decides its content; `make` writes it, where no process has done so."""
    folder = Path(tempfile.gettempdir()) / f"exactla-kernels-{getpass.getuser()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / name
    if target.exists():
        return target
    with (folder / f"{name}.lock").open("w") as lock:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)  # what another process makes meanwhile is there when it ends
        if not target.exists():
            partial = folder / f"{name}.{os.getpid()}"
            make(partial)
            partial.replace(target)
    return target
