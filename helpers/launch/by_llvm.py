"""PTX of LLVM's text, by the back end for NVIDIA's GPUs that llvmlite brings: no GPU, and no software of NVIDIA's."""

import functools

import llvmlite.binding as llvm

TRIPLE = "nvptx64-nvidia-cuda"


@functools.cache
def ready() -> None:
    """Load the back end, once in a process; it makes one instruction of a product and a sum, as NVIDIA's does."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.set_option("", "-nvptx-fma-level=1")


@functools.lru_cache(maxsize=256)
def compiled(modules: tuple[str, ...], level: int, arch: str) -> str:
    """PTX of some texts that belong together.

    level   of LLVM's optimiser, 0 to 3: 0 keeps each variable in memory, 1 each access to arrays
    arch    such as "sm_80"

    Raises RuntimeError for what is no text of LLVM's, or fits no GPU.
    """
    ready()
    module = llvm.parse_assembly(modules[0])
    for text in modules[1:]:
        module.link_in(llvm.parse_assembly(text))
    module.triple = TRIPLE
    module.verify()
    target = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, opt=level)
    if hasattr(llvm, "create_pass_builder"):
        passes = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=level))
        passes.getModulePassManager().run(module, passes)
    else:  # before llvmlite 0.44
        builder, passes = llvm.create_pass_manager_builder(), llvm.create_module_pass_manager()
        builder.opt_level, builder.inlining_threshold = level, 225
        target.add_analysis_passes(passes)
        builder.populate(passes)
        passes.run(module)
    return target.emit_assembly(module)
