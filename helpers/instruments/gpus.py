"""GPUs that the course predicts for."""

from gpu_model.gpus import ARCHS, GPU, GPUS, Occupancy, gpu_called, gpu_here, gpu_like, known_arch, occupancy, read_toml

__all__ = [
    "ARCHS",
    "GPU",
    "GPUS",
    "Occupancy",
    "gpu_called",
    "gpu_here",
    "gpu_like",
    "known_arch",
    "occupancy",
    "read_toml",
]
