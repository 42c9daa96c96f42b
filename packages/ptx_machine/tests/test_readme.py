"""What the README says of fences and of first guesses holds. Its blocks of code: tests/test_readmes.py."""

import numpy as np
import pytest

import ptx_machine

KERNEL = """.version 8.0
.target sm_80
.visible .entry k(.param .u64 x)
{{
.reg .pred %p; .reg .b32 %r<9>; .reg .b64 %x;
ld.param.u64 %x, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, 7; mov.u32 %r3, 1; setp.eq.u32 %p, %r1, 0; @!%p bra READ;
{first}; ret;
READ: ld.volatile.global.u32 %r4, [%x]; setp.eq.u32 %p, %r4, 0; @%p bra READ;
{then}; ret;
}}
"""
HANDED_OVER = "st.volatile.global.u32 [%x+4], %r2; membar.gl; st.volatile.global.u32 [%x], %r3"
SWAPPED = "atom.global.cas.b32 %r5, [%x], 0, 1"


@pytest.mark.parametrize(
    "first, then, found",
    [
        (HANDED_OVER, "membar.gl; ld.global.u32 %r5, [%x+4]", []),
        (HANDED_OVER, "ld.global.u32 %r5, [%x+4]", ["race"]),
        (HANDED_OVER, "ld.volatile.global.u32 %r5, [%x+4]", []),  # a fence is missing
        (HANDED_OVER.replace("membar.gl; ", ""), "ld.volatile.global.u32 %r5, [%x+4]", []),  # two are
        (SWAPPED, "ld.global.u32 %r5, [%x]", []),  # the load may come before or after
        (SWAPPED.replace("cas.b32 %r5, [%x], 0,", "exch.b32 %r5, [%x],"), "ld.global.u32 %r5, [%x]", ["race"]),
    ],
)
def test_what_the_readme_says_of_fences_and_of_first_guesses(first, then, found):
    run = ptx_machine.run(KERNEL.format(first=first, then=then), (2,), (1,), [np.zeros(2, np.uint32)])
    assert [one.kind for one in run.findings] == found, run
