"""internal: a helper called with a literal calls itself with an integer

Run it where irad's repository is: python -m tests.corpus.internal__fb956734
"""

from tools.fuzzing.case import Argument, Case, Pattern, View
from tools.fuzzing.oracle import replay

SOURCE = """
@njit
def descend(a, q, u):
    if q <= 0:
        return 0.5 * u * a[0]
    a[0] += 0.5 * descend(a, q - 1, a[1])
    return a[0]

def kernel(x0, a0, q):
    return descend(x0, 2, a0)
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
