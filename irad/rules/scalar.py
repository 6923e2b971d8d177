"""The derivative of every scalar operation, stated once: a row maps the operands to one linear map each.

A row may ask for the result as `out`. Rows that can have an infinite or NaN partial scale strongly: a zero tangent or
adjoint gives zero through them. Multiplication does not, for speed; where LLVM has speculated one into the arm of a
select, the emitter asks for a guard (see `linear.tangent`). docs/conventions.md lists what holds at kinks.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable

from irad.ir.build import Expr, suffix
from irad.ir.model import Binary, Call, Cast, Constant, Instruction, Unary, integer
from irad.ir.types import Float
from irad.rules.linear import (
    FLIP,
    SAME,
    ZERO,
    Convert,
    Gate,
    LinearMap,
    Rule,
    Scale,
    Through,
    both,
    either,
    strong,
)

RULES: dict[str, Rule] = {}
"""Rules by name: an LLVM opcode, the bare name of an intrinsic (`fma` of `llvm.fma.f64`), or a function's symbol."""

Partials = Callable[..., tuple[LinearMap, ...]]


def rule(
    *names: str, price: int, integers: tuple[int, ...] = (), twin: str | None = None
) -> Callable[[Partials], Partials]:
    """Make the decorated function the row of the operations `names`; see `Rule` for the rest."""

    def add(partials: Partials) -> Partials:
        parameters = inspect.signature(partials).parameters.values()
        arity = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
        wants_out = any(p.name == "out" for p in parameters)
        row = Rule(names[0], partials, arity, price, wants_out, frozenset(integers), twin)
        for name in names:
            assert name not in RULES, f"two rules for {name}"
            RULES[name] = row
        return partials

    return add


# --- arithmetic -----------------------------------------------------------------------------------------------------


@rule("fadd", price=1)
def _(x: Expr, y: Expr):
    return SAME, SAME


@rule("fsub", price=1)
def _(x: Expr, y: Expr):
    return SAME, FLIP


@rule("fneg", price=1)
def _(x: Expr):
    return (FLIP,)


@rule("freeze", "canonicalize", price=1)
def _(x: Expr):
    return (SAME,)


@rule("fmul", price=1)
def _(x: Expr, y: Expr):
    return Scale(y), Scale(x)


@rule("fma", "fmuladd", price=1)
def _(x: Expr, y: Expr, z: Expr):
    return Scale(y), Scale(x), SAME


@rule("fdiv", price=10)
def _(x: Expr, y: Expr, *, out: Expr):
    # one division for both maps, and one that leaves the loop where y is the same in all iterations
    r = _reciprocal(y)
    return strong(r), strong(-(out * (out if _is_one(x) else r)))


@rule("frem", "fmod", "remainder", "numba_fixed_fmod", price=30)
def _(x: Expr, y: Expr, *, out: Expr):
    # (x - out) / y is the quotient up to rounding, so that rint finds it exactly; trunc(x / y) may be off by one
    return SAME, strong(-((x - out) / y).call("rint"))


@rule("fpext", price=1)
def _(x: Expr, *, out: Expr):
    return (Convert(x.type, out.type, widens=True),)


@rule("fptrunc", price=1)
def _(x: Expr, *, out: Expr):
    return (Convert(x.type, out.type, widens=False),)


# --- pieces: flat, or one operand chosen ----------------------------------------------------------------------------


@rule("floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven", "logb", price=4)
def _(x: Expr):
    return (ZERO,)


@rule("fabs", price=1)
def _(x: Expr):
    return (Gate(x.compare("une", 0.0), Scale(_sign(x))),)


@rule("copysign", price=1)
def _(x: Expr, y: Expr):
    return Gate(x.compare("une", 0.0), Scale(_sign(x) * _sign(y))), ZERO


@rule("maxnum", "maximumnum", "fmax", price=2)
def _(x: Expr, y: Expr):
    return _one_of(either(x.compare("oge", y), y.compare("uno", y)))


