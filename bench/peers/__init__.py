"""What a user would pick instead of exactla for a product, one file a library. Register a new peer in `PEERS`."""

from bench.contestant import Contestant
from bench.peers.flint_arb import ArbProduct
from bench.peers.flint_fmpz import IntegerProduct, ScaledProduct
from bench.peers.intvalpy_array import IntvalpyProduct
from bench.peers.mpmath_matrix import MpmathProduct
from bench.peers.numpy_bound import BoundedProduct
from bench.peers.numpy_matmul import NumpyProduct
from bench.peers.octave import OctaveProduct
from bench.peers.precise_array import PreciseProduct
from bench.peers.pyintval_object import PyintvalProduct

PEERS: dict[str, Contestant] = {
    peer.name: peer
    for peer in (
        ArbProduct(64),
        ArbProduct(128),
        ScaledProduct(),
        IntegerProduct(24),
        IntegerProduct(64),
        NumpyProduct(),
        BoundedProduct(),
        PreciseProduct(),
        OctaveProduct("tight"),
        OctaveProduct("valid"),
        MpmathProduct(),
        PyintvalProduct(),
        IntvalpyProduct(),
    )
}
"""Peers of the products, by name, in the order of the tables."""
