"""Numba: kernels to LLVM text, its calling convention, and derivatives as Numba functions."""