@rule("minnum", "minimumnum", "fmin", price=2)
def _(x: Expr, y: Expr):
    return _one_of(either(x.compare("ole", y), y.compare("uno", y)))


@rule("maximum", price=2)
def _(x: Expr, y: Expr):
    return _one_of(either(x.compare("oge", y), x.compare("uno", x)))


@rule("minimum", price=2)
def _(x: Expr, y: Expr):
    return _one_of(either(x.compare("ole", y), x.compare("uno", x)))


@rule("fdim", price=2)
def _(x: Expr, y: Expr):
    above = x.compare("ugt", y)
    return Gate(above), Gate(above, FLIP)


@rule("irad.singular", price=1)
def _(value: Expr, x: Expr, y: Expr):
    # the value of a function of x and y where it has no derivative
    return ZERO, strong(x.lit(math.nan)), strong(y.lit(math.nan))


# --- powers and roots -----------------------------------------------------------------------------------------------


@rule("sqrt", price=10)
def _(x: Expr, *, out: Expr):
    return (strong(0.5 / out),)


@rule("cbrt", price=40)
def _(x: Expr, *, out: Expr):
    return (strong((1 / 3) / (out * out)),)


@rule("pow", price=80)
def _(x: Expr, y: Expr, *, out: Expr):
    # 0 * 0**-1 is the one point where the formula fails and the derivative exists: x**0 is constant
    constant = both(x.compare("oeq", 0.0), y.compare("oeq", 0.0))
    by_x = constant.where(0.0, y * x.call("pow", y - 1.0), like=x)
    log_x = x.compare("oeq", 0.0).where(0.0, x.call("log"), like=x)
    return strong(by_x), strong(out * log_x)


@rule("powi", price=40, integers=(1,))
def _(x: Expr, n: Expr):
    y = Expr(x.out.cast("sitofp", n.value, x.type), x.out)
    constant = both(x.compare("oeq", 0.0), y.compare("oeq", 0.0))
    less = Expr(n.out.binary("add", n.value, integer(-1, n.type)), n.out)
    return strong(constant.where(0.0, y * _with_integer("powi", x, less), like=x)), ZERO


@rule("ldexp", "numba_ldexp", price=20, integers=(1,))
def _(x: Expr, n: Expr):
    # 2**n by itself may overflow where x * 2**n does not
    return Through(lambda t: _with_integer("ldexp", t, n)), ZERO


@rule("nextafter", "numba_nextafter", price=20)
def _(x: Expr, y: Expr):
    return SAME, ZERO


@rule("irad.cpow.real", price=250)
def _(a: Expr, b: Expr, c: Expr, d: Expr):
    by_base, by_exponent = _complex_power((a, b), (c, d))
    (x, y), (s, t) = by_base, by_exponent
    return strong(x), strong(-y), strong(s), strong(-t)


@rule("irad.cpow.imag", price=250)
def _(a: Expr, b: Expr, c: Expr, d: Expr):
    by_base, by_exponent = _complex_power((a, b), (c, d))
    (x, y), (s, t) = by_base, by_exponent
    return strong(y), strong(x), strong(t), strong(s)


@rule("hypot", price=40)
def _(x: Expr, y: Expr, *, out: Expr):
    return _toward(x, out), _toward(y, out)


# --- exponentials and logarithms ------------------------------------------------------------------------------------


@rule("exp", price=40)
def _(x: Expr, *, out: Expr):
    return (strong(out),)


@rule("exp2", price=40)
def _(x: Expr, *, out: Expr):
    return (strong(out * math.log(2)),)


@rule("exp10", price=40)
def _(x: Expr, *, out: Expr):
    return (strong(out * math.log(10)),)


@rule("expm1", price=40)
def _(x: Expr):
    return (strong(x.call("exp")),)  # out + 1 has no correct digit far to the left


@rule("log", price=40)
def _(x: Expr):
    return (strong(1.0 / x),)


@rule("log2", price=40)
def _(x: Expr):
    return (strong((1 / math.log(2)) / x),)


