"""`python -m irad.cli` is the command `irad`."""

from irad.cli import main

main()
