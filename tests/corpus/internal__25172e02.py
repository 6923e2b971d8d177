"""internal: InvalidIR: LLVM refuses the module: LLVM IR parsing error | <string>:21:177: error: use of undefined

Run it: python -m tests.corpus.internal__25172e02
"""

from tools.fuzzing.case import Argument, Case, Pattern, View
from tools.fuzzing.oracle import replay

SOURCE = """
@njit
def helper0(a, q, u):
    if q <= 0 or q > 4:
        return 0.5 * u * a[0]
    s0 = 0.1 * u
    a[(q) % a.shape[0]] = a[-1]
    a[(2) % a.shape[0]] = ((s0 * math.sin(u)) / (1.5 + math.cos((math.exp(math.sin(s0))))))
    for i1 in range(3):
        a[((0 - 1)) % a.shape[0]] = a[(i1) % a.shape[0]]
    if a[(1) % a.shape[0]] >= a[(1) % a.shape[0]]:
        pass
    s0 += 0.5 * helper0(a, q - 1, a[(0) % a.shape[0]])
    pass
    return a[(1) % a.shape[0]]

@njit
def helper1(a, b, q, u):
    if q <= 0 or q > 4:
        return 0.5 * u * a[0]
    s0 = 0.1 * u
    a[((0 + 1)) % a.shape[0]] = a[-1]
    s0 *= math.cos(a[-1])
    a[(q) % a.shape[0]] = (((0.25 * 0) + s0) * 0.5)
    if u <= s0:
        s0 = (((0.25 * (2 + 1)) + (0.25 * (2 - 2))) + (math.tanh(b[(q) % b.shape[0]])))
    else:
        pass
    s0 = 0.5 * helper1(a, b, q - 1, (min(u, a[(0) % a.shape[0]])))
    pass
    return (b[((q * 2)) % b.shape[0]] - a[((0 - 1)) % a.shape[0]])

def kernel(x0, x1, x2, a0, a1, q):
    s0 = 0.0
    k0 = 0
    s0 = helper0(x2, (1 + 1), x2[-1])
    return float((x0[((0 - 2)) % x0.shape[0]] * math.sin(0.5)))
"""

CASE = Case(
    SOURCE,
    arguments=(
        Argument(name="x0", dtype="float64", active=True, dims=("N",), layout="A"),
        Argument(name="x1", dtype="float64", active=True, dims=("N",), layout="A"),
        Argument(name="x2", dtype="float64", active=True, dims=("N",), layout="A"),
        Argument(name="a0", dtype="float64", active=True, dims=(), layout="A"),
        Argument(name="a1", dtype="float64", active=True, dims=(), layout="A"),
        Argument(name="q", dtype="int64", active=False, dims=(), layout="A"),
    ),
    patterns=(
        Pattern(n=3, m=1, views=(View(buffer=100, offset=4, strides=(-2,)), View(buffer=100, offset=3, strides=(-1,)), View(buffer=100, offset=3, strides=(2,)), None, None, None), scalars=(-0.4375, -0.3125, 0), seed=2256),
        Pattern(n=3, m=3, views=(View(buffer=100, offset=0, strides=(1,)), View(buffer=100, offset=2, strides=(1,)), View(buffer=100, offset=3, strides=(2,)), None, None, None), scalars=(-1.1875, -1.1875, 3), seed=2825),
        Pattern(n=3, m=3, views=(View(buffer=100, offset=5, strides=(3,)), View(buffer=100, offset=4, strides=(-2,)), View(buffer=100, offset=5, strides=(2,)), None, None, None), scalars=(-0.6875, -0.8125, 0), seed=6259),
        Pattern(n=3, m=2, views=(View(buffer=100, offset=0, strides=(3,)), View(buffer=1, offset=0, strides=(2,)), View(buffer=100, offset=2, strides=(3,)), None, None, None), scalars=(-0.75, 0.3125, 0), seed=11839),
        Pattern(n=5, m=3, views=(View(buffer=100, offset=4, strides=(-1,)), View(buffer=100, offset=5, strides=(3,)), View(buffer=100, offset=4, strides=(3,)), None, None, None), scalars=(0.125, -0.3125, 0), seed=7249),
        Pattern(n=3, m=3, views=(View(buffer=0, offset=0, strides=(3,)), View(buffer=100, offset=6, strides=(2,)), View(buffer=100, offset=4, strides=(-2,)), None, None, None), scalars=(-0.375, -1.0625, 0), seed=9615),
        Pattern(n=5, m=2, views=(View(buffer=100, offset=0, strides=(2,)), View(buffer=1, offset=0, strides=(2,)), View(buffer=100, offset=2, strides=(1,)), None, None, None), scalars=(1.125, -0.25, 2), seed=542),
        Pattern(n=4, m=1, views=(View(buffer=100, offset=5, strides=(1,)), View(buffer=1, offset=0, strides=(3,)), View(buffer=100, offset=6, strides=(-2,)), None, None, None), scalars=(-0.5625, -0.25, 1), seed=32),
    ),
    aliased=True,
    level=1,
)

if __name__ == "__main__":
    replay(CASE)
