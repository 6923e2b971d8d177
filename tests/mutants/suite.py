"""A fixed suite of small kernels, each there for one way to go wrong."""

from __future__ import annotations

from dataclasses import replace

from tools.fuzzing.case import Argument, Case, Pattern, View

X, Y = Argument("x", "float64", True, ("N",)), Argument("y", "float64", True, ("N",))
A, Q = Argument("a", "float64", True), Argument("q", "int64")


def _pattern(x: View, y: View, q: int, n: int) -> Pattern:
    return Pattern(n, 2, (x, y, None, None), (0.6, q), 11)


APART = (View(0, 0, (1,)), View(1, 8, (-2,)))
SHIFTED = (View(0, 1, (1,)), View(0, 0, (1,)))
REVERSED = (View(0, 0, (1,)), View(0, 5, (-1,)))
SAME = (View(0, 0, (1,)), View(0, 0, (1,)))


def _case(
    body: str,
    *,
    aliased: bool = False,
    layout: str = "A",
    q: tuple[int, ...] = (2,),
    n: int = 5,
    before: str = "",
    level: int = 0,
) -> Case:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    source = f"{before}def kernel(x, y, a, q):\n{lines}\n"
    views = [APART, SHIFTED, REVERSED, SAME] if aliased else [APART]
    if layout == "C":
        views = [(View(0, 0, (1,)), View(1, 0, (1,)))]
    arguments = (replace(X, layout=layout), replace(Y, layout=layout), A, Q)
    return Case(
        source,
        arguments,
        tuple(_pattern(*v, number, n) for v in views for number in q),
        aliased,
        level,
        primal="lowered",
    )


SUITE: dict[str, Case] = {
    "read only": _case("""
s = 0.0
for i in range(x.shape[0]):
    s += math.sin(x[i]) * y[i] * a
return s
"""),
    "overwritten": _case("""
s = 0.0
for i in range(x.shape[0]):
    s += math.sin(x[i]) * y[i]
    x[i] = s * a
    y[i] = 1.0
    s += x[i] * y[i]
return s
"""),
    "shifted": _case(
        """
for i in range(x.shape[0]):
    x[i] = math.sin(y[i]) * a
    y[i] += x[i] * x[i]
return x[0]
""",
        aliased=True,
        level=1,
    ),
    "copied": _case(
        """
t = x.copy()
x[:] = 0.0
for i in range(x.shape[0]):
    x[i] += t[i] * y[i]
y[:] = t
return t[0] * x[1]
""",
        layout="C",
    ),
    "filled": _case(
        """
s = x[0] * y[0]
x[:] = 0.0
return s
""",
        layout="C",
    ),
    "moved": _case(
        """
for i in range(10):
    x[i] = x[i + 1]
for i in range(10):
    y[11 - i] = y[10 - i]
return x[2] * y[2]
""",
        layout="C",
        n=12,
    ),
    "sliced": _case(
        """
x[1:] = x[:-1]
y[:-1] = y[1:]
return x[2] * y[2]
""",
        layout="C",
    ),
    "branches": _case("""
s = 0.0
for i in range(x.shape[0]):
    if x[i] > 0.1:
        x[i] = math.sin(x[i])
    else:
        y[i] *= x[i] * a
    s = max(s, x[i]) if y[i] > 0.0 else s + y[i]
return s
"""),
    "while": _case(
        """
s, k = a, 0
while k < 15 * q and s < 100.0:
    k += 1
    s = 0.9 * s + math.sin(s) * x[k % x.shape[0]]
    x[k % x.shape[0]] = s
return s
""",
        q=(0, 3),
    ),
    "scratch": _case("""
for i in range(x.shape[0]):
    t = np.zeros(3)
    for j in range(3):
        t[j] += x[i] * a
        a = t[j] * t[0]
        x[i] += a + t[2]
return a
"""),
    "speculated": _case(
        """
s = 0.0
for i in range(x.shape[0]):
    s += guarded(x[i], i - q) * y[i]
return s
""",
        q=(2, 9),
        before="""@njit(error_model="numpy")
def guarded(x, d):
    w = 1.0 / d
    return x * w if d != 0.0 else 0.0

""",
    ),
    "recursive": _case(
        "return descend(x, q, a * y[0])",
        before="""@njit
def descend(x, q, u):
    if q <= 0:
        return x[0] * u
    x[0] = math.sin(x[1]) * u
    return descend(x, q - 1, u * x[0]) + u

""",
    ),
    "empty range": _case(
        """
s = 0.0
for i in range(x.shape[0]):
    for j in range(q):
        s = math.sin(s) + x[j]
    for j in range(i, q):
        s = math.sin(s) * y[i] + x[j]
return s
""",
        q=(-1, 1, 5),
    ),
}