@rule("log10", price=40)
def _(x: Expr):
    return (strong((1 / math.log(10)) / x),)


@rule("log1p", price=40)
def _(x: Expr):
    return (strong(1.0 / (1.0 + x)),)


# --- trigonometric functions and their inverses ---------------------------------------------------------------------


@rule("sin", price=60, twin="cos")
def _(x: Expr, *, twin: Expr):
    return (strong(twin),)


@rule("cos", price=60, twin="sin")
def _(x: Expr, *, twin: Expr):
    return (strong(-twin),)


@rule("tan", price=60)
def _(x: Expr, *, out: Expr):
    return (strong(1.0 + out * out),)


@rule("asin", price=60)
def _(x: Expr):
    return (strong(1.0 / _chord(x)),)


@rule("acos", price=60)
def _(x: Expr):
    return (strong(-1.0 / _chord(x)),)


@rule("atan", price=60)
def _(x: Expr):
    return (strong(1.0 / (1.0 + x * x)),)


@rule("atan2", price=80)
def _(y: Expr, x: Expr):
    # divided by the larger of the two first: the squares neither overflow nor vanish
    largest = x.call("fabs").call("maxnum", y.call("fabs"))
    a, b = x / largest, y / largest
    square = (a * a + b * b) * largest
    origin = largest.compare("oeq", 0.0)
    return strong(origin.where(0.0, a / square, like=x)), strong(origin.where(0.0, -b / square, like=x))


# --- hyperbolic functions and their inverses ------------------------------------------------------------------------


@rule("sinh", price=60, twin="cosh")
def _(x: Expr, *, twin: Expr):
    return (strong(twin),)


@rule("cosh", price=60, twin="sinh")
def _(x: Expr, *, twin: Expr):
    return (strong(twin),)


@rule("tanh", price=80)
def _(x: Expr, *, out: Expr):
    return (strong(1.0 - out * out),)


@rule("asinh", price=60)
def _(x: Expr):
    return (strong(1.0 / x.libm("hypot", 1.0)),)  # x * x would overflow long before x does


@rule("acosh", price=60)
def _(x: Expr):
    return (strong(1.0 / ((x - 1.0).call("sqrt") * (x + 1.0).call("sqrt"))),)


@rule("atanh", price=60)
def _(x: Expr):
    return (strong(1.0 / ((1.0 - x) * (1.0 + x))),)


# --- error and gamma functions --------------------------------------------------------------------------------------


@rule("erf", "numba_erf", price=60)
def _(x: Expr):
    return (strong(2 / math.sqrt(math.pi) * (-(x * x)).call("exp")),)


@rule("erfc", "numba_erfc", price=60)
def _(x: Expr):
    return (strong(-2 / math.sqrt(math.pi) * (-(x * x)).call("exp")),)


@rule("tgamma", "numba_gamma", price=100)
def _(x: Expr, *, out: Expr):
    return (strong(out * x.libm("irad.digamma")),)


@rule("lgamma", "numba_lgamma", price=100)
def _(x: Expr):
    return (strong(x.libm("irad.digamma")),)


# --- what rows are made of ------------------------------------------------------------------------------------------


def _reciprocal(y: Expr) -> Expr:
    match y.value:
        case Constant(type=Float(), literal=str(text)) as c if text not in ("undef", "poison") and c.number != 0.0:
            return y.lit(1.0 / c.number)
        case _:
            return 1.0 / y


def _is_one(x: Expr) -> bool:
    match x.value:
        case Constant(type=Float(), literal=str(text)) as c if text not in ("undef", "poison"):
            return c.number == 1.0
        case _:
            return False


def _sign(x: Expr) -> Expr:
    return x.lit(1.0).call("copysign", x)


def _one_of(first: Expr) -> tuple[LinearMap, LinearMap]:
    """The maps of two operands of which `first` tells whether the first is the result."""
    return Gate(first), Gate(first, ZERO, SAME)


