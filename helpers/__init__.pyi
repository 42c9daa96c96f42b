# What pages share, and where it stands. lazy_loader reads it, and so do editors and mypy.

from .checking import check as check
from .clock import compare as compare
from .clock import machine_limits as machine_limits
from .clock import measure as measure
from .clock import measure_ladder as measure_ladder
from .clock import tune as tune
from .exercises import ask as ask
from .exercises import check_loads as check_loads
from .exercises import judge_wishes as judge_wishes
from .exercises import with_part as with_part
from .instruments import bank_conflicts as bank_conflicts
from .instruments import coalescing as coalescing
from .instruments import compiler_report as compiler_report
from .instruments import predicted_traffic as predicted_traffic
from .instruments import traffic as traffic
from .language import set_language as set_language
from .launch import cuda_kernel as cuda_kernel
from .launch import opencl_kernel as opencl_kernel
from .needs import doctor as doctor
from .pictures import show as show
from .pictures import show_changes as show_changes
