"""How is a product computed that is too large for one device, or for one machine?"""

import lazy_loader

# Loaded when first asked for: a rank need not wait for what launched it.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["rank", "summa"],  # scripts for MPI's ranks
    submod_attrs={
        "engines": ["RunFailed", "have"],
        "memory": ["peak_bytes"],
        "model": ["INFINIBAND_NDR", "Network", "predicted_seconds", "this_machine"],
        "mpi": ["Run", "bytes_moved", "mpirun", "on_ranks"],
        "on_dask": ["block_product", "bytes_received", "cluster", "from_file"],
        "sharing": ["Together", "together"],
        "streaming": ["Plan", "Streamed", "plan", "streamed"],
    },
)
