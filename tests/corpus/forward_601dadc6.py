"""forward 0.41578695239563523, differences 0.3104036079602136 and 0.31040358004887847

Run it where irad's repository is: python -m tests.corpus.forward_601dadc6
"""

from tools.fuzzing.case import Argument, Case, Pattern, View
from tools.fuzzing.oracle import replay

SOURCE = """
def kernel(x0, idx, a0, q):
    s0 = 0.0
    k0 = 0
    if q % 2 == 1:
        x0[((q + 1)) % x0.shape[0], ((q + q)) % x0.shape[1]] = (math.exp(math.sin((min(0.0, a0)))))
        v1 = x0[:, (q) % x0.shape[1]]
    t2 = np.zeros((x0.shape[0],), np.float64)
    return None
"""

CASE = Case(
    SOURCE,
    arguments=(
        Argument(name="x0", dtype="float64", active=True, dims=("N", "M"), layout="C"),
        Argument(name="idx", dtype="int64", active=False, dims=("N",), layout="C"),
        Argument(name="a0", dtype="float64", active=True, dims=(), layout="A"),
        Argument(name="q", dtype="int64", active=False, dims=(), layout="A"),
    ),
    patterns=(
        Pattern(
            n=2,
            m=3,
            views=(View(buffer=0, offset=0, strides=(3, 1)), View(buffer=1, offset=0, strides=(1,)), None, None),
            scalars=(0.0, 3),
            seed=1082,
        ),
    ),
    aliased=False,
    level=0,
    modes=("forward", "split"),
    primal="lowered",
)

if __name__ == "__main__":
    replay(CASE)
