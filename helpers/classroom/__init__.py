"""Who is how far, and whose kernel is fastest? The verdicts in a class's pages, as a table; a contest and its board."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
