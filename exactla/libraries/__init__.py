"""One file for each array library: how its arrays are read as bits, and how bits become its arrays.

A file here imports its library, so it is loaded only when an array of that library has been met (`exactla.arrays`).
"""
