"""Other sizes to try a learner's kernel at: at its own, often BM = BN or TM = TN, a mix-up of the two is right."""

import ast
import copy
import functools
import itertools
import math
import re
from contextlib import suppress

from .. import ladder
from ..devices import Device
from ..launch import Kernel
from ..launch.cuda_source import came_as_text, from_text
from ..launch.formulas import Unknown, number, parsed
from ..sandbox import Finding

FACTORS = (0.5, 1, 2, 3)  # times the step's small parameters
LARGER = 8  # than the smallest tile of all, so that Oclgrind is done with any of them soon
# A product or quotient in C, of names, numbers and what stands in parentheses: `(BM * BK) / (BM / TM * THREADS_X)`.
FACTOR = r"(?:\w+|\((?:[^()]|\([^()]*\))*\))"
QUOTIENT = rf"{FACTOR}(?:\s*[*/]\s*{FACTOR})*\s*/\s*{FACTOR}"


def other_sizes(k: Kernel) -> tuple[dict, ...]:
    """A few dicts of parameters for k, small ones; () if its source takes none of them as parameters.

    Among them each of two sizes is once the larger one, where the step allows that: a tile of the wrong one shows only
    where that is the smaller one. Where the source asks whether two sizes are equal, both answers get their sets. Sizes
    that the source may have as numbers stay, and so does a size of 1, which may well do without a loop. A quotient of
    sizes that is whole here is whole there, too: a source that divides a tile among its threads may count on that.
    A kernel like `matrix_units` has none: the hardware sets the sizes of its fragments.
    """
    taken = taken_by(k) & larger_than_one(k)
    padded = tuple((key, padding) for key in sorted(taken) if (padding := padding_of(key, k.source)))
    compared = tuple(compared_in(code_of(k), taken))
    if not taken or ladder.STEPS[k.step].inputs:
        return ()
    return most_telling(k.step, k.device, tuple(k.parameters.items()), frozenset(taken), padded, compared, formulas(k))


def takes_all_sizes(k: Kernel) -> bool:
    """Whether the source takes each of its sizes as a parameter, but sizes of 1, and can have other ones."""
    return larger_than_one(k) <= taken_by(k) and bool(other_sizes(k))


def may_be_outgrown(k: Kernel) -> bool:
    """Whether the source has a number that its own sizes may outgrow and the other ones may not, as in `As[64][64]`."""
    points = other_sizes(k)
    most = {key: max(p[key] for p in points) for key in k.parameters}
    shown = [n for key, n in most.items() if n < k.parameters[key]]  # a smaller number shows there
    # A pragma is for the optimiser only.
    code = re.sub(r"^\s*#\s*pragma\s+unroll\b.*", "", code_of(k), flags=re.MULTILINE)
    return any(int(number) >= min(shown, default=0) for number in re.findall(r"\b\d+\b", code))


def code_of(k: Kernel) -> str:
    """Its source without comments; of CUDA all of it, since // divides there."""
    return k.source if k.dialect == "CUDA" else without_comments(k.source)


def without_comments(source: str) -> str:
    """OpenCL C with spaces for its comments, so that all else stands where it stood."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), source, flags=re.DOTALL)


def larger_than_one(k: Kernel) -> set[str]:
    """The names of the kernel's parameters whose value is larger than 1: of BM=8, TM=1 that is BM."""
    return {name for name, value in k.parameters.items() if name != "INPUT" and value > 1}


def taken_by(k: Kernel) -> set[str]:
    """The names that the kernel's source uses and leaves to its builder: macros, constants, arguments of a function."""
    if from_launch := asked_of_launch(k):
        return from_launch
    if k.dialect != "CUDA":
        own = re.findall(r"(?:#\s*define|\bconst)\s+(\w+)", code_of(k))
        return set(re.findall(r"\w+", code_of(k))) - set(own)
    if not came_as_text(k.function):
        return set()
    builders = [node for node in ast.parse(k.source).body if isinstance(node, ast.FunctionDef)]
    arguments = {a.arg for node in builders for a in (*node.args.args, *node.args.kwonlyargs)}
    used = {n.id for node in builders for n in ast.walk(node) if isinstance(n, ast.Name)}
    return arguments & used


