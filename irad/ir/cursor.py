"""A place in LLVM's text, and what types, constants and attributes look like from there."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import NoReturn

from irad.errors import InvalidIR
from irad.ir import words
from irad.ir.model import Constant, ConstantExpression, Global, Splat, Value
from irad.ir.types import (
    FLOAT_BITS,
    I1,
    I8,
    I16,
    I32,
    I64,
    METADATA,
    PTR,
    VOID,
    Array,
    Float,
    FunctionType,
    Int,
    Named,
    Other,
    Ptr,
    Struct,
    Type,
    Vector,
)

END = "<end of text>"
_SIMPLE: dict[str, Type] = {
    **{kind: Float(kind) for kind in FLOAT_BITS},
    **{str(type): type for type in (I1, I8, I16, I32, I64, PTR, VOID, METADATA, Other("label"), Other("token"))},
}
_INTEGER = re.compile(r"-?\d+")
_CLOSING = {"[": "]", "{": "}", "<": ">"}


def name_of(token: str) -> str:
    """`%x`, `@"a b"`, `"a b"` to the bare name; bytes that are no UTF-8 survive as surrogates."""
    name = token[1:] if token[0] in "%@" else token
    if name[:1] != '"':
        return name
    raw = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda m: bytes.fromhex(m[1].decode()), name[1:-1].encode())
    return raw.decode("utf-8", "surrogateescape")


class Cursor:
    """Reads along the tokens of `text`; `line_before` tells how many lines stand before it, should it be refused."""

    def __init__(self, text: str, structs: dict[str, Type | None], line_before: Callable[[], int] = lambda: 0) -> None:
        self.text = text
        self.structs = structs
        self.line_before = line_before
        # a comment must have something behind it, or the lexer would look inside
        self.tokens: list[str] = words.LEXER.findall(text.rstrip() + "\n")
        self.tokens += [END] * 3
        self.at: int = 0
        self.constants: dict[tuple[str, int], Value] = {}
        self.flat_structs: dict[str, Struct] = {}

    # --- moving ---

    def refuse(self, why: str, at: int | None = None) -> NoReturn:
        """Stop, naming the line of the token at `at` (the current one)."""
        within = self.tokens[: self.at if at is None else at].count("\n")
        line = self.text.split("\n")[within].strip()
        raise InvalidIR(f"line {self.line_before() + within + 1}: {why}", instruction=line)

    def find(self, word: str) -> int:
        """Where the next `word` stands."""
        try:
            return self.tokens.index(word, self.at)
        except ValueError:
            self.refuse(f"{word!r} is missing")

    def next(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def eat(self, word: str) -> bool:
        if self.tokens[self.at] != word:
            return False
        self.at += 1
        return True

    def want(self, word: str) -> None:
        if self.tokens[self.at] != word:
            self.refuse(f"{word!r} expected where {self.tokens[self.at]!r} stands")
        self.at += 1

    def one_of(self, known: Container[str], what: str) -> str:
        if self.tokens[self.at] not in known:
            self.refuse(f"unknown {what} {self.tokens[self.at]!r}")
        return self.next()

    def integer(self) -> int:
        if not _INTEGER.fullmatch(self.tokens[self.at]):
            self.refuse(f"an integer expected where {self.tokens[self.at]!r} stands")
        return int(self.next())

    def flags(self, allowed: Container[str]) -> tuple[str, ...]:
        if self.tokens[self.at] not in allowed:
            return ()
        start = self.at
        while self.tokens[self.at] in allowed:
            self.at += 1
        return tuple(self.tokens[start : self.at])

    def attributes(self, plain: Container[str], calls: Container[str]) -> tuple[str, ...]:
        """Attributes in a row, each as its text: `noalias`, `align 8`, `range(i32 0, 2)`, `#3`, `"key"="value"`."""
        found: list[str] = []
        while True:
            token = self.tokens[self.at]
            if token in plain or token[0] == "#" or (token[-1] == ")" and token[: token.find("(")] in calls):
                found.append(self.next())
            elif token == "align":
                self.at += 1
                found.append(f"align {self.integer()}")
            elif token[0] == '"':
                self.at += 1
                found.append(f"{token}={self.next()}" if self.eat("=") else token)
            else:
                return tuple(found)

    def parameter_attributes(self) -> tuple[str, ...]:
        if self.tokens[self.at][0] in "%@,)":
            return ()
        return self.attributes(words.PARAMETER_WORDS, words.PARAMETER_CALLS)

    def convention(self) -> str:
        """A calling convention, `fastcc` or `cc 300`; empty where none is written."""
        token = self.tokens[self.at]
        if token in words.CONVENTIONS or (token[:2] == "cc" and token[2:].isdigit()):
            return self.next()
        return f"cc {self.integer()}" if self.eat("cc") else ""

    # --- types ---

    def type(self) -> Type:
        token = self.tokens[self.at]
        self.at += 1
        simple = _SIMPLE.get(token)
        if simple is None:
            return self._composite(token)
        if simple is PTR and self.tokens[self.at] == "addrspace":
            return Ptr(self.address_space())
        return simple

    def _composite(self, token: str) -> Type:
        if token == "{":
            return self._struct()
        if token == "<" and self.eat("{"):
            packed = Struct(self._fields(), packed=True)
            self.want(">")
            return packed
        if token in ("[", "<"):
            scalable = token == "<" and self.eat("vscale")
            if scalable:
                self.want("x")
            count = self.integer()
            self.want("x")
            element = self.type()
            self.want(_CLOSING[token])
            return Array(count, element) if token == "[" else Vector(count, element, scalable)
        if token[0] == "%":
            return Named(token)
        if token[0] == "i" and token[1:].isdigit():
            return Int(int(token[1:]))
        return self.refuse(f"unknown type {token!r}", self.at - 1)

    def _struct(self) -> Struct:
        """A structure; Numba writes the same long ones thousands of times: flat ones are remembered by text."""
        end = self.find("}")
        text = "".join(self.tokens[self.at : end])
        known = self.flat_structs.get(text)
        if known is not None:
            self.at = end + 1
            return known
        struct = Struct(self._fields())
        if "{" not in text:
            self.flat_structs[text] = struct
        return struct

    def _fields(self) -> tuple[Type, ...]:
        fields: list[Type] = []
        while not self.eat("}"):
            if fields:
                self.want(",")
            fields.append(self.type())
        return tuple(fields)

    def address_space(self) -> int:
        """`addrspace(n)`, zero where it is not written."""
        if not self.eat("addrspace"):
            return 0
        self.want("(")
        space = self.integer()
        self.want(")")
        return space

    def function_type(self, result: Type) -> FunctionType:
        """What follows the result type: `(ptr, ...)`."""
        self.want("(")
        parameters: list[Type] = []
        varargs = False
        while not self.eat(")"):
            if parameters:
                self.want(",")
            varargs = self.eat("...")
            if not varargs:
                parameters.append(self.type())
        return FunctionType(result, tuple(parameters), varargs)

    # --- values ---

    def value(self, type: Type) -> Value:
        """A value of `type`, which has been read already."""
        token = self.tokens[self.at]
        self.at += 1
        if token[0] == "%":
            return self.local(token, type)
        # the cached constant keeps its type alive, so that the type's id stays its own
        key = token, id(type)
        known = self.constants.get(key)
        if known is None:
            known = self._simple_constant(token, type)
            if known is None:
                return self._composite_constant(token, type)
            self.constants[key] = known
        return known

    def typed(self) -> Value:
        return self.value(self.type())

    def local(self, token: str, type: Type) -> Value:
        self.refuse(f"{token} of type {type} stands outside a function", self.at - 1)

    def _simple_constant(self, token: str, type: Type) -> Value | None:
        """The constant that is one token long, None if it is longer."""
        if token[0] == "@":
            return Global(name_of(token), type)
        if token in words.CONSTANT_WORDS or token[:2] == 'c"':
            return Constant(type, token)
        if type == I1 and token in ("true", "false", "1", "0", "-1"):
            return Constant(type, token not in ("false", "0"))
        if isinstance(type, Int) and _INTEGER.fullmatch(token):
            return Constant(type, int(token))
        if isinstance(type, Float) and (token[:2] == "0x" or token.lstrip("-")[:1].isdigit()):
            return Constant(type, token)
        return None

    def _composite_constant(self, token: str, type: Type) -> Value:
        if token == "splat":
            self.want("(")
            element = self.typed()
            self.want(")")
            return Constant(type, Splat(element))
        if token in _CLOSING:
            packed = token == "<" and self.eat("{")
            elements: list[Value] = []
            end = "}" if packed else _CLOSING[token]
            while not self.eat(end):
                if elements:
                    self.want(",")
                elements.append(self.typed())
            if packed:
                self.want(">")
            return Constant(type, tuple(elements))
        if token in words.CONSTANT_OPERATIONS:
            return self._expression(token, type)
        return self.refuse(f"unknown value {token!r} of type {type}", self.at - 1)

    def _expression(self, op: str, type: Type) -> ConstantExpression:
        flags = self.flags(words.GEP_FLAGS if op == "getelementptr" else words.BINARY_FLAGS.get(op, ()))
        if self.tokens[self.at].startswith("inrange("):
            flags = (*flags, self.next())
        self.want("(")
        source = None
        if op == "getelementptr":
            source = self.type()
            self.want(",")
        operands = [self.typed()]
        if op in words.CAST_FLAGS:
            self.want("to")
            type = self.type()
        while self.eat(","):
            operands.append(self.typed())
        self.want(")")
        return ConstantExpression(type, op, tuple(operands), flags, source)

    def metadata_reference(self) -> str:
        """`!12`, `!"text"`, `!DIExpression()`; metadata that names a value of the function is refused."""
        token = self.next()
        if token[0] != "!":
            self.refuse(f"metadata expected where {token!r} stands", self.at - 1)
        if token == "!" and self.tokens[self.at][0] == '"':
            return token + self.next()
        if self.tokens[self.at] == "(":
            closing = self.find(")") + 1
            token += "".join(", " if part == "," else part for part in self.tokens[self.at : closing])
            self.at = closing
        elif token == "!":
            self.refuse("metadata must be a reference such as !12")
        return token
