"""Numba: kernels to LLVM text, its calling convention, and derivatives as Numba functions."""

from irad.frontend import draws, linalg, overloads

overloads.installers += [linalg.install, draws.install]
