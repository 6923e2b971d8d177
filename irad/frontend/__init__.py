"""Numba: kernels to LLVM text, its calling convention, and derivatives as Numba functions."""

from irad.frontend import linalg, overloads

overloads.installers.append(linalg.install)
