"""Residue products on the tensor cores of CUDA devices."""
