"""The verdict on bounds: a claim that is false in one entry by one step is counted."""

from typing import Any

import numpy as np
import pytest

from bench import data, exact
from bench.contestant import Bounds, Contestant, Guarantee, Job, Problem
from bench.peers import PEERS
from bench.quality import quality


class _Claim(Job):
    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def run(self) -> None:
        return None

    def bounds(self, result: Any) -> Bounds:
        return self._bounds


class _Claimant(Contestant):
    name = "claimant"
    summary = ""

    def __init__(self, guarantee: Guarantee) -> None:
        self.guarantee = guarantee

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _Claim(exact.tightest(problem, problem.dtype))


PROBLEM = data.product("wide", "float32", 5, 9, 4)


def _missed(guarantee: Guarantee, bounds: Bounds) -> object:
    found = quality(_Claimant(guarantee), _Claim(bounds), PROBLEM)
    assert found is not None
    return found["missed"]


@pytest.mark.parametrize("guarantee", [Guarantee.TIGHTEST, Guarantee.ENCLOSURE])
def test_an_end_moved_inward_by_one_step_is_missed(guarantee: Guarantee) -> None:
    lo, hi = exact.tightest(PROBLEM, np.float32)
    assert _missed(guarantee, (lo, hi)) == 0
    lo, hi = lo.copy(), hi.copy()
    lo[2, 3] = np.nextafter(lo[2, 3], np.float32(np.inf))
    hi[4, 0] = np.nextafter(hi[4, 0], np.float32(-np.inf))
    assert _missed(guarantee, (lo, hi)) == 2


def test_a_wider_pair_is_no_tightest_pair_but_an_enclosure() -> None:
    lo, hi = exact.tightest(PROBLEM, np.float32)
    hi = hi.copy()
    hi[1, 1] = np.nextafter(hi[1, 1], np.float32(np.inf))
    assert _missed(Guarantee.ENCLOSURE, (lo, hi)) == 0
    assert _missed(Guarantee.TIGHTEST, (lo, hi)) == 1


def test_a_point_is_an_end_or_missed() -> None:
    lo, hi = exact.tightest(PROBLEM, np.float32)
    assert _missed(Guarantee.ROUNDED, (hi, hi)) == 0
    point = lo.copy()
    point[0, 0] = np.nextafter(lo[0, 0], np.float32(-np.inf))
    assert _missed(Guarantee.ROUNDED, (point, point)) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", sorted(data.DATA))
@pytest.mark.parametrize("name", sorted(PEERS))
def test_peers_enclose_the_exact_product(name: str, kind: str, dtype: str) -> None:
    peer = PEERS[name]
    problem = data.product(kind, dtype, 4, 7, 3)
    reason = peer.missing() or peer.refuses(problem)
    if reason is not None:
        pytest.skip(reason)
    job = peer.prepare(problem, 1)
    try:
        found = quality(peer, job, problem)
    finally:
        job.close()
    assert found is None or peer.guarantee is Guarantee.NONE or found["missed"] == 0
