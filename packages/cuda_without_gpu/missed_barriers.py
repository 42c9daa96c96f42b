"""Whether all threads of a block come to each barrier of an optimised kernel, as its control flow has it.

On a GPU a barrier waits for no thread that has returned. Here it waits for all, and a driver may go on with wrong
numbers.
"""

import re

# What differs from thread to thread, by where it comes from, and what waits for others.
DIFFERS = re.compile(r"@_Z\d+(?:get_local_id|get_sub_group_local_id|sub_group_)|\b(?:atomicrmw|cmpxchg|alloca)\b")
WAITS = re.compile(r"call .*@_Z\d+(?:barrier|work_group_|sub_group_barrier)")
ENDS = re.compile(r"\s+(?:br|switch|ret|unreachable)\b")
NAME = r'%(?:"[^"]+"|[\w.$-]+)'
VALUE = re.compile(rf"\s+({NAME}) = (.*)")
END = "end"  # of the kernel: a block that follows those that return


def may_be_missed(text: str) -> bool:
    """Whether some threads of a block may miss a barrier that others come to, in LLVM's text of a kernel."""
    if not WAITS.search(text):
        return False
    blocks = blocks_of(text)
    deciding = deciding_blocks(blocks)
    splitting = splitting_blocks(blocks, deciding)
    return any(deciding[name] & splitting for name, lines in blocks.items() if any(map(WAITS.search, lines)))


def blocks_of(text):
    """{a basic block of the kernel: its lines}, in the text's order."""
    body = text[text.index("define spir_kernel") :].partition("\n}")[0].splitlines()
    first = str(len(re.findall(r"%\d+", body[0])))  # that block has no name, or the number after the arguments'
    blocks = {first: []}
    lines = blocks[first]
    for line in body[1:]:
        if label := re.match(r'(?:"([^"]+)"|([\w.$-]+)):', line):
            lines = blocks.setdefault(label[1] or label[2], [])
        elif line.strip():
            lines.append(line.split(", !")[0])
    return {name: lines for name, lines in blocks.items() if lines}


def last_statement(lines):
    """The branch or the return that ends a block; a `switch` has several lines."""
    start = max(i for i, line in enumerate(lines) if ENDS.match(line))
    return "\n".join(lines[start:])


def following(lines):
    """The blocks that may come after one."""
    names = re.findall(r'label %("[^"]+"|[\w.$-]+)', last_statement(lines))
    return list(dict.fromkeys(name.strip('"') for name in names)) or [END]


def deciding_blocks(blocks):
    """{a block: the blocks whose branches decide whether it is reached}: its control dependences, and theirs."""
    after = {name: following(lines) for name, lines in blocks.items()} | {END: []}
    passed, before = {name: {*blocks, END} for name in blocks} | {END: {END}}, None  # what each way from a block passes
    while before != passed:
        before = dict(passed)
        for name in reversed(blocks):
            passed[name] = {name} | set.intersection(*(passed[one] for one in after[name]))
    deciding = {name: set() for name in blocks}
    for name in blocks:
        ways = list(after[name])
        meet = max(passed[name] - {name}, key=lambda one: len(passed[one]))  # the first block that all ways pass
        while ways:
            if (one := ways.pop()) != meet and name not in deciding[one]:
                deciding[one].add(name)
                ways += after[one]
    return deciding


def splitting_blocks(blocks, deciding):
    """The blocks that end in a branch by a value which differs among the threads of a block."""
    differing, splitting = set(), set()

    def chosen(name, made):
        """Whether a `phi` takes a value by a way that threads choose apart."""
        ways = {way.strip('"') for way in re.findall(r', %("[^"]+"|[\w.$-]+) \]', made)}
        return bool((ways.union(*(deciding.get(way, ()) for way in ways)) - deciding[name]) & splitting)

    before = None
    while before != (len(differing), len(splitting)):
        before = len(differing), len(splitting)
        for name, lines in blocks.items():
            for value, made in (at.groups() for at in map(VALUE.match, lines) if at):
                by_way = made.startswith("phi ") and chosen(name, made)
                if DIFFERS.search(made) or differing.intersection(re.findall(NAME, made)) or by_way:
                    differing.add(value)
            decided_by, ways, _ = last_statement(lines).partition("label")
            if ways and differing.intersection(re.findall(NAME, decided_by)):
                splitting.add(name)
    return splitting
