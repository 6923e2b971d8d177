"""Is this IR well formed? Run after every step that builds or changes it: a fault shows where it was made.

LLVM's own verifier runs later, on text; this one names our objects, and needs no text.
"""

from __future__ import annotations

from collections import Counter
from typing import NoReturn

from irad.errors import InvalidIR
from irad.ir.check_types import fault, fault_of_constant
from irad.ir.model import (
    Argument,
    Block,
    Call,
    Constant,
    ConstantExpression,
    Function,
    Global,
    Instruction,
    Module,
    Phi,
    Return,
    Splat,
    Terminator,
    Value,
)
from irad.ir.types import VOID, FunctionType
from irad.ir.write import text_of

UNREACHABLE: tuple[int, int] = (-1, -1)


def check(code: Module | Function) -> None:
    """Raise InvalidIR unless every operand is defined, dominates its use and has a type that fits.

    For a module, the functions and variables it names must be there too, and calls must fit what they call.
    """
    if isinstance(code, Function):
        _Checker(code, None).check()
        return
    for function in code.functions.values():
        _Checker(function, code).check()


class _Checker:
    """Checks one function; `module` is None when the rest of the program is not known."""

    def __init__(self, function: Function, module: Module | None) -> None:
        self.function = function
        self.module = module
        self.structs = module.structs if module else {}
        self.constants: set[int] = set()  # ids of those seen, which the function keeps alive
        self.place: dict[Value, tuple[int, int]] = {}  # block number, and position within the block
        self.number = {block: i for i, block in enumerate(function.blocks)}
        self.before: list[list[Block]] = [[] for _ in function.blocks]  # predecessors, one for every edge
        self.span: list[tuple[int, int]] = []  # by block: its interval in the dominator tree, or UNREACHABLE

    def refuse(self, why: str, instruction: Instruction | None = None) -> NoReturn:
        text = text_of(instruction) if instruction else ""
        raise InvalidIR(f"in @{self.function.name}: {why}", instruction=text)

    def check(self) -> None:
        function = self.function
        if tuple(a.type for a in function.arguments) != function.type.parameters:
            self.refuse("the arguments are not those of the function's type")
        if function.is_declaration:
            return
        if len(self.number) != len(function.blocks):
            self.refuse("a block stands twice")
        for argument in function.arguments:
            self.place[argument] = (0, -1)
        for number, block in enumerate(function.blocks):
            self._shape(block)
            self._enter(block, number)
        if self.before[0]:
            self.refuse("a branch leads to the entry block", self.before[0][0].end)
        self.span = _spans([[self.number[b] for b in block.successors] for block in function.blocks])
        for number, block in enumerate(function.blocks):
            for position, instruction in enumerate(block.instructions):
                self._instruction(instruction, number, position)

    # --- structure ---

    def _shape(self, block: Block) -> None:
        """Phis, then the body, then one terminator."""
        parts: list[tuple[object, type]] = [(block.end, Terminator), *((phi, Phi) for phi in block.phis)]
        for part, wanted in parts:
            if not isinstance(part, wanted) or type(part) is Terminator:
                self.refuse(f"{type(part).__name__} where {block.name} has its {wanted.__name__}")
        for instruction in block.body:
            if isinstance(instruction, (Phi, Terminator)):
                self.refuse("a phi or a terminator stands in the body of a block", instruction)

    def _enter(self, block: Block, number: int) -> None:
        """Note where everything is defined, and who precedes whom."""
        for position, instruction in enumerate(block.instructions):
            if instruction in self.place:
                self.refuse("an instruction stands twice", instruction)
            self.place[instruction] = (number, position)
        for target in block.end.targets:
            if target not in self.number:
                self.refuse(f"the block {target.name} is not in this function", block.end)
            self.before[self.number[target]].append(block)

    def _instruction(self, instruction: Instruction, number: int, position: int) -> None:
        for operand in instruction.operands:
            self._value(operand, instruction)
        if isinstance(instruction, Phi):
            self._phi(instruction, number)
        else:
            for operand in instruction.operands:
                self._dominated(operand, number, position, instruction)
        if isinstance(instruction, Call):
            self._value(instruction.callee, instruction)
            self._dominated(instruction.callee, number, position, instruction)
            self._call(instruction)
        if isinstance(instruction, Return):
            given = instruction.value.type if instruction.value else VOID
            if given != self.function.type.result:
                self.refuse(f"returns {given}, not {self.function.type.result}", instruction)
        why = fault(instruction, self.structs)
        if why:
            self.refuse(why, instruction)

    # --- dominance ---

    def _dominated(self, value: Value, number: int, position: int, user: Instruction) -> None:
        if not isinstance(value, (Argument, Instruction)):
            return
        block, at = self.place[value]
        start, end = self.span[number]
        if block == number:
            dominates = at < position
        else:
            outer_start, outer_end = self.span[block]
            dominates = outer_start != -1 and outer_start <= start and end <= outer_end
        # in a block that never runs anything goes, as in LLVM
        if not dominates and start != -1:
            self.refuse(f"%{value.name or '?'} is not defined on every path to its use", user)

    def _phi(self, phi: Phi, number: int) -> None:
        if len(phi.operands) != len(phi.blocks):
            self.refuse(f"a phi with {len(phi.operands)} values from {len(phi.blocks)} blocks", phi)
        if Counter(phi.blocks) != Counter(self.before[number]):
            self.refuse(f"comes from {_names(phi.blocks)}, but the predecessors are {_names(self.before[number])}", phi)
        for value, block in phi.incoming():
            self._dominated(value, self.number[block], len(block.phis) + len(block.body) + 1, phi)
            if phi.value_from(block) != value:
                self.refuse(f"two values from {block.name}", phi)

    # --- values ---

    def _value(self, value: Value, user: Instruction) -> None:
        """`value` exists: it is of this function, or a global of the module, or a constant that fits its type."""
        if isinstance(value, (Argument, Instruction)):
            if value not in self.place:
                self.refuse(f"%{value.name or '?'} is not defined in this function", user)
            if value.type == VOID:
                self.refuse("an operand without a value", user)
        elif isinstance(value, Global):
            self._global(value, user)
        elif isinstance(value, (Constant, ConstantExpression)) and id(value) not in self.constants:
            self.constants.add(id(value))
            for part in _parts(value):
                self._value(part, user)
            why = fault_of_constant(value) if isinstance(value, Constant) else ""
            if why:
                self.refuse(why, user)

    def _global(self, value: Global, user: Instruction) -> None:
        if not value.name:
            self.refuse("a global without a name", user)
        known = self.module is None or value.name in self.module.functions or value.name in self.module.variables
        if not known:
            self.refuse(f"@{value.name} is neither declared nor defined", user)

    def _call(self, call: Call) -> None:
        """The arguments fit the type that the call states, and the function that it names."""
        given = FunctionType(call.type, tuple(a.type for a in call.operands))
        types = [call.function_type] if call.function_type else []
        if self.module and call.callee_name in self.module.functions:
            types.append(self.module.functions[call.callee_name].type)
        for wanted in types:
            count = len(wanted.parameters)
            enough = len(given.parameters) == count or (wanted.varargs and len(given.parameters) > count)
            if not enough or given.parameters[:count] != wanted.parameters or given.result != wanted.result:
                self.refuse(f"called as {given}, but it is {wanted}", call)
            if wanted.varargs and call.function_type != wanted:
                self.refuse("a function with variable arguments is called without its type", call)


