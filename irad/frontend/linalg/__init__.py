"""Linear algebra as whole operations, with the derivative rules of the literature.

Each rule is a handful of NumPy functions, compiled as any kernel; the calls of linear algebra in them are whole
operations again, so that rules differentiate further. Values stay Numba's own, bit for bit.
"""

from irad.frontend.linalg import factors, products, spectra, systems

__all__ = ["install"]


def install() -> None:
    """Make the operations known to Numba, for our target."""
    for module in (products, systems, factors, spectra):
        module.install()
