"""Benchmarks of exactla beside what a user would pick instead: `python -m bench`, run from a clone.

Not installed with the package. README.md lists the commands, the peers and the schema of the results.
"""