def _parts(value: Constant | ConstantExpression) -> tuple[Value, ...]:
    if isinstance(value, ConstantExpression):
        return value.operands
    match value.literal:
        case tuple(elements):
            return elements
        case Splat(value=element):
            return (element,)
        case _:
            return ()


def _names(blocks: list[Block]) -> str:
    return ", ".join(b.name or "?" for b in blocks) or "none"


def _spans(successors: list[list[int]]) -> list[tuple[int, int]]:
    """For every block its interval: a block dominates those whose intervals lie within its own."""
    order = _postorder(successors)
    rank = {block: i for i, block in enumerate(order)}
    above = _immediate_dominators(successors, order, rank)
    below: list[list[int]] = [[] for _ in successors]
    for block in order[:-1]:
        below[above[block]].append(block)
    spans = [UNREACHABLE] * len(successors)
    clock = 0
    starts: dict[int, int] = {}
    stack = [0]
    while stack:
        block = stack.pop()
        if block in starts:
            spans[block] = (starts[block], clock)
            continue
        starts[block] = clock = clock + 1
        stack.append(block)
        stack.extend(below[block])
    return spans


def _immediate_dominators(successors: list[list[int]], order: list[int], rank: dict[int, int]) -> dict[int, int]:
    """Cooper, Harvey and Kennedy's iteration, over the reachable blocks in reverse postorder."""
    before: dict[int, list[int]] = {block: [] for block in order}
    for block in order:
        for target in successors[block]:
            before[target].append(block)
    above = {0: 0}
    changed = True
    while changed:
        changed = False
        for block in reversed(order[:-1]):
            common = -1
            for other in before[block]:
                if other in above:
                    common = other if common < 0 else _meet(common, other, above, rank)
            if above.get(block) != common:
                above[block] = common
                changed = True
    return above


def _meet(one: int, other: int, above: dict[int, int], rank: dict[int, int]) -> int:
    """The nearest block that dominates both."""
    while one != other:
        if rank[one] < rank[other]:
            one = above[one]
        else:
            other = above[other]
    return one


def _postorder(successors: list[list[int]]) -> list[int]:
    """Reachable blocks, each after what it leads to; the entry is last."""
    order: list[int] = []
    seen = {0}
    stack = [(0, iter(successors[0]))]
    while stack:
        block, rest = stack[-1]
        target = next((t for t in rest if t not in seen), None)
        if target is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(target)
            stack.append((target, iter(successors[target])))
    return order