def _toward(x: Expr, distance: Expr) -> Scale:
    """The slope of a distance from the origin along x, zero at the origin."""
    return strong(distance.compare("oeq", 0.0).where(0.0, x / distance, like=x))


def _complex_power(z: tuple[Expr, Expr], w: tuple[Expr, Expr]) -> tuple[tuple[Expr, Expr], tuple[Expr, Expr]]:
    """The complex derivatives of z ** w by z, w z ** (w - 1), and by w, z ** w log z, each as (real, imaginary)."""
    (a, b), (c, d) = z, w
    less = [a.libm(f"irad.cpow.{part}", b, c - 1.0, d) for part in ("real", "imag")]
    constant = both(c.compare("oeq", 0.0), d.compare("oeq", 0.0))
    by_z = [constant.where(0.0, part, like=a) for part in _times((c, d), (less[0], less[1]))]
    size = a.libm("hypot", b)
    log_z = (size.call("log"), b.libm("atan2", a))
    power = (a.libm("irad.cpow.real", b, c, d), a.libm("irad.cpow.imag", b, c, d))
    origin = size.compare("oeq", 0.0)
    by_w = [origin.where(0.0, part, like=a) for part in _times(power, log_z)]
    return (by_z[0], by_z[1]), (by_w[0], by_w[1])


def _times(z: tuple[Expr, Expr], w: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
    """The product of two complex numbers."""
    return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def _chord(x: Expr) -> Expr:
    """sqrt(1 - x^2), without the cancellation near -1 and 1."""
    return ((1.0 - x) * (1.0 + x)).call("sqrt")


def _with_integer(name: str, x: Expr, n: Expr) -> Expr:
    """The intrinsic `name` of a float and an integer."""
    full = f"llvm.{name}.{suffix(x.type)}.{suffix(n.type)}"
    return Expr(x.out.call(full, x.type, [x.value, n.value]), x.out)


# --- names ----------------------------------------------------------------------------------------------------------

OPCODES = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "freeze", "fpext", "fptrunc"})
INTRINSICS_ONLY = frozenset({"fmuladd", "maxnum", "minnum", "maximum", "minimum", "powi", "canonicalize"})
_INTRINSIC = re.compile(r"llvm\.(\w+)\.(?:v\d+)?f(?:32|64)(?:\.(?:v\d+)?i\d+)?")

PRICE: dict[str, int] = {name: row.price for name, row in RULES.items()}
"""What evaluating an operation again costs, in bytes of tape traffic, by the names of RULES."""


def rule_name(function: str) -> str | None:
    """The key in RULES for a called function (`llvm.exp.f64`, `exp` and `expf` are all `exp`), None without a rule."""
    if found := _INTRINSIC.fullmatch(function):
        name = found[1]
        vector_power = name == "powi" and function.startswith("llvm.powi.v")  # its exponent is a scalar
        return name if name in RULES and name not in OPCODES and not vector_power else None
    for name in (function, function.removesuffix("f")):
        if name in RULES and name not in OPCODES and name not in INTRINSICS_ONLY:
            return name
    return None


def twins(instructions: Iterable[Instruction]) -> dict[Instruction, Instruction]:
    """For sin x the cos x among `instructions`, and the like: the instruction that is the twin of another."""
    rules = {i: found for i in instructions if isinstance(i, Call) and (found := rule_of(i)) is not None}
    by_name = {(found.name, call.operands[0]): call for call, found in rules.items()}
    pairs = ((call, by_name.get((found.twin, call.operands[0]))) for call, found in rules.items() if found.twin)
    return {call: twin for call, twin in pairs if twin is not None}


def rule_of(instruction: Instruction) -> Rule | None:
    """The rule of an instruction; None where there is none (integer operations, memory, control, other calls)."""
    match instruction:
        case Binary(op=op) | Unary(op=op) | Cast(op=op):
            return RULES.get(op) if op in OPCODES else None
        case Call():
            name = rule_name(instruction.callee_name)
            return None if name is None else RULES[name]
        case _:
            return None
