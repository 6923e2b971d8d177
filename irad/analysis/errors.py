"""Which edges lead to an error return (design D15).

A Numba function returns a status: 0 for success, -2 for success with None, anything else for an exception. The reverse
function runs only after a success, so it sees the graph without the edges that can only end in an error. Calling an
error edge a success costs speed and nothing else; the converse would be wrong, so every doubt counts as success.
"""

from __future__ import annotations

from dataclasses import dataclass

from irad.errors import Unsupported
from irad.ir.lines import blame
from irad.ir.model import Binary, Block, Branch, Compare, Constant, Function, Phi, Return, Select, Switch, Value
from irad.ir.types import I32

SUCCESS = (0, -2)


@dataclass(frozen=True)
class Success:
    """The part of a function's graph that can end in a successful return.

    `successors` and `predecessors` hold distinct blocks; `exit` is the one returning block.
    """

    successors: dict[Block, list[Block]]
    predecessors: dict[Block, list[Block]]
    exit: Block

    def __contains__(self, block: Block) -> bool:
        return block in self.successors

    def __str__(self) -> str:
        return "\n".join(f"{b.name} -> {', '.join(s.name for s in ss)}" for b, ss in self.successors.items())


def success(function: Function) -> Success:
    """The success graph of a function with a single return (see irad.analysis.canonical.single_return).

    Raises
    ------
    Unsupported: the function never returns.
    """
    exits = [b for b in function.blocks if isinstance(b.end, Return)]
    assert len(exits) == 1, "canonical functions return once"
    for errors in (_error_edges(function, exits[0]), set[tuple[Block, Block]]()):
        if found := _success(function, exits[0], errors):
            return found
    raise blame(Unsupported("this function never returns", hint="let it return, or raise, on some path"), function)


def _success(function: Function, exit: Block, errors: set[tuple[Block, Block]]) -> Success | None:
    """The graph without `errors`; None where nothing is left (a function that always raises)."""
    forward = {b: [s for s in b.successors if (b, s) not in errors] for b in function.blocks}
    backward: dict[Block, list[Block]] = {b: [] for b in function.blocks}
    for block, targets in forward.items():
        for target in targets:
            backward[target].append(block)
    reached = _reach(function.entry, forward)
    finishing = _reach(exit, backward)
    kept = [b for b in function.blocks if b in reached and b in finishing]
    inside = set(kept)
    if function.entry not in inside:
        return None
    return Success(
        successors={b: [s for s in forward[b] if s in inside] for b in kept},
        predecessors={b: [p for p in backward[b] if p in inside] for b in kept},
        exit=exit,
    )


def _reach(start: Block, edges: dict[Block, list[Block]]) -> set[Block]:
    seen, stack = {start}, [start]
    while stack:
        for other in edges[stack.pop()]:
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen


def _error_edges(function: Function, exit: Block) -> set[tuple[Block, Block]]:
    end = exit.end
    if not isinstance(end, Return) or end.value is None or end.value.type != I32:
        return set()
    home = {p: b for b in function.blocks for p in b.phis}
    errors: set[tuple[Block, Block]] = set()
    seen: set[Phi] = set()
    stack = [end.value]
    while stack:
        status = stack.pop()
        if not isinstance(status, Phi) or status in seen or not _forwards(home[status], exit):
            continue
        seen.add(status)
        for value, block in status.incoming():
            if _is_error(value, block, function):
                errors.add((block, home[status]))
            elif isinstance(value, Phi) and home.get(value) is block:
                stack.append(value)
    return errors


def _forwards(block: Block, exit: Block) -> bool:
    """Whether every way through `block` returns the status that its phi chose."""
    return block is exit or block.successors == [exit]


def _is_error(status: Value, block: Block, function: Function) -> bool:
    while isinstance(status, Phi) and len(status.operands) == 1:
        status = status.operands[0]  # on its way out of a loop
    if isinstance(status, Constant):
        return isinstance(status.literal, int) and status.literal not in SUCCESS
    return any(_excludes(b.end, status, block, function) for b in function.blocks)


def _excludes(end: object, status: Value, block: Block, function: Function) -> bool:
    """Whether the branch `end` shows that `block` is reached only when `status` is an error."""
    if isinstance(end, Switch) and end.operands[0] is status:
        default, *targets = end.targets
        chosen = dict(zip(end.cases, targets, strict=True))
        return block not in [chosen.get(code, default) for code in SUCCESS] and _predecessors(block, function) == 1
    if not isinstance(end, Branch) or end.condition is None or end.targets[0] is end.targets[1]:
        return False
    outcomes = {_evaluate(end.condition, status, value) for value in SUCCESS}
    if len(outcomes) != 1 or None in outcomes:
        return False
    bad = end.targets[1] if outcomes.pop() else end.targets[0]
    good = end.targets[0] if bad is end.targets[1] else end.targets[1]
    if bad is good:
        return False
    return bad is block and _predecessors(bad, function) == 1


def _predecessors(block: Block, function: Function) -> int:
    return sum(block in b.end.targets for b in function.blocks)


def _evaluate(value: Value, status: Value, known: int) -> int | None:
    """`value` where `status` is `known`, when it depends on nothing else."""
    if value is status:
        return known
    match value:
        case Constant(literal=int(literal)):
            return int(literal)
        case Compare(op="icmp", predicate=predicate, operands=[left, right]):
            a, b = _evaluate(left, status, known), _evaluate(right, status, known)
            return None if a is None or b is None else int(_compare(predicate, a, b))
        case Binary(op="and" | "or" | "xor" as op, operands=[left, right]):
            a, b = _evaluate(left, status, known), _evaluate(right, status, known)
            if a is None or b is None:
                return None
            return {"and": a & b, "or": a | b, "xor": a ^ b}[op]
        case Select(operands=[condition, if_true, if_false]):
            c = _evaluate(condition, status, known)
            return None if c is None else _evaluate(if_true if c else if_false, status, known)
        case _:
            return None


def _compare(predicate: str, left: int, right: int) -> bool:
    if predicate[0] == "u":
        left, right = left & 0xFFFFFFFF, right & 0xFFFFFFFF
    table = {
        "eq": left == right,
        "ne": left != right,
        "gt": left > right,
        "ge": left >= right,
        "lt": left < right,
        "le": left <= right,
    }
    return table[predicate if predicate in table else predicate[1:]]
