"""Tuples, records, lists, dictionaries, classes."""

from __future__ import annotations

from collections import namedtuple

import numba
import numpy as np
from numba.experimental import jitclass
from numba.typed import Dict, List

import irad
from tools.support.case import Group, row
from tools.support.cases.values import A, B, X, Y

Pair = namedtuple("Pair", ["gain", "bias"])
RECORD = np.dtype([("weight", np.float64), ("count", np.int64)])


@jitclass([("gain", numba.float64), ("state", numba.float64[:])])
class _Filter:
    def __init__(self, gain, state):
        self.gain = gain
        self.state = state

    def step(self, x):
        self.state[0] = self.gain * x + self.state[0]
        return self.state[0]


def _tuple(x, y):
    pair = (x * y, (y, x + y))
    (a, (b, c)) = pair
    return a * b * c, b


def _tuple_argument(pair, x):
    return pair[0] * x + pair[1]


def _tuple_of_arrays(arrays):
    return arrays[0] * arrays[1][0]


def _named_tuple(x, gain):
    pair = Pair(gain, gain * gain)
    return pair.gain * x + pair.bias


def _named_argument(pair, x):
    return pair.gain * x + pair.bias


def _heterogeneous(x, n):
    things = (x, n, True)
    return things[0] * things[1] if things[2] else 0.0


def _record(x):
    made = np.zeros(2, RECORD)
    made[0].weight = x
    made[1].weight = made[0].weight * x
    made[1].count = 3
    return made[1].weight * made[1].count


def _list(x):
    values = [x[0]]
    for i in range(1, x.size):
        values.append(values[-1] * x[i])
    return values[2] + values.pop()


def _list_of_arrays(x, y):
    arrays = [x, y]
    total = 0.0
    for array in arrays:
        total += array[0] * array[1]
    return total


def _list_comprehension(x):
    return sum([value * value for value in x])


def _typed_list(x):
    values = List()
    for value in x:
        values.append(value * value)
    return values[1] * values[0]


def _typed_list_of_arrays(x, y):
    arrays = List()
    arrays.append(x * 2.0)
    arrays.insert(0, y)
    arrays[1][0] *= arrays[0][1]
    return arrays.pop().sum() * arrays[-1][0]


def _typed_dict(x):
    values = Dict.empty(numba.int64, numba.float64)
    for i in range(x.size):
        values[i] = x[i] * x[i]
    return values[1] * values[0]


def _dict_of_arrays(x, y):
    arrays = {(0, 1): x * 2.0, (1, 0): y}
    arrays[0, 1][0] *= arrays[1, 0][1]
    total = 0.0
    for (i, j), array in arrays.items():
        total += (i + 2 * j) * array[0] * array[1]
    return total


def _dict_of_text(x):
    values = {"a": x[0] * x[1], "b": x[1]}
    return values["a"] * values["b"]


def _set(x, i):
    seen = set()
    total = 0.0
    for k in i:
        if k not in seen:
            seen.add(k)
            total += x[k]
    return total


def _jitclass(x, gain):
    device = _Filter(gain, np.zeros(1))
    total = 0.0
    for value in x:
        total += device.step(value)
    return total


def _drive(device, x):
    return device.step(x) * device.gain


def _weigh(record, x):
    record.weight *= x
    return record.weight**2 * record.count


def _chain(values):
    for i in range(1, len(values)):
        values[i] *= values[i - 1]
    return values[-1]


def _squares(values):
    total = 0.0
    for key, value in values.items():
        total += key * value**3
    return total


def _ends(arrays):
    total = 0.0
    for array in arrays:
        total += array[0] ** 2 * array[-1]
    return total


_BY_DEVICE, _BY_RECORD, _BY_LIST, _BY_ARRAYS, _BY_DICT = (
    irad.grad(numba.njit(function)) for function in (_drive, _weigh, _chain, _ends, _squares)
)


def _instance_argument(x, gain):
    bar = _BY_DEVICE(_Filter(gain, x.copy()), gain)
    return bar.gain * bar.state[0]


def _record_argument(x):
    made = np.zeros(2, RECORD)
    made[0].weight = x
    made[0].count = 3
    return _BY_RECORD(made[0], x)[()].weight


def _list_argument(x):
    made = List()
    for value in x:
        made.append(value)
    bar = _BY_LIST(made)
    return bar[0] * bar[1]


def _array_list_argument(x, y):
    made = List()
    made.append(x)
    made.append(y)
    bar = _BY_ARRAYS(made)
    return bar[0][0] * bar[1][-1]


def _dict_argument(x):
    made = Dict()
    for i in range(x.size):
        made[i] = x[i]
    return _BY_DICT(made)[1] * x[2]


def _constant_list(x):
    weights = [0.2, 0.5, 0.3]
    total = 0.0
    for i in range(3):
        total += weights[i] * x[i]
    return total


GROUP = Group(
    "data",
    "Data structures",
    (
        row("tuples, nested, returned", _tuple, x=A, y=B),
        row("tuple argument", _tuple_argument, pair=(A, B), x=X),
        row("tuple of arrays as argument", _tuple_of_arrays, arrays=(X, Y)),
        row("heterogeneous tuple", _heterogeneous, x=A, n=3),
        row("named tuple", _named_tuple, x=A, gain=B),
        row("named tuple argument", _named_argument, pair=Pair(A, B), x=X),
        row("records with active fields", _record, x=A),
        row("list of floats", _list, x=X),
        row("list of arrays", _list_of_arrays, x=X, y=Y),
        row("list comprehension", _list_comprehension, x=X),
        row("list of constants", _constant_list, x=X),
        row("typed.List", _typed_list, x=X),
        row("typed.List of arrays", _typed_list_of_arrays, x=X, y=Y),
        row("typed.Dict", _typed_dict, x=X),
        row("dictionary of arrays, pairs as keys", _dict_of_arrays, x=X, y=Y),
        row("dictionary of text", _dict_of_text, x=X),
        row("gradient by a typed.List", _list_argument, x=X),
        row("gradient by a typed.List of arrays", _array_list_argument, x=X, y=Y),
        row("gradient by a typed.Dict", _dict_argument, x=X),
        row("set of integers", _set, x=X, i=np.array([3, 1, 3])),
        row("jitclass", _jitclass, x=X, gain=A),
        row("gradient by a jitclass instance", _instance_argument, x=X, gain=A),
        row("gradient by a single record", _record_argument, x=A),
    ),
)
