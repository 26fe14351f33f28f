"""What Intel's compiler for its GPUs makes of OpenCL C or SPIR-V: instructions, without a device."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

PLATFORMS = {"dg2-g10": "xehpg", "pvc": "xehpc", "tgllp": "tgllp"}
"""Devices, and their instruction sets."""


def why_none() -> str | None:
    """Why there are no instructions."""
    missing = [program for program in ("ocloc", "iga64") if shutil.which(program) is None]
    return f"no {', no '.join(missing)}: apt-get install intel-opencl-icd libigc-tools" if missing else None


def instructions(kernel: str, content: str | bytes, device: str, options: Sequence[str] = ()) -> str:
    """A listing of a kernel of a program, compiled for a device."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "program"
        source.write_bytes(content if isinstance(content, bytes) else content.encode())
        kind = ["-spirv_input"] if isinstance(content, bytes) else []
        # of OpenCL C 3.0 that version's headers are not for all devices that it knows
        compiled = [*kind, "-file", str(source), "-options", " ".join(["-cl-std=CL2.0", *options])]
        _run(["ocloc", "compile", *compiled, "-device", device, "-out_dir", str(folder / "made")])
        (binary,) = (folder / "made").glob("*.bin")
        _run(["ocloc", "disasm", "-file", str(binary), "-device", device, "-dump", str(folder / "parts")])
        parts = folder / "parts" / f"xl_kernel_{kernel}_KernelHeap"
        if parts.with_suffix(".asm").exists():  # where it has found the library of the disassembler
            return parts.with_suffix(".asm").read_text()
        return _run(["iga64", "-d", f"-p={PLATFORMS[device]}", str(parts.with_suffix(".dat"))])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout
