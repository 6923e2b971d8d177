"""Oracles that share nothing with irad: derivatives from a kernel's Python source, and the primal from Numba."""

from tests.oracles.compare import MODES, Refused, assert_derivatives_right

__all__ = ["MODES", "Refused", "assert_derivatives_right"]
