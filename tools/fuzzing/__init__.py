"""The generator of random kernels and what checks their derivatives: see tools/fuzz.py."""
