"""Runs random jobs on a build of the native library, and compares its instruction sets with each other.

python -m tests.backends.cpu.fuzz --seconds 60             the installed library, jobs from a seed
python -m tests.backends.cpu.fuzz --job 0123abcd...        one job again
... --library FILE --libfuzzer                             a build for libFuzzer, which looks for new branches
... --library FILE --threads 4                             each job on so many threads at the same time
"""

import argparse
import ctypes
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import Instructions
from tests.backends.cpu.fuzz import jobs

LONGEST = 4096


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.backends.cpu.fuzz")
    parser.add_argument("--library", type=Path, help="the library instead of the installed one")
    parser.add_argument("--jobs", type=int, default=1 << 62, help="stop after so many")
    parser.add_argument("--seconds", type=float, default=60, help="stop after so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="run each job on so many threads at the same time")
    parser.add_argument(
        "--libfuzzer", action="store_true", help="let libFuzzer, which is in the library, make the jobs"
    )
    parser.add_argument("--job", help="only the job of these bytes, in hexadecimal")
    options = parser.parse_args(argv)
    if options.library:
        library.path = lambda: options.library
    names = [name for name, runs_here in library.listed() if runs_here]
    if options.job is not None:
        return 0 if _agree(bytes.fromhex(options.job), names, options.threads) else 1
    if options.libfuzzer:
        return _libfuzzer(names, options.seed, options.seconds)
    rng, end, done = np.random.default_rng(options.seed), time.monotonic() + options.seconds, 0
    while done < options.jobs and time.monotonic() < end:
        if not _agree(_bytes(rng), names, options.threads):
            return 1
        done += 1
    sys.stdout.write(f"{done} jobs: {', '.join(names)} agree\n")
    return 0


def _bytes(rng: np.random.Generator) -> bytes:
    return rng.bytes(int(rng.integers(40, LONGEST)))


def _agree(data: bytes, names: Sequence[str], threads: int) -> bool:
    """Whether all instruction sets, on all threads, give the same; if not, says what to run."""
    try:
        if threads == 1:
            outcomes = [(name, _outcome(name, data)) for name in names]
        else:
            order = [name for name in names for _ in range(threads)]
            with ThreadPoolExecutor(threads) as pool:
                outcomes = list(zip(order, pool.map(lambda name: _outcome(name, data), order), strict=True))
        first, expected = outcomes[-1]
        for name, found in outcomes:
            if where := jobs.difference(found, expected):
                raise AssertionError(f"{name} and {first} differ: {where}")
    except Exception:
        traceback.print_exc()
        sys.stderr.write(f"the job: --job {data.hex()}\n")
        return False
    return True


def _outcome(name: str, data: bytes) -> jobs.Outcome:
    return jobs.outcome(Instructions(library.load(), name), data)


def _libfuzzer(names: Sequence[str], seed: int, seconds: float) -> int:
    def one(data: "ctypes._Pointer[ctypes.c_char]", size: int) -> int:
        if not _agree(ctypes.string_at(data, size), names, 1):
            sys.stderr.flush()
            os._exit(1)  # libFuzzer would go on
        return 0

    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        rng = np.random.default_rng(seed)
        for i in range(64):
            (corpus / str(i)).write_bytes(_bytes(rng))
        words = ["fuzz", f"-seed={seed}", f"-max_total_time={int(seconds)}", f"-max_len={LONGEST}", "-rss_limit_mb=0"]
        words += ["-print_final_stats=1", f"-artifact_prefix={folder}/", str(corpus)]
        arguments = (ctypes.c_char_p * (len(words) + 1))(*(word.encode() for word in words))
        callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)(one)
        result: int = library.load().LLVMFuzzerRunDriver(
            ctypes.byref(ctypes.c_int(len(words))), ctypes.byref(ctypes.pointer(arguments)), callback
        )
    return result


if __name__ == "__main__":
    sys.exit(main())