def asked_of_launch(k: Kernel) -> set[str]:
    """Which sides of its block a kernel reads from the launch, where it has no other sizes: naive, coalesced.

    `cuda.blockDim.x` in a kernel launched like coalesced, whose x counts columns, gives {"BN"}. A kernel that stages
    tiles has a size of its own, to which its block must keep.
    """
    if set(k.parameters) != {"BM", "BN"} or re.search(r"__local\b|shared\.array|<workgroup>", k.source):
        return set()
    block = ladder.STEPS[k.step].block
    x, y = (next((n for n in k.parameters if block({"BM": 1, "BN": 1, n: 2})[side] == 2), None) for side in (0, 1))
    if None in (x, y):  # a side is neither of them, as where a thread owns several columns
        return set()
    asks = {x: r"blockDim\.x|cuda\.grid\b|get_(local_size|global_id)\(0\)"}
    asks[y] = asks[x].replace("\\.x", "\\.y").replace("0", "1")
    return {name for name, words in asks.items() if re.search(words, code_of(k))}


def padding_of(key: str, source: str) -> int:
    """The most that the source adds to that size: so much longer may be what does not fit there, and nothing shows."""
    return max(map(int, re.findall(rf"\b{key} *\+ *(\d+)", source)), default=0)


def compared_in(code: str, taken: set[str]) -> list[tuple[str, str]]:
    """The pairs of sizes of which the code asks whether they are equal: it may take another path then."""
    pairs = re.findall(r"\b(\w+) *[=!]= *(\w+)\b", code)
    return sorted({pair for pair in pairs if taken.issuperset(pair)})


def formulas(k: Kernel) -> tuple[tuple, tuple]:
    """What the source names, pairs of a name and its value, and its quotients, pairs of both sides; all as text."""
    if k.dialect != "CUDA":
        code = code_of(k)
        named = re.findall(r"#\s*define\s+(\w+)[ \t]+(.+)", code)
        named += re.findall(r"\bconst\s+\w+\s+(\w+)\s*=([^;,]+)", code)
        nodes = [node for text in re.findall(QUOTIENT, code) if (tree := parsed(text)) for node in ast.walk(tree)]
    elif came_as_text(k.function):
        nodes = [*ast.walk(ast.parse(k.source))]
        pairs = [(node.targets[0], node.value) for node in nodes if isinstance(node, ast.Assign)]
        pairs = [[getattr(side, "elts", [side]) for side in pair] for pair in pairs]  # of A, B = 1, 2 both
        named = [tuple(map(ast.unparse, one)) for names, values in pairs for one in zip(names, values, strict=False)]
    else:
        return (), ()
    quotients = [node for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv))]
    return tuple(named), tuple((ast.unparse(node.left), ast.unparse(node.right)) for node in quotients)


def whole_at(p: dict, named: tuple, quotients: tuple) -> set[tuple]:
    """Those of the quotients that are whole where the sizes are those of p."""
    sizes = values_of(p, named)
    rests = {(a, b): worked_out(f"({a}) - ({a}) // ({b}) * ({b})", sizes) for a, b in quotients}
    return {pair for pair, rest in rests.items() if rest == 0}


def values_of(p: dict, named: tuple) -> dict:
    """The value of each parameter and of each of the names that `formulas` gives; None where the text does not tell."""
    sizes = dict(p)
    for name, text in named:
        sizes[name] = worked_out(text, sizes)
    return sizes


def worked_out(text: str, sizes: dict) -> int | None:
    """What a formula of whole numbers and sizes comes to; None where the text does not tell."""
    with suppress(Unknown):
        return number(text, sizes)
    return None


