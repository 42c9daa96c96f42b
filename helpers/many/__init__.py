"""How is a product computed that is too large for one device, or for one machine?"""

import lazy_loader

# Loaded when first asked for: a rank need not wait for what launched it.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
