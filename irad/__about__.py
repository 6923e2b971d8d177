"""The version of irad, stated once."""

__version__ = "0.1.0"
