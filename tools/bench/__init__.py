"""What irad's derivatives cost, beside hand-written ones and other programs: python -m tools.bench."""
