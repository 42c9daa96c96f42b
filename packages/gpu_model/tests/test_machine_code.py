"""What is read of a compiler's words and of its listing."""

import shutil
import sys
from types import SimpleNamespace

import pytest

from gpu_model.machine_code import CountError, assembled, inner_loop, nvidia_tool

LISTING = """
.L_x_1:
        /*0010*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
.L_x_2:
        /*0020*/                   LDS.64 R8, [R9] ;
        /*0030*/              @!P0 FFMA R1, R2.reuse, R3, R1 ;
        /*0040*/                   FFMA R4, R2, R3, R1 ;
        /*0050*/               @P0 BRA `(.L_x_2) ;
        /*0060*/                   FFMA R1, R2, R3, R1 ;
        /*0070*/               @P1 BRA `(.L_x_1) ;
.L_x_3:
        /*0080*/                   BRA `(.L_x_3);
"""


def test_the_inner_loop_is_the_innermost_with_multiply_adds():
    loop = inner_loop(LISTING)
    assert loop.mix == {"FMA": 2, "shared load, 8 bytes": 1, "other": 1} and loop.fma_share == 0.5 and loop.chains == 1
    assert inner_loop(LISTING.replace("R3, R1", "R3.reuse, R5")).chains == 2
    assert loop.code.splitlines()[0] == "LDS.64 R8, [R9]"
    assert inner_loop(LISTING.replace("FFMA", "FADD")) is None


def test_without_the_tools_it_says_what_adds_them(monkeypatch):
    monkeypatch.setattr("gpu_model.machine_code.nvidia_tool", lambda name: None)
    with pytest.raises(CountError, match=r"pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm, or give tools="):
        assembled("mine", ".version 8.0", "sm_80")


def test_a_tool_that_pathfinder_refuses_is_looked_for_on_the_path(monkeypatch):
    """cuda-pathfinder 1.6, which Colab has, knows no ptxas."""
    refusing = SimpleNamespace(find_nvidia_binary_utility=lambda name: 1 / 0)
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", refusing)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert nvidia_tool("ptxas") == "/bin/ptxas"
