"""What the source of a WGSL kernel shows where no run does: barriers that some may miss, loops without an end.

It reads statements and names, and computes nothing. A function that is called is not followed with its arguments.
"""

import copy
import re
from dataclasses import replace

from ..launch import DIALECTS, Kernel
from ..launch.webgpu_source import Statement, constants, line_of, statements, without_comments, workgroup_size
from ..sandbox import SECONDS, Finding, in_child
from .trials import Trial, examine_there

BARRIERS = "workgroupBarrier|storageBarrier|textureBarrier|workgroupUniformLoad"
IDS = r"@builtin\s*\(\s*(?:local_invocation_\w+|global_invocation_id|subgroup_invocation_id)\s*\)\s*(\w+)"
DECLARED = re.compile(r"(?:let|var|const)\b\s*(?:<[^>]*>)?\s*(\w+)\s*(?::[^=]*)?(?:=(.*))?", re.DOTALL)
ASSIGNED = re.compile(r"\(?\s*\*?\s*([A-Za-z_]\w*)[^=<>!]*?(?:(?:<<|>>)=|(?<![<>=!])=(?!=))(.*)", re.DOTALL)
COUNTED = re.compile(r"([A-Za-z_]\w*)[^=]*(?:\+\+|--)")


def seen_in_source(k: Kernel) -> list[Finding]:
    """What the source of a WGSL kernel, which compiles, shows to be wrong. Returns findings, empty where none."""
    code = without_comments(k.source)
    whole = statements(code)
    functions = [one for one in whole.inside if re.search(r"\bfn\s+\w+", one.text) and one.inside is not None]
    loops = [finding for one in functions for loop in one.all() if (finding := endless(loop))]
    waits = waiting_functions(functions)
    apart = sorted({line for one in functions for line in Uniformity(one, code, waits).lines()})
    if apart:
        text = (
            "only some invocations may reach a barrier: it stands under an `if`, in a loop or behind a `return` that "
            "depends on an invocation's id, which WGSL forbids. Take it out of there: all must reach it"
        )
        loops.append(Finding("divergent barrier", text, tuple(apart)))
    return loops or storage_barriers(code, whole)


def storage_barriers(code: str, whole: Statement) -> list[Finding]:
    """A finding where tiles lie in workgroup memory, and a barrier with none beside it orders buffers only."""
    lines = [
        one.line
        for holder in whole.all()
        for before, one, after in beside(holder.inside or [])
        if "storageBarrier" in one.text and "workgroupBarrier" not in before + after
    ]
    if not lines or not re.search(r"<\s*workgroup\s*>", code):
        return []
    text = (
        "storageBarrier() orders what invocations store to A, B and C, and not the tiles, which lie in workgroup "
        "memory. Write workgroupBarrier()"
    )
    return [Finding("race", text, tuple(lines))]


def beside(items: list[Statement]) -> list[tuple]:
    """Each of the statements between the texts of the one before it and the one behind it."""
    texts = ["", *(one.text for one in items), ""]
    return [(texts[n], one, texts[n + 2]) for n, one in enumerate(items)]


def explained(k: Kernel, trial: Trial) -> Trial:
    """The trial of a WGSL kernel; where it is wrong, with what its workgroup and its barriers have to do with that."""
    if not trial.findings:
        return trial
    code, (first, *rest) = without_comments(k.source), trial.findings
    asked, given = workgroup_size(code, constants(code, k.parameters)), (*k.block, 1)
    if asked not in (None, given):
        there = copy.copy(k)
        start, end = re.search(r"@workgroup_size\s*\((?:[^()]|\([^()]*\))*\)", code).span()
        there.source = f"{k.source[:start]}@workgroup_size{given}{k.source[end:]}"
        if in_child(there, examine_there, SECONDS / 3, stages=[trial.shapes]).value == []:
            text = (
                f"its workgroups have {asked} invocations, and the grid of {k.step} is made for {given}: with "
                f"@workgroup_size{given} the kernel is right"
            )
            return trial._replace(findings=[Finding("workgroup size", text, (line_of("@workgroup_size", code),))])
    mine, usual = (
        len(re.findall(r"\bworkgroupBarrier\s*\(", text))
        for text in (code, without_comments(DIALECTS["WebGPU"].source_of(k.step)))
    )
    if (
        first.kind in ("wrong numbers", "wrong index", "K is cut")
        and mine < usual
        and re.search(r"<\s*workgroup", code)
    ):
        text = f"{first.message}; {k.step} has {usual} barriers a tile and this has {mine}: look at those first"
        return trial._replace(findings=[replace(first, message=text), *rest])
    return trial


# -------------------------------------------------------------------------------------------- loops without an end


