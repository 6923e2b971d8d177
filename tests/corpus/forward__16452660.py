"""forward: blocks that end in an exception wrote tangents over the primal

Run it where irad's repository is: python -m tests.corpus.forward__16452660
"""

from tools.fuzzing.case import Argument, Case, Pattern, View
from tools.fuzzing.oracle import replay

SOURCE = """
@njit
def descend(a, q):
    if q <= 0:
        return a[0]
    a[q] *= a[q - 1]
    return descend(a, q - 1)

def kernel(x0, a0, q):
    if x0[0] > a0:
        for i in range(3, x0.shape[0]):
            x0[i] = 0.0
        x0[1] = x0[2] * a0
        descend(x0, q)
        raise ValueError("low")
    return x0[0]
"""

CASE = Case(
    SOURCE,
    arguments=(
        Argument(name="x0", dtype="float64", active=True, dims=("N",), layout="C"),
        Argument(name="a0", dtype="float64", active=True, dims=(), layout="A"),
        Argument(name="q", dtype="int64", active=False, dims=(), layout="A"),
    ),
    patterns=(
        Pattern(n=5, m=2, views=(View(buffer=0, offset=0, strides=(1,)), None, None), scalars=(-1.5, 2), seed=8),
        Pattern(n=5, m=2, views=(View(buffer=0, offset=0, strides=(1,)), None, None), scalars=(1.5, 2), seed=9),
    ),
    aliased=True,
    level=1,
)

if __name__ == "__main__":
    replay(CASE)
