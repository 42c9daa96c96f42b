"""Arithmetic in a straight line: instructions without a guard that follow each other, and that no branch leads into.

A processor of one lane does them one by one. Here each costs Python and NumPy more time than its arithmetic takes as
long as lanes are few; so they are taken apart once, for all launches, and done without looking at them again.
"""

import functools
import operator

import numpy as np

from .arithmetic import TYPES, bits_of, same

INTO = {  # functions that can put their result in its place themselves
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.neg: np.negative,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.invert: np.invert,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
}
COMPARING = {
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
}


class StraightLine:
    """Some `Operation`s in a straight line; `within`, {(bits, row)} of registers that nothing but them touches.

    whole   for all lanes, of each: (function, ufunc that does the same with a place for its result or None, its
            operands, its result); an operand is (type, row) of a register, or a number
    values  for some lanes: a list with a place for each operand and result, where numbers stand already
    reads   [(place, register, or a number that all lanes get)]: what is read into these first
    steps   [(place, function, what picks its operands)]: what is done with them then
    writes  [(register, place)]: what is written last, of what is not only `within`
    """

    def __init__(self, operations, within):
        self.whole, self.values, self.reads, self.steps = [], [], [], []
        held, written = {}, {}  # {(bits, row): {type: place}}, {(bits, row): ((type, row), place)}
        for op in operations:
            (to,), of, function = op.to, op.of, op.function
            if not any(isinstance(one, tuple) for one in of):
                with np.errstate(all="ignore"):
                    of, function = (of_type(TYPES[to[0]], function, *of)[()],), same
            into = ufunc_for(function, [TYPES[one[0]] if isinstance(one, tuple) else one.dtype for one in of], to[0])
            if into:  # NumPy takes an array of no axes faster than a number
                of = [one if isinstance(one, tuple) else np.array(one) for one in of]
            self.whole.append((function, into, of, to))
            places = [self.place_of(one, held, written) for one in of]
            if function is not same:
                does = into or functools.partial(of_type, TYPES[to[0]], function)
                places = [self.place(does, places)]
            elif not isinstance(of[0], tuple):
                self.reads.append((places[0], of[0]))
            register = bits_of(to[0]), to[1]
            held[register], written[register] = {TYPES[to[0]]: places[0]}, (to, places[0])
        self.writes = [kept for register, kept in written.items() if register not in within]

    def place(self, function=None, places=(), value=None):
        """A new place, for a number, or for what a function makes of what has those places."""
        self.values.append(value)
        if function:
            self.steps.append((len(self.values) - 1, function, picked(places)))
        return len(self.values) - 1

    def place_of(self, operand, held, written):
        """The place of an operand."""
        if not isinstance(operand, tuple):
            return self.place(value=operand)
        kind, row = operand
        known = held.setdefault((bits_of(kind), row), {})
        if TYPES[kind] not in known:
            if (bits_of(kind), row) in written:  # as another type
                known[TYPES[kind]] = self.place(operator.methodcaller("view", TYPES[kind]), [*known.values()][:1])
            else:
                known[TYPES[kind]] = self.place()
                self.reads.append((known[TYPES[kind]], operand))
        return known[TYPES[kind]]

    def for_all(self, registers):
        """Functions without arguments that do it for all lanes, one after the other; registers: {type: (rows, lanes)}"""
        found = []
        for function, into, of, (kind, row) in self.whole:
            result = registers[kind][row]
            taken = [registers[one[0]][one[1]] if isinstance(one, tuple) else one for one in of]
            if function is same:
                found.append(functools.partial(result.__setitem__, slice(None), taken[0]))
            elif into:
                found.append(functools.partial(into, *taken, out=result))
            else:
                found.append(functools.partial(assign, result, function, taken))
        return found

    def for_some(self, registers):
        """A function of lanes, which are not all, that does it for them."""
        everyone = registers["pred"].shape[1]
        reads = [
            (at, registers[one[0]][one[1]] if isinstance(one, tuple) else np.full(everyone, one))
            for at, one in self.reads
        ]
        writes = [(registers[kind][row], at) for (kind, row), at in self.writes]
        values, steps = self.values, self.steps

        def do(lanes):
            have = values.copy()
            for at, register in reads:
                have[at] = register[lanes]
            for at, function, of in steps:
                have[at] = function(*of(have))
            for register, at in writes:
                register[lanes] = have[at]

        return do


def ufunc_for(function, takes, gives):
    """The function of NumPy that does the same on arrays of these types, and gives that type; None for none."""
    if len({*takes}) > 1:
        return None
    if gives == "pred" and function in COMPARING:
        return COMPARING[function]
    ufunc = function if isinstance(function, np.ufunc) else INTO.get(function)
    return ufunc if takes[0] == TYPES[gives] else None


def assign(result, function, taken):
    """Put what a function makes of arrays in its place."""
    result[:] = function(*taken)


def of_type(dtype, function, *taken):
    """What a function makes of arrays, as that type."""
    return np.asarray(function(*taken)).astype(dtype, copy=False)


def picked(places):
    """A function of a list that gives those at these places."""
    return operator.itemgetter(*places) if len(places) > 1 else operator.itemgetter(slice(places[0], places[0] + 1))
