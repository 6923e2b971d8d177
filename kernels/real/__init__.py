"""Kernels as applications have them: root searches, early exits, exceptions, complex numbers, linear algebra, random
numbers, single precision, records and classes. They are tested like those of `kernels`, and neither shown nor measured.
"""

from __future__ import annotations

from kernels import Collection

COLLECTION = Collection(
    __name__,
    (
        "kepler",
        "love",
        "prism",
        "reflectivity",
        "left_right",
        "garch",
        "american",
        "gaussian_process",
        "lens",
        "cloud_in_cell",
        "ornstein_uhlenbeck",
        "truss",
    ),
)
