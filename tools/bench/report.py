"""Results as tables and plots, for the terminal and for docs/benchmarks.md."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.bench.cases import CASES, ENZYME, Case
from tools.bench.contenders import API, HAND, IRAD
from tools.bench.peers import JAX, TORCH
from tools.bench.results import Grown, Memory, Results, Row

BEGIN, END = "<!-- python -m tools.bench writes from here -->", "<!-- to here -->"
NAMES = {IRAD: "irad", HAND: "hand adjoint", JAX: "JAX", TORCH: "PyTorch"}
RATIOS, GROWTH = "benchmarks-ratios.svg", "benchmarks-growth.svg"

Cells = list[list[str]]


def page(results: Results, docs: Path) -> None:
    """Put tables and plots into docs/benchmarks.md and beside it.

    Raises
    ------
    ValueError: the page has no place for them.
    """
    path = docs / "benchmarks.md"
    text = path.read_text()
    if BEGIN not in text or END not in text:
        raise ValueError(f"{path} lacks the lines {BEGIN!r} and {END!r}")
    plots = plot(results, docs)
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    path.write_text(f"{before}\n\n{markdown(results, plots)}\n{after}")


def markdown(results: Results, plots: bool) -> str:
    """The page's own part."""
    about = ", ".join(f"{name} {value}" for name, value in results.machine.items() if name not in ("processor", "date"))
    parts = [
        f"Measured on {results.machine['date']} on one core of {results.machine['processor']}; {about}.",
        "### Value and gradient, over the primal's time",
        *([f"![Ratios of all kernels, and the targets]({RATIOS})"] if plots else []),
        grid(times(results.rows)),
        f"Enzyme: {ENZYME}",
        *_refusals(results.rows),
        "### First calls and memory",
        grid(firsts(results.rows)),
    ]
    if results.growth:
        parts += ["### Growth with the problem's size"]
        parts += [f"![Gradient times at three sizes]({GROWTH})"] if plots else []
        parts += [grid(growth(results.growth))]
    return "\n\n".join(parts) + "\n"


def _refusals(rows: Sequence[Row]) -> list[str]:
    return [f"{row.label} is refused: {row.refused}" for row in rows if row.refused]


def grid(cells: Cells) -> str:
    """Cells, the first row of which holds the headings, as a table in Markdown: words left, numbers right."""
    head, *rows = cells
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def times(rows: Sequence[Row]) -> Cells:
    """Ratios beside the targets."""
    cells = [["kernel", "primal ms", "irad", "target", "Enzyme", "hand adjoint", "JAX", "PyTorch", "from Python"]]
    for row in rows:
        if row.refused:
            continue
        case = case_of(row)
        ratio = row.ratio(IRAD)
        met = case is None or case.target is None or ratio is None or ratio <= case.target
        cells.append(
            [
                row.label,
                f"{1e3 * row.times['primal'].median:.4g}",
                _ratio(row, IRAD, bold=not met),
                f"{case.target:g}" if case is not None and case.target is not None else "",
                case.enzyme if case is not None else "",
                *(_ratio(row, name) for name in (HAND, JAX, TORCH, API)),
            ]
        )
    return cells


def _ratio(row: Row, name: str, *, bold: bool = False) -> str:
    ratio = row.ratio(name)
    if ratio is None:
        return ""
    text = f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"
    return f"{f'**{text}**' if bold else text} ±{max(1, round(100 * row.spread(name)))}%"


def firsts(rows: Sequence[Row]) -> Cells:
    """First calls and memory."""
    cells = [
        [
            "kernel",
            "Numba's first call s",
            "first gradient s",
            "ratio",
            "Numba, cached s",
            "gradient, cached s",
            "tape",
            "primal's peak",
            "gradient's peak",
        ]
    ]
    for row in rows:
        if row.first is None or row.memory is None:
            continue
        f = row.first
        cells.append(
            [
                row.label,
                f"{f.numba:.2f}",
                f"{f.irad:.2f}",
                f"{f.irad / f.numba:.2f}",
                f"{f.numba_cached:.2f}",
                f"{f.irad_cached:.2f}",
                *_memory(row.memory),
            ]
        )
    return cells


