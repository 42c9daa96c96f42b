"""What does a learner look at? Sources, who computes and reads what, films, charts, rooflines."""

import lazy_loader

# Loaded when first asked for: a page that shows sources need not wait for Matplotlib.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
