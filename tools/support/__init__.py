"""What of Python and NumPy irad differentiates, found out by running: a case for each row of docs/support.md."""