def _memory(memory: Memory) -> list[str]:
    return [_bytes(memory.tape), _bytes(memory.primal_peak), _bytes(memory.gradient_peak)]


def _bytes(count: int | None) -> str:
    if count is None:
        return "over 256 MB"
    for size, unit in ((1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def growth(grown: Sequence[Grown]) -> Cells:
    """Exponents: how fast gradient and tape grow with the work, and with the primal's time."""
    head = ["kernel", "work", "gradient ms", "primal ~ work^", "gradient ~ work^", "gradient ~ primal^", "tape ~ work^"]
    cells = [head]
    for g in grown:
        tape = [float(t) for t in g.tape if t]
        cells.append(
            [
                g.kernel,
                f"{' / '.join(f'{w:.3g}' for w in g.work)} {g.unit}",
                " / ".join(f"{1e3 * t:.3g}" for t in g.gradient),
                f"{exponent(g.work, g.primal):.2f}",
                f"{exponent(g.work, g.gradient):.2f}",
                f"{exponent(g.primal, g.gradient):.2f}",
                f"{exponent(g.work, tape):.2f}" if len(tape) == len(g.work) else "none saved" if not tape else "",
            ]
        )
    return cells


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of log y over log x, by least squares."""
    return statistics.linear_regression([math.log(v) for v in x], [math.log(v) for v in y]).slope


def case_of(row: Row) -> Case | None:
    """The case that a row was measured for; None when there is none of that name any more."""
    return next((case for case in CASES if case.label == row.label), None)


# --- plots ----------------------------------------------------------------------------------------------------------


def plot(results: Results, docs: Path) -> bool:
    """Write the plots, where matplotlib is installed; whether it is."""
    try:
        import matplotlib  # noqa: PLC0415 (an extra)
    except ImportError:
        return False
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "irad", "font.size": 9})
    from matplotlib import pyplot  # noqa: PLC0415

    _save(_bars(pyplot, [row for row in results.rows if not row.refused]), docs / RATIOS)
    if results.growth:
        _save(_lines(pyplot, results.growth), docs / GROWTH)
    return True


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def _bars(pyplot: Any, rows: Sequence[Row]) -> Any:
    shown = [name for name in NAMES if any(row.ratio(name) is not None for row in rows)]
    figure, axes = pyplot.subplots(figsize=(8, 0.42 * len(rows) + 1.2))
    thickness = 0.8 / len(shown)
    for at, name in enumerate(shown):
        ratios = [row.ratio(name) or math.nan for row in rows]
        places = [i + (at - (len(shown) - 1) / 2) * thickness for i in range(len(rows))]
        axes.barh(places, ratios, thickness, label=NAMES[name])
    for i, row in enumerate(rows):
        case = case_of(row)
        if case is not None and case.target is not None:
            axes.plot([case.target] * 2, [i - 0.45, i + 0.45], color="black", label="target" if i == 0 else None)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.invert_yaxis()
    axes.axvline(1.0, color="grey", linewidth=0.8)
    axes.set_xlabel("time of value and gradient / time of the primal")
    axes.grid(axis="x", which="both", alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.06), ncols=len(shown) + 1, frameon=False)
    return figure


def _lines(pyplot: Any, grown: Sequence[Grown]) -> Any:
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for i, g in enumerate(grown):
        label = f"{g.kernel} ({exponent(g.work, g.gradient):.2f})"
        axes.plot(g.work, [1e3 * t for t in g.gradient], "osD^"[i // 10] + "-", color=f"C{i % 10}", label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("work (elements, steps, cells, pairs, products)")
    axes.set_ylabel("value and gradient, ms")
    axes.grid(which="major", alpha=0.3)
    axes.legend(title="exponent", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure
