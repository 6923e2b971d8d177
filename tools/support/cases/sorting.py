"""NumPy: sorting, searching, sets."""

from __future__ import annotations

from tools.support.case import Group, row
from tools.support.cases.values import SORTED, I, M, X, Y


def _sorted_in_place(x):
    made = x.copy()
    made.sort()
    return made * x


GROUP = Group(
    "sorting",
    "NumPy: sorting, searching, sets",
    (
        row("np.sort", "np.sort(x) * x", x=X),
        row("x.sort", _sorted_in_place, x=X),
        row("np.sort of a matrix", "np.sort(m)", m=M),
        row("sorted", "sorted(x)[1] * x[0]", x=X),
        row("np.argsort", "x[np.argsort(x)] * y", x=X, y=Y),
        row("x.argsort with kind", "x[x.argsort(kind='mergesort')] * y", x=X, y=Y),
        row("np.lexsort", "x[np.lexsort((x, y))]", x=X, y=Y),
        row("np.partition", "np.partition(x, 2)[2] * x", x=X),
        row("np.argpartition", "x[np.argpartition(x, 2)[2]]", x=X),
        row("np.searchsorted", "x[np.searchsorted(x, 0.1)] * x[np.searchsorted(x, y)]", x=SORTED, y=Y - 1.5),
        row("np.searchsorted with side", "x[np.searchsorted(x, 0.1, side='right')]", x=SORTED),
        row("np.digitize", "x[np.digitize(y, x)]", x=SORTED, y=Y - 1.5),
        row("np.unique", "np.unique(x) * 2.0", x=X),
        row("np.unique of integers", "x[np.unique(i)]", x=X, i=I),
        row("np.union1d", "np.union1d(x, y)", x=X, y=Y),
        row("np.intersect1d of integers", "x[np.intersect1d(i, i[1:])]", x=X, i=I),
        row("np.setdiff1d, np.setxor1d", "np.setdiff1d(x, y)", x=X, y=Y),
        row("np.setxor1d", "np.setxor1d(x, y)", x=X, y=Y),
        row("np.isin", "np.isin(i, i[1:2]) * x[:4]", x=X, i=I),
        row("np.ediff1d", "np.ediff1d(x)", x=X),
        row("np.nonzero of a matrix", "m[np.nonzero(m > 0.7)[0][1], 0]", m=M),
    ),
)
