"""Exact solving on CUDA devices: inverses modulo primes, lifting steps, and long integers from digits."""
