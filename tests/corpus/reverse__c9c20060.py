"""reverse: a recursive call kept the shadow of a stack slot that was gone

Run it where irad's repository is: python -m tests.corpus.reverse__c9c20060
"""

from tools.fuzzing.case import Argument, Case, Pattern, View
from tools.fuzzing.oracle import replay

SOURCE = """
@njit
def descend(a, q, u):
    if q <= 0:
        return 0.5 * u * a[0]
    a[0] = a[0] * math.sin(a[1])
    descend(a, q - 1, u)
    a[1] = a[0] * a[2]
    return 1.0

def kernel(x0, a0, q):
    for i in range(x0.shape[0]):
        a0 += 0.5 * descend(x0, q, a0)
    return a0 + x0[0]
"""

CASE = Case(
    SOURCE,
    arguments=(
        Argument(name="x0", dtype="float64", active=True, dims=("N",), layout="A"),
        Argument(name="a0", dtype="float64", active=True, dims=(), layout="A"),
        Argument(name="q", dtype="int64", active=False, dims=(), layout="A"),
    ),
    patterns=(
        Pattern(n=3, m=2, views=(View(buffer=0, offset=0, strides=(1,)), None, None), scalars=(0.5, 0), seed=7),
        Pattern(n=3, m=2, views=(View(buffer=0, offset=0, strides=(1,)), None, None), scalars=(0.5, 2), seed=9),
        Pattern(n=3, m=2, views=(View(buffer=0, offset=0, strides=(1,)), None, None), scalars=(0.5, 3), seed=10),
    ),
    aliased=True,
    level=1,
)

if __name__ == "__main__":
    replay(CASE)
