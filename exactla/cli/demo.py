"""``exactla demo``: what exactla is for, on built-in data."""

import argparse
import time
from math import comb

import numpy as np
import numpy.typing as npt

import exactla as xl
from exactla.cli import report
from exactla.cli.exits import ExitCode
from exactla.cli.options import Commands, Parser
from exactla.cli.progress import progress_bar
from exactla.cli.selftest import uniform

ORDER = 24
SIZE = 256
# xl.digest(lo, hi) of the two products; tests/cli/test_demo.py computes them from Python integers.
DIGESTS = {
    "pascal": "ed92b32d71edddab03d3f1654f0831676ccdf52490993add8dce2589cddb07b8",
    "random": "d3701cb6e214358221a7b315e139155b46f0f2a04cf0394454c1c9020b48e189",
}

Matrix = npt.NDArray[np.float64]


def add_parser(commands: Commands, common: Parser) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "demo",
        parents=[common],
        help="show the main job on built-in data",
        description="Enclose two products of built-in matrices, beside what NumPy gives, and compare their digests "
        "with the ones that every machine must give. A difference gives exit code 1.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Compute, print and compare."""
    print(f"{report.VERSION}: the tightest enclosures of two float64 products\n")
    with progress_bar("multiplying", quiet=arguments.quiet):
        agreed = [_show_pascal(), _show_random()]
    print("\nWith your own files:  exactla enclose A.npy B.npy -o OUT.npz")
    return ExitCode.OK if all(agreed) else ExitCode.CHECK_FAILED


def pascal(order: int) -> tuple[Matrix, Matrix]:
    """The symmetric Pascal matrix P[i, j] = C(i + j, i) and its inverse, both of integers: P = L L^T, |L^-1| = L."""
    indices = range(order)
    matrix = [[comb(i + j, i) for j in indices] for i in indices]
    inverse = [[(-1) ** (i + j) * sum(comb(k, i) * comb(k, j) for k in indices) for j in indices] for i in indices]
    return np.array(matrix, dtype=np.float64), np.array(inverse, dtype=np.float64)


def _show_pascal() -> bool:
    a, b = pascal(ORDER)
    numpy_product = a @ b
    lo, hi = xl.mm_enclose(a, b)
    identity = np.eye(ORDER)
    wrong = numpy_product != identity
    right = (lo == identity) & (hi == identity)
    diagonal = np.diag(numpy_product)
    worst = int(diagonal.argmin())
    error = np.abs(numpy_product - identity).max()
    digest, agreed = _compared(lo, hi, "pascal")
    print(f"1. The Pascal matrix of order {ORDER} times its inverse, both of integers: the identity, exactly")
    lines = [
        (
            "NumPy",
            f"{wrong.sum()} of {wrong.size} entries are wrong, by up to {error:.2g}",
        ),
        ("", f"{(diagonal <= 0).sum()} of the {ORDER} ones on the diagonal are not even positive"),
        ("exactla", f"{right.sum()} of {right.size} entries are [0, 0] or [1, 1] as they should be"),
        *_entry(worst, worst, numpy_product, lo, hi),
        ("digest", digest),
    ]
    print(report.rows(lines, indent="   "))
    return agreed


def _show_random() -> bool:
    a, b = uniform(1, (SIZE, SIZE)), uniform(2, (SIZE, SIZE))
    start = time.perf_counter()
    numpy_product = a @ b
    numpy_seconds = time.perf_counter() - start
    start = time.perf_counter()
    (lo, hi), info = xl.mm_enclose(a, b, return_info=True)
    duration = time.perf_counter() - start
    outside = int(((numpy_product < lo) | (numpy_product > hi)).sum())
    digest, agreed = _compared(lo, hi, "random")
    print(f"\n2. A product of two random matrices of {SIZE} x {SIZE}")
    lines = [
        ("NumPy", f"{report.seconds(numpy_seconds)}; {outside:,} of {SIZE**2:,} entries are outside the enclosure"),
        ("exactla", f"{report.seconds(duration)}; {report.widths(lo, hi)}"),
        ("", str(info)),
        *_entry(0, 0, numpy_product, lo, hi),
        ("digest", digest),
    ]
    print(report.rows(lines, indent="   "))
    return agreed


def _entry(i: int, j: int, numpy_product: Matrix, lo: Matrix, hi: Matrix) -> list[tuple[str, str]]:
    width = int(xl.width_ulps(lo[i, j], hi[i, j]))
    bracket = f"[{float(lo[i, j])!r}, {float(hi[i, j])!r}], {width} ulp{'s' * (width != 1)} wide"
    return [(f"[{i}, {j}]", f"NumPy    {float(numpy_product[i, j])!r}"), ("", f"exactla  {bracket}")]


def _compared(lo: Matrix, hi: Matrix, name: str) -> tuple[str, bool]:
    digest = xl.digest(lo, hi)
    agreed = digest == DIGESTS[name]
    return f"{digest}\n{'':13}{'the same as on every machine' if agreed else f'DIFFERS from {DIGESTS[name]}'}", agreed
