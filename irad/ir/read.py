"""LLVM's text to our dataclasses: one lexer, recursive descent, and a stop at the first word that is not known.

Names are kept without sigil and quotes (`Named` types and the keys of `structs`, `attribute_groups` and `metadata` keep
theirs). Values that LLVM left unnamed get their number as name; the writer numbers them anew. Metadata, attributes and
attribute groups stay text; `#dbg_` records and comments are dropped.
"""

from __future__ import annotations

from irad.ir import words
from irad.ir.body import BodyReader
from irad.ir.cursor import END, Cursor, name_of
from irad.ir.model import Argument, Function, Module, Variable
from irad.ir.types import FunctionType


def read(text: str) -> Module:
    """Read a module as LLVM 20 to 22 prints it; InvalidIR, with the line, for anything that irad does not know."""
    return _ModuleReader(text).module


class _ModuleReader(BodyReader):
    """Everything outside function bodies."""

    def __init__(self, text: str) -> None:
        self.module = Module()
        super().__init__(text, self.module.structs)
        while self.tokens[self.at] is not END:
            self._entity()

    def _entity(self) -> None:
        token = self.next()
        module = self.module
        if token == "\n" or token.startswith("#dbg_"):
            return
        if token in ("define", "declare"):
            self._function(token)
        elif token[0] == "@":
            self._variable(token)
        elif token[0] == "!" and " = " in token:
            key, module.metadata[key] = token.split(" = ", 1)[0], token.split(" = ", 1)[1]
        elif token == "attributes":
            key, _, group = self.next().partition(" = ")
            module.attribute_groups[key] = group
        elif token[0] == "%":
            self.want("=")
            self.want("type")
            module.structs[token] = None if self.eat("opaque") else self.type()
        elif token in ("source_filename", "target", "module"):
            module.header.append(" ".join([token, *self._rest_of_line()]))
        elif token[0] == "$":
            module.comdats.append(token)
        else:
            self.refuse(f"unknown word {token!r}", self.at - 1)

    def _rest_of_line(self) -> list[str]:
        start = self.at
        self.at = self.find("\n")
        return self.tokens[start : self.at]

    # --- variables ---

    def _variable(self, token: str) -> None:
        name, _, text = token.partition(" = ")
        at = self.at - 1
        variable = Variable(name_of(name), text)
        if not text:
            self.refuse(f"{name} is not defined here", at)
        self.module.variables[variable.name] = variable
        _VariableReader(text, self.structs, lambda: self.tokens[:at].count("\n")).fill(variable)

    # --- functions ---

    def _function(self, word: str) -> None:
        metadata = self._function_metadata()
        linkage = self._linkage()
        result = self.type()
        if self.tokens[self.at][0] != "@":
            self.refuse(f"unknown word {self.tokens[self.at]!r} before a function's name")
        name = name_of(self.next())
        arguments, varargs = self._parameters(named=word == "define")
        attributes = self._function_attributes()
        metadata |= self._function_metadata()
        type = FunctionType(result, tuple(a.type for a in arguments), varargs)
        function = Function(name, type, arguments, [], linkage, attributes, metadata)
        if name in self.module.functions:
            self.refuse(f"@{name} is defined twice")
        self.module.functions[name] = function
        if word == "define":
            self.want("{")
            self.body(function)
        self.want("\n")

    def _linkage(self) -> tuple[str, ...]:
        linkage = self.attributes(words.LINKAGE_WORDS, ())
        convention = self.convention()
        return (*linkage, *filter(None, [convention]), *self.parameter_attributes())

    def _parameters(self, named: bool) -> tuple[list[Argument], bool]:
        arguments: list[Argument] = []
        self.values = {}
        self.want("(")
        while not self.eat(")"):
            if arguments:
                self.want(",")
            if self.eat("..."):
                self.want(")")
                return arguments, True
            type = self.type()
            attributes = self.parameter_attributes()
            token = self.next() if self.tokens[self.at][0] == "%" else f"%{len(self.values)}" if named else "%"
            arguments.append(Argument(type, name_of(token), attributes))
            self.values[token] = arguments[-1]
        return arguments, False

    def _function_attributes(self) -> tuple[str, ...]:
        found: list[str] = []
        while True:
            found += self.attributes(words.FUNCTION_WORDS, words.FUNCTION_CALLS)
            token = self.tokens[self.at]
            if token in ("section", "partition", "gc"):
                found.append(f"{self.next()} {self.next()}")
            elif token.startswith("comdat"):
                found.append(self.next())
            elif token == "personality":
                self.at += 1
                type = self.type()
                found.append(f"personality {type} {self.next()}")
            else:
                return tuple(found)

    def _function_metadata(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self.tokens[self.at][0] == "!":
            key = self.next()
            found[key] = self.metadata_reference()
        return found


class _VariableReader(Cursor):
    """What follows `@name = `."""

    def fill(self, variable: Variable) -> None:
        self.attributes(words.VARIABLE_WORDS, ("thread_local",))
        self.address_space()
        self.attributes(words.VARIABLE_WORDS, ())
        kind = self.one_of(("global", "constant", "alias", "ifunc"), "word in a global variable:")
        if kind in ("alias", "ifunc"):
            return
        variable.constant = kind == "constant"
        variable.value_type = self.type()
        if self.tokens[self.at] not in (",", "\n"):
            variable.initializer = self.value(variable.value_type)
        while self.eat(","):
            self._tail()
        if self.tokens[self.at] != "\n":
            self.refuse(f"unknown word {self.tokens[self.at]!r} after a global variable")

    def _tail(self) -> None:
        token = self.next()
        if token[0] == "!":
            self.metadata_reference()
        elif token == "align":
            self.integer()
        elif token in ("section", "partition", "code_model"):
            self.next()
        elif not token.startswith("comdat"):
            self.refuse(f"unknown word {token!r} after a global variable")
