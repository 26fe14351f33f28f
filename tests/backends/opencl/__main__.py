"""Runs the conformance suite on PoCL, an OpenCL implementation with a compiler of its own.

python -m tests.backends.opencl --output FILE     and write the report, as `exactla conformance run` does
"""

import argparse
import sys
from collections.abc import Sequence

from exactla import registry
from exactla.registry import BackendDescription
from exactla_backends.device.backend import DeviceBackend
from exactla_backends.sycl.matrix import SyclMatrix
from exactla_conformance.digests import write_json
from exactla_conformance.runner import run
from tests.backends.opencl import pocl
from tests.backends.opencl.device import OpenCLDevice


def backend() -> DeviceBackend:
    """The backend whose kernels are in vectors, as for SYCL's CPUs."""
    device = OpenCLDevice(pocl.device(), vectors=True)
    return DeviceBackend(pocl.NAME, device, SyclMatrix(device))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.backends.opencl")
    parser.add_argument("--select", metavar="PATTERN", help="only the cases whose name matches or contains this")
    parser.add_argument("--output", metavar="FILE", help="write the report to this JSON file")
    options = parser.parse_args(argv)
    registry.descriptions()[pocl.NAME] = BackendDescription(
        pocl.NAME, (), 0, pocl.missing, backend, copies_from=("cpu",)
    )
    report = run(pocl.NAME, select=options.select)
    if options.output:
        write_json(report.to_json(), options.output)
    sys.stdout.write(f"{report}\n")
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
