"""What the cases are called with: no ties, no kinks, no special points."""

from __future__ import annotations

import numpy as np

A, B = 0.7, 1.9
X = np.array([0.3, -0.8, 0.55, 1.4, -0.25])
Y = np.array([1.1, 0.6, -0.9, 0.37, 2.2])
P = np.array([0.3, 0.8, 0.55, 1.4, 0.25])
"""Positive."""
U = np.array([0.3, -0.8, 0.55, 0.9, -0.25])
"""Between -1 and 1."""
SORTED = np.array([-0.8, -0.25, 0.3, 0.55, 1.4])
M = np.array([[0.3, -0.8, 0.55, 1.4], [-0.25, 1.2, 0.9, -0.6], [0.75, 0.15, -1.3, 0.5]])
S = np.array([[2.5, 0.4, -0.3], [0.2, 1.8, 0.6], [-0.5, 0.1, 3.1]])
"""Square and regular."""
T = np.linspace(-1.0, 1.3, 12).reshape(2, 3, 2) ** 3 + 0.2
"""Of three dimensions."""
N = np.array([0.3, np.nan, 0.55, 1.4, -0.25])
I = np.array([3, 0, 3, 1])  # noqa: E741
"""Indices, one twice."""
MASK = np.array([True, False, True, True, False])
