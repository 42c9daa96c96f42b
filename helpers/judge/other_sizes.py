"""Other sizes to try a learner's kernel at: at its own, often BM = BN or TM = TN, a mix-up of the two is right."""

import ast
import copy
import functools
import itertools
import re

from .. import ladder
from ..devices import Device
from ..launch import Kernel
from ..launch.cuda_source import came_as_text
from ..sandbox import Finding

FACTORS = (1, 2, 3)  # times the simulator's defaults, which are small


def other_sizes(k: Kernel) -> tuple[dict, ...]:
    """Parameters for k, small and as different from each other as the step allows; () if its source takes none.

    Where one is the larger of two in the first set, it is the smaller one in the second: a tile of the wrong one of two
    sizes shows only where that is the smaller one. Only those vary which the source takes as parameters. The others
    stay, since it may have them as numbers.
    """
    taken = taken_by(k) & set(k.parameters)
    return most_different(k.step, k.device, tuple(k.parameters.items()), frozenset(taken)) if taken else ()


def taken_by(k: Kernel) -> set[str]:
    """The names that the kernel's source uses and leaves to its builder: macros, or arguments of a function."""
    if k.dialect == "OpenCL":
        code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", k.source, flags=re.DOTALL)
        return set(re.findall(r"\b[A-Za-z_]\w*", code)) - set(re.findall(r"#\s*define\s+(\w+)", code))
    if not came_as_text(k.function):
        return set()
    builders = [node for node in ast.parse(k.source).body if isinstance(node, ast.FunctionDef)]
    arguments = {a.arg for node in builders for a in (*node.args.args, *node.args.kwonlyargs)}
    used = {n.id for node in builders for n in ast.walk(node) if isinstance(n, ast.Name)}
    return arguments & used


@functools.cache
def most_different(name: str, device: Device, own: tuple, taken: frozenset) -> tuple[dict, ...]:
    """Of the points near the simulator's defaults, the one with most different values, and one in reverse order.

    `own`: the kernel's parameters as pairs; those that are not in `taken` stay as they are, and () is what comes of it
    where they go with no others.
    """
    step, own = ladder.STEPS[name], dict(own)
    default = step.defaults["simulator"]
    space = {
        key: [factor * default[key] for factor in FACTORS] if key in taken else [value] for key, value in own.items()
    }
    try:
        points = [p for p in ladder.points(step, device, space) if p != own]
    except ValueError:
        points = []

    def difference(p):
        """How much tells p's values from each other, and from the kernel's own; then how near p is to the defaults."""
        x, y = step.block(p)
        changed = sum(p[key] != own[key] for key in taken)
        return len({p[key] for key in taken}), x != y, changed, -sum(abs(p[key] - default[key]) for key in taken)

    def reverses(p, first):
        """Of how many pairs the larger one in `first` is the smaller one in p."""
        return sum((p[a] - p[b]) * (first[a] - first[b]) < 0 for a, b in itertools.combinations(sorted(taken), 2))

    if not points:
        return ()
    first = max(points, key=difference)
    second = max(points, key=lambda p: (reverses(p, first), difference(p)))
    return (first, second) if reverses(second, first) else (first,)


def at_sizes(k: Kernel, parameters: dict) -> Kernel:
    """The kernel with those parameters, for a child process, which builds it. It is not built here, and cannot run."""
    there = copy.copy(k)
    there.parameters, there.block = parameters, ladder.STEPS[k.step].block(parameters)
    return there


def sizes_mixed_up(own: dict, other: dict, finding: Finding) -> Finding:
    """What to say of a kernel that is right at its own sizes and has that finding at the other ones."""
    right, wrong = ladder.spell(own), ladder.spell(other)
    message = f"right with {right}, and wrong with {wrong}, where the finding is: {finding.kind}, {finding.message}"
    return Finding("sizes mixed up", message, finding.lines)