@functools.cache
def most_telling(
    name: str,
    device: Device,
    own: tuple,
    taken: frozenset,
    padded: tuple = (),
    compared: tuple = (),
    divided: tuple = ((), ()),
) -> tuple[dict, ...]:
    """The few points near the step's small parameters that are worth a try: each shows most of what none before it did.

    `own`: the kernel's parameters as pairs; those not in `taken` stay as they are. `padded`: pairs of a size and what
    the source adds to it. `compared`: pairs of sizes that the source compares. `divided`: its `formulas`. () if `own`
    goes with no other points.
    """
    step, own = ladder.STEPS[name], dict(own)
    default = step.small
    far = {2 * most for _, most in padded}  # so long that the padding does not hide it
    # A size of 1 would need no loop, so it is no likely choice.
    space = {
        key: sorted({max(2, int(factor * default[key])) for factor in FACTORS} | far) if key in taken else [value]
        for key, value in own.items()
    }
    whole = whole_at(own, *divided)
    points = [p for p in ladder.points(step, device, space) if p != own and whole <= whole_at(p, *divided)]
    smallest = min((math.prod(step.tile(p)) for p in points), default=0)
    points = [p for p in points if math.prod(step.tile(p)) <= LARGER * smallest]
    points = [(p, shown_by(step, p, own, taken, padded, compared)) for p in points]
    seen, chosen = shown_by(step, own, own, taken, padded, compared), []
    while points:
        best, shown = max(points, key=lambda point: (len(point[1] - seen), -math.prod(step.tile(point[0]))))
        if chosen and shown <= seen:
            break
        seen |= shown
        chosen.append(best)
    return tuple(chosen)


def shown_by(step: ladder.Step, p: dict, own: dict, taken: frozenset, padded: tuple, compared: tuple) -> set:
    """What can come to light at the point p, as a set of tuples, each with the path that the kernel takes at p.

    (path, "BM", "BN") says that BM is the smaller one; (path, "BM", "BN", 4) that it is so even with a padding of 4;
    (path, 0, "y") that the tile's rows are no whole number of the block's threads along y; (path, "TN", "other", "x")
    that TN is larger than the `own` one, and the threads along x are not as many: a 2 typed for them shows there.
    """
    x, y = step.block(p)
    sizes = {key: p[key] for key in taken} | {"x": x, "y": y}
    smaller = {(a, b) for a, b in itertools.permutations(sizes, 2) if sizes[a] < sizes[b]}
    smaller |= {(a, b, by) for a, by in padded for b in sizes if sizes[a] + by < sizes[b]}
    smaller |= {(n, side) for n, length in enumerate(step.tile(p)) for side in "xy" if length % sizes[side]}
    others = [side for side, here, there in zip("xy", (x, y), step.block(own), strict=True) if here != there]
    smaller |= {(key, "other", side) for key in taken & {"TM", "TN"} for side in others if p[key] > own[key]}
    path = tuple(p[a] == p[b] for a, b in compared)
    return {(path, *what) for what in smaller}


def at_sizes(k: Kernel, parameters: dict) -> Kernel:
    """The kernel with those parameters; of another dialect than CUDA not built here: a child process does that.

    Raises KernelError for a source that refuses those sizes.
    """
    there = copy.copy(k)
    there.by_shape = False
    there.parameters, there.block = parameters, ladder.STEPS[k.step].block(parameters)
    if k.dialect == "CUDA" and came_as_text(k.function):
        there.function = from_text(k.source, parameters)
    return there


def wrong_at_other_sizes(own: dict, other: dict, finding: Finding) -> Finding:
    """What to say of a kernel that is right at its own sizes and has that finding at the other ones."""
    right, wrong = ladder.spell(own), ladder.spell(other)
    message = f"right with {right}, and wrong with {wrong}, where the finding is: {finding.kind}, {finding.message}"
    return Finding("wrong at other sizes", message, finding.lines)
