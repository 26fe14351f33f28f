"""The compiled half of the CPU backend: C sources beside this file, and `library`, which calls what they become."""
