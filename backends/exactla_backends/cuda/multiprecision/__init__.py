"""Integers of many limbs on CUDA devices: conversions, division and factors in residues, by int8 tensor cores."""
