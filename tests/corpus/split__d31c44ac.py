"""split: a second pullback lost the seed of an array in a tuple

Run it where irad's repository is: python -m tests.corpus.split__d31c44ac
"""

from tools.fuzzing.case import Argument, Case, Pattern, View
from tools.fuzzing.oracle import replay

SOURCE = """
def kernel(x0, a0, q):
    return a0, x0.copy()
"""

CASE = Case(
    SOURCE,
    arguments=(
        Argument(name="x0", dtype="float64", active=True, dims=("N",), layout="A"),
        Argument(name="a0", dtype="float64", active=True, dims=(), layout="A"),
        Argument(name="q", dtype="int64", active=False, dims=(), layout="A"),
    ),
    patterns=(Pattern(n=3, m=2, views=(View(buffer=0, offset=0, strides=(1,)), None, None), scalars=(0.5, 1), seed=8),),
    aliased=True,
    level=1,
)

if __name__ == "__main__":
    replay(CASE)