def endless(loop: Statement) -> Finding | None:
    """A finding for a loop that nothing ends; None for one that may end, and for what is no loop."""
    if loop.inside is None or not (head := re.match(r"(for|while|loop)\b\s*(.*)", loop.text, re.DOTALL)):
        return None
    texts = [one.text for one in loop.all() if one is not loop]
    if any(re.match(r"(return|break)\b", text) for text in texts):
        return None
    parts = head[2].strip().removeprefix("(").removesuffix(")").split(";") if head[1] == "for" else ["", head[2], ""]
    condition, updates = (parts[1].strip(), parts[2]) if len(parts) == 3 else ("", "")
    if not condition:
        return Finding("hang", "the loop never ends: it has no condition, no break and no return", (loop.line,))
    names = re.findall(r"(?<![\w.])[A-Za-z_]\w*", condition)
    changed = {name for text in (*texts, updates.strip()) for name in changed_by(text)}
    compared = re.search(r"[<>!]|==", condition) and not re.search(r"\w\s*\(|\[", condition)
    if not names or not compared or changed & set(names):
        return None
    return Finding("hang", f"the loop over {names[0]} never ends: nothing in it changes {names[0]}", (loop.line,))


def changed_by(text: str) -> list[str]:
    """The names of what a statement changes, or gives away by its address; of a loop's head, what its parts change."""
    parts = re.sub(r"^for\b\s*\(", "", text).split(";")
    found = [re.match(pattern, part.strip()) for part in parts for pattern in (ASSIGNED, COUNTED)]
    return [one[1] for one in found if one] + re.findall(r"&\s*(\w+)", text)


# --------------------------------------------------------------------------------- barriers that only some may reach


def waiting_functions(functions: list[Statement]) -> str:
    """A pattern of what waits: WGSL's barriers, and the functions that reach one."""
    waits, before = BARRIERS, ""
    while waits != before:
        before = waits
        for one in functions:
            name = re.search(r"\bfn\s+(\w+)", one.text)[1]
            within = any(re.search(rf"\b(?:{waits})\s*\(", inner.text) for inner in one.all() if inner is not one)
            if within and not re.search(rf"\b{name}\b", waits):
                waits += f"|{name}"
    return waits


class Uniformity:
    """Follows, through one function, what depends on an invocation's id, and where only some invocations may be."""

    def __init__(self, function: Statement, code: str, waits: str):
        ids = re.findall(IDS, code)
        self.function, self.waits = function, re.compile(rf"\b(?:{waits})\s*\(")
        self.differs = {*re.findall(IDS, function.text), *(f".{name}" for name in ids)}  # names, or their declarations
        self.loops = set()  # which some leave before others
        self.found = set()

    def lines(self) -> set[int]:
        """The lines of the barriers that only some invocations may reach."""
        before = None
        while before != (len(self.differs), len(self.loops)):
            before = len(self.differs), len(self.loops)
            self.found = set()
            self.walk(self.function.inside, {}, False, None)
        return self.found

    def depends(self, text: str, scope: dict) -> bool:
        """Whether an expression has another value in another invocation."""
        if text.strip().startswith("workgroupUniformLoad"):
            return False
        return any(scope.get(name, name) in self.differs for name in re.findall(r"(?<![\w.])[A-Za-z_]\w*|\.\w+", text))

    def note(self, item: object, text: str, scope: dict, apart: bool) -> None:
        """Note what a plain statement declares or assigns."""
        if found := DECLARED.match(text):
            scope[found[1]] = item, found[1]
            if found[2] and self.depends(found[2], scope):
                self.differs.add((item, found[1]))
            return
        assigned = ASSIGNED.match(text)
        found = assigned or COUNTED.match(text)
        if found and (apart or (assigned and self.depends(assigned[2], scope))):
            self.differs.add(scope.get(found[1], found[1]))

    def walk(self, items: list, scope: dict, apart: bool, loop: object) -> bool:
        """Follow statements, of which only some invocations are there if `apart`. Returns whether some then return."""
        gone, branch = False, False
        for item in items:
            now = apart or gone
            if item.inside is None:
                self.note(item, item.text, scope, now)
                if now and self.waits.search(item.text):
                    self.found.add(item.line)
                leaves = re.match(r"(return|break|continue)\b(.*)", item.text, re.DOTALL)
                if leaves and loop is not None and (now or self.depends(leaves[2], scope)):  # or `break if ...`
                    self.loops.add(loop)
                gone = gone or (apart and item.text.startswith("return"))
                continue
            inner, head = dict(scope), re.match(r"(?:else\s+)?(\w*)\s*(.*)", item.text, re.DOTALL)
            cycle = head[1] in ("for", "while", "loop")
            condition = head[2]
            if head[1] == "for":
                first, condition, update = (*head[2].strip()[1:-1].split(";"), "", "")[:3]
                self.note(item, first.strip(), inner, now)
                self.note(item, update.strip(), inner, now or item in self.loops)
            branch = self.depends(condition, inner) or (branch and item.text.startswith("else"))
            there = now or branch or (cycle and item in self.loops)
            gone = self.walk(item.inside, inner, there, item if cycle else loop) or gone
        return gone
