#!/usr/bin/env python3
"""Sets up a development environment in .venv and runs the usual jobs in it: `python3 dev.py test`.

Knows only the standard library and runs from a fresh clone. Every command first brings .venv up to date; versions
come from .ci/constraints.txt, so that a run today and one next month install the same packages.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parent
ENVIRONMENT = Path(os.environ.get("EXACTLA_VENV", ROOT / ".venv"))
BINARIES = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BINARIES / ("python.exe" if os.name == "nt" else "python")
STAMP = ENVIRONMENT / "exactla-setup.txt"  # what is installed: a hash of what decides it, then the extras
CONSTRAINTS = Path(".ci") / "constraints.txt"  # from ROOT, where commands run: pip splits this setting at spaces

COMMANDS = """\
  setup [EXTRA...]   install exactla, editable, and the named extras (torch, jax, sycl-cpu, ...) into .venv
  demo [ARG...]      install, then run `exactla demo`: the main job on a built-in example
  test [ARG...]      install, then run the tests; arguments go to pytest
  lint               check format, lint rules and types
  format             rewrite the files in the house format
  docs               build the documentation into docs/_build/html, warnings as errors
  bench [ARG...]     install the peers, then run `python -m bench`
  run COMMAND...     run a command in .venv
"""


def main() -> None:
    require_python()
    parser = argparse.ArgumentParser(
        usage="python3 dev.py COMMAND [ARG...]",
        epilog="commands:\n" + COMMANDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=("setup", "demo", "test", "lint", "format", "docs", "bench", "run"))
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    try:
        perform(options.command, options.arguments)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)


def perform(command: str, arguments: list[str]) -> None:
    if command == "setup":
        install(arguments)
    elif command == "demo":
        install(["cli"])
        run(BINARIES / "exactla", "demo", *arguments)
    elif command == "test":
        install(["test"])
        run(PYTHON, "-m", "pytest", *(arguments or ["-n", "auto"]))
    elif command == "lint":
        install(["dev"])
        run(BINARIES / "ruff", "format", "--check", ".")
        run(BINARIES / "ruff", "check", ".")
        run(BINARIES / "mypy")
    elif command == "format":
        install(["dev"])
        run(BINARIES / "ruff", "check", "--fix-only", ".")
        run(BINARIES / "ruff", "format", ".")
    elif command == "docs":
        install(["docs"])
        run(PYTHON, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html", "docs", "docs/_build/html")
        print("built", ROOT / "docs" / "_build" / "html" / "index.html")
    elif command == "bench":
        install(["bench"])
        run(PYTHON, "-m", "bench", *arguments)
    else:
        install([])
        run(*(arguments or [str(PYTHON)]))


def require_python() -> None:
    """Go on under a Python that is new enough, or say what is missing."""
    if sys.version_info >= OLDEST:
        return
    for minor in range(OLDEST[1] + 2, OLDEST[1] - 1, -1):
        newer = shutil.which("python3.%d" % minor)
        if newer and subprocess.call([newer, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            sys.exit(subprocess.call([newer, *sys.argv]))
    sys.exit("exactla needs Python %d.%d or newer, and this is %s" % (*OLDEST, sys.version.split()[0]))


def install(extras: list[str]) -> None:
    """Make .venv hold exactla with these extras, and those that it was given before; quick where it does already."""
    inputs = [ROOT / "pyproject.toml", ROOT / CONSTRAINTS]
    fingerprint = hashlib.sha256(b"".join(path.read_bytes() for path in inputs)).hexdigest()
    installed = STAMP.read_text().split() if STAMP.exists() else []
    wanted = {*extras, *installed[1:]}
    if installed == [fingerprint, *sorted(wanted)]:
        return
    if not PYTHON.exists():
        create()
    print(f"installing exactla[{','.join(sorted(wanted))}] into {ENVIRONMENT}", flush=True)
    # exactla itself is built once: to what is there already, more extras add packages only
    source = ["exactla"] if installed[:1] == [fingerprint] else ["--editable", str(ROOT)]
    source[-1] += f"[{','.join(sorted(wanted))}]"
    # by environment, so that they hold for what builds exactla too
    os.environ["PIP_CONSTRAINT"] = os.environ["PIP_BUILD_CONSTRAINT"] = str(CONSTRAINTS)
    run(*pip(), "install", "--quiet", *source)
    STAMP.write_text(" ".join([fingerprint, *sorted(wanted)]) + "\n")


def create() -> None:
    """Create .venv; without pip in it where Python came without ensurepip, as Debian's does."""
    print("creating", ENVIRONMENT, flush=True)
    with_pip = subprocess.call([sys.executable, "-c", "import ensurepip"], stderr=subprocess.DEVNULL) == 0
    options = [] if with_pip else ["--without-pip"]
    try:
        run(sys.executable, "-m", "venv", *options, str(ENVIRONMENT))
    except subprocess.CalledProcessError:
        sys.exit("this Python cannot create environments; on Debian and Ubuntu: apt-get install python3-venv")


def pip() -> list[str]:
    """The pip that installs into .venv: its own, or this Python's where it has none."""
    if (BINARIES / "pip").exists() or (BINARIES / "pip.exe").exists():
        return [str(PYTHON), "-m", "pip"]
    if subprocess.call([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL) != 0:
        sys.exit("no pip was found; on Debian and Ubuntu: apt-get install python3-venv, then delete .venv")
    return [sys.executable, "-m", "pip", "--python", str(PYTHON)]


def run(*command: str | Path) -> None:
    """Run a command in the environment, from the root of the checkout."""
    environment = dict(os.environ, VIRTUAL_ENV=str(ENVIRONMENT))
    environment["PATH"] = os.pathsep.join([str(BINARIES), os.environ.get("PATH", "")])
    driver = ENVIRONMENT / "lib" / "libintelocl.so"
    if driver.exists():
        # OpenCL on the CPU: its package registers the path of the machine that it was built on
        environment.setdefault("OCL_ICD_FILENAMES", str(driver))
    subprocess.run([str(part) for part in command], check=True, cwd=ROOT, env=environment)


if __name__ == "__main__":
    main()
