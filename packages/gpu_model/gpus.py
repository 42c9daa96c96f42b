"""GPUs, listed in gpus.toml with the source of each number, and how many blocks of a kernel they keep at once."""

import contextlib
import difflib
import math
import operator
import re
import reprlib
import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from numbers import Real

WARP = 32  # threads


def ceil_div(a, b):
    """The smallest whole number of pieces of size b that cover a."""
    return -(-a // b)


def integer(name, value, least=1):
    """The integer of that name, as an int. Raises ValueError for what is none, and for one below the least."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or operator.index(value) < least:
        raise ValueError(f"{name}={value!r} does not do; give an integer from {least}.")
    return operator.index(value)


@dataclass(frozen=True)
class GPU:
    """What one streaming multiprocessor (SM) holds and does in a cycle, and what the whole GPU does.

    arch             such as "sm_80"
    sms, clock       how many SMs it has, and their cycles a second: the data sheet's boost clock
    fma_lanes        float32 multiply-adds that an SM does in a cycle
    integer_lanes    instructions of threads that compute with integers, in a cycle
    load_lanes       threads that an SM serves in a cycle, with a load or a store of 4 bytes
    l1_bytes         bytes a cycle that an SM's L1 cache gives
    l2_bytes         bytes a cycle that the L2 cache gives, as the share of one SM
    l2_size          bytes that it holds
    bytes_per_s      of memory
    latency          cycles until a number comes from memory; l2_latency: from the L2 cache
    warps, blocks    that an SM keeps at once
    shared_bytes     shared memory of an SM, dealt out to blocks in pieces of `shared_piece` bytes
    reserved_bytes   shared memory that the system takes for each block
    wavefront_cycles cycles for a wavefront, or for a line of the L1 cache
    registers        32-bit registers of an SM, dealt out to warps in pieces of 256
    matrix           {type of A and B: multiply-adds with float32 sums that its matrix units do in a cycle}; a type is
                     such as "float16", or "float16, warp groups" for products that four warps ask for together

    One of your own is made from a kindred one: `gpu("RTX 4090", sms=70, clock=2.45e9)`. Raises ValueError
    for a rate that is not above 0.
    """

    name: str
    arch: str
    sms: int
    clock: float
    fma_lanes: int
    load_lanes: int
    l1_bytes: float
    l2_bytes: float
    l2_size: int
    bytes_per_s: float
    latency: int
    l2_latency: int
    warps: int
    blocks: int
    shared_bytes: int
    shared_piece: int = 128
    reserved_bytes: int = 1024
    wavefront_cycles: int = 1
    registers: int = 65536
    integer_lanes: int = 64
    matrix: dict = field(default_factory=dict, hash=False)

    def __post_init__(self):
        for name in ("sms", "clock", "fma_lanes", "load_lanes", "l1_bytes", "l2_bytes", "bytes_per_s"):
            if not isinstance(value := getattr(self, name), Real) or not value > 0:
                raise ValueError(f"{name} is {value!r}; it must be above 0.")

    @property
    def flops_per_s(self) -> float:
        """The peak in float32, a multiply-add counted as two."""
        return 2 * self.sms * self.fma_lanes * self.clock


def read_toml(name: str) -> dict:
    """What the TOML file of that name beside this one holds."""
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


def read_gpus(table: dict) -> dict:
    """{name: GPU} of that table; a row that is `like` another has its words."""
    for name, row in table.items():
        kindred = table[row.pop("like")] if "like" in row else {}
        table[name] = kindred | row
    return {name: GPU(name=name, **row) for name, row in table.items()}


GPUS = read_gpus(read_toml("gpus.toml"))
# Architectures whose code was not counted, and those whose code stands for theirs; NVIDIA's compiler writes none for
# sm_70 any more.
STANDS_FOR = {"sm_70": "sm_80", "sm_87": "sm_86", "sm_100": "sm_90", "sm_120": "sm_89"}
ARCHS = {  # those whose code is counted, and their GPUs
    arch: re.sub(", ([^,]+)$", r" and \1", ", ".join(gpu.name for gpu in GPUS.values() if gpu.arch == arch))
    for arch in dict.fromkeys(gpu.arch for gpu in GPUS.values())
    if arch not in STANDS_FOR
}


def arch_of(gpu: GPU) -> str:
    """The architecture whose code is counted for a GPU."""
    return STANDS_FOR.get(gpu.arch, gpu.arch)


def known_arch(name: str) -> str:
    """The architecture, such as "sm_90", of that name or of the GPU of that name. Raises ValueError for others."""
    with contextlib.suppress(ValueError):
        name = gpu(name).arch
    if name not in ARCHS:
        raise ValueError(
            f"{name!r} is none of the architectures whose limits are known: "
            f"{', '.join(f'{arch} ({gpus})' for arch, gpus in ARCHS.items())}."
        )
    return name


CHOSEN = {  # figures of `gpu`, and how they are spelled
    "sms": "{:,} multiprocessors",
    "clock": "{:.3g} cycles a second",
    "bytes_per_s": "{:.3g} bytes a second",
    "l2_size": "{:,} bytes of L2 cache",
}
# What people, and nvidia-smi, write beside a GPU's name. Not 40gb, of an A100 whose memory is slower, and not pcie.
BESIDE = ("nvidia", "geforce", "quadro", "tesla", "rtx", r"gpu$", r"sxm\d?", r"hbm\d?e?", r"(?:8|16|24|32|48|80|141)gb")


def gpu(name: str, **figures: float) -> GPU:
    """The GPU of that name, however it is written: "A6000", "rtx a6000", "NVIDIA A100-SXM4-80GB".

    `figures`: those of a GPU of one's own that is like it, such as `sms=70, clock=2.45e9, bytes_per_s=504e9`. Its name
    then says what it was made from. All other figures stay those of that GPU.
    Raises ValueError for an unknown name, or figure, and for one that is not above 0.
    """
    kindred = GPUS[full_name(name)]
    if not figures:
        return kindred
    if unknown := figures.keys() - CHOSEN.keys():
        raise ValueError(f"{unknown.pop()!r} is no figure that can be given; those are {', '.join(CHOSEN)}.")
    mine = replace(kindred, **figures)
    said = ", ".join(CHOSEN[figure].format(value) for figure, value in figures.items())
    return replace(mine, name=f"{kindred.name} with {said}")


def known(one):
    """The `GPU` of that name, or itself."""
    return one if isinstance(one, GPU) else gpu(one)


def full_name(written):
    """The name in `GPUS` that is meant, in any case, with or without spaces and what makers write beside it."""

    def plain(text):
        return re.sub("|".join([r"[\W_]", *BESIDE]), "", text.casefold())

    known = {plain(name): name for name in GPUS}
    if not isinstance(written, str) or plain(written) not in known:
        number = re.search(r"\d{2,}", plain(str(written)))  # who writes RTX 4090 Ti means no RTX 4070 Ti
        alike = [name for name in known if not number or number[0] in name] or known
        nearest = difflib.get_close_matches(plain(str(written)), alike, 1)
        near = "".join(f" Do you mean {known[one]}?" for one in nearest)
        raise ValueError(f"unknown GPU {reprlib.repr(written)}.{near} The GPUs are: {', '.join(GPUS)}.")
    return known[plain(written)]


@dataclass(frozen=True)
class Occupancy:
    """How many blocks and warps of a kernel an SM keeps at once, the most warps it could keep, and what limits them.

    needs   {what: (how much a block takes of it, how much an SM has)}; `limits` names those of which no more is left
    """

    gpus: str
    blocks: int
    warps: int
    most_warps: int
    limits: tuple
    needs: dict

    @property
    def share(self) -> float:
        """Warps kept at once, as a share of the most that an SM could keep."""
        return self.warps / self.most_warps

    def __repr__(self):
        blocks = f"{self.blocks} block{'s' * (self.blocks != 1)} at a time"
        return (
            f"{self.gpus}: {blocks}, {self.warps} of {self.most_warps} warps ({self.share:.0%}), "
            f"limited by {' and '.join(self.limits)}"
        )


def occupancy(gpu: GPU | str, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """The `Occupancy` of a kernel with that many threads a block, registers a thread and shared bytes a block.

    `gpu`: a name of `GPUS`, a `GPU`, or an architecture of `ARCHS`, such as "sm_80"; then `gpus` names all of them.
    Raises ValueError for an unknown GPU, for less than one thread or register, and for less than 0 bytes.
    """
    gpus = ARCHS.get(gpu) if isinstance(gpu, str) else None
    gpu = next(one for one in GPUS.values() if one.arch == gpu) if gpus else known(gpu)
    threads, registers = integer("threads", threads), integer("registers", registers)
    shared_bytes = integer("shared_bytes", shared_bytes, 0)
    warps, registers_a_warp = ceil_div(threads, WARP), 256 * ceil_div(registers * WARP, 256)
    pieces = ceil_div(shared_bytes + gpu.reserved_bytes, gpu.shared_piece)
    needs = {
        "registers": (registers_a_warp * warps, gpu.registers),
        "shared memory": (pieces * gpu.shared_piece, gpu.shared_bytes),
        "warps": (warps, gpu.warps),
        "blocks": (1, gpu.blocks),
    }
    allowed = {what: has // takes if takes else math.inf for what, (takes, has) in needs.items()}
    # Each quarter of an SM has its own warps and a quarter of the registers.
    allowed["registers"] = gpu.registers // 4 // registers_a_warp * 4 // warps
    blocks = min(allowed.values())
    limits = tuple(what for what, n in allowed.items() if n == blocks)
    return Occupancy(gpus or gpu.name, blocks, blocks * warps, gpu.warps, limits, needs)
