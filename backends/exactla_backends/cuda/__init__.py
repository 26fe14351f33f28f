"""The CUDA backend: CuPy's memory, the shared kernels, and matrix engines for tensor cores."""
