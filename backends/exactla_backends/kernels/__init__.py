"""The integer kernels, written once in plain C, and the tables of constants that they read.

Devices compile the headers here as they are: a host compiler through `host.c`, NVRTC and OpenCL through `device.cl`.
"""
