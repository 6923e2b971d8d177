"""NumPy: reductions and statistics."""

from __future__ import annotations

from tools.support.case import Group, row
from tools.support.cases.values import MASK, A, M, N, P, T, X, Y

GROUP = Group(
    "reductions",
    "NumPy: reductions and statistics",
    (
        row("np.sum", "np.sum(x) * x.sum() + m.sum()", x=X, m=M),
        row("np.sum with axis", "m.sum(axis=0).sum() * np.sum(m, axis=1)", m=M),
        row("np.sum with axis, three dimensions", "np.sum(t, axis=1)", t=T),
        row("np.sum of a strided view", "np.sum(m[:, ::2].T * 2.0) * m.T.sum()", m=M),
        row("np.prod", "np.prod(x) * x.prod()", x=X),
        row("np.cumsum", "np.cumsum(x) * x.cumsum()", x=X),
        row("np.cumprod", "np.cumprod(x) * x.cumprod()", x=X),
        row("np.mean", "np.mean(x) * x.mean() + m.mean()", x=X, m=M),
        row("np.var, np.std", "np.var(x) * x.std()", x=X),
        row("np.average", "np.average(x, weights=p) + np.average(x)", x=X, p=P),
        row("np.max, np.min", "np.max(x) * x.min() + m.max()", x=X, m=M),
        row("np.amax, np.amin", "np.amax(x) * np.amin(x)", x=X),
        row("np.ptp", "np.ptp(x) * x[0]", x=X),
        row("np.argmax, np.argmin", "x[np.argmax(x)] * x[x.argmin()]", x=X),
        row("np.argmax with axis", "m[0, np.argmax(m, axis=1)[1]]", m=M),
        row("np.median", "np.median(x) * x[0]", x=X),
        row("np.percentile", "np.percentile(x, 30.0)", x=X),
        row("np.percentile of several", "np.percentile(x, q)", x=X, q=P * 50, constant="q"),
        row("np.quantile", "np.quantile(x, 0.3)", x=X),
        row("np.nansum", "np.nansum(x)", x=X),
        row("np.nanprod", "np.nanprod(x)", x=X),
        row("np.nancumsum", "np.nancumsum(x)", x=X),
        row("np.nancumprod", "np.nancumprod(x)", x=X),
        row("np.nanmean", "np.nanmean(x)", x=X),
        row("np.nanvar, np.nanstd", "np.nanvar(x) * np.nanstd(x)", x=X),
        row("np.nanmax, np.nanmin", "np.nanmax(x) * np.nanmin(x)", x=X),
        row("np.nanmedian", "np.nanmedian(x)", x=X),
        row("np.nanpercentile", "np.nanpercentile(x, 30.0)", x=X),
        row("np.nanquantile", "np.nanquantile(x, 0.3)", x=X),
        row("np.nanargmax, np.nanargmin", "x[np.nanargmax(x)] * x[np.nanargmin(x)]", x=X),
        row(
            "nan forms beside a NaN", "np.nansum(n + a) * np.nanmean(n + a) + np.nanmax(n + a)", a=A, n=N, constant="n"
        ),
        row(
            "np.all, np.any, np.count_nonzero",
            "x * (np.all(mask) + np.any(mask) + np.count_nonzero(mask))",
            x=X,
            mask=MASK,
        ),
        row(
            "np.allclose, np.isclose, np.array_equal",
            "x * (np.allclose(x, y) + np.isclose(x, y)[0] + np.array_equal(x, y) + 1)",
            x=X,
            y=Y,
        ),
        row("np.cov", "np.cov(m)", m=M),
        row("np.cov of two", "np.cov(x, y)", x=X, y=Y),
        row("np.corrcoef", "np.corrcoef(m)", m=M),
        row("np.bincount", "x * np.bincount(i)", x=X, i=(MASK * 4).astype("int64")),
        row("np.bincount with weights", "np.bincount(i, x)", x=X, i=(MASK * 2).astype("int64")),
        row("np.histogram", "x * np.histogram(x, 5, (-1.0, 2.5))[0]", x=X),
        row("np.trace", "np.trace(m[:, :3].copy() * m[:, 1:])", m=M),
    ),
)
